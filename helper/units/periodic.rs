//! A job that runs again and again, as unit files. Pure.

use super::quote::{command_line, variable};
use super::stamp::stamped;
use super::{System, UnitFile, plist};

/// How long one run may take, in seconds: systemd would wait for ever, and start no other one.
const LONGEST_RUN: u32 = 300;

/// A job that runs once when it is loaded, and then again and again.
#[derive(Clone, Debug)]
pub struct Periodic<'a> {
    /// What its files, or its launchd label, are called.
    pub name: &'a str,
    /// What it does, in a few words.
    pub description: &'a str,
    /// Its words; the program's path comes first, absolute.
    pub words: Vec<String>,
    /// The variables that it needs besides what the manager gives.
    pub variables: Vec<(String, String)>,
    /// Seconds from one run to the next.
    pub every: u32,
}

impl Periodic<'_> {
    /// Its files, in the order in which they are written.
    pub fn files(&self, system: System) -> Vec<UnitFile> {
        match system {
            System::Systemd => vec![self.service(), self.timer()],
            System::Launchd => vec![self.agent()],
        }
    }

    fn service(&self) -> UnitFile {
        let variables: String = self.variables.iter().map(|(name, value)| format!("Environment={}\n", variable(name, value))).collect();
        let text = format!(
            "[Unit]\nDescription={}\n\n[Service]\nType=oneshot\n{variables}ExecStart={}\nTimeoutStartSec={LONGEST_RUN}\nStandardOutput=null\n",
            self.description,
            command_line(&self.words)
        );
        UnitFile { name: format!("{}.service", self.name), text: stamped(&text, 0, ("# ", "")), wanted_by: None }
    }

    fn timer(&self) -> UnitFile {
        let text = format!(
            "[Unit]\nDescription={}\n\n[Timer]\nOnActiveSec=0\nOnUnitActiveSec={}\nAccuracySec=30\n\n[Install]\nWantedBy=timers.target\n",
            self.description, self.every
        );
        UnitFile { name: format!("{}.timer", self.name), text: stamped(&text, 0, ("# ", "")), wanted_by: Some("timers.target") }
    }

    fn agent(&self) -> UnitFile {
        let rest =
            format!("  <key>StartInterval</key><integer>{}</integer>\n  <key>ProcessType</key><string>Background</string>\n", self.every);
        plist::agent(self.name, &self.words, &self.variables, &rest)
    }

    /// Seconds from one run to the next, as a file of this kind tells.
    pub fn every_of(text: &str) -> Option<u32> {
        let after = |mark: &str| Some(text.split_once(mark)?.1);
        let rest = after("\nOnUnitActiveSec=").or_else(|| after("<key>StartInterval</key><integer>"))?;
        rest[..rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len())].parse().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::stamp::is_unedited;

    #[test]
    fn the_files_of_both_managers_say_the_same() {
        let job = Periodic {
            name: "sidecar-snapshot",
            description: "Snapshots",
            words: vec!["/a & b/sidecar".into(), "snapshot".into(), "save".into()],
            variables: vec![("XDG_STATE_HOME".into(), "/s <1>".into())],
            every: 60,
        };
        let units = job.files(System::Systemd);
        let named: Vec<_> = units.iter().map(|unit| (unit.name.as_str(), unit.wanted_by)).collect();
        assert_eq!(named, [("sidecar-snapshot.service", None), ("sidecar-snapshot.timer", Some("timers.target"))]);
        assert!(units[0].text.contains("\nExecStart=\"/a & b/sidecar\" \"snapshot\" \"save\"\n"), "{}", units[0].text);
        assert!(units[0].text.contains("\nEnvironment=\"XDG_STATE_HOME=/s <1>\"\n"));
        assert!(units[1].text.contains("\nOnActiveSec=0\n"));
        let agent = &job.files(System::Launchd)[0];
        for line in
            ["<string>/a &amp; b/sidecar</string>", "<key>XDG_STATE_HOME</key><string>/s &lt;1&gt;</string>", "<key>RunAtLoad</key><true/>"]
        {
            assert!(agent.text.contains(line), "{}", agent.text);
        }
        assert!(agent.text.starts_with("<?xml "));
        assert!(units.iter().chain([agent]).all(|unit| is_unedited(&unit.text)));
        assert_eq!([&units[1], agent].map(|unit| Periodic::every_of(&unit.text)), [Some(60), Some(60)]);
        assert_eq!(Periodic::every_of(&units[0].text), None);
    }
}
