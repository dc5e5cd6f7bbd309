//! `sidecar shell …`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use serde_json::{Value, json};

use super::Context;
use super::args::ListArgs;
use super::output::{age, directory, pad, print, print_json, told_apart, widest};
use crate::error::{Error, Exit, Result};
use crate::model::{Action, NoTarget, Shell, Tombstone, count, find_shell};
use crate::record::{expires_at, now, project_of};
use crate::restore::situation;

/// The ids of the shells that these targets name.
pub(super) fn resolve(context: &Context, targets: &[String]) -> Result<Vec<String>> {
    let loaded = context.store.load()?;
    let forgotten: Vec<Shell> = loaded.state.tombstones.iter().map(|tombstone| tombstone.shell.clone()).collect();
    let found = targets.iter().map(|target| match find_shell(&loaded.state.shells, target) {
        Ok(shell) => Ok(shell.id.clone()),
        // What was forgotten is named only where nothing else is.
        Err(why @ NoTarget::Unknown(_)) => {
            find_shell(&forgotten, target).map(|shell| shell.id.clone()).map_err(|_| no_target(target, &why, context))
        }
        Err(why) => Err(no_target(target, &why, context)),
    });
    found.collect()
}

fn no_target(target: &str, why: &NoTarget, context: &Context) -> Error {
    let error = match why {
        NoTarget::Several(shells) => {
            let candidates: Vec<String> =
                shells.iter().map(|shell| format!("{} ('{}' in {})", shell.id, shell.session, shell.work_dir.display())).collect();
            Error::failed("ambiguous_target", format!("{} shells are named '{target}': {}", shells.len(), candidates.join(", ")))
                .hint("give the id of the one that is meant")
        }
        NoTarget::Unknown(near) => {
            let near = near.map(|near| format!("did you mean '{near}'? ")).unwrap_or_default();
            Error::failed("no_such_shell", format!("no shell named '{target}' on the server '{}'", context.server.display_name()))
                .hint(format!("{near}`sidecar shell list --all` shows them"))
        }
    };
    error.exit(Exit::NoTarget)
}

/// A row of the list.
struct Listed<'a> {
    shell: &'a Shell,
    status: &'static str,
    reason: String,
    tombstone: Option<&'a Tombstone>,
    expires: Option<u64>,
}

pub(super) fn list(context: &Context, options: &ListArgs) -> Result<ExitCode> {
    let situation = situation(&context.server, &context.store, &context.config)?;
    let plan = situation.plan();
    let place = if options.all { None } else { Some(place_of(options.project.as_deref())?) };
    let belongs = |shell: &Shell| place.as_ref().is_none_or(|place| belongs(shell, place));
    let mut rows: Vec<Listed> = Vec::new();
    for step in &plan.steps {
        let Some(shell) = situation.state.shells.iter().find(|shell| shell.id == step.shell && belongs(shell)) else { continue };
        let status = if step.action == Action::Reattach { "live" } else { "restorable" };
        rows.push(Listed { shell, status, reason: step.reason.to_owned(), tombstone: None, expires: None });
    }
    rows.sort_by_key(|row| row.status != "live");
    let mut tombstones: Vec<&Tombstone> = situation.state.tombstones.iter().filter(|tombstone| belongs(&tombstone.shell)).collect();
    tombstones.sort_by_key(|tombstone| std::cmp::Reverse(tombstone.deleted_at));
    for tombstone in tombstones {
        let expires = expires_at(tombstone, context.config.retention);
        rows.push(Listed {
            shell: &tombstone.shell,
            status: "forgotten",
            reason: tombstone.reason.word().to_owned(),
            tombstone: Some(tombstone),
            expires,
        });
    }
    if options.json {
        let document = json!({ "schemaVersion": 1, "shells": rows.iter().map(row_json).collect::<Vec<_>>() });
        print_json(&document);
    } else {
        print(&text(&rows, place.as_deref()));
    }
    Ok(ExitCode::SUCCESS)
}

/// The current project: the git checkout that the directory lies in, else the directory.
fn place_of(dir: Option<&Path>) -> Result<PathBuf> {
    let dir = match dir {
        Some(dir) => fs_err::canonicalize(dir).map_err(|error| {
            Error::failed("no_such_directory", format!("cannot list the shells of a project: {error}")).exit(Exit::Usage)
        })?,
        None => std::env::current_dir().map_err(|error| {
            Error::failed("no_directory", format!("cannot tell the current project: this process's directory is gone ({error})"))
                .hint("--all lists the shells of every project")
        })?,
    };
    let (project, worktree) = project_of(&dir);
    Ok(worktree.or(project).map_or(dir, |top| top.as_path().to_owned()))
}

fn belongs(shell: &Shell, place: &Path) -> bool {
    let inside = |dir: &Path| dir.starts_with(place);
    let of_project = shell.project.as_ref().is_some_and(|project| project.as_path() == place);
    of_project || inside(shell.work_dir.as_path()) || shell.panes().any(|pane| inside(pane.dir.as_path()))
}

fn row_json(row: &Listed) -> Value {
    json!({
        "shell": row.shell.id,
        "session": row.shell.session,
        "name": row.shell.name,
        "project": row.shell.project.as_ref().map(|project| project.display().into_owned()),
        "workDir": row.shell.work_dir.display(),
        "status": row.status,
        "policy": row.shell.policy.word(),
        "deletedAt": row.tombstone.map(|tombstone| tombstone.deleted_at),
        "expiresAt": row.expires,
        "reason": row.reason,
        "agents": [],
    })
}

fn text(rows: &[Listed], place: Option<&Path>) -> String {
    if rows.is_empty() {
        return match place {
            Some(place) => format!(
                "No shells in {}. `sidecar shell list --all` shows those of every project.\n",
                directory(&place.display().to_string())
            ),
            None => "No shells are recorded.\n".to_owned(),
        };
    }
    let now = now();
    let names: Vec<&str> = rows.iter().map(|row| row.shell.name.as_str()).collect();
    let cells: Vec<[String; 4]> = rows
        .iter()
        .map(|row| {
            let last = match (row.tombstone, row.expires) {
                (Some(tombstone), Some(expires)) => {
                    format!(
                        "{} {} ago, kept for {} more",
                        row.reason,
                        age(tombstone.deleted_at, now),
                        age(now, expires.saturating_add(30 * 60_000))
                    )
                }
                (Some(tombstone), None) => format!("{} {} ago, kept for ever", row.reason, age(tombstone.deleted_at, now)),
                _ => format!("{}, {}", count(row.shell.windows.len(), "window"), count(row.shell.panes().count(), "pane")),
            };
            [told_apart(&row.shell.name, &row.shell.id, &names), row.status.to_owned(), directory(&row.shell.work_dir.display()), last]
        })
        .collect();
    let widths = [0, 1, 2].map(|column| widest(cells.iter().map(|row| row[column].as_str())));
    cells
        .iter()
        .map(|row| format!("{}   {}   {}   {}\n", pad(&row[0], widths[0]), pad(&row[1], widths[1]), pad(&row[2], widths[2]), row[3]))
        .collect()
}
