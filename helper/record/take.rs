//! A look with its effects: ask the server, decide, write, put the ids on what lives.

use std::collections::HashMap;
use std::time::Duration;

use super::binding::Processes;
use super::closing::Keep;
use super::observe::{Changes, Rules, observe};
use super::pristine::Verdict;
use super::{journal, pristine, project};
use crate::agents::catalog::Catalog;
use crate::agents::integration::Integration;
use crate::agents::{evidence, process};
use crate::error::{Error, Result};
use crate::model::{Binding, Bootstrap, BoundProcess, EpochMs, Generation, Hint, Ids, Observation, Screen, SeenPane, SeenSession, State};
use crate::store::{Config, Level, Lock, Recreate, Store};
use crate::tmux::{Purpose, Server, inspect_again};

/// How long tmux may take to answer.
pub const ANSWER_LIMIT: Duration = Duration::from_secs(5);
/// `@sidecar-grace`, in seconds, where it is unset or no number.
const GRACE: f64 = 10.0;
/// `@sidecar-interval`, in seconds, where it is unset or no number.
pub const INTERVAL: f64 = 15.0;

/// The times that the server's options set.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// In ms.
    pub grace: EpochMs,
    /// In seconds.
    pub interval: f64,
}

impl Settings {
    /// Reads them; what is no number of seconds in its range counts as unset.
    pub fn of(seen: &Observation) -> Self {
        let grace = Duration::from_secs_f64(seconds(&seen.settings.grace, GRACE_RANGE).unwrap_or(GRACE));
        Self {
            grace: u64::try_from(grace.as_millis()).unwrap_or(u64::MAX),
            interval: seconds(&seen.settings.interval, INTERVAL_RANGE).unwrap_or(INTERVAL),
        }
    }

    /// What is wrong with the options.
    pub fn warnings(seen: &Observation) -> Vec<String> {
        let options =
            [("@sidecar-grace", &seen.settings.grace, GRACE_RANGE), ("@sidecar-interval", &seen.settings.interval, INTERVAL_RANGE)];
        let offer = &seen.settings.offer;
        let bad_offer = !offer.is_empty() && Recreate::of_option(offer).is_none();
        let bad_offer = bad_offer.then(|| format!("@sidecar-offer is '{offer}', not on, off or auto; the default is used"));
        let wrong = options.into_iter().filter(|(_, text, range)| !text.is_empty() && seconds(text, *range).is_none());
        wrong
            .map(|(name, text, (least, most))| format!("{name} is '{text}', not {least} to {most} seconds; the default is used"))
            .chain(bad_offer)
            .collect()
    }
}

const GRACE_RANGE: (f64, f64) = (0.0, 86_400.0);
const INTERVAL_RANGE: (f64, f64) = (0.1, 86_400.0);

fn seconds(text: &str, (least, most): (f64, f64)) -> Option<f64> {
    text.trim().parse().ok().filter(|number| (least..=most).contains(number))
}

/// What a look brought.
pub struct Recorded {
    /// What was seen.
    pub seen: Observation,
    /// What was made of it.
    pub changes: Changes,
}

/// Milliseconds since the Unix epoch.
pub fn now() -> EpochMs {
    std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .map_or(0, |since| u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

/// The recorded generations, other than `present`, whose server still lives.
pub fn stuck_generations(state: &State, present: Option<&Generation>) -> Vec<Generation> {
    let mut others: Vec<&Generation> = Vec::new();
    // With nobody answering, the last one that did may live on without a single shell of its own.
    let last = state.generation.iter().filter(|_| present.is_none());
    for generation in state.shells.iter().filter_map(|shell| shell.seen.as_ref()).map(|seen| &seen.generation).chain(last) {
        if Some(generation) != present && !others.contains(&generation) {
            others.push(generation);
        }
    }
    others.into_iter().filter(|generation| process::lives(generation)).cloned().collect()
}

/// One look, for this purpose. `Err` with code `other_server` if another server answers than the one this process runs in.
pub fn look(server: &Server, purpose: Purpose) -> Result<Observation> {
    let mut seen = server
        .look(purpose, ANSWER_LIMIT)
        .map_err(|failure| Error::failed("no_answer", format!("the tmux server at {}: {failure}", server.socket().display())))?;
    server.check_is_ours(seen.generation.pid)?;
    if purpose != Purpose::Find {
        add_projects(&mut seen);
    }
    Ok(seen)
}

/// Finds each session's project, worktree and branch.
pub fn add_projects(seen: &mut Observation) {
    // Of a directory that is gone the record knows more than the folders above it.
    for session in seen.sessions.iter_mut().filter(|session| session.path.as_path().is_dir()) {
        (session.project, session.worktree) = project::of(session.path.as_path());
        session.branch = session.worktree.as_ref().and_then(|worktree| project::branch_of(worktree.as_path()));
    }
}

/// Finds the programs in front of the panes, for a user who named any.
pub fn add_programs(seen: &mut Observation, config: &Config) {
    if config.programs.is_empty() {
        return;
    }
    for pane in seen.sessions.iter_mut().flat_map(|session| &mut session.windows).flat_map(|window| &mut window.panes) {
        pane.program = if pane.dead || pane.pid <= 0 { None } else { process::program(pane.pid) };
    }
}

/// What the records become by `seen`, without writing anything.
pub fn decide(server: &Server, config: &Config, old: State, seen: &Observation, hints: &[Hint], ids: &mut dyn Ids) -> Changes {
    let screen = bootstrap_screen(server, &old, seen);
    let ignored = config.clone();
    let rules = Rules {
        now: now(),
        grace: Settings::of(seen).grace,
        keep: Keep::of(config),
        ignored: Box::new(move |name| ignored.ignores(name)),
        stuck: stuck_generations(&old, Some(&seen.generation)),
        programs: config.programs.clone(),
        agents: agent_programs(config, seen),
        processes: processes(config, &old, seen),
    };
    observe(old, seen, hints, screen.as_ref(), &rules, ids)
}

/// The programs of the agents, by name, where any pane has a command that might start one.
fn agent_programs(config: &Config, seen: &Observation) -> Vec<String> {
    let mut panes = seen.sessions.iter().flat_map(|session| &session.windows).flat_map(|window| &window.panes);
    if panes.all(|pane| pane.run.is_none()) {
        return Vec::new();
    }
    let (catalog, _) = Catalog::with(&config.agents);
    catalog.program_names()
}

/// The agents in the panes. Only what is in the foreground, or a pane's own program, is looked at.
fn processes(config: &Config, old: &State, seen: &Observation) -> Processes {
    let panes = seen.sessions.iter().flat_map(|session| &session.windows).flat_map(|window| &window.panes);
    let busy: Vec<&SeenPane> = panes.filter(|pane| pane.foreground > 0).collect();
    let mut agents = HashMap::new();
    if !busy.is_empty() {
        let (catalog, _) = Catalog::with(&config.agents);
        let mut bound: HashMap<&str, &Binding> = HashMap::new();
        for shell in &old.shells {
            for pane in shell.panes() {
                let Some(binding) = &pane.agent else { continue };
                bound.insert(&pane.id, binding);
                if shell.lives_in(&seen.generation) {
                    bound.insert(&pane.tmux, binding);
                }
            }
        }
        for pane in busy {
            let old = bound.get(pane.tag.as_str()).or_else(|| bound.get(pane.id.as_str())).copied();
            if let Some(agent) = evidence::look(&catalog, pane.foreground, &pane.title, old, now()) {
                agents.insert(pane.id.clone(), agent);
            }
        }
    }
    let alive = |process: &BoundProcess| process::start_time(process.pid) == Some(process.start_time);
    let own = config.agents.clone();
    let was_killed = move |binding: &Binding| evidence::was_killed(&Catalog::with(&own).0, binding);
    let began = Box::new(process::start_time);
    Processes { agents, alive: Box::new(alive), began, was_killed: Box::new(was_killed), tells_end: Box::new(Integration::tells_end) }
}

/// The screen of the session that may be pristine, unless it is recorded already.
fn bootstrap_screen(server: &Server, state: &State, seen: &Observation) -> Option<Screen> {
    let session = pristine::candidate(seen)?;
    let known = state
        .shells
        .iter()
        .any(|shell| shell.lives_in(&seen.generation) && shell.seen.as_ref().is_some_and(|own| own.session == session.id));
    if known {
        return None;
    }
    server.screen(&session.windows[0].panes[0].id, ANSWER_LIMIT).ok()
}

/// Whether a session that was found unused is so still: by its screen, and by what runs in it. What else could have become of it,
/// another window or pane, the caller's own commands must guard against.
pub fn is_still_unused(server: &Server, session: &SeenSession, known: Option<&Bootstrap>, generation: &Generation) -> bool {
    let mut session = session.clone();
    inspect_again(&mut session);
    let pane = session.windows.first().and_then(|window| window.panes.first()).map(|pane| pane.id.clone());
    let screen = pane.and_then(|pane| server.screen(&pane, ANSWER_LIMIT).ok());
    let untouched = screen.map(|screen| pristine::judge(known, generation, &session, &screen, now() / 1000));
    pristine::is_untouched(&session) && matches!(untouched, Some(Verdict::Pristine(_)))
}

/// A look that is written down, under the lock.
///
/// # Errors
/// No whole answer, another server, or records that can't be read or written: the records are as they were then.
pub fn record(server: &Server, store: &Store, config: &Config, held: &Lock) -> Result<Recorded> {
    record_after(server, store, config, held, |_, _| ())
}

/// The same, with the records changed by `prepare` before the look is applied to them; one write for both.
///
/// # Errors
/// As for [`record`].
pub fn record_after(
    server: &Server,
    store: &Store,
    config: &Config,
    held: &Lock,
    prepare: impl FnOnce(&mut State, &Observation),
) -> Result<Recorded> {
    let hints = store.hints();
    let mut seen = look(server, Purpose::Record)?;
    add_programs(&mut seen, config);
    let loaded = store.load()?;
    let mut prepared = loaded.state.clone();
    prepare(&mut prepared, &seen);
    for notice in &loaded.notices {
        store.log(Level::Warn, "load", notice);
    }
    let changes = decide(server, config, prepared, &seen, &hints, &mut RandomIds);
    let written = store.save(held, &loaded, &changes.state, now())?;
    if written {
        let directories = store.add_to_journal(held, &journal::entries(&loaded.state, &changes.state, now()));
        let conversations = store.add_to_journal(held, &journal::conversations(&loaded.state, &changes.state, now()));
        if let Err(error) = directories.and(conversations) {
            store.log(Level::Error, "journal", &error.message);
        }
    }
    store.drop_hints(held, &hints);
    store.touch(held);
    for note in &changes.notes {
        store.log(Level::Info, "record", note);
    }
    // A look that was on its way when the plugin was unloaded must not leave ids behind: without them the live ids serve.
    let is_loaded = !seen.settings.timer.is_empty();
    if is_loaded && !(changes.tags.shells.is_empty() && changes.tags.panes.is_empty()) {
        if let Err(failure) = server.tag(&seen.generation, &changes.tags.shells, &changes.tags.panes, ANSWER_LIMIT) {
            // The next look finds them by their live ids and tries again.
            store.log(Level::Warn, "tag", &failure.to_string());
        }
    }
    let attended: Vec<String> =
        seen.sessions.iter().filter(|session| session.kept && session.attached > 0).map(|session| session.id.clone()).collect();
    if !attended.is_empty() {
        if let Err(failure) = server.restore_destroy_unattached(&seen.generation, &attended, ANSWER_LIMIT) {
            store.log(Level::Warn, "destroy-unattached", &failure.to_string());
        }
    }
    Ok(Recorded { seen, changes })
}

/// Ids of ten random characters.
pub struct RandomIds;

impl Ids for RandomIds {
    fn fresh(&mut self, prefix: &str) -> String {
        const DIGITS: &[u8] = b"0123456789abcdefghijklmnopqrstuvwxyz";
        // Without random bytes from the system the time still makes ids differ.
        let mut number = getrandom::u64().unwrap_or_else(|_| now().wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let mut id = format!("{prefix}-");
        for _ in 0..10 {
            id.push(char::from(DIGITS[usize::try_from(number % 36).unwrap_or(0)]));
            number /= 36;
        }
        id
    }
}
