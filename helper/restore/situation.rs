//! Everything that a plan is made from, read without changing a byte on disk or in tmux.

use std::cell::{OnceCell, RefCell};
use std::collections::{HashMap, HashSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::agents::{AgentFacts, Asked, Claim, Open, agents_of, claims};
use super::execute::LOCK_LIMIT;
use super::plan::{Facts, plan};
use super::thaw::thaw;
use crate::agents::catalog::{Agent, Catalog};
use crate::agents::verdict::Setting;
use crate::agents::{live, process, transcript};
use crate::error::{Error, Result};
use crate::model::{
    AgentStep, Binding, EpochMs, Generation, Hint, Observation, Pane, Plan, RawText, Report, Resume, ServerReport, ServerState, Shell,
    Snapshot, State,
};
use crate::record::{ANSWER_LIMIT, Keep, RandomIds, Takeover, bury_deleted, decide, now, purge, stuck_generations};
use crate::store::{Config, Level, Loaded, Store};
use crate::tmux::{Failure, Purpose, Server, is_launching};

/// How long a server may take from its socket's end to its own.
const ENDING: Duration = Duration::from_millis(300);

/// What was read.
pub struct Situation {
    /// What a person should know of the records on disk.
    pub notices: Vec<String>,
    /// Whether this version may write them.
    pub writable: bool,
    /// The shells that the records on disk know alive in the server that answers.
    pub lived: HashSet<String>,
    /// The records as the present look makes them, in memory.
    pub state: State,
    /// What lives.
    pub seen: Option<Observation>,
    /// What no look has read yet of the `session-closed` hook.
    pub hints: Vec<Hint>,
    /// What is known of the server.
    pub server: ServerReport,
    /// Recorded generations of other servers that still live.
    pub stuck: Vec<Generation>,
    /// The live id of a session that nobody used yet.
    pub pristine: Option<String>,
    /// The snapshot that is asked for.
    snapshot: Option<Snapshot>,
    /// The shells that come from it alone.
    thawed: HashSet<String>,
    /// What is known of the agents.
    agents: Agents,
}

/// The kind and the id of a conversation, its configuration's folder, and the transcript that was told of.
type Transcript = (String, String, Option<RawText>, Option<RawText>);

/// What is known of the agents in the panes.
struct Agents {
    catalog: Catalog,
    setting: Setting,
    reports: Vec<Report>,
    others: Vec<Claim>,
    /// Conversations that are being resumed, and by which process.
    held: Vec<((String, String), i32)>,
    /// Conversations that live processes have open, by kind and id.
    open: OnceCell<HashMap<(String, String), i32>>,
    /// Which conversations have a transcript.
    transcripts: RefCell<HashMap<Transcript, bool>>,
}

/// Looks at the server and reads the records.
///
/// # Errors
/// The records can't be read at all.
pub fn situation(server: &Server, store: &Store, config: &Config) -> Result<Situation> {
    situation_with(server, store, config, Besides::default())
}

/// What a plan is made from besides the records.
#[derive(Clone, Copy, Default)]
pub struct Besides<'a> {
    /// The name of a snapshot: what only that has.
    pub snapshot: Option<&'a str>,
    /// As if this had been taken over.
    pub coming: Option<&'a Takeover>,
}

/// The same, with what else there is, in memory.
///
/// # Errors
/// As for [`situation`], and there is no such snapshot (exit 3), or it can't be read.
pub fn situation_with(server: &Server, store: &Store, config: &Config, besides: Besides) -> Result<Situation> {
    let Besides { snapshot, coming } = besides;
    let snapshot = snapshot.map(|name| store.snapshot(name)).transpose()?;
    let hints = store.hints();
    // Both take their time and neither needs the other.
    let (loaded, answer) = std::thread::scope(|scope| {
        let loading = scope.spawn(|| store.load());
        let answer = settled_answer(server);
        (loading.join(), answer)
    });
    let loaded = loaded.map_err(|_| Error::failed("load", "cannot read the records: the reader ended"))??;
    let Loaded { mut state, notices, writable, .. } = loaded;
    let ours = answer.as_ref().ok().filter(|seen| server.check_is_ours(seen.generation.pid).is_ok());
    let thawed = snapshot.as_ref().map(|snapshot| thaw(&mut state, snapshot, ours)).unwrap_or_default();
    let stuck = living_others(&state, &answer);
    let report = report(server, store, &answer, &stuck);
    let seen = answer.ok().filter(|seen| server.check_is_ours(seen.generation.pid).is_ok());
    if let Some(coming) = coming {
        coming.arrive(&mut state);
    }
    let ids = |shells: &mut dyn Iterator<Item = &Shell>| shells.map(|shell| shell.id.clone()).collect::<HashSet<String>>();
    let mut lived = HashSet::new();
    let (seen, state, pristine) = if let Some(mut seen) = seen {
        crate::record::add_projects(&mut seen);
        crate::record::add_programs(&mut seen, config);
        lived = ids(&mut state.shells.iter().filter(|shell| shell.lives_in(&seen.generation)));
        let known = ids(&mut state.shells.iter().chain(state.tombstones.iter().map(|tombstone| &tombstone.shell)));
        let mut changes = decide(server, config, state, &seen, &hints, &mut RandomIds);
        // What no hook has recorded yet is nothing to plan for.
        changes.state.shells.retain(|shell| known.contains(&shell.id));
        (Some(seen), changes.state, changes.pristine)
    } else {
        (None, alone(state, config), None)
    };
    let agents = Agents::read(store, config, &state, snapshot.as_ref(), coming);
    Ok(Situation { snapshot, thawed, notices, writable, lived, state, seen, hints, server: report, stuck, pristine, agents })
}

/// What the records tell of a server that can't be asked, and why it can't.
///
/// # Errors
/// The records can't be read at all.
pub(super) fn situation_unasked(store: &Store, config: &Config, why: &str) -> Result<Situation> {
    let Loaded { state, notices, writable, .. } = store.load()?;
    let state = alone(state, config);
    let server = ServerReport {
        socket: state.socket.as_ref().map(|socket| socket.display().into_owned()).unwrap_or_default(),
        state: ServerState::Unknown,
        pid: None,
        version: None,
        detail: Some(why.to_owned()),
        last_seen: store.last_look(),
    };
    let agents = Agents::read(store, config, &state, None, None);
    let (lived, stuck) = (HashSet::new(), Vec::new());
    let (snapshot, thawed, hints) = (None, HashSet::new(), store.hints());
    Ok(Situation { snapshot, thawed, notices, writable, lived, state, seen: None, hints, server, stuck, pristine: None, agents })
}

/// The records without a server.
fn alone(mut state: State, config: &Config) -> State {
    bury_deleted(&mut state);
    purge(&mut state, Keep::of(config), now(), &|_| false);
    state
}

/// What is known of the server alone, beside these records: its answer, and the recorded generations that live without one.
pub fn standing(server: &Server, store: &Store, state: &State) -> Standing {
    let answer = settled_answer(server);
    let stuck = living_others(state, &answer);
    Standing { report: report(server, store, &answer, &stuck), answer, stuck }
}

/// What is known of a server.
pub struct Standing {
    /// In short.
    pub report: ServerReport,
    /// What answers on its socket.
    pub answer: std::result::Result<Observation, Failure>,
    /// Recorded generations, other than that one, that still live.
    pub stuck: Vec<Generation>,
}

/// A server that was just killed stands in the process table for a moment longer than on its socket.
fn living_others(state: &State, answer: &std::result::Result<Observation, Failure>) -> Vec<Generation> {
    let mut stuck = stuck_generations(state, answer.as_ref().ok().map(|seen| &seen.generation));
    stuck.retain(|generation| process::outlives(generation, ENDING));
    stuck
}

/// An answer that is not that of a server just ending, which is neither alive nor gone for a moment.
fn settled_answer(server: &Server) -> std::result::Result<Observation, Failure> {
    let deadline = Instant::now() + ENDING;
    loop {
        match server.look(Purpose::Show, ANSWER_LIMIT) {
            Err(failure) if failure.is_of_an_ending_server() && Instant::now() < deadline => {}
            answer => return answer,
        }
    }
}

/// Whether a directory is there.
pub(super) fn is_dir(path: &Path) -> bool {
    fs_err::metadata(path).is_ok_and(|data| data.is_dir())
}

/// Where a path leads.
pub(super) fn resolve(path: &Path) -> Option<PathBuf> {
    fs_err::canonicalize(path).ok()
}

impl Situation {
    /// Every agent that is known.
    pub fn catalog(&self) -> &Catalog {
        &self.agents.catalog
    }

    /// Whether a conversation has a transcript.
    pub fn has_transcript(&self, agent: &Agent, binding: &Binding) -> bool {
        self.agents.has_transcript(agent, binding)
    }

    /// The plan for it, without its agents.
    pub fn plan(&self) -> Plan {
        self.plan_for(Asked::default())
    }

    /// The agents of a shell that is forgotten, as if it came back.
    pub fn agents_of_forgotten(&self, shell: &Shell) -> Vec<AgentStep> {
        let asked = Asked { agents: true, as_of: None };
        self.agents.with(&self.state, self.snapshot.as_ref(), asked, |facts| agents_of(shell, &self.state, &is_dir, facts))
    }

    /// The agent of a recorded pane, of a forgotten shell's too.
    pub fn agent_of(&self, pane: &str, as_of: Option<EpochMs>) -> Option<AgentStep> {
        let asked = Asked { agents: true, as_of };
        let is_it = |agent: &AgentStep| agent.pane == pane;
        let of_plan = self.plan_for(asked).steps.into_iter().flat_map(|step| step.agents).find(is_it);
        of_plan.or_else(|| {
            let has_it = |shell: &&Shell| shell.panes().any(|own| own.id == pane);
            let forgotten = self.state.tombstones.iter().map(|tombstone| &tombstone.shell).find(has_it)?;
            self.agents_of_forgotten(forgotten).into_iter().find(is_it)
        })
    }

    /// Writes those of these shells that come from the snapshot alone into the records; gives whether there were any.
    pub(super) fn keep_thawed(&self, store: &Store, wanted: &[&str]) -> Result<bool> {
        let Some(mut snapshot) = self.snapshot.clone() else { return Ok(false) };
        snapshot.state.shells.retain(|shell| self.thawed.contains(&shell.id) && wanted.contains(&shell.id.as_str()));
        if snapshot.state.shells.is_empty() {
            return Ok(false);
        }
        let held = store.lock(LOCK_LIMIT)?;
        let loaded = store.load()?;
        let mut state = loaded.state.clone();
        let added = thaw(&mut state, &snapshot, self.seen.as_ref());
        store.save(&held, &loaded, &state, now())?;
        for id in &added {
            store.log(Level::Info, "restore", &format!("{id}: recorded again, from the snapshot of {}", snapshot.at));
        }
        Ok(!added.is_empty())
    }

    /// The processes that have recorded conversations open although their server is gone.
    pub(super) fn orphans(&self) -> Vec<i32> {
        let open = self.agents.find_open(&self.state, self.snapshot.as_ref());
        open.into_values().filter(|&pid| process::is_orphan(pid)).collect()
    }

    /// The plan for what is asked.
    pub fn plan_for(&self, asked: Asked) -> Plan {
        // Many panes lie in few directories. (A path as a key would be taken apart for each pane.)
        let seen_dirs: RefCell<HashMap<OsString, bool>> = RefCell::default();
        let is_there = |path: &Path| {
            let known = seen_dirs.borrow().get(path.as_os_str()).copied();
            known.unwrap_or_else(|| *seen_dirs.borrow_mut().entry(path.into()).or_insert(is_dir(path)))
        };
        self.agents.with(&self.state, self.snapshot.as_ref(), asked, |agents| {
            plan(&Facts {
                state: &self.state,
                lived: &self.lived,
                thawed: &self.thawed,
                hints: &self.hints,
                seen: self.seen.as_ref(),
                pristine: self.pristine.as_deref(),
                server: self.server.clone(),
                stuck: &self.stuck,
                is_dir: &is_there,
                boot: &process::boot_id(),
                writable: self.writable,
                agents: *agents,
            })
        })
    }
}

impl Agents {
    fn read(store: &Store, config: &Config, state: &State, snapshot: Option<&Snapshot>, coming: Option<&Takeover>) -> Self {
        let mut reports = store.reports();
        reports.extend(coming.into_iter().flat_map(Takeover::reports));
        let bound = panes_of(state, snapshot).any(|pane| pane.agent.is_some());
        // A server that has none of its own asks nobody else.
        let others = if bound || !reports.is_empty() { store.others_of_host() } else { Vec::new() };
        let others = others
            .iter()
            .filter_map(|other| Some(claims(&other.load().ok()?.state, &other.server_name(), &process::runs)))
            .flatten()
            .collect();
        Self {
            catalog: Catalog::with(&config.agents).0,
            setting: Setting::of(&config.resume_agents),
            reports,
            others,
            held: held(store),
            open: OnceCell::new(),
            transcripts: RefCell::default(),
        }
    }

    fn with<T>(&self, state: &State, snapshot: Option<&Snapshot>, asked: Asked, then: impl FnOnce(&AgentFacts) -> T) -> T {
        let frozen = snapshot.iter().flat_map(|snapshot| &snapshot.state.shells).flat_map(Shell::panes);
        let frozen = frozen.map(|pane| (pane.id.as_str(), pane)).collect();
        then(&AgentFacts {
            catalog: &self.catalog,
            reports: &self.reports,
            others: &self.others,
            frozen: &frozen,
            has_transcript: &|agent, binding| self.has_transcript(agent, binding),
            open: &|kind, id| {
                let pid = *self.open.get_or_init(|| self.find_open(state, snapshot)).get(&(kind.to_owned(), id.to_owned()))?;
                Some(Open { pid, orphan: process::is_orphan(pid) })
            },
            setting: self.setting,
            asked,
        })
    }

    fn has_transcript(&self, agent: &Agent, binding: &Binding) -> bool {
        // A pane may have many reports of one conversation.
        let key = (binding.kind.clone(), binding.id.clone(), binding.config_dir.clone(), binding.transcript.clone());
        *self.transcripts.borrow_mut().entry(key).or_insert_with(|| transcript::exists(agent, binding))
    }

    fn find_open(&self, state: &State, snapshot: Option<&Snapshot>) -> HashMap<(String, String), i32> {
        let bindings = || panes_of(state, snapshot).flat_map(|pane| pane.history.iter().chain(&pane.agent));
        let wanted = bindings().chain(self.reports.iter().filter_map(|report| report.binding.as_ref())).map(|binding| binding.id.as_str());
        let wanted: HashSet<&str> = wanted.collect();
        let mut open = live::open(&self.catalog, &Vec::from_iter(wanted));
        // What an agent told of itself, wherever it runs.
        let now = panes_of(state, snapshot).filter_map(|pane| pane.agent.as_ref());
        for binding in now.filter(|binding| binding.ended.is_none()) {
            if let Some(process) = binding.process.as_ref().filter(|process| process::runs(process)) {
                open.insert((binding.kind.clone(), binding.id.clone()), process.pid);
            }
        }
        open.extend(self.held.iter().cloned());
        open.extend(self.others.iter().filter_map(|claim| Some(((claim.kind.clone(), claim.id.clone()), claim.process?))));
        open
    }
}

/// The panes of the records, and those of a snapshot.
fn panes_of<'a>(state: &'a State, snapshot: Option<&'a Snapshot>) -> impl Iterator<Item = &'a Pane> {
    state.shells.iter().chain(snapshot.into_iter().flat_map(|snapshot| &snapshot.state.shells)).flat_map(Shell::panes)
}

/// What is being resumed in any pane of this host: its process lives, and has not become the user's shell.
fn held(store: &Store) -> Vec<((String, String), i32)> {
    let all = store.others_of_host().into_iter().flat_map(|other| other.resumes()).chain(store.resumes());
    let holds = |resume: Resume| {
        let holder = resume.holder.filter(|holder| resume.state.holds() && process::runs(holder))?;
        // One that becomes another program has no words for a moment.
        process::argv(holder.pid).is_none_or(|argv| is_launching(&argv)).then_some(((resume.kind, resume.id), holder.pid))
    };
    all.filter_map(|(_, resume)| holds(resume)).collect()
}

fn report(server: &Server, store: &Store, answer: &std::result::Result<Observation, Failure>, stuck: &[Generation]) -> ServerReport {
    let socket = server.socket().display().to_string();
    let (state, pid, version, detail) = match answer {
        Ok(seen) => match server.check_is_ours(seen.generation.pid) {
            Err(error) => {
                let detail = error.hint.map_or(error.message.clone(), |hint| format!("{}: {hint}", error.message));
                (ServerState::Stuck, stuck.first().map(|generation| generation.pid), None, Some(detail))
            }
            Ok(()) => match stuck.first() {
                None => (ServerState::Running, Some(seen.generation.pid), Some(seen.version.clone()), None),
                Some(other) => {
                    let (old, new) = (other.pid, seen.generation.pid);
                    let detail = format!(
                        "another server, pid {old}, which holds recorded shells, lives without its socket: pid {new} answers there now. \
                         If you don't need it, end it (kill {old}), and its shells can be restored here. \
                         To go back to it, end this one first, then kill -USR1 {old} makes tmux create the socket again"
                    );
                    (ServerState::Stuck, Some(other.pid), Some(seen.version.clone()), Some(detail))
                }
            },
        },
        Err(failure) => match (failure, stuck.first()) {
            (Failure::NoServer, None) => (ServerState::Gone, None, None, None),
            (Failure::NoServer | Failure::Timeout, Some(generation)) => {
                let pid = generation.pid;
                let what = if *failure == Failure::Timeout {
                    "does not answer"
                } else if server.socket_exists() {
                    "lives, but does not listen on its socket"
                } else {
                    "lives, but its socket is missing"
                };
                let detail = format!("the server, pid {pid}, {what}: kill -USR1 {pid} makes tmux create its socket again");
                (ServerState::Stuck, Some(pid), None, Some(detail))
            }
            (_, known) => (
                ServerState::Unknown,
                known.map(|generation| generation.pid),
                None,
                Some(format!("the tmux server at {socket}: {failure}")),
            ),
        },
    };
    ServerReport { socket, state, pid, version, detail, last_seen: store.last_look() }
}
