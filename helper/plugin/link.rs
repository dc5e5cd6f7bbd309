//! The command `sidecar` for the user's shell: a link in `~/.local/bin`.
#![expect(clippy::disallowed_methods, reason = "this file owns that link")]

use std::path::{Path, PathBuf};

use crate::error::{Error, Exit, Result};

/// What became of the link.
#[derive(Debug, PartialEq, Eq)]
pub enum Linked {
    /// It was made, or made anew where an earlier one of ours led elsewhere.
    Made,
    /// It was there.
    Already,
}

/// Makes the link at `link` to `program`.
///
/// # Errors
/// Something that is not ours stands there, or the folder can't be written.
pub fn link(link: &Path, program: &Path) -> Result<Linked> {
    let present = match link.symlink_metadata() {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
        Err(error) => return Err(error.into()),
        Ok(metadata) if metadata.is_symlink() => Some(fs_err::read_link(link)?),
        Ok(_) => return Err(foreign(link, "a file that is not Sidecar's")),
    };
    match present {
        Some(target) if target == program => return Ok(Linked::Already),
        Some(target) if !is_of_a_plugin(&target) => return Err(foreign(link, &format!("a link to {}", target.display()))),
        _ => {}
    }
    let folder = link.parent().unwrap_or(Path::new("/"));
    fs_err::create_dir_all(folder)?;
    // A link of another name, then a rename: there is one at every moment.
    let new = folder.join(format!(".sidecar.{}", std::process::id()));
    fs_err::os::unix::fs::symlink(program, &new)?;
    fs_err::rename(&new, link).inspect_err(|_| drop(fs_err::remove_file(&new)))?;
    Ok(Linked::Made)
}

/// Whether a link leads, or led, into a checkout of the plugin.
fn is_of_a_plugin(target: &Path) -> bool {
    let Some(checkout) = target.parent().and_then(Path::parent).filter(|_| target.ends_with("bin/sidecar")) else { return false };
    checkout.join("sidecar.tmux").is_file() || checkout.ends_with("sidecar.tmux")
}

fn foreign(link: &Path, what: &str) -> Error {
    Error::failed("foreign_file", format!("cannot link {}: {what} stands there", link.display()))
        .exit(Exit::Refused)
        .hint("move it away, then try again")
}

/// The path that stays the same over updates: `bin/sidecar` of the plugin, which leads to the one that runs, else that itself.
pub fn stable_path(running: &Path) -> PathBuf {
    let link = running.with_file_name("sidecar");
    let is_built_by_the_plugin = running.file_name().is_some_and(|name| name.to_string_lossy().starts_with("sidecar-"));
    if is_built_by_the_plugin && link.exists() { link } else { running.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_is_made_and_moved_but_never_over_what_is_not_ours() {
        let dir = tempfile::tempdir().unwrap();
        let at = dir.path().join("bin/deep/sidecar");
        let program = dir.path().join("plugin/bin/sidecar");
        assert_eq!(link(&at, &program).unwrap(), Linked::Made);
        assert_eq!(link(&at, &program).unwrap(), Linked::Already);
        assert_eq!(std::fs::read_link(&at).unwrap(), program);
        // An earlier checkout that is gone, and one that is there.
        for old in [dir.path().join("gone/sidecar.tmux/bin/sidecar"), dir.path().join("there/bin/sidecar")] {
            std::fs::create_dir_all(dir.path().join("there")).unwrap();
            std::fs::write(dir.path().join("there/sidecar.tmux"), "").unwrap();
            std::fs::remove_file(&at).unwrap();
            std::os::unix::fs::symlink(&old, &at).unwrap();
            assert_eq!(link(&at, &program).unwrap(), Linked::Made, "{}", old.display());
            assert_eq!(std::fs::read_link(&at).unwrap(), program);
        }
        for foreign in ["/opt/other/bin/sidecar", "/nowhere/sidecar", "/usr/bin/true"] {
            std::fs::remove_file(&at).unwrap();
            std::os::unix::fs::symlink(foreign, &at).unwrap();
            let error = link(&at, &program).unwrap_err();
            assert!(error.exit == Exit::Refused && error.message.contains(foreign), "{error}");
            assert_eq!(std::fs::read_link(&at).unwrap(), Path::new(foreign));
        }
        std::fs::remove_file(&at).unwrap();
        std::fs::write(&at, "theirs").unwrap();
        assert_eq!(link(&at, &program).unwrap_err().exit, Exit::Refused);
        assert_eq!(std::fs::read_to_string(&at).unwrap(), "theirs");
        assert_eq!(std::fs::read_dir(at.parent().unwrap()).unwrap().count(), 1, "nothing is left behind");
    }

    #[test]
    fn the_stable_path_is_the_link_beside_what_the_plugin_built() {
        let dir = tempfile::tempdir().unwrap();
        let built = dir.path().join("sidecar-Linux-x86_64");
        std::fs::write(&built, "").unwrap();
        assert_eq!(stable_path(&built), built);
        std::os::unix::fs::symlink("sidecar-Linux-x86_64", dir.path().join("sidecar")).unwrap();
        assert_eq!(stable_path(&built), dir.path().join("sidecar"));
        assert_eq!(stable_path(Path::new("/usr/bin/sidecar")), Path::new("/usr/bin/sidecar"));
    }
}
