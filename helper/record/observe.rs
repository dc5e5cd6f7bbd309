//! One look and the old records make the new records.

use std::collections::{HashMap, HashSet};

use super::binding::Processes;
use super::closing::{Keep, Ripeness, apply_hints, bury, close_missing, purge, ripen};
use super::matching::{Match, match_sessions};
use super::pristine::{self, Verdict};
use super::windows::Known;
use crate::model::{EpochMs, Generation, Hint, Ids, Observation, Reason, Screen, Seen, SeenSession, Shell, State, is_id};

/// What the rules of closing depend on.
pub struct Rules {
    /// The present time.
    pub now: EpochMs,
    /// How long something must be missing, in ms, before a look may take it from the records.
    pub grace: EpochMs,
    /// What becomes of tombstones.
    pub keep: Keep,
    /// Session names that are never recorded.
    pub ignored: Box<dyn Fn(&str) -> bool>,
    /// Recorded generations of other servers that still live.
    pub stuck: Vec<Generation>,
    /// The programs whose argv is recorded, by name.
    pub programs: Vec<String>,
    /// The agents' programs, by name: a command that only starts one is none of the user's.
    pub agents: Vec<String>,
    /// The agents in the panes.
    pub processes: Processes,
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

/// How long closing a session may take, in ms.
const DELETION: EpochMs = 60_000;

/// What became of a record.
enum Fate {
    /// No session was found for it.
    Missing,
    /// Its session lives, and this is its record now.
    Found(Box<Shell>),
    /// An older record took its session over.
    Replaced,
    /// Its session lives under a name that is not to be recorded.
    Ignored,
}

/// Makes the new records from the old ones and one complete look.
///
/// `screen` is what the session shows that [`pristine::candidate`] names, if it names one.
pub(super) fn observe(
    old: State,
    seen: &Observation,
    hints: &[Hint],
    screen: Option<&Screen>,
    rules: &Rules,
    ids: &mut dyn Ids,
) -> Changes {
    let mut state = old;
    let (mut tags, mut notes, mut wanted_at) = (Tags::default(), Vec::new(), None);
    apply_hints(&mut state, hints);
    revive(&mut state, seen, rules, &mut notes);
    let matches = match_sessions(&state, seen, &rules.stuck, &rules.ignored);
    let starting = starting_bootstrap(seen, &matches, rules, &mut wanted_at);
    let unused = unused_bootstrap(&mut state, seen, &matches, screen, rules, &mut wanted_at);

    let running: HashSet<String> = forgotten_but_running(&state, &matches);

    // The records as they stood, to read from while the new ones are made.
    let before = std::mem::take(&mut state.shells);
    let mut fates: Vec<Fate> = before.iter().map(|_| Fate::Missing).collect();
    let mut recorded: Vec<usize> = Vec::new();
    let mut olds: HashMap<usize, (usize, &Shell)> = HashMap::new();
    let mut adopted: HashMap<usize, &Shell> = HashMap::new();
    for (at, found_as) in matches.iter().enumerate() {
        let session = &seen.sessions[at];
        match *found_as {
            Match::Forgotten(_) | Match::Revived(_) => continue,
            Match::Known(shell) | Match::Adopted(shell) if (rules.ignored)(&session.name) => {
                fates[shell] = Fate::Ignored;
                continue;
            }
            Match::Known(shell) => {
                olds.insert(at, (shell, &before[shell]));
            }
            Match::Adopted(shell) => {
                notes.push(format!("{} ({}): made again by another tool, adopted", before[shell].id, before[shell].session));
                olds.insert(at, (shell, &before[shell]));
                adopted.insert(at, &before[shell]);
                // It may have a young record of its own: the old one takes its place.
                let own =
                    |shell: &Shell| shell.seen.as_ref().is_some_and(|own| own.generation == seen.generation && own.session == session.id);
                if let Some(young) = before.iter().position(own) {
                    fates[young] = Fate::Replaced;
                }
            }
            Match::New if (rules.ignored)(&session.name) || unused == Some(at) || starting == Some(at) => continue,
            Match::New => {}
        }
        recorded.push(at);
    }

    let others = before.iter().zip(&fates).filter(|(_, fate)| !matches!(fate, Fate::Replaced)).map(|(shell, _)| shell);
    let mut known = Known::of(others, seen, rules);
    known.read(&recorded, &adopted, &mut tags, ids);
    let homes = known.homes(&recorded, &olds);
    let mut fresh: Vec<Shell> = Vec::new();
    for &at in &recorded {
        let session = &seen.sessions[at];
        let id = if let Some(&(place, old)) = olds.get(&at) {
            fates[place] = Fate::Found(Box::new(update(old, at, session, seen, &known, &homes, rules)));
            old.id.clone()
        } else {
            let id = if is_id(&session.tag) { session.tag.clone() } else { ids.fresh("sh") };
            notes.push(format!("{id} ({}): new", session.name));
            fresh.push(first_record(id.clone(), at, session, seen, &known, &homes, rules));
            id
        };
        if session.tag != id {
            tags.shells.push((session.id.clone(), id));
        }
    }
    let moved = known.moved();
    for (shell, fate) in before.into_iter().zip(fates) {
        match fate {
            Fate::Found(updated) => state.shells.push(*updated),
            Fate::Replaced => {}
            Fate::Ignored => {
                notes.push(format!("{} ({}): its name is ignored now, forgotten", shell.id, shell.session));
                bury(&mut state, shell, Reason::Ignored, rules.now);
            }
            Fate::Missing => close_missing(&mut state, moved.leave(shell, seen), seen, rules, &mut notes),
        }
    }
    state.shells.extend(fresh);
    purge(&mut state, rules.keep, rules.now, &|id| running.contains(id));
    state.generation = Some(seen.generation.clone());
    let ripens = earliest_mark(&state, seen, rules);
    let wanted_at = [wanted_at, ripens].into_iter().flatten().min();
    let pristine = unused.map(|at| seen.sessions[at].id.clone());
    Changes { state, tags, notes, pristine, wanted_at }
}

/// The shells whose session runs on unrecorded: as long as it does, its tombstone says so.
fn forgotten_but_running(state: &State, matches: &[Match]) -> HashSet<String> {
    let forgotten = matches.iter().filter_map(|found| if let Match::Forgotten(at) = found { Some(*at) } else { None });
    forgotten.map(|at| state.tombstones[at].shell.id.clone()).collect()
}

/// A tombstone that says closed while its session lives is wrong.
fn revive(state: &mut State, seen: &Observation, rules: &Rules, notes: &mut Vec<String>) {
    let matches = match_sessions(state, seen, &rules.stuck, &rules.ignored);
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
    // A deletion that did not come about within this time is one no more: the next death must not make it come true.
    let deleting = old.deleting.clone().filter(|mark| rules.now.saturating_sub(mark.at) < DELETION);
    let mut shell = Shell { seen: Some(here), missing: None, closing: None, deleting, ..old.clone() };
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
        if session.project.is_some() || session.path != shell.work_dir {
            shell.project.clone_from(&session.project);
            shell.worktree.clone_from(&session.worktree);
            shell.branch.clone_from(&session.branch);
        }
        shell.work_dir = session.path.clone();
    }
    shell.group = (!session.group.is_empty()).then(|| session.group.clone());
    if session.last_attached > 0 {
        shell.last_attached = Some(session.last_attached * 1000);
    }
    shell.windows = known.windows(at, session, old, homes);
    shell
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
    let agents = state.shells.iter().flat_map(Shell::panes).filter_map(|pane| pane.agent.as_ref()?.missing);
    earliest.into_iter().chain(agents).min().map(|at| at + rules.grace)
}
