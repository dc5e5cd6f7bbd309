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
    let next = Rearm { only_if: only_if.map(str::to_owned), ..round(helper, interval, delay) };
    Ok(server.arm(&next, LIMIT)? == next.token)
}

/// A round of a new timer, `delay` seconds from now.
pub(super) fn round(helper: &str, interval: f64, delay: f64) -> Rearm {
    let due = now().saturating_add(millis(delay));
    let unique = getrandom::u32().unwrap_or_default();
    let token = format!("{due}.{}.{unique:08x}", millis(interval));
    Rearm { only_if: None, command: call(helper, &["hook", "tick", &token]), token, delay }
}

fn millis(seconds: f64) -> EpochMs {
    u64::try_from(Duration::from_secs_f64(seconds).as_millis()).unwrap_or(u64::MAX)
}

/// What a token tells, `<due, epoch ms>.<interval, ms>.<random>`; `None` for what is none, and could not be compared inside a format.
fn read(token: &str) -> Option<(EpochMs, u64)> {
    let mut parts = token.splitn(3, '.');
    let (due, interval, unique) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?, parts.next()?);
    unique.bytes().all(|byte| byte.is_ascii_hexdigit()).then_some((due, interval))
}

/// The interval of the timer that this token is of, in seconds: 0.1 to a day.
pub(super) fn interval_of(token: &str) -> Option<f64> {
    let (_, interval) = read(token)?;
    (100..=86_400_000).contains(&interval).then(|| Duration::from_millis(interval).as_secs_f64())
}

/// A token from far ahead was made by a clock that has been set back since.
fn is_on_time(due: EpochMs, interval: u64, now: EpochMs) -> bool {
    due.saturating_add(interval).saturating_add(LATE) > now && due <= now.saturating_add(interval).saturating_add(LATE)
}

/// Whether a timer of this token runs.
pub(super) fn runs(token: &str, now: EpochMs) -> bool {
    read(token).is_some_and(|(due, interval)| is_on_time(due, interval, now))
}

/// When the next round must be armed anew, in seconds from now: no timer of this interval runs, or a look is wanted before its
/// next round. An empty token means that the plugin is not loaded, or is no longer: a late look must not bring it back.
pub(super) fn needed(token: &str, settings: Settings, wanted_at: Option<EpochMs>, now: EpochMs) -> Option<f64> {
    if token.is_empty() {
        return None;
    }
    let interval = millis(settings.interval);
    let running = read(token).filter(|&(due, of)| of == interval && is_on_time(due, interval, now)).map(|(due, _)| due);
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
            ("", None, None),
            ("junk", None, Some(15.0)),
            ("1010000.15000.0a", None, None),
            // One round late and more: it is gone.
            ("970000.15000.0a", None, Some(15.0)),
            // Made before the clock was set back.
            ("9000000.15000.0a", None, Some(15.0)),
            // Of another interval: the user has changed it.
            ("1010000.60000.0a", None, Some(15.0)),
            ("1010000.15000.0a", Some(1_002_000), Some(2.02)),
            ("1001000.15000.0a", Some(1_002_000), None),
            ("", Some(1_002_000), None),
            ("junk", Some(1_002_000), Some(2.02)),
            ("1010000.15000.0a", Some(900_000), Some(0.02)),
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
        assert_eq!(interval_of("1010000.15000.0a1b2c3d"), Some(15.0));
        for bad in ["", "1", "1.2", "x.1.a", "1.x.a", "1.1000.#{pid}", "1.1000.a,b", "1.1000.a}", "1.1.a", "1.999999999.a"] {
            assert_eq!(interval_of(bad), None, "{bad}");
        }
    }
}
