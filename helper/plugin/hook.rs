//! What a hook does: a look, coalesced with those of others; or a note on what was closed. It never prints.

use std::time::Duration;

use super::timer;
use crate::error::Result;
use crate::model::Hint;
use crate::record::{Recorded, Settings, now, record};
use crate::store::{Config, Level, Lock, Store, Turn};
use crate::tmux::Server;

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
            ["tick", token, interval] => {
                let interval = interval.parse().ok().filter(|seconds: &f64| (0.1..=86_400.0).contains(seconds))?;
                timer::is_token(token).then(|| Self::Tick { token: token.to_owned(), interval })
            }
            ["tick"] => Some(Self::Look),
            [name, ..] if !name.is_empty() => Some(Self::Changed(name.to_owned())),
            _ => None,
        }
    }

    fn name(&self) -> &str {
        match self {
            Self::Changed(name) => name,
            Self::Closed { .. } => "session-closed",
            Self::Look | Self::Tick { .. } => "tick",
        }
    }
}

/// Does what the event asks for. Errors are written to the log here and given back for callers that a person waits for.
///
/// # Errors
/// No whole answer, another server, or records that can't be read or written.
pub fn run(server: &Server, store: &Store, event: &Event, helper: &str) -> Result<()> {
    let result = match event {
        Event::Closed { session, left, pid, start_time } => {
            // A server that ends also ends its jobs, and this line is all that will be known.
            let mut ends = nix::sys::signal::SigSet::empty();
            for signal in [nix::sys::signal::SIGTERM, nix::sys::signal::SIGHUP] {
                ends.add(signal);
            }
            let _ = ends.thread_block();
            store.add_hint(&Hint { at: now(), pid: *pid, start_time: *start_time, session: session.clone(), left: *left })
        }
        Event::Tick { token, interval } => tick(server, store, token, *interval, helper),
        Event::Look => store.lock(LOCK_LIMIT).and_then(|held| look(server, store, held, helper)),
        Event::Changed(_) => coalesced_look(server, store, helper),
    };
    if let Err(error) = &result {
        let level = if matches!(error.code, "no_answer" | "other_server") { Level::Warn } else { Level::Error };
        store.log(level, &format!("hook {}", event.name()), &error.message);
    }
    result
}

/// Arms the next round before anything else, so that nothing that goes wrong here ends the timer.
fn tick(server: &Server, store: &Store, token: &str, interval: f64, helper: &str) -> Result<()> {
    match timer::arm(server, helper, interval, interval, Some(token)) {
        // A reload started another timer: this one ends.
        Ok(false) => return Ok(()),
        Ok(true) => {}
        Err(failure) => store.log(Level::Warn, "hook tick", &failure.to_string()),
    }
    coalesced_look(server, store, helper)
}

fn coalesced_look(server: &Server, store: &Store, helper: &str) -> Result<()> {
    match store.turn(LOCK_LIMIT)? {
        Turn::Mine(held) => look(server, store, held, helper),
        Turn::SomebodyWaits => Ok(()),
    }
}

fn look(server: &Server, store: &Store, held: Lock, helper: &str) -> Result<()> {
    let config = Config::read();
    let recorded = record(server, store, &config, &held)?;
    drop(held);
    keep_timer(server, store, &recorded, helper);
    Ok(())
}

/// Restarts a timer that is missing, and brings its next round forward where a mark ripens before it.
pub(super) fn keep_timer(server: &Server, store: &Store, recorded: &Recorded, helper: &str) {
    let settings = Settings::of(&recorded.seen);
    if let Some(delay) = timer::needed(&recorded.seen.settings.timer, settings, recorded.changes.wanted_at, now()) {
        if let Err(failure) = timer::arm(server, helper, settings.interval, delay, None) {
            store.log(Level::Warn, "timer", &failure.to_string());
        }
    }
}
