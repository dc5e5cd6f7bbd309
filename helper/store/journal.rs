//! The journal: every change of a working directory or of a conversation, one JSON line each, the oldest given up when there are too many.

use std::io::Write;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::files::{Disk, open_append, replace};
use crate::error::Result;

/// At this size the older half is given up.
const MAX_BYTES: u64 = 1024 * 1024;

pub(super) fn path(dir: &Path) -> PathBuf {
    dir.join("journal.jsonl")
}

pub(super) fn add(dir: &Path, entries: &[impl Serialize]) -> Result<()> {
    if entries.is_empty() {
        return Ok(());
    }
    let path = path(dir);
    if fs_err::metadata(&path).is_ok_and(|data| data.len() >= MAX_BYTES) {
        compact(&path)?;
    }
    let mut lines = Vec::new();
    for entry in entries {
        lines.extend(serde_json::to_vec(entry).unwrap_or_default());
        lines.push(b'\n');
    }
    let mut file = open_append(&path)?;
    // A line that a crash cut short must not take the next one with it.
    if !ends_with_line(&path) {
        lines.insert(0, b'\n');
    }
    file.write_all(&lines)?;
    Ok(())
}

fn ends_with_line(path: &Path) -> bool {
    use std::io::{Read, Seek, SeekFrom};
    let Ok(mut file) = fs_err::File::open(path) else { return true };
    let mut last = [b'\n'];
    file.seek(SeekFrom::End(-1)).is_err() || file.read_exact(&mut last).is_err() || last == [b'\n']
}

/// Keeps the newer half, beginning with a whole line.
fn compact(path: &Path) -> Result<()> {
    let text = fs_err::read(path)?;
    let half = &text[text.len() / 2..];
    let kept = half.iter().position(|&byte| byte == b'\n').map_or(&[][..], |end| &half[end + 1..]);
    Ok(replace(&Disk, path, kept, |_| Ok(()))?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Generation, JournalEntry};

    fn entry(at: u64) -> JournalEntry {
        let generation = Generation { boot: "b".into(), pid: 1, start_time: 1, process_start: None };
        JournalEntry { at, generation, shell: "sh-0001".into(), pane: "pn-0001".into(), dir: "/w".into() }
    }

    fn read(dir: &Path) -> Vec<u64> {
        let text = std::fs::read_to_string(path(dir)).unwrap();
        text.lines().filter_map(|line| serde_json::from_str::<JournalEntry>(line).ok()).map(|entry| entry.at).collect()
    }

    #[test]
    fn it_keeps_the_newest_within_its_bound() {
        let dir = tempfile::tempdir().unwrap();
        let many: Vec<JournalEntry> = (0..1000).map(entry).collect();
        for _ in 0..20 {
            add(dir.path(), &many).unwrap();
        }
        add(dir.path(), &[entry(7777)]).unwrap();
        assert!(path(dir.path()).metadata().unwrap().len() < MAX_BYTES + MAX_BYTES / 4);
        let kept = read(dir.path());
        assert_eq!(kept.last(), Some(&7777));
        assert!(kept.len() > 2000);
    }

    #[test]
    fn a_line_cut_short_costs_no_other() {
        let dir = tempfile::tempdir().unwrap();
        add(dir.path(), &[entry(1)]).unwrap();
        let cut = std::fs::read(path(dir.path())).unwrap();
        std::fs::write(path(dir.path()), [&cut[..], &cut[..cut.len() / 2]].concat()).unwrap();
        add(dir.path(), &[entry(2)]).unwrap();
        assert_eq!(read(dir.path()), [1, 2]);
    }
}
