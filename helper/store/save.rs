//! Writing `shells.json`, and keeping its earlier generations.

use std::path::{Path, PathBuf};

use super::files::{Files, replace};
use super::load::{Loaded, Source, current, generations, parse};
use super::paths;
use crate::error::{Error, Result};
use crate::model::{Generation, SCHEMA_VERSION, Shell, State};

/// How many earlier generations of the file are kept.
const KEPT: usize = 10;
/// A changed file becomes a generation of its own at least this often, in ms.
const ROTATE_AFTER: u64 = 60 * 60 * 1000;

pub(super) fn save(files: &dyn Files, dir: &Path, loaded: &Loaded, state: &State, now: u64) -> Result<bool> {
    if !loaded.writable {
        return Err(Error::failed(
            "state_newer",
            format!(
                "cannot write {}: it is of schema version {}, newer than {SCHEMA_VERSION}",
                current(dir).display(),
                loaded.state.version
            ),
        )
        .hint("update sidecar; nothing was changed"));
    }
    if loaded.source == Source::Current && loaded.state == *state {
        return Ok(false);
    }
    sweep(files, dir);
    let path = current(dir);
    let mut content = serde_json::to_vec(state).map_err(|error| Error::failed("state", format!("cannot write the records: {error}")))?;
    content.push(b'\n');
    let rotate = |_: &Path| -> std::io::Result<()> {
        match &loaded.source {
            Source::Nothing => Ok(()),
            Source::Fallback(_) => quarantine(files, &path, now),
            // Another version's file is always kept.
            Source::Older(_) => keep_generation(files, dir, &path),
            Source::Current if worth_keeping(&loaded.state, state, newest_age(dir, now)) => keep_generation(files, dir, &path),
            Source::Current => Ok(()),
        }
    };
    replace(files, &path, &content, rotate).map_err(|error| {
        let why = paths::unwritable(dir).unwrap_or_else(|| error.to_string());
        Error::failed("state_unwritable", format!("cannot write the records: {why}"))
            .hint("the old records are intact; make room or give the folder back to your user")
    })?;
    Ok(true)
}

/// Removes what writers left behind that were killed; the lock is held, so nobody writes now.
pub(super) fn sweep(files: &dyn Files, dir: &Path) {
    for entry in fs_err::read_dir(dir).into_iter().flatten().filter_map(std::result::Result::ok) {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if name.starts_with('.') && name.ends_with(".tmp") {
            let _ = files.remove(&entry.path());
        }
    }
}

/// Whether the present file should outlive the change: a new life of the server, fewer records, or an hour since the last one.
fn worth_keeping(before: &State, after: &State, age: Option<u64>) -> bool {
    let panes = |state: &State| state.shells.iter().flat_map(Shell::panes).count();
    before.generation != after.generation || panes(after) < panes(before) || age.is_none_or(|age| age >= ROTATE_AFTER)
}

/// Age of the newest earlier generation, in ms; `None` if there is none.
fn newest_age(dir: &Path, now: u64) -> Option<u64> {
    let (_, newest) = generations(dir).into_iter().next()?;
    let modified = fs_err::metadata(newest).ok()?.modified().ok()?;
    let modified = modified.duration_since(std::time::UNIX_EPOCH).ok()?.as_millis();
    Some(now.saturating_sub(u64::try_from(modified).unwrap_or(u64::MAX)))
}

/// The files that were moved aside, the oldest first.
pub(super) fn moved_aside(dir: &Path) -> Vec<PathBuf> {
    let entries = fs_err::read_dir(dir).into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path()));
    let is_one = |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("shells.json.corrupt-"));
    let mut found: Vec<PathBuf> = entries.filter(is_one).collect();
    found.sort();
    found
}

/// Moves an unreadable file aside, so that it can still be looked into.
fn quarantine(files: &dyn Files, path: &Path, now: u64) -> std::io::Result<()> {
    if !path.exists() {
        return Ok(());
    }
    let mut aside = path.with_file_name(format!("shells.json.corrupt-{now}"));
    let mut number = 1;
    while aside.exists() {
        aside = path.with_file_name(format!("shells.json.corrupt-{now}-{number}"));
        number += 1;
    }
    files.rename(path, &aside)
}

/// The present file becomes generation 1, by a second name, so that it is never missing; the others move up by one.
fn keep_generation(files: &dyn Files, dir: &Path, path: &Path) -> std::io::Result<()> {
    let mut kept = generations(dir);
    if kept.len() >= KEPT {
        let (_, dropped) = kept.remove(least_worth(&kept));
        files.remove(&dropped)?;
    }
    // The highest first: each moves into a free place, and a crash between two leaves a gap and no loss.
    for (place, (_, from)) in kept.iter().enumerate().rev() {
        let to = numbered(dir, place + 2);
        if *from != to {
            files.rename(from, &to)?;
        }
    }
    let first = numbered(dir, 1);
    if files.link(path, &first).is_err() {
        // A file system without hard links.
        let content = fs_err::read(path)?;
        files.create(&first, &content)?;
        files.sync(&first)?;
    }
    Ok(())
}

fn numbered(dir: &Path, number: usize) -> PathBuf {
    dir.join(format!("shells.json.{number}"))
}

/// Which of the kept ones to give up: the oldest that another one of the same server generation outlives, else the oldest.
fn least_worth(kept: &[(u32, PathBuf)]) -> usize {
    let of: Vec<Option<Generation>> = kept
        .iter()
        .map(|(_, path)| fs_err::read(path).ok().and_then(|bytes| parse(&bytes).ok()).and_then(|loaded| loaded.state.generation))
        .collect();
    // Of each generation the newest copy stands first in the list and stays.
    (0..kept.len()).rev().find(|&at| of[..at].contains(&of[at])).unwrap_or(kept.len() - 1)
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::io::{Error as IoError, Result as IoResult};

    use super::*;
    use crate::store::files::Disk;
    use crate::store::load::load;

    fn state(names: &[&str], pid: i32) -> State {
        State {
            generation: Some(Generation { boot: "b".into(), pid, start_time: 1, process_start: None }),
            shells: names
                .iter()
                .enumerate()
                .map(|(n, name)| Shell { id: format!("sh-000{n}"), session: (*name).into(), ..Shell::default() })
                .collect(),
            ..State::default()
        }
    }

    fn names(dir: &Path) -> Vec<String> {
        load(dir).unwrap().state.shells.iter().map(|shell| shell.session.clone()).collect()
    }

    /// Stands for a process that is killed before its step number `left`, with what was never synced lost or torn.
    struct Killed {
        left: Cell<u32>,
        torn: bool,
        unsynced: std::cell::RefCell<Vec<PathBuf>>,
    }

    impl Killed {
        fn step(&self) -> IoResult<()> {
            match self.left.get() {
                0 => {
                    for path in self.unsynced.borrow().iter().filter(|_| self.torn) {
                        // The file system had the name on disk before the content.
                        if let Ok(content) = std::fs::read(path) {
                            std::fs::write(path, &content[..content.len() / 2]).unwrap();
                        }
                    }
                    self.unsynced.borrow_mut().clear();
                    Err(IoError::other("killed"))
                }
                left => {
                    self.left.set(left - 1);
                    Ok(())
                }
            }
        }
    }

    impl Files for Killed {
        fn create(&self, path: &Path, content: &[u8]) -> IoResult<()> {
            self.step()?;
            self.unsynced.borrow_mut().push(path.to_owned());
            Disk.create(path, content)
        }
        fn sync(&self, path: &Path) -> IoResult<()> {
            self.step()?;
            self.unsynced.borrow_mut().retain(|other| other != path);
            Disk.sync(path)
        }
        fn rename(&self, from: &Path, to: &Path) -> IoResult<()> {
            self.step()?;
            for path in self.unsynced.borrow_mut().iter_mut().filter(|path| *path == from) {
                to.clone_into(path);
            }
            Disk.rename(from, to)
        }
        fn link(&self, from: &Path, to: &Path) -> IoResult<()> {
            self.step()?;
            Disk.link(from, to)
        }
        fn remove(&self, path: &Path) -> IoResult<()> {
            // A killed process does not clean up either.
            self.step()?;
            Disk.remove(path)
        }
    }

    #[test]
    fn killed_before_any_step_leaves_the_old_records_or_the_new_ones() {
        for torn in [false, true] {
            for damaged in [false, true] {
                let mut step = 0;
                loop {
                    let dir = tempfile::tempdir().unwrap();
                    // Twelve lives of the server, so that rotation also drops one.
                    for pid in 1..13 {
                        save(&Disk, dir.path(), &load(dir.path()).unwrap(), &state(&["old", "both"], pid), 1).unwrap();
                    }
                    if damaged {
                        std::fs::write(current(dir.path()), "{\"version\":3,").unwrap();
                    }
                    let killed = Killed { left: Cell::new(step), torn, unsynced: std::cell::RefCell::default() };
                    let result = save(&killed, dir.path(), &load(dir.path()).unwrap(), &state(&["new", "both"], 99), 2);
                    let now = names(dir.path());
                    let whole = if result.is_ok() { &["new"][..] } else { &["old", "new"] };
                    assert!(now.len() == 2 && whole.contains(&now[0].as_str()), "step {step}, torn {torn}: {now:?}");
                    // And the next run simply works.
                    save(&Disk, dir.path(), &load(dir.path()).unwrap(), &state(&["next", "both"], 99), 3).unwrap();
                    assert_eq!(names(dir.path()), ["next", "both"]);
                    if result.is_ok() {
                        assert!(step > 4, "a write has more steps than {step}");
                        break;
                    }
                    step += 1;
                }
            }
        }
    }

    #[test]
    fn nothing_is_written_if_nothing_changed() {
        let dir = tempfile::tempdir().unwrap();
        let kept = load(dir.path()).unwrap().state;
        assert!(save(&Disk, dir.path(), &load(dir.path()).unwrap(), &kept, 1).unwrap());
        assert!(
            !save(
                &Killed { left: Cell::new(0), torn: false, unsynced: std::cell::RefCell::default() },
                dir.path(),
                &load(dir.path()).unwrap(),
                &kept,
                2
            )
            .unwrap()
        );
    }

    #[test]
    fn each_life_of_the_server_keeps_a_generation() {
        let dir = tempfile::tempdir().unwrap();
        for pid in 1..=5 {
            for shrinking in [&["a", "b", "c"][..], &["a", "b"], &["a"]] {
                save(&Disk, dir.path(), &load(dir.path()).unwrap(), &state(shrinking, pid), 1).unwrap();
            }
        }
        let kept = generations(dir.path());
        assert!(kept.len() <= KEPT, "{kept:?}");
        let pids: Vec<i32> =
            kept.iter().map(|(_, path)| parse(&std::fs::read(path).unwrap()).unwrap().state.generation.unwrap().pid).collect();
        for pid in 1..5 {
            assert!(pids.contains(&pid), "{pids:?}");
        }
    }

    #[test]
    fn a_damaged_file_is_moved_aside_and_the_newest_good_generation_used() {
        for damage in ["", "\0\0\0", "{\"version\":3,\"she", "no"] {
            let dir = tempfile::tempdir().unwrap();
            for pid in 1..=3 {
                save(&Disk, dir.path(), &load(dir.path()).unwrap(), &state(&["good"], pid), 1).unwrap();
            }
            std::fs::write(current(dir.path()), damage).unwrap();
            std::fs::write(dir.path().join("shells.json.1"), "also bad").unwrap();
            let loaded = load(dir.path()).unwrap();
            assert!(loaded.notices[0].contains("shells.json.2"), "{:?}", loaded.notices);
            assert_eq!(loaded.state.shells[0].session, "good");
            assert!(current(dir.path()).exists(), "reading changes nothing");
            save(&Disk, dir.path(), &loaded, &loaded.state, 7).unwrap();
            assert_eq!(std::fs::read_to_string(dir.path().join("shells.json.corrupt-7")).unwrap(), damage);
            assert_eq!(load(dir.path()).unwrap().source, Source::Current);
        }
    }

    #[test]
    fn a_newer_file_is_never_written_over() {
        let dir = tempfile::tempdir().unwrap();
        let newer = r#"{"version":4,"shells":[{"id":"sh-0000","session":"a"}],"tombstones":[]}"#;
        std::fs::write(current(dir.path()), newer).unwrap();
        let loaded = load(dir.path()).unwrap();
        let error = save(&Disk, dir.path(), &loaded, &state(&["b"], 1), 1).unwrap_err();
        assert_eq!(error.code, "state_newer");
        assert_eq!(std::fs::read_to_string(current(dir.path())).unwrap(), newer);
    }

    #[test]
    fn an_older_file_is_kept_when_it_is_migrated() {
        let dir = tempfile::tempdir().unwrap();
        let old = r#"{"version":1,"shells":[{"id":"sh-0000","session":"a"}]}"#;
        std::fs::write(current(dir.path()), old).unwrap();
        let loaded = load(dir.path()).unwrap();
        assert!(save(&Disk, dir.path(), &loaded, &loaded.state, 1).unwrap());
        assert_eq!(std::fs::read_to_string(dir.path().join("shells.json.1")).unwrap(), old);
        assert_eq!(names(dir.path()), ["a"]);
    }

    #[test]
    fn a_full_disk_leaves_the_old_records() {
        struct Full;
        impl Files for Full {
            fn create(&self, path: &Path, content: &[u8]) -> IoResult<()> {
                Disk.create(path, &content[..content.len() / 2])?;
                Err(IoError::from_raw_os_error(nix::errno::Errno::ENOSPC as i32))
            }
            fn sync(&self, path: &Path) -> IoResult<()> {
                Disk.sync(path)
            }
            fn rename(&self, from: &Path, to: &Path) -> IoResult<()> {
                Disk.rename(from, to)
            }
            fn link(&self, from: &Path, to: &Path) -> IoResult<()> {
                Disk.link(from, to)
            }
            fn remove(&self, path: &Path) -> IoResult<()> {
                Disk.remove(path)
            }
        }
        let dir = tempfile::tempdir().unwrap();
        save(&Disk, dir.path(), &load(dir.path()).unwrap(), &state(&["old"], 1), 1).unwrap();
        let error = save(&Full, dir.path(), &load(dir.path()).unwrap(), &state(&["new"], 1), 1).unwrap_err();
        assert!(error.message.contains("No space left"), "{error}");
        assert_eq!(names(dir.path()), ["old"]);
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1, "the half-written file is gone");
    }
}
