//! What `sidecar.tmux` calls at each load and reload: hooks in their slots, one timer, and a look at what already runs.

use std::time::Duration;

use super::hook::Plugin;
use super::{hooks, timer};
use crate::error::{Error, Result};
use crate::record::INTERVAL;
use crate::store::Level;
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
    /// Sets everything up; any number of times is as once.
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
        self.server.source(&hooks::set(self.helper), LIMIT).map_err(|failure| self.unanswered(&failure))?;
        // A new token ends the timer of an earlier load.
        timer::arm(self.server, self.helper, INTERVAL, INTERVAL, None).map_err(|failure| self.unanswered(&failure))?;
        match self.coalesced_look() {
            // tmux.conf is read before the first session is made, and some servers without one answer nothing: the hooks are set,
            // and will look when there is something to see.
            Err(error) if error.code == "no_answer" => self.store.log(Level::Info, "load", &error.message),
            looked => looked?,
        }
        Ok(Loading::Done)
    }

    fn unanswered(&self, failure: &Failure) -> Error {
        Error::failed("no_answer", format!("cannot set up the plugin in the tmux server at {}: {failure}", self.server.socket().display()))
    }
}
