//! `sidecar plugin …`.

use std::process::ExitCode;

use super::{Context, own_path};
use crate::error::{Error, Result};
use crate::plugin::Loading;

pub(super) fn load(context: &Context) -> Result<ExitCode> {
    match context.plugin(&own_path()?).load()? {
        Loading::Done => Ok(ExitCode::SUCCESS),
        Loading::TooOld(version) => Err(Error::failed("tmux_too_old", format!("needs tmux 3.2 or newer, and this server is {version}"))
            .hint("update tmux, then restart its server")),
    }
}
