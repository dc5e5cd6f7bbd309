//! The shells of a project, or of all: what lives, what can be restored, what is forgotten.

use std::path::{Path, PathBuf};

use super::Shells;
use super::agents::{self, AgentState};
use crate::error::{Error, Exit, Result};
use crate::model::{Action, EpochMs, Shell, Tombstone};
use crate::record::{expires_at, project_of};
use crate::restore::{Asked, situation};

/// What a shell is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Status {
    /// Its session runs.
    Live,
    /// Its session does not run, and its record stands.
    Restorable,
    /// It has a tombstone.
    Forgotten,
}

impl Status {
    /// The word in lists and in `--json`.
    pub fn word(self) -> &'static str {
        match self {
            Self::Live => "live",
            Self::Restorable => "restorable",
            Self::Forgotten => "forgotten",
        }
    }
}

/// A row of the list.
#[derive(Clone, Debug)]
pub struct Row {
    /// Its record.
    pub shell: Shell,
    /// How many panes its windows hold.
    pub panes: usize,
    /// What it is.
    pub status: Status,
    /// Why, as a stable `snake_case` word: that of the plan, or of the tombstone.
    pub reason: String,
    /// What of the reason a table needs.
    pub note: Option<String>,
    /// When its tombstone was made.
    pub deleted_at: Option<EpochMs>,
    /// When its tombstone expires; `None` for never, as long as its session runs too.
    pub expires_at: Option<EpochMs>,
    /// Whether its session runs; one that is forgotten may.
    pub running: bool,
    /// Its agents.
    pub agents: Vec<AgentRow>,
}

/// An agent's conversation in a pane.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentRow {
    /// The pane's id.
    pub pane: String,
    /// Which agent.
    pub kind: String,
    /// Its name for people.
    pub title: String,
    /// What is known of it.
    pub state: AgentState,
}

/// The list.
#[derive(Clone, Debug)]
pub struct Listing {
    /// The rows: live, restorable, forgotten (the newest first).
    pub rows: Vec<Row>,
    /// What a person should know of the records and the configuration.
    pub notices: Vec<String>,
}

/// The project of a directory: the git checkout that it lies in, else the directory itself.
pub(super) fn place_of(dir: &Path) -> PathBuf {
    let (project, worktree) = project_of(dir);
    worktree.or(project).map_or_else(|| dir.to_owned(), |top| top.as_path().to_owned())
}

/// A shell belongs to a project if its directory or one of its panes' lies there, or if it is a workspace of it.
fn belongs(shell: &Shell, place: &Path) -> bool {
    let inside = |dir: &Path| dir.starts_with(place);
    shell.home().as_path() == place || inside(shell.work_dir.as_path()) || shell.panes().any(|pane| inside(pane.dir.as_path()))
}

impl Shells<'_> {
    /// The shells of the project that `dir` lies in, of every project if there is none. Changes nothing.
    ///
    /// # Errors
    /// No such directory (exit 2); the records can't be read at all.
    pub fn list(&self, dir: Option<&Path>) -> Result<Listing> {
        let place = dir.map(|dir| fs_err::canonicalize(dir).map(|dir| place_of(&dir))).transpose().map_err(|_| {
            let dir = dir.unwrap_or(Path::new(".")).display();
            Error::failed("no_such_directory", format!("cannot list the shells of {dir}: it is no directory")).exit(Exit::Usage)
        })?;
        let situation = situation(self.server, self.store, self.config)?;
        let plan = situation.plan_for(Asked { agents: true, as_of: None });
        let agents = agents::of_panes(&situation, &plan);
        let agents_of = |shell: &Shell| {
            let own = agents.iter().filter(|agent| agent.shell.as_ref() == Some(&shell.id));
            own.filter_map(|agent| {
                Some(AgentRow { pane: agent.pane.clone()?, kind: agent.kind.clone(), title: agent.title.clone(), state: agent.state })
            })
            .collect()
        };
        let wanted = |shell: &Shell| place.as_ref().is_none_or(|place| belongs(shell, place));
        let mut rows: Vec<Row> = Vec::new();
        for step in &plan.steps {
            let Some(shell) = situation.state.shells.iter().find(|shell| shell.id == step.shell && wanted(shell)) else { continue };
            let live = step.action == Action::Reattach;
            rows.push(Row {
                shell: shell.clone(),
                panes: step.panes,
                status: if live { Status::Live } else { Status::Restorable },
                reason: step.reason.to_owned(),
                note: step.note.clone().filter(|_| !live),
                deleted_at: None,
                expires_at: None,
                running: live,
                agents: agents_of(shell),
            });
        }
        rows.sort_by_key(|row| row.status);
        let mut tombstones: Vec<&Tombstone> = situation.state.tombstones.iter().filter(|tombstone| wanted(&tombstone.shell)).collect();
        tombstones.sort_by_key(|tombstone| std::cmp::Reverse(tombstone.deleted_at));
        for tombstone in tombstones {
            let shell = &tombstone.shell;
            let running = super::open::live_session(shell, situation.seen.as_ref()).is_some();
            rows.push(Row {
                shell: shell.clone(),
                panes: shell.panes().count(),
                status: Status::Forgotten,
                reason: tombstone.reason.word().to_owned(),
                note: None,
                deleted_at: Some(tombstone.deleted_at),
                expires_at: expires_at(tombstone, self.config.retention).filter(|_| !running),
                running,
                agents: situation
                    .agents_of_forgotten(shell)
                    .into_iter()
                    .map(|agent| AgentRow { state: agents::state_of(&agent), pane: agent.pane, kind: agent.kind, title: agent.title })
                    .collect(),
            });
        }
        let notices = situation.notices.iter().chain(&self.config.warnings).cloned().collect();
        Ok(Listing { rows, notices })
    }
}
