//! Which record each living session belongs to.

use std::collections::HashMap;

use crate::model::{Generation, Observation, RawText, Reason, SeenSession, Shell, State, is_id};

/// What a living session is to the records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Match {
    /// The shell at this index.
    Known(usize),
    /// The shell at this index, which died with another server and was made again by somebody else.
    Adopted(usize),
    /// The tombstone at this index: the user forgot it, and it keeps running unrecorded.
    Forgotten(usize),
    /// The tombstone at this index says closed, and yet it lives.
    Revived(usize),
    /// No record.
    New,
}

/// Matches each session of `seen`, in its order. `stuck` are generations of other servers that still live.
pub(super) fn match_sessions(state: &State, seen: &Observation, stuck: &[Generation], ignored: &dyn Fn(&str) -> bool) -> Vec<Match> {
    let mut by_tag: HashMap<&str, usize> = HashMap::new();
    let mut by_live: HashMap<&str, usize> = HashMap::new();
    for (at, shell) in state.shells.iter().enumerate() {
        by_tag.entry(&shell.id).or_insert(at);
        if let Some(known) = shell.seen.as_ref().filter(|known| known.generation == seen.generation) {
            by_live.entry(&known.session).or_insert(at);
        }
    }
    let mut taken = vec![false; state.shells.len()];
    let mut matches = vec![Match::New; seen.sessions.len()];
    let mut take = |matches: &mut Vec<Match>, session: usize, shell: usize| {
        if !taken[shell] {
            taken[shell] = true;
            matches[session] = Match::Known(shell);
        }
    };
    // Where two sessions carry one id, the one that the record knows alive has it.
    for sure in [true, false] {
        for (at, session) in seen.sessions.iter().enumerate() {
            let Some(&shell) = by_tag.get(session.tag.as_str()) else { continue };
            if !sure || by_live.get(session.id.as_str()) == Some(&shell) {
                take(&mut matches, at, shell);
            }
        }
    }
    for (at, session) in seen.sessions.iter().enumerate() {
        if matches[at] != Match::New {
            continue;
        }
        if let Some(tombstone) = tombstone_of(state, session) {
            matches[at] = of_tombstone(state, tombstone, session, ignored);
        } else if let Some(&shell) = by_live.get(session.id.as_str()) {
            take(&mut matches, at, shell);
        }
    }
    for (at, session) in seen.sessions.iter().enumerate() {
        if let Some(shell) = adoptable(state, seen, session, matches[at], stuck) {
            if !matches.contains(&Match::Adopted(shell)) && !matches.contains(&Match::Known(shell)) {
                matches[at] = Match::Adopted(shell);
            }
        }
    }
    matches
}

/// A tombstone of a session that lives: the user's word holds; what only looked closed or dead, or had an ignored name, is a
/// record again.
fn of_tombstone(state: &State, tombstone: usize, session: &SeenSession, ignored: &dyn Fn(&str) -> bool) -> Match {
    match state.tombstones[tombstone].reason {
        Reason::Closed | Reason::Taken => Match::Revived(tombstone),
        Reason::Ignored if !ignored(&session.name) => Match::Revived(tombstone),
        _ => Match::Forgotten(tombstone),
    }
}

fn tombstone_of(state: &State, session: &SeenSession) -> Option<usize> {
    if !is_id(&session.tag) {
        return None;
    }
    state.tombstones.iter().position(|tombstone| tombstone.shell.id == session.tag)
}

/// A shell that died and that another tool has made again: the same name, and every directory of the record.
///
/// The session may have a record of its own already, made while the other tool was still at work; one that this life of the
/// server brought and that holds no more than the session itself.
fn adoptable(state: &State, seen: &Observation, session: &SeenSession, present: Match, stuck: &[Generation]) -> Option<usize> {
    match present {
        Match::New => {}
        Match::Known(own) => {
            let own = &state.shells[own];
            let young = own.made.as_ref().is_some_and(|made| made.generation == seen.generation);
            if !young || own.under_restore(&seen.generation) || own.panes().any(|pane| pane.agent.is_some()) {
                return None;
            }
        }
        Match::Adopted(_) | Match::Forgotten(_) | Match::Revived(_) => return None,
    }
    state.shells.iter().position(|shell| {
        let lives_elsewhere = shell.seen.as_ref().is_some_and(|known| stuck.contains(&known.generation));
        let named = shell.session == session.name || shell.seen_as.as_ref() == Some(&session.name);
        named
            && !lives_elsewhere
            && !shell.lives_in(&seen.generation)
            && !shell.under_restore(&seen.generation)
            && shell.deleting.is_none()
            // What lives here was never that of another server.
            && !shell.is_newly_taken()
            && has_the_same_directories(session, shell)
    })
}

/// Whether each recorded pane finds a pane of its own in its directory, and none is left over: a session that merely has the name
/// (tmux itself gives `0`, `1` …) and more panes is somebody's work.
pub(super) fn has_the_same_directories(session: &SeenSession, shell: &Shell) -> bool {
    let mut open: Vec<[Option<&RawText>; 2]> =
        session.windows.iter().flat_map(|window| &window.panes).map(|pane| [pane.dir.as_ref(), pane.logical_dir.as_ref()]).collect();
    let mut any = false;
    let all = shell.panes().all(|pane| {
        any = true;
        match open.iter().position(|dirs| dirs.contains(&Some(&pane.dir))) {
            Some(at) => {
                open.swap_remove(at);
                true
            }
            None => false,
        }
    });
    any && all && open.is_empty()
}
