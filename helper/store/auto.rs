//! How many automatic restores in a row did not end well. A file of its own: it must be on the disk before a restore that may
//! take the machine down with it.

use std::path::Path;

use super::files::{Disk, read_plain, replace};
use crate::error::Result;

fn file(dir: &Path) -> std::path::PathBuf {
    dir.join("automatic")
}

/// Stands behind the number when the last one went well, and it is not known yet whether the server lives on.
const WELL: &str = " well";

fn content(dir: &Path) -> String {
    String::from_utf8_lossy(&read_plain(&file(dir)).unwrap_or_default()).trim().to_owned()
}

pub(super) fn failed(dir: &Path) -> u32 {
    content(dir).trim_end_matches(WELL).parse().unwrap_or(0)
}

pub(super) fn seems_well(dir: &Path) {
    let _ = replace(&Disk, &file(dir), format!("{}{WELL}\n", failed(dir)).as_bytes(), |_| Ok(()));
}

pub(super) fn confirm(dir: &Path) {
    if content(dir).ends_with(WELL) {
        forget(dir);
    }
}

/// Counts this one as failed until it ends well.
pub(super) fn begin(dir: &Path) -> Result<u32> {
    let before = failed(dir);
    replace(&Disk, &file(dir), format!("{}\n", before.saturating_add(1)).as_bytes(), |_| Ok(()))?;
    Ok(before)
}

pub(super) fn forget(dir: &Path) {
    let _ = fs_err::remove_file(file(dir));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_that_does_not_end_well_counts_and_a_good_one_begins_anew() {
        let dir = tempfile::tempdir().unwrap();
        for before in 0..4 {
            assert_eq!(begin(dir.path()).unwrap(), before);
        }
        assert_eq!(failed(dir.path()), 4);
        confirm(dir.path());
        assert_eq!(failed(dir.path()), 4);
        // One that went well, and took the server down with it.
        seems_well(dir.path());
        assert_eq!(begin(dir.path()).unwrap(), 4);
        seems_well(dir.path());
        confirm(dir.path());
        assert_eq!((failed(dir.path()), begin(dir.path()).unwrap()), (0, 0));
        std::fs::write(file(dir.path()), "junk").unwrap();
        assert_eq!(failed(dir.path()), 0);
    }
}
