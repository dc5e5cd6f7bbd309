//! How many automatic restores in a row did not end well. A file of its own: it must be on the disk before a restore that may
//! take the machine down with it.

use std::path::Path;

use super::files::{Disk, read_plain, replace};
use crate::error::Result;

fn file(dir: &Path) -> std::path::PathBuf {
    dir.join("automatic")
}

pub(super) fn failed(dir: &Path) -> u32 {
    let text = read_plain(&file(dir)).unwrap_or_default();
    String::from_utf8_lossy(&text).trim().parse().unwrap_or(0)
}

/// Counts this one as failed until it ends well.
pub(super) fn begin(dir: &Path) -> Result<u32> {
    let before = failed(dir);
    replace(&Disk, &file(dir), format!("{}\n", before.saturating_add(1)).as_bytes(), || Ok(()))?;
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
        forget(dir.path());
        assert_eq!((failed(dir.path()), begin(dir.path()).unwrap()), (0, 0));
        std::fs::write(file(dir.path()), "junk").unwrap();
        assert_eq!(failed(dir.path()), 0);
    }
}
