//! Naming a shell: its display name, and its session's name with it.

use std::ffi::OsStr;

use super::names::{self, Name, check_free, check_recorded, held_by, kept_session, session_holder};
use super::open::{Found, Open, is_called, live_session};
use super::target::First;
use super::{CALL_LIMIT, Done, Shells, quoted};
use crate::error::{Error, Exit, Result};
use crate::model::{Shell, Tombstone};
use crate::tmux::shown_from_name;

/// What became of the session's own name.
enum Session {
    /// It follows.
    Follows,
    /// It stays as it is, and why.
    Stays(String),
}

impl Shells<'_> {
    /// Names a shell, the current one if there is no target. The session's name follows, unless somebody else holds it or tmux does
    /// not take it: the answer says so then.
    ///
    /// # Errors
    /// No such shell (exit 3), a name that can't be given (2) or that another shell of the project has (5); tmux or the records fail.
    pub fn rename(&self, target: Option<&OsStr>, name: &OsStr) -> Result<Done> {
        let name = names::check(name)?;
        let (open, found) = self.open_for(target, First::Recorded)?;
        let shell = match found {
            Found::Recorded(shell) => shell,
            Found::Forgotten(tombstone) => return Err(is_forgotten(&tombstone, "rename")),
        };
        check_recorded(self.config, &name)?;
        check_free(&open.state, &name.display, shell.home(), &shell.id)?;
        open.must_know("rename a shell")?;
        let session = match session_holder(&open.state, &name, &shell.id) {
            Some(other) => Session::Stays(kept_session(&shell, &held_by(other))),
            None => self.rename_session(&open, &shell, &name)?,
        };
        let follows = matches!(session, Session::Follows);
        let mut said = format!("{} is '{}' now", quoted(&shell), name.display);
        if let Session::Stays(why) = &session {
            said.push_str(&format!("; {why}"));
        }
        let done = self.finish(open, &shell.id, said, |state, seen| {
            let Some(shell) = state.shells.iter_mut().find(|other| other.id == shell.id) else { return };
            shell.name.clone_from(&name.display);
            if follows {
                // What this server makes of the name is the session's name; one that does not live has it as tmux would show it.
                let live = live_session(shell, seen);
                let session = seen.into_iter().flat_map(|seen| &seen.sessions).find(|session| Some(session.id.as_str()) == live);
                shell.session = session.map_or_else(|| shown_from_name(&name.bytes), |session| session.name.clone());
                shell.seen_as = None;
            }
        })?;
        Ok(Done { changed: done.shell.name != shell.name || done.shell.session != shell.session, ..done })
    }

    fn rename_session(&self, open: &Open, shell: &Shell, name: &Name) -> Result<Session> {
        let (Some(seen), Some(live)) = (open.seen(), open.live(shell)) else { return Ok(Session::Follows) };
        if seen.sessions.iter().any(|session| session.id == live && is_called(session, &name.bytes)) {
            return Ok(Session::Follows);
        }
        let refused = self
            .server
            .rename_session(&seen.generation, &live, &name.bytes, CALL_LIMIT)
            .map_err(|failure| Error::failed("tmux", format!("cannot rename the session '{}': {failure}", shell.session)))?;
        Ok(match refused {
            None => Session::Follows,
            Some(said) if said.contains("duplicate session") => Session::Stays(kept_session(shell, "another session has that name")),
            Some(said) => Session::Stays(kept_session(shell, &format!("tmux takes no such name ({said})"))),
        })
    }
}

/// Exit 3: what is done to records can't be done to a tombstone.
pub(super) fn is_forgotten(tombstone: &Tombstone, what: &str) -> Error {
    let shell = &tombstone.shell;
    Error::failed("forgotten", format!("cannot {what} {}: it is {}", quoted(shell), tombstone.reason.word()))
        .exit(Exit::NoTarget)
        .hint(format!("`sidecar shell restore {}` brings its record back", shell.id))
}
