//! What `sidecar.tmux` calls at each load and reload: hooks in their slots, one timer, and a look at what already runs.

use std::time::Duration;

use super::hook::keep_timer;
use super::{hooks, timer};
use crate::error::{Error, Result};
use crate::record::{INTERVAL, record};
use crate::store::{Config, Level, Store};
use crate::tmux::{Server, Version};

const LIMIT: Duration = Duration::from_secs(5);

/// How a load went.
#[derive(Debug, PartialEq, Eq)]
pub enum Loading {
    /// Hooks are set, the timer runs, what lives is recorded.
    Done,
    /// The server is of this version, which is too old: nothing was set.
    TooOld(String),
}

/// Sets everything up; any number of times is as once.
///
/// # Errors
/// The server does not take the hooks, or the records can't be written: then the hooks are set all the same, and go on trying.
pub fn load(server: &Server, store: &Store, helper: &str) -> Result<Loading> {
    let version = server.version(LIMIT).map_err(|failure| unanswered(server, &failure))?;
    if Version::parse(&version) < Version::OLDEST {
        return Ok(Loading::TooOld(version));
    }
    server.source(&hooks::set(helper), LIMIT).map_err(|failure| unanswered(server, &failure))?;
    // A new token ends the timer of an earlier load.
    timer::arm(server, helper, INTERVAL, INTERVAL, None).map_err(|failure| unanswered(server, &failure))?;
    let held = store.lock(LIMIT)?;
    let recorded = match record(server, store, &Config::read(), &held) {
        Ok(recorded) => recorded,
        // tmux.conf is read before the first session is made, and a server without one answers nothing: the hooks are set, and
        // will look when there is something to see.
        Err(error) if error.code == "no_answer" => {
            store.log(Level::Info, "load", &error.message);
            return Ok(Loading::Done);
        }
        Err(error) => return Err(error),
    };
    drop(held);
    keep_timer(server, store, &recorded, helper);
    Ok(Loading::Done)
}

fn unanswered(server: &Server, failure: &crate::tmux::Failure) -> Error {
    Error::failed("no_answer", format!("cannot set up the plugin in the tmux server at {}: {failure}", server.socket().display()))
}
