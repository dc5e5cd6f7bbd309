//! The ordinary shell that is left in a pane.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Duration;

use crate::tmux::Server;

/// How long tmux may take to tell its options; the user waits for a prompt.
const LIMIT: Duration = Duration::from_secs(2);

/// The user's shell: `$SHELL`, which tmux sets to its `default-shell`, else the one of the password file, else `/bin/sh`.
pub fn user_shell() -> PathBuf {
    let passwd = || nix::unistd::User::from_uid(nix::unistd::getuid()).ok().flatten().map(|user| user.shell);
    let runs = |shell: &PathBuf| shell.is_absolute() && nix::unistd::access(shell, nix::unistd::AccessFlags::X_OK).is_ok();
    let variable = std::env::var_os("SHELL").map(PathBuf::from);
    variable.filter(runs).or_else(|| passwd().filter(runs)).unwrap_or_else(|| PathBuf::from("/bin/sh"))
}

/// Whether this process is the one that tmux started in its pane: that one leads a session, and no command of a shell's does.
pub fn is_panes_own() -> bool {
    nix::unistd::getsid(None).is_ok_and(|leader| leader == nix::unistd::getpid())
}

/// Becomes what tmux itself opens a pane with: `default-command`, else `default-shell` as a login shell. Comes back only if no
/// shell at all can be run.
pub fn leave_shell(server: Option<&Server>) -> ExitCode {
    if let Some((shell, command)) = server.and_then(defaults) {
        let _ = if command.is_empty() { login(&shell) } else { Command::new(&shell).arg("-c").arg(&command).exec() };
    }
    let _ = login(&user_shell());
    let error = login(Path::new("/bin/sh"));
    eprintln!("sidecar: cannot run a shell: {error}");
    ExitCode::FAILURE
}

/// A dash before its name makes it a login shell, whichever it is.
fn login(shell: &Path) -> std::io::Error {
    let name: OsString = [OsStr::new("-"), shell.file_name().unwrap_or_default()].into_iter().collect();
    Command::new(shell).arg0(name).exec()
}

/// `default-shell` and `default-command` of this pane's session.
fn defaults(server: &Server) -> Option<(PathBuf, OsString)> {
    let pane = std::env::var("TMUX_PANE").ok()?;
    let format = "#{pid}\n#{default-shell}\n#{default-command}";
    let reply = server.call(&["display-message", "-p", "-t", &pane, format], None, LIMIT).ok().filter(|reply| reply.ok)?;
    let mut lines = reply.stdout.strip_suffix(b"\n")?.splitn(3, |&byte| byte == b'\n');
    let (pid, shell, command) = (lines.next()?, lines.next()?, lines.next()?);
    server.check_is_ours(std::str::from_utf8(pid).ok()?.parse().ok()?).ok()?;
    Some((OsString::from_vec(shell.to_vec()).into(), OsString::from_vec(command.to_vec())))
}
