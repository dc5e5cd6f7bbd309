//! The steps of a restore, and what became of each shell. It can be killed at any of them: the next run goes on from what lives.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use super::effective::{LiveWindows, leader};
use super::execute::{LOCK_LIMIT, Progress, Tell};
use super::opening::{Openings, waiting};
use super::script::{self, Live};
use super::situation::{Situation, is_dir, resolve};
use crate::error::{Error, Result};
use crate::model::{Generation, Mark, Observation, OutcomeStatus, SeenPane, Shell, State, count};
use crate::record::{Recorded, look, now, record_after};
use crate::store::{Config, Level, Store};
use crate::tmux::{Failure, HOOK_INDEX, Purpose, Reply, Server, announce_look, only_in};

/// How long one tmux call of a restore may take; a server that starts runs the user's tmux.conf first.
const CALL_LIMIT: Duration = Duration::from_secs(30);
/// How many sessions one call makes: fewer calls are faster, and between two of them the run can see that its server changed.
const AT_ONCE: usize = 10;
/// After so many tries what still lacks something has failed.
const ROUNDS: usize = 8;

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

type Step<T> = std::result::Result<T, Ended>;

/// Why the run can't go on.
pub(super) enum Ended {
    /// The server went away, or another one answers: what has no result yet was not come to.
    ServerChanged(String),
    /// Anything else.
    Failed(String),
}

impl From<Error> for Ended {
    fn from(error: Error) -> Self {
        // A look that brought nothing, or another server: the one that was worked on is not there any more.
        if matches!(error.code, "no_answer" | "other_server") { Self::ServerChanged(error.message) } else { Self::Failed(error.message) }
    }
}

impl From<Failure> for Ended {
    fn from(failure: Failure) -> Self {
        match failure {
            failure if failure == Failure::NoServer || failure.is_of_an_ending_server() => Self::ServerChanged(failure.to_string()),
            failure => Self::Failed(format!("tmux: {failure}")),
        }
    }
}

/// Status, reason and detail of one shell.
pub(super) type Told = (OutcomeStatus, &'static str, String);

/// A restore on its way.
pub(super) struct Run<'a> {
    pub(super) server: &'a Server,
    pub(super) store: &'a Store,
    pub(super) config: &'a Config,
    /// Every record, which may own windows that others link to.
    pub(super) all: &'a [Shell],
    /// The life of the server that the run began with.
    pub(super) generation: Generation,
    /// How the panes of each shell open.
    pub(super) openings: HashMap<String, Openings>,
    /// Shells that come back by joining a session group.
    pub(super) followers: HashSet<String>,
    pub(super) results: HashMap<String, Told>,
    /// What tmux said of commands that it refused.
    pub(super) said: String,
    /// The user's own hooks that would add to what is made.
    pub(super) quiet: Vec<&'static str>,
}

impl Run<'_> {
    /// From here on no look takes windows or panes from these records.
    pub(super) fn mark(&self, shells: &[Shell]) -> Result<()> {
        let mark = Mark { at: now(), generation: self.generation.clone() };
        self.change_state(|state| {
            for shell in &mut state.shells {
                if shells.iter().any(|wanted| wanted.id == shell.id) {
                    shell.restoring = Some(mark.clone());
                }
            }
        })
    }

    /// A session that nobody used gives its name to the shell that has it.
    pub(super) fn move_bootstrap_aside(&self, shells: &[Shell], situation: &Situation) -> Step<()> {
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

    /// Finds the user's own hooks that would add to what is made; ours are not meant.
    fn find_hooks(&mut self) -> Step<()> {
        let reply = self.server.call(&["show-hooks", "-g"], None, CALL_LIMIT)?;
        let text = String::from_utf8_lossy(&reply.stdout);
        let set: HashSet<&str> = text
            .lines()
            .filter(|line| !line.contains(&format!("[{HOOK_INDEX}]")))
            .filter_map(|line| Some(line.split_once('[')?.0))
            .collect();
        self.quiet = script::QUIET_HOOKS.iter().copied().filter(|hook| set.contains(hook)).collect();
        Ok(())
    }

    /// Makes the sessions, a few in each call; each has guards of its own in it.
    pub(super) fn make(&mut self, shells: &[Shell], tell: Tell) -> Step<()> {
        self.find_hooks()?;
        let alone: Vec<&Shell> = shells.iter().filter(|shell| !self.followers.contains(&shell.id)).collect();
        for (round, some) in alone.chunks(AT_ONCE).enumerate() {
            tell(Progress { done: round * AT_ONCE, total: shells.len(), starting: 0 });
            let mut script = String::new();
            for shell in some {
                if is_dir(shell.work_dir.as_path()) {
                    script.push_str(&script::create(shell, &self.generation, &self.openings[&shell.id], &self.quiet));
                } else {
                    let detail = format!("its directory is missing: {}", shell.work_dir.display());
                    self.results.insert(shell.id.clone(), (OutcomeStatus::Refused, "directory_missing", detail));
                }
            }
            if script.is_empty() {
                continue;
            }
            let said = self.call(&script)?;
            if !said.is_empty() {
                self.said.push_str(&said);
            }
        }
        tell(Progress { done: shells.len(), total: shells.len(), starting: 0 });
        Ok(())
    }

    /// Runs a script; what tmux says of its commands comes back as text. The hooks that it fires start no looks of their own: one
    /// comes at the end.
    fn call(&self, script: &str) -> Step<String> {
        let script = format!("{}\n{script}", announce_look());
        let reply = self.server.call(&["source-file", "-"], Some(script.as_bytes()), CALL_LIMIT)?;
        self.said_of(reply)
    }

    fn said_of(&self, reply: Reply) -> Step<String> {
        if reply.ok {
            return Ok(String::new());
        }
        self.store.log(Level::Warn, "restore", &reply.stderr);
        let said = Failure::Other(reply.stderr);
        if said.is_of_an_ending_server() { Err(said.into()) } else { Ok(said.to_string()) }
    }

    fn look(&self) -> Step<Observation> {
        let seen = look(self.server, Purpose::Find)?;
        if seen.generation == self.generation { Ok(seen) } else { Err(Ended::ServerChanged("another server answers now".into())) }
    }

    /// Adds what is missing, then what needs live ids, until nothing is left to do; the records follow each round. Gives the last
    /// look and what it made of the records.
    pub(super) fn finish(&mut self, shells: &[Shell]) -> Step<Recorded> {
        let mut pending: Vec<Pending> = shells.iter().filter(|shell| !self.is_refused(&shell.id)).map(Pending::new).collect();
        let mut seen = self.look()?;
        for _ in 0..ROUNDS {
            let owners = owners(self.all, &seen);
            let mut commands = String::new();
            let promised: HashSet<String> =
                pending.iter().flat_map(|shell| shell.shell.own_windows()).map(|window| window.id.clone()).collect();
            pending.retain_mut(|shell| match self.next_step(shell, &seen, &owners, &promised) {
                Some(script) => {
                    commands.push_str(&script);
                    true
                }
                None => false,
            });
            let said = self.call(&only_in(&self.generation, &commands))?;
            self.said.push_str(&said);
            let recorded = self.settle(&mut pending, &promised)?;
            if pending.is_empty() {
                self.fail_rest(shells);
                return Ok(recorded);
            }
            seen = recorded.seen;
        }
        Err(Ended::Failed(format!("tmux did not make all of it: {}", self.said)))
    }

    fn is_refused(&self, shell: &str) -> bool {
        matches!(self.results.get(shell), Some((OutcomeStatus::Refused, ..)))
    }

    /// What brings one shell closer to its record; `None` if its session could not be made.
    fn next_step(
        &self,
        pending: &mut Pending,
        seen: &Observation,
        owners: &HashMap<&str, &str>,
        promised: &HashSet<String>,
    ) -> Option<String> {
        let shell = pending.shell;
        let Some(session) = seen.sessions.iter().find(|session| session.tag == shell.id) else {
            let leader = leader(shell, self.all, seen).filter(|_| self.followers.contains(&shell.id))?;
            return Some(script::join(shell, &seen.generation, leader));
        };
        let live = Live::of(shell, session);
        if !live.missing(shell).is_empty() {
            return Some(script::complete(shell, &live, &self.openings[&shell.id]));
        }
        pending.tries += 1;
        Some(script::finish(shell, &live, owners, promised, pending.tries - 1) + &script::unquiet(&session.id, &self.quiet))
    }

    /// Whether a shell has come back: all of it lives, under a name that is not the working one.
    fn is_back(pending: &Pending, seen: &Observation, owners: &HashMap<&str, &str>, promised: &HashSet<String>) -> bool {
        let shell = pending.shell;
        seen.sessions.iter().find(|session| session.tag == shell.id).is_some_and(|session| {
            pending.tries > 0
                && session.name != script::working_name(shell)
                && Live::of(shell, session).missing(shell).is_empty()
                && script::links_stand(shell, session, owners, promised)
                && !(session.windows.len() > 1 && session.windows.iter().any(|window| window.blank))
        })
    }

    /// Writes what lives now into the records, and takes the mark off each shell that is back, which leaves `pending`.
    fn settle(&mut self, pending: &mut Vec<Pending>, promised: &HashSet<String>) -> Step<Recorded> {
        let held = self.store.lock(LOCK_LIMIT)?;
        let mut back: Vec<&Shell> = Vec::new();
        let recorded = record_after(self.server, self.store, self.config, &held, |state, seen| {
            if seen.generation != self.generation {
                return;
            }
            let owners = owners(self.all, seen);
            pending.retain(|shell| {
                let done = Self::is_back(shell, seen, &owners, promised);
                if done {
                    back.push(shell.shell);
                }
                !done
            });
            for shell in state.shells.iter_mut().filter(|shell| back.iter().any(|done| done.id == shell.id)) {
                shell.restoring = None;
                take_shown_names(shell, seen);
            }
        })?;
        if recorded.seen.generation != self.generation {
            return Err(Ended::ServerChanged("another server answers now".into()));
        }
        for shell in back {
            self.results.insert(shell.id.clone(), came_back(shell, &recorded.seen, &self.openings[&shell.id]));
        }
        Ok(recorded)
    }

    /// What has no result by now was refused by tmux.
    fn fail_rest(&mut self, shells: &[Shell]) {
        let said = if self.said.is_empty() { "see the log" } else { self.said.as_str() };
        let why = format!("tmux did not make all of it: {said}");
        for shell in shells {
            self.results.entry(shell.id.clone()).or_insert_with(|| (OutcomeStatus::Failed, "tmux_refused", why.clone()));
        }
    }

    /// Says of the shells that have no result yet why they have none.
    pub(super) fn skip_rest(&mut self, shells: &[Shell], ended: Ended) {
        let (status, reason, why) = match ended {
            Ended::ServerChanged(why) => (OutcomeStatus::Skipped, "server_changed", format!("the run ended before it: {why}")),
            Ended::Failed(why) => (OutcomeStatus::Failed, "run_failed", why),
        };
        self.store.log(Level::Warn, "restore", &why);
        for shell in shells {
            self.results.entry(shell.id.clone()).or_insert_with(|| (status, reason, why.clone()));
        }
    }
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
pub(super) fn live_windows(shells: &[Shell], seen: &Observation) -> LiveWindows {
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

/// What came back, and which panes did not open in their recorded directory.
fn came_back(shell: &Shell, seen: &Observation, openings: &Openings) -> Told {
    let session = seen.sessions.iter().find(|session| session.tag == shell.id);
    let panes = session.map_or(0, |session| session.windows.iter().map(|window| window.panes.len()).sum());
    let mut said = vec![format!("{}, {}", count(shell.windows.len(), "window"), count(panes, "pane"))];
    let mut reason = "restored";
    let live: HashMap<&str, &SeenPane> = seen
        .sessions
        .iter()
        .flat_map(|session| &session.windows)
        .flat_map(|window| &window.panes)
        .map(|pane| (pane.tag.as_str(), pane))
        .collect();
    said.extend(waiting(shell));
    for pane in shell.panes() {
        let (Some(opening), Some(now)) = (openings.get(&pane.id), live.get(pane.id.as_str())) else { continue };
        let opened = &opening.dir;
        if resolve(opened.as_path()).is_none_or(|real| real != pane.dir.as_path()) {
            reason = "pane_directory_missing";
            said.push(format!("a pane opened in {}: its own directory is missing ({})", opened.display(), pane.dir.display()));
        } else if now.start_dir != *opened && now.dir.as_ref() != Some(&pane.dir) {
            said.push(format!("a pane did not open in {}", pane.dir.display()));
        }
    }
    if let Some(session) = session.filter(|session| !script::is_wanted_name(shell, &session.name)) {
        said.push(format!("its name is taken, so it is called '{}'", session.name));
    }
    (OutcomeStatus::Restored, reason, said.join("; "))
}
