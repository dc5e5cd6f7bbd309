//! Who was closed, who died, and how long a tombstone stands.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use super::observe::Rules;
use crate::model::{Closing, Ended, EpochMs, Generation, Hint, Mark, Observation, Reason, Shell, State, Tombstone};
use crate::store::Config;

/// What becomes of tombstones with time.
#[derive(Clone, Copy, Debug)]
pub struct Keep {
    /// How long one stands; `None` for ever.
    pub retention: Option<Duration>,
    /// How many of closed shells are kept, the newest; those that the user forgot or deleted are not counted.
    pub closed: usize,
}

impl Keep {
    /// As the user has configured it.
    pub fn of(config: &Config) -> Self {
        Self { retention: config.retention, closed: config.closed_tombstones }
    }
}

/// What a look made of a mark on something that it did not find.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Ripeness {
    /// It is not old enough, or new: keep what is marked, under this mark.
    Unripe(Mark),
    /// A look a grace later in the same life of the server misses it still.
    Ripe,
}

/// A mark of another life says nothing here, and one from the future was made by a clock that has been set back since.
pub(super) fn ripen(mark: Option<&Mark>, generation: &Generation, rules: &Rules) -> Ripeness {
    match mark.filter(|mark| mark.generation == *generation && mark.at <= rules.now) {
        Some(mark) if rules.now - mark.at >= rules.grace => Ripeness::Ripe,
        Some(mark) => Ripeness::Unripe(mark.clone()),
        None => Ripeness::Unripe(Mark { at: rules.now, generation: generation.clone() }),
    }
}

/// Notes on the records what the `session-closed` hook told.
pub(super) fn apply_hints(state: &mut State, hints: &[Hint]) {
    for hint in hints {
        for shell in &mut state.shells {
            let Some(seen) = &shell.seen else { continue };
            if hint.is_of(&seen.generation) && seen.session == hint.session {
                shell.closing = Some(Closing { at: hint.at, generation: seen.generation.clone(), left: hint.left });
            }
        }
    }
}

/// What becomes of a shell that this look did not find: it is marked, and a ripe mark makes a tombstone.
pub(super) fn close_missing(state: &mut State, mut shell: Shell, seen: &Observation, rules: &Rules, notes: &mut Vec<String>) {
    if let Some(deleting) = shell.deleting.clone() {
        notes.push(format!("{} ({}): deleted", shell.id, shell.session));
        return bury(state, shell, Reason::Deleted, deleting.at);
    }
    if !shell.lives_in(&seen.generation) || shell.under_restore(&seen.generation) {
        return state.shells.push(shell);
    }
    match ripen(shell.missing.as_ref(), &seen.generation, rules) {
        Ripeness::Unripe(mark) => {
            shell.missing = Some(mark);
            state.shells.push(shell);
        }
        Ripeness::Ripe if group_lives_on(&shell, seen) => {
            notes.push(format!("{} ({}): closed, its group goes on", shell.id, shell.session));
        }
        Ripeness::Ripe => {
            notes.push(format!("{} ({}): closed", shell.id, shell.session));
            let at = shell.missing.as_ref().map_or(rules.now, |mark| mark.at);
            bury(state, shell, Reason::Closed, at);
        }
    }
}

fn group_lives_on(shell: &Shell, seen: &Observation) -> bool {
    shell.group.as_ref().is_some_and(|group| seen.sessions.iter().any(|session| session.group == *group))
}

/// Makes a tombstone of a shell.
pub fn bury(state: &mut State, mut shell: Shell, reason: Reason, at: EpochMs) {
    shell.missing = None;
    shell.closing = None;
    shell.deleting = None;
    state.tombstones.push(Tombstone { reason, deleted_at: at, shell, extra: serde_json::Map::new() });
}

/// Makes tombstones of the shells whose deletion was written before their server was gone.
pub fn bury_deleted(state: &mut State) {
    let (deleted, kept) = std::mem::take(&mut state.shells).into_iter().partition(|shell| shell.deleting.is_some());
    state.shells = kept;
    let deleted: Vec<Shell> = deleted;
    for shell in deleted {
        let at = shell.deleting.as_ref().map_or(0, |mark| mark.at);
        bury(state, shell, Reason::Deleted, at);
    }
}

/// How shells that no look can find any more came to their end.
///
/// The last session's own end ends the server, and the hook of that is the only trace: it tells `left` 0 while the records
/// knew no other shell of that life. With others alive it was a shutdown. After another boot it counts as a death.
pub struct Endings<'a> {
    hints: &'a [Hint],
    boot: &'a str,
    /// The generations that the records know one single shell of.
    alone: Vec<&'a Generation>,
}

impl<'a> Endings<'a> {
    /// Of these records; `boot` is the present boot's id.
    pub fn of(state: &'a State, hints: &'a [Hint], boot: &'a str) -> Self {
        let mut count: HashMap<(&str, i32, u64), (usize, &Generation)> = HashMap::new();
        for generation in state.shells.iter().filter_map(|shell| shell.seen.as_ref()).map(|seen| &seen.generation) {
            count.entry((&generation.boot, generation.pid, generation.start_time)).or_insert((0, generation)).0 += 1;
        }
        Self { hints, boot, alone: count.into_values().filter(|(count, _)| *count == 1).map(|(_, generation)| generation).collect() }
    }

    /// How this one ended.
    pub fn of_shell(&self, shell: &Shell) -> Ended {
        let Some(seen) = &shell.seen else { return Ended::Died };
        let told = || {
            shell.closing.as_ref().is_some_and(|closing| closing.generation == seen.generation && closing.left == 0)
                || self.hints.iter().any(|hint| hint.is_of(&seen.generation) && hint.session == seen.session && hint.left == 0)
        };
        if seen.generation.boot == self.boot && told() && self.alone.contains(&&seen.generation) {
            Ended::ClosedWithServer
        } else {
            Ended::Died
        }
    }
}

/// When a tombstone expires; `None` for never.
pub fn expires_at(tombstone: &Tombstone, retention: Option<Duration>) -> Option<EpochMs> {
    let retention = u64::try_from(retention?.as_millis()).ok()?;
    tombstone.deleted_at.checked_add(retention)
}

/// How far a record from the future must be ahead, in ms: a minute of drift between two clocks is no error.
pub const DRIFT: EpochMs = 60_000;

/// The latest time in the records.
pub fn latest_time(state: &State) -> Option<EpochMs> {
    let shells = state.shells.iter().filter_map(|shell| shell.seen.as_ref()).map(|seen| seen.at);
    let tombstones = state.tombstones.iter().map(|tombstone| tombstone.deleted_at);
    shells.chain(tombstones).max()
}

/// A record from the future: the clock was right when it was made, or it is wrong now.
fn clock_is_wrong(state: &State, now: EpochMs) -> bool {
    latest_time(state).is_some_and(|latest| latest > now + DRIFT)
}

/// Removes the tombstones whose time is over and the oldest of too many closed ones; not those in `running`, and nothing while the
/// clock is plainly wrong.
pub fn purge(state: &mut State, keep: Keep, now: EpochMs, running: &dyn Fn(&str) -> bool) {
    if clock_is_wrong(state, now) {
        return;
    }
    let stands = |tombstone: &Tombstone| running(&tombstone.shell.id) || expires_at(tombstone, keep.retention).is_none_or(|at| at > now);
    state.tombstones.retain(stands);
    let mut closed: Vec<(EpochMs, usize)> = Vec::new();
    for (at, tombstone) in state.tombstones.iter().enumerate().filter(|(_, tombstone)| tombstone.reason == Reason::Closed) {
        closed.push((tombstone.deleted_at, at));
    }
    closed.sort_unstable();
    closed.truncate(closed.len().saturating_sub(keep.closed));
    let too_many: HashSet<usize> = closed.into_iter().map(|(_, at)| at).collect();
    let mut at = 0..;
    state.tombstones.retain(|_| at.next().is_none_or(|at| !too_many.contains(&at)));
}
