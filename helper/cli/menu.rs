//! `sidecar menu …`.

use std::process::ExitCode;

use super::args::MenuCommand;
use super::{Context, own_path};
use crate::error::Result;
use crate::plugin::Ask;

pub(super) fn run(context: &Context, command: &MenuCommand) -> Result<ExitCode> {
    let helper = own_path()?;
    let plugin = context.plugin(&helper);
    match command {
        MenuCommand::Restore(options) => plugin.ask(Ask::Restore, options.client.as_deref())?,
        MenuCommand::Forgotten(options) => plugin.ask(Ask::Forgotten, options.client.as_deref())?,
        MenuCommand::Rename(options) => plugin.ask(Ask::Rename, options.client.as_deref())?,
        MenuCommand::Go { client, words } => plugin.go(client, words)?,
    }
    Ok(ExitCode::SUCCESS)
}
