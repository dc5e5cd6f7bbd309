//! The records under their lock: a look, the shell that is meant, and the change, as one.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::time::Duration;

use super::target::{First, Target, find, no_target};
use super::{CALL_LIMIT, Done, LOCK_LIMIT, Shells};
use crate::error::{Error, Exit, Result};
use crate::model::{Ids, NoTarget, Observation, SeenSession, ServerState, Shell, State, Tombstone};
use crate::record::{Keep, RandomIds, Recorded, bury_deleted, now, purge, record, record_after};
use crate::restore::{Situation, situation};
use crate::store::{Level, Lock};
use crate::tmux::{Failure, name_from_shown, shown_from_name};

/// How long a server that did not answer is asked whether there is one at all.
const AGAIN_LIMIT: Duration = Duration::from_millis(500);

/// The records, held for a change, as the present look makes them.
pub(super) struct Open {
    pub(super) held: Lock,
    /// The records.
    pub(super) state: State,
    answer: Answer,
    /// What a person should know of the records on disk.
    pub(super) notices: Vec<String>,
}

/// What the server said.
enum Answer {
    Alive(Box<Observation>),
    /// There is none, and the one that was recorded is gone.
    Gone,
    /// Nothing can be told, and why: what lives, lives on as it is.
    Unknown(String),
}

/// A shell that was found.
#[derive(Clone, Debug)]
pub(super) enum Found {
    Recorded(Shell),
    Forgotten(Tombstone),
}

impl Found {
    pub(super) fn shell(&self) -> &Shell {
        match self {
            Self::Recorded(shell) => shell,
            Self::Forgotten(tombstone) => &tombstone.shell,
        }
    }
}

impl Open {
    /// There is nothing to do.
    pub(super) fn nothing(self, id: &str, said: String) -> Result<Done> {
        let done = Done::of(id, &self.state, self.seen(), said)?;
        Ok(Done { changed: false, notices: self.notices, ..done })
    }
}

/// The live id of a shell's session, if it runs.
pub(super) fn live_session<'a>(shell: &'a Shell, seen: Option<&'a Observation>) -> Option<&'a str> {
    let seen = seen?;
    if let Some(tagged) = seen.sessions.iter().find(|session| session.tag == shell.id) {
        return Some(&tagged.id);
    }
    // Its id was put on it by this very look.
    let known = shell.seen.as_ref().filter(|known| known.generation == seen.generation)?;
    let session = seen.sessions.iter().find(|session| session.id == known.session && session.tag.is_empty())?;
    Some(&session.id)
}

/// The session that a pane is shown in: of several, as tmux itself chooses, the one that a client is in, then the one used last.
fn session_of_pane<'a>(seen: &'a Observation, pane: &str) -> Option<&'a SeenSession> {
    let holds = |session: &&SeenSession| session.windows.iter().flat_map(|window| &window.panes).any(|other| other.id == pane);
    seen.sessions.iter().filter(holds).max_by_key(|session| (session.attached > 0, session.activity))
}

impl Open {
    pub(super) fn seen(&self) -> Option<&Observation> {
        if let Answer::Alive(seen) = &self.answer { Some(seen) } else { None }
    }

    /// The live id of a shell's session, if it runs.
    pub(super) fn live(&self, shell: &Shell) -> Option<String> {
        live_session(shell, self.seen()).map(str::to_owned)
    }

    /// A shell's session, if it runs.
    pub(super) fn session(&self, shell: &Shell) -> Option<&SeenSession> {
        let live = live_session(shell, self.seen())?;
        self.seen()?.sessions.iter().find(|session| session.id == live)
    }

    /// Refuses what can't be done without knowing whether the session lives.
    pub(super) fn must_know(&self, what: &str) -> Result<()> {
        match &self.answer {
            Answer::Unknown(why) => Err(Error::failed("server_unknown", format!("cannot {what}: {why}")).hint("nothing was changed")),
            Answer::Alive(_) | Answer::Gone => Ok(()),
        }
    }
}

fn found(target: Target) -> Found {
    match target {
        Target::Recorded(shell) => Found::Recorded(shell.clone()),
        Target::Forgotten(tombstone) => Found::Forgotten(tombstone.clone()),
    }
}

/// What a living session is to the records.
fn of_session(state: &State, seen: Option<&Observation>, session: &SeenSession) -> Option<Found> {
    let of = |shell: &Shell| live_session(shell, seen) == Some(&session.id);
    let shell = || state.shells.iter().find(|shell| of(shell)).cloned().map(Found::Recorded);
    shell().or_else(|| state.tombstones.iter().find(|tombstone| of(&tombstone.shell)).cloned().map(Found::Forgotten))
}

/// The living session of this name, where no record has it.
pub(super) fn session_named<'a>(seen: Option<&'a Observation>, name: &OsStr) -> Option<&'a SeenSession> {
    seen?.sessions.iter().find(|session| is_called(session, name.as_bytes()))
}

impl Shells<'_> {
    /// Takes the lock, looks, and writes down what lives.
    pub(super) fn open(&self) -> Result<Open> {
        self.must_exist()?;
        self.open_anyway()
    }

    fn must_exist(&self) -> Result<()> {
        if !self.store.exists() && self.server.pid_and_version(CALL_LIMIT).is_err() {
            let name = self.server.display_name();
            return Err(Error::failed("no_such_shell", format!("nothing is recorded of the server '{name}', and it does not run"))
                .exit(Exit::NoTarget)
                .hint("-L NAME and -S PATH choose another server"));
        }
        Ok(())
    }

    /// The same for who brings records, where none may have been yet.
    pub(super) fn open_anyway(&self) -> Result<Open> {
        let held = self.store.lock(LOCK_LIMIT)?;
        let notices = self.store.load()?.notices;
        match record(self.server, self.store, self.config, &held) {
            Ok(Recorded { seen, changes }) => Ok(Open { held, state: changes.state, answer: Answer::Alive(Box::new(seen)), notices }),
            // Who has just been waited for in vain is not asked much again.
            Err(error) if error.code == "no_answer" && self.server.pid_and_version(AGAIN_LIMIT) != Err(Failure::NoServer) => {
                Ok(Open { held, state: self.store.load()?.state, answer: Answer::Unknown(error.message), notices })
            }
            Err(error) if error.code == "no_answer" => {
                let situation = situation(self.server, self.store, self.config)?;
                let answer = match situation.server.state {
                    ServerState::Gone => Answer::Gone,
                    _ => Answer::Unknown(situation.server.detail.unwrap_or(error.message)),
                };
                Ok(Open { held, state: situation.state, answer, notices })
            }
            Err(error) => Err(error),
        }
    }

    /// The records and the shell that is meant: the current one if there is no target. A session that nobody used yet, and so has
    /// no record, gets one by being named.
    pub(super) fn open_for(&self, target: Option<&OsStr>, first: First) -> Result<(Open, Found)> {
        let open = self.open()?;
        let session = match self.look_up(&open.state, open.seen(), target, first)? {
            Ok(found) => return Ok((open, found)),
            Err(session) => session.clone(),
        };
        self.record_at_last(open, &session)
    }

    /// The same without changing anything; a session that has no record is none.
    pub(super) fn peek(&self, target: Option<&OsStr>, first: First) -> Result<(Situation, Found)> {
        let situation = situation(self.server, self.store, self.config)?;
        let found = match self.look_up(&situation.state, situation.seen.as_ref(), target, first)? {
            Ok(found) => found,
            Err(session) => {
                let why = format!("the session '{}' is not recorded yet: nobody used it", session.name);
                return Err(Error::failed("not_recorded", why).exit(Exit::NoTarget));
            }
        };
        Ok((situation, found))
    }

    /// What is meant: something in the records, or (`Err`) a living session that they don't know.
    fn look_up<'o>(
        &self,
        state: &State,
        seen: Option<&'o Observation>,
        target: Option<&OsStr>,
        first: First,
    ) -> Result<std::result::Result<Found, &'o SeenSession>> {
        let session = if let Some(target) = target {
            match find(state, target, first) {
                Ok(target) => return Ok(Ok(found(target))),
                Err(why @ NoTarget::Several(_)) => return Err(no_target(&self.server.display_name(), target, &why)),
                Err(why @ NoTarget::Unknown(_)) => {
                    session_named(seen, target).ok_or_else(|| no_target(&self.server.display_name(), target, &why))?
                }
            }
        } else {
            self.current(seen)?
        };
        Ok(of_session(state, seen, session).ok_or(session))
    }

    /// The session of the pane that this process runs in.
    fn current<'o>(&self, seen: Option<&'o Observation>) -> Result<&'o SeenSession> {
        let own = self.server.own_pane();
        let seen = seen.filter(|seen| own.as_ref().is_some_and(|(pid, _)| *pid == seen.generation.pid));
        seen.and_then(|seen| session_of_pane(seen, &own.as_ref()?.1)).ok_or_else(|| {
            Error::failed("no_current_shell", "no shell was named, and this is no pane of that server")
                .exit(Exit::NoTarget)
                .hint("name one: `sidecar shell list --all` shows them")
        })
    }

    /// Records a living session that has no record.
    fn record_at_last(&self, open: Open, session: &SeenSession) -> Result<(Open, Found)> {
        if self.config.ignores(&session.name) {
            return Err(Error::failed(
                "ignored",
                format!("the session '{}' is not recorded: its name matches shells.ignore", session.name),
            )
            .exit(Exit::NoTarget)
            .hint("tmux's own commands work on it"));
        }
        let id = RandomIds.fresh("sh");
        if let Some(seen) = open.seen() {
            let tag = (session.id.clone(), id.clone());
            self.server
                .tag(&seen.generation, &[tag], &[], CALL_LIMIT)
                .map_err(|failure| Error::failed("tmux", format!("cannot record the session '{}': {failure}", session.name)))?;
        }
        let Open { held, notices, .. } = open;
        let Recorded { seen, changes } = record(self.server, self.store, self.config, &held)?;
        let found = changes.state.shells.iter().find(|shell| shell.id == id).cloned().map(Found::Recorded);
        let open = Open { held, state: changes.state, answer: Answer::Alive(Box::new(seen)), notices };
        let found = found.ok_or_else(|| {
            Error::failed("no_such_shell", format!("the session '{}' ended meanwhile", session.name)).exit(Exit::NoTarget)
        })?;
        Ok((open, found))
    }

    /// Changes the records, and tells of a shell as it is then.
    pub(super) fn finish(&self, open: Open, id: &str, said: String, change: impl FnOnce(&mut State, Option<&Observation>)) -> Result<Done> {
        let (state, seen) = self.commit(&open, change)?;
        Ok(Done { notices: open.notices, ..Done::of(id, &state, seen.as_ref(), said)? })
    }

    /// Changes the records, and writes them with what a look sees now.
    pub(super) fn commit(
        &self,
        open: &Open,
        change: impl FnOnce(&mut State, Option<&Observation>),
    ) -> Result<(State, Option<Observation>)> {
        let gone = matches!(open.answer, Answer::Gone);
        if let Answer::Alive(before) = &open.answer {
            let mut done = false;
            let Recorded { seen, changes } = record_after(self.server, self.store, self.config, &open.held, |state, seen| {
                if seen.generation == before.generation {
                    change(state, Some(seen));
                    done = true;
                }
            })?;
            if done {
                return Ok((changes.state, Some(seen)));
            }
            return Err(
                Error::failed("server_changed", "another tmux server answers than a moment ago: nothing was changed").hint("try again")
            );
        }
        let loaded = self.store.load()?;
        for notice in &loaded.notices {
            self.store.log(Level::Warn, "load", notice);
        }
        let mut state = loaded.state.clone();
        if gone {
            bury_deleted(&mut state);
            purge(&mut state, Keep::of(self.config), now(), &|_| false);
        }
        change(&mut state, None);
        self.store.save(&open.held, &loaded, &state, now())?;
        Ok((state, None))
    }
}

/// Whether a living session has a name that tmux would show for this one.
pub(super) fn is_called(session: &SeenSession, name: &[u8]) -> bool {
    session.name == shown_from_name(name) || name_from_shown(&session.name) == name
}
