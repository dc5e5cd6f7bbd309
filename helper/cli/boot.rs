//! `sidecar boot …`.

use std::ffi::OsString;
use std::process::ExitCode;

use serde_json::json;

use super::args::{BootCommand, Cli};
use super::output::{directory, shown};
use super::{Context, job, lasting_path, own_path};
use crate::boot::{Unit, environment};
use crate::error::{Error, Result};
use crate::plugin::Booted;

const LINGERING_OFF: &str = "lingering is off, so the server starts at your first login and ends after your last logout (its sessions stay restorable): \
     `loginctl enable-linger` has it start at boot and live on without you";

pub(super) fn run(cli: &Cli, command: &BootCommand, context: impl Fn() -> Result<Context>) -> Result<ExitCode> {
    match command {
        BootCommand::Start => return start(cli, &context()?),
        BootCommand::Enter => enter(&context()?)?,
        BootCommand::Stop => stop(&context()?)?,
        BootCommand::Environment { mark } => environment::print(mark)?,
        BootCommand::Install { json } => install(&context()?, *json)?,
        BootCommand::Status { json } => status(&context()?, *json)?,
        BootCommand::Uninstall { json } => uninstall(&context()?, *json)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn install(context: &Context, json: bool) -> Result<()> {
    let helper = lasting_path()?;
    let unit = Unit::of(&context.server, &helper)?;
    let done = unit.install()?;
    let lingers = unit.lingers();
    let said = if done.changed.is_empty() {
        "the unit is installed already"
    } else {
        "the unit is installed, and begins at your next login or boot"
    };
    let note = (lingers == Some(false)).then_some(LINGERING_OFF);
    job::answer(
        &done,
        &format!("{said}: {}, {}", unit.name(), directory(&helper)),
        note,
        json!({ "unit": unit.name(), "lingering": lingers }),
        json,
    );
    Ok(())
}

fn uninstall(context: &Context, json: bool) -> Result<()> {
    let unit = Unit::of(&context.server, &lasting_path()?)?;
    let done = unit.uninstall()?;
    let said = if done.changed.is_empty() { "there is no unit" } else { "the unit is gone; a server that lives goes on" };
    job::answer(&done, said, None, json!({ "unit": unit.name() }), json);
    Ok(())
}

fn status(context: &Context, json: bool) -> Result<()> {
    let unit = Unit::of(&context.server, &lasting_path()?)?;
    let mut status = unit.status()?;
    let lingers = unit.lingers();
    if !status.files.is_empty() && lingers == Some(false) {
        let parts = [status.detail.as_str(), LINGERING_OFF];
        status.detail = parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("; ");
    }
    job::status(&status, &format!(" ({})", unit.name()), json!({ "unit": unit.name(), "lingering": lingers }), json);
    Ok(())
}

/// Becomes [`enter`] with the user's environment.
fn start(cli: &Cli, context: &Context) -> Result<ExitCode> {
    let named = match (&cli.socket_name, &cli.socket_path) {
        (Some(name), _) => vec!["-L".into(), name.into()],
        (None, Some(path)) => vec!["-S".into(), path.into()],
        (None, None) => Vec::<OsString>::new(),
    };
    let words: Vec<OsString> = named.into_iter().chain(["boot", "enter"].map(Into::into)).collect();
    let helper = own_path()?;
    let note = |text: &str| eprintln!("note: {}", shown(text));
    let error = environment::become_users(&helper, &words, context.server.socket(), context.server.program(), &note);
    Err(Error::failed("not_run", format!("cannot run {helper}: {error}")))
}

fn enter(context: &Context) -> Result<()> {
    let plugin_path = own_path()?;
    match context.plugin(&plugin_path).boot()? {
        Booted::LivedAlready(pid) => println!("the tmux server, pid {pid}, lives already, and is left alone"),
        Booted::Started(pid) => println!("the tmux server, pid {pid}, was started"),
    }
    Ok(())
}

fn stop(context: &Context) -> Result<()> {
    match context.plugin(&own_path()?).end_booted()? {
        Some(pid) => println!("the tmux server, pid {pid}, was ended; its sessions can be restored"),
        None => println!("no server that `sidecar boot start` started lives; nothing was ended"),
    }
    Ok(())
}
