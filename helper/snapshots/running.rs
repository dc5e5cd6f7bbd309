//! The agents that run in panes without being what the pane is bound to, and what their screens tell.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use super::harvest::{Candidate, agreed, ids_on};
use crate::agents::catalog::{Agent, Catalog};
use crate::agents::evidence::{self, SeenAgent};
use crate::agents::{live, process, transcript};
use crate::model::{Binding, BoundProcess, LivePanes, Observation, Pane, RawText, Running, Shell, Source, State};
use crate::record::now;
use crate::store::{Config, Store};
use crate::tmux::Server;

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

/// Looks at the recorded panes.
pub(super) fn look(server: &Server, store: &Store, config: &Config, state: &State, seen: &Observation, harvest: bool) -> Looked {
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
        let mut candidate = Candidate { pane: pane.id.clone(), kind: kind.kind.clone(), ids: HashSet::new() };
        if harvest && Instant::now() < deadline {
            let screen = server.screen(&there.id, SCREEN_LIMIT).unwrap_or_default();
            candidate.ids = ids_on(&screen, kind).into_iter().filter(|id| fits(kind, &running.agent, id)).collect();
        }
        unknown.push((running, candidate));
    }
    let (running, candidates): (Vec<Running>, Vec<Candidate>) = unknown.into_iter().unzip();
    let found = if candidates.iter().all(|candidate| candidate.ids.is_empty()) {
        Vec::new()
    } else {
        let claims = Claims::of(store, &catalog, state, &candidates);
        let own = |pane: &str| running.iter().find(|running| running.pane == pane).and_then(|running| running.agent.process.as_ref());
        let agreed = agreed(&candidates, &|candidate, id| claims.have(candidate, id, own(&candidate.pane).map(|process| process.pid)));
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
/// screen shows may be older than the agent.
fn fits(agent: &Agent, running: &Binding, id: &str) -> bool {
    let Some(path) = transcript::path(agent, &Binding { id: id.to_owned(), ..running.clone() }) else { return false };
    let same =
        |begun: RawText, dir: &RawText| begun == *dir || fs_err::canonicalize(begun.as_path()).is_ok_and(|real| real == dir.as_path());
    let here = || transcript::directory(&path).zip(running.dir.as_ref()).is_some_and(|(begun, dir)| same(begun, dir));
    let since = running.process.as_ref().and_then(|process| process::epoch_ms(process.start_time));
    let written = transcript::written(&path);
    // The one is counted from the boot, in hundredths of a second.
    since.zip(written).is_some_and(|(since, written)| written + 1000 >= since) && here()
}

/// Who has which conversation, on any server of this host.
struct Claims {
    /// Kind and id of every conversation that any record of any pane names, be it an earlier one of the very pane.
    recorded: HashSet<(String, String)>,
    /// The processes that have one open.
    open: std::collections::HashMap<(String, String), i32>,
}

impl Claims {
    fn of(store: &Store, catalog: &Catalog, state: &State, candidates: &[Candidate]) -> Self {
        let others: Vec<State> = store.others_of_host().iter().filter_map(|other| Some(other.load().ok()?.state)).collect();
        let panes = others.iter().chain([state]).flat_map(|state| state.shells.iter().chain(state.tombstones.iter().map(|one| &one.shell)));
        let named = panes.flat_map(Shell::panes).flat_map(|pane| pane.history.iter().chain(&pane.agent).cloned());
        let reports = store.others_of_host().into_iter().chain([store.clone()]).flat_map(|store| store.reports());
        let reported = reports.filter_map(|report| report.binding);
        let wanted: Vec<&str> = candidates.iter().flat_map(|candidate| &candidate.ids).map(String::as_str).collect();
        Self { recorded: named.chain(reported).map(|binding| (binding.kind, binding.id)).collect(), open: live::open(catalog, &wanted) }
    }

    /// Whether a pane has it, or another process than its own.
    fn have(&self, candidate: &Candidate, id: &str, own: Option<i32>) -> bool {
        let conversation = (candidate.kind.clone(), id.to_owned());
        let open = self.open.get(&conversation).copied();
        self.recorded.contains(&conversation) || open.is_some_and(|pid| Some(pid) != own && process::parent(pid) != own)
    }
}
