//! What was told once and is not to be told again.

use std::path::Path;

use super::files::{Disk, read_plain, replace};

/// Whether `what`, a line, was not told before.
pub(super) fn is_news(dir: &Path, what: &str) -> bool {
    let file = dir.join("told");
    let mut text = String::from_utf8_lossy(&read_plain(&file).unwrap_or_default()).into_owned();
    if text.lines().any(|line| line == what) {
        return false;
    }
    text.push_str(what);
    text.push('\n');
    replace(&Disk, &file, text.as_bytes(), |_| Ok(())).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thing_is_news_once() {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path();
        assert!(is_news(dir, "one") && !is_news(dir, "one") && is_news(dir, "two") && !is_news(dir, "two"));
        assert!(!is_news(&dir.join("none"), "one"));
    }
}
