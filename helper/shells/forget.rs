//! To a tombstone, back, and away for good.

use std::collections::BTreeSet;
use std::ffi::OsStr;

use super::names::{check_free, check_recorded, held_by, session_holder};
use super::open::{Found, Open, live_session};
use super::target::First;
use super::{Done, Shells, Status, names, quoted};
use crate::error::{Error, Exit, Result};
use crate::model::{EpochMs, Observation, Policy, Reason, Shell, State, Tombstone, Window};
use crate::record::{bury, now};

impl Shells<'_> {
    /// Makes a tombstone of a shell. A session that runs goes on, and is not recorded again until its shell is brought back.
    ///
    /// # Errors
    /// No such shell (exit 3); the records can't be read or written.
    pub fn forget(&self, target: &OsStr) -> Result<Done> {
        let (open, found) = self.open_for(Some(target), First::Recorded)?;
        let shell = match found {
            Found::Recorded(shell) => shell,
            Found::Forgotten(tombstone) => return self.resolve(open, &tombstone, Reason::Forgotten),
        };
        let runs = if open.live(&shell).is_some() { "; its session runs on, and is not recorded" } else { "" };
        let said = format!("{} is forgotten{runs}: `sidecar shell restore {}` brings it back", quoted(&shell), shell.id);
        self.finish(open, &shell.id, said, |state, _| entomb(state, &shell.id, Reason::Forgotten, now()))
    }

    /// What the user says of a tombstone that only tells what was seen: now it is their wish, and no snapshot brings it back.
    pub(super) fn resolve(&self, open: Open, tombstone: &Tombstone, reason: Reason) -> Result<Done> {
        let (shell, was) = (&tombstone.shell, tombstone.reason.word());
        if tombstone.reason != Reason::Closed {
            return open.nothing(&shell.id, format!("{} is {was} already", quoted(shell)));
        }
        let said = format!("{} is {was} already, and {} now: no snapshot brings it back", quoted(shell), reason.word());
        self.finish(open, &shell.id, said, |state, _| {
            if let Some(tombstone) = state.tombstones.iter_mut().find(|tombstone| tombstone.shell.id == shell.id) {
                tombstone.reason = reason;
            }
        })
    }

    /// Makes a record of a tombstone again: of a session that runs a live one.
    ///
    /// # Errors
    /// No such shell (exit 3), or another one of its project has its name now (5), and then the tombstone stays as it is; the
    /// records can't be read or written.
    pub fn restore(&self, target: &OsStr) -> Result<Done> {
        let (open, found) = self.open_for(Some(target), First::Forgotten)?;
        let tombstone = match found {
            Found::Forgotten(tombstone) => tombstone,
            Found::Recorded(shell) => {
                return open.nothing(&shell.id, format!("{} is not forgotten", quoted(&shell)));
            }
        };
        let shell = &tombstone.shell;
        let session = open.session(shell).map_or(&shell.session, |session| &session.name);
        check_recorded(self.config, session)?;
        check_free(&open.state, &shell.name, shell.home(), &shell.id).map_err(|error| Error {
            message: format!("cannot bring {} ({}) back: {}", quoted(shell), shell.id, error.message),
            hint: names::holder(&open.state, &shell.name, shell.home(), &shell.id)
                .map(|other| format!("rename that one first: `sidecar shell rename --target {} NAME`", other.id)),
            ..error
        })?;
        let mut said = format!("{} is recorded again", quoted(shell));
        if open.live(shell).is_some() {
            said.push_str(", and running");
        } else if shell.policy == Policy::Never {
            said.push_str("; its policy is never, so no restore makes it");
        } else {
            said.push_str(&format!(": `sidecar session restore --shell {}` makes it", shell.id));
            if let Some(other) = session_holder(&open.state, &shell.session, &shell.id) {
                said.push_str(&format!("; but {} now, so rename one of the two first", held_by(other)));
            }
        }
        self.finish(open, &shell.id, said, |state, seen| bring_back(state, &shell.id, seen))
    }

    /// Removes one tombstone for good. Whoever calls this has asked before.
    ///
    /// # Errors
    /// No such tombstone (exit 3); its session runs, and would be recorded anew (5); the records can't be read or written.
    pub fn purge(&self, target: &OsStr) -> Result<Done> {
        let (open, found) = self.open_for(Some(target), First::Forgotten)?;
        let tombstone = match found {
            Found::Forgotten(tombstone) => tombstone,
            Found::Recorded(shell) => {
                return Err(Error::failed("not_forgotten", format!("cannot purge {}: it is not forgotten", quoted(&shell)))
                    .exit(Exit::Refused)
                    .hint(format!("`sidecar shell forget {}` first", shell.id)));
            }
        };
        let shell = tombstone.shell;
        open.must_know("purge a shell")?;
        if open.live(&shell).is_some() {
            return Err(Error::failed("running", format!("cannot purge {}: its session runs, and would be recorded anew", quoted(&shell)))
                .exit(Exit::Refused)
                .hint(format!("`sidecar shell delete --target {}` closes it", shell.id)));
        }
        self.store.drop_from_snapshots(&open.held, &BTreeSet::from([shell.id.as_str()]))?;
        self.commit(&open, |state, _| state.tombstones.retain(|tombstone| tombstone.shell.id != shell.id))?;
        // What its panes showed goes with it; a linked window lives on in another shell.
        let has = |shell: &Shell, pane: &str| shell.panes().any(|own| own.id == pane);
        self.store.keep_texts(&|pane| !has(&shell, pane) || open.state.shells.iter().any(|other| has(other, pane)));
        let said = format!("{} is gone for good", quoted(&shell));
        Ok(Done { status: Status::Forgotten, changed: true, said, notices: open.notices, shell })
    }
}

/// Makes a tombstone of a record. What it holds for others, a window that is linked into another session, goes over to them.
pub(super) fn entomb(state: &mut State, id: &str, reason: Reason, at: EpochMs) {
    let Some(place) = state.shells.iter().position(|shell| shell.id == id) else { return };
    let shell = state.shells.remove(place);
    for window in shell.own_windows() {
        let linked = |other: &&mut Window| other.linked && other.id == window.id;
        if let Some(heir) = state.shells.iter_mut().flat_map(|shell| &mut shell.windows).find(linked) {
            *heir = Window { index: heir.index, active: heir.active, last: heir.last, gone: heir.gone.clone(), ..window.clone() };
        }
    }
    bury(state, shell, reason, at);
}

/// Makes a record of a tombstone.
fn bring_back(state: &mut State, id: &str, seen: Option<&Observation>) {
    let Some(place) = state.tombstones.iter().position(|tombstone| tombstone.shell.id == id) else { return };
    let mut shell: Shell = state.tombstones.remove(place).shell;
    shell.restoring = None;
    if seen.is_some_and(|seen| shell.lives_in(&seen.generation) && live_session(&shell, Some(seen)).is_none()) {
        // The next look at the life that it was closed in would close it again.
        shell.seen = None;
    }
    state.shells.push(shell);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Generation, Pane, Seen, TmuxSettings};

    fn shell(id: &str, windows: Vec<Window>) -> Shell {
        Shell { id: id.into(), windows, ..Shell::default() }
    }

    #[test]
    fn a_window_that_stands_in_another_shell_too_is_not_forgotten_with_its_record() {
        let own = Window { id: "wn-0001".into(), panes: vec![Pane { id: "pn-0001".into(), ..Pane::default() }], ..Window::default() };
        let link = Window { id: "wn-0001".into(), index: 7, linked: true, ..Window::default() };
        let mut state = State { shells: vec![shell("sh-0001", vec![own.clone()]), shell("sh-0002", vec![link])], ..State::default() };
        entomb(&mut state, "sh-0001", Reason::Forgotten, 5);
        assert_eq!(state.shells.len(), 1);
        assert_eq!(state.shells[0].windows, [Window { index: 7, ..own.clone() }]);
        assert_eq!((state.tombstones[0].deleted_at, &state.tombstones[0].shell.windows), (5, &vec![own]));
    }

    #[test]
    fn what_is_brought_back_dead_is_not_closed_again_by_the_next_look() {
        let generation = Generation { boot: "b".into(), pid: 1, start_time: 1, process_start: None };
        let known = Seen { at: 1, generation: generation.clone(), session: "$1".into() };
        let elsewhere = Generation { pid: 2, ..generation.clone() };
        for (present, kept) in [(Some(generation), false), (Some(elsewhere), true), (None, true)] {
            let mut state = State { shells: vec![Shell { seen: Some(known.clone()), ..shell("sh-0001", vec![]) }], ..State::default() };
            entomb(&mut state, "sh-0001", Reason::Closed, 5);
            let seen = present.map(|generation| Observation {
                generation,
                version: "3.3a".into(),
                sessions: Vec::new(),
                settings: TmuxSettings::default(),
            });
            bring_back(&mut state, "sh-0001", seen.as_ref());
            assert_eq!((state.tombstones.len(), state.shells.len(), state.shells[0].seen.is_some()), (0, 1, kept));
        }
    }
}
