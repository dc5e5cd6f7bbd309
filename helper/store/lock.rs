//! The advisory lock, and the queue before it that holds at most one.

use std::path::Path;
use std::time::{Duration, Instant};

use nix::fcntl::{Flock, FlockArg};

use super::files::open_append;
use super::paths;
use crate::error::{Error, Result};

/// The lock, held until it is dropped.
#[derive(Debug)]
pub struct Lock {
    file: Flock<std::fs::File>,
}

impl Lock {
    pub(super) fn touch(&self) {
        let now = std::time::SystemTime::now();
        // Only for people; a file system that refuses it costs the words 'gone since' alone.
        let _ = self.file.set_modified(now);
    }
}

/// What became of a helper that came to work.
#[derive(Debug)]
pub enum Turn {
    /// It is its turn.
    Mine(Lock),
    /// Another one waits already, and has not looked yet: it will see what this one came for.
    SomebodyWaits,
}

/// Makes the folder (0700, and its parents that are missing) and takes the lock.
pub(super) fn lock(dir: &Path, limit: Duration) -> Result<Lock> {
    lock_named(dir, "lock", limit)
}

pub(super) fn lock_named(dir: &Path, name: &str, limit: Duration) -> Result<Lock> {
    make_dir(dir)?;
    take(&dir.join(name), limit)
}

pub(super) fn turn(dir: &Path, limit: Duration) -> Result<Turn> {
    make_dir(dir)?;
    let queue = open(&dir.join("queue"))?;
    let place = match Flock::lock(queue, FlockArg::LockExclusiveNonblock) {
        Ok(place) => place,
        Err((_, nix::errno::Errno::EWOULDBLOCK)) => return Ok(Turn::SomebodyWaits),
        Err((_, error)) => return Err(Error::failed("lock", format!("cannot lock {}: {}", dir.join("queue").display(), error.desc()))),
    };
    let lock = take(&dir.join("lock"), limit)?;
    // From here on who comes later must wait for a look of their own: this one is about to begin.
    drop(place);
    Ok(Turn::Mine(lock))
}

pub(super) fn last_look(dir: &Path) -> Option<u64> {
    let modified = fs_err::metadata(dir.join("lock")).ok()?.modified().ok()?;
    modified.duration_since(std::time::UNIX_EPOCH).ok().and_then(|since| u64::try_from(since.as_millis()).ok())
}

fn take(path: &Path, limit: Duration) -> Result<Lock> {
    take_file(path, limit).map(|file| Lock { file })
}

/// Opens a file and locks it, waiting for at most `limit`.
pub(super) fn take_file(path: &Path, limit: Duration) -> Result<Flock<std::fs::File>> {
    let deadline = Instant::now() + limit;
    let mut file = open(path)?;
    let mut pause = Duration::from_millis(1);
    loop {
        file = match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
            Ok(file) => return Ok(file),
            Err((file, nix::errno::Errno::EWOULDBLOCK | nix::errno::Errno::EINTR)) => file,
            Err((_, error)) => return Err(Error::failed("lock", format!("cannot lock {}: {}", path.display(), error.desc()))),
        };
        if Instant::now() >= deadline {
            return Err(Error::failed(
                "busy",
                format!("cannot lock {}: another sidecar has held it for {} s", path.display(), limit.as_secs()),
            )
            .hint("if it hangs, end that process; the records are safe"));
        }
        // flock has no time limit of its own.
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(20));
    }
}

fn open(path: &Path) -> Result<std::fs::File> {
    Ok(open_append(path)?.into_file())
}

pub(super) fn make_dir(dir: &Path) -> Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    if dir.is_dir() {
        return Ok(());
    }
    let result = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(dir);
    result.map_err(|error| {
        let why = paths::unwritable(dir).unwrap_or_else(|| error.to_string());
        Error::failed("state_unwritable", format!("cannot make the state folder {}: {why}", dir.display()))
            .hint("set XDG_STATE_HOME to a folder that can be written")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_held_lock_is_an_error_after_its_time_and_free_once_dropped() {
        let dir = tempfile::tempdir().unwrap();
        let held = lock(dir.path(), Duration::ZERO).unwrap();
        let error = lock(dir.path(), Duration::from_millis(5)).unwrap_err();
        assert_eq!(error.code, "busy");
        drop(held);
        lock(dir.path(), Duration::ZERO).unwrap();
    }

    #[test]
    fn one_works_one_waits_and_the_third_goes_home() {
        let dir = tempfile::tempdir().unwrap();
        let Turn::Mine(working) = turn(dir.path(), Duration::ZERO).unwrap() else { panic!("nobody else is here") };
        let (path, limit) = (dir.path().to_owned(), Duration::from_secs(20));
        // Each knock below holds the queue for a moment, so the second one comes until it has found it free.
        let waiting = std::thread::spawn(move || {
            loop {
                if let Turn::Mine(lock) = turn(&path, limit).unwrap() {
                    return lock;
                }
            }
        });
        let deadline = Instant::now() + limit;
        loop {
            match turn(dir.path(), Duration::ZERO) {
                Ok(Turn::SomebodyWaits) => break,
                Ok(Turn::Mine(_)) => panic!("the lock is held"),
                Err(_) => assert!(Instant::now() < deadline, "the second one never waited"),
            }
        }
        drop(working);
        drop(waiting.join().unwrap());
    }

    #[test]
    fn folders_are_for_their_owner_alone() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        let deep = dir.path().join("a/b");
        drop(lock(&deep, Duration::ZERO).unwrap());
        for folder in [deep.clone(), dir.path().join("a")] {
            assert_eq!(folder.metadata().unwrap().permissions().mode() & 0o777, 0o700);
        }
        assert_eq!(deep.join("lock").metadata().unwrap().permissions().mode() & 0o777, 0o600);
    }
}
