//! The journal: every change of a working directory or of a conversation, one JSON line each. When there are too many, the oldest are
//! given up, but for those by which a pane's conversation is known.

use std::collections::HashSet;
use std::io::Write;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::files::{Disk, open_append, read_plain, replace};
use crate::error::Result;
use crate::model::{Binding, EpochMs, Generation, Report};

/// At this size the older half is given up.
const MAX_BYTES: u64 = 1024 * 1024;
/// So much of it at most may be kept of the older half.
const MAX_KEPT: usize = 256 * 1024;
/// For so many of the newest lives of the server.
const LIVES: usize = 10;

/// What is read of a line; one without a `binding`, not even null, is about something else and is none.
#[derive(Deserialize)]
struct Line {
    at: EpochMs,
    #[serde(default)]
    generation: Option<Generation>,
    pane: String,
    binding: Value,
}

fn report(line: &[u8]) -> Option<Report> {
    // Most lines are about directories.
    let line = std::str::from_utf8(line).ok().filter(|line| line.contains("\"binding\""))?;
    let Line { at, generation, pane, binding } = serde_json::from_str(line).ok()?;
    let binding = Option::<Binding>::deserialize(binding).ok()?;
    // Where it ran says more than where it was written down: what is noted of an earlier run is no sign of one here.
    let ran = binding.as_ref().and_then(|binding| binding.process.as_ref()).map(|process| process.generation.clone());
    Some(Report { at, generation: ran.or(generation), pane, binding })
}

pub(super) fn reports(dir: &Path) -> Vec<Report> {
    let text = read_plain(&path(dir)).unwrap_or_default();
    text.split(|&byte| byte == b'\n').filter_map(report).collect()
}

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

/// Keeps the newer half, and of the older one the last word on each pane's conversations in each of the newest lives of the server.
fn compact(path: &Path) -> Result<()> {
    let text = fs_err::read(path)?;
    Ok(replace(&Disk, path, &compacted(&text), |_| Ok(()))?)
}

fn compacted(text: &[u8]) -> Vec<u8> {
    let half = text.len() / 2;
    let start = text[half..].iter().position(|&byte| byte == b'\n').map_or(text.len(), |end| half + end + 1);
    let (older, newer) = text.split_at(start);
    let mut known = Known::default();
    for report in newer.split(|&byte| byte == b'\n').rev().filter_map(report) {
        known.is_news(&report);
    }
    let mut kept: Vec<&[u8]> = Vec::new();
    let mut room = MAX_KEPT;
    for line in older.split(|&byte| byte == b'\n').rev() {
        if report(line).is_some_and(|report| known.is_news(&report)) {
            let Some(left) = room.checked_sub(line.len() + 1) else { break };
            room = left;
            kept.push(line);
        }
    }
    let lines = kept.iter().rev().flat_map(|line| line.iter().chain(b"\n"));
    lines.chain(newer).copied().collect()
}

/// What newer lines have told already.
#[derive(Default)]
struct Known {
    lives: Vec<Option<Generation>>,
    told: HashSet<(usize, String, Option<bool>)>,
}

impl Known {
    /// Whether this is the last word on its pane in its life of the server: the last binding with a prompt, the last one without,
    /// or that there is none.
    fn is_news(&mut self, report: &Report) -> bool {
        let life = self.lives.iter().position(|known| *known == report.generation).unwrap_or_else(|| {
            self.lives.push(report.generation.clone());
            self.lives.len() - 1
        });
        life < LIVES && self.told.insert((life, report.pane.clone(), report.binding.as_ref().map(|binding| binding.prompted)))
    }
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

    /// A line as the recorder writes it.
    fn told(at: u64, life: i32, pane: &str, id: &str, prompted: bool) -> String {
        let generation = serde_json::json!({ "boot": "b", "pid": life, "startTime": 1 });
        let binding = serde_json::json!({ "kind": "claude", "id": id, "source": "hook", "reported": at, "prompted": prompted });
        serde_json::json!({ "at": at, "generation": generation, "shell": "sh-1", "pane": pane, "binding": binding, "what": "reported" })
            .to_string()
            + "\n"
    }

    #[test]
    fn what_was_given_up_holds_no_last_word_on_a_conversation() {
        let dir = tempfile::tempdir().unwrap();
        let mut text = String::new();
        for pane in ["pn-1", "pn-2"] {
            text += &told(1, 1, pane, "older", true);
            text += &told(2, 1, pane, "asked", true);
            text += &told(3, 1, pane, "never asked", false);
        }
        text += &told(4, 2, "pn-1", "of the next life", true);
        text += "{\"at\":4,\"pane\":\"pn-1\",\"binding\":7}\nnonsense\n";
        std::fs::write(path(dir.path()), &text).unwrap();
        let many: Vec<JournalEntry> = (0..1000).map(entry).collect();
        for _ in 0..40 {
            add(dir.path(), &many).unwrap();
        }
        let kept = reports(dir.path());
        let kept: Vec<_> = kept.iter().map(|report| (report.at, report.pane.as_str())).collect();
        assert_eq!(kept, [(2, "pn-1"), (3, "pn-1"), (2, "pn-2"), (3, "pn-2"), (4, "pn-1")]);
        assert!(path(dir.path()).metadata().unwrap().len() < MAX_BYTES + MAX_BYTES / 4);
    }

    #[test]
    fn of_ever_new_panes_no_more_is_kept_than_there_is_room_for() {
        let text: String = (0..30_000).map(|number| told(number, 1, &format!("pn-{number}"), "x", true)).collect();
        let kept = compacted(text.as_bytes());
        assert!(kept.len() <= text.len() / 2 + MAX_KEPT);
        assert!(kept.ends_with(told(29_999, 1, "pn-29999", "x", true).as_bytes()));
        // Of many lives the newest.
        let text: String = (0..30).map(|life| told(1, life, "pn-1", "x", true)).collect();
        let kept = compacted((text + &"{}\n".repeat(4000)).as_bytes());
        assert_eq!(String::from_utf8(kept).unwrap().matches("binding").count(), LIVES);
        assert_eq!(compacted(b""), b"");
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
