//! Carries a plan out, step by step, and can be killed at any of them: the next run goes on from what lives.

use std::collections::HashMap;
use std::time::Duration;

use super::agents::Asked;
use super::effective::{effective, followers};
use super::opening::openings;
use super::retire::{self, Retiring};
use super::run::{Run, live_windows};
use super::situation::situation;
use crate::error::Result;
use crate::model::{Action, AgentOutcome, AgentStatus, AgentStep, Outcome, OutcomeStatus, Plan, Shell, Step, Tombstone};
use crate::record::{Recorded, record_after};
use crate::store::{Config, Level, Store};
use crate::tmux::{Failure, Server};

/// How long the lock of the records is waited for.
pub(super) const LOCK_LIMIT: Duration = Duration::from_secs(10);
/// How long a server may take to read the user's tmux.conf.
const START_LIMIT: Duration = Duration::from_secs(60);
/// How long another restore is waited for.
const RESTORE_LIMIT: Duration = Duration::from_secs(120);
/// Told after each shell: how many are done, and of how many.
pub type Progress<'a> = &'a mut dyn FnMut(usize, usize);

/// What a restore did.
pub struct Report {
    /// An outcome for each shell.
    pub outcomes: Vec<Outcome>,
    /// The bootstrap session, if it is to go now: the last thing to do, since this process may run in it.
    pub retiring: Option<Retiring>,
}

/// Restores what the plan says, of the shells with the ids in `selected`, all if it is `None`. `helper` is this program's own path.
///
/// # Errors
/// The records can't be read or written, or another restore does not end. What tmux refuses is an outcome, not an error.
#[expect(clippy::too_many_arguments, reason = "whose, where, and what is asked for")]
pub fn restore(
    server: &Server,
    store: &Store,
    config: &Config,
    helper: &str,
    selected: Option<&[String]>,
    asked: Asked,
    dry_run: bool,
    progress: Progress,
) -> Result<Report> {
    if !store.exists() {
        return Ok(Report { outcomes: Vec::new(), retiring: None });
    }
    // Two restores at once end as one: the second finds everything there.
    let _alone = if dry_run { None } else { Some(store.lock_restore(RESTORE_LIMIT)?) };
    let chosen = |step: &Step| selected.is_none_or(|ids| ids.contains(&step.shell));
    let recreated = |step: &&Step| chosen(step) && step.action.makes();
    let mut situation = self::situation(server, store, config)?;
    let mut plan = situation.plan_for(asked);
    // The user's tmux.conf may make sessions of its own, so what is to be done is seen when the server has read it.
    let mut _held = None;
    // One without a session may be about to end for want of any.
    let may_end = situation.seen.as_ref().is_none_or(|seen| seen.sessions.is_empty());
    if !dry_run && may_end && plan.steps.iter().any(|step| recreated(&step)) {
        match server.start_and_hold(START_LIMIT) {
            Ok(held) => _held = Some(held),
            Err(failure) => return Ok(not_started(&plan, &chosen, store, &failure)),
        }
        situation = self::situation(server, store, config)?;
        plan = situation.plan_for(asked);
    }
    let mut outcomes: Vec<Outcome> = plan.steps.iter().map(|step| if chosen(step) { expected(step) } else { not_selected(step) }).collect();
    let wanted: Vec<&Shell> =
        plan.steps.iter().filter(recreated).filter_map(|step| situation.state.shells.iter().find(|shell| shell.id == step.shell)).collect();
    let forgotten = situation.state.tombstones.iter().filter(|tombstone| selected.is_some_and(|ids| ids.contains(&tombstone.shell.id)));
    outcomes.extend(forgotten.map(tombstoned));
    if dry_run {
        return Ok(Report { outcomes, retiring: None });
    }
    if wanted.is_empty() {
        if plan.steps.iter().any(|step| step.reason == "adopted") {
            let held = store.lock(LOCK_LIMIT)?;
            record_after(server, store, config, &held, |_, _| ())?;
        }
        let retiring = situation.seen.as_ref().and_then(|seen| retire::of(&situation.state, seen, situation.pristine.as_deref()));
        return Ok(Report { outcomes, retiring });
    }
    let all = &situation.state.shells;
    let Some(seen) = &situation.seen else {
        // The plan of a server that can't be asked has nothing to make again.
        return Ok(Report { outcomes, retiring: None });
    };
    let shells = effective(&wanted, all, &live_windows(all, seen));
    let mut run = Run {
        server,
        store,
        config,
        all,
        generation: seen.generation.clone(),
        openings: shells.iter().map(|shell| (shell.id.clone(), openings(shell, &config.programs, helper))).collect(),
        followers: followers(&shells, all, seen),
        results: HashMap::new(),
        said: String::new(),
        quiet: Vec::new(),
    };
    run.mark(&shells)?;
    let done = run.move_bootstrap_aside(&shells, &situation).and_then(|()| run.make(&shells, progress)).and_then(|()| run.finish(&shells));
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
    Ok(Report { outcomes, retiring })
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
fn not_started(plan: &Plan, chosen: &dyn Fn(&Step) -> bool, store: &Store, failure: &Failure) -> Report {
    let why = format!("the tmux server did not start: {failure}");
    store.log(Level::Error, "restore", &why);
    let outcome = |step: &Step| match chosen(step) {
        true if step.action.makes() => {
            Outcome { status: OutcomeStatus::Failed, reason: "server_not_started".into(), detail: why.clone(), ..expected(step) }
        }
        true => expected(step),
        false => not_selected(step),
    };
    Report { outcomes: plan.steps.iter().map(outcome).collect(), retiring: None }
}

/// What a step leads to if tmux refuses nothing.
fn expected(step: &Step) -> Outcome {
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
        agents: step.agents.iter().map(skipped).collect(),
    }
}

fn skipped(agent: &AgentStep) -> AgentOutcome {
    let (pane, kind, detail) = (agent.pane.clone(), agent.kind.clone(), agent.detail.clone());
    AgentOutcome { pane, kind, status: AgentStatus::Skipped, reason: agent.reason.to_owned(), detail }
}

fn not_selected(step: &Step) -> Outcome {
    Outcome {
        status: OutcomeStatus::Skipped,
        reason: "not_selected".into(),
        detail: "not selected".into(),
        agents: Vec::new(),
        ..expected(step)
    }
}
