//! Closing a shell for good: its session, exactly that one, and its record to a tombstone.

use std::ffi::OsStr;

use super::forget::entomb;
use super::open::Found;
use super::target::First;
use super::{CALL_LIMIT, Done, Shells, quoted};
use crate::error::{Error, Result};
use crate::model::{Mark, Reason, Shell, State, Tombstone};
use crate::record::now;
use crate::store::Level;

impl Shells<'_> {
    /// Closes a shell's session, if it runs, and leaves a tombstone. What is meant to be is written first, so it holds even if this
    /// process ends with that session.
    ///
    /// # Errors
    /// No such shell (exit 3); tmux does not close it, and then nothing has changed; the records can't be read or written.
    pub fn delete(&self, target: &OsStr) -> Result<Done> {
        let (open, found) = self.open_for(Some(target), First::Recorded)?;
        open.must_know("delete a shell")?;
        let shell = found.shell().clone();
        let said = format!("{} is deleted: `sidecar shell restore {}` brings its record back", quoted(&shell), shell.id);
        let live = open.live(&shell).zip(open.seen().map(|seen| seen.generation.clone()));
        let Some((session, generation)) = live else {
            if let Found::Forgotten(tombstone) = &found {
                return self.resolve(open, tombstone, Reason::Deleted);
            }
            return self.finish(open, &shell.id, said, |state, _| entomb(state, &shell.id, Reason::Deleted, now()));
        };
        let mark = Mark { at: now(), generation: generation.clone() };
        self.commit(&open, |state, _| intend(state, &shell.id, &mark))?;
        // What the end of the session starts must find the records free.
        drop(open);
        // This process may run in that very session.
        let mut hangup = nix::sys::signal::SigSet::empty();
        hangup.add(nix::sys::signal::SIGHUP);
        let _ = hangup.thread_block();
        let refused = match self.server.close_session(&generation, &session, CALL_LIMIT) {
            Ok(None) => None,
            Ok(Some(said)) => Some(said),
            // It was the last one, and the server ended with it.
            Err(failure) if failure.is_of_an_ending_server() => None,
            Err(failure) => Some(failure.to_string()),
        };
        let open = self.open()?;
        if refused.is_some() {
            open.must_know("tell whether the session was closed")?;
        }
        if open.live(&shell).is_some() {
            self.commit(&open, |state, _| take_back(state, &found))?;
            let why = refused.unwrap_or_else(|| "tmux did not close it".to_owned());
            return Err(
                Error::failed("not_closed", format!("cannot close the session '{}': {why}", shell.session)).hint("nothing was changed")
            );
        }
        self.store.log(Level::Info, "delete", &format!("{} ({})", shell.id, shell.session));
        if open.seen().is_some() {
            // This look has made the tombstone. After the last session the server may end before another one.
            return Ok(Done { changed: true, ..open.nothing(&shell.id, said)? });
        }
        let closed = refused.is_none();
        self.finish(open, &shell.id, said, |state, _| {
            if closed {
                entomb(state, &shell.id, Reason::Deleted, mark.at);
            }
        })
    }
}

/// Writes down what is about to happen: a record waits for the end of its session, a tombstone says that the user closed it.
fn intend(state: &mut State, id: &str, mark: &Mark) {
    if let Some(shell) = state.shells.iter_mut().find(|shell| shell.id == id) {
        shell.deleting = Some(mark.clone());
    }
    if let Some(tombstone) = state.tombstones.iter_mut().find(|tombstone| tombstone.shell.id == id) {
        (tombstone.reason, tombstone.deleted_at) = (Reason::Deleted, mark.at);
    }
}

fn take_back(state: &mut State, found: &Found) {
    match found {
        Found::Recorded(Shell { id, .. }) => {
            if let Some(shell) = state.shells.iter_mut().find(|shell| shell.id == *id) {
                shell.deleting = None;
            }
        }
        Found::Forgotten(Tombstone { reason, deleted_at, shell: Shell { id, .. }, .. }) => {
            if let Some(tombstone) = state.tombstones.iter_mut().find(|tombstone| tombstone.shell.id == *id) {
                (tombstone.reason, tombstone.deleted_at) = (*reason, *deleted_at);
            }
        }
    }
}
