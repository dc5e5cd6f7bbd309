//! What `sidecar.tmux` calls at each load and reload: hooks in their slots, one timer, and a look at what already runs.

use std::time::Duration;

use super::hook::Plugin;
use super::{hooks, timer};
use crate::error::{Error, Result};
use crate::record::INTERVAL;
use crate::tmux::{Failure, Version};

const LIMIT: Duration = Duration::from_secs(5);

/// How a load went.
#[derive(Debug, PartialEq, Eq)]
pub enum Loading {
    /// Hooks are set, the timer runs, what lives is recorded.
    Done,
    /// The server is of this version, which is too old: nothing was set.
    TooOld(String),
}

impl Plugin<'_> {
    /// Sets everything up; any number of times is as once. The first look is taken in the background: tmux waits for a load before
    /// it makes its first session.
    ///
    /// # Errors
    /// Another server answers, the server does not take the hooks, or the records can't be written: then the hooks are set all
    /// the same, and go on trying.
    pub fn load(&self) -> Result<Loading> {
        let (pid, version) = self.server.pid_and_version(LIMIT).map_err(|failure| self.unanswered(&failure))?;
        if Version::parse(&version) < Version::OLDEST {
            return Ok(Loading::TooOld(version));
        }
        self.server.check_is_ours(pid)?;
        // A new token ends the timer of an earlier load.
        let timer = timer::round(self.helper, INTERVAL, INTERVAL).commands();
        let script = format!("{}{timer}\n{}\n", hooks::set(self.helper), hooks::look(self.helper, &["hook", "load"]));
        self.server.source(&script, LIMIT).map_err(|failure| self.unanswered(&failure))?;
        match self.store.unwritable() {
            Some(why) => Err(Error::failed("state_unwritable", format!("cannot write the records: {why}"))
                .hint("nothing is recorded until that is mended; it goes on trying")),
            None => Ok(Loading::Done),
        }
    }

    pub(super) fn unanswered(&self, failure: &Failure) -> Error {
        Error::failed("no_answer", format!("cannot set up the plugin in the tmux server at {}: {failure}", self.server.socket().display()))
    }
}
