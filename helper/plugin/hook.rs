//! What a hook does: a look, coalesced with those of others; or a note on what was closed. It never prints.

use std::time::Duration;

use super::{hooks, offer, timer};
use crate::error::Result;
use crate::model::Hint;
use crate::record::{Recorded, Settings, now, record};
use crate::scrollback;
use crate::store::{Config, Level, Lock, Store, Turn};
use crate::tmux::{Server, TIMER};

/// How long a hook waits for the one that works.
const LOCK_LIMIT: Duration = Duration::from_secs(5);

/// What tmux told.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// Something changed; its name is for the log.
    Changed(String),
    /// A session was closed.
    Closed {
        /// Its live id.
        session: String,
        /// How many were left.
        left: u32,
        /// The server's pid.
        pid: i32,
        /// The server's `#{start_time}`.
        start_time: u64,
    },
    /// A client came while the start-up offer waits for one.
    Offer {
        /// Its name.
        client: String,
    },
    /// One look that is over when the call ends: what `tick` without a token asks for.
    Look,
    /// The timer's round.
    Tick {
        /// Its token.
        token: String,
        /// Seconds to the next round.
        interval: f64,
    },
}

impl Event {
    /// Reads the words behind `sidecar hook`.
    pub fn parse(words: &[String]) -> Option<Self> {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        match *words.as_slice() {
            ["session-closed", session, left, pid, start_time] => {
                let digits = session.strip_prefix('$')?;
                if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
                    return None;
                }
                // One `x` for each session that is left.
                let left = left.bytes().all(|byte| byte == b'x').then_some(left.len())?;
                Some(Self::Closed {
                    session: session.to_owned(),
                    left: u32::try_from(left).ok()?,
                    pid: pid.parse().ok()?,
                    start_time: start_time.parse().ok()?,
                })
            }
            ["tick", token] => Some(Self::Tick { token: token.to_owned(), interval: timer::interval_of(token)? }),
            ["tick"] => Some(Self::Look),
            ["offer", client] => Some(Self::Offer { client: client.to_owned() }),
            [name, ..] if !name.is_empty() => Some(Self::Changed(name.to_owned())),
            _ => None,
        }
    }

    fn name(&self) -> &str {
        match self {
            Self::Changed(name) => name,
            Self::Closed { .. } => "session-closed",
            Self::Offer { .. } => "offer",
            Self::Look | Self::Tick { .. } => "tick",
        }
    }
}

/// What a call from tmux works with.
pub struct Plugin<'a> {
    /// The server that calls.
    pub server: &'a Server,
    /// Its records.
    pub store: &'a Store,
    /// The user's choices.
    pub config: &'a Config,
    /// The helper's own path, for the next call.
    pub helper: &'a str,
}

impl Plugin<'_> {
    /// Does what the event asks for. Nothing is printed; what went wrong goes to the log.
    pub fn run(&self, event: &Event) {
        let result = match event {
            Event::Closed { session, left, pid, start_time } => {
                // A server that ends also ends its jobs, and this line is all that will be known.
                let mut ends = nix::sys::signal::SigSet::empty();
                for signal in [nix::sys::signal::SIGTERM, nix::sys::signal::SIGHUP] {
                    ends.add(signal);
                }
                let _ = ends.thread_block();
                self.store.add_hint(&Hint { at: now(), pid: *pid, start_time: *start_time, session: session.clone(), left: *left })
            }
            Event::Tick { token, interval } => self.tick(token, *interval),
            Event::Offer { client } => self.offer(Some(client)),
            Event::Look => self.store.lock(LOCK_LIMIT).and_then(|held| self.look(held)),
            Event::Changed(name) => {
                if matches!(name.as_str(), "client-attached" | "client-session-changed") {
                    self.repair_hooks();
                }
                self.coalesced_look()
            }
        };
        // After the look, and in the timer's round alone: no hook waits for it.
        if matches!(event, Event::Look | Event::Tick { .. }) {
            self.keep_texts(false);
        }
        if let Err(error) = result {
            let level = if matches!(error.code, "no_answer" | "other_server") { Level::Warn } else { Level::Error };
            self.store.log(level, &format!("hook {}", event.name()), &error.message);
        }
    }

    /// Keeps what panes show, if the user wants that; `last` as in [`scrollback::take`].
    pub(super) fn keep_texts(&self, last: bool) {
        if let Err(error) = scrollback::take(self.server, self.store, self.config, last) {
            self.store.log(Level::Warn, "scrollback", &error.message);
        }
    }

    /// Looks again after the user's own word, which tmux tells nobody of; what goes wrong is the next look's to tell.
    pub fn refresh(&self) {
        if self.server.socket_exists() {
            let _ = self.coalesced_look();
        }
    }

    /// Somebody's plain `set-hook -g` takes every hook of that name, ours too. They are set only where one is missing: tmux makes
    /// every client draw itself when a hook is set.
    fn repair_hooks(&self) {
        let timer = format!("#{{{TIMER}}}");
        let shown =
            self.server.call(&["display-message", "-p", &timer, ";", "show-hooks", "-g", ";", "show-hooks", "-gw"], None, LOCK_LIMIT);
        let repaired = shown.and_then(|reply| {
            let shown = String::from_utf8_lossy(&reply.stdout);
            // Without a timer the plugin was unloaded while this hook was on its way.
            let missing = reply.ok && !shown.starts_with('\n') && hooks::is_missing(&shown);
            if missing { self.server.source_ours(&hooks::set(self.helper), LOCK_LIMIT) } else { Ok(()) }
        });
        if let Err(failure) = repaired {
            self.store.log(Level::Warn, "hooks", &failure.to_string());
        }
    }

    /// Arms the next round before anything else, so that nothing that goes wrong here ends the timer.
    fn tick(&self, token: &str, interval: f64) -> Result<()> {
        match timer::arm(self.server, self.helper, interval, interval, Some(token)) {
            // A reload started another timer: this one ends.
            Ok(false) => return Ok(()),
            // The server outlived what was restored automatically.
            Ok(true) => self.store.confirm_automatic(),
            Err(failure) => self.store.log(Level::Warn, "hook tick", &failure.to_string()),
        }
        self.coalesced_look()
    }

    /// A look, unless one that has not begun yet will see the same.
    pub(super) fn coalesced_look(&self) -> Result<()> {
        match self.store.turn(LOCK_LIMIT)? {
            Turn::Mine(held) => self.look(held),
            Turn::SomebodyWaits => Ok(()),
        }
    }

    /// Records what is seen; restarts a timer that is missing, and brings its next round forward where a mark ripens before it.
    fn look(&self, held: Lock) -> Result<()> {
        let Recorded { seen, changes } = record(self.server, self.store, self.config, &held)?;
        let settings = Settings::of(&seen);
        if let Some(delay) = timer::needed(&seen.settings.timer, settings, changes.wanted_at, now()) {
            if let Err(failure) = timer::arm(self.server, self.helper, settings.interval, delay, None) {
                self.store.log(Level::Warn, "timer", &failure.to_string());
            }
        }
        // Neither a menu nor a restore may keep others from looking, nor a directory on a disk that does not answer.
        drop(held);
        let restorable = offer::restorable(&changes.state, &seen.generation, &|path| path.is_dir());
        self.show_status(&seen, &changes.state, restorable);
        self.go_on(offer::next(&seen, self.config, restorable))
    }
}
