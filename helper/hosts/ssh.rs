//! Runs ssh.
#![expect(clippy::disallowed_methods, reason = "this is the one place that runs ssh")]

use std::ffi::OsStr;
use std::io::Read;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use crate::error::{Error, Result};

/// What a host answered.
#[derive(Debug)]
pub struct Answer {
    /// Which host.
    pub host: String,
    /// The exit code; `None` if ssh was ended by a signal, or did not end in time.
    pub code: Option<i32>,
    /// Whether it did not end in time.
    pub late: bool,
    /// What the command printed.
    pub out: Vec<u8>,
    /// What it, or ssh, said on standard error, lossy.
    pub err: String,
}

fn ssh(terminal: bool, host: &str, line: &OsStr) -> Result<Command> {
    let program = which::which("ssh")
        .map_err(|_| Error::failed("no_ssh", "cannot reach other hosts: ssh is not on PATH").hint("install OpenSSH's client"))?;
    let mut command = Command::new(program);
    if terminal {
        command.arg("-t");
    }
    command.arg("--").arg(host).arg(line);
    Ok(command)
}

/// Runs the line on one host, with our own input and output, on a terminal there too if `terminal`. Gives its exit code, `None` if
/// a signal ended it.
///
/// # Errors
/// There is no ssh.
pub fn attached(host: &str, line: &OsStr, terminal: bool) -> Result<Option<i32>> {
    let status = ssh(terminal, host, line)?.status();
    Ok(status.map_err(|error| Error::failed("no_ssh", format!("cannot run ssh: {error}")))?.code())
}

/// Runs the line on all of these hosts at the same time, for at most `limit`; the answers come in the order of the hosts.
///
/// # Errors
/// There is no ssh.
pub fn together(hosts: &[String], line: &OsStr, limit: Duration) -> Result<Vec<Answer>> {
    let deadline = Instant::now() + limit;
    let begun = hosts.iter().map(|host| Ok((host, Call::begin(ssh(false, host, line)?)))).collect::<Result<Vec<_>>>()?;
    let answer = |(host, call): (&String, std::io::Result<Call>)| match call {
        Ok(call) => call.end(host, deadline),
        Err(error) => Answer { host: host.clone(), code: None, late: false, out: Vec::new(), err: format!("cannot run ssh: {error}") },
    };
    Ok(begun.into_iter().map(answer).collect())
}

/// A call on its way.
struct Call {
    child: Child,
    out: Receiver<Vec<u8>>,
    err: Receiver<Vec<u8>>,
}

impl Call {
    fn begin(mut command: Command) -> std::io::Result<Self> {
        // Nobody can be asked by several at once: what ssh would ask on the terminal is answered by this with nothing.
        command.env("SSH_ASKPASS_REQUIRE", "force").env("SSH_ASKPASS", "false");
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
        let (out, err) = (read_all(child.stdout.take()), read_all(child.stderr.take()));
        Ok(Self { child, out, err })
    }

    fn end(mut self, host: &str, deadline: Instant) -> Answer {
        let left = || deadline.saturating_duration_since(Instant::now());
        // Its output ends with it; a connection that ssh leaves to others may hold it open.
        let (out, err) = (self.out.recv_timeout(left()), self.err.recv_timeout(left()));
        let late = out.is_err() || err.is_err();
        if late {
            let _ = self.child.kill();
        }
        let code = self.child.wait().ok().and_then(|status| status.code()).filter(|_| !late);
        let err = String::from_utf8_lossy(&err.unwrap_or_default()).into_owned();
        Answer { host: host.to_owned(), code, late, out: out.unwrap_or_default(), err }
    }
}

fn read_all<R: Read + Send + 'static>(pipe: Option<R>) -> Receiver<Vec<u8>> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut pipe) = pipe {
            let _ = pipe.read_to_end(&mut bytes);
        }
        let _ = sender.send(bytes);
    });
    receiver
}
