//! A job that starts something at login or boot, and ends it in an order of its own, as unit files. Pure.

use super::quote::{command_line, variable};
use super::stamp::stamped;
use super::{System, UnitFile, plist};

/// A job whose command comes back once all has been started.
#[derive(Clone, Debug)]
pub struct AtLogin<'a> {
    /// What its file, or its launchd label, is called.
    pub name: &'a str,
    /// What it does, in a few words.
    pub description: &'a str,
    /// The words that start it; the program's path comes first, absolute.
    pub start: Vec<String>,
    /// The words that end it. launchd has nothing of the kind.
    pub stop: Vec<String>,
    /// The variables that it needs besides what the manager gives.
    pub variables: Vec<(String, String)>,
    /// Seconds that the start may take.
    pub limit: u32,
}

impl AtLogin<'_> {
    /// Its file.
    pub fn file(&self, system: System) -> UnitFile {
        match system {
            System::Systemd => self.service(),
            // What was started goes on when the command has come back.
            System::Launchd => plist::agent(self.name, &self.start, &self.variables, "  <key>AbandonProcessGroup</key><true/>\n"),
        }
    }

    /// `KillMode=process`: what a user started with `nohup` lives on, as without a unit. `OOMPolicy=continue`: one process that the kernel
    /// ends for want of memory must not end all others.
    fn service(&self) -> UnitFile {
        let variables: String = self.variables.iter().map(|(name, value)| format!("Environment={}\n", variable(name, value))).collect();
        let text = format!(
            "[Unit]\nDescription={}\n\n[Service]\nType=oneshot\nRemainAfterExit=yes\n{variables}ExecStart={}\nExecStop={}\n\
             TimeoutStartSec={}\nTimeoutStopSec=60\nKillMode=process\nOOMPolicy=continue\n\n[Install]\nWantedBy=default.target\n",
            self.description,
            command_line(&self.start),
            command_line(&self.stop),
            self.limit
        );
        UnitFile { name: format!("{}.service", self.name), text: stamped(&text, 0, ("# ", "")), wanted_by: Some("default.target") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::stamp::is_unedited;

    #[test]
    fn both_managers_start_it_and_leave_what_was_started() {
        let words = |last: &str| ["/a & b/sidecar", "boot", last].map(str::to_owned).to_vec();
        let job = AtLogin {
            name: "sidecar-boot@work",
            description: "tmux",
            start: words("start"),
            stop: words("stop"),
            variables: vec![("TMUX_TMPDIR".into(), "/t %h".into())],
            limit: 60,
        };
        let unit = job.file(System::Systemd);
        assert_eq!((unit.name.as_str(), unit.wanted_by), ("sidecar-boot@work.service", Some("default.target")));
        for line in [
            "ExecStart=\"/a & b/sidecar\" \"boot\" \"start\"",
            "ExecStop=\"/a & b/sidecar\" \"boot\" \"stop\"",
            "Environment=\"TMUX_TMPDIR=/t %%h\"",
            "TimeoutStartSec=60",
            "KillMode=process",
        ] {
            assert!(unit.text.lines().any(|own| own == line), "{line}\n{}", unit.text);
        }
        let agent = job.file(System::Launchd);
        assert_eq!(agent.name, "sidecar-boot@work.plist");
        for part in ["<string>/a &amp; b/sidecar</string>", "<key>RunAtLoad</key><true/>", "<key>AbandonProcessGroup</key><true/>"] {
            assert!(agent.text.contains(part), "{}", agent.text);
        }
        assert!(is_unedited(&unit.text) && is_unedited(&agent.text));
    }
}
