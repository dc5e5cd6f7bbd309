//! `sidecar plugin …`.

use std::process::ExitCode;

use super::{Context, own_path};
use crate::error::{Error, Result};
use crate::plugin::{API, Linked, Loading, link as make_link, stable_path};
use crate::store::home;

pub(super) fn load(context: &Context) -> Result<ExitCode> {
    match context.plugin(&own_path()?).load()? {
        Loading::Done { keys } => {
            println!("{}", if keys.is_empty() { "It records from now on" } else { &keys });
            Ok(ExitCode::SUCCESS)
        }
        Loading::TooOld(version) => Err(Error::failed("tmux_too_old", format!("needs tmux 3.2 or newer, and this server is {version}"))
            .hint("update tmux, then restart its server")),
    }
}

pub(super) fn unload(context: &Context) -> Result<ExitCode> {
    context.plugin(&own_path()?).unload()?;
    println!("unloaded: nothing is recorded in this server any more; `sidecar plugin load` brings it back");
    Ok(ExitCode::SUCCESS)
}

pub(super) fn api() -> ExitCode {
    println!("{API}");
    ExitCode::SUCCESS
}

pub(super) fn link() -> Result<ExitCode> {
    let program = stable_path(&std::env::current_exe()?);
    let folder = home()?.join(".local/bin");
    let at = folder.join("sidecar");
    match make_link(&at, &program)? {
        Linked::Made => println!("linked {} to {}", at.display(), program.display()),
        Linked::Already => println!("{} is a link to {} already", at.display(), program.display()),
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    if !std::env::split_paths(&path).any(|known| known == folder) {
        println!("{} is not on your PATH yet", folder.display());
    }
    Ok(ExitCode::SUCCESS)
}
