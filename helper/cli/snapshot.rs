//! `sidecar snapshot …`.

use std::process::ExitCode;

use serde_json::{Value, json};

use super::Context;
use super::args::{SaveArgs, SnapshotCommand};
use super::output::{
    age, alike, columns, directory, error_json, for_this_server, local_time, print, print_error, print_json, print_notices, shown, table,
    told_apart,
};
use crate::agents::catalog::Catalog;
use crate::error::{Exit, Result};
use crate::model::{Binding, Pane, RawText, Shell, Snapshot, State, count};
use crate::record::now;
use crate::snapshots::{Listed, Saved, conversations, save_all};
use crate::store::Config;

pub(super) fn run(command: &SnapshotCommand, context: impl FnOnce() -> Result<Context>) -> Result<ExitCode> {
    match command {
        SnapshotCommand::Save(options) if options.all_servers => save_of_all(options),
        SnapshotCommand::Save(options) => {
            let saved = context()?.snapshots().save(options.harvest)?;
            if options.json {
                let mut document = saved_json(&saved);
                document["schemaVersion"] = 1.into();
                print_json(&document);
            } else {
                print_notices(&saved.notices);
                print(&format!("{}\n", saved_text(&saved)));
            }
            Ok(ExitCode::SUCCESS)
        }
        SnapshotCommand::List { json } => {
            let listed = context()?.snapshots().list();
            if *json {
                print_json(&json!({ "schemaVersion": 1, "snapshots": listed.iter().map(listed_json).collect::<Vec<_>>() }));
            } else {
                print(&list_text(&listed));
            }
            Ok(ExitCode::SUCCESS)
        }
        SnapshotCommand::Show { name, json } => {
            let context = context()?;
            let snapshot = context.store.snapshot(name)?;
            if *json {
                print_json(&show_json(name, &snapshot));
            } else {
                print(&show_text(name, &snapshot, &context.config));
            }
            Ok(ExitCode::SUCCESS)
        }
        SnapshotCommand::Timer { command } => super::snapshot_timer::run(command, &context()?),
        SnapshotCommand::Prune { json } => {
            let context = context()?;
            let removed = context.snapshots().prune()?;
            let kept = context.store.snapshots().len();
            if *json {
                print_json(&json!({ "schemaVersion": 1, "removed": removed, "kept": kept }));
            } else {
                print(&format!("{} given up, {kept} kept\n", count(removed.len(), "snapshot")));
            }
            Ok(ExitCode::SUCCESS)
        }
    }
}

fn save_of_all(options: &SaveArgs) -> Result<ExitCode> {
    let saved = save_all(&Config::read(), options.harvest)?;
    let failed = saved.iter().any(|(_, saved)| saved.is_err());
    if options.json {
        let row = |(server, saved): &(String, Result<Saved>)| {
            let mut row = match saved {
                Ok(saved) => saved_json(saved),
                Err(error) => json!({ "error": error_json(error) }),
            };
            row["server"] = server.as_str().into();
            row
        };
        print_json(&json!({ "schemaVersion": 1, "servers": saved.iter().map(row).collect::<Vec<_>>() }));
    } else {
        if saved.is_empty() {
            print("no recorded tmux server runs\n");
        }
        for (server, saved) in &saved {
            match saved {
                Ok(saved) => print(&format!("{}: {}\n", shown(server), saved_text(saved))),
                Err(error) => print_error(error, false),
            }
        }
    }
    Ok(if failed { Exit::Failed.into() } else { ExitCode::SUCCESS })
}

fn saved_json(saved: &Saved) -> Value {
    json!({
        "saved": saved.name.is_some(),
        "name": saved.name,
        "detail": saved.said,
        "harvested": saved.harvested,
        "removed": saved.removed,
        "notices": saved.notices,
    })
}

fn saved_text(saved: &Saved) -> String {
    let mut said = shown(&saved.said);
    if !saved.harvested.is_empty() {
        said.push_str(&format!(", {} of them by what the screen shows", saved.harvested.len()));
    }
    if !saved.removed.is_empty() {
        said.push_str(&format!("; {} given up", count(saved.removed.len(), "older snapshot")));
    }
    said
}

fn sizes(state: &State) -> (usize, usize, usize, usize) {
    let windows = state.shells.iter().flat_map(Shell::own_windows).count();
    (state.shells.len(), windows, state.shells.iter().flat_map(Shell::panes).count(), conversations(state).count())
}

fn listed_json(listed: &Listed) -> Value {
    match &listed.content {
        Ok(snapshot) => {
            let (shells, windows, panes, agents) = sizes(&snapshot.state);
            json!({ "name": listed.name, "at": snapshot.at, "shells": shells, "windows": windows, "panes": panes, "conversations": agents })
        }
        Err(error) => json!({ "name": listed.name, "error": error.message }),
    }
}

fn list_text(listed: &[Listed]) -> String {
    if listed.is_empty() {
        return for_this_server("No snapshots: `sidecar snapshot save` makes one.\n");
    }
    let row = |one: &Listed| match &one.content {
        Ok(snapshot) => {
            let (shells, _, panes, agents) = sizes(&snapshot.state);
            let when = format!("{} ({} ago)", local_time(snapshot.at, now()), age(snapshot.at, now()));
            let what = format!("{}, {}, {}", count(shells, "shell"), count(panes, "pane"), count(agents, "conversation"));
            [one.name.clone(), when, what]
        }
        Err(error) => [one.name.clone(), "not readable".to_owned(), shown(&error.message)],
    };
    table(listed.iter().map(row).collect())
}

fn show_json(name: &str, snapshot: &Snapshot) -> Value {
    let agent = |place: String, pane: &str, agent: &Binding, running: bool| {
        json!({
            "pane": pane,
            "place": place,
            "kind": agent.kind,
            "id": Some(&agent.id).filter(|id| !id.is_empty()),
            "flags": agent.flags.as_ref().map(|flags| flags.iter().map(RawText::display).collect::<Vec<_>>()),
            "workDir": agent.dir.as_ref().map(RawText::display),
            "source": agent.source,
            "ended": agent.ended,
            "unknownButRunning": running,
        })
    };
    let panes_of = snapshot.state.pane_count();
    let shells: Vec<Value> = by_name(snapshot)
        .into_iter()
        .map(|shell| {
            let agents: Vec<Value> =
                agents_of(shell, snapshot).map(|(place, pane, binding, running)| agent(place, &pane.id, binding, running)).collect();
            json!({
                "shell": shell.id,
                "session": shell.session,
                "name": shell.name,
                "project": shell.project.as_ref().map(RawText::display),
                "workDir": shell.work_dir.display(),
                "policy": shell.policy.word(),
                "windows": shell.windows.len(),
                "panes": panes_of(shell),
                "agents": agents,
            })
        })
        .collect();
    json!({ "schemaVersion": 1, "name": name, "at": snapshot.at, "shells": shells })
}

/// The shells in the order in which a plan shows them.
fn by_name(snapshot: &Snapshot) -> Vec<&Shell> {
    let mut shells: Vec<&Shell> = snapshot.state.shells.iter().collect();
    shells.sort_by(|a, b| (&a.project, &a.name, &a.id).cmp(&(&b.project, &b.name, &b.id)));
    shells
}

/// The agents of a shell, each with its place, and whether it ran without its conversation being known.
fn agents_of<'a>(shell: &'a Shell, snapshot: &'a Snapshot) -> impl Iterator<Item = (String, &'a Pane, &'a Binding, bool)> {
    let panes =
        shell.own_windows().flat_map(|window| window.panes.iter().map(move |pane| (format!("{}.{}", window.index, pane.index), pane)));
    panes.flat_map(move |(place, pane)| {
        let running = snapshot.running.iter().filter(|running| running.pane == pane.id).map(|running| (&running.agent, true));
        let bound = pane.agent.iter().map(|agent| (agent, false));
        let place = format!("{}:{place}", shell.name);
        bound.chain(running).map(move |(agent, running)| (place.clone(), pane, agent, running))
    })
}

fn show_text(name: &str, snapshot: &Snapshot, config: &Config) -> String {
    let (catalog, _) = Catalog::with(&config.agents);
    let mut out = format!("{name} · {} ({} ago)\n\n", local_time(snapshot.at, now()), age(snapshot.at, now()));
    let (shells, panes_of) = (by_name(snapshot), snapshot.state.pane_count());
    let alike = alike(shells.iter().map(|shell| shell.name.as_str()));
    let cells = |&shell: &&Shell| {
        let size = format!("{}, {}", count(shell.windows.len(), "window"), count(panes_of(shell), "pane"));
        [told_apart(&shell.name, &shell.id, &alike), directory(&shell.work_dir.display()), size]
    };
    for (&shell, cells) in shells.iter().zip(columns(shells.iter().map(cells).collect())) {
        out.push_str(&format!("  {}\n", cells.join("   ")));
        for (place, _, agent, running) in agents_of(shell, snapshot) {
            let title = catalog.get(&agent.kind).map_or(agent.kind.as_str(), |known| known.title.as_str());
            let what = match (running, &agent.ended) {
                (true, _) => "its conversation was not known".to_owned(),
                (false, Some(_)) => format!("{} · had ended", agent.id),
                (false, None) => agent.id.clone(),
            };
            out.push_str(&format!("    {}   {} · {}\n", shown(&place), shown(title), shown(&what)));
        }
    }
    let restore = for_this_server("sidecar session restore ");
    out.push_str(&format!("\n  what is missing of it comes back with: {restore}--as-of {name}\n"));
    out
}
