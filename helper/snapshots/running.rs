//! The agents that run in panes without being what the pane is bound to, and what their screens tell.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::Snapshots;
use super::harvest::{Around, Candidate, agreed, ids_on};
use crate::agents::catalog::{Agent, Catalog};
use crate::agents::evidence::{self, SeenAgent};
use crate::agents::lineage::{AgentProcess, conversations};
use crate::agents::{live, process, transcript};
use crate::model::{Binding, BoundProcess, EpochMs, LivePanes, Observation, Pane, RawText, Running, Shell, Source, State};
use crate::record::now;
use crate::store::Store;

/// How long a screen may take.
const SCREEN_LIMIT: Duration = Duration::from_secs(2);
/// How long all of them may: the lock of the records is held meanwhile.
const LIMIT: Duration = Duration::from_secs(5);

/// What was seen of agents.
#[derive(Debug, Default)]
pub(super) struct Looked {
    /// Those whose conversation is not known.
    pub(super) running: Vec<Running>,
    /// The conversations that screens told, by the panes' ids.
    pub(super) found: Vec<(String, Binding)>,
}

/// Looks at the recorded panes; with `harvest` at their screens. What those told before, `told` by the panes' ids, is looked at again.
pub(super) fn look(
    Snapshots { server, store, config }: &Snapshots,
    state: &State,
    seen: &Observation,
    harvest: bool,
    told: &HashMap<&str, &Binding>,
) -> Looked {
    let (catalog, _) = Catalog::with(&config.agents);
    let live = LivePanes::of(Some(seen));
    let mut unknown: Vec<(Running, Candidate)> = Vec::new();
    let deadline = Instant::now() + LIMIT;
    for (shell, pane) in state.shells.iter().flat_map(|shell| shell.panes().map(move |pane| (shell, pane))) {
        let Some(there) = live.find(shell, pane).filter(|there| there.foreground > 0) else { continue };
        let Some(agent) = evidence::look(&catalog, there.foreground, &there.title, pane.agent.as_ref(), now()) else { continue };
        let running = running(pane, &agent, seen);
        let known = pane.agent.as_ref().is_some_and(|bound| bound.ended.is_none() && is_one(bound, &running.agent));
        let Some(kind) = catalog.get(&agent.agent.kind).filter(|_| !known) else { continue };
        let mut shown = HashSet::new();
        if harvest && Instant::now() < deadline {
            shown = ids_on(&server.screen(&there.id, SCREEN_LIMIT).unwrap_or_default(), kind);
        }
        let before = told.get(pane.id.as_str()).filter(|before| before.process == running.agent.process);
        shown.extend(before.map(|before| before.id.clone()));
        // What is looked for among all transcripts may be a long list; a part of it tells nothing.
        let found =
            shown.iter().map(|id| (Instant::now() < deadline).then(|| fits(kind, &running.agent, id).map(|fits| (id.clone(), fits))));
        let found: Vec<(String, bool)> = found.collect::<Option<Vec<_>>>().unwrap_or_default().into_iter().flatten().collect();
        let ids = found.iter().filter(|(_, fits)| *fits).map(|(id, _)| id.clone()).collect();
        if !kind.has_ids_of_a_form() {
            // Any word could be one.
            shown = found.into_iter().map(|(id, _)| id).collect();
        }
        unknown.push((running, Candidate { pane: pane.id.clone(), kind: kind.kind.clone(), dir: agent.dir, shown, ids }));
    }
    let (running, candidates): (Vec<Running>, Vec<Candidate>) = unknown.into_iter().unzip();
    let found = if candidates.iter().all(|candidate| candidate.ids.is_empty()) {
        Vec::new()
    } else {
        let claims = Claims::of(store, &catalog, state, &candidates);
        let own = |pane: &str| running.iter().find(|running| running.pane == pane).map(|running| &running.agent);
        let pid = |candidate: &Candidate| Some(own(&candidate.pane)?.process.as_ref()?.pid);
        let around = |candidate: &Candidate| {
            let found = catalog.get(&candidate.kind).zip(own(&candidate.pane));
            found.map_or(Around { agents: usize::MAX, conversations: usize::MAX }, |(agent, running)| claims.around(agent, running))
        };
        let agreed = agreed(&candidates, &|candidate, id| claims.have(candidate, id, pid(candidate)), &around);
        running.iter().filter_map(|running| Some((running.pane.clone(), bound(running, agreed.get(&running.pane)?)))).collect()
    };
    Looked { running, found }
}

/// Whether both are of one run: the same process, or a wrapper and its child.
fn is_one(bound: &Binding, running: &Binding) -> bool {
    let (Some(bound), Some(running)) = (&bound.process, &running.process) else { return false };
    let above = |child: &BoundProcess, other: &BoundProcess| process::parent(child.pid) == Some(other.pid);
    bound == running || (process::runs(bound) && (above(bound, running) || above(running, bound)))
}

/// The agent as it would be bound, but for the id.
fn running(pane: &Pane, agent: &SeenAgent, seen: &Observation) -> Running {
    let process = BoundProcess { pid: agent.agent.pid, start_time: agent.agent.start_time, generation: seen.generation.clone() };
    let agent = Binding {
        kind: agent.agent.kind.clone(),
        flags: agent.agent.kept.clone(),
        dir: agent.dir.clone(),
        launch_dir: agent.dir.clone(),
        config_dir: agent.config_dir.clone(),
        program: agent.agent.program.clone(),
        process: Some(process),
        ..Binding::default()
    };
    Running { pane: pane.id.clone(), agent }
}

fn bound(running: &Running, id: &str) -> Binding {
    // It has a transcript, so there was a prompt.
    Binding { id: id.to_owned(), source: Source::Screen, reported: now(), prompted: true, ..running.agent.clone() }
}

/// Whether a conversation's transcript was begun in the directory that the agent is in, and written to since the agent runs: what a
/// screen shows may be older than the agent. `None` if it has none.
fn fits(agent: &Agent, running: &Binding, id: &str) -> Option<bool> {
    let path = transcript::path(agent, &Binding { id: id.to_owned(), ..running.clone() })?;
    let is_newer = begin(running).zip(transcript::written(&path)).is_some_and(|(since, written)| written >= since);
    Some(is_newer && is_begun_here(running, &path))
}

/// When an agent began, as far as the times of files can be compared with it: it is counted from the boot, in hundredths of a second.
fn begin(running: &Binding) -> Option<EpochMs> {
    Some(process::epoch_ms(running.process.as_ref()?.start_time)?.saturating_sub(1000))
}

/// Whether a transcript was begun in the directory that the agent is in.
fn is_begun_here(running: &Binding, transcript: &Path) -> bool {
    let same =
        |begun: RawText, dir: &RawText| begun == *dir || fs_err::canonicalize(begun.as_path()).is_ok_and(|real| real == dir.as_path());
    transcript::directory(transcript).zip(running.dir.as_ref()).is_some_and(|(begun, dir)| same(begun, dir))
}

/// Who has which conversation, on any server of this host.
struct Claims {
    /// Kind and id of every conversation that any record of any pane names, be it an earlier one of the very pane.
    recorded: HashSet<(String, String)>,
    /// The processes that have one open.
    open: HashMap<(String, String), i32>,
    /// The agents whose conversation is not known, of the kinds that are looked for, each with its directory.
    unknown: Vec<(AgentProcess, Option<RawText>)>,
}

impl Claims {
    fn of(store: &Store, catalog: &Catalog, state: &State, candidates: &[Candidate]) -> Self {
        let others: Vec<State> = store.others_of_host().iter().filter_map(|other| Some(other.load().ok()?.state)).collect();
        let panes = others.iter().chain([state]).flat_map(|state| state.shells.iter().chain(state.tombstones.iter().map(|one| &one.shell)));
        let named = panes.flat_map(Shell::panes).flat_map(|pane| pane.history.iter().chain(&pane.agent).cloned());
        let reports = store.others_of_host().into_iter().chain([store.clone()]).flat_map(|store| store.reports());
        let reported = reports.filter_map(|report| report.binding);
        let wanted: Vec<&str> = candidates.iter().flat_map(|candidate| &candidate.ids).map(String::as_str).collect();
        let (mut recorded, mut bound) = (HashSet::new(), HashSet::new());
        for binding in named.chain(reported) {
            bound.extend(binding.process.filter(process::runs).map(|process| process.pid));
            recorded.insert((binding.kind, binding.id));
        }
        let is_unknown =
            |agent: &AgentProcess| !(bound.contains(&agent.pid) || bound.iter().any(|&pid| process::parent(pid) == Some(agent.pid)));
        let kinds: BTreeSet<&str> = candidates.iter().filter(|one| !one.ids.is_empty()).map(|one| one.kind.as_str()).collect();
        let agents = kinds.into_iter().flat_map(|kind| conversations(catalog, kind)).filter(is_unknown);
        let unknown =
            agents.map(|agent| (process::directory(agent.pid).map(RawText::from), agent)).map(|(dir, agent)| (agent, dir)).collect();
        Self { recorded, open: live::open(catalog, &wanted), unknown }
    }

    /// What else may be meant where this agent runs.
    fn around(&self, agent: &Agent, running: &Binding) -> Around {
        // One that need not work where its process stands may work anywhere.
        let may_be_here = |dir: &Option<RawText>| *dir == running.dir || !evidence::works_where_it_stands(&agent.kind);
        let agents = self.unknown.iter().filter(|(other, dir)| other.kind == agent.kind && may_be_here(dir)).count();
        let is_known = |path: &PathBuf| {
            let known = self.recorded.iter().chain(self.open.keys()).filter(|(kind, _)| *kind == agent.kind);
            known.into_iter().any(|(_, id)| transcript::is_named(agent, path, id))
        };
        let written = transcript::since(agent, running, begin(running).unwrap_or_default());
        let conversations = written.iter().filter(|path| is_begun_here(running, path) && !is_known(path)).count();
        Around { agents, conversations }
    }

    /// Whether a pane has it, or another process than its own.
    fn have(&self, candidate: &Candidate, id: &str, own: Option<i32>) -> bool {
        let conversation = (candidate.kind.clone(), id.to_owned());
        let open = self.open.get(&conversation).copied();
        self.recorded.contains(&conversation) || open.is_some_and(|pid| Some(pid) != own && process::parent(pid) != own)
    }
}
