//! Runs ssh.
#![expect(clippy::disallowed_methods, reason = "this is the one place that runs ssh")]

use std::ffi::OsStr;
use std::process::Command;
use std::time::Duration;

use crate::child::{self, Kept};
use crate::error::{Error, Result};

/// What is kept of what a host says, in bytes: thousands of shells. One may print without end.
const KEPT: Kept = Kept { out: 16 << 20, err: 1 << 20 };

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
    let commands = hosts.iter().map(|host| ssh(false, host, line)).collect::<Result<Vec<_>>>()?;
    let unanswered = |host: &String| Answer { host: host.clone(), code: None, late: false, out: Vec::new(), err: String::new() };
    let mut answers: Vec<Answer> = hosts.iter().map(unanswered).collect();
    std::thread::scope(|scope| {
        for (answer, command) in answers.iter_mut().zip(commands) {
            scope.spawn(move || answer.hear(command, limit));
        }
    });
    Ok(answers)
}

impl Answer {
    fn hear(&mut self, mut command: Command, limit: Duration) {
        // Nobody can be asked by several at once: what ssh would ask on the terminal is answered by this with nothing.
        command.env("SSH_ASKPASS_REQUIRE", "force").env("SSH_ASKPASS", "false");
        match child::run(&mut command, None, KEPT, limit) {
            Ok(ended) => {
                self.code = ended.status.and_then(|status| status.code());
                self.late = ended.status.is_none();
                self.err = String::from_utf8_lossy(&ended.err).into_owned();
                if !self.late {
                    self.out = ended.out;
                }
            }
            Err(error) => self.err = format!("cannot run ssh: {error}"),
        }
    }
}
