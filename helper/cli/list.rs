//! `sidecar shell list`.

use std::path::PathBuf;
use std::process::ExitCode;

use serde_json::{Value, json};

use super::Context;
use super::args::ListArgs;
use super::output::{age, alike, directory, for_this_server, left, print, print_json, print_notices, shown, table, told_apart};
use super::shell::shell_json;
use crate::error::{Error, Result};
use crate::model::{EpochMs, Policy, count};
use crate::record::now;
use crate::shells::{AgentRow, Row, Status};

pub(super) fn list(context: &Context, options: &ListArgs) -> Result<ExitCode> {
    let dir = match (&options.project, options.all) {
        (_, true) => None,
        (Some(dir), _) => Some(dir.clone()),
        (None, _) => Some(current_dir()?),
    };
    let listing = context.shells().list(dir.as_deref())?;
    if options.json {
        let rows: Vec<Value> = listing.rows.iter().map(row_json).collect();
        print_json(&json!({ "schemaVersion": 1, "notices": listing.notices, "shells": rows }));
    } else {
        print_notices(&listing.notices);
        print(&text(&listing.rows, dir));
    }
    Ok(ExitCode::SUCCESS)
}

fn current_dir() -> Result<PathBuf> {
    std::env::current_dir().map_err(|error| {
        Error::failed("no_directory", format!("cannot tell the current project: this process's directory is gone ({error})"))
            .hint("--all lists the shells of every project")
    })
}

fn row_json(row: &Row) -> Value {
    let mut fields = shell_json(&row.shell, row.status);
    fields.insert("reason".into(), row.reason.clone().into());
    fields.insert("deletedAt".into(), row.deleted_at.into());
    fields.insert("expiresAt".into(), row.expires_at.into());
    fields.insert("running".into(), row.running.into());
    let agent = |agent: &AgentRow| json!({ "pane": agent.pane, "kind": agent.kind, "state": agent.state.word() });
    fields.insert("agents".into(), row.agents.iter().map(agent).collect());
    Value::Object(fields)
}

fn text(rows: &[Row], dir: Option<PathBuf>) -> String {
    if rows.is_empty() {
        return match dir {
            Some(dir) => for_this_server(&format!(
                "No shells in {}. `sidecar shell list --all` shows those of every project.\n",
                directory(&dir.display().to_string())
            )),
            None => "No shells are recorded.\n".to_owned(),
        };
    }
    let now = now();
    let alike = alike(rows.iter().map(|row| row.shell.name.as_str()));
    let cells: Vec<[String; 4]> = rows
        .iter()
        .map(|row| {
            let name = told_apart(&row.shell.name, &row.shell.id, &alike);
            [name, row.status.word().to_owned(), directory(&row.shell.work_dir.display()), last_column(row, now)]
        })
        .collect();
    table(cells)
}

fn last_column(row: &Row, now: EpochMs) -> String {
    let mut said = match (row.status, row.deleted_at) {
        (Status::Forgotten, Some(at)) => {
            let kept = match row.expires_at {
                Some(expires) => format!("kept for {} more", left(now, expires)),
                None if row.running => "still running".to_owned(),
                None => "kept for ever".to_owned(),
            };
            format!("{} {} ago, {kept}", row.reason, age(at, now))
        }
        _ => format!("{}, {}", count(row.shell.windows.len(), "window"), count(row.panes, "pane")),
    };
    // That its policy is never is said below.
    if let Some(note) = row.note.as_ref().filter(|_| row.reason != "policy_never") {
        said.push_str(&format!("; {}", shown(note)));
    }
    for agent in &row.agents {
        said.push_str(&format!("; {} {}", shown(&agent.title), agent.state.word().replace('_', " ")));
    }
    if row.shell.policy != Policy::Inherit {
        said.push_str(&format!("; policy {}", row.shell.policy.word()));
    }
    said
}
