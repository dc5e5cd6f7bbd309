//! The bounded log: what hooks did and why, since hooks never print.

use std::io::Write;
use std::path::Path;

use super::Level;
use super::files::{open_append, read_plain};
use crate::model::EpochMs;

/// The log is turned over at this size, so that two files of it are the most that ever lie here.
const MAX_BYTES: u64 = 256 * 1024;
/// Longest message, in bytes.
const MAX_MESSAGE: usize = 2000;

pub(super) fn add(dir: &Path, level: Level, event: &str, message: &str) {
    let path = dir.join("log");
    if fs_err::metadata(&path).is_ok_and(|data| data.len() >= MAX_BYTES) {
        let _ = fs_err::rename(&path, dir.join("log.1"));
    }
    let Ok(mut file) = open_append(&path) else { return };
    let mut message: String = message.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    if message.len() > MAX_MESSAGE {
        let end = (0..=MAX_MESSAGE).rev().find(|&at| message.is_char_boundary(at)).unwrap_or(0);
        message.truncate(end);
    }
    let line = format!(
        "{} {} {} {event}: {message}\n",
        jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%S%.3fZ"),
        word(level),
        std::process::id()
    );
    // One write call: lines of several helpers don't mix.
    let _ = file.write_all(line.as_bytes());
}

fn word(level: Level) -> &'static str {
    match level {
        Level::Info => "info",
        Level::Warn => "warn",
        Level::Error => "error",
    }
}

/// The last error's message, if no look has succeeded since; `last_look` is in epoch ms.
pub(super) fn last_error(dir: &Path, last_look: Option<u64>) -> Option<String> {
    errors_since(dir, last_look.map_or(0, |at| at + 1), 1).pop().map(|(_, message)| message)
}

/// The last errors since this time, epoch ms, the newest last; at most `most`.
pub(super) fn errors_since(dir: &Path, since: EpochMs, most: usize) -> Vec<(EpochMs, String)> {
    let text = read_plain(&dir.join("log")).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let mut found: Vec<(EpochMs, String)> = text.lines().rev().filter_map(error).take_while(|(at, _)| *at >= since).take(most).collect();
    found.reverse();
    found
}

/// When and what, of a line that tells an error.
fn error(line: &str) -> Option<(EpochMs, String)> {
    let mut parts = line.splitn(4, ' ');
    let at: jiff::Timestamp = parts.next()?.parse().ok()?;
    let is_error = parts.next()? == "error";
    let message = parts.nth(1)?;
    is_error.then(|| Some((EpochMs::try_from(at.as_millisecond()).ok()?, message.to_owned())))?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_log_is_bounded_and_a_line_is_a_line() {
        let dir = tempfile::tempdir().unwrap();
        for _ in 0..400 {
            add(dir.path(), Level::Info, "hook", &"x\ny".repeat(1000));
        }
        for file in ["log", "log.1"] {
            let size = dir.path().join(file).metadata().unwrap().len();
            assert!(size <= MAX_BYTES + 4096, "{file}: {size}");
        }
        let text = std::fs::read_to_string(dir.path().join("log")).unwrap();
        assert!(text.lines().all(|line| line.contains(" info ")));
    }

    #[test]
    fn an_error_counts_until_a_look_succeeds() {
        let dir = tempfile::tempdir().unwrap();
        add(dir.path(), Level::Error, "hook tick", "no room");
        add(dir.path(), Level::Info, "hook tick", "fine");
        assert_eq!(last_error(dir.path(), Some(1)).as_deref(), Some("hook tick: no room"));
        assert_eq!(last_error(dir.path(), None).as_deref(), Some("hook tick: no room"));
        assert_eq!(last_error(dir.path(), Some(u64::MAX / 4)), None);
    }
}
