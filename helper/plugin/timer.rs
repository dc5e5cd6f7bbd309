//! The timer for what has no hook: a delayed `run-shell` that each round arms anew, with no status line and no client.

use std::time::Duration;

use super::hooks::call;
use crate::model::EpochMs;
use crate::record::{Settings, now};
use crate::tmux::{Failure, Rearm, Server};

const LIMIT: Duration = Duration::from_secs(5);

/// A round is only missed when it is this late, in ms: a busy machine is no reason for a second timer.
const LATE: EpochMs = 5_000;

/// Arms a round `delay` seconds from now; with `only_if`, unless a newer timer took over. Gives whether it is armed.
pub(super) fn arm(server: &Server, helper: &str, interval: f64, delay: f64, only_if: Option<&str>) -> Result<bool, Failure> {
    let due = now().saturating_add(u64::try_from(Duration::from_secs_f64(delay).as_millis()).unwrap_or(0));
    let unique = getrandom::u32().unwrap_or_default();
    let token = format!("{due}.{unique:08x}");
    let interval = format!("{interval}");
    let rearm = Rearm {
        only_if: only_if.map(str::to_owned),
        command: call(helper, &["hook", "tick", &token, &interval]),
        token: token.clone(),
        delay,
    };
    Ok(server.arm(&rearm, LIMIT)? == token)
}

/// Whether the token has a form that can be compared inside a tmux format.
pub(super) fn is_token(text: &str) -> bool {
    due(text).is_some() && text.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'.')
}

fn due(token: &str) -> Option<EpochMs> {
    token.split_once('.')?.0.parse().ok()
}

/// When the next round must be armed anew, in seconds from now: no timer runs, or a look is wanted before its next round.
pub(super) fn needed(token: &str, settings: Settings, wanted_at: Option<EpochMs>, now: EpochMs) -> Option<f64> {
    let interval = u64::try_from(Duration::from_secs_f64(settings.interval).as_millis()).unwrap_or(u64::MAX);
    // A token from far ahead was made by a clock that has been set back since.
    let running = due(token)
        .filter(|&due| due.saturating_add(interval).saturating_add(LATE) > now && due <= now.saturating_add(interval).saturating_add(LATE));
    // A little late rather than a little early: what is looked for must be ripe.
    let wanted = wanted_at.map(|at| at.max(now).saturating_add(20));
    let next = match (running, wanted) {
        (Some(due), Some(wanted)) if wanted < due => wanted,
        (Some(_), _) => return None,
        (None, wanted) => wanted.unwrap_or(u64::MAX).min(now.saturating_add(interval)),
    };
    Some(Duration::from_millis(next.saturating_sub(now).max(20)).as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    const EVERY_15_S: Settings = Settings { grace: 10_000, interval: 15.0 };

    #[test]
    fn a_timer_is_armed_where_none_runs() {
        let now = 1_000_000;
        for (token, wanted_at, delay) in [
            ("", None, Some(15.0)),
            ("junk", None, Some(15.0)),
            ("1010000.0a", None, None),
            // One round late and more: it is gone.
            ("970000.0a", None, Some(15.0)),
            // Made before the clock was set back.
            ("9000000.0a", None, Some(15.0)),
            ("1010000.0a", Some(1_002_000), Some(2.02)),
            ("1001000.0a", Some(1_002_000), None),
            ("", Some(1_002_000), Some(2.02)),
            ("1010000.0a", Some(900_000), Some(0.02)),
        ] {
            let needed = needed(token, EVERY_15_S, wanted_at, now);
            assert_eq!(
                needed.map(|delay| (delay * 1000.0).round()),
                delay.map(|delay: f64| (delay * 1000.0).round()),
                "{token} {wanted_at:?}"
            );
        }
    }

    #[test]
    fn only_plain_tokens_go_into_a_format() {
        assert!(is_token("1010000.0a1b2c3d"));
        for bad in ["", "1", "x.1", "1.#{pid}", "1.a,b", "1.a}"] {
            assert!(!is_token(bad), "{bad}");
        }
    }
}
