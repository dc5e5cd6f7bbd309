//! `sidecar pane …`: what Sidecar starts in panes. Whatever goes wrong, the user is left in a shell.

use std::process::ExitCode;

use super::args::PaneCommand;
use super::output::shown;
use super::{Context, own_path};
use crate::error::Result;
use crate::pane;
use crate::restore;
use crate::store::Level;

pub(super) fn run(context: Result<Context>, command: &PaneCommand) -> ExitCode {
    let Context { server, store, config } = match context {
        Ok(context) => context,
        Err(error) => {
            eprintln!("sidecar: {}", shown(&error.message));
            return pane::leave_shell(None);
        }
    };
    // Without its own path it can't come back when the program ends, and a shell follows all the same.
    let helper = || own_path().unwrap_or_default();
    match command {
        PaneCommand::Start { pane } => pane::start(&server, &store, &config, &helper(), pane),
        PaneCommand::Ended { code, program, pane } => {
            pane::ended(&server, &store, &config, &helper(), code.parse().unwrap_or(1), program, pane.as_deref())
        }
        PaneCommand::Watch { pane, here } => {
            let watched = restore::watch(&server, &store, &config, &helper(), pane, here);
            if let Err(error) = watched {
                store.log(Level::Warn, "resume", &format!("{pane} is not watched: {}", error.message));
            }
            ExitCode::SUCCESS
        }
    }
}

/// `sidecar agent resume`: as the pane's own process it leaves a shell, whatever goes wrong.
pub(super) fn resume(context: Result<Context>, pane: &str) -> Result<ExitCode> {
    let ready = context.and_then(|context| Ok((context, own_path()?)));
    match ready {
        Ok((Context { server, store, config }, helper)) => pane::resume(&server, &store, &config, &helper, pane),
        Err(error) if pane::is_panes_own() => {
            eprintln!("sidecar: {}", shown(&error.message));
            Ok(pane::leave_shell(None))
        }
        Err(error) => Err(error),
    }
}
