//! The steps of a durable write, one by one, so that tests can end the process between any two of them.

use fs_err::os::unix::fs::OpenOptionsExt;
use std::io::{Result, Write};
use std::path::Path;

/// What a durable write is made of.
pub(super) trait Files {
    /// Makes a new file, mode 0600, with this content; fails if it exists.
    fn create(&self, path: &Path, content: &[u8]) -> Result<()>;
    /// Brings a file's content, or a folder's entries, to the disk.
    fn sync(&self, path: &Path) -> Result<()>;
    /// Puts `from` in the place of `to`.
    fn rename(&self, from: &Path, to: &Path) -> Result<()>;
    /// A second name for a file.
    fn link(&self, from: &Path, to: &Path) -> Result<()>;
    /// Removes a file.
    fn remove(&self, path: &Path) -> Result<()>;
}

/// The real one.
pub(super) struct Disk;

impl Files for Disk {
    fn create(&self, path: &Path, content: &[u8]) -> Result<()> {
        let mut file = fs_err::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
        file.write_all(content)
    }

    fn sync(&self, path: &Path) -> Result<()> {
        // Another descriptor of the same file brings the same content to the disk.
        fs_err::File::open(path)?.sync_all()
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<()> {
        fs_err::rename(from, to)
    }

    fn link(&self, from: &Path, to: &Path) -> Result<()> {
        fs_err::hard_link(from, to)
    }

    fn remove(&self, path: &Path) -> Result<()> {
        fs_err::remove_file(path)
    }
}

/// Reads a plain file; anything else in its place, such as a pipe, might never end.
pub(super) fn read_plain(path: &Path) -> Result<Vec<u8>> {
    if fs_err::metadata(path)?.is_file() {
        return fs_err::read(path);
    }
    Err(std::io::Error::other(format!("{} is no plain file", path.display())))
}

/// What the files in a folder and in those below it take, in bytes; links are not followed.
pub(super) fn size(dir: &Path) -> u64 {
    let entries = fs_err::read_dir(dir).into_iter().flatten().filter_map(Result::ok);
    let sizes = entries.map(|entry| match entry.metadata() {
        Ok(data) if data.is_dir() => size(&entry.path()),
        Ok(data) => data.len(),
        Err(_) => 0,
    });
    sizes.sum()
}

/// Opens for appending, mode 0600 if it is made here.
pub(super) fn open_append(path: &Path) -> Result<fs_err::File> {
    fs_err::OpenOptions::new().append(true).read(true).create(true).mode(0o600).open(path)
}

/// Writes `content` so that a crash at any point leaves the old file or the new one: temporary file in the same folder,
/// write, fsync, `before_rename` of the temporary file, rename, fsync of the folder.
pub(super) fn replace(files: &dyn Files, path: &Path, content: &[u8], before_rename: impl FnOnce(&Path) -> Result<()>) -> Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let unique = getrandom::u64().map_err(|error| std::io::Error::other(error.to_string()))?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let temporary = folder.join(format!(".{name}.{unique:016x}.tmp"));
    let written = files
        .create(&temporary, content)
        .and_then(|()| files.sync(&temporary))
        .and_then(|()| before_rename(&temporary))
        .and_then(|()| files.rename(&temporary, path));
    if let Err(error) = written {
        // On a full disk the half-written file would keep what little room is left.
        let _ = files.remove(&temporary);
        return Err(error);
    }
    files.sync(folder)
}
