//! What a user does with records: making, naming, forgetting, bringing back, deleting, and typing into a shell. Each verb is one
//! function, for the command line and for menus alike.

mod agents;
mod answer;
mod delete;
mod forget;
mod git;
mod import;
mod list;
mod names;
mod new;
mod open;
mod policy;
mod rename;
mod saves;
mod send;
mod target;
mod worktree;

use std::time::Duration;

use crate::error::{Error, Result};
use crate::model::{Observation, Policy, Shell, State};
use crate::store::{Config, Store};
use crate::tmux::Server;

pub use agents::{AgentListing, AgentState, PaneAgent};
pub use answer::{AnswerRow, AnswerStatus, Answers};
pub use import::Import;
pub use list::{AgentRow, Listing, Row, Status};
pub use new::{NewShell, Place};
pub use saves::{SaveFile, SaveHeld};
pub use send::{Sent, Text};
pub use target::ids_in;

/// How long the lock of the records is waited for.
const LOCK_LIMIT: Duration = Duration::from_secs(10);
/// How long tmux may take for one call.
const CALL_LIMIT: Duration = Duration::from_secs(5);

/// The shells of one server.
#[derive(Clone, Copy)]
pub struct Shells<'a> {
    /// The server.
    pub server: &'a Server,
    /// Its records.
    pub store: &'a Store,
    /// The user's choices.
    pub config: &'a Config,
}

/// What a verb did with a shell.
#[derive(Clone, Debug)]
pub struct Done {
    /// The shell's record as it is now, or as it was if it is gone for good.
    pub shell: Shell,
    /// What it is now.
    pub status: Status,
    /// Whether anything changed.
    pub changed: bool,
    /// What was done, as a sentence for people.
    pub said: String,
    /// What a person should know of the records on disk.
    pub notices: Vec<String>,
}

impl Done {
    /// Of the shell with this id in the records as they are now.
    fn of(id: &str, state: &State, seen: Option<&Observation>, said: String) -> Result<Self> {
        let tombstone = || state.tombstones.iter().map(|tombstone| &tombstone.shell).find(|shell| shell.id == id);
        let (shell, status) = match (state.shells.iter().find(|shell| shell.id == id), tombstone()) {
            (Some(shell), _) if open::live_session(shell, seen).is_some() => (shell, Status::Live),
            (Some(shell), _) => (shell, Status::Restorable),
            (None, Some(shell)) => (shell, Status::Forgotten),
            (None, None) => return Err(Error::failed("ended", format!("the shell {id} ended meanwhile"))),
        };
        Ok(Self { shell: shell.clone(), status, changed: true, said, notices: Vec::new() })
    }
}

/// A name as it is said to people.
fn quoted(shell: &Shell) -> String {
    format!("'{}'", shell.name)
}

/// What a policy means, in a few words.
pub fn policy_words(policy: Policy) -> &'static str {
    match policy {
        Policy::Inherit => "agents as restore.resumeAgents says",
        Policy::Shell => "restored without its agents",
        Policy::Resume => "agents resumed without asking",
        Policy::Never => "never restored",
    }
}
