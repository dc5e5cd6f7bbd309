//! What a restore did.

use super::count;

/// What a restore did with one shell.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The shell's id.
    pub shell: String,
    /// Its session's name.
    pub session: String,
    /// Its display name.
    pub name: String,
    /// What became of it.
    pub status: OutcomeStatus,
    /// Why, as a stable `snake_case` word.
    pub reason: String,
    /// Why, as a sentence.
    pub detail: String,
    /// What became of its agents.
    pub agents: Vec<AgentOutcome>,
}

/// What a restore did with one pane's agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentOutcome {
    /// The pane's id.
    pub pane: String,
    /// Which agent.
    pub kind: String,
    /// What became of it.
    pub status: AgentStatus,
    /// Why, as a stable `snake_case` word.
    pub reason: String,
    /// Why, in words that follow the agent's name.
    pub detail: String,
}

/// What became of an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AgentStatus {
    /// Its conversation was not opened.
    Skipped,
}

impl AgentStatus {
    /// The word in `--json`.
    pub fn word(self) -> &'static str {
        match self {
            Self::Skipped => "skipped",
        }
    }
}

/// What became of a shell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutcomeStatus {
    /// It was alive, and its client can go there.
    Reattached,
    /// It was made again.
    Restored,
    /// Nothing was to be done.
    Skipped,
    /// It was made again, and its commands are the user's to start.
    Manual,
    /// It can't be restored now.
    Refused,
    /// tmux refused something on the way.
    Failed,
}

impl OutcomeStatus {
    /// The word in `--json`.
    pub fn word(self) -> &'static str {
        match self {
            Self::Reattached => "reattached",
            Self::Restored => "restored",
            Self::Skipped => "skipped",
            Self::Manual => "manual",
            Self::Refused => "refused",
            Self::Failed => "failed",
        }
    }
}

/// What was done, in one line.
pub fn in_one_line(outcomes: &[Outcome], dry_run: bool) -> String {
    let number = |status| outcomes.iter().filter(|outcome| outcome.status == status).count();
    let verb = if dry_run { "would be restored" } else { "restored" };
    let rest: String =
        [(OutcomeStatus::Refused, "refused"), (OutcomeStatus::Failed, "failed"), (OutcomeStatus::Manual, "waiting with a command")]
            .into_iter()
            .filter(|(status, _)| number(*status) > 0)
            .map(|(status, word)| format!(", {} {word}", number(status)))
            .collect();
    format!("{} {verb}{rest}", count(number(OutcomeStatus::Restored), "shell"))
}

/// Whether nothing failed, and nothing was cut short by the server's end.
pub fn went_well(outcomes: &[Outcome]) -> bool {
    !outcomes.iter().any(|outcome| outcome.status == OutcomeStatus::Failed || outcome.reason == "server_changed")
}
