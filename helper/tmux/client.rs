//! Runs the tmux client: one fixed environment, a time limit, and what a failure means.
#![expect(clippy::disallowed_methods, reason = "this room runs tmux")]

use std::ffi::OsStr;
use std::io::{BufRead, Read};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use super::server::Server;
use crate::agents::process;
use crate::child::{self, Kept};
use crate::model::Generation;

/// How long a server that is just ending is waited for, and how long from one try to the next.
const ENDING_LIMIT: Duration = Duration::from_secs(5);
const ENDING_PAUSE: Duration = Duration::from_millis(50);

/// What a tmux client printed.
#[derive(Debug)]
pub struct Reply {
    /// Its standard output.
    pub stdout: Vec<u8>,
    /// Its standard error, lossy and trimmed.
    pub stderr: String,
    /// Whether it exited with 0.
    pub ok: bool,
}

/// Why a call gave no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// Nobody listens on the socket, or there is none.
    NoServer,
    /// It did not answer in time.
    Timeout,
    /// Anything else, in tmux's own words.
    Other(String),
}

impl Failure {
    /// Whether the server went away while it was asked.
    pub fn is_of_an_ending_server(&self) -> bool {
        matches!(self, Self::Other(said) if said.contains("server exited") || said.contains("lost server"))
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NoServer => f.write_str("no server"),
            Self::Timeout => f.write_str("the server did not answer in time"),
            Self::Other(text) => f.write_str(text),
        }
    }
}

impl Server {
    /// Runs `tmux ARGS`, feeding `input`, for at most `limit`. The client is ended by its pid when the time is over.
    ///
    /// `-u` since in a C locale `-F` output turns what is not ASCII into `_`.
    ///
    /// # Errors
    /// No server, no answer in time, or no client that can be run.
    pub fn call<S: AsRef<OsStr>>(&self, args: &[S], input: Option<&[u8]>, limit: Duration) -> Result<Reply, Failure> {
        let server = [OsStr::new("-S"), self.socket().as_os_str()];
        let args: Vec<&OsStr> = server.into_iter().chain(args.iter().map(AsRef::as_ref)).collect();
        self.run(&args, input, limit)
    }

    /// Starts the server and waits until it has read the user's tmux.conf. It lives while the result is held, even without a
    /// session: its client waits for the end of a file that it is to read, which comes with the end of this process at the latest.
    ///
    /// # Errors
    /// The server did not start, or did not finish its tmux.conf in time.
    pub fn start_and_hold(&self, limit: Duration) -> Result<Held, Failure> {
        let deadline = Instant::now() + ENDING_LIMIT;
        loop {
            match self.try_start(limit) {
                // It takes a client and drops it. When it is gone, the next client starts another one.
                Err(failure) if failure.is_of_an_ending_server() && Instant::now() < deadline => std::thread::sleep(ENDING_PAUSE),
                started => return started,
            }
        }
    }

    fn try_start(&self, limit: Duration) -> Result<Held, Failure> {
        let commands = ["start-server", ";", "display-message", "-p", "#{exit-unattached}", ";", "source-file", "-"].map(OsStr::new);
        let mut child = self
            .command(&self.start_options().into_iter().chain(commands).collect::<Vec<_>>())?
            .stdin(Stdio::piped())
            .spawn()
            .map_err(not_run)?;
        let (sender, receiver) = mpsc::channel();
        let stdout = child.stdout.take();
        std::thread::spawn(move || {
            let mut line = String::new();
            let read = stdout.map(|stdout| std::io::BufReader::new(stdout).read_line(&mut line));
            let _ = sender.send(read.is_some_and(|read| read.is_ok()).then_some(line));
        });
        let held = Held { child };
        match receiver.recv_timeout(limit) {
            Ok(Some(line)) if matches!(line.trim(), "0" | "off") => Ok(held),
            Ok(Some(line)) if !line.trim().is_empty() => Err(Failure::Other(
                "tmux's option exit-unattached is on, so a server without a client ends: start tmux, and run this from inside it"
                    .to_owned(),
            )),
            Ok(_) => Err(Failure::Other(held.last_words())),
            Err(_) => Err(Failure::Timeout),
        }
    }

    /// Has a server whose socket was removed make it again, as tmux does on SIGUSR1; gives whether it answers there then. Any other
    /// program would be ended by that signal, so the process must be of this generation beyond doubt, and be tmux.
    pub fn ask_for_socket(&self, generation: &Generation, limit: Duration) -> bool {
        let pid = generation.pid;
        let is_it = generation.process_start.is_some()
            && process::lives(generation)
            && process::comm(pid).is_some_and(|name| name.starts_with("tmux"))
            && pid > 1;
        if !is_it || nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid), nix::sys::signal::Signal::SIGUSR1).is_err() {
            return false;
        }
        let deadline = Instant::now() + limit;
        while Instant::now() < deadline {
            if self.pid_and_version(limit).is_ok_and(|(answers, _)| answers == pid) {
                return true;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        false
    }

    pub(super) fn command(&self, args: &[&OsStr]) -> Result<Command, Failure> {
        let program = self.program().ok_or_else(|| Failure::Other("tmux is not on PATH".to_owned()))?;
        let mut command = Command::new(program);
        command.arg("-u").args(args).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // A client inside a pane of another server must not take that one for its own.
        command.env_remove("TMUX").env_remove("TMUX_PANE");
        Ok(command)
    }

    pub(super) fn run(&self, args: &[&OsStr], input: Option<&[u8]>, limit: Duration) -> Result<Reply, Failure> {
        let ended = child::run(&mut self.command(args)?, input, Kept::ALL, limit).map_err(not_run)?;
        let Some(status) = ended.status else { return Err(Failure::Timeout) };
        let stderr = String::from_utf8_lossy(&ended.err).trim().to_owned();
        if !status.success() && ended.out.is_empty() && is_no_server(&stderr) {
            return Err(Failure::NoServer);
        }
        Ok(Reply { stdout: ended.out, stderr, ok: status.success() })
    }
}

/// A server that is held alive; let go when this is dropped.
pub struct Held {
    child: Child,
}

impl Held {
    /// What the client said before it ended.
    fn last_words(mut self) -> String {
        let mut said = String::new();
        drop(self.child.stdin.take());
        if let Some(mut stderr) = self.child.stderr.take() {
            let _ = stderr.read_to_string(&mut said);
        }
        if said.trim().is_empty() { "the server did not start".to_owned() } else { said.trim().to_owned() }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        // It does nothing but wait; a server that hangs would have it wait on after the end of its file.
        end(&mut self.child);
    }
}

#[expect(clippy::needless_pass_by_value, reason = "as map_err hands it over")]
fn not_run(error: std::io::Error) -> Failure {
    Failure::Other(format!("cannot run tmux: {error}"))
}

/// tmux says `no server running on PATH` or `error connecting to PATH (No such file or directory)`.
fn is_no_server(stderr: &str) -> bool {
    stderr.starts_with("no server running")
        || (stderr.starts_with("error connecting to")
            && (stderr.ends_with("(No such file or directory)") || stderr.ends_with("(Connection refused)")))
}

fn end(child: &mut Child) {
    let _ = child.kill();
    let _ = child.wait();
}

#[cfg(test)]
mod tests {
    use super::is_no_server;

    #[test]
    fn tmuxs_own_words_for_no_server_are_known() {
        assert!(is_no_server("no server running on /tmp/tmux-0/default"));
        assert!(is_no_server("error connecting to /tmp/x (No such file or directory)"));
        assert!(is_no_server("error connecting to /tmp/x (Connection refused)"));
        assert!(!is_no_server("error connecting to /tmp/x (Permission denied)"));
        assert!(!is_no_server("server exited unexpectedly"));
        assert!(!is_no_server("open terminal failed: not a terminal"));
    }
}
