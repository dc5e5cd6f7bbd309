//! Naming a shell: its display name, and its session's name with it.

use std::ffi::OsStr;

use super::names::{self, Name, check_free, check_recorded, held_by, session_holder};
use super::open::{Found, Open, is_called, live_session};
use super::target::First;
use super::{CALL_LIMIT, Done, Shells, quoted};
use crate::error::{Error, Exit, Result};
use crate::model::{Shell, Tombstone};
use crate::tmux::shown_from_name;

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
        let shown = shown_from_name(&name.bytes);
        check_recorded(self.config, &shown)?;
        check_free(&open.state, &name.display, shell.home(), &shell.id)?;
        open.must_know("rename a shell")?;
        let stays = match session_holder(&open.state, &shown, &shell.id) {
            Some(other) => Some(held_by(other)),
            None => self.rename_session(&open, &shell, &name)?,
        };
        let mut said = format!("{} is '{}' now", quoted(&shell), name.display);
        if let Some(why) = &stays {
            said.push_str(&format!("; its session stays '{}': {why}", shell.session));
        }
        let done = self.finish(open, &shell.id, said, |state, seen| {
            let Some(shell) = state.shells.iter_mut().find(|other| other.id == shell.id) else { return };
            shell.name.clone_from(&name.display);
            if stays.is_none() {
                // What this server makes of the name is the session's name; one that does not live has it as tmux would show it.
                let live = live_session(shell, seen);
                let session = seen.into_iter().flat_map(|seen| &seen.sessions).find(|session| Some(session.id.as_str()) == live);
                shell.session = session.map_or_else(|| shown.clone(), |session| session.name.clone());
                shell.seen_as = None;
            }
        })?;
        Ok(Done { changed: done.shell.name != shell.name || done.shell.session != shell.session, ..done })
    }

    /// The session's own name too, or why it stays as it is.
    fn rename_session(&self, open: &Open, shell: &Shell, name: &Name) -> Result<Option<String>> {
        let (Some(seen), Some(session)) = (open.seen(), open.session(shell)) else { return Ok(None) };
        if is_called(session, &name.bytes) {
            return Ok(None);
        }
        let refused = self
            .server
            .rename_session(&seen.generation, &session.id, &name.bytes, CALL_LIMIT)
            .map_err(|failure| Error::failed("tmux", format!("cannot rename the session '{}': {failure}", shell.session)))?;
        Ok(refused.map(|said| {
            let taken = said.contains("duplicate session");
            if taken { "another session has that name".to_owned() } else { format!("tmux takes no such name ({said})") }
        }))
    }
}

/// Exit 3: what is done to records can't be done to a tombstone.
fn is_forgotten(tombstone: &Tombstone, what: &str) -> Error {
    let shell = &tombstone.shell;
    Error::failed("forgotten", format!("cannot {what} {}: it is {}", quoted(shell), tombstone.reason.word()))
        .exit(Exit::NoTarget)
        .hint(format!("`sidecar shell restore {}` brings its record back", shell.id))
}
