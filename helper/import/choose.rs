//! Which sessions of a save become records: none whose name is taken.

use std::collections::HashSet;

use super::sessions::Draft;
use crate::model::{Observation, Shell, State};
use crate::tmux::name_from_shown;

/// Why a session is not imported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// It was imported before.
    AlreadyImported,
    /// A session of that name runs.
    SessionRunning,
    /// A record has that name.
    ShellRecorded,
    /// A tombstone has it.
    ShellForgotten,
    /// It matches `shells.ignore`.
    NameIgnored,
    /// The session whose windows it shares is not imported.
    OriginalSkipped,
}

impl Reason {
    /// The word in `--json`.
    pub fn word(self) -> &'static str {
        match self {
            Self::AlreadyImported => "already_imported",
            Self::SessionRunning => "session_running",
            Self::ShellRecorded => "shell_recorded",
            Self::ShellForgotten => "shell_forgotten",
            Self::NameIgnored => "name_ignored",
            Self::OriginalSkipped => "original_skipped",
        }
    }
}

/// What becomes of a session of a save.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It becomes a record.
    Imported,
    /// It does not, since …
    Skipped(Reason),
}

/// A session of a save, what becomes of it, and a sentence about that.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// What was read.
    pub draft: Draft,
    /// What becomes of it.
    pub fate: Fate,
    /// For people.
    pub detail: String,
}

/// Decides for each session. A session that nobody used yet takes no name: a restore has it give way.
pub fn choose(drafts: Vec<Draft>, state: &State, seen: Option<&Observation>, ignored: &dyn Fn(&str) -> bool) -> Vec<Candidate> {
    let mut imported: HashSet<String> = HashSet::new();
    let mut candidates = Vec::new();
    for draft in drafts {
        let orphan = draft.original.as_ref().is_some_and(|original| !imported.contains(original));
        let taken = taken(&draft.shell.session, state, seen, ignored);
        let (fate, detail) = match taken {
            Some((reason, detail)) => (Fate::Skipped(reason), detail),
            None if orphan => {
                let group = draft.shell.group.as_deref().unwrap_or_default();
                (Fate::Skipped(Reason::OriginalSkipped), format!("'{group}', whose windows it shares, is not imported"))
            }
            None => {
                imported.insert(draft.shell.id.clone());
                (Fate::Imported, String::new())
            }
        };
        candidates.push(Candidate { draft, fate, detail });
    }
    candidates
}

fn taken(name: &str, state: &State, seen: Option<&Observation>, ignored: &dyn Fn(&str) -> bool) -> Option<(Reason, String)> {
    let shells = || state.shells.iter();
    let forgotten = || state.tombstones.iter().map(|tombstone| &tombstone.shell);
    if let Some(own) = shells().chain(forgotten()).find(|shell| shell.imported.is_some() && shell.made_as == name) {
        return Some((Reason::AlreadyImported, format!("it was imported before, as {}", own.id)));
    }
    let unused = seen.and_then(|seen| state.bootstrap.as_ref().filter(|bootstrap| bootstrap.generation == seen.generation));
    let mut sessions = seen.into_iter().flat_map(|seen| &seen.sessions);
    let asked = name_from_shown(name);
    if sessions.any(|session| {
        (session.name == name || name_from_shown(&session.name) == asked) && unused.is_none_or(|unused| unused.session != session.id)
    }) {
        return Some((Reason::SessionRunning, "a session of that name runs".to_owned()));
    }
    let has_it =
        |shell: &&Shell| [&shell.session, &shell.made_as, &shell.name].into_iter().chain(&shell.seen_as).any(|known| known == name);
    if let Some(shell) = shells().find(has_it) {
        return Some((Reason::ShellRecorded, format!("another shell, {}, has that name", shell.id)));
    }
    if let Some(shell) = forgotten().find(has_it) {
        let why = format!("a forgotten shell has that name: `sidecar shell restore {}` brings it back", shell.id);
        return Some((Reason::ShellForgotten, why));
    }
    ignored(name).then(|| (Reason::NameIgnored, "its name matches shells.ignore".to_owned()))
}
