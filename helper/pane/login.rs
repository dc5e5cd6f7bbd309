//! The user's login shell, which reads its start-up files and becomes another program.

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::Command;

use super::shell::user_shell;
use crate::tmux::OWN_SHELL;

/// The words that follow are the shell's parameters, never its text.
const POSIX_LINE: &str = "exec \"$@\"";
const FISH_LINE: &str = "exec $argv";

/// The words by which a login shell reads its start-up files and becomes the words behind them; `None` for one that is not known.
/// `flags` are those before the line.
fn words(shell: &Path, flags: &str) -> Option<Vec<OsString>> {
    match shell.file_name().and_then(OsStr::to_str).unwrap_or_default() {
        "bash" | "zsh" | "dash" | "sh" => Some(vec![shell.into(), flags.into(), POSIX_LINE.into(), OWN_SHELL.into()]),
        "fish" => Some(vec![shell.into(), flags.into(), FISH_LINE.into()]),
        _ => None,
    }
}

/// Those of a shell that has a pane for itself.
pub(super) fn in_pane(shell: &Path) -> Option<Vec<OsString>> {
    words(shell, "-lic")
}

/// The command that runs these words as the user's login shell would in a pane; `None` if it is not known. It has a session of its own: an interactive
/// shell takes the terminal, and one that hangs would keep it.
pub fn login_shell<S: AsRef<OsStr>>(inner: &[S]) -> Option<Command> {
    let setsid = which::which("setsid").ok();
    // Without `setsid` it reads less, but leaves a terminal alone.
    let has_terminal = || fs_err::File::open("/dev/tty").is_ok();
    let flags = if setsid.is_some() || !has_terminal() { "-lic" } else { "-lc" };
    let words = words(&user_shell(), flags)?;
    let mut all = setsid.map(OsString::from).into_iter().chain(words);
    let mut command = Command::new(all.next()?);
    command.args(all).args(inner);
    Some(command)
}
