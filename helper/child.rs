//! A child process that is listened to while it runs, for a limited time.

use std::io::{ErrorKind, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

/// How often it is looked whether a child has ended whose pipes somebody else still holds open.
const ROUND: Duration = Duration::from_millis(10);
/// The first pause for a child without open pipes, which is about to end; each one is twice as long, up to [`ROUND`].
const FIRST_PAUSE: Duration = Duration::from_micros(50);
/// The most that a pipe holds, by Linux's `pipe-max-size`.
const PIPE: u64 = 1 << 20;

/// How many bytes are kept of what a child says; what is more is read and dropped. With 0 it speaks to nobody.
#[derive(Clone, Copy, Debug)]
pub struct Kept {
    /// Of its standard output.
    pub out: usize,
    /// Of its standard error.
    pub err: usize,
}

impl Kept {
    /// Whatever it says, for an answer that is worth nothing in part.
    pub const ALL: Self = Self { out: usize::MAX, err: usize::MAX };
}

/// A child that has ended, or was ended by its pid.
#[derive(Debug)]
pub struct Ended {
    /// How it ended; `None` if it did not in its time.
    pub status: Option<ExitStatus>,
    /// What it printed until then.
    pub out: Vec<u8>,
    /// What it said on standard error.
    pub err: Vec<u8>,
}

impl Ended {
    /// Whether it ended with 0.
    pub fn well(&self) -> bool {
        self.status.is_some_and(|status| status.success())
    }
}

/// Runs the command, feeding `input`, for at most `limit`. It is over with the child itself: what that leaves in the background may hold
/// its pipes open for ever.
///
/// # Errors
/// It can't be run, or not be waited for.
pub fn run(command: &mut Command, input: Option<&[u8]>, kept: Kept, limit: Duration) -> std::io::Result<Ended> {
    let deadline = Instant::now() + limit;
    let to = |is_used: bool| if is_used { Stdio::piped() } else { Stdio::null() };
    command.stdin(to(input.is_some())).stdout(to(kept.out > 0)).stderr(to(kept.err > 0));
    let mut child = command.spawn()?;
    let mut talk = Talk {
        input: child.stdin.take().map(|pipe| (pipe, input.unwrap_or_default())),
        out: Heard { pipe: child.stdout.take(), kept: kept.out, said: Vec::new() },
        err: Heard { pipe: child.stderr.take(), kept: kept.err, said: Vec::new() },
    };
    let status = talk.go_on_until(&mut child, deadline);
    if !matches!(status, Ok(Some(_))) {
        let _ = child.kill();
        let _ = child.wait();
    }
    Ok(Ended { status: status?, out: talk.out.said, err: talk.err.said })
}

/// The three pipes of a child.
struct Talk<'a> {
    input: Option<(ChildStdin, &'a [u8])>,
    out: Heard<std::process::ChildStdout>,
    err: Heard<std::process::ChildStderr>,
}

impl Talk<'_> {
    /// `None` if the child lives at the deadline.
    fn go_on_until(&mut self, child: &mut Child, deadline: Instant) -> std::io::Result<Option<ExitStatus>> {
        for pipe in self.open() {
            fcntl(pipe.0, FcntlArg::F_SETFL(OFlag::O_NONBLOCK))?;
        }
        let mut pause = FIRST_PAUSE;
        loop {
            // Asked before its pipes are read: they hold all that it said by then.
            let status = child.try_wait()?;
            self.write();
            self.out.read();
            self.err.read();
            let left = deadline.saturating_duration_since(Instant::now());
            if status.is_some() || left.is_zero() {
                return Ok(status);
            }
            self.wait(&mut pause, left);
        }
    }

    /// Waits until a pipe is ready, for a moment.
    #[expect(clippy::disallowed_methods, reason = "a child without pipes tells by nothing that it ended")]
    fn wait(&self, pause: &mut Duration, left: Duration) {
        let mut pipes: Vec<PollFd> = self.open().map(|(pipe, what)| PollFd::new(pipe, what)).collect();
        if pipes.is_empty() {
            std::thread::sleep(left.min(*pause));
            *pause = ROUND.min(*pause * 2);
        } else {
            let _ = poll(&mut pipes, PollTimeout::try_from(left.min(ROUND)).unwrap_or(PollTimeout::ZERO));
        }
    }

    fn open(&self) -> impl Iterator<Item = (BorrowedFd<'_>, PollFlags)> {
        let input = self.input.iter().map(|(pipe, _)| (pipe.as_fd(), PollFlags::POLLOUT));
        let out = self.out.pipe.iter().map(|pipe| (pipe.as_fd(), PollFlags::POLLIN));
        let err = self.err.pipe.iter().map(|pipe| (pipe.as_fd(), PollFlags::POLLIN));
        input.chain(out).chain(err)
    }

    /// Writes what the pipe takes. A child that ends early closes it; its exit tells why.
    fn write(&mut self) {
        let Some((pipe, rest)) = &mut self.input else { return };
        while !rest.is_empty() {
            match pipe.write(rest) {
                Ok(written) => *rest = &rest[written..],
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => break,
            }
        }
        self.input = None;
    }
}

/// One stream of a child's words.
struct Heard<R> {
    /// `None` at its end.
    pipe: Option<R>,
    kept: usize,
    said: Vec<u8>,
}

impl<R: Read> Heard<R> {
    /// Reads what the pipe holds, and no more: somebody may write on and on.
    fn read(&mut self) {
        let Some(pipe) = &mut self.pipe else { return };
        let read = pipe.take(PIPE).read_to_end(&mut self.said);
        self.said.truncate(self.kept);
        let goes_on = match read {
            Ok(read) => read as u64 == PIPE,
            // What came before another error is short, and a short answer is told by its missing end.
            Err(error) => error.kind() == ErrorKind::WouldBlock,
        };
        if !goes_on {
            self.pipe = None;
        }
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a test runs children")]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(60);

    fn sh(line: &str, input: Option<&[u8]>, kept: Kept, limit: Duration) -> Ended {
        run(Command::new("/bin/sh").args(["-c", line]), input, kept, limit).unwrap()
    }

    #[test]
    fn a_child_that_says_more_than_its_pipes_hold_ends() {
        let line = "head -c 3000000 /dev/zero; head -c 3000000 /dev/zero >&2; exit 3";
        let ended = sh(line, None, Kept { out: 1000, err: 2_000_000 }, LONG);
        assert_eq!((ended.status.unwrap().code(), ended.out.len(), ended.err.len()), (Some(3), 1000, 2_000_000));
        let ended = sh(line, None, Kept::ALL, LONG);
        assert_eq!((ended.out.len(), ended.err.len()), (3_000_000, 3_000_000));
        assert!(sh("echo x; echo y >&2", None, Kept { out: 0, err: 0 }, LONG).well());
    }

    #[test]
    fn what_is_fed_arrives_whole_while_it_answers() {
        let fed: Vec<u8> = (0..=255).cycle().take(3_000_000).collect();
        assert_eq!(sh("cat", Some(&fed), Kept::ALL, LONG).out, fed);
        // One that does not listen.
        assert_eq!(sh("exit 4", Some(&fed), Kept::ALL, LONG).status.unwrap().code(), Some(4));
    }

    #[test]
    fn a_child_that_goes_on_is_ended_at_its_limit() {
        for line in ["echo $$; exec sleep 600", "echo $$; exec yes", "echo $$; exec sleep 600 >&- 2>&-"] {
            let begun = Instant::now();
            let ended = sh(line, None, Kept { out: 100, err: 1 }, Duration::from_millis(500));
            assert!(ended.status.is_none() && begun.elapsed() < LONG, "{line}");
            let said = String::from_utf8(ended.out).unwrap();
            let pid = nix::unistd::Pid::from_raw(said.lines().next().unwrap().parse().unwrap());
            assert_eq!(nix::sys::signal::kill(pid, None), Err(nix::errno::Errno::ESRCH), "{line}");
        }
    }

    #[test]
    fn what_a_child_leaves_behind_is_not_waited_for() {
        let begun = Instant::now();
        let ended = sh("sleep 600 & echo $!", None, Kept::ALL, LONG);
        assert!(ended.well() && begun.elapsed() < LONG);
        let left: i32 = String::from_utf8(ended.out).unwrap().trim().parse().unwrap();
        nix::sys::signal::kill(nix::unistd::Pid::from_raw(left), nix::sys::signal::SIGKILL).unwrap();
    }

    #[test]
    fn a_program_that_is_not_there_is_an_error() {
        let missing = run(&mut Command::new("/nowhere/program"), None, Kept::ALL, LONG);
        assert_eq!(missing.unwrap_err().kind(), ErrorKind::NotFound);
    }
}
