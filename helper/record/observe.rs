//! One look and the old records make the new records.

use std::collections::HashMap;
use std::time::Duration;

use super::closing::{Ripeness, apply_hints, close_missing, purge, ripen};
use super::matching::{Match, match_sessions};
use super::pristine::{self, Verdict};
use super::windows::Known;
use crate::model::{EpochMs, Generation, Hint, Ids, Observation, Screen, Seen, SeenSession, Shell, State, is_id};

/// What the rules of closing depend on.
pub struct Rules {
    /// The present time.
    pub now: EpochMs,
    /// How long something must be missing, in ms, before a look may take it from the records.
    pub grace: EpochMs,
    /// How long a tombstone stands; `None` for ever.
    pub retention: Option<Duration>,
    /// Session names that are never recorded.
    pub ignored: Box<dyn Fn(&str) -> bool>,
    /// Recorded generations of other servers that still live.
    pub stuck: Vec<Generation>,
}

/// Stable ids to put on living objects: a live id and a stable one each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tags {
    /// `@sidecar-shell`, by session id.
    pub shells: Vec<(String, String)>,
    /// `@sidecar-pane`, by pane id.
    pub panes: Vec<(String, String)>,
}

/// What a look changes.
#[derive(Clone, Debug)]
pub struct Changes {
    /// The new records.
    pub state: State,
    /// The ids to put on living objects.
    pub tags: Tags,
    /// What the log should tell.
    pub notes: Vec<String>,
    /// The live id of the session that nobody used yet, if there is one.
    pub pristine: Option<String>,
    /// When the next look is wanted at the latest: a mark ripens, or a screen was still empty.
    pub wanted_at: Option<EpochMs>,
}

/// Makes the new records from the old ones and one complete look.
///
/// `screen` is what the session shows that [`pristine::candidate`] names, if it names one.
pub fn observe(old: &State, seen: &Observation, hints: &[Hint], screen: Option<&Screen>, rules: &Rules, ids: &mut dyn Ids) -> Changes {
    let mut state = old.clone();
    let (mut tags, mut notes, mut wanted_at) = (Tags::default(), Vec::new(), None);
    apply_hints(&mut state, hints);
    revive(&mut state, seen, rules, &mut notes);
    let matches = match_sessions(&state, seen, &rules.stuck);
    let starting = starting_bootstrap(seen, &matches, rules, &mut wanted_at);
    let unused = unused_bootstrap(&mut state, seen, &matches, screen, rules, &mut wanted_at);

    // The records as they stood, to read from while the new ones are made.
    let before = state.shells.clone();
    let mut recorded: Vec<usize> = Vec::new();
    let mut olds: HashMap<usize, &Shell> = HashMap::new();
    let mut adopted: HashMap<usize, &Shell> = HashMap::new();
    let mut found: Vec<usize> = Vec::new();
    let mut ignored: Vec<usize> = Vec::new();
    for (at, found_as) in matches.iter().enumerate() {
        let session = &seen.sessions[at];
        match *found_as {
            Match::Forgotten(_) | Match::Revived(_) => continue,
            _ if (rules.ignored)(&session.name) => {
                if let Match::Known(shell) | Match::Adopted(shell) = *found_as {
                    ignored.push(shell);
                }
                continue;
            }
            Match::Known(shell) => {
                olds.insert(at, &before[shell]);
                found.push(shell);
            }
            Match::Adopted(shell) => {
                notes.push(format!("{} ({}): made again by another tool, adopted", before[shell].id, before[shell].session));
                olds.insert(at, &before[shell]);
                adopted.insert(at, &before[shell]);
                found.push(shell);
            }
            Match::New if unused == Some(at) || starting == Some(at) => continue,
            Match::New => {}
        }
        recorded.push(at);
    }

    // An adopted session had a young record of its own: the old one takes its place.
    let replaced: Vec<usize> = adopted
        .keys()
        .filter_map(|&at| {
            let session = &seen.sessions[at].id;
            before
                .iter()
                .position(|shell| shell.lives_in(&seen.generation) && shell.seen.as_ref().is_some_and(|own| own.session == *session))
        })
        .collect();
    let others = before.iter().enumerate().filter(|(at, _)| !replaced.contains(at)).map(|(_, shell)| shell);
    let mut known = Known::of(others, seen, rules);
    known.read(&recorded, &adopted, &mut tags, ids);
    let homes = known.homes(&recorded, &olds);
    for &at in &recorded {
        let session = &seen.sessions[at];
        match olds.get(&at) {
            Some(old) => {
                let place = before.iter().position(|shell| shell.id == old.id);
                let updated = update(old, at, session, seen, &known, &homes, rules);
                if let Some(place) = place {
                    state.shells[place] = updated;
                }
            }
            None => {
                let id = if is_id(&session.tag) { session.tag.clone() } else { ids.fresh("sh") };
                notes.push(format!("{id} ({}): new", session.name));
                found.push(state.shells.len());
                state.shells.push(first_record(id, at, session, seen, &known, &homes, rules));
            }
        }
        let id = olds.get(&at).map_or_else(|| state.shells[state.shells.len() - 1].id.clone(), |old| old.id.clone());
        if session.tag != id {
            tags.shells.push((session.id.clone(), id));
        }
    }
    for (at, shell) in state.shells.iter_mut().enumerate() {
        if !found.contains(&at) {
            known.give_up_moved(shell);
        }
    }
    drop_all(&mut state, &mut found, &replaced);
    bury_ignored(&mut state, &mut found, &ignored, &before, rules, &mut notes);
    close_missing(&mut state, seen, &found, rules, &mut notes);
    purge(&mut state, rules);
    state.generation = Some(seen.generation.clone());
    let ripens = earliest_mark(&state, seen, rules);
    let wanted_at = [wanted_at, ripens].into_iter().flatten().min();
    let pristine = unused.map(|at| seen.sessions[at].id.clone());
    Changes { state, tags, notes, pristine, wanted_at }
}

/// A tombstone that says closed while its session lives is wrong.
fn revive(state: &mut State, seen: &Observation, rules: &Rules, notes: &mut Vec<String>) {
    let matches = match_sessions(state, seen, &rules.stuck);
    let mut back: Vec<usize> = matches.iter().filter_map(|found| if let Match::Revived(at) = found { Some(*at) } else { None }).collect();
    back.sort_unstable();
    back.dedup();
    for at in back.into_iter().rev() {
        let shell = state.tombstones.remove(at).shell;
        notes.push(format!("{} ({}): lives after all", shell.id, shell.session));
        state.shells.push(shell);
    }
}

/// The index of the first session while its shell still starts: whether anybody uses it is for a later look to tell.
fn starting_bootstrap(seen: &Observation, matches: &[Match], rules: &Rules, wanted_at: &mut Option<EpochMs>) -> Option<usize> {
    let session = pristine::starting(seen, rules.now / 1000)?;
    let at = seen.sessions.iter().position(|other| other.id == session.id).filter(|&at| matches[at] == Match::New)?;
    *wanted_at = Some(rules.now + 1000);
    Some(at)
}

/// The index of the session that nobody used yet, if there is one; keeps its screen for the next comparison.
fn unused_bootstrap(
    state: &mut State,
    seen: &Observation,
    matches: &[Match],
    screen: Option<&Screen>,
    rules: &Rules,
    wanted_at: &mut Option<EpochMs>,
) -> Option<usize> {
    let known = state.bootstrap.take();
    let session = pristine::candidate(seen)?;
    let at = seen.sessions.iter().position(|other| other.id == session.id)?;
    if matches[at] != Match::New {
        return None;
    }
    match screen {
        // Its screen could not be read this time: nothing is concluded from that.
        None => {
            state.bootstrap = known;
            state.bootstrap.as_ref().filter(|known| known.generation == seen.generation).map(|_| at)
        }
        Some(screen) => match pristine::judge(known.as_ref(), &seen.generation, session, screen, rules.now / 1000) {
            Verdict::Used => None,
            Verdict::Pristine(bootstrap) => {
                if bootstrap.is_none() {
                    *wanted_at = Some(rules.now + 1000);
                }
                state.bootstrap = bootstrap;
                Some(at)
            }
        },
    }
}

fn first_record(
    id: String,
    at: usize,
    session: &SeenSession,
    seen: &Observation,
    known: &Known,
    homes: &HashMap<String, usize>,
    rules: &Rules,
) -> Shell {
    let here = Seen { at: rules.now, generation: seen.generation.clone(), session: session.id.clone() };
    let base = Shell {
        id,
        name: session.name.clone(),
        session: session.name.clone(),
        made_as: session.name.clone(),
        made: Some(here.clone()),
        seen: Some(here),
        ..Shell::default()
    };
    fill(base, at, session, known, homes, None)
}

/// The old record as this look changes it.
fn update(
    old: &Shell,
    at: usize,
    session: &SeenSession,
    seen: &Observation,
    known: &Known,
    homes: &HashMap<String, usize>,
    rules: &Rules,
) -> Shell {
    let here = Seen {
        at: old.seen.as_ref().filter(|_| old.lives_in(&seen.generation)).map_or(rules.now, |seen| seen.at),
        generation: seen.generation.clone(),
        session: session.id.clone(),
    };
    let mut shell = Shell { seen: Some(here), missing: None, closing: None, ..old.clone() };
    if !old.under_restore(&seen.generation) {
        shell.restoring = None;
        rename(&mut shell, &session.name);
        shell = fill(shell, at, session, known, homes, Some(old));
    } else if !old.lives_in(&seen.generation) {
        // The live ids in it are another life's, and would name strangers here.
        for window in &mut shell.windows {
            window.tmux.clear();
            for pane in &mut window.panes {
                pane.tmux.clear();
            }
        }
    }
    if shell != *old {
        if let Some(seen) = &mut shell.seen {
            seen.at = rules.now;
        }
    }
    shell
}

/// The display name and the session's name follow each other; what the server made of the name is no rename.
fn rename(shell: &mut Shell, shown: &str) {
    if shell.seen_as.as_deref().unwrap_or(&shell.session) == shown {
        return;
    }
    shell.seen_as = None;
    if shell.session != shown {
        shown.clone_into(&mut shell.session);
        shown.clone_into(&mut shell.name);
    }
}

fn fill(mut shell: Shell, at: usize, session: &SeenSession, known: &Known, homes: &HashMap<String, usize>, old: Option<&Shell>) -> Shell {
    if !session.path.is_empty() {
        shell.work_dir = session.path.clone();
        shell.project.clone_from(&session.project);
        shell.worktree.clone_from(&session.worktree);
    }
    shell.group = (!session.group.is_empty()).then(|| session.group.clone());
    if session.last_attached > 0 {
        shell.last_attached = Some(session.last_attached * 1000);
    }
    shell.windows = known.windows(at, session, old, homes);
    shell
}

/// Removes the shells at these indexes and keeps `found` true to the rest.
fn drop_all(state: &mut State, found: &mut Vec<usize>, dropped: &[usize]) {
    if dropped.is_empty() {
        return;
    }
    let mut at = 0;
    state.shells.retain(|_| {
        at += 1;
        !dropped.contains(&(at - 1))
    });
    found.retain(|index| !dropped.contains(index));
    for index in found.iter_mut() {
        *index -= dropped.iter().filter(|&&gone| gone < *index).count();
    }
}

/// A recorded session whose name `shells.ignore` matches now is forgotten, and can be brought back.
fn bury_ignored(state: &mut State, found: &mut Vec<usize>, ignored: &[usize], before: &[Shell], rules: &Rules, notes: &mut Vec<String>) {
    for &index in ignored {
        let id = &before[index].id;
        let Some(at) = state.shells.iter().position(|shell| shell.id == *id) else { continue };
        let shell = state.shells[at].clone();
        notes.push(format!("{} ({}): its name is ignored now, forgotten", shell.id, shell.session));
        drop_all(state, found, &[at]);
        super::closing::bury(state, shell, crate::model::Reason::Forgotten, rules.now);
    }
}

/// When the first of the marks of this generation ripens.
fn earliest_mark(state: &State, seen: &Observation, rules: &Rules) -> Option<EpochMs> {
    let mut earliest = None;
    for shell in &state.shells {
        let windows = shell.windows.iter().filter_map(|window| window.gone.as_ref());
        let panes = shell.windows.iter().flat_map(|window| &window.panes).filter_map(|pane| pane.gone.as_ref());
        for mark in shell.missing.iter().chain(windows).chain(panes) {
            if mark.generation == seen.generation && matches!(ripen(Some(mark), &seen.generation, rules), Ripeness::Unripe(_)) {
                earliest = Some(earliest.map_or(mark.at, |at: EpochMs| at.min(mark.at)));
            }
        }
    }
    earliest.map(|at| at + rules.grace)
}
