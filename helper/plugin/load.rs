//! What `sidecar.tmux` calls at each load and reload: hooks in their slots, one timer, and a look at what already runs.

use std::time::Duration;

use super::hook::Plugin;
use super::{hooks, keys, timer};
use crate::error::{Error, Result};
use crate::record::INTERVAL;
use crate::store::Level;
use crate::tmux::{Failure, Version};

const LIMIT: Duration = Duration::from_secs(5);

/// How a load went.
#[derive(Debug, PartialEq, Eq)]
pub enum Loading {
    /// Hooks are set, keys are bound, the timer runs, and a look is on its way.
    Done {
        /// Which key does what, for people; empty if there is none.
        keys: String,
    },
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
        // Where there is no server, `list-keys` would start one, which ends at once.
        if !self.server.is_around_us() {
            self.server.pid_and_version(LIMIT).map_err(|failure| self.unanswered(&failure))?;
        }
        let ask: Vec<String> =
            ["display-message", "-p", "#{pid} #{version}", ";"].map(str::to_owned).into_iter().chain(keys::asked()).collect();
        let reply = self.server.call(&ask, None, LIMIT).map_err(|failure| self.unanswered(&failure))?;
        let answer = String::from_utf8_lossy(&reply.stdout).into_owned();
        let mut lines = answer.lines();
        let mut line = || lines.next().unwrap_or_default();
        let (pid, version) = line().split_once(' ').unwrap_or_default();
        let Ok(pid) = pid.parse() else { return Err(self.unanswered(&Failure::Other(reply.stderr))) };
        if Version::parse(version) < Version::OLDEST {
            return Ok(Loading::TooOld(version.to_owned()));
        }
        self.server.check_is_ours(pid)?;
        let known = keys::Known { options: [line(), line()], ours: line(), bound: lines.collect() };
        let keys = keys::bind(self.helper, &known);
        // A new token ends the timer of an earlier load.
        let timer = timer::round(self.helper, INTERVAL, INTERVAL).commands();
        let look = hooks::look(self.helper, &["hook", "load"]);
        let script = format!("{}{}{timer}\n{look}\n", hooks::set(self.helper), keys.script);
        self.server.source(&script, LIMIT).map_err(|failure| self.unanswered(&failure))?;
        let words = self.bind_chosen(&keys);
        match self.store.unwritable() {
            Some(why) => Err(Error::failed("state_unwritable", format!("cannot write the records: {why}"))
                .hint("nothing is recorded until that is mended; it goes on trying")),
            None => Ok(Loading::Done { keys: words }),
        }
    }

    /// Binds the keys that the user chose, and tells once of default ones that somebody else holds. Gives which key does what.
    fn bind_chosen(&self, keys: &keys::Binding) -> String {
        let (mut unknown, mut news): (Vec<&str>, Vec<String>) = (Vec::new(), Vec::new());
        for (name, command) in &keys.chosen {
            if let Err(failure) = self.server.source_ours(command, LIMIT) {
                self.store.log(Level::Warn, "keys", &format!("{name}: {failure}"));
                news.push(format!("tmux knows no key '{name}'"));
                unknown.push(name);
            }
        }
        for (key, option) in &keys.held {
            if self.store.is_news(&format!("prefix {key} is held")) {
                news.push(format!("prefix {key} is taken: set {option} (or none)"));
            }
        }
        if !news.is_empty() {
            self.tell(&format!("sidecar: {}", news.join("; ")));
        }
        keys.in_words(&unknown)
    }

    pub(super) fn unanswered(&self, failure: &Failure) -> Error {
        Error::failed("no_answer", format!("the tmux server at {}: {failure}", self.server.socket().display()))
    }
}
