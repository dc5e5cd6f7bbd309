//! Shows a command and waits for the Enter that runs it.

use std::io::{Error, Result, Write};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::termios::{LocalFlags, SetArg, cfmakeraw, tcgetattr, tcsetattr};

/// Asks the terminal where its cursor is. tmux answers when it has come so far: what was typed before the answer was typed
/// before the question stood there.
const WHERE: &str = "\x1b[6n";
/// How long the answer is waited for; what comes later is known by its form.
const ANSWER_LIMIT: Duration = Duration::from_secs(10);
/// A key that comes with others within this time, in ms, was pasted, or is none that a person meant.
const TOGETHER: u16 = 30;

/// Shows a command and its directory, both safe to print, and waits; gives whether the answer was Enter, alone.
///
/// # Errors
/// There is no terminal, or it is gone.
pub(super) fn wants_to_run(command: &str, dir: &str) -> Result<bool> {
    raw(|| ask(command, dir))
}

/// Does something while the terminal gives each key as it is. What was typed before, or is left over, is dropped.
///
/// # Errors
/// There is no terminal, or it is gone; those of what is done.
pub(super) fn raw<T>(what: impl FnOnce() -> Result<T>) -> Result<T> {
    let terminal = std::io::stdin();
    let before = tcgetattr(&terminal)?;
    let mut raw = before.clone();
    // Without signals: a Ctrl-C that ended this process would close the pane.
    cfmakeraw(&mut raw);
    tcsetattr(&terminal, SetArg::TCSAFLUSH, &raw)?;
    let done = what();
    let mut after = before;
    after.local_flags.insert(LocalFlags::ISIG);
    tcsetattr(&terminal, SetArg::TCSAFLUSH, &after)?;
    done
}

fn ask(command: &str, dir: &str) -> Result<bool> {
    print(&format!(
        "sidecar: this pane was started with a command, in {dir}:\r\n\r\n  {command}\r\n\r\nEnter runs it, any other key opens a shell. {WHERE}"
    ))?;
    let mut typed = typed_after_the_question()?;
    loop {
        if typed.is_empty() {
            typed = read(None)?;
        }
        while let Some(more) = read_within(PollTimeout::from(TOGETHER))? {
            typed.extend(more);
        }
        typed = without_reports(&typed);
        if !typed.is_empty() {
            print("\r\n")?;
            return Ok(typed == b"\r");
        }
    }
}

/// Waits for the terminal's answer, and gives what was typed behind it.
fn typed_after_the_question() -> Result<Vec<u8>> {
    let deadline = Instant::now() + ANSWER_LIMIT;
    let mut typed = Vec::new();
    while Instant::now() < deadline {
        typed.extend(read(Some(deadline))?);
        if let Some((_, end)) = report(&typed) {
            return Ok(typed.split_off(end));
        }
        // What was typed blindly is of no use.
        typed.drain(..typed.len().saturating_sub(32));
    }
    Ok(Vec::new())
}

/// Where the first report of a cursor's place, `ESC [ row ; column R`, begins and ends.
fn report(typed: &[u8]) -> Option<(usize, usize)> {
    (0..typed.len()).find_map(|start| {
        let body = typed[start..].strip_prefix(b"\x1b[")?;
        let length = body.iter().position(|byte| !byte.is_ascii_digit() && *byte != b';')?;
        (body[length] == b'R' && body[..length].contains(&b';')).then_some((start, start + 2 + length + 1))
    })
}

fn without_reports(typed: &[u8]) -> Vec<u8> {
    match report(typed) {
        Some((start, end)) => [&typed[..start], &without_reports(&typed[end..])].concat(),
        None => typed.to_vec(),
    }
}

fn print(text: &str) -> Result<()> {
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}

/// What comes next; nothing if the deadline passes.
fn read(deadline: Option<Instant>) -> Result<Vec<u8>> {
    let timeout = deadline.map_or(PollTimeout::NONE, |deadline| {
        PollTimeout::try_from(deadline.saturating_duration_since(Instant::now())).unwrap_or(PollTimeout::MAX)
    });
    Ok(read_within(timeout)?.unwrap_or_default())
}

fn read_within(timeout: PollTimeout) -> Result<Option<Vec<u8>>> {
    let terminal = std::io::stdin();
    match poll(&mut [PollFd::new(terminal.as_fd(), PollFlags::POLLIN)], timeout) {
        Ok(0) | Err(nix::errno::Errno::EINTR) => return Ok(None),
        Ok(_) => {}
        Err(error) => return Err(error.into()),
    }
    let mut bytes = [0; 256];
    match nix::unistd::read(&terminal, &mut bytes)? {
        0 => Err(Error::other("the terminal is gone")),
        number => Ok(Some(bytes[..number].to_vec())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_are_told_from_keys() {
        for (typed, keys) in [
            (&b"\x1b[3;1R"[..], &b""[..]),
            (b"\r\x1b[12;40R\r", b"\r\r"),
            (b"\x1b[A", b"\x1b[A"),
            (b"\x1b[R\x1b[3R", b"\x1b[R\x1b[3R"),
            (b"\x1b[3;", b"\x1b[3;"),
            (b"q", b"q"),
        ] {
            assert_eq!(without_reports(typed), keys, "{typed:?}");
        }
        assert_eq!(report(b"\r\r\x1b[3;1R\r"), Some((2, 8)));
    }
}
