//! `sidecar snapshot timer …`.

use std::path::PathBuf;
use std::process::ExitCode;

use serde_json::json;

use super::args::TimerCommand;
use super::output::{directory, for_this_server, print, print_json, shown};
use super::{Context, lasting_path};
use crate::error::Result;
use crate::snapshots::{Timer, TimerChange, TimerState};

pub(super) fn run(command: &TimerCommand, context: &Context) -> Result<ExitCode> {
    let helper = lasting_path()?;
    let timer = Timer::here(helper.clone(), context.server.program())?;
    match command {
        TimerCommand::Install { every, json } => {
            let done = timer.install(*every)?;
            let said = if done.changed.is_empty() { "the timer is installed already" } else { "the timer is installed" };
            answer(&done, &format!("{said}: every {every} s, {}", directory(&helper)), *json);
        }
        TimerCommand::Uninstall { json } => {
            let done = timer.uninstall()?;
            answer(&done, if done.changed.is_empty() { "there is no timer" } else { "the timer is gone" }, *json);
        }
        TimerCommand::Status { json } => status(&timer, *json)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn paths(paths: &[PathBuf]) -> Vec<String> {
    paths.iter().map(|path| path.display().to_string()).collect()
}

fn answer(done: &TimerChange, said: &str, json: bool) {
    let (why, hint) = done.pending.clone().unwrap_or_default();
    if json {
        print_json(&json!({
            "schemaVersion": 1,
            "changed": paths(&done.changed),
            "dropIns": paths(&done.drop_ins),
            "followed": done.pending.is_none(),
            "detail": if why.is_empty() { said.to_owned() } else { format!("{said}; {why}") },
            "hint": hint,
        }));
        return;
    }
    let mut out = format!("{}\n", shown(said));
    out.extend(done.changed.iter().map(|path| format!("  {}\n", directory(&path.display().to_string()))));
    out.extend(done.drop_ins.iter().map(|path| format!("  yours, and left as it is: {}\n", directory(&path.display().to_string()))));
    if !why.is_empty() {
        out.push_str(&format!("{}\n", shown(&why)));
    }
    if !hint.is_empty() {
        out.push_str(&format!("  to do: {}\n", shown(&hint)));
    }
    print(&out);
}

fn status(timer: &Timer, json: bool) -> Result<()> {
    let status = timer.status()?;
    if json {
        print_json(&json!({
            "schemaVersion": 1,
            "state": status.state.word(),
            "every": status.every,
            "running": status.runs,
            "files": paths(&status.files),
            "dropIns": paths(&status.drop_ins),
            "detail": status.detail,
            "hint": status.hint,
        }));
        return Ok(());
    }
    let every = status.every.map(|every| format!(", every {every} s")).unwrap_or_default();
    let runs = if status.state == TimerState::NotInstalled {
        ""
    } else {
        match status.runs {
            Some(true) => ", and runs",
            Some(false) => ", and does not run",
            None => "",
        }
    };
    let mut out = format!("{}{every}{runs}\n", status.state.word().replace('_', " "));
    out.extend(status.files.iter().chain(&status.drop_ins).map(|path| format!("  {}\n", directory(&path.display().to_string()))));
    if !status.detail.is_empty() {
        out.push_str(&format!("  {}\n", shown(&status.detail)));
    }
    if !status.hint.is_empty() {
        out.push_str(&format!("  to do: {}\n", shown(&for_this_server(&status.hint))));
    }
    print(&out);
    Ok(())
}
