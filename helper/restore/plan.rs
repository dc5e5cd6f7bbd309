//! What a restore would do: pure, the first rule that fits decides.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use super::agents::{AgentFacts, add_agents};
use super::opening::waiting;
use crate::model::{Action, Ended, EpochMs, Generation, Hint, Observation, Plan, Policy, ServerReport, ServerState, Shell, State, Step};
use crate::record::{Endings, line_to_bring_back};

/// What a plan is made from.
pub struct Facts<'a> {
    /// The records, as the present look makes them.
    pub state: &'a State,
    /// The shells that the records on disk know alive in the server that answers: what else lives was adopted by this look.
    pub lived: &'a HashSet<String>,
    /// The shells that come from a snapshot alone.
    pub thawed: &'a HashSet<String>,
    /// What no look has read yet of the `session-closed` hook.
    pub hints: &'a [Hint],
    /// What lives.
    pub seen: Option<&'a Observation>,
    /// The live id of a session that nobody used yet.
    pub pristine: Option<&'a str>,
    /// What is known of the server.
    pub server: ServerReport,
    /// Recorded generations of other servers that still live.
    pub stuck: &'a [Generation],
    /// Whether a directory is there.
    pub is_dir: &'a dyn Fn(&Path) -> bool,
    /// The present boot's id.
    pub boot: &'a str,
    /// Whether this version may write the records.
    pub writable: bool,
    /// What is known of the agents in the panes.
    pub agents: AgentFacts<'a>,
}

/// The plan: a step for each shell, by project, then name.
pub(super) fn plan(facts: &Facts) -> Plan {
    let endings = Endings::of(facts.state, facts.hints, facts.boot);
    let panes_of = facts.state.pane_count();
    let mut steps: Vec<Step> = facts.state.shells.iter().map(|shell| step(shell, facts, &endings, panes_of(shell))).collect();
    give_each_name_once(&mut steps, facts.state);
    add_agents(&mut steps, facts.state, facts.seen, facts.is_dir, &facts.agents);
    steps.sort_by(|a, b| (&a.project, &a.name, &a.shell).cmp(&(&b.project, &b.name, &b.shell)));
    Plan { server: facts.server.clone(), steps }
}

/// Of several shells that would come back under one name the one seen last has it; the others wait until it is free.
fn give_each_name_once(steps: &mut [Step], state: &State) {
    let mut holders: HashMap<String, (Option<EpochMs>, String)> = HashMap::new();
    let seen_at: HashMap<&str, Option<EpochMs>> =
        state.shells.iter().map(|shell| (shell.id.as_str(), shell.seen.as_ref().map(|seen| seen.at))).collect();
    for step in steps.iter().filter(|step| step.action.makes()) {
        let mine = (seen_at.get(step.shell.as_str()).copied().flatten(), step.shell.clone());
        let holder = holders.entry(step.session.clone()).or_insert_with(|| mine.clone());
        *holder = mine.max(holder.clone());
    }
    for step in steps.iter_mut().filter(|step| step.action.makes()) {
        let (_, holder) = &holders[&step.session];
        if *holder != step.shell {
            step.action = Action::Refuse;
            step.reason = "name_taken";
            step.detail = format!("another shell ({holder}) comes back under its name: rename that one, and restore this one then");
            step.note = Some(step.detail.clone());
        }
    }
}

fn step(shell: &Shell, facts: &Facts, endings: &Endings, panes: usize) -> Step {
    let (action, reason, detail) = verdict(shell, facts, endings);
    Step {
        shell: shell.id.clone(),
        session: shell.session.clone(),
        name: shell.name.clone(),
        project: shell.project.as_ref().map(|project| project.display().into_owned()),
        work_dir: shell.work_dir.display().into_owned(),
        action,
        reason,
        note: match reason {
            "died_with_server" | "from_snapshot" | "pane_directory_missing" | "run_command" => {
                detail.split_once("; ").map(|(_, rest)| rest.to_owned())
            }
            "server_stuck" => Some("its server lives".to_owned()),
            _ => Some(detail.clone()),
        },
        detail,
        policy: shell.policy,
        windows: shell.windows.len(),
        panes,
        agents: Vec::new(),
    }
}

fn verdict(shell: &Shell, facts: &Facts, endings: &Endings) -> (Action, &'static str, String) {
    if !facts.writable {
        return (Action::Refuse, "state_newer", "the records are of a newer version of sidecar: update it".into());
    }
    let here = facts.seen.filter(|seen| shell.lives_in(&seen.generation));
    if let Some(seen) = here {
        if shell.missing.is_some() {
            return (Action::Skip, "closing", "its session was closed just now".into());
        }
        if shell.under_restore(&seen.generation) {
            return (Action::RecreateShell, "cut_short", "a restore of it was cut short: it gets what is missing".into());
        }
        if !facts.lived.contains(&shell.id) {
            return (Action::Reattach, "adopted", "another tool made it again, with the same directories".into());
        }
        return (Action::Reattach, "already_running", "already running".into());
    }
    if let Some(stuck) = shell.seen.as_ref().filter(|known| facts.stuck.contains(&known.generation)) {
        let pid = stuck.generation.pid;
        let why = facts.server.detail.clone().unwrap_or_else(|| format!("its server, pid {pid}, lives"));
        return (Action::Refuse, "server_stuck", why);
    }
    match facts.server.state {
        ServerState::Stuck if facts.seen.is_none() => {
            return (Action::Refuse, "server_stuck", facts.server.detail.clone().unwrap_or_default());
        }
        ServerState::Unknown => return (Action::Refuse, "server_unknown", facts.server.detail.clone().unwrap_or_default()),
        ServerState::Running | ServerState::Gone | ServerState::Stuck => {}
    }
    if shell.policy == Policy::Never {
        return (Action::Skip, "policy_never", "its policy is never".into());
    }
    if let Some(holder) = facts.seen.and_then(|seen| name_holder(shell, seen, facts.pristine)) {
        return (
            Action::Refuse,
            "name_taken",
            format!("another session ({holder}) has its name: rename that one (tmux rename-session), then restore again"),
        );
    }
    if !(facts.is_dir)(shell.work_dir.as_path()) {
        return (Action::Refuse, "directory_missing", missing_words(shell, facts));
    }
    let panes = shell.panes().count();
    let lost = shell.panes().filter(|pane| !(facts.is_dir)(pane.dir.as_path())).count();
    let lost_words = (lost > 0).then(|| format!("{lost} of {panes} panes open in its own directory, theirs are missing"));
    let with = |first: String| [Some(first), lost_words.clone(), waiting(shell)].into_iter().flatten().collect::<Vec<_>>().join("; ");
    let action = if shell.is_manual() { Action::Manual } else { Action::RecreateShell };
    if facts.thawed.contains(&shell.id) {
        return (action, "from_snapshot", with("it is not recorded any more; the snapshot has it".into()));
    }
    match endings.of_shell(shell) {
        Ended::ClosedWithServer => {
            (action, "closed_with_server", with("it was closed as the last session, and its server ended with it".into()))
        }
        Ended::Died if action == Action::Manual => (action, "run_command", with("it died with its server".into())),
        Ended::Died if lost > 0 => (action, "pane_directory_missing", with("it died with its server".into())),
        Ended::Died => (action, "died_with_server", with("it died with its server".into())),
    }
}

/// A worktree that was removed can be brought back.
fn missing_words(shell: &Shell, facts: &Facts) -> String {
    let missing = format!("its directory is missing: {}", shell.work_dir.display());
    match (&shell.project, &shell.worktree) {
        (Some(main), Some(worktree)) if !(facts.is_dir)(worktree.as_path()) => {
            format!("{missing}. {} brings it back", line_to_bring_back(main.as_path(), worktree.as_path(), shell.branch.as_deref()))
        }
        _ => missing,
    }
}

/// The live session that has the shell's name; one that nobody used gives way.
fn name_holder<'a>(shell: &Shell, seen: &'a Observation, pristine: Option<&str>) -> Option<&'a str> {
    let named = |name: &str| name == shell.session || shell.seen_as.as_deref() == Some(name);
    let holder = seen.sessions.iter().find(|session| named(&session.name))?;
    (pristine != Some(holder.id.as_str())).then_some(holder.id.as_str())
}
