//! `sidecar shell …`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use serde_json::{Value, json};

use super::Context;
use super::args::ListArgs;
use super::output::{age, count, directory, pad, print, shown, widest};
use crate::error::{Error, Exit, Result};
use crate::model::{Action, Shell, Tombstone};
use crate::record::{expires_at, now, project_of};
use crate::restore::situation;

/// The ids of the shells that these targets name, each exactly: an id, a session name, a display name, or the session name
/// that the shell was made with.
pub(super) fn resolve(context: &Context, targets: &[String]) -> Result<Vec<String>> {
    let loaded = context.store.load()?;
    targets.iter().map(|target| resolve_one(&loaded.state.shells, target, context)).collect()
}

fn resolve_one(shells: &[Shell], target: &str, context: &Context) -> Result<String> {
    if let Some(shell) = shells.iter().find(|shell| shell.id == target) {
        return Ok(shell.id.clone());
    }
    // What a shell is called now comes before what one was made as.
    for fits in [
        (|shell: &Shell, target: &str| shell.session == target || shell.seen_as.as_deref() == Some(target) || shell.name == target)
            as fn(&Shell, &str) -> bool,
        |shell, target| shell.made_as == target,
    ] {
        let found: Vec<&Shell> = shells.iter().filter(|shell| fits(shell, target)).collect();
        match found.as_slice() {
            [] => {}
            [only] => return Ok(only.id.clone()),
            several => {
                let candidates: Vec<String> =
                    several.iter().map(|shell| format!("{} ('{}' in {})", shell.id, shell.session, shell.work_dir.display())).collect();
                return Err(Error::failed(
                    "ambiguous_target",
                    format!("{} shells are named '{target}': {}", several.len(), candidates.join(", ")),
                )
                .exit(Exit::NoTarget)
                .hint("give the id of the one that is meant"));
            }
        }
    }
    let server = context.server.display_name();
    let near = shells.iter().map(|shell| shell.session.as_str()).filter(|name| is_near(name, target)).min();
    let hint = match near {
        Some(near) => format!("did you mean '{near}'? `sidecar shell list --all` shows them"),
        None => "`sidecar shell list --all` shows them".to_owned(),
    };
    Err(Error::failed("no_such_shell", format!("no shell named '{target}' on the server '{server}'")).exit(Exit::NoTarget).hint(hint))
}

/// Close enough to be a slip of the hand: one character more, fewer or other, or two swapped.
fn is_near(name: &str, target: &str) -> bool {
    let (name, target): (Vec<char>, Vec<char>) = (name.chars().collect(), target.chars().collect());
    if name.len().abs_diff(target.len()) > 1 || name.len().min(target.len()) < 2 {
        return false;
    }
    let head = name.iter().zip(&target).take_while(|(a, b)| a == b).count();
    let tail = name.iter().rev().zip(target.iter().rev()).take_while(|(a, b)| a == b).count();
    let different = name.len().max(target.len()).saturating_sub(head + tail);
    let swapped = different == 2 && name.len() == target.len() && name[head] == target[head + 1] && name[head + 1] == target[head];
    different <= 1 || swapped
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
        print(&format!("{document}\n"));
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
    let cells: Vec<[String; 4]> = rows
        .iter()
        .map(|row| {
            let last = match (row.tombstone, row.expires) {
                (Some(tombstone), Some(expires)) => {
                    format!("{} {} ago, kept for {} more", row.reason, age(tombstone.deleted_at, now), age(now, expires))
                }
                (Some(tombstone), None) => format!("{} {} ago, kept for ever", row.reason, age(tombstone.deleted_at, now)),
                _ => format!("{}, {}", count(row.shell.windows.len(), "window"), count(row.shell.panes().count(), "pane")),
            };
            [shown(&row.shell.name), row.status.to_owned(), directory(&row.shell.work_dir.display()), last]
        })
        .collect();
    let widths = [0, 1, 2].map(|column| widest(cells.iter().map(|row| row[column].as_str())));
    cells
        .iter()
        .map(|row| format!("{}   {}   {}   {}\n", pad(&row[0], widths[0]), pad(&row[1], widths[1]), pad(&row[2], widths[2]), row[3]))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::is_near;

    #[test]
    fn slips_of_the_hand_are_near() {
        for near in ["reviwer", "reviewre", "reviewwr", "reviewers", "eviewer"] {
            assert!(is_near("reviewer", near), "{near}");
        }
        for far in ["web", "", "reviews-2", "rieverew"] {
            assert!(!is_near("reviewer", far), "{far}");
        }
    }
}
