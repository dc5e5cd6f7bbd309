//! `sidecar plugin …`.

use std::process::ExitCode;

use super::{Context, own_path};
use crate::error::{Error, Result};
use crate::plugin::{Loading, load as load_plugin};

pub(super) fn load(context: &Context) -> Result<ExitCode> {
    match load_plugin(&context.server, &context.store, &own_path()?)? {
        Loading::Done => Ok(ExitCode::SUCCESS),
        Loading::TooOld(version) => Err(Error::failed("tmux_too_old", format!("needs tmux 3.2 or newer, and this server is {version}"))
            .hint("update tmux, then restart its server")),
    }
}
