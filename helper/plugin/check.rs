//! How the plugin stands in its server: asked, never changed.

use std::time::Duration;

use super::hook::Plugin;
use super::keys::{self, KeyStanding};
use super::{hooks, timer};
use crate::record::now;
use crate::tmux::{Failure, TIMER};

const LIMIT: Duration = Duration::from_secs(5);

/// How the plugin stands in a server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Standing {
    /// Whether it was loaded, and not unloaded since.
    pub loaded: bool,
    /// Whether its timer is on time.
    pub timer_runs: bool,
    /// The events whose hook is missing.
    pub missing_hooks: Vec<&'static str>,
    /// The helper that the hooks call, where that can be told.
    pub helper: Option<String>,
    /// Its keys.
    pub keys: Vec<KeyStanding>,
}

impl Plugin<'_> {
    /// Asks for it.
    ///
    /// # Errors
    /// As for any call.
    pub fn standing(&self) -> Result<Standing, Failure> {
        let ask = |words: Vec<String>| -> Result<String, Failure> {
            let reply = self.server.call(&words, None, LIMIT)?;
            if reply.ok { Ok(String::from_utf8_lossy(&reply.stdout).into_owned()) } else { Err(Failure::Other(reply.stderr)) }
        };
        let words = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect::<Vec<_>>();
        let shown = ask(words(&["show-hooks", "-g", ";", "show-hooks", "-gw"]))?;
        let first = ["display-message".to_owned(), "-p".to_owned(), format!("#{{{TIMER}}}"), ";".to_owned()];
        let answer = ask(first.into_iter().chain(keys::asked()).collect())?;
        let mut lines = answer.lines();
        let mut line = || lines.next().unwrap_or_default();
        let token = line();
        let known = keys::Known { options: [line(), line()], ours: line(), bound: lines.collect() };
        Ok(Standing {
            loaded: !token.is_empty(),
            timer_runs: timer::runs(token, now()),
            missing_hooks: hooks::missing(&shown).collect(),
            helper: hooks::helper_in(&shown),
            keys: keys::standing(&known),
        })
    }
}
