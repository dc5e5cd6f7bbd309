//! A server that a service manager starts and ends: restored without a client, once, by the plugin's own restore or by this one.
#![expect(clippy::disallowed_methods, reason = "a restore of another process is waited for, with a deadline")]

use std::time::{Duration, Instant};

use super::hook::{Event, Plugin};
use super::{hooks, offer};
use crate::agents::process;
use crate::error::{Error, Exit, Result};
use crate::model::{Offer, ServerState};
use crate::restore::situation;
use crate::store::{Level, home};
use crate::tmux::Failure;

const LIMIT: Duration = Duration::from_secs(5);
/// How long a server may take to read the user's tmux.conf.
const START_LIMIT: Duration = Duration::from_secs(120);
/// How long an automatic restore may take.
const RESTORE_LIMIT: Duration = Duration::from_secs(300);
/// How often it is looked whether it is over.
const ROUND: Duration = Duration::from_millis(100);
/// How long a server may take to end.
const END_LIMIT: Duration = Duration::from_secs(20);

/// How a start went.
#[derive(Debug, PartialEq, Eq)]
pub enum Booted {
    /// A server lived already; nothing was done.
    LivedAlready(i32),
    /// The server of this pid was started.
    Started(i32),
}

impl Plugin<'_> {
    /// Starts the server, and waits until what is to be restored without a client is restored. A server that has no session then gets one, as
    /// starting tmux makes it, so that it lives on and the first client finds something to attach to.
    ///
    /// # Errors
    /// A recorded server is stuck, or it can't be told whether one lives (exit 5): nothing was started. Or it did not start.
    pub fn boot(&self) -> Result<Booted> {
        let before = situation(self.server, self.store, self.config)?.server;
        match (before.state, before.pid) {
            (ServerState::Gone, _) => {}
            (ServerState::Running, pid) => return Ok(Booted::LivedAlready(pid.unwrap_or_default())),
            (ServerState::Stuck | ServerState::Unknown, _) => {
                let why = before.detail.unwrap_or_default();
                return Err(Error::failed("server_stuck", format!("no second server is started: {why}")).exit(Exit::Refused));
            }
        }
        let held = self.server.start_and_hold(START_LIMIT).map_err(|failure| self.not_started(&failure))?;
        let (pid, ours) = self.booted().map_err(|failure| self.not_started(&failure))?;
        if !ours {
            // Somebody was faster.
            return Ok(Booted::LivedAlready(pid));
        }
        self.server.keep_boot(LIMIT).map_err(|failure| self.not_started(&failure))?;
        if let Err(error) = self.settle() {
            self.store.log(Level::Error, "boot", &error.message);
        }
        let home = home()?;
        self.server.add_first_session(home.as_os_str(), LIMIT).map_err(|failure| self.not_started(&failure))?;
        drop(held);
        self.store.log(Level::Info, "boot", &format!("the server, pid {pid}, was started"));
        Ok(Booted::Started(pid))
    }

    /// The pid of the server, and whether a unit started it.
    fn booted(&self) -> std::result::Result<(i32, bool), Failure> {
        let (pid, by) = self.server.booted(LIMIT)?;
        Ok((pid, by == self.server.socket().as_os_str().as_encoded_bytes()))
    }

    fn not_started(&self, failure: &Failure) -> Error {
        Error::failed("server_not_started", format!("the tmux server at {} did not start: {failure}", self.server.socket().display()))
    }

    /// Waits for the automatic restore, or makes it where nobody has begun one yet; the offer's state sees to it that it is one. The plugin need
    /// not be loaded for it, or may come late.
    fn settle(&self) -> Result<()> {
        if comes_true(RESTORE_LIMIT, &mut || self.is_settled())? {
            return Ok(());
        }
        Err(Error::failed("restore_too_long", "the automatic restore did not end in time"))
    }

    fn is_settled(&self) -> Result<bool> {
        let now = situation(self.server, self.store, self.config)?;
        let Some(seen) = &now.seen else { return Err(Error::failed("no_answer", "the server does not answer")) };
        match seen.settings.offered {
            Offer::Pending | Offer::Done => Ok(true),
            Offer::Restoring => Ok(false),
            Offer::Undecided => {
                let restorable = offer::restorable(&now.state, &seen.generation, &|path| path.is_dir());
                let next = offer::wanted(seen, self.config, restorable);
                if next != offer::Next::Restore {
                    return Ok(true);
                }
                // It may be somebody else's by now: the next round tells.
                self.go_on(next)?;
                Ok(false)
            }
        }
    }

    /// Ends the server that [`boot`](Self::boot) started, after a last look; gives its pid. Any other one is left alone: it lived before the unit
    /// did, and is to live on after it.
    ///
    /// # Errors
    /// It does not answer, or does not end.
    pub fn end_booted(&self) -> Result<Option<i32>> {
        let pid = match self.booted() {
            Ok((pid, true)) => pid,
            Ok((_, false)) | Err(Failure::NoServer) => return Ok(None),
            Err(failure) => return Err(self.unanswered(&failure)),
        };
        self.run(&Event::Look);
        self.keep_texts(true);
        // The hooks would tell of its sessions that they were closed; of a single one that is believed, and it would not come back by itself.
        self.server.end(pid, &hooks::unset(), LIMIT).map_err(|failure| self.unanswered(&failure))?;
        process::wait_gone(&[pid], END_LIMIT);
        Ok(Some(pid))
    }
}

/// Asks again and again, for at most `limit`, whether something is so; an error ends it.
fn comes_true(limit: Duration, is_so: &mut dyn FnMut() -> Result<bool>) -> Result<bool> {
    let deadline = Instant::now() + limit;
    loop {
        if is_so()? {
            return Ok(true);
        }
        if Instant::now() > deadline {
            return Ok(false);
        }
        std::thread::sleep(ROUND);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_never_comes_true_is_asked_at_times_and_given_up() {
        let mut asked = 0;
        let limit = ROUND * 3;
        assert!(
            !comes_true(limit, &mut || {
                asked += 1;
                Ok(false)
            })
            .unwrap()
        );
        assert!((2..=5).contains(&asked), "{asked}");
        // The last answer counts, however long it took.
        assert!(comes_true(Duration::ZERO, &mut || Ok(true)).unwrap());
        assert!(comes_true(limit, &mut || Err(Error::failed("x", "x"))).is_err());
    }
}
