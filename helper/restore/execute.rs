//! Carries a plan out, step by step, and can be killed at any of them: the next run goes on from what lives.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use super::agents::Asked;
use super::effective::{effective, followers};
use super::opening::openings;
use super::resume::{self, Consent, Wish, ask, is_reopened, is_resumed, settle, type_into, wait};
use super::retire::{self, Retiring};
use super::run::{Run, live_windows};
use super::situation::{Besides, situation_with};
use crate::agents::process;
use crate::error::Result;
use crate::model::{
    Action, AgentOutcome, AgentStatus, AgentStep, Answer, LivePanes, Outcome, OutcomeStatus, Plan, ResumeState, Shell, Step, Tombstone,
    count,
};
use crate::record::{Recorded, Takeover, record_after};
use crate::store::{Config, Level, Store};
use crate::tmux::{Failure, Server};

/// How long the lock of the records is waited for.
pub(super) const LOCK_LIMIT: Duration = Duration::from_secs(10);
/// How long a server may take to read the user's tmux.conf.
const START_LIMIT: Duration = Duration::from_secs(60);
/// How long another restore is waited for.
const RESTORE_LIMIT: Duration = Duration::from_secs(120);
/// How long agents of a dead server may take to end.
const ORPHANS_LIMIT: Duration = Duration::from_secs(5);
/// How long agents are waited for.
const AGENTS_LIMIT: Duration = Duration::from_secs(15);

/// How far a restore is.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Shells that are made.
    pub done: usize,
    /// Shells that are to be made.
    pub total: usize,
    /// Agents that start.
    pub starting: usize,
}

impl std::fmt::Display for Progress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} of {}", self.done, count(self.total, "shell"))?;
        if self.starting > 0 { write!(f, ", {} starting", count(self.starting, "agent")) } else { Ok(()) }
    }
}

/// Told after each step.
pub(super) type Tell<'a> = &'a mut dyn FnMut(Progress);

/// What is to be restored, and how.
#[derive(Clone, Copy, Debug, Default)]
pub struct Order<'a> {
    /// The ids of the shells; all if it is `None`.
    pub selected: Option<&'a [String]>,
    /// Whether the agents are to come back too, and with which conversations.
    pub asked: Asked,
    /// The snapshot that gives what is missing.
    pub snapshot: Option<&'a str>,
    /// Who has agreed to that.
    pub consent: Consent,
    /// A pane whose conversation is opened although the user had ended it.
    pub also: Option<&'a str>,
    /// What an agent's question is answered with.
    pub answer: Answer,
    /// For a dry run: what would be taken over before.
    pub coming: Option<&'a Takeover>,
    /// Only say what would be done.
    pub dry_run: bool,
}

/// What a restore did.
pub struct Report {
    /// An outcome for each shell.
    pub outcomes: Vec<Outcome>,
    /// The bootstrap session, if it is to go now: the last thing to do, since this process may run in it.
    pub retiring: Option<Retiring>,
}

/// Restores what the plan says. `helper` is this program's own path.
///
/// # Errors
/// The records can't be read or written, or another restore does not end. What tmux refuses is an outcome, not an error.
pub fn restore(server: &Server, store: &Store, config: &Config, helper: &str, order: Order, tell: Tell) -> Result<Report> {
    if !store.exists() && order.coming.is_none() {
        order.snapshot.map(|name| store.snapshot(name)).transpose()?;
        return Ok(Report { outcomes: Vec::new(), retiring: None });
    }
    // Two restores at once end as one: the second finds everything there.
    let alone = if order.dry_run { None } else { Some(store.lock_restore(RESTORE_LIMIT)?) };
    let mut begun = begin(server, store, config, helper, order, tell)?;
    drop(alone);
    let panes: Vec<&str> = begun.resumed.iter().map(|(_, agent)| agent.pane.as_str()).collect();
    if !panes.is_empty() {
        let shells = begun.report.outcomes.iter().filter(|outcome| outcome.status == OutcomeStatus::Restored).count();
        let resumes = wait(store, &panes, AGENTS_LIMIT, &mut |starting| tell(Progress { done: shells, total: shells, starting }));
        let agents = begun.report.outcomes.iter_mut().flat_map(|outcome| &mut outcome.agents);
        for agent in agents {
            if let Some((_, step)) = begun.resumed.iter().find(|(_, step)| step.pane == agent.pane) {
                *agent = resume::outcome(step, resumes.get(&step.pane));
            }
        }
    }
    Ok(begun.report)
}

/// A restore whose agents are still to be waited for.
struct Begun {
    report: Report,
    /// The agents that are on their way, each with its shell.
    resumed: Vec<(String, AgentStep)>,
}

impl Begun {
    fn without_agents(outcomes: Vec<Outcome>, retiring: Option<Retiring>) -> Self {
        Self { report: Report { outcomes, retiring }, resumed: Vec::new() }
    }
}

fn begin(server: &Server, store: &Store, config: &Config, helper: &str, order: Order, tell: Tell) -> Result<Begun> {
    let Order { selected, asked, snapshot, consent, also, answer, coming, dry_run } = order;
    let chosen = |step: &Step| selected.is_none_or(|ids| ids.contains(&step.shell));
    let recreated = |step: &&Step| chosen(step) && step.action.makes();
    let besides = Besides { snapshot, coming };
    let look = || situation_with(server, store, config, besides);
    let mut situation = look()?;
    // The agents of a server that was just killed take a moment to end, and nobody else may have their conversations meanwhile.
    let orphans = if asked.agents && !dry_run { situation.orphans() } else { Vec::new() };
    if !orphans.is_empty() {
        process::wait_gone(&orphans, ORPHANS_LIMIT);
        situation = look()?;
    }
    let mut plan = situation.plan_for(asked);
    if !dry_run {
        let wanted: Vec<&str> = plan.steps.iter().filter(recreated).map(|step| step.shell.as_str()).collect();
        if situation.keep_thawed(store, &wanted)? {
            situation = look()?;
            plan = situation.plan_for(asked);
        }
    }
    // The user's tmux.conf may make sessions of its own, so what is to be done is seen when the server has read it.
    let mut _held = None;
    // One without a session may be about to end for want of any.
    let may_end = situation.seen.as_ref().is_none_or(|seen| seen.sessions.is_empty());
    if !dry_run && may_end && plan.steps.iter().any(|step| recreated(&step)) {
        match server.start_and_hold(START_LIMIT) {
            Ok(held) => _held = Some(held),
            Err(failure) => return Ok(Begun::without_agents(not_started(&plan, &chosen, store, &failure), None)),
        }
        situation = look()?;
        plan = situation.plan_for(asked);
    }
    let comes_back = |step: &&Step| chosen(step) && (step.action.makes() || step.action == Action::Reattach);
    let of_step = |step: &Step| step.agents.iter().map(|agent| (step.shell.clone(), agent.clone())).collect::<Vec<_>>();
    let resumed: Vec<(String, AgentStep)> = plan
        .steps
        .iter()
        .filter(comes_back)
        .flat_map(of_step)
        .filter(|(_, agent)| is_resumed(store, agent, consent) || also.is_some_and(|pane| is_reopened(agent, pane)))
        .collect();
    let mut outcomes: Vec<Outcome> =
        plan.steps.iter().map(|step| if chosen(step) { expected(step, &resumed) } else { not_selected(step) }).collect();
    let wanted: Vec<&Shell> =
        plan.steps.iter().filter(recreated).filter_map(|step| situation.state.shells.iter().find(|shell| shell.id == step.shell)).collect();
    let forgotten = situation.state.tombstones.iter().filter(|tombstone| selected.is_some_and(|ids| ids.contains(&tombstone.shell.id)));
    outcomes.extend(forgotten.map(tombstoned));
    if dry_run {
        return Ok(Begun::without_agents(outcomes, None));
    }
    let all = &situation.state.shells;
    let Some(seen) = &situation.seen else {
        // The plan of a server that can't be asked has nothing to make again.
        return Ok(Begun::without_agents(outcomes, None));
    };
    ask(store, resumed.iter().map(|(_, agent)| agent.pane.as_str()), Wish { as_of: asked.as_of, snapshot, answer }, &seen.generation)?;
    // Panes that live already sit idle at a prompt.
    let into_living = |resumed: &[(String, AgentStep)]| {
        let live = LivePanes::of(Some(seen));
        let of_pane = |id: &str| all.iter().find_map(|shell| live.find(shell, shell.panes().find(|pane| pane.id == id)?));
        let panes: Vec<(&str, &str)> =
            resumed.iter().filter_map(|(_, agent)| Some((agent.pane.as_str(), of_pane(&agent.pane)?.id.as_str()))).collect();
        type_into(server, store, helper, seen, &panes);
    };
    if wanted.is_empty() {
        if plan.steps.iter().any(|step| step.reason == "adopted") {
            let held = store.lock(LOCK_LIMIT)?;
            record_after(server, store, config, &held, |_, _| ())?;
        }
        into_living(&resumed);
        let retiring = retire::of(&situation.state, seen, situation.pristine.as_deref());
        return Ok(Begun { report: Report { outcomes, retiring }, resumed });
    }
    let forgotten = situation.state.tombstones.iter().map(|tombstone| &tombstone.shell);
    let known: HashSet<&str> = all.iter().chain(forgotten).flat_map(Shell::panes).map(|pane| pane.id.as_str()).collect();
    store.keep_resumes(&|pane| known.contains(pane));
    let panes: HashSet<&str> = resumed.iter().map(|(_, agent)| agent.pane.as_str()).collect();
    let shells = effective(&wanted, all, &live_windows(all, seen));
    let mut run = Run {
        server,
        store,
        config,
        all,
        generation: seen.generation.clone(),
        openings: shells
            .iter()
            .map(|shell| {
                (
                    shell.id.clone(),
                    openings(shell, &config.programs, &panes, &|pane| config.shown_again().is_some() && store.has_text(pane), helper),
                )
            })
            .collect(),
        followers: followers(&shells, all, seen),
        results: HashMap::new(),
        said: String::new(),
        quiet: Vec::new(),
    };
    run.mark(&shells)?;
    let done = run.move_bootstrap_aside(&shells, &situation).and_then(|()| run.make(&shells, tell)).and_then(|()| run.finish(&shells));
    let retiring = match done {
        Ok(Recorded { seen, changes }) => retire::of(&changes.state, &seen, changes.pristine.as_deref()),
        Err(ended) => {
            run.skip_rest(&shells, ended);
            None
        }
    };
    for outcome in &mut outcomes {
        if let Some((status, reason, detail)) = run.results.remove(&outcome.shell) {
            // What waits with its commands has come back, too.
            if (outcome.status, status) != (OutcomeStatus::Manual, OutcomeStatus::Restored) {
                (outcome.status, outcome.reason) = (status, reason.to_owned());
            }
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
    // Of a shell that did not come back no agent does.
    let came_back = |shell: &str| {
        let back = [OutcomeStatus::Restored, OutcomeStatus::Manual, OutcomeStatus::Reattached];
        outcomes.iter().any(|outcome| outcome.shell == shell && back.contains(&outcome.status))
    };
    for (_, agent) in resumed.iter().filter(|(shell, _)| !came_back(shell)) {
        settle(store, &agent.pane, ResumeState::Skipped, "shell_not_restored", "its shell was not restored");
    }
    into_living(&resumed.iter().filter(|(shell, _)| came_back(shell)).cloned().collect::<Vec<_>>());
    Ok(Begun { report: Report { outcomes, retiring }, resumed })
}

/// A selected shell that was forgotten: kept, and left alone.
fn tombstoned(tombstone: &Tombstone) -> Outcome {
    let shell = &tombstone.shell;
    Outcome {
        shell: shell.id.clone(),
        session: shell.session.clone(),
        name: shell.name.clone(),
        status: OutcomeStatus::Skipped,
        reason: "tombstoned".into(),
        detail: format!("it is forgotten ({}), and a restore leaves it alone", tombstone.reason.word()),
        agents: Vec::new(),
    }
}

/// The server did not start: nothing was made, and nothing is lost.
fn not_started(plan: &Plan, chosen: &dyn Fn(&Step) -> bool, store: &Store, failure: &Failure) -> Vec<Outcome> {
    let why = format!("the tmux server did not start: {failure}");
    store.log(Level::Error, "restore", &why);
    let outcome = |step: &Step| match chosen(step) {
        true if step.action.makes() => {
            Outcome { status: OutcomeStatus::Failed, reason: "server_not_started".into(), detail: why.clone(), ..expected(step, &[]) }
        }
        true => expected(step, &[]),
        false => not_selected(step),
    };
    plan.steps.iter().map(outcome).collect()
}

/// What a step leads to if tmux refuses nothing, and these agents come back.
fn expected(step: &Step, resumed: &[(String, AgentStep)]) -> Outcome {
    let status = match step.action {
        Action::Reattach => OutcomeStatus::Reattached,
        Action::Skip => OutcomeStatus::Skipped,
        Action::Refuse => OutcomeStatus::Refused,
        Action::Manual => OutcomeStatus::Manual,
        Action::RecreateShell | Action::ResumeAgent => OutcomeStatus::Restored,
    };
    Outcome {
        shell: step.shell.clone(),
        session: step.session.clone(),
        name: step.name.clone(),
        status,
        reason: step.reason.to_owned(),
        detail: step.detail.clone(),
        agents: step.agents.iter().map(|agent| expected_agent(agent, resumed.iter().any(|(_, own)| own.pane == agent.pane))).collect(),
    }
}

fn expected_agent(agent: &AgentStep, resumed: bool) -> AgentOutcome {
    let status = if resumed { AgentStatus::Resumed } else { AgentStatus::Skipped };
    let (reason, detail) = if resumed { ("resume", "is resumed") } else { (agent.reason, agent.detail.as_str()) };
    AgentOutcome {
        pane: agent.pane.clone(),
        place: agent.place.clone(),
        kind: agent.kind.clone(),
        status,
        reason: reason.to_owned(),
        detail: detail.to_owned(),
    }
}

fn not_selected(step: &Step) -> Outcome {
    Outcome {
        status: OutcomeStatus::Skipped,
        reason: "not_selected".into(),
        detail: "not selected".into(),
        agents: Vec::new(),
        ..expected(step, &[])
    }
}
