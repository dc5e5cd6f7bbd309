//! `sidecar shell …` but the list, and `sidecar session policy`.

use std::path::PathBuf;
use std::process::ExitCode;

use serde_json::{Map, Value, json};

use super::args::{DeleteArgs, NewArgs, PolicyArgs, PurgeArgs, RenameArgs, SendArgs, TargetArgs};
use super::output::{for_this_server, print, print_json, print_notices, shown};
use super::{Context, own_path};
use crate::error::{Error, Exit, Result};
use crate::model::{Policy, Shell};
use crate::shells::{Done, NewShell, Place, Status, Text};
use crate::tmux::shell_word;

pub(super) fn new(context: &Context, options: &NewArgs) -> Result<ExitCode> {
    let here = match (&options.dir, &options.worktree) {
        (Some(dir), _) => dir.clone(),
        _ => current_dir()?,
    };
    let place = match &options.worktree {
        Some(branch) => Place::Worktree { from: &here, branch },
        None => Place::Dir(&here),
    };
    let done = context.shells().new_shell(&NewShell { name: options.name.as_deref(), place, run: options.run.as_deref() })?;
    let (inside, session) = (std::env::var_os("TMUX").is_some(), shell_word(&format!("={}", done.shell.session)));
    let way = if inside {
        format!("go there: tmux switch-client -t {session}")
    } else {
        format!("attach: tmux {}attach -t {session}", context.server.attach_options())
    };
    Ok(answer(context, &done, options.json, Some(&way)))
}

fn current_dir() -> Result<PathBuf> {
    std::env::current_dir().map_err(|error| {
        Error::failed("no_directory", format!("cannot make a shell here: this process's directory is gone ({error})"))
            .hint("--dir D makes it elsewhere")
    })
}

pub(super) fn rename(context: &Context, options: &RenameArgs) -> Result<ExitCode> {
    Ok(answer(context, &context.shells().rename(options.target.as_deref(), &options.name)?, options.json, None))
}

pub(super) fn forget(context: &Context, options: &TargetArgs) -> Result<ExitCode> {
    Ok(answer(context, &context.shells().forget(&options.target)?, options.json, None))
}

pub(super) fn restore(context: &Context, options: &TargetArgs) -> Result<ExitCode> {
    Ok(answer(context, &context.shells().restore(&options.target)?, options.json, None))
}

pub(super) fn delete(context: &Context, options: &DeleteArgs) -> Result<ExitCode> {
    Ok(answer(context, &context.shells().delete(&options.target)?, options.json, None))
}

pub(super) fn purge(context: &Context, options: &PurgeArgs) -> Result<ExitCode> {
    if !options.yes {
        return Err(Error::failed("needs_yes", "cannot purge without --yes: the record can't be brought back then").exit(Exit::Refused));
    }
    Ok(answer(context, &context.shells().purge(&options.target)?, options.json, None))
}

pub(super) fn policy(context: &Context, options: &PolicyArgs) -> Result<ExitCode> {
    let policies = [
        (options.inherit, Policy::Inherit),
        (options.shell, Policy::Shell),
        (options.resume, Policy::Resume),
        (options.never, Policy::Never),
    ];
    let target = options.target.as_deref();
    let done = match policies.into_iter().find(|(wanted, _)| *wanted) {
        Some((_, policy)) => context.shells().set_policy(target, policy)?,
        None => context.shells().policy(target)?,
    };
    Ok(answer(context, &done, options.json, None))
}

pub(super) fn send(context: &Context, options: &SendArgs) -> Result<ExitCode> {
    let text = match (&options.run, &options.typed) {
        (Some(run), _) => Text::Run(run),
        (None, typed) => Text::Type(typed.as_deref().unwrap_or_default()),
    };
    let sent = context.shells().send(&options.target, text)?;
    if options.json {
        print_json(&json!({
            "schemaVersion": 1,
            "session": sent.session,
            "place": sent.place,
            "pane": sent.pane,
            "enter": matches!(text, Text::Run(_)),
        }));
    }
    Ok(ExitCode::SUCCESS)
}

/// The fields of a shell that every document has.
pub(super) fn shell_json(shell: &Shell, status: Status) -> Map<String, Value> {
    let fields = json!({
        "shell": shell.id,
        "session": shell.session,
        "name": shell.name,
        "project": shell.project.as_ref().map(|project| project.display()),
        "workDir": shell.work_dir.display(),
        "status": status.word(),
        "policy": shell.policy.word(),
    });
    if let Value::Object(fields) = fields { fields } else { Map::new() }
}

fn answer(context: &Context, done: &Done, json: bool, way: Option<&str>) -> ExitCode {
    if let (true, Ok(helper)) = (done.changed, own_path()) {
        context.plugin(&helper).refresh();
    }
    if json {
        let mut document = shell_json(&done.shell, done.status);
        document.insert("schemaVersion".into(), 1.into());
        document.insert("changed".into(), done.changed.into());
        document.insert("detail".into(), for_this_server(&done.said).into());
        document.insert("notices".into(), done.notices.clone().into());
        print_json(&Value::Object(document));
    } else {
        print_notices(&done.notices);
        let way = way.map(|way| format!("{}\n", shown(way))).unwrap_or_default();
        print(&format!("{}\n{way}", shown(&for_this_server(&done.said))));
    }
    ExitCode::SUCCESS
}
