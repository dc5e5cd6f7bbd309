//! Where the files lie.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};

/// `${XDG_STATE_HOME:-~/.local/state}/sidecar`.
pub(super) fn state_root() -> Result<PathBuf> {
    base("XDG_STATE_HOME", ".local/state")
}

/// `${XDG_CONFIG_HOME:-~/.config}/sidecar/config.json`.
pub(super) fn config_file() -> Result<PathBuf> {
    Ok(base("XDG_CONFIG_HOME", ".config")?.join("config.json"))
}

/// The XDG base directory rules: a relative value is invalid and counts as unset.
fn base(variable: &str, below_home: &str) -> Result<PathBuf> {
    if let Some(dir) = std::env::var_os(variable).map(PathBuf::from).filter(|dir| dir.is_absolute()) {
        return Ok(dir.join("sidecar"));
    }
    Ok(home()?.join(below_home).join("sidecar"))
}

/// The user's home: `HOME`, else what the user database says.
pub(super) fn home() -> Result<PathBuf> {
    let passwd = || nix::unistd::User::from_uid(nix::unistd::getuid()).ok().flatten().map(|user| user.dir);
    std::env::var_os("HOME")
        .map(PathBuf::from)
        .or_else(passwd)
        .filter(|dir| dir.is_absolute())
        .ok_or_else(|| Error::failed("no_home", "no place for files: HOME is no absolute path").hint("set HOME"))
}

/// `<root>/<host>`.
pub(super) fn host_dir() -> Result<PathBuf> {
    Ok(state_root()?.join(host_key()))
}

/// `<root>/<host>/<server>`.
pub(super) fn store_dir(socket: &Path) -> Result<PathBuf> {
    Ok(host_dir()?.join(server_key(socket)))
}

/// A stable identity of this machine. `machine-id(5)` asks not to give that id away, so its hash stands for it; the host's
/// name serves only where there is none, since laptops change theirs. `SIDECAR_HOST_ID` is for containers that share one.
pub(super) fn host_key() -> String {
    if let Some(id) = std::env::var("SIDECAR_HOST_ID").ok().filter(|id| !id.is_empty()) {
        return format!("host-{:016x}", fnv1a(id.as_bytes()));
    }
    for file in ["/etc/machine-id", "/var/lib/dbus/machine-id"] {
        if let Ok(id) = fs_err::read_to_string(file) {
            let id = id.trim();
            if id.len() == 32 && id.bytes().all(|byte| byte.is_ascii_hexdigit()) {
                return format!("host-{:016x}", fnv1a(id.as_bytes()));
            }
        }
    }
    format!("host-{:016x}", fnv1a(host_name().as_bytes()))
}

/// This host's name, which may change.
pub(super) fn host_name() -> String {
    nix::unistd::gethostname().unwrap_or_default().to_string_lossy().into_owned()
}

/// The socket's name for people and the hash of its whole path, so that two sockets of one name are two servers.
fn server_key(socket: &Path) -> String {
    let name: String = socket
        .file_name()
        .map(OsStr::to_string_lossy)
        .unwrap_or_default()
        .chars()
        .take(40)
        .map(|c| if c.is_ascii_alphanumeric() || c == '-' || c == '_' { c } else { '_' })
        .collect();
    format!("{name}-{:016x}", fnv1a(socket.as_os_str().as_bytes()))
}

/// FNV-1a, 64 bits: names of folders and checksums in files must be the same in every build, which the standard library's hash does not promise.
pub fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// Why records can't be written here, told without writing: the folder's mode, or a disk without room.
pub(super) fn unwritable(dir: &Path) -> Option<String> {
    // Before the first write the nearest existing folder decides; a link that leads nowhere, as to a disk that is not mounted,
    // is in the way.
    let existing = dir.ancestors().find(|folder| folder.exists() || folder.is_symlink())?;
    if !existing.exists() {
        let target = fs_err::read_link(existing).unwrap_or_default();
        return Some(format!("{} is a link to {}, which is missing", existing.display(), target.display()));
    }
    if !existing.is_dir() {
        return Some(format!("{} is not a directory", existing.display()));
    }
    if let Err(error) = nix::unistd::access(existing, nix::unistd::AccessFlags::W_OK) {
        return Some(format!("{} can't be written: {}", existing.display(), error.desc()));
    }
    let space = nix::sys::statvfs::statvfs(existing).ok()?;
    (space.blocks() > 0 && space.blocks_available() == 0).then(|| format!("{}: the disk is full", existing.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sockets_of_one_name_have_two_stores() {
        let (one, two) = (server_key(Path::new("/tmp/a/default")), server_key(Path::new("/tmp/b/default")));
        assert_ne!(one, two);
        assert!(one.starts_with("default-"));
        assert!(server_key(Path::new("/tmp/é #(x)")).starts_with("____x_-"));
    }

    #[test]
    fn the_hash_is_the_published_one() {
        // From the FNV authors' test vectors.
        assert_eq!(fnv1a(b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fnv1a(b"foobar"), 0x8594_4171_f739_67e8);
    }

    #[test]
    fn a_file_in_the_way_is_told() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(unwritable(&dir.path().join("not/yet")), None);
        let file = dir.path().join("file");
        std::fs::write(&file, "").unwrap();
        assert!(unwritable(&file.join("x")).unwrap().contains("not a directory"));
        let link = dir.path().join("link");
        std::os::unix::fs::symlink("/mnt/none", &link).unwrap();
        assert!(unwritable(&link.join("x")).unwrap().ends_with("is a link to /mnt/none, which is missing"));
    }
}
