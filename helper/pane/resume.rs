//! `sidecar agent resume`: opens a pane's conversation again, in the pane that this process runs in.

use std::ffi::OsString;
use std::io::Read;
use std::os::fd::AsFd;
use std::process::{ChildStdout, Command, ExitCode, Stdio};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use super::launch::Launch;
use super::prompt::raw;
use super::shell::{is_panes_own, leave_shell, user_shell};
use super::start::{as_opened, tell};
use crate::error::{Error, Exit, Result};
use crate::model::RawText;
use crate::restore::{claim, not_begun};
use crate::store::{Config, Store};
use crate::tmux::Server;

/// Starts the watcher away from this pane's process, which becomes another program and would not know its child.
const DETACHED: &str = "\"$@\" </dev/null 2>/dev/null &";

/// Opens it; comes back only if that failed. The pane's own process leaves a shell then, a command of the user's shell an exit code.
///
/// # Errors
/// For a command of the user's shell: why it was not resumed.
pub fn resume(server: &Server, store: &Store, config: &Config, helper: &str, pane: &str) -> Result<ExitCode> {
    let own = is_panes_own();
    let error = match begin(server, store, config, helper, pane, !own) {
        Ok(never) => match never {},
        Err(error) => error,
    };
    not_begun(store, pane, &error);
    if !own {
        return Err(error);
    }
    tell(&error.message);
    Ok(leave_shell(Some(server)))
}

fn begin(server: &Server, store: &Store, config: &Config, helper: &str, pane: &str, typed: bool) -> Result<std::convert::Infallible> {
    let here = std::env::var("TMUX_PANE").unwrap_or_default();
    if here.is_empty() {
        return Err(Error::failed("no_pane", "an agent is resumed in a pane of tmux").exit(Exit::Usage));
    }
    // It watches what comes of this, and takes a place among those that start at the same time.
    let mut watcher = Command::new("/bin/sh");
    watcher.args(["-c", DETACHED, "sidecar-watch", helper, "pane", "watch", pane, &here]);
    let mut watcher = std::os::unix::process::CommandExt::process_group(&mut watcher, 0)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| Error::failed("no_watcher", format!("cannot start {helper}: {error}")))?;
    let turn = watcher.stdout.take();
    let _ = watcher.wait();
    if let Some(turn) = turn {
        if !wait_for_turn(turn)? {
            return Err(Error::failed("interrupted", "not resumed: it was interrupted").exit(Exit::Refused));
        }
    }
    let claimed = claim(server, store, config, pane)?;
    let line = claimed.line;
    let owned = |text: &RawText| text.as_os_str().to_owned();
    let launch = Launch {
        words: line.words.iter().map(owned).collect(),
        dir: as_opened(line.dir.as_path()),
        set: line.variable.iter().map(|(name, value)| (OsString::from(name), owned(value))).collect(),
        remove: line.without.iter().map(OsString::from).collect(),
        fallback: line.program.as_ref().map(owned),
        resumes: Some(pane.to_owned()),
        typed,
    };
    let error = launch.exec(&user_shell(), helper.as_ref());
    Err(Error::failed("not_started", format!("{} was not started: {error}", claimed.title)))
}

/// Waits until the watcher says that it is this one's turn; `false` if the user did not want to wait. Other keys have no one to go to.
fn wait_for_turn(mut turn: ChildStdout) -> Result<bool> {
    let no_terminal = |error: std::io::Error| Error::failed("no_terminal", format!("cannot resume here: {error}"));
    let terminal = std::io::stdin();
    raw(|| {
        loop {
            let mut both = [PollFd::new(turn.as_fd(), PollFlags::POLLIN), PollFd::new(terminal.as_fd(), PollFlags::POLLIN)];
            match poll(&mut both, PollTimeout::NONE) {
                Err(nix::errno::Errno::EINTR) => continue,
                Err(error) => return Err(error.into()),
                Ok(_) => {}
            }
            let [turned, typed] = both.map(|one| one.any().unwrap_or(false));
            if turned {
                // Its end says as much as its word.
                let _ = turn.read(&mut [0; 16]);
                return Ok(true);
            }
            let mut bytes = [0; 256];
            let number = if typed { nix::unistd::read(&terminal, &mut bytes)? } else { 0 };
            if typed && (number == 0 || bytes[..number].contains(&3)) {
                return Ok(false);
            }
        }
    })
    .map_err(no_terminal)
}
