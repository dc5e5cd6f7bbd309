//! The git worktree of a branch: found, added, or refused where it was removed.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::git::git;
use crate::error::{Error, Exit, Result};
use crate::record::{line_to_bring_back, project_of};

/// A worktree as git knows it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Known {
    path: PathBuf,
    branch: Option<String>,
}

/// Where a branch's worktree is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Worktree {
    /// The main checkout.
    pub(super) main: PathBuf,
    /// Its folder.
    pub(super) path: PathBuf,
    /// What git must be asked to do before it is there; `None` if it is.
    to_add: Option<Vec<OsString>>,
}

/// Finds the worktree of `branch` in the repository that `dir` lies in. Changes nothing.
///
/// # Errors
/// No repository, no name of a branch (exit 2); a worktree that was removed, or another thing in its place (5); git fails.
pub(super) fn find(dir: &Path, branch: &str) -> Result<Worktree> {
    let Some(main) = project_of(dir).0.map(|main| main.as_path().to_owned()) else {
        return Err(Error::failed("no_repository", format!("{} lies in no git repository", dir.display()))
            .exit(Exit::Usage)
            .hint("--worktree opens a worktree of the repository that you are in"));
    };
    let valid = git(&main, &["check-ref-format", "--branch", branch])?;
    // `@{-1}` and the like stand for another name.
    if !valid.ok || valid.out.trim_ascii() != branch.as_bytes() {
        return Err(Error::failed("bad_branch", format!("'{branch}' is no name of a branch")).exit(Exit::Usage));
    }
    let failed = |why: &str| Error::failed("git", format!("cannot list the worktrees of {}: {why}", main.display()));
    let mut listed = git(&main, &["worktree", "list", "--porcelain", "-z"])?;
    let mut separator = 0;
    if !listed.ok {
        // Before git 2.36.
        listed = git(&main, &["worktree", "list", "--porcelain"])?;
        separator = b'\n';
    }
    if !listed.ok {
        return Err(failed(&listed.err));
    }
    if let Some(known) = parse(&listed.out, separator).into_iter().find(|known| known.branch.as_deref() == Some(branch)) {
        if known.path.is_dir() {
            return Ok(Worktree { main, path: known.path, to_add: None });
        }
        return Err(Error::failed("worktree_removed", format!("the worktree of the branch '{branch}' is gone: {}", known.path.display()))
            .exit(Exit::Refused)
            .hint(format!("this brings it back: {}", line_to_bring_back(&main, &known.path, Some(branch)))));
    }
    let refs = git(&main, &["for-each-ref", "--format=%(refname)", &format!("refs/heads/{branch}"), &format!("refs/remotes/*/{branch}")])?;
    let path = place_for(&main, branch);
    if path.symlink_metadata().is_ok() {
        return Err(Error::failed("directory_taken", format!("cannot add a worktree: {} is there already", path.display()))
            .exit(Exit::Refused)
            .hint(format!("choose its place: git -C {} worktree add PATH {branch}", main.display())));
    }
    let to_add = arguments(&path, branch, !refs.out.trim_ascii().is_empty());
    Ok(Worktree { main, path, to_add: Some(to_add) })
}

impl Worktree {
    /// Adds it, if it is not there.
    ///
    /// # Errors
    /// git fails.
    pub(super) fn ensure(&self) -> Result<()> {
        let Some(arguments) = &self.to_add else { return Ok(()) };
        let added = git(&self.main, arguments)?;
        if added.ok {
            return Ok(());
        }
        Err(Error::failed("git", format!("cannot add the worktree {}: {}", self.path.display(), added.err)))
    }
}

/// Beside the main checkout, `web` and `fix/auth` give `web-fix-auth`.
fn place_for(main: &Path, branch: &str) -> PathBuf {
    let mut name = main.file_name().unwrap_or(OsStr::new("worktree")).to_owned();
    name.push("-");
    name.push(branch.replace('/', "-"));
    main.with_file_name(name)
}

/// What to ask of git: a branch that is there is checked out, another one is made.
fn arguments(path: &Path, branch: &str, is_there: bool) -> Vec<OsString> {
    let mut words: Vec<OsString> = ["worktree", "add"].map(OsString::from).into();
    if is_there {
        words.extend(["--".into(), path.into(), branch.into()]);
    } else {
        words.extend(["-b".into(), branch.into(), "--".into(), path.into()]);
    }
    words
}

/// Reads `git worktree list --porcelain`: lines `KEY VALUE`, an empty one behind each worktree.
fn parse(text: &[u8], separator: u8) -> Vec<Known> {
    let mut known: Vec<Known> = Vec::new();
    for line in text.split(|&byte| byte == separator) {
        if let Some(path) = line.strip_prefix(b"worktree ") {
            known.push(Known { path: OsStr::from_bytes(path).into(), branch: None });
        } else if let (Some(branch), Some(last)) = (line.strip_prefix(b"branch refs/heads/"), known.last_mut()) {
            last.branch = Some(String::from_utf8_lossy(branch).into_owned());
        }
    }
    known
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gits_own_list_is_read() {
        let text = "worktree /r\nHEAD 1\nbranch refs/heads/main\n\nworktree /r-fix\nHEAD 1\nbranch refs/heads/fix/auth\nprunable gone\n\nworktree /d\nHEAD 1\ndetached\n";
        let known = |path: &str, branch: Option<&str>| Known { path: path.into(), branch: branch.map(str::to_owned) };
        let all = [known("/r", Some("main")), known("/r-fix", Some("fix/auth")), known("/d", None)];
        assert_eq!(parse(text.as_bytes(), b'\n'), all);
        assert_eq!(parse(text.replace('\n', "\0").as_bytes(), 0), all);
    }

    #[test]
    fn a_worktree_lies_beside_its_main_checkout() {
        assert_eq!(place_for(Path::new("/code/web"), "fix/auth"), Path::new("/code/web-fix-auth"));
        let there: Vec<OsString> = ["worktree", "add", "--", "/w", "x"].map(OsString::from).into();
        assert_eq!(arguments(Path::new("/w"), "x", true), there);
    }
}
