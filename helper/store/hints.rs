//! What the `session-closed` hook saw: written at once, since the server may be about to end, and read by the next look.

use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use nix::fcntl::Flock;

use super::files::read_plain;
use super::lock::take_file;
use crate::error::Result;
use crate::model::Hint;

/// More than this is not read: a look forgets what it has read, so a longer file is a broken one.
const MAX_BYTES: u64 = 1024 * 1024;

/// tmux waits for the hook that writes here.
const LIMIT: Duration = Duration::from_secs(1);

fn path(dir: &Path) -> PathBuf {
    dir.join("closed.jsonl")
}

pub(super) fn add(dir: &Path, hint: &Hint) -> Result<()> {
    if !dir.is_dir() {
        // Nothing was ever recorded here.
        return Ok(());
    }
    let mut line = serde_json::to_vec(hint).unwrap_or_default();
    line.push(b'\n');
    let mut file = locked(dir)?;
    if file.metadata()?.len() < MAX_BYTES {
        file.write_all(&line)?;
    }
    Ok(())
}

pub(super) fn read(dir: &Path) -> Vec<Hint> {
    read_plain(&path(dir)).map(|text| parse(&text[..])).unwrap_or_default()
}

/// A line cut short by a crash or a full disk is stepped over.
fn parse(mut file: impl Read) -> Vec<Hint> {
    let mut text = Vec::new();
    if file.read_to_end(&mut text).is_err() {
        return Vec::new();
    }
    text.split(|&byte| byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok()).collect()
}

/// Keeps what came since `read` was read. A failure leaves hints that are merely read again.
pub(super) fn forget(dir: &Path, read: &[Hint]) {
    let Ok(mut file) = locked(dir) else { return };
    if file.seek(SeekFrom::Start(0)).is_err() {
        return;
    }
    let mut kept = Vec::new();
    for hint in parse(&mut *file).iter().skip(read.len()) {
        kept.extend(serde_json::to_vec(hint).unwrap_or_default());
        kept.push(b'\n');
    }
    if file.set_len(0).is_ok() {
        let _ = file.write_all(&kept);
    }
}

/// The file under a lock of its own: its holders do no more than one short write.
fn locked(dir: &Path) -> Result<Flock<std::fs::File>> {
    take_file(&path(dir), LIMIT)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hint(session: u32) -> Hint {
        Hint { at: 1, pid: 2, start_time: 3, session: format!("${session}"), left: 0 }
    }

    #[test]
    fn hints_that_came_since_they_were_read_are_kept() {
        let dir = tempfile::tempdir().unwrap();
        add(dir.path(), &hint(1)).unwrap();
        add(dir.path(), &hint(2)).unwrap();
        let first = read(dir.path());
        assert_eq!(first, [hint(1), hint(2)]);
        add(dir.path(), &hint(3)).unwrap();
        forget(dir.path(), &first);
        assert_eq!(read(dir.path()), [hint(3)]);
    }

    #[test]
    fn a_cut_line_is_stepped_over() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(path(dir.path()), "{\"at\":1,\n").unwrap();
        add(dir.path(), &hint(1)).unwrap();
        assert_eq!(read(dir.path()), [hint(1)]);
        forget(dir.path(), &[hint(1)]);
        assert_eq!(read(dir.path()), []);
    }

    #[test]
    fn fifty_writers_lose_nothing() {
        let dir = tempfile::tempdir().unwrap();
        std::thread::scope(|scope| {
            for session in 0..50 {
                let path = dir.path();
                scope.spawn(move || add(path, &hint(session)).unwrap());
            }
        });
        assert_eq!(read(dir.path()).len(), 50);
    }
}
