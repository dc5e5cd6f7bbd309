//! What was told once and is not to be told again.

use std::path::Path;

use super::files::{Disk, read_plain, replace};

/// Whether `what`, a line, was not told before. Where that can't be kept it is no news: better silent than told at each start.
pub(super) fn is_news(dir: &Path, what: &str) -> bool {
    let file = dir.join("told");
    let mut text = String::from_utf8_lossy(&read_plain(&file).unwrap_or_default()).into_owned();
    if text.lines().any(|line| line == what) {
        return false;
    }
    text.push_str(what);
    text.push('\n');
    super::lock::make_dir(dir).is_ok() && replace(&Disk, &file, text.as_bytes(), || Ok(())).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thing_is_news_once() {
        let dir = tempfile::tempdir().unwrap();
        let below = dir.path().join("a/b");
        assert!(is_news(&below, "one") && !is_news(&below, "one") && is_news(&below, "two") && !is_news(&below, "two"));
        std::fs::write(dir.path().join("file"), "").unwrap();
        assert!(!is_news(&dir.path().join("file"), "one"));
    }
}
