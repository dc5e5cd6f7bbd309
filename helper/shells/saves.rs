//! The saves of tmux-resurrect on this machine.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use jiff::civil::DateTime;
use jiff::tz::TimeZone;

use super::{CALL_LIMIT, Shells};
use crate::error::{Error, Exit, Result};
use crate::import::{Places, drafts, parse};
use crate::model::EpochMs;
use crate::record::RandomIds;
use crate::store::home;

/// No save is that large, in bytes: it lists panes.
const LARGEST_SAVE: u64 = 64 << 20;

/// A save.
#[derive(Clone, Debug)]
pub struct SaveFile {
    /// Where it lies.
    pub path: PathBuf,
    /// When it was made.
    pub at: EpochMs,
    /// Whether tmux-resurrect would restore this one.
    pub is_last: bool,
    /// What it holds; `Err` says why that can't be told.
    pub held: std::result::Result<SaveHeld, String>,
}

/// How much a save holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SaveHeld {
    /// Sessions that can be read.
    pub sessions: usize,
    /// Their panes.
    pub panes: usize,
}

impl Shells<'_> {
    /// The saves that are there, the newest first.
    ///
    /// # Errors
    /// There are none (exit 3).
    pub fn saves(&self) -> Result<Vec<SaveFile>> {
        Ok(self.save_paths()?.into_iter().map(|(at, path, is_last)| SaveFile { held: held(&path), path, at, is_last }).collect())
    }

    /// The save that tmux-resurrect would restore, or, where that holds no session, the newest one that does; and what a person
    /// should know of the choice.
    pub(super) fn newest_save(&self) -> Result<(PathBuf, Vec<String>)> {
        let mut paths = self.save_paths()?;
        paths.sort_by_key(|(_, _, is_last)| !is_last);
        let chosen = paths.iter().position(|(_, path, _)| held(path).is_ok_and(|held| held.sessions > 0)).unwrap_or(0);
        let first = format!("{} holds no session that can be read; an older save is taken", paths[0].1.display());
        let (_, path, _) = paths.swap_remove(chosen);
        Ok((path, if chosen > 0 { vec![first] } else { Vec::new() }))
    }

    /// The saves by their times, the newest first and at least one, and whether tmux-resurrect's `last` names them.
    fn save_paths(&self) -> Result<Vec<(EpochMs, PathBuf, bool)>> {
        let folders = self.save_folders()?;
        for folder in &folders {
            let last = fs_err::canonicalize(folder.join("last")).ok().filter(|path| path.is_file());
            let entries = fs_err::read_dir(folder).into_iter().flatten().filter_map(|entry| entry.ok().map(|entry| entry.path()));
            let mut paths: Vec<PathBuf> = entries.filter(|path| is_save_name(path) && path.is_file()).collect();
            let is_last = |path: &Path| last.as_ref().is_some_and(|last| fs_err::canonicalize(path).is_ok_and(|path| path == *last));
            if let Some(last) = last.as_ref().filter(|_| !paths.iter().any(|path| is_last(path))) {
                paths.push(last.clone());
            }
            let mut saves: Vec<_> = paths.into_iter().map(|path| (saved_at(&path), is_last(&path), path)).collect();
            if saves.is_empty() {
                continue;
            }
            saves.sort();
            return Ok(saves.into_iter().rev().map(|(at, is_last, path)| (at, path, is_last)).collect());
        }
        let folders: Vec<String> = folders.iter().map(|folder| folder.display().to_string()).collect();
        Err(Error::failed("no_save", format!("no save of tmux-resurrect in {}", folders.join(" or in ")))
            .exit(Exit::NoTarget)
            .hint("name the file: `sidecar import resurrect FILE`"))
    }

    /// Where tmux-resurrect keeps them: `@resurrect-dir`, else `~/.tmux/resurrect` if that is there, else the XDG folder (its
    /// `docs/save_dir.md`).
    fn save_folders(&self) -> Result<Vec<PathBuf>> {
        let home = home()?;
        if let Some(option) = self.server.user_option("@resurrect-dir", CALL_LIMIT) {
            let host = nix::unistd::gethostname().unwrap_or_default();
            let path = expand(&option, home.as_os_str().as_bytes(), host.as_bytes());
            return Ok(vec![PathBuf::from(OsStr::from_bytes(&path))]);
        }
        let data = std::env::var_os("XDG_DATA_HOME").map(PathBuf::from).filter(|dir| dir.is_absolute());
        Ok(vec![home.join(".tmux/resurrect"), data.unwrap_or_else(|| home.join(".local/share")).join("tmux/resurrect")])
    }
}

/// `$HOME`, `$HOSTNAME` and `~`, which tmux-resurrect knows in the option, and nothing else.
fn expand(option: &[u8], home: &[u8], host: &[u8]) -> Vec<u8> {
    let known: [(&[u8], &[u8]); 3] = [(b"$HOME", home), (b"$HOSTNAME", host), (b"~", home)];
    let mut out = Vec::new();
    let mut rest = option;
    while let Some(&first) = rest.first() {
        let found = known.iter().find(|(name, _)| rest.starts_with(name));
        let (text, length) = found.map_or((std::slice::from_ref(&first), 1), |(name, value)| (*value, name.len()));
        out.extend_from_slice(text);
        rest = &rest[length..];
    }
    out
}

/// `tmux_resurrect_TIME.txt`.
fn is_save_name(path: &Path) -> bool {
    path.file_stem().and_then(OsStr::to_str).is_some_and(|name| name.starts_with("tmux_resurrect_"))
        && path.extension() == Some(OsStr::new("txt"))
}

/// The time in its name, which is local time in one of two forms; else that of the file.
fn saved_at(path: &Path) -> EpochMs {
    let name = path.file_stem().and_then(OsStr::to_str).unwrap_or_default();
    let told = name.strip_prefix("tmux_resurrect_").and_then(|time| {
        let at = ["%Y%m%dT%H%M%S", "%Y-%m-%dT%H:%M:%S"].iter().find_map(|form| DateTime::strptime(form, time).ok())?;
        u64::try_from(at.to_zoned_datetime(TimeZone::system()).ok()?.timestamp().as_millisecond()).ok()
    });
    let modified = || {
        let since = fs_err::metadata(path).ok()?.modified().ok()?.duration_since(std::time::UNIX_EPOCH).ok()?;
        u64::try_from(since.as_millis()).ok()
    };
    told.or_else(modified).unwrap_or(0)
}

fn held(path: &Path) -> std::result::Result<SaveHeld, String> {
    let bytes = read(path).map_err(|error| error.message)?;
    let places = Places { is_dir: &|_| false, home: Path::new("/") };
    let sessions = drafts(&parse(&bytes), places, &mut RandomIds, &mut Vec::new());
    let own = sessions.iter().filter(|draft| draft.original.is_none());
    Ok(SaveHeld { panes: own.map(|draft| draft.panes).sum(), sessions: sessions.len() })
}

/// Reads a save.
///
/// # Errors
/// There is none (exit 3), or it can't be read.
pub(super) fn read(path: &Path) -> Result<Vec<u8>> {
    let failed = |why: String| Error::failed("save_unreadable", format!("cannot read the save {}: {why}", path.display()));
    let data = match std::fs::metadata(path) {
        Ok(data) => data,
        Err(error) if matches!(error.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory) => {
            return Err(Error::failed("no_such_file", format!("no such save: {}", path.display()))
                .exit(Exit::NoTarget)
                .hint("`sidecar import resurrect --list` shows the saves of tmux-resurrect"));
        }
        Err(error) => return Err(failed(error.to_string())),
    };
    // A pipe might never end.
    if !data.is_file() {
        return Err(failed("it is no plain file".to_owned()));
    }
    if data.len() > LARGEST_SAVE {
        return Err(failed(format!("it has {} bytes, more than any save", data.len())));
    }
    fs_err::read(path).map_err(|error| failed(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_option_knows_the_words_that_tmux_resurrect_knows_and_no_others() {
        let expanded = |text: &str| String::from_utf8(expand(text.as_bytes(), b"/home/me", b"box")).unwrap();
        for (option, path) in [
            ("~/saves", "/home/me/saves"),
            ("$HOME/saves-$HOSTNAME", "/home/me/saves-box"),
            ("/x/$(touch CANARY)/`y`/$PATH/é", "/x/$(touch CANARY)/`y`/$PATH/é"),
        ] {
            assert_eq!(expanded(option), path);
        }
    }

    #[test]
    fn a_save_is_as_old_as_its_name_says() {
        let local = |text: &str| {
            let at: DateTime = text.parse().unwrap();
            u64::try_from(at.to_zoned_datetime(TimeZone::system()).unwrap().timestamp().as_millisecond()).unwrap()
        };
        assert_eq!(saved_at(Path::new("/x/tmux_resurrect_20240229T120102.txt")), local("2024-02-29T12:01:02"));
        assert_eq!(saved_at(Path::new("/x/tmux_resurrect_2014-08-29T10:11:12.txt")), local("2014-08-29T10:11:12"));
        assert_eq!(saved_at(Path::new("/none/tmux_resurrect_20249999T120102.txt")), 0);
        assert!(!is_save_name(Path::new("/x/pane_contents.tar.gz")) && !is_save_name(Path::new("/x/last")));
    }
}
