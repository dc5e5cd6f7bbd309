//! What a restore would do.

use super::{EpochMs, Policy};

/// The ordered, read-only list of what a restore would do.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The server it is about.
    pub server: ServerReport,
    /// A step for each shell, by project, then name.
    pub steps: Vec<Step>,
}

/// What is known of the server.
#[derive(Clone, Debug)]
pub struct ServerReport {
    /// Its socket.
    pub socket: String,
    /// What it is now.
    pub state: ServerState,
    /// The pid that answers, or the one that is stuck.
    pub pid: Option<i32>,
    /// The server's version.
    pub version: Option<String>,
    /// Why the state is `stuck` or `unknown`, and what to do.
    pub detail: Option<String>,
    /// When a server was last seen to answer here.
    pub last_seen: Option<EpochMs>,
}

/// What a server is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerState {
    /// It answers.
    Running,
    /// Nobody listens, and the recorded process is gone.
    Gone,
    /// The recorded process lives, but its socket is missing, does not answer or belongs to another server.
    Stuck,
    /// Neither can be told.
    Unknown,
}

impl ServerState {
    /// The word in `--json`.
    pub fn word(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Gone => "gone",
            Self::Stuck => "stuck",
            Self::Unknown => "unknown",
        }
    }
}

/// What a restore would do with one shell.
#[derive(Clone, Debug)]
pub struct Step {
    /// The shell's id.
    pub shell: String,
    /// Its session's name.
    pub session: String,
    /// Its display name.
    pub name: String,
    /// Its project's path, lossy.
    pub project: Option<String>,
    /// Its directory, lossy.
    pub work_dir: String,
    /// What would be done.
    pub action: Action,
    /// Why, as a stable `snake_case` word.
    pub reason: &'static str,
    /// Why, as a sentence.
    pub detail: String,
    /// What of the sentence a table needs, which shows the action and the size already.
    pub note: Option<String>,
    /// The shell's policy.
    pub policy: Policy,
    /// How many windows its record holds.
    pub windows: usize,
    /// How many panes.
    pub panes: usize,
}

/// What is done with a shell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// It is alive here.
    Reattach,
    /// Nothing is to be done.
    Skip,
    /// It can't be restored now; the reason says what to mend.
    Refuse,
    /// The same as `RecreateShell`; each of its panes waits with the command that it was started with.
    Manual,
    /// Its session, windows, panes and layout are made again.
    RecreateShell,
}

impl Action {
    /// Whether a session is made.
    pub fn makes(self) -> bool {
        matches!(self, Self::Manual | Self::RecreateShell)
    }

    /// The word in the plan.
    pub fn word(self) -> &'static str {
        match self {
            Self::Reattach => "reattach",
            Self::Skip => "skip",
            Self::Refuse => "refuse",
            Self::Manual => "manual",
            Self::RecreateShell => "recreate-shell",
        }
    }
}
