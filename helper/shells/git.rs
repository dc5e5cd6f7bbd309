//! Runs git: worktrees are its business.
#![expect(clippy::disallowed_methods, reason = "this is the one place that runs git")]

use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::error::{Error, Result};

/// What git printed, and whether it succeeded.
pub(super) struct Said {
    pub(super) ok: bool,
    pub(super) out: Vec<u8>,
    /// Its last words, for people.
    pub(super) err: String,
}

/// Runs `git -C DIR ARGS`.
pub(super) fn git<S: AsRef<OsStr>>(dir: &Path, args: &[S]) -> Result<Said> {
    let program = which::which("git").map_err(|_| Error::failed("no_git", "cannot work with worktrees: git is not on PATH"))?;
    let mut command = Command::new(program);
    // Inside a hook of git's own these name another repository.
    for variable in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR"] {
        command.env_remove(variable);
    }
    let output = command.env("LC_ALL", "C").arg("-C").arg(dir).args(args).stdin(Stdio::null()).output();
    let output = output.map_err(|error| Error::failed("no_git", format!("cannot run git: {error}")))?;
    let err = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Ok(Said { ok: output.status.success(), out: output.stdout, err })
}
