//! `sidecar hook`: silent, exit 0 whatever happens.

use std::process::ExitCode;

use super::{Context, own_path};
use crate::plugin::Event;

pub(super) fn run(context: &Context, words: &[String]) -> ExitCode {
    if let (Some(event), Ok(helper)) = (Event::parse(words), own_path()) {
        context.plugin(&helper).run(&event);
    }
    ExitCode::SUCCESS
}
