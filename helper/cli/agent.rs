//! `sidecar agent …`.

use std::io::Read;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use serde_json::{Value, json};

use super::args::{AgentCommand, ChangeArgs, IntegrationCommand};
use super::output::{colours, columns, directory, error_json, paint, print, print_error, print_json, shown, table};
use super::{Context, agent_answer, agent_status, own_path};
use crate::agents::catalog::{Agent, Catalog};
use crate::agents::integration::{Edit, Integration, State, Status, TRUST_HINT, carry_out};
use crate::error::{Error, Exit, Result};
use crate::record;
use crate::store::Config;

/// A report is a few hundred bytes, and a prompt; what is longer is not read.
const LONGEST_REPORT: u64 = 1024 * 1024;

/// The second in which a report ends, less what the process itself takes.
const REPORT_LIMIT: Duration = Duration::from_millis(900);

pub(super) fn run(command: &AgentCommand, context: impl FnOnce() -> Result<Context>) -> Result<ExitCode> {
    match command {
        AgentCommand::ReportSession { kind, .. } => {
            report_session(kind);
            Ok(ExitCode::SUCCESS)
        }
        AgentCommand::Integration { command } => integration(command),
        AgentCommand::Resume { pane } => super::pane::resume(context(), pane),
        AgentCommand::Answer(options) => agent_answer::answer(&context()?, options),
        AgentCommand::Status { json } => agent_status::status(&context()?, *json),
    }
}

/// The agent waits for it: it ends within its second, wherever it is by then. Every write of a record is whole or not at all.
fn report_session(kind: &str) {
    let (done, ended) = std::sync::mpsc::channel::<()>();
    let kind = kind.to_owned();
    std::thread::spawn(move || {
        let mut text = Vec::new();
        // What an agent writes beyond that breaks its pipe, which costs it nothing.
        let _ = std::io::stdin().lock().take(LONGEST_REPORT).read_to_end(&mut text);
        record::report(&kind, &text, &Config::read());
        drop(done);
    });
    let _ = ended.recv_timeout(REPORT_LIMIT);
}

fn integration(command: &IntegrationCommand) -> Result<ExitCode> {
    let config = Config::read();
    let (catalog, warnings) = Catalog::with(&config.agents);
    for warning in config.warnings.iter().chain(&warnings) {
        eprintln!("warning: {}", shown(warning));
    }
    match command {
        IntegrationCommand::List { json } => Ok(list(&catalog, *json)),
        IntegrationCommand::Status { kind, json } => status(&catalog, kind.as_deref(), *json),
        IntegrationCommand::Install { change, trust, titles } => install(&catalog, change, *trust, *titles),
        IntegrationCommand::Uninstall(change) => {
            let all = chosen(&catalog, change.kind.as_deref())?;
            Ok(change_all(&all, change, "uninstalled", &|one| one.uninstall(), &|_, _| Ok(String::new())))
        }
        IntegrationCommand::Repair(change) => {
            let (all, helper) = (chosen(&catalog, change.kind.as_deref())?, own_path()?);
            Ok(change_all(&all, change, "repaired", &|one| one.repair(&helper), &|one, new| Ok(next_step(one, &helper, new))))
        }
    }
}

fn list(catalog: &Catalog, json: bool) -> ExitCode {
    let rows: Vec<(&Agent, Option<PathBuf>, bool)> =
        catalog.agents().iter().map(|agent| (agent, program(agent), Integration::exists(agent))).collect();
    if json {
        let agents: Vec<Value> = rows
            .iter()
            .map(|(agent, program, exists)| json!({ "kind": agent.kind, "title": agent.title, "program": program, "integration": exists }))
            .collect();
        print_json(&json!({ "schemaVersion": 1, "agents": agents }));
        return ExitCode::SUCCESS;
    }
    let rows = rows.iter().map(|(agent, program, exists)| {
        let program = program.as_ref().map_or("not found".to_owned(), |path| directory(&path.display().to_string()));
        [shown(&agent.kind), shown(&agent.title), program, if *exists { "integration" } else { "no integration" }.to_owned()]
    });
    print(&table(rows.collect()));
    ExitCode::SUCCESS
}

fn status(catalog: &Catalog, kind: Option<&str>, json: bool) -> Result<ExitCode> {
    let helper = own_path()?;
    let all = chosen(catalog, kind)?;
    let rows: Vec<(&Integration, Option<PathBuf>, Status)> = all
        .iter()
        .map(|one| {
            let program = program(one.agent);
            let status = one.status(&helper, program.as_deref());
            (one, program, status)
        })
        .collect();
    if json {
        let rows: Vec<Value> = rows
            .iter()
            .map(|(one, program, status)| {
                json!({
                    "kind": one.agent.kind,
                    "title": one.agent.title,
                    "program": program,
                    "state": status.state.word(),
                    "file": status.file,
                    "detail": status.detail,
                    "hint": status.hint,
                })
            })
            .collect();
        print_json(&json!({ "schemaVersion": 1, "integrations": rows }));
        return Ok(ExitCode::SUCCESS);
    }
    let cells = |(one, _, status): &(&Integration, Option<PathBuf>, Status)| {
        let state = status.state.word().replace('_', " ");
        [shown(&one.agent.title), state, directory(&status.file.display().to_string())]
    };
    for ([title, state, file], (_, program, status)) in columns(rows.iter().map(cells).collect()).into_iter().zip(&rows) {
        let colour = if matches!(status.state, State::Installed) { "32" } else { "33" };
        let mut out = format!("{title}   {}   {file}\n", paint(&state, colour, colours()));
        if !status.detail.is_empty() {
            out.push_str(&format!("    {}\n", shown(&status.detail)));
        }
        if status.state == State::NotInstalled && program.is_none() {
            out.push_str("    its program is not on PATH\n");
        } else if !status.hint.is_empty() {
            out.push_str(&format!("    to do: {}\n", shown(&status.hint)));
        }
        print(&out);
    }
    Ok(ExitCode::SUCCESS)
}

fn install(catalog: &Catalog, change: &ChangeArgs, trust: bool, titles: bool) -> Result<ExitCode> {
    for (asked, name) in [(trust, "--trust"), (titles, "--titles")] {
        if asked && change.kind.as_deref().is_some_and(|kind| kind != "codex") {
            return Err(Error::failed("usage", format!("{name} is for codex alone")).exit(Exit::Usage));
        }
    }
    let mut all = chosen(catalog, change.kind.as_deref())?;
    if change.kind.is_none() {
        all.retain(|one| program(one.agent).is_some());
        if all.is_empty() {
            return Err(Error::failed("no_agent", "no agent that there is an integration for is on PATH")
                .exit(Exit::NoTarget)
                .hint("name the one that is meant; `sidecar agent integration list` shows them"));
        }
    }
    let helper = own_path()?;
    let after = |one: &Integration, new: bool| {
        if !(trust && one.wants_trust()) {
            return Ok(next_step(one, &helper, new));
        }
        if change.dry_run {
            return Ok("Codex would be asked to trust the hook".to_owned());
        }
        one.trust(program(one.agent).as_deref(), &helper)?;
        Ok("Codex trusts the hook".to_owned())
    };
    Ok(change_all(&all, change, "installed", &|one| one.install(&helper, titles && one.has_titles()), &after))
}

/// What the user has to do for a new hook to work.
fn next_step(one: &Integration, helper: &str, new: bool) -> String {
    let status = one.status(helper, None);
    match status.state {
        State::Disabled => format!("{}: {}", status.detail, status.hint),
        _ if new && one.wants_trust() => TRUST_HINT.to_owned(),
        _ => String::new(),
    }
}

/// What was done for one agent.
struct Done {
    edits: Vec<Edit>,
    said: String,
    error: Option<Error>,
}

/// Plans or carries out a change for each agent, and shows it; one that fails does not keep the others from theirs. `after` is asked
/// what else is to be done or said, and told whether the hook is a new one.
fn change_all(
    all: &[Integration],
    change: &ChangeArgs,
    verb: &str,
    plan: &dyn Fn(&Integration) -> Result<Vec<Edit>>,
    after: &dyn Fn(&Integration, bool) -> Result<String>,
) -> ExitCode {
    let mut rows = Vec::new();
    for one in all {
        let edits = if change.dry_run { plan(one) } else { carry_out(|| plan(one)) };
        let mut done = Done { edits: Vec::new(), said: String::new(), error: None };
        match edits.map(|edits| done.edits = edits).and_then(|()| after(one, done.edits.iter().any(Edit::has_new_hook))) {
            Ok(said) => done.said = said,
            Err(error) => done.error = Some(error),
        }
        rows.push((one, done));
    }
    if change.json {
        let rows: Vec<Value> = rows.iter().map(|(one, done)| done_json(one, done)).collect();
        print_json(&json!({ "schemaVersion": 1, "dryRun": change.dry_run, "integrations": rows }));
    } else {
        for (one, done) in &rows {
            print(&done_text(one, done, verb, change.dry_run));
            if let Some(error) = &done.error {
                print_error(error, false);
            }
        }
    }
    // 1 outranks 5.
    let exits = rows.iter().filter_map(|(_, done)| done.error.as_ref()).map(|error| error.exit);
    exits.min_by_key(|exit| *exit as u8).map_or(ExitCode::SUCCESS, ExitCode::from)
}

fn done_json(one: &Integration, done: &Done) -> Value {
    let files = done.edits.iter().map(|edit| {
        let change = what(edit);
        json!({ "path": edit.path(), "change": change, "copy": edit.copy(), "diff": diff(edit) })
    });
    json!({
        "kind": one.agent.kind,
        "changed": !done.edits.is_empty(),
        "files": files.collect::<Vec<_>>(),
        "detail": done.said,
        "error": done.error.as_ref().map(error_json),
    })
}

fn done_text(one: &Integration, done: &Done, verb: &str, dry_run: bool) -> String {
    let title = shown(&one.agent.title);
    if done.error.is_some() && done.edits.is_empty() {
        return String::new();
    }
    let mut out = match (done.edits.is_empty(), dry_run) {
        (true, _) => format!("{title}: nothing to change\n"),
        (false, true) => format!("{title}: would be {verb}\n"),
        (false, false) => format!("{title}: {verb}\n"),
    };
    for edit in &done.edits {
        out.push_str(&format!("  {} {}\n", what(edit), directory(&edit.path().display().to_string())));
        if let Some(copy) = edit.copy() {
            out.push_str(&format!("  its copy from before: {}\n", directory(&copy.display().to_string())));
        }
        if dry_run {
            out.extend(diff(edit).lines().map(|line| format!("{}\n", shown(line))));
        }
    }
    if !done.said.is_empty() {
        out.push_str(&format!("  {}\n", shown(&done.said)));
    }
    out
}

fn what(edit: &Edit) -> &'static str {
    match (edit.before(), edit.after()) {
        (None, _) => "new",
        (_, None) => "removed",
        _ => "changed",
    }
}

fn diff(edit: &Edit) -> String {
    let path = edit.path().display().to_string();
    let name = |text: Option<&str>| if text.is_some() { path.clone() } else { "/dev/null".to_owned() };
    similar::TextDiff::from_lines(edit.before().unwrap_or_default(), edit.after().unwrap_or_default())
        .unified_diff()
        .header(&name(edit.before()), &name(edit.after()))
        .to_string()
}

/// The integrations that are meant.
fn chosen<'a>(catalog: &'a Catalog, kind: Option<&str>) -> Result<Vec<Integration<'a>>> {
    let Some(kind) = kind else { return Integration::all(catalog) };
    let Some(agent) = catalog.get(kind) else {
        let kinds: Vec<&str> = catalog.agents().iter().map(|agent| agent.kind.as_str()).collect();
        return Err(Error::failed("no_such_agent", format!("no agent is known as '{kind}'"))
            .exit(Exit::NoTarget)
            .hint(format!("these are: {}", kinds.join(", "))));
    };
    match Integration::of(agent)? {
        Some(one) => Ok(vec![one]),
        None => Err(Error::failed("no_integration", format!("there is no integration for {}", agent.title))
            .exit(Exit::NoTarget)
            .hint("`sidecar agent integration list` shows for which there is one")),
    }
}

/// Where the agent's program is.
pub(super) fn program(agent: &Agent) -> Option<PathBuf> {
    agent.programs.iter().find_map(|name| which::which(name).ok())
}
