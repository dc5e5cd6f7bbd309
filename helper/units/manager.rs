//! Has the living service manager follow the files.
#![expect(clippy::disallowed_methods, reason = "this file runs systemctl and launchctl")]

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use super::System;
use crate::child::{self, Kept};

/// How long it may take to answer.
const LIMIT: Duration = Duration::from_secs(10);

/// The user's service manager, which may be out of reach: in a container, under `su`, without a login.
#[derive(Clone, Copy, Debug)]
pub(super) struct Manager {
    system: System,
}

/// It can't be reached, or did not do it; in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Unreachable(pub(super) String);

type Done = std::result::Result<(), Unreachable>;

impl Manager {
    /// That of this machine.
    pub(super) fn of(system: System) -> Self {
        Self { system }
    }

    /// Has it read the files and begin with this unit; a unit that runs begins anew.
    ///
    /// # Errors
    /// Nothing has begun.
    pub(super) fn begin(self, unit: &str, file: &Path) -> Done {
        match self.system {
            System::Systemd => {
                systemctl(&["daemon-reload"])?;
                systemctl(&["restart", unit])
            }
            System::Launchd => {
                let _ = launchctl(&["bootout", &format!("{}/{unit}", domain())]);
                launchctl(&["bootstrap", &domain(), &file.display().to_string()])
            }
        }
    }

    /// Ends a unit; its files are there still.
    ///
    /// # Errors
    /// It can't be reached, or knows no such unit.
    pub(super) fn end(self, unit: &str) -> Done {
        match self.system {
            System::Systemd => systemctl(&["stop", unit]),
            System::Launchd => launchctl(&["bootout", &format!("{}/{unit}", domain())]),
        }
    }

    /// Has it read the files anew, which begins and ends nothing.
    ///
    /// # Errors
    /// It can't be reached.
    pub(super) fn reload(self) -> Done {
        match self.system {
            System::Systemd => systemctl(&["daemon-reload"]),
            System::Launchd => Ok(()),
        }
    }

    /// Whether a unit runs; `None` if it can't be reached.
    pub(super) fn runs(self, unit: &str) -> Option<bool> {
        match self.system {
            System::Systemd => {
                systemctl(&["show", "--property=Version"]).ok()?;
                Some(systemctl(&["is-active", "--quiet", unit]).is_ok())
            }
            System::Launchd => Some(launchctl(&["print", &format!("{}/{unit}", domain())]).is_ok()),
        }
    }

    /// Whether the user's manager runs without a login, too; `None` where that can't be told.
    pub(super) fn lingers(self) -> Option<bool> {
        let user = nix::unistd::getuid().to_string();
        match self.system {
            System::Systemd => match run("loginctl", &["show-user", "--property=Linger", "--value", &user]) {
                Ok(said) => Some(said.trim() == "yes"),
                // It knows those alone that are logged in or linger.
                Err(Unreachable(why)) if why.contains("not logged in or lingering") => Some(false),
                Err(_) => None,
            },
            System::Launchd => None,
        }
    }

    /// What to do where it can't be reached, to begin at once with this unit.
    pub(super) fn by_hand(self, unit: &str, file: &Path) -> String {
        match self.system {
            System::Systemd => format!("systemctl --user daemon-reload && systemctl --user start {unit}"),
            System::Launchd => format!("launchctl bootstrap {} {}", domain(), file.display()),
        }
    }
}

fn domain() -> String {
    format!("gui/{}", nix::unistd::getuid())
}

fn systemctl(words: &[&str]) -> Done {
    run("systemctl", &[&["--user"], words].concat()).map(drop)
}

fn launchctl(words: &[&str]) -> Done {
    run("launchctl", words).map(drop)
}

/// Runs it, for at most [`LIMIT`]; gives the first of what it printed.
fn run(program: &str, words: &[&str]) -> std::result::Result<String, Unreachable> {
    let failed = |why: &str| Err(Unreachable(format!("{program} {}: {why}", words.join(" "))));
    let Ok(path) = which::which(program) else { return failed("there is no such program") };
    let ended = match child::run(Command::new(path).args(words), None, Kept { out: 4096, err: 4096 }, LIMIT) {
        Ok(ended) => ended,
        Err(error) => return failed(&error.to_string()),
    };
    match ended.status {
        Some(status) if status.success() => Ok(String::from_utf8_lossy(&ended.out).into_owned()),
        Some(status) => {
            let said = String::from_utf8_lossy(&ended.err);
            failed(&said.lines().next().map_or_else(|| status.to_string(), str::to_owned))
        }
        None => failed("it did not end"),
    }
}
