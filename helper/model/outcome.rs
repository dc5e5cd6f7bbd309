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
    /// `NAME:WINDOW.PANE`, for people.
    pub place: String,
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
    /// It goes on with its conversation.
    Resumed,
    /// It asks something, and waits for the user.
    Waiting,
    /// It is on its way.
    Starting,
    /// Its conversation was not opened.
    Skipped,
    /// It was gone again, or never came.
    Failed,
}

impl AgentStatus {
    /// The word in `--json`.
    pub fn word(self) -> &'static str {
        match self {
            Self::Resumed => "resumed",
            Self::Waiting => "waiting",
            Self::Starting => "starting",
            Self::Skipped => "skipped",
            Self::Failed => "failed",
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

/// What was done, in one line; where agents wait, and what to look at if one failed.
pub fn in_one_line(outcomes: &[Outcome], dry_run: bool) -> String {
    let number = |status| outcomes.iter().filter(|outcome| outcome.status == status).count();
    let verb = if dry_run { "would be restored" } else { "restored" };
    let mut said = format!("{} {verb}", count(number(OutcomeStatus::Restored), "shell"));
    let rest = [(OutcomeStatus::Refused, "refused"), (OutcomeStatus::Failed, "failed"), (OutcomeStatus::Manual, "waiting with a command")];
    for (status, word) in rest.into_iter().filter(|(status, _)| number(*status) > 0) {
        said.push_str(&format!(", {} {word}", number(status)));
    }
    let agents = |status| outcomes.iter().flat_map(|outcome| &outcome.agents).filter(move |agent| agent.status == status);
    let verb = if dry_run { "would be resumed" } else { "resumed" };
    for (status, word) in [(AgentStatus::Resumed, verb), (AgentStatus::Starting, "starting")] {
        let some = agents(status).count();
        if some > 0 {
            said.push_str(&format!(", {} {word}", count(some, "agent")));
        }
    }
    let asking = agents(AgentStatus::Skipped).filter(|agent| dry_run && agent.reason == "needs_confirmation").count();
    if asking > 0 {
        said.push_str(&format!(", {} would be asked for first", count(asking, "agent")));
    }
    if let Some(waiting) =
        waiting_words(&agents(AgentStatus::Waiting).map(|agent| (agent.place.as_str(), agent.detail.as_str())).collect::<Vec<_>>())
    {
        said.push_str(&format!(", {waiting}"));
    }
    let failed = agents(AgentStatus::Failed).count();
    if failed > 0 {
        said.push_str(&format!(", {} failed: sidecar agent status", count(failed, "agent")));
    }
    said
}

/// Who waits where for the user, by place and question; `None` if nobody does.
pub fn waiting_words(waiting: &[(&str, &str)]) -> Option<String> {
    let (first, rest) = waiting.split_first()?;
    let more = if rest.is_empty() { String::new() } else { format!(" and {} more", rest.len()) };
    let verb = if rest.is_empty() { "agent waits" } else { "agents wait" };
    Some(format!("{} {verb} for you in {} ({}){more}", waiting.len(), first.0, first.1))
}

/// Whether nothing failed of the shells, and nothing was cut short by the server's end.
pub fn went_well(outcomes: &[Outcome]) -> bool {
    !outcomes.iter().any(|outcome| outcome.status == OutcomeStatus::Failed || outcome.reason == "server_changed")
}

/// Whether no agent failed.
pub fn agents_went_well(outcomes: &[Outcome]) -> bool {
    !outcomes.iter().flat_map(|outcome| &outcome.agents).any(|agent| agent.status == AgentStatus::Failed)
}
