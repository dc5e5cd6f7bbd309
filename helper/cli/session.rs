//! `sidecar session …`.

use std::collections::HashSet;
use std::io::{IsTerminal, Write};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use serde_json::json;

use super::args::{RestoreArgs, StatusArgs};
use super::output::{age, alike, colours, columns, directory, for_this_server, local_time, paint, print, print_json, shown, told_apart};
use super::when::{AsOf, as_of};
use super::{Context, own_path};
use crate::agents::catalog::Catalog;
use crate::error::{Error, Exit, Result};
use crate::model::{
    Action, AgentOutcome, AgentStatus, AgentStep, Answer, Outcome, OutcomeStatus, Plan, Policy, ServerState, Step, Verdict,
    agents_went_well, count, in_one_line, went_well,
};
use crate::record::{Settings, Takeover, now};
use crate::restore::{Asked, Besides, Consent, Order, Progress, Source, restore as run_restore, retire_bootstrap, situation_with};
use crate::shells::ids_in;
use crate::tmux::shell_word;

pub(super) fn status(context: &Context, options: &StatusArgs) -> Result<ExitCode> {
    let AsOf { time, snapshot } = as_of(options.as_of.as_deref())?;
    let asked = Asked { agents: true, as_of: time };
    let besides = Besides { snapshot, coming: None };
    // Not worth freeing: the process ends with what is printed.
    let situation = std::mem::ManuallyDrop::new(situation_with(&context.server, &context.store, &context.config, besides)?);
    let plan = situation.plan_for(asked);
    let mut notices: Vec<String> = situation.notices.clone();
    notices.extend(context.config.warnings.iter().cloned());
    notices.extend(situation.seen.iter().flat_map(Settings::warnings));
    notices.extend(context.store.trouble().map(|trouble| format!("records are not being written: {trouble}")));
    if options.json {
        print_json(&status_json(&plan, &context.config.resume_agents, &notices));
    } else {
        print(&status_text(&plan, &context.server.display_name(), options.as_of.as_deref(), &notices));
    }
    Ok(ExitCode::SUCCESS)
}

pub(super) fn status_json(plan: &Plan, resume_agents: &str, notices: &[String]) -> serde_json::Value {
    let server = &plan.server;
    json!({
        "schemaVersion": 1,
        "server": {
            "socket": server.socket,
            "state": server.state.word(),
            "pid": server.pid,
            "version": server.version,
            "detail": server.detail,
            "lastLook": server.last_seen,
        },
        "resumeAgents": resume_agents,
        "notices": notices,
        "steps": plan.steps.iter().map(step_json).collect::<Vec<_>>(),
    })
}

fn step_json(step: &Step) -> serde_json::Value {
    json!({
        "shell": step.shell,
        "session": step.session,
        "name": step.name,
        "project": step.project,
        "workDir": step.work_dir,
        "action": step.action.word(),
        "reason": step.reason,
        "detail": step.detail,
        "note": step.note,
        "policy": step.policy.word(),
        "windows": step.windows,
        "panes": step.panes,
        "agents": step.agents.iter().map(agent_json).collect::<Vec<_>>(),
    })
}

fn agent_json(agent: &AgentStep) -> serde_json::Value {
    json!({
        "pane": agent.pane,
        "kind": agent.kind,
        "id": agent.id,
        "verdict": agent.verdict.word(),
        "reason": agent.reason,
        "detail": agent.detail,
        "workDir": agent.work_dir,
        "chosen": agent.since.word(),
        "reportedAt": agent.reported,
    })
}

fn status_text(plan: &Plan, server: &str, as_of: Option<&str>, notices: &[String]) -> String {
    let colours = colours();
    let mut out = String::new();
    for notice in notices {
        out.push_str(&format!("{}\n", paint(&format!("note: {}", shown(notice)), "33", colours)));
    }
    if let Some(detail) = &plan.server.detail {
        out.push_str(&format!("{}\n", paint(&shown(detail), "31", colours)));
    }
    let state = server_words(plan);
    let server = shown(server);
    if plan.steps.is_empty() {
        out.push_str(&format!("Nothing is recorded of the server '{server}', {state}.\n"));
        return out;
    }
    let pending = plan.steps.iter().filter(|step| !matches!(step.action, Action::Reattach) && step.reason != "closing").count();
    if pending == 0 {
        let running = plan.steps.iter().filter(|step| step.action == Action::Reattach).count();
        let closed = match plan.steps.len() - running {
            0 => String::new(),
            number => format!(", {number} closed just now"),
        };
        out.push_str(&format!("Nothing to restore: {} running{closed} · the server '{server}', {state}.\n\n", count(running, "shell")));
    } else {
        out.push_str(&format!(
            "{} · {} of the server '{server}', {state}\n\n",
            paint("RESTORE PLAN", "1", colours),
            count(plan.steps.len(), "shell")
        ));
    }
    let alike = alike(plan.steps.iter().map(|step| step.name.as_str()));
    let rows: Vec<[String; 4]> = plan.steps.iter().map(|step| row(step, &alike)).collect();
    for ([name, action, dir, last], step) in columns(rows).into_iter().zip(&plan.steps) {
        let action = paint(&action, action_colour(step.action), colours);
        out.push_str(&format!("  {name}   {action}   {dir}   {last}\n"));
        // Of a shell that runs only what could come back is news.
        let told = step.agents.iter().filter(|agent| step.action != Action::Reattach || agent.verdict != Verdict::No);
        out.extend(told.map(|agent| paint(&agent_line(agent), "2", colours) + "\n"));
    }
    let agents = plan.steps.iter().flat_map(|step| &step.agents).any(|agent| agent.verdict != Verdict::No);
    let makes = plan.steps.iter().any(|step| step.action.makes());
    // Without it another plan would be carried out than the one that is shown.
    let as_of = as_of.map(|as_of| format!("--as-of {} ", shown(&shell_word(as_of.trim())))).unwrap_or_default();
    let restore = for_this_server("sidecar session restore ") + &as_of;
    if makes {
        out.push_str(&format!("\n  restore:            {}\n", restore.trim_end()));
    }
    if agents {
        let gap = if makes { "" } else { "\n" };
        out.push_str(&format!("{gap}  with the agents:    {} --agents\n", restore.trim_end()));
    }
    out
}

/// What becomes of an agent, in one line.
fn agent_line(agent: &AgentStep) -> String {
    let id = agent.id.as_deref().filter(|_| agent.reason != "transcript_missing").map(|id| format!(" · {}", shown(id)));
    let active = agent.reported.filter(|_| agent.verdict != Verdict::No);
    let active = active.map(|at| format!(" · last active {}", local_time(at, now())));
    format!("    {}{}{} · {}", shown(&agent.title), id.unwrap_or_default(), active.unwrap_or_default(), shown(&agent.detail))
}

pub(super) fn server_words(plan: &Plan) -> String {
    let server = &plan.server;
    match server.state {
        ServerState::Running => {
            let looked = server.last_seen.map_or("never looked at".to_owned(), |at| format!("last look {} ago", age(at, now())));
            format!("running (pid {}), {looked}", server.pid.unwrap_or_default())
        }
        ServerState::Stuck => format!("stuck (pid {})", server.pid.unwrap_or_default()),
        ServerState::Unknown => match server.last_seen {
            Some(at) => format!("in an unknown state, last look {} ({} ago)", local_time(at, now()), age(at, now())),
            None => "in an unknown state".to_owned(),
        },
        ServerState::Gone => match server.last_seen {
            Some(at) => format!("gone since {} ({} ago)", local_time(at, now()), age(at, now())),
            None => "not running".to_owned(),
        },
    }
}

fn row(step: &Step, alike: &HashSet<&str>) -> [String; 4] {
    let size = format!("{}, {}", count(step.windows, "window"), count(step.panes, "pane"));
    let mut last = match &step.note {
        Some(note) if step.action == Action::Reattach => shown(note),
        Some(note) => format!("{size}; {}", shown(note)),
        None => size,
    };
    if step.policy != Policy::Inherit && step.reason != "policy_never" {
        last.push_str(&format!("; policy {}", step.policy.word()));
    }
    [told_apart(&step.name, &step.shell, alike), step.action.word().to_owned(), directory(&step.work_dir), last]
}

fn action_colour(action: Action) -> &'static str {
    match action {
        Action::RecreateShell | Action::ResumeAgent => "32",
        Action::Refuse => "31",
        Action::Manual => "33",
        Action::Reattach | Action::Skip => "2",
    }
}

pub(super) fn restore(context: &Context, options: &RestoreArgs) -> Result<ExitCode> {
    let AsOf { time, snapshot } = as_of(options.as_of.as_deref())?;
    let source = options.from.as_deref().map(|name| Source::named(name, &context.store, &context.config)).transpose()?;
    let mut selected = match (&source, options.shells.as_slice()) {
        (_, []) => None,
        (None, targets) => Some(context.shells().ids(targets, snapshot)?),
        (Some(source), targets) => {
            let ids = ids_in(&source.candidates(&context.store)?, &source.name(), targets);
            Some(ids.map_err(|error| error.hint("the same with --dry-run and without --shell shows them"))?)
        }
    };
    // Nothing is taken before all is agreed.
    let coming = source.as_ref().map(|source| source.peek(&context.store, selected.as_deref())).transpose()?;
    let wanted = coming.as_ref().map(|coming| coming.ids.clone());
    let asked = Asked { agents: options.agents, as_of: time };
    let asking = if options.agents && !options.yes {
        asking(context, asked, wanted.as_deref().or(selected.as_deref()), Besides { snapshot, coming: coming.as_ref() })?
    } else {
        Vec::new()
    };
    let agreed = options.yes || (!asking.is_empty() && !options.dry_run && confirm(&asking)?);
    let answer = match options.answer_choice {
        Some(choice) => Answer::Choice(choice),
        None if options.no_answer => Answer::Leave,
        None => Answer::Full,
    };
    let consent = if agreed { Consent::Given } else { Consent::Unasked };
    let coming = match &source {
        Some(source) if !options.dry_run => Some(source.take(&context.store, selected.as_deref())?),
        _ => coming,
    };
    if let Some(coming) = &coming {
        selected = Some(coming.ids.clone());
    }
    let preview = coming.as_ref().filter(|_| options.dry_run);
    let order =
        Order { selected: selected.as_deref(), asked, snapshot, consent, also: None, answer, coming: preview, dry_run: options.dry_run };
    let mut line = ProgressLine::new();
    let report = run_restore(&context.server, &context.store, &context.config, &own_path()?, order, &mut |progress| line.show(progress))?;
    line.clear();
    let outcomes = report.outcomes;
    let failed_agents = outcomes.iter().flat_map(|outcome| &outcome.agents).filter(|agent| agent.status == AgentStatus::Failed).count();
    let failed = outcomes.iter().filter(|outcome| outcome.status == OutcomeStatus::Failed).count() + failed_agents;
    if options.json {
        let mut document = json!({
            "schemaVersion": 1,
            "dryRun": options.dry_run,
            "outcomes": outcomes.iter().map(outcome_json).collect::<Vec<_>>(),
            "failed": failed,
        });
        if let Some(coming) = &coming {
            document["taken"] = coming.arriving().map(|shell| shell.id.as_str()).collect();
        }
        print_json(&document);
    } else {
        if let (Some(source), Some(coming)) = (&source, &coming) {
            print(&taken_text(&source.name(), coming, options.dry_run));
        }
        print(&restore_text(&outcomes, options.dry_run, &Catalog::with(&context.config.agents).0));
        if !options.dry_run && std::env::var_os("TMUX").is_none() {
            print(&attach_text(context, &outcomes));
        }
    }
    if let Some(retiring) = &report.retiring {
        // Everything is said: this may end the pane that we run in.
        retire_bootstrap(&context.server, &context.store, retiring, &format!("sidecar: {}", in_one_line(&outcomes, false)));
    }
    let refused = outcomes.iter().any(|outcome| outcome.status == OutcomeStatus::Refused);
    let well = went_well(&outcomes);
    if well && !options.dry_run {
        context.store.restore_went_well();
    }
    Ok(if !well || !agents_went_well(&outcomes) {
        Exit::Failed.into()
    } else if refused || (options.dry_run && !asking.is_empty()) {
        Exit::Refused.into()
    } else {
        ExitCode::SUCCESS
    })
}

/// The agents that ask first.
fn asking(context: &Context, asked: Asked, selected: Option<&[String]>, besides: Besides) -> Result<Vec<AgentStep>> {
    let situation = situation_with(&context.server, &context.store, &context.config, besides)?;
    let chosen = |step: &Step| selected.is_none_or(|ids| ids.contains(&step.shell));
    let agents = situation.plan_for(asked).steps.into_iter().filter(chosen).flat_map(|step| step.agents);
    Ok(agents.filter(|agent| agent.verdict == Verdict::Ask).collect())
}

/// Asks on the terminal; `false` restores without them.
fn confirm(asking: &[AgentStep]) -> Result<bool> {
    if !(std::io::stdin().is_terminal() && std::io::stderr().is_terminal()) {
        return Err(Error::failed("confirmation_needed", format!("{} to be confirmed, and nobody to ask", count(asking.len(), "resume")))
            .exit(Exit::Refused)
            .hint("add --yes to resume them, or leave --agents out; `sidecar session status` shows them"));
    }
    let mut err = std::io::stderr().lock();
    for agent in asking {
        let dir = agent.work_dir.as_deref().map(|dir| format!(", in {}", directory(dir))).unwrap_or_default();
        writeln!(err, "  {}   {}{dir}", shown(&agent.place), shown(&agent.title))?;
    }
    write!(err, "Resume {}? Without, their shells come back alone. [y/N] ", count(asking.len(), "agent"))?;
    err.flush()?;
    let mut answer = String::new();
    std::io::stdin().read_line(&mut answer)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}

fn outcome_json(outcome: &Outcome) -> serde_json::Value {
    json!({
        "shell": outcome.shell,
        "session": outcome.session,
        "name": outcome.name,
        "status": outcome.status.word(),
        "reason": outcome.reason,
        "detail": outcome.detail,
        "agents": outcome.agents.iter().map(agent_outcome_json).collect::<Vec<_>>(),
    })
}

fn agent_outcome_json(agent: &AgentOutcome) -> serde_json::Value {
    json!({ "pane": agent.pane, "kind": agent.kind, "status": agent.status.word(), "reason": agent.reason, "detail": agent.detail })
}

/// What was taken over, or would be.
fn taken_text(from: &str, coming: &Takeover, dry_run: bool) -> String {
    let names: Vec<String> = coming.arriving().map(|shell| shown(&shell.name)).collect();
    match names.as_slice() {
        [] => format!("Nothing to take from {}.\n", shown(from)),
        _ => {
            let verb = if dry_run { "would be taken" } else { "taken" };
            format!("{} {verb} from {}: {}\n", count(names.len(), "shell"), shown(from), names.join(", "))
        }
    }
}

fn restore_text(outcomes: &[Outcome], dry_run: bool, catalog: &Catalog) -> String {
    let told: Vec<&Outcome> = outcomes.iter().filter(|outcome| outcome.reason != "not_selected").collect();
    // Nobody was asked.
    let asks = |agent: &AgentOutcome| dry_run && agent.status == AgentStatus::Skipped && agent.reason == "needs_confirmation";
    let came_back = |outcome: &&Outcome| outcome.agents.iter().any(|agent| asks(agent) || agent.status != AgentStatus::Skipped);
    if told.iter().all(|outcome| outcome.status == OutcomeStatus::Reattached) && !told.iter().any(came_back) {
        return match told.len() {
            0 => "Nothing to restore.\n".to_owned(),
            number => format!("Nothing to restore: {} already running.\n", count(number, "shell")),
        };
    }
    let alike = alike(told.iter().map(|outcome| outcome.name.as_str()));
    let cells =
        |outcome: &&Outcome| [told_apart(&outcome.name, &outcome.shell, &alike), word(outcome, dry_run).to_owned(), shown(&outcome.detail)];
    let mut out = String::new();
    for (outcome, cells) in told.iter().zip(columns(told.iter().map(cells).collect())) {
        let agents = outcome.agents.iter().filter(|agent| agent.status != AgentStatus::Skipped || agent.reason != "not_requested");
        out.push_str(&format!("{}\n", cells.join("   ").trim_end()));
        for agent in agents {
            let title = catalog.get(&agent.kind).map_or(agent.kind.as_str(), |known| known.title.as_str());
            let became = match agent.status {
                AgentStatus::Resumed if dry_run => " would be resumed:".to_owned(),
                _ if asks(agent) => String::new(),
                status => format!(" {}:", status.word()),
            };
            out.push_str(&format!("    {}   {}{became} {}\n", shown(&agent.place), shown(title), shown(&agent.detail)));
        }
    }
    out.push_str(&format!("{}\n", for_this_server(&in_one_line(outcomes, dry_run))));
    out
}

fn word(outcome: &Outcome, dry_run: bool) -> &'static str {
    if dry_run && outcome.status == OutcomeStatus::Restored { "would be restored" } else { outcome.status.word() }
}

/// How to get there, for somebody outside tmux; nothing if there is nothing to see.
fn attach_text(context: &Context, outcomes: &[Outcome]) -> String {
    let lives = |status| matches!(status, OutcomeStatus::Restored | OutcomeStatus::Manual | OutcomeStatus::Reattached);
    let there: Vec<&Outcome> = outcomes.iter().filter(|outcome| lives(outcome.status)).collect();
    let server = context.server.attach_options();
    match there.as_slice() {
        [] => String::new(),
        [only] => format!("attach: tmux {server}attach -t {}\n", shown(&shell_word(&format!("={}", only.session)))),
        _ => format!("attach: tmux {server}attach\n"),
    }
}

/// What a restore of more than a second shows on standard error: one line redrawn on a terminal, plain lines in a pipe.
struct ProgressLine {
    began: Instant,
    terminal: bool,
    drawn: bool,
    last: Option<(Instant, String)>,
}

impl ProgressLine {
    fn new() -> Self {
        Self { began: Instant::now(), terminal: std::io::stderr().is_terminal(), drawn: false, last: None }
    }

    fn show(&mut self, progress: Progress) {
        let pause = Duration::from_millis(if self.terminal { 100 } else { 1000 });
        let text = format!("sidecar: {progress}");
        if self.began.elapsed() < Duration::from_secs(1)
            || self.last.as_ref().is_some_and(|(at, said)| at.elapsed() < pause || *said == text)
        {
            return;
        }
        let mut err = std::io::stderr().lock();
        let _ = if self.terminal { write!(err, "\r{text}\x1b[K") } else { writeln!(err, "{text}") };
        self.drawn = self.terminal;
        self.last = Some((Instant::now(), text));
    }

    fn clear(&self) {
        if self.drawn {
            let _ = write!(std::io::stderr(), "\r\x1b[K");
        }
    }
}
