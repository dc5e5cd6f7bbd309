//! `sidecar hook`: silent, exit 0 whatever happens.

use std::process::ExitCode;

use super::args::Cli;
use super::{Context, own_path};
use crate::plugin::{Event, run as run_event};

pub(super) fn run(cli: &Cli, words: &[String]) -> ExitCode {
    if let (Ok(context), Some(event), Ok(helper)) = (Context::of(cli), Event::parse(words), own_path()) {
        // What went wrong stands in the log.
        let _ = run_event(&context.server, &context.store, &event, &helper);
    }
    ExitCode::SUCCESS
}
