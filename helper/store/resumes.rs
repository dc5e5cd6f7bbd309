//! How far the resumes of panes are: a small file each, changed under a lock of their own, which no hook waits for.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::files::{Disk, read_plain, replace};
use super::lock::{Lock, lock_named};
use crate::error::{Error, Result};
use crate::model::{Resume, is_id};

const FOLDER: &str = "resumes";
const LIMIT: Duration = Duration::from_secs(5);
/// Most of what is read of one.
const LONGEST: usize = 64 * 1024;

fn file(dir: &Path, pane: &str) -> Option<PathBuf> {
    is_id(pane).then(|| dir.join(FOLDER).join(format!("{pane}.json")))
}

/// That of a pane, if there ever was one.
pub(super) fn read(dir: &Path, pane: &str) -> Option<Resume> {
    let bytes = read_plain(&file(dir, pane)?).ok()?;
    if bytes.len() > LONGEST { None } else { serde_json::from_slice(&bytes).ok() }
}

/// All of them, by the panes' ids.
pub(super) fn all(dir: &Path) -> Vec<(String, Resume)> {
    let entries = fs_err::read_dir(dir.join(FOLDER)).into_iter().flatten().filter_map(std::result::Result::ok);
    let names = entries.filter_map(|entry| entry.file_name().to_str()?.strip_suffix(".json").map(str::to_owned));
    names.filter_map(|pane| read(dir, &pane).map(|resume| (pane, resume))).collect()
}

/// Makes of a pane's resume what `change` says; `None` from it changes nothing. Gives what stands then.
pub(super) fn change(dir: &Path, pane: &str, change: impl FnOnce(Option<Resume>) -> Option<Resume>) -> Result<Option<Resume>> {
    let path = file(dir, pane).ok_or_else(|| Error::failed("no_such_pane", format!("'{pane}' is no id of a pane")))?;
    let _held = lock_named(&dir.join(FOLDER), "lock", LIMIT)?;
    let before = read(dir, pane);
    let Some(after) = change(before.clone()).filter(|after| before.as_ref() != Some(after)) else { return Ok(before) };
    let text = serde_json::to_vec(&after).map_err(|error| Error::failed("write", error.to_string()))?;
    replace(&Disk, &path, &text, |_| Ok(()))
        .map_err(|error| Error::failed("state_unwritable", format!("cannot write {}: {error}", path.display())))?;
    Ok(Some(after))
}

/// Drops those of panes that are no longer known.
pub(super) fn keep_only(dir: &Path, known: &dyn Fn(&str) -> bool) {
    for (pane, _) in all(dir) {
        if let Some(path) = file(dir, &pane).filter(|_| !known(&pane)) {
            let _ = fs_err::remove_file(path);
        }
    }
}

/// A place among the resumes of this host that start at the same time, if one of so many is free.
pub(super) fn place(host: &Path, places: usize) -> Option<Lock> {
    (0..places).find_map(|number| lock_named(host, &format!("resume.place.{number}"), Duration::ZERO).ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::ResumeState;

    #[test]
    fn a_resume_is_what_the_last_change_made_of_it_and_names_no_path() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(read(dir.path(), "pn-0001"), None);
        let asked = Resume { id: "x".into(), ..Resume::default() };
        assert_eq!(change(dir.path(), "pn-0001", |_| Some(asked.clone())).unwrap(), Some(asked.clone()));
        assert_eq!(change(dir.path(), "pn-0001", |_| None).unwrap(), Some(asked.clone()));
        let failed = change(dir.path(), "pn-0001", |old| Some(Resume { state: ResumeState::Failed, ..old.unwrap() })).unwrap().unwrap();
        assert_eq!((read(dir.path(), "pn-0001"), failed.id.as_str()), (Some(failed.clone()), "x"));
        assert_eq!(change(dir.path(), "../x", |_| Some(Resume::default())).unwrap_err().code, "no_such_pane");
        std::fs::write(dir.path().join(FOLDER).join("pn-0002.json"), "{").unwrap();
        assert_eq!(all(dir.path()), [("pn-0001".to_owned(), failed)]);
        keep_only(dir.path(), &|_| false);
        assert!(all(dir.path()).is_empty());
    }

    #[test]
    fn so_many_places_and_no_more() {
        let dir = tempfile::tempdir().unwrap();
        let held: Vec<Lock> = std::iter::from_fn(|| place(dir.path(), 2)).collect();
        assert_eq!(held.len(), 2);
        drop(held);
        assert!(place(dir.path(), 2).is_some());
    }
}
