//! The agents in panes: which run, whose conversation is known, and which could come back.

use std::collections::{HashMap, HashSet};

use super::Shells;
use crate::agents::catalog::{Agent, Catalog};
use crate::agents::flags::{self, Run};
use crate::agents::integration::{State, Status};
use crate::agents::process;
use crate::agents::recognize::{Process, recognize};
use crate::error::Result;
use crate::model::{AgentStep, Binding, LivePanes, Pane, Plan, ResumeLine, SeenPane, Shell, Step, Verdict};
use crate::record::why_unclear;
use crate::restore::{Asked, Situation, last_failure, resume_line, situation};

/// What is known of a pane's agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AgentState {
    /// It runs, and its conversation is known.
    Captured,
    /// It runs, and its conversation is not known.
    NotCaptured,
    /// It does not run; a restore with agents brings its conversation back.
    Resumable,
    /// It does not run, and a restore leaves it alone, for the reason told.
    NotResumable,
    /// The user ended it.
    Ended,
}

impl AgentState {
    /// The word in `--json`.
    pub fn word(self) -> &'static str {
        match self {
            Self::Captured => "captured",
            Self::NotCaptured => "not_captured",
            Self::Resumable => "resumable",
            Self::NotResumable => "not_resumable",
            Self::Ended => "ended",
        }
    }
}

/// A pane's agent.
#[derive(Clone, Debug)]
pub struct PaneAgent {
    /// Its shell's id; `None` where the pane is not recorded.
    pub shell: Option<String>,
    /// `NAME:WINDOW.PANE`, for people.
    pub place: String,
    /// The pane's id in the records.
    pub pane: Option<String>,
    /// The pane's live id.
    pub tmux: Option<String>,
    /// Its process, if it runs.
    pub process: Option<i32>,
    /// Which agent.
    pub kind: String,
    /// Its name for people.
    pub title: String,
    /// The conversation, where it is known.
    pub id: Option<String>,
    /// What is known of it.
    pub state: AgentState,
    /// Why, as a stable `snake_case` word.
    pub reason: &'static str,
    /// Why, in words.
    pub detail: String,
    /// What to do; empty for nothing.
    pub hint: String,
    /// Its directory, where that is not the pane's.
    pub work_dir: Option<String>,
    /// What a resume runs.
    pub line: Option<ResumeLine>,
}

/// What `agent status` shows.
pub struct AgentListing {
    /// A row for each pane in which an agent runs, or could come back.
    pub rows: Vec<PaneAgent>,
    /// What a person should know of the records and the configuration.
    pub notices: Vec<String>,
}

impl Shells<'_> {
    /// Every agent that runs in a pane, and every one that could come back. `integration` tells where the hook of an agent stands; it is
    /// asked only for agents whose conversation is not known. Changes nothing.
    ///
    /// # Errors
    /// The records can't be read at all.
    pub fn agents(&self, integration: &dyn Fn(&Agent) -> Option<Status>) -> Result<AgentListing> {
        let situation = situation(self.server, self.store, self.config)?;
        let plan = situation.plan_for(Asked { agents: true, as_of: None });
        let mut rows = of_panes(&situation, &plan);
        rows.retain(|row| matches!(row.state, AgentState::Captured | AgentState::NotCaptured | AgentState::Resumable));
        explain(&mut rows, situation.catalog(), integration);
        for agent in plan.steps.iter().flat_map(|step| &step.agents) {
            let is_it = |row: &&mut PaneAgent| row.state == AgentState::Resumable && row.pane.as_ref() == Some(&agent.pane);
            if let (Some(row), Some(last)) = (rows.iter_mut().find(is_it), last_failure(self.store, agent)) {
                row.detail.push_str(&format!("; the last resume failed: {}", last.detail));
            }
        }
        let notices = situation.notices.iter().chain(&self.config.warnings).cloned().collect();
        Ok(AgentListing { rows, notices })
    }
}

/// A recorded pane and where it stands.
type Recorded<'a> = (&'a Shell, u32, &'a Pane);

/// The agents of every pane, those that live first. Why one is not known is still to be [explained](explain).
pub(super) fn of_panes(situation: &Situation, plan: &Plan) -> Vec<PaneAgent> {
    let of_shell =
        |shell| Shell::own_windows(shell).flat_map(move |window| window.panes.iter().map(move |pane| (shell, window.index, pane)));
    let recorded: HashMap<&str, Recorded> =
        situation.state.shells.iter().flat_map(of_shell).map(|known: Recorded| (known.2.id.as_str(), known)).collect();
    let panes = LivePanes::of(situation.seen.as_ref());
    let live: HashMap<&str, Recorded> =
        recorded.values().filter_map(|&known| Some((panes.find(known.0, known.2)?.id.as_str(), known))).collect();
    let mut rows = Vec::new();
    let mut running: HashSet<&str> = HashSet::new();
    let mut looked_at: HashSet<&str> = HashSet::new();
    for session in situation.seen.iter().flat_map(|seen| &seen.sessions) {
        for (window, pane) in session.windows.iter().flat_map(|window| window.panes.iter().map(move |pane| (window, pane))) {
            // A window may stand in several sessions.
            if !looked_at.insert(&pane.id) {
                continue;
            }
            let Some((agent, id, pid)) = running_agent(situation.catalog(), pane) else { continue };
            let known = live.get(pane.id.as_str());
            let name = known.map_or(&session.name, |(shell, ..)| &shell.name);
            let bound = known.and_then(|(.., pane)| pane.agent.as_ref()).filter(|binding| is_of(binding, agent, id.as_deref(), pid));
            let is_empty = |binding: &Binding| !binding.prompted && !situation.has_transcript(agent, binding);
            running.extend(known.map(|(.., pane)| pane.id.as_str()));
            rows.push(PaneAgent {
                shell: known.map(|(shell, ..)| shell.id.clone()),
                place: format!("{name}:{}.{}", window.index, pane.index),
                pane: known.map(|(.., pane)| pane.id.clone()),
                tmux: Some(pane.id.clone()),
                process: Some(pid),
                kind: agent.kind.clone(),
                title: agent.title.clone(),
                id: bound.map(|binding| binding.id.clone()),
                state: if bound.is_some() { AgentState::Captured } else { AgentState::NotCaptured },
                reason: if bound.is_some() { "captured" } else { "not_explained" },
                detail: match bound {
                    Some(binding) if is_empty(binding) => "no prompt yet: there is nothing to resume".to_owned(),
                    _ => String::new(),
                },
                hint: String::new(),
                work_dir: differing(process::directory(pid).as_deref(), pane),
                line: bound
                    .filter(|binding| !is_empty(binding))
                    .zip(known)
                    .and_then(|(binding, (.., pane))| resume_line(situation.catalog(), agent, binding, pane)),
            });
        }
    }
    for (step, agent) in plan.steps.iter().flat_map(|step| step.agents.iter().map(move |agent| (step, agent))) {
        if !running.contains(agent.pane.as_str()) {
            rows.push(of_step(step, agent, recorded.get(agent.pane.as_str())));
        }
    }
    rows
}

/// An agent that does not run, as far as the plan tells.
fn of_step(step: &Step, agent: &AgentStep, known: Option<&Recorded>) -> PaneAgent {
    let own_dir = known.map(|(.., pane)| pane.dir.display());
    PaneAgent {
        shell: Some(step.shell.clone()),
        place: known.map_or_else(|| step.name.clone(), |(shell, window, pane)| format!("{}:{window}.{}", shell.name, pane.index)),
        pane: Some(agent.pane.clone()),
        tmux: None,
        process: None,
        kind: agent.kind.clone(),
        title: agent.title.clone(),
        id: agent.id.clone(),
        state: state_of(agent),
        reason: agent.reason,
        detail: agent.detail.clone(),
        hint: if agent.verdict == Verdict::No { String::new() } else { "a restore with the agents brings it back".to_owned() },
        work_dir: agent.work_dir.clone().filter(|dir| own_dir.as_deref() != Some(dir)),
        line: agent.line.clone(),
    }
}

/// What the plan's verdict makes of an agent that does not run in its pane.
pub(super) fn state_of(agent: &AgentStep) -> AgentState {
    match (agent.verdict, agent.reason) {
        (Verdict::Resume | Verdict::Ask, _) => AgentState::Resumable,
        (Verdict::No, "ended_by_user") => AgentState::Ended,
        (Verdict::No, _) => AgentState::NotResumable,
    }
}

/// The agent that somebody sits at in a pane, the conversation that its arguments name, and its process.
pub(super) fn running_agent<'a>(catalog: &'a Catalog, pane: &SeenPane) -> Option<(&'a Agent, Option<String>, i32)> {
    if pane.dead || pane.pid <= 0 {
        return None;
    }
    let pid = process::run_by(process::foreground(pane.pid).map_or(pane.pid, |(leader, _)| leader));
    let (argv, exe, comm) = (process::argv(pid), process::exe(pid), process::comm(pid));
    let found = recognize(catalog, Process { argv: argv.as_deref(), exe: exe.as_deref(), comm: comm.as_deref() })?;
    let agent = catalog.get(&found.agent.kind)?;
    match found.args.map(|args| flags::read(agent, args).run) {
        None | Some(Run::Attached(_)) => Some((agent, None, pid)),
        Some(Run::Conversation(id)) => Some((agent, id, pid)),
        Some(_) => None,
    }
}

/// Whether a binding is that of the agent that runs, and not of an earlier one in the same pane.
fn is_of(binding: &Binding, agent: &Agent, id: Option<&str>, pid: i32) -> bool {
    let same_process = |process| process::runs(process) && (process.pid == pid || process::parent(process.pid) == Some(pid));
    let lives = binding.process.as_ref().map_or(id == Some(binding.id.as_str()), same_process);
    binding.kind == agent.kind && binding.ended.is_none() && lives
}

fn differing(dir: Option<&std::path::Path>, pane: &SeenPane) -> Option<String> {
    let dir = dir?;
    // The pane's is the one that its shell is in.
    let own = process::directory(pane.pid)?;
    (own != dir).then(|| dir.display().to_string())
}

/// Finds out why conversations of agents that run are not known.
fn explain(rows: &mut [PaneAgent], catalog: &Catalog, integration: &dyn Fn(&Agent) -> Option<Status>) {
    let mut asked: HashMap<String, Option<Status>> = HashMap::new();
    let unknown = |row: &PaneAgent| row.state == AgentState::NotCaptured;
    for row in rows.iter_mut().filter(|row| unknown(row)) {
        let Some(agent) = catalog.get(&row.kind) else { continue };
        let status = asked.entry(row.kind.clone()).or_insert_with(|| integration(agent));
        let (reason, detail, hint) = match status {
            None => ("no_integration", "there is no integration for it".to_owned(), String::new()),
            Some(status) => match status.state {
                State::NotInstalled => ("integration_missing", "its hook is not installed".to_owned(), status.hint.clone()),
                State::NeedsRepair => ("integration_broken", format!("its hook needs repair: {}", status.detail), status.hint.clone()),
                State::NotTrusted => ("hook_not_trusted", "its hook is not trusted".to_owned(), status.hint.clone()),
                State::Disabled | State::Unreadable => ("hooks_off", status.detail.clone(), status.hint.clone()),
                State::Installed if row.pane.is_none() => (
                    "not_yet_looked_at",
                    "its pane is not recorded yet".to_owned(),
                    "it is at the next look, unless shells.ignore has it".to_owned(),
                ),
                State::Installed if row.process.is_some_and(|pid| why_unclear(catalog, agent, pid).is_some()) => (
                    "ambiguous",
                    format!("{} may show several of its conversations here, and nothing tells which one is in this pane", agent.title),
                    "sidecar agent integration install codex --titles; then start it anew".to_owned(),
                ),
                State::Installed => (
                    "no_prompt_yet",
                    "it has reported nothing yet: it does with its first prompt".to_owned(),
                    "one that was started before the hook was installed has to be started anew".to_owned(),
                ),
            },
        };
        (row.reason, row.detail, row.hint) = (reason, detail, hint);
    }
}
