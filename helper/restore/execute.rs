//! Carries a plan out, step by step, and can be killed at any of them: the next run goes on from what lives.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use super::effective::{LiveWindows, effective, followers, leader};
use super::farewell::{self, Farewell};
use super::script::{self, Dirs, Live};
use super::situation::{Situation, is_dir, resolve, situation};
use crate::agents::process;
use crate::error::Result;
use crate::model::{Action, Generation, Mark, Observation, Outcome, OutcomeStatus, Shell, State, Step};
use crate::record::{look, now, record_after};
use crate::store::{Config, Level, Store};
use crate::tmux::{Failure, Purpose, Server};

/// How long one tmux call of a restore may take; a server that starts runs the user's tmux.conf first.
const CALL_LIMIT: Duration = Duration::from_secs(30);
/// How long the lock of the records is waited for.
const LOCK_LIMIT: Duration = Duration::from_secs(10);
/// How long another restore is waited for.
const RESTORE_LIMIT: Duration = Duration::from_secs(120);
/// How many sessions one call makes: fewer calls are faster, and between two of them the run can see that its server changed.
const AT_ONCE: usize = 8;
/// After so many tries what still lacks something has failed.
const ROUNDS: usize = 5;

/// Told after each shell: how many are done, and of how many.
pub type Progress<'a> = &'a mut dyn FnMut(usize, usize);

/// What a restore did.
pub struct Report {
    /// An outcome for each shell.
    pub outcomes: Vec<Outcome>,
    /// The bootstrap session, if it is to go now: the last thing to do, since this process may run in it.
    pub farewell: Option<Farewell>,
}

/// Restores what the plan says, of the shells with the ids in `selected`, all if it is `None`.
///
/// # Errors
/// The records can't be read or written, or another restore does not end. What tmux refuses is an outcome, not an error.
pub fn restore(
    server: &Server,
    store: &Store,
    config: &Config,
    selected: Option<&[String]>,
    dry_run: bool,
    progress: Progress,
) -> Result<Report> {
    // Two restores at once end as one: the second finds everything there.
    let _alone = if dry_run { None } else { Some(store.lock_restore(RESTORE_LIMIT)?) };
    let situation = situation(server, store, config)?;
    let plan = situation.plan();
    let chosen = |step: &Step| selected.is_none_or(|ids| ids.contains(&step.shell));
    let mut outcomes: Vec<Outcome> = plan.steps.iter().map(|step| if chosen(step) { expected(step) } else { not_selected(step) }).collect();
    let wanted: Vec<&Shell> = plan
        .steps
        .iter()
        .filter(|step| chosen(step) && step.action == Action::RecreateShell)
        .filter_map(|step| situation.state.shells.iter().find(|shell| shell.id == step.shell))
        .collect();
    if dry_run {
        return Ok(Report { outcomes, farewell: None });
    }
    if wanted.is_empty() {
        if plan.steps.iter().any(|step| step.reason == "adopted") {
            let held = store.lock(LOCK_LIMIT)?;
            record_after(server, store, config, &held, |_, _| ())?;
        }
        return Ok(Report { outcomes, farewell: farewell::of(&situation.state, situation.seen.as_ref(), situation.pristine.as_deref()) });
    }
    let all = &situation.state.shells;
    let live = situation.seen.as_ref().map(|seen| live_windows(all, seen)).unwrap_or_default();
    let shells = effective(&wanted, all, &live);
    let mut run = Run {
        server,
        store,
        config,
        all,
        generation: situation.seen.as_ref().map(|seen| seen.generation.clone()),
        dirs: shells.iter().map(|shell| (shell.id.clone(), directories(shell))).collect(),
        followers: followers(&shells, all, situation.seen.as_ref()),
        results: HashMap::new(),
        said: String::new(),
    };
    run.mark(&shells)?;
    let ended = run.make_way(&shells, &situation).and_then(|()| run.make(&shells, progress)).and_then(|()| run.finish(&shells));
    if let Err(why) = ended {
        store.log(Level::Warn, "restore", &why);
        run.skip_rest(&shells, &why);
    }
    for outcome in &mut outcomes {
        if let Some((status, reason, detail)) = run.results.remove(&outcome.shell) {
            (outcome.status, outcome.reason) = (status, reason.to_owned());
            if !detail.is_empty() {
                outcome.detail = detail;
            }
        }
        store.log(
            Level::Info,
            "restore",
            &format!("{} ({}): {} ({})", outcome.shell, outcome.session, outcome.status.word(), outcome.reason),
        );
    }
    let farewell = match &situation.pristine {
        Some(_) if outcomes.iter().any(|outcome| outcome.status == OutcomeStatus::Restored) => {
            let after = self::situation(server, store, config)?;
            farewell::of(&after.state, after.seen.as_ref(), after.pristine.as_deref())
        }
        _ => None,
    };
    Ok(Report { outcomes, farewell })
}

/// What a step leads to if tmux refuses nothing.
fn expected(step: &Step) -> Outcome {
    let status = match step.action {
        Action::Reattach => OutcomeStatus::Reattached,
        Action::Skip => OutcomeStatus::Skipped,
        Action::Refuse => OutcomeStatus::Refused,
        Action::Manual => OutcomeStatus::Manual,
        Action::RecreateShell => OutcomeStatus::Restored,
    };
    Outcome {
        shell: step.shell.clone(),
        session: step.session.clone(),
        name: step.name.clone(),
        status,
        reason: step.reason.to_owned(),
        detail: step.detail.clone(),
    }
}

fn not_selected(step: &Step) -> Outcome {
    Outcome { status: OutcomeStatus::Skipped, reason: "not_selected".into(), detail: "not selected".into(), ..expected(step) }
}

/// Where each pane opens, checked now.
fn directories(shell: &Shell) -> Dirs {
    shell.panes().map(|pane| (pane.id.clone(), script::pane_dir(shell, pane, &is_dir, &resolve).0)).collect()
}

/// A shell on its way.
struct Pending<'a> {
    shell: &'a Shell,
    /// How often it was finished; each time another one of the wanted names is asked for.
    tries: usize,
}

impl<'a> Pending<'a> {
    fn new(shell: &'a Shell) -> Self {
        Self { shell, tries: 0 }
    }
}

enum NextStep {
    Run(String),
    Finished,
    Failed,
}

/// Why the run can't go on.
type Ended = String;

struct Run<'a> {
    server: &'a Server,
    store: &'a Store,
    config: &'a Config,
    /// Every record, which may own windows that others link to.
    all: &'a [Shell],
    /// `None` until the first call has started the server.
    generation: Option<Generation>,
    dirs: HashMap<String, Dirs>,
    /// Shells that come back by joining a session group.
    followers: HashSet<String>,
    results: HashMap<String, (OutcomeStatus, &'static str, String)>,
    /// What tmux said of commands that it refused.
    said: String,
}

impl Run<'_> {
    /// From here on no look takes windows or panes from these records.
    fn mark(&self, shells: &[Shell]) -> Result<()> {
        let mark = match &self.generation {
            Some(generation) => Mark { at: now(), generation: generation.clone() },
            None => Mark::before_start(now(), &process::boot_id()),
        };
        self.change_state(|state| {
            for shell in &mut state.shells {
                if shells.iter().any(|wanted| wanted.id == shell.id) {
                    shell.restoring = Some(mark.clone());
                }
            }
        })
    }

    /// A session that nobody used gives its name to the shell that has it.
    fn make_way(&self, shells: &[Shell], situation: &Situation) -> std::result::Result<(), Ended> {
        let (Some(seen), Some(pristine)) = (&situation.seen, &situation.pristine) else { return Ok(()) };
        let name = seen.sessions.iter().find(|session| session.id == *pristine).map(|session| session.name.as_str());
        if shells.iter().any(|shell| Some(shell.session.as_str()) == name) {
            self.call(&script::move_aside(pristine, &seen.generation))?;
        }
        Ok(())
    }

    fn change_state(&self, change: impl FnOnce(&mut State)) -> Result<()> {
        let held = self.store.lock(LOCK_LIMIT)?;
        let loaded = self.store.load()?;
        let mut state = loaded.state.clone();
        change(&mut state);
        self.store.save(&held, &loaded, &state, now()).map(drop)
    }

    /// Makes the sessions, a few in each call; each has guards of its own in it.
    fn make(&mut self, shells: &[Shell], progress: Progress) -> std::result::Result<(), Ended> {
        let alone: Vec<&Shell> = shells.iter().filter(|shell| !self.followers.contains(&shell.id)).collect();
        if self.generation.is_some() {
            self.server.announce_look(CALL_LIMIT).map_err(|failure| gone(&failure))?;
        }
        for (round, some) in alone.chunks(AT_ONCE).enumerate() {
            progress(round * AT_ONCE, shells.len());
            let mut script = String::new();
            for shell in some {
                if is_dir(shell.work_dir.as_path()) {
                    script.push_str(&script::create(shell, self.generation.as_ref(), &self.dirs[&shell.id]));
                } else {
                    let detail = format!("its directory is missing: {}", shell.work_dir.display());
                    self.results.insert(shell.id.clone(), (OutcomeStatus::Refused, "directory_missing", detail));
                }
            }
            if script.is_empty() {
                continue;
            }
            let said = if self.generation.is_some() { self.call(&script)? } else { self.start(&script)? };
            if !said.is_empty() {
                self.store.log(Level::Warn, "restore", &said);
                self.said.push_str(&said);
            }
        }
        progress(shells.len(), shells.len());
        Ok(())
    }

    /// Runs a script; what tmux says of its commands comes back as text.
    fn call(&self, script: &str) -> std::result::Result<String, Ended> {
        let reply = self.server.call(&["source-file", "-"], Some(script.as_bytes()), CALL_LIMIT).map_err(|failure| gone(&failure))?;
        let said = if reply.ok { String::new() } else { reply.stderr };
        if said.contains("server exited") || said.contains("lost server") {
            return Err(said);
        }
        Ok(said)
    }

    /// Runs the first script in a server that it starts.
    fn start(&mut self, script: &str) -> std::result::Result<String, Ended> {
        let reply = self.server.start(script.as_bytes(), CALL_LIMIT).map_err(|failure| gone(&failure))?;
        let seen = self.look()?;
        self.generation = Some(seen.generation);
        Ok(if reply.ok { String::new() } else { reply.stderr })
    }

    fn look(&self) -> std::result::Result<Observation, Ended> {
        let seen = look(self.server, Purpose::Show).map_err(|error| error.message)?;
        match &self.generation {
            Some(generation) if *generation != seen.generation => Err("another server answers now".into()),
            _ => Ok(seen),
        }
    }

    /// Adds what is missing, then what needs live ids, until nothing is left to do; then the records follow.
    fn finish(&mut self, shells: &[Shell]) -> std::result::Result<(), Ended> {
        let mut pending: Vec<Pending> = shells.iter().filter(|shell| !self.is_refused(&shell.id)).map(Pending::new).collect();
        let mut finished: Vec<&Shell> = Vec::new();
        for _ in 0..ROUNDS {
            let seen = self.look()?;
            let owners = owners(self.all, &seen);
            let mut commands = String::new();
            let mut next = Vec::new();
            for mut shell in pending {
                match self.next_step(&mut shell, &seen, &owners) {
                    NextStep::Run(script) => {
                        commands.push_str(&script);
                        next.push(shell);
                    }
                    NextStep::Finished => finished.push(shell.shell),
                    NextStep::Failed => {}
                }
            }
            pending = next;
            if pending.is_empty() {
                break;
            }
            let said = self.call(&commands)?;
            if !said.is_empty() {
                self.store.log(Level::Warn, "restore", &said);
            }
        }
        self.settle(shells, &finished)
    }

    fn is_refused(&self, shell: &str) -> bool {
        matches!(self.results.get(shell), Some((OutcomeStatus::Refused, ..)))
    }

    /// What brings one shell closer to its record.
    fn next_step(&self, pending: &mut Pending, seen: &Observation, owners: &HashMap<&str, &str>) -> NextStep {
        let shell = pending.shell;
        let Some(session) = seen.sessions.iter().find(|session| session.tag == shell.id) else {
            return match leader(shell, self.all, seen).filter(|_| self.followers.contains(&shell.id)) {
                Some(leader) => NextStep::Run(script::join(shell, &seen.generation, leader)),
                None => NextStep::Failed,
            };
        };
        let live = Live::of(shell, session);
        if !live.missing(shell).is_empty() {
            return NextStep::Run(script::complete(shell, &live, &self.dirs[&shell.id]));
        }
        let has_name = session.name != script::working_name(shell);
        if pending.tries > 0 && has_name && script::links_stand(shell, session, owners) {
            return NextStep::Finished;
        }
        pending.tries += 1;
        NextStep::Run(script::finish(shell, &live, owners, pending.tries - 1))
    }

    /// Writes what came back into the records, and takes the marks off.
    fn settle(&mut self, shells: &[Shell], finished: &[&Shell]) -> std::result::Result<(), Ended> {
        let held = self.store.lock(LOCK_LIMIT).map_err(|error| error.message)?;
        let done = |id: &str| finished.iter().any(|shell| shell.id == id);
        let recorded = record_after(self.server, self.store, self.config, &held, |state, seen| {
            for shell in state.shells.iter_mut().filter(|shell| done(&shell.id)) {
                shell.restoring = None;
                take_shown_names(shell, seen);
            }
        });
        let seen = recorded.map_err(|error| error.message)?.seen;
        for shell in shells {
            if self.is_refused(&shell.id) {
                continue;
            }
            let result = if done(&shell.id) {
                (OutcomeStatus::Restored, "restored", came_back(shell, &seen, &self.dirs[&shell.id]))
            } else {
                let said = self.results.remove(&shell.id).map(|(_, _, said)| said).unwrap_or_default();
                (
                    OutcomeStatus::Failed,
                    "tmux_refused",
                    if said.is_empty() { "tmux did not make all of it: see the log".into() } else { said },
                )
            };
            self.results.insert(shell.id.clone(), result);
        }
        Ok(())
    }

    /// The server changed or went away: what has no result yet was not come to.
    fn skip_rest(&mut self, shells: &[Shell], why: &str) {
        for shell in shells {
            self.results
                .entry(shell.id.clone())
                .or_insert_with(|| (OutcomeStatus::Skipped, "server_changed", format!("the run ended before it: {why}")));
        }
    }
}

fn gone(failure: &Failure) -> Ended {
    format!("tmux: {failure}")
}

/// The stable id of the window that holds each recorded pane.
fn window_of_pane(shells: &[Shell]) -> HashMap<&str, &str> {
    let panes = shells
        .iter()
        .flat_map(Shell::own_windows)
        .flat_map(|window| window.panes.iter().map(|pane| (pane.id.as_str(), window.id.as_str())));
    panes.collect()
}

/// The live id of each recorded window, by its stable id.
fn owners<'a>(shells: &'a [Shell], seen: &'a Observation) -> HashMap<&'a str, &'a str> {
    let of_pane = window_of_pane(shells);
    let mut owners = HashMap::new();
    for window in seen.sessions.iter().flat_map(|session| &session.windows) {
        for id in window.panes.iter().filter_map(|pane| of_pane.get(pane.tag.as_str())) {
            owners.entry(*id).or_insert(window.id.as_str());
        }
    }
    owners
}

/// The shells whose sessions hold each recorded window that lives.
fn live_windows(shells: &[Shell], seen: &Observation) -> LiveWindows {
    let of_pane = window_of_pane(shells);
    let mut live = LiveWindows::new();
    for session in &seen.sessions {
        for id in session.windows.iter().flat_map(|window| &window.panes).filter_map(|pane| of_pane.get(pane.tag.as_str())) {
            live.entry((*id).to_owned()).or_default().insert(session.tag.clone());
        }
    }
    live
}

/// What this server made of the names is no rename.
fn take_shown_names(shell: &mut Shell, seen: &Observation) {
    let Some(session) = seen.sessions.iter().find(|session| session.tag == shell.id) else { return };
    shell.seen_as = (session.name != shell.session).then(|| session.name.clone());
    for window in shell.windows.iter_mut().filter(|window| !window.linked && !window.automatic_rename) {
        let shown = session.windows.iter().find(|other| other.panes.iter().any(|pane| window.panes.iter().any(|own| own.id == pane.tag)));
        if let Some(shown) = shown {
            window.seen_as = (shown.name != window.name).then(|| shown.name.clone());
        }
    }
}

/// Says what came back, and which panes did not open in their recorded directory.
fn came_back(shell: &Shell, seen: &Observation, dirs: &Dirs) -> String {
    let plural = |number: usize, thing: &str| format!("{number} {thing}{}", if number == 1 { "" } else { "s" });
    let panes = plural(shell.panes().count(), "pane");
    let mut said = vec![format!("{}, {panes}", plural(shell.windows.len(), "window"))];
    let live: HashMap<&str, &crate::model::SeenPane> = seen
        .sessions
        .iter()
        .flat_map(|session| &session.windows)
        .flat_map(|window| &window.panes)
        .map(|pane| (pane.tag.as_str(), pane))
        .collect();
    for pane in shell.panes() {
        let (Some(opened), Some(now)) = (dirs.get(&pane.id), live.get(pane.id.as_str())) else { continue };
        if resolve(opened.as_path()).is_none_or(|real| real != pane.dir.as_path()) {
            said.push(format!("a pane opened in {}: its own directory is missing ({})", opened.display(), pane.dir.display()));
        } else if now.start_dir != *opened && now.dir.as_ref() != Some(&pane.dir) {
            said.push(format!("a pane did not open in {}", pane.dir.display()));
        }
    }
    said.join("; ")
}
