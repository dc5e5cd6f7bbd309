//! Snapshots: frozen copies of the records, a file each, which nothing changes but the end of a record for good.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::files::{Disk, Files, read_plain, replace};
use super::load::parse;
use super::{lock, paths, save};
use crate::error::{Error, Exit, Result};
use crate::model::{EpochMs, SNAPSHOT_VERSION, Snapshot};

const FOLDER: &str = "snapshots";
/// Most of what is read of one: the records of thousands of panes.
const LONGEST: u64 = 64 * 1024 * 1024;
const DAY: EpochMs = 24 * 60 * 60 * 1000;
/// For so many days the newest one of each is kept.
const DAYS: u64 = 14;

/// Whether this is the form of a snapshot's name: `snap-20261129-231500`, the time (UTC) at which it was taken, and `-2` for a second one
/// of the same second. No time is written so.
pub fn is_snapshot_name(text: &str) -> bool {
    let digits = |text: &str, length| text.len() == length && text.bytes().all(|byte| byte.is_ascii_digit());
    let parts: Vec<&str> = text.split('-').collect();
    match parts[..] {
        ["snap", day, time] => digits(day, 8) && digits(time, 6),
        ["snap", day, time, number] => digits(day, 8) && digits(time, 6) && (1..=3).contains(&number.len()) && digits(number, number.len()),
        _ => false,
    }
}

fn name_of(at: EpochMs) -> String {
    let time = i64::try_from(at).ok().and_then(|at| jiff::Timestamp::from_millisecond(at).ok()).unwrap_or_default();
    time.strftime("snap-%Y%m%d-%H%M%S").to_string()
}

/// When the snapshot of this name was taken, to the second.
fn time_of(name: &str) -> Option<EpochMs> {
    let time = jiff::civil::DateTime::strptime("%Y%m%d-%H%M%S", name.get(5..20)?).ok()?;
    u64::try_from(jiff::tz::TimeZone::UTC.to_timestamp(time).ok()?.as_millisecond()).ok()
}

fn file(dir: &Path, name: &str) -> PathBuf {
    dir.join(FOLDER).join(format!("{name}.json"))
}

/// The names, the oldest first.
pub(super) fn names(dir: &Path) -> Vec<String> {
    let entries = fs_err::read_dir(dir.join(FOLDER)).into_iter().flatten().filter_map(std::result::Result::ok);
    let names = entries.filter_map(|entry| entry.file_name().to_str()?.strip_suffix(".json").map(str::to_owned));
    let mut names: Vec<String> = names.filter(|name| is_snapshot_name(name)).collect();
    // `-10` comes behind `-9`.
    names.sort_by_key(|name| (name.get(..20).map(str::to_owned), name.len(), name.clone()));
    names
}

/// That of this name.
pub(super) fn read(dir: &Path, name: &str) -> Result<Snapshot> {
    let path = file(dir, name);
    let none = || {
        let known = names(dir);
        let hint = match known.last() {
            Some(newest) => format!("the newest is {newest}; `sidecar snapshot list` shows all"),
            None => "there is none: `sidecar snapshot save` makes one".to_owned(),
        };
        Error::failed("no_such_snapshot", format!("no snapshot is named '{name}'")).exit(Exit::NoTarget).hint(hint)
    };
    if !is_snapshot_name(name) {
        return Err(none());
    }
    let length = match fs_err::metadata(&path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Err(none()),
        data => data?.len(),
    };
    let bad = |why: String| {
        Error::failed("snapshot_unreadable", format!("cannot read the snapshot {}: {why}", path.display()))
            .hint("`sidecar snapshot list` shows the others")
    };
    if length > LONGEST {
        return Err(bad(format!("it has {length} bytes, more than any snapshot")));
    }
    let bytes = read_plain(&path).map_err(|error| bad(error.to_string()))?;
    let value: Value = serde_json::from_slice(&bytes).map_err(|error| bad(format!("it is not JSON ({error})")))?;
    let Value::Object(mut object) = value else { return Err(bad("it holds no JSON object".to_owned())) };
    if let Some(version) = object.get("version").and_then(Value::as_u64).filter(|&version| version > SNAPSHOT_VERSION) {
        return Err(bad(format!("it is of version {version}, newer than {SNAPSHOT_VERSION}; update sidecar")));
    }
    // The records in it are read as those of any older version are.
    let records = serde_json::to_vec(&object.remove("state")).map_err(|error| bad(error.to_string()))?;
    let loaded = parse(&records).map_err(|why| bad(format!("its records: {why}")))?;
    if !loaded.writable {
        return Err(bad("its records are of a newer version; update sidecar".to_owned()));
    }
    object.insert("state".to_owned(), serde_json::to_value(&loaded.state).map_err(|error| bad(error.to_string()))?);
    let value = Value::Object(object);
    serde_json::from_value(value).map_err(|error| bad(error.to_string()))
}

/// Writes a new one; gives its name.
pub(super) fn add(dir: &Path, snapshot: &Snapshot) -> Result<String> {
    let folder = dir.join(FOLDER);
    lock::make_dir(&folder)?;
    save::sweep(&Disk, &folder);
    let first = name_of(snapshot.at);
    let mut free = std::iter::once(first.clone()).chain((2..1000).map(|number| format!("{first}-{number}")));
    let name = free.find(|name| !file(dir, name).exists()).ok_or_else(|| Error::failed("busy", "too many snapshots in one second"))?;
    write(dir, &name, snapshot)?;
    Ok(name)
}

fn write(dir: &Path, name: &str, snapshot: &Snapshot) -> Result<()> {
    let content = serde_json::to_vec(snapshot).map_err(|error| Error::failed("snapshot", format!("cannot write a snapshot: {error}")))?;
    replace(&Disk, &file(dir, name), &content, |_| Ok(())).map_err(|error| {
        let why = paths::unwritable(&dir.join(FOLDER)).unwrap_or_else(|| error.to_string());
        Error::failed("state_unwritable", format!("cannot write the snapshot {name}: {why}"))
            .hint("the records and the other snapshots are intact")
    })
}

/// Removes one.
pub(super) fn remove(dir: &Path, name: &str) -> Result<()> {
    Ok(Disk.remove(&file(dir, name))?)
}

/// Takes these shells out of every snapshot: their records are gone for good. One that can't be read stays as it is.
pub(super) fn drop_shells(dir: &Path, ids: &BTreeSet<&str>) -> Result<()> {
    for name in names(dir) {
        let Ok(mut snapshot) = read(dir, &name) else { continue };
        let before = snapshot.state.shells.len();
        snapshot.state.shells.retain(|shell| !ids.contains(shell.id.as_str()));
        if snapshot.state.shells.len() != before {
            write(dir, &name, &snapshot)?;
        }
    }
    Ok(())
}

/// Those of these names, the oldest first, that are not kept: the newest `keep` are, and of each of the last days, counted from the
/// newest snapshot, the last one. So nothing is given up by the clock alone. Those that are yet to come, since the clock was set back,
/// are counted by themselves: else each new one would be older than all, and given up at once.
pub fn superfluous(names: &[String], keep: usize, now: EpochMs) -> Vec<String> {
    let (past, future): (Vec<String>, Vec<String>) = names.iter().cloned().partition(|name| time_of(name).is_none_or(|time| time <= now));
    [superfluous_of(&past, keep), superfluous_of(&future, keep)].concat()
}

fn superfluous_of(names: &[String], keep: usize) -> Vec<String> {
    let newest = names.iter().filter_map(|name| time_of(name)).max().unwrap_or_default() / DAY;
    let mut days: BTreeSet<u64> = BTreeSet::new();
    let mut gone = Vec::new();
    for (place, name) in names.iter().rev().enumerate() {
        let day = time_of(name).map_or(0, |time| time / DAY);
        let last_of_day = newest - day < DAYS && days.insert(day);
        if place >= keep && !last_of_day {
            gone.push(name.clone());
        }
    }
    gone.reverse();
    gone
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Shell, State};

    fn snapshot(at: EpochMs, ids: &[&str]) -> Snapshot {
        let shells = ids.iter().map(|id| Shell { id: (*id).into(), session: (*id).into(), ..Shell::default() }).collect();
        let state = State { shells, ..State::default() };
        Snapshot { version: SNAPSHOT_VERSION, at, running: Vec::new(), state, extra: serde_json::Map::new() }
    }

    #[test]
    fn a_name_is_a_moment_and_no_other_text_is_one() {
        for good in ["snap-20261129-231500", "snap-20261129-231500-2", "snap-20261129-231500-999"] {
            assert!(is_snapshot_name(good), "{good}");
        }
        for bad in
            ["", "snap", "snap-20261129", "snap-2026112-231500", "20261129-231500", "snap-20261129-231500-", "snap-20261129-231500-1234"]
        {
            assert!(!is_snapshot_name(bad), "{bad}");
        }
        assert!(!is_snapshot_name("snap-20261129-231500/../x") && !is_snapshot_name("../snap-20261129-231500"));
        let at = 1_795_994_100_000;
        assert_eq!((name_of(at).as_str(), time_of(&name_of(at))), ("snap-20261129-231500", Some(at)));
    }

    #[test]
    fn what_was_written_is_read_again_with_what_is_not_known_and_only_by_its_owner() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        let mut first = snapshot(1_795_994_100_000, &["sh-0001"]);
        first.extra.insert("mood".into(), 7.into());
        first.state.extra.insert("theme".into(), "dark".into());
        let name = add(dir.path(), &first).unwrap();
        let again: Vec<String> = (0..10).map(|_| add(dir.path(), &first).unwrap()).collect();
        assert_eq!(again[0], format!("{name}-2"));
        assert_eq!(names(dir.path()), [&[name.clone()][..], &again].concat());
        let read = read(dir.path(), &name).unwrap();
        assert_eq!((read.at, &read.extra["mood"], &read.state.extra["theme"]), (first.at, &7.into(), &"dark".into()));
        let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&dir.path().join(FOLDER)), mode(&file(dir.path(), &name))), (0o700, 0o600));
    }

    #[test]
    fn damage_and_newer_versions_are_told_by_name_and_cost_no_other() {
        let dir = tempfile::tempdir().unwrap();
        let good = add(dir.path(), &snapshot(1_795_994_100_000, &["sh-0001"])).unwrap();
        let bad = "snap-20261129-000000";
        for (text, why) in [
            ("", "not JSON"),
            ("{\"version\":1,\"at\":1,\"sta", "not JSON"),
            ("[]", "JSON object"),
            ("{\"version\":1,\"at\":1}", "JSON object"),
            ("{\"version\":2,\"at\":1,\"state\":{}}", "update sidecar"),
            ("{\"version\":1,\"at\":1,\"state\":{\"version\":9}}", "update sidecar"),
            ("{\"version\":1,\"state\":{\"version\":3}}", "at"),
        ] {
            std::fs::write(file(dir.path(), bad), text).unwrap();
            let error = read(dir.path(), bad).unwrap_err();
            assert!(error.code == "snapshot_unreadable" && error.message.contains(bad) && error.message.contains(why), "{text}: {error}");
        }
        assert!(read(dir.path(), &good).is_ok());
        for none in ["snap-20261130-000000", "../../etc/passwd", "web"] {
            let error = read(dir.path(), none).unwrap_err();
            assert!(error.exit == Exit::NoTarget && error.hint.unwrap().contains(&good), "{none}");
        }
    }

    #[test]
    fn the_newest_are_kept_and_the_last_of_each_day_for_fourteen_days() {
        let day = |day: u64, second: u64| name_of(1_795_910_400_000 + day * DAY + second * 1000);
        let mut all: Vec<String> = (0..20).flat_map(|number| [day(number, 0), day(number, 5)]).collect();
        let superfluous = |names: &[String], keep| superfluous(names, keep, u64::MAX);
        let gone = superfluous(&all, 3);
        let kept: Vec<String> = all.iter().filter(|name| !gone.contains(name)).cloned().collect();
        let wanted: Vec<String> = (6..18).map(|number| day(number, 5)).chain([day(18, 5), day(19, 0), day(19, 5)]).collect();
        assert_eq!(kept, wanted);
        assert_eq!(superfluous(&all, 1000), [""; 0]);
        // Once a day has nothing newer, its last one stays; a leap of the clock gives up only what the new one outlives.
        all = vec![day(0, 0), day(0, 5), day(300, 0)];
        assert_eq!(superfluous(&all, 1), [day(0, 0), day(0, 5)]);
        assert_eq!(superfluous(&all, 2), [day(0, 0)]);
    }

    #[test]
    fn what_is_taken_after_the_clock_was_set_back_is_kept() {
        let at = |second: u64| name_of(1_795_910_400_000 + second * 1000);
        let future: Vec<String> = (0..5).map(|second| name_of(2_000_000_000_000 + second * 1000)).collect();
        let all = [&[at(0), at(1), at(2)], &future[..]].concat();
        let now = 1_795_910_400_000 + 2000;
        assert_eq!(superfluous(&all, 2, now), [&[at(0)], &future[..3]].concat());
        // A wrong clock alone gives nothing up that the right one would keep.
        assert_eq!(superfluous(&all, 2, 0), superfluous(&all, 2, u64::MAX));
    }

    #[test]
    fn a_shell_that_is_gone_for_good_leaves_every_snapshot_and_no_other_does() {
        let dir = tempfile::tempdir().unwrap();
        let both = add(dir.path(), &snapshot(1_795_994_100_000, &["sh-0001", "sh-0002"])).unwrap();
        let other = add(dir.path(), &snapshot(1_795_994_200_000, &["sh-0002"])).unwrap();
        let untouched = std::fs::read(file(dir.path(), &other)).unwrap();
        std::fs::write(file(dir.path(), "snap-20261129-000000"), "{").unwrap();
        drop_shells(dir.path(), &BTreeSet::from(["sh-0001"])).unwrap();
        assert_eq!(read(dir.path(), &both).unwrap().state.shells.len(), 1);
        assert_eq!(std::fs::read(file(dir.path(), &other)).unwrap(), untouched);
    }
}
