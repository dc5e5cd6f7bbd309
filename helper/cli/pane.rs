//! `sidecar pane …`: what Sidecar starts in panes. Whatever goes wrong, the user is left in a shell.

use std::process::ExitCode;

use super::args::PaneCommand;
use super::output::shown;
use super::{Context, own_path};
use crate::error::Result;
use crate::pane;

pub(super) fn run(context: Result<Context>, command: &PaneCommand) -> ExitCode {
    let Context { server, store, config } = match context {
        Ok(context) => context,
        Err(error) => {
            eprintln!("sidecar: {}", shown(&error.message));
            return pane::leave_shell(None);
        }
    };
    match command {
        // Without its own path it can't come back when the program ends, and a shell follows all the same.
        PaneCommand::Start { pane } => pane::start(&server, &store, &config, &own_path().unwrap_or_default(), pane),
        PaneCommand::Ended { code, program } => pane::ended(&server, code.parse().unwrap_or(1), program),
    }
}
