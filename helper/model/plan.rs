//! What a restore would do.

use super::{EpochMs, Policy, RawText};

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
    /// What becomes of the agents in them.
    pub agents: Vec<AgentStep>,
}

/// What a restore would do with one pane's agent.
#[derive(Clone, Debug, PartialEq)]
pub struct AgentStep {
    /// The pane's id.
    pub pane: String,
    /// `NAME:WINDOW.PANE`, for people.
    pub place: String,
    /// Which agent, as the catalog names it.
    pub kind: String,
    /// Its name for people.
    pub title: String,
    /// The conversation; `None` where it is not known.
    pub id: Option<String>,
    /// What would be done.
    pub verdict: Verdict,
    /// Why, as a stable `snake_case` word.
    pub reason: &'static str,
    /// Why, in words that follow the agent's name.
    pub detail: String,
    /// The directory that it goes on in, lossy.
    pub work_dir: Option<String>,
    /// Why it is this conversation.
    pub since: Since,
    /// When it was last heard of.
    pub reported: Option<EpochMs>,
    /// What keeps it from being opened, whoever asks: a stable word, and words that follow the agent's name.
    pub obstacle: Option<(&'static str, String)>,
    /// What a resume runs, where it could be one.
    pub line: Option<ResumeLine>,
}

/// What a resume runs. Nothing in it is a secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResumeLine {
    /// In this directory.
    pub dir: RawText,
    /// With this variable, where the agent's configuration is not in its usual folder.
    pub variable: Option<(String, RawText)>,
    /// Without these: what another agent told its children, and the variable of the configuration's folder where that is the usual one.
    pub without: Vec<String>,
    /// Its executable, where the program's name is not found.
    pub program: Option<RawText>,
    /// The program and its arguments.
    pub words: Vec<RawText>,
}

/// What is done with an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Its conversation is opened again.
    Resume,
    /// The same, once the user has confirmed it.
    Ask,
    /// Nothing; the reason says why.
    No,
}

impl Verdict {
    /// The word in `--json`.
    pub fn word(self) -> &'static str {
        match self {
            Self::Resume => "resume",
            Self::Ask => "ask",
            Self::No => "no",
        }
    }
}

/// Up to when the reports count by which a pane's conversation is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Since {
    /// All of them.
    Newest,
    /// Only those from before this life of the server: nothing of the pane was resumed in it yet.
    BeforeThisServer,
    /// Only those from before the time that was asked for.
    AsOf,
    /// None of them: it is what the snapshot has that was asked for.
    Snapshot,
}

impl Since {
    /// The word in `--json`.
    pub fn word(self) -> &'static str {
        match self {
            Self::Newest => "newest",
            Self::BeforeThisServer => "before_this_server",
            Self::AsOf => "as_of",
            Self::Snapshot => "snapshot",
        }
    }
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
    /// The same, and conversations of agents are opened again.
    ResumeAgent,
}

impl Action {
    /// Whether a session is made.
    pub fn makes(self) -> bool {
        matches!(self, Self::Manual | Self::RecreateShell | Self::ResumeAgent)
    }

    /// The word in the plan.
    pub fn word(self) -> &'static str {
        match self {
            Self::Reattach => "reattach",
            Self::Skip => "skip",
            Self::Refuse => "refuse",
            Self::Manual => "manual",
            Self::RecreateShell => "recreate-shell",
            Self::ResumeAgent => "resume-agent",
        }
    }
}
