//! Times as people write them, and snapshots, which stand for theirs.

use jiff::civil::{DateTime, Time};
use jiff::{Span, Timestamp, ZonedDateTime};

use crate::error::{Error, Exit, Result};
use crate::model::EpochMs;
use crate::store::is_snapshot_name;

const FORMS: &str = "write a local time like '2026-11-29 14:00' or '14:00', one with its zone like '2026-11-29T14:00Z', '2h ago', or a name that `sidecar snapshot list` shows";

/// What a plan goes by, in place of the newest of all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct AsOf<'a> {
    /// A time that has been.
    pub(super) time: Option<EpochMs>,
    /// A snapshot's name.
    pub(super) snapshot: Option<&'a str>,
}

/// Reads what `--as-of` was given.
pub(super) fn as_of(text: Option<&str>) -> Result<AsOf<'_>> {
    match text.map(str::trim) {
        None => Ok(AsOf::default()),
        Some(name) if is_snapshot_name(name) => Ok(AsOf { time: None, snapshot: Some(name) }),
        Some(text) => Ok(AsOf { time: Some(when(text)?), snapshot: None }),
    }
}

/// Reads a time that has been.
fn when(text: &str) -> Result<EpochMs> {
    read(text.trim(), &ZonedDateTime::now())
}

fn read(text: &str, now: &ZonedDateTime) -> Result<EpochMs> {
    let bad = |why: &str| Error::failed("usage", format!("--as-of '{text}': {why}")).exit(Exit::Usage).hint(FORMS);
    let at = parse(text, now).ok_or_else(|| bad("neither a time nor the name of a snapshot"))?;
    if at > now.timestamp() {
        return Err(bad("that is yet to come"));
    }
    u64::try_from(at.as_millisecond()).map_err(|_| bad("that is before 1970"))
}

fn parse(text: &str, now: &ZonedDateTime) -> Option<Timestamp> {
    if let Ok(at) = text.parse::<Timestamp>() {
        return Some(at);
    }
    if let Ok(at) = text.parse::<ZonedDateTime>() {
        return Some(at.timestamp());
    }
    // A day alone would be its first moment, which is hardly what is meant.
    if let Some(at) = text.parse::<DateTime>().ok().filter(|_| text.contains(':')) {
        return Some(at.to_zoned_datetime(now.time_zone().clone()).ok()?.timestamp());
    }
    if let Some(time) = text.parse::<Time>().ok().filter(|_| text.contains(':')) {
        let on = |day: &ZonedDateTime| Some(day.date().to_datetime(time).to_zoned_datetime(now.time_zone().clone()).ok()?.timestamp());
        // The last time that a clock showed it.
        return on(now).filter(|at| *at <= now.timestamp()).or_else(|| on(&now.yesterday().ok()?));
    }
    let span = text.ends_with("ago").then(|| text.parse::<Span>().ok())??;
    Some(now.checked_add(span).ok()?.timestamp())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_in_every_form_they_are_told_in() {
        let now: ZonedDateTime = "2026-11-29T15:30:00+01:00[Europe/Paris]".parse().unwrap();
        let at = |text: &str| {
            let ms = i64::try_from(read(text, &now).unwrap_or_else(|error| panic!("{error}"))).unwrap();
            Timestamp::from_millisecond(ms).unwrap().to_string()
        };
        for (text, wanted) in [
            ("2026-11-29 14:00", "2026-11-29T13:00:00Z"),
            ("2026-11-29T14:00:05", "2026-11-29T13:00:05Z"),
            ("14:00", "2026-11-29T13:00:00Z"),
            ("15:31", "2026-11-28T14:31:00Z"),
            ("2026-11-29T14:00Z", "2026-11-29T14:00:00Z"),
            ("2026-11-29T12:00:00-01:00", "2026-11-29T13:00:00Z"),
            ("2026-11-29T14:00+01:00[Europe/Paris]", "2026-11-29T13:00:00Z"),
            ("2026-07-01 14:00", "2026-07-01T12:00:00Z"),
            ("2h ago", "2026-11-29T12:30:00Z"),
            ("1 day 30 minutes ago", "2026-11-28T14:00:00Z"),
        ] {
            assert_eq!(at(text), wanted, "{text}");
        }
        assert_eq!(as_of(Some(" snap-20261129-231500 ")).unwrap().snapshot, Some("snap-20261129-231500"));
        assert_eq!(as_of(None).unwrap(), AsOf::default());
        let no_times = [
            "",
            "yesterday",
            "2026-11-29",
            "25:00",
            "2026-13-01 10:00",
            "14",
            "2h",
            "-2h ago",
            "2h ago ago",
            "snap-20261129-231500",
            "snap-1",
        ];
        for bad in no_times.into_iter().chain(["2026-11-29 15:31", "1969-01-01 10:00", "9999-01-01 10:00"]) {
            let error = read(bad, &now).unwrap_err();
            assert_eq!(error.exit, Exit::Usage);
            assert!(error.message.contains(&format!("'{bad}'")), "{error}");
        }
    }
}
