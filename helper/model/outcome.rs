//! What a restore did.

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
    /// Its commands are the user's to start.
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
