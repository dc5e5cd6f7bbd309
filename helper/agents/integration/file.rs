//! The agents' own configuration files: read whole, through links, and written so that a crash leaves the old one or the new one.
#![expect(clippy::disallowed_methods, reason = "this room owns the agents' configuration files")]

use std::io::ErrorKind;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use super::found::Wrong;
use crate::error::{Error, Exit, Result};
use crate::store::replace_file;

/// A settings file of this size is none.
const LARGEST: u64 = 16 * 1024 * 1024;
/// As many links as Linux follows.
const LINKS: usize = 40;
/// What the name of the copy ends with.
const COPY: &str = ".before-sidecar";

/// A file as it was read.
#[derive(Clone, Debug)]
pub(super) struct File {
    /// Where the agent looks for it.
    pub(super) path: PathBuf,
    /// The file itself, behind all links.
    target: PathBuf,
    /// What it holds; `None` if there is none.
    pub(super) text: Option<String>,
}

/// Why a write did not take place.
#[derive(Debug)]
pub(super) enum NotWritten {
    /// Somebody else wrote the file since it was read.
    Changed,
    /// Anything else.
    Error(Error),
}

impl<E: Into<Error>> From<E> for NotWritten {
    fn from(error: E) -> Self {
        Self::Error(error.into())
    }
}

impl File {
    /// Reads it.
    pub(super) fn read(path: &Path) -> Result<Self> {
        let target = follow(path)?;
        let bytes = read(&target)?;
        let text = bytes.map(String::from_utf8).transpose().map_err(|error| {
            let start = String::from_utf8_lossy(&error.as_bytes()[..error.utf8_error().valid_up_to()]).into_owned();
            refused(path, &Wrong::at(&start, start.len(), "it is not UTF-8"))
        })?;
        Ok(Self { path: path.to_owned(), target, text })
    }

    /// The copy of it from before the first change, if there is one.
    pub(super) fn copy(&self) -> Option<String> {
        String::from_utf8(read(&self.copy_path()).ok()??).ok()
    }

    /// Where the copy lies: beside the name by which the agent knows the file.
    pub(super) fn copy_path(&self) -> PathBuf {
        self.named(COPY)
    }

    fn named(&self, ending: &str) -> PathBuf {
        let mut name = self.path.clone().into_os_string();
        name.push(ending);
        name.into()
    }

    /// Makes the copy. An older one that says something else is kept under another name.
    pub(super) fn keep_copy(&self) -> Result<()> {
        let Some(text) = &self.text else { return Ok(()) };
        if self.copy().as_ref() == Some(text) {
            return Ok(());
        }
        self.retire_copy()?;
        replace_file(&self.copy_path(), text.as_bytes(), |temporary| self.take_over(temporary))?;
        Ok(())
    }

    /// Gives the copy a name of its own, `….before-sidecar.1`, so that it says nothing of a later installation.
    pub(super) fn retire_copy(&self) -> Result<()> {
        let copy = self.copy_path();
        if !copy.exists() {
            return Ok(());
        }
        let mut names = (1..=u32::MAX).map(|number| self.named(&format!("{COPY}.{number}")));
        let free = names.find(|path| !path.exists()).unwrap_or_else(|| copy.clone());
        Ok(fs_err::rename(copy, free)?)
    }

    /// Removes the copy, which says what the file itself says.
    pub(super) fn drop_copy(&self) -> Result<()> {
        match fs_err::remove_file(self.copy_path()) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(error.into()),
            _ => Ok(()),
        }
    }

    /// Puts `text` in its place, with its mode and its owner; `None` removes it. Refused if it has changed since it was read.
    pub(super) fn write(&self, text: Option<&str>) -> std::result::Result<(), NotWritten> {
        let Some(text) = text else {
            if !self.is_unchanged()? {
                return Err(NotWritten::Changed);
            }
            return Ok(fs_err::remove_file(&self.target)?);
        };
        if let Some(folder) = self.target.parent().filter(|folder| !folder.exists()) {
            if self.target != self.path {
                return Err(NotWritten::Error(self.cannot(&format!("it is a link to {}, whose folder is missing", self.target.display()))));
            }
            let mut builder = std::fs::DirBuilder::new();
            std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700)
                .recursive(true)
                .create(folder)
                .map_err(|error| Error::failed("io", format!("cannot make the folder {}: {error}", folder.display())))?;
        }
        let mut changed = false;
        let written = replace_file(&self.target, text.as_bytes(), |temporary| {
            self.take_over(temporary)?;
            // As late as can be: what is written between this and the rename is lost.
            changed = !self.is_unchanged()?;
            if changed { Err(std::io::Error::other("it has changed")) } else { Ok(()) }
        });
        match written {
            Err(_) if changed => Err(NotWritten::Changed),
            written => Ok(written?),
        }
    }

    fn is_unchanged(&self) -> std::io::Result<bool> {
        Ok(read_bytes(&self.target)?.as_deref() == self.text.as_ref().map(String::as_bytes))
    }

    /// Whether it may be changed: who made a file read-only wants it so, though a rename could replace it.
    pub(super) fn writable(&self) -> Result<()> {
        if self.text.is_none() {
            return Ok(());
        }
        let mode = fs_err::metadata(&self.target)?.mode();
        if mode & 0o222 == 0 || nix::unistd::access(&self.target, nix::unistd::AccessFlags::W_OK).is_err() {
            return Err(self.cannot("it is read-only"));
        }
        Ok(())
    }

    /// Gives another file this one's mode and owner.
    fn take_over(&self, other: &Path) -> std::io::Result<()> {
        if self.text.is_none() {
            return Ok(());
        }
        let (from, to) = (fs_err::metadata(&self.target)?, fs_err::metadata(other)?);
        if (from.uid(), from.gid()) != (to.uid(), to.gid()) {
            std::os::unix::fs::chown(other, Some(from.uid()), Some(from.gid())).map_err(|error| {
                std::io::Error::new(error.kind(), format!("{} belongs to somebody else: {error}", self.target.display()))
            })?;
        }
        fs_err::set_permissions(other, std::fs::Permissions::from_mode(from.mode() & 0o7777))
    }

    fn cannot(&self, why: &str) -> Error {
        Error::failed("settings_refused", format!("cannot change {}: {why}", self.path.display())).exit(Exit::Refused)
    }
}

/// The error for a file that can't be edited.
pub(super) fn refused(path: &Path, wrong: &Wrong) -> Error {
    Error::failed("settings_refused", format!("{}:{}:{}: {}", path.display(), wrong.line, wrong.column, wrong.what))
        .exit(Exit::Refused)
        .hint("nothing was changed; mend the file, and run this again")
}

/// The file behind all links, which may be missing.
fn follow(path: &Path) -> Result<PathBuf> {
    let mut target = path.to_owned();
    for _ in 0..LINKS {
        match fs_err::symlink_metadata(&target) {
            Ok(metadata) if metadata.is_symlink() => {
                let link = fs_err::read_link(&target)?;
                target = target.parent().unwrap_or(Path::new("/")).join(link);
            }
            Ok(_) => return Ok(target),
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(target),
            Err(error) => return Err(error.into()),
        }
    }
    Err(Error::failed("settings_refused", format!("{} is a link that leads to itself", path.display())).exit(Exit::Refused))
}

fn read(path: &Path) -> Result<Option<Vec<u8>>> {
    Ok(read_bytes(path)?)
}

fn read_bytes(path: &Path) -> std::io::Result<Option<Vec<u8>>> {
    match fs_err::metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
        Ok(metadata) if !metadata.is_file() => Err(std::io::Error::other(format!("{} is no plain file", path.display()))),
        Ok(metadata) if metadata.len() > LARGEST => {
            Err(std::io::Error::other(format!("{} is too large to be a settings file", path.display())))
        }
        Ok(_) => fs_err::read(path).map(Some),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_between_reading_and_writing_is_noticed() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("settings.json");
        fs_err::write(&path, "{}").unwrap();
        let file = File::read(&path).unwrap();
        fs_err::write(&path, "{ }").unwrap();
        assert!(matches!(file.write(Some("ours")), Err(NotWritten::Changed)));
        assert!(matches!(file.write(None), Err(NotWritten::Changed)));
        assert_eq!(fs_err::read_to_string(&path).unwrap(), "{ }");
        fs_err::remove_file(&path).unwrap();
        let missing = File::read(&path).unwrap();
        fs_err::write(&path, "new").unwrap();
        assert!(matches!(missing.write(Some("ours")), Err(NotWritten::Changed)));
        assert_eq!(fs_err::read_dir(dir.path()).unwrap().count(), 1, "no temporary file is left");
    }

    #[test]
    fn the_mode_and_the_link_stay() {
        let dir = tempfile::tempdir().unwrap();
        let (real, middle, path) = (dir.path().join("dotfiles"), dir.path().join("middle"), dir.path().join("settings.json"));
        fs_err::write(&real, "old").unwrap();
        fs_err::set_permissions(&real, std::fs::Permissions::from_mode(0o640)).unwrap();
        std::os::unix::fs::symlink("dotfiles", &middle).unwrap();
        std::os::unix::fs::symlink(&middle, &path).unwrap();
        File::read(&path).unwrap().write(Some("new")).unwrap();
        assert_eq!(fs_err::read_to_string(&real).unwrap(), "new");
        assert_eq!(fs_err::metadata(&real).unwrap().mode() & 0o7777, 0o640);
        assert!(fs_err::symlink_metadata(&path).unwrap().is_symlink() && fs_err::symlink_metadata(&middle).unwrap().is_symlink());
    }

    #[test]
    fn copies_are_never_written_over() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("settings.json");
        for text in ["one", "two", "two", "three"] {
            fs_err::write(&path, text).unwrap();
            File::read(&path).unwrap().keep_copy().unwrap();
        }
        let content = |name: &str| fs_err::read_to_string(dir.path().join(name)).unwrap();
        assert_eq!(content("settings.json.before-sidecar"), "three");
        assert_eq!((content("settings.json.before-sidecar.1"), content("settings.json.before-sidecar.2")), ("one".into(), "two".into()));
    }

    #[test]
    fn what_is_no_settings_file_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        assert!(File::read(dir.path()).unwrap_err().message.contains("no plain file"));
        let path = dir.path().join("loop");
        std::os::unix::fs::symlink("loop", &path).unwrap();
        assert!(File::read(&path).unwrap_err().message.contains("leads to itself"));
        let path = dir.path().join("bytes");
        fs_err::write(&path, b"{\n \"a\xff\": 1}").unwrap();
        assert!(File::read(&path).unwrap_err().message.ends_with("bytes:2:4: it is not UTF-8"));
        let path = dir.path().join("huge");
        std::fs::File::create(&path).unwrap().set_len(LARGEST + 1).unwrap();
        assert!(File::read(&path).unwrap_err().message.contains("too large"));
    }
}
