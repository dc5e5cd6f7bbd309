//! `sidecar import`.

use std::path::Path;
use std::process::ExitCode;

use serde_json::{Value, json};

use super::args::{ImportCommand, ResurrectArgs};
use super::output::{directory, for_this_server, local_time, print, print_json, print_notices, shown, table};
use super::{Context, own_path};
use crate::error::Result;
use crate::import::{Candidate, Fate};
use crate::model::count;
use crate::record::now;
use crate::shells::{Import, SaveFile};

/// How many of the lines that could not be read are told to people.
const PROBLEMS_TOLD: usize = 20;

pub(super) fn run(context: &Context, command: &ImportCommand) -> Result<ExitCode> {
    let ImportCommand::Resurrect(options) = command;
    if options.list {
        let saves = context.shells().saves()?;
        if options.json {
            print_json(&json!({ "schemaVersion": 1, "saves": saves.iter().map(save_json).collect::<Vec<_>>() }));
        } else {
            print(&saves_text(&saves));
        }
        return Ok(ExitCode::SUCCESS);
    }
    let import = context.shells().import(options.file.as_deref(), options.dry_run)?;
    if let (false, Ok(helper)) = (options.dry_run, own_path()) {
        context.plugin(&helper).refresh();
    }
    if options.json {
        print_json(&import_json(&import, options));
    } else {
        print_notices(&import.notices);
        print(&import_text(&import, options.dry_run));
    }
    Ok(ExitCode::SUCCESS)
}

fn import_json(import: &Import, options: &ResurrectArgs) -> Value {
    let shells: Vec<Value> = import.candidates.iter().map(|candidate| candidate_json(candidate, options.dry_run)).collect();
    let problems = import.problems.iter().map(|problem| json!({ "line": problem.line, "message": problem.message }));
    json!({
        "schemaVersion": 1,
        "dryRun": options.dry_run,
        "file": import.file.display().to_string(),
        "notices": import.notices,
        "shells": shells,
        "problems": problems.collect::<Vec<_>>(),
    })
}

fn candidate_json(candidate: &Candidate, dry_run: bool) -> Value {
    let shell = &candidate.draft.shell;
    let (status, reason) = match candidate.fate {
        Fate::Imported => ("imported", "imported"),
        Fate::Skipped(reason) => ("skipped", reason.word()),
    };
    json!({
        // Its id is found when it is made.
        "shell": (candidate.fate == Fate::Imported && !dry_run).then_some(&shell.id),
        "session": shell.session,
        "status": status,
        "reason": reason,
        "detail": for_this_server(&candidate.detail),
        "windows": shell.windows.len(),
        "panes": candidate.draft.panes,
    })
}

fn import_text(import: &Import, dry_run: bool) -> String {
    let would = if dry_run { "would be " } else { "" };
    let cells: Vec<[String; 4]> = import
        .candidates
        .iter()
        .map(|candidate| {
            let shell = &candidate.draft.shell;
            let became = match candidate.fate {
                Fate::Imported => format!("{would}imported"),
                Fate::Skipped(_) => format!("skipped: {}", shown(&for_this_server(&candidate.detail))),
            };
            [shown(&shell.session), count(shell.windows.len(), "window"), count(candidate.draft.panes, "pane"), became]
        })
        .collect();
    let mut out = table(cells);
    for problem in import.problems.iter().take(PROBLEMS_TOLD) {
        out.push_str(&format!("line {}: {}\n", problem.line, shown(&problem.message)));
    }
    if let Some(more) = import.problems.len().checked_sub(PROBLEMS_TOLD).filter(|&more| more > 0) {
        out.push_str(&format!("… and {more} more; --json shows them\n"));
    }
    let imported = import.candidates.iter().filter(|candidate| candidate.fate == Fate::Imported).count();
    let way = if imported > 0 && !dry_run { ": `sidecar session restore` brings them back" } else { "" };
    let of = count(import.candidates.len(), "session");
    out.push_str(&format!("{imported} of {of} {would}imported from {}{}\n", file(&import.file), for_this_server(way)));
    out
}

fn save_json(save: &SaveFile) -> Value {
    let held = save.held.as_ref().ok();
    json!({
        "file": save.path.display().to_string(),
        "savedAt": save.at,
        "last": save.is_last,
        "sessions": held.map(|held| held.sessions),
        "panes": held.map(|held| held.panes),
        "problem": save.held.as_ref().err(),
    })
}

fn saves_text(saves: &[SaveFile]) -> String {
    let now = now();
    let cells: Vec<[String; 4]> = saves
        .iter()
        .map(|save| {
            let (sessions, panes) = match &save.held {
                Ok(held) => (count(held.sessions, "session"), count(held.panes, "pane")),
                Err(why) => (shown(why), String::new()),
            };
            let last = if save.is_last { " (the last one)" } else { "" };
            [local_time(save.at, now), sessions, panes, format!("{}{last}", file(&save.path))]
        })
        .collect();
    table(cells)
}

fn file(path: &Path) -> String {
    directory(&path.display().to_string())
}
