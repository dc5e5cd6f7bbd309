//! `sidecar snapshot timer …`.

use std::process::ExitCode;

use serde_json::json;

use super::args::TimerCommand;
use super::output::directory;
use super::{Context, job, lasting_path};
use crate::error::Result;
use crate::snapshots::Timer;

pub(super) fn run(command: &TimerCommand, context: &Context) -> Result<ExitCode> {
    let helper = lasting_path()?;
    let timer = Timer::here(helper.clone(), context.server.program())?;
    match command {
        TimerCommand::Install { every, json } => {
            let done = timer.install(*every)?;
            let said = if done.changed.is_empty() { "the timer is installed already" } else { "the timer is installed" };
            job::answer(&done, &format!("{said}: every {every} s, {}", directory(&helper)), None, json!({}), *json);
        }
        TimerCommand::Uninstall { json } => {
            let done = timer.uninstall()?;
            let said = if done.changed.is_empty() { "there is no timer" } else { "the timer is gone" };
            job::answer(&done, said, None, json!({}), *json);
        }
        TimerCommand::Status { json } => {
            let (status, every) = timer.status()?;
            let words = every.map(|every| format!(", every {every} s")).unwrap_or_default();
            job::status(&status, &words, json!({ "every": every }), *json);
        }
    }
    Ok(ExitCode::SUCCESS)
}
