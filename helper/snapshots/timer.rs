//! The timer that saves snapshots: a job of the user's own service manager.

use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::store::home;
use crate::units::{Enabled, Files, Manager, Periodic, System, UnitFile, UnitState, Unreachable};

/// What the job is called.
const NAME: &str = "sidecar-snapshot";
/// Seconds from one snapshot to the next, where nothing else is said.
pub const EVERY: u32 = 900;
/// Variables that say where the records and the servers are; the manager need not have what the user's shell has.
const VARIABLES: [&str; 4] = ["SIDECAR_HOST_ID", "TMUX_TMPDIR", "XDG_CONFIG_HOME", "XDG_STATE_HOME"];
/// Where the manager finds programs by itself.
const PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// The timer on this machine.
pub struct Timer {
    files: Files,
    manager: Manager,
    system: System,
    helper: String,
    variables: Vec<(String, String)>,
}

/// How the timer stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimerState {
    /// Its files are there, as this program would write them.
    Installed,
    /// Its files are ours, but of another version, another path, or not whole.
    Outdated,
    /// Its files are there, and nothing starts it.
    Disabled,
    /// A file of its name is not ours, or was edited.
    Edited,
    /// There is none.
    NotInstalled,
}

impl TimerState {
    /// The word in `--json`.
    pub fn word(self) -> &'static str {
        match self {
            Self::Installed => "installed",
            Self::Outdated => "outdated",
            Self::Disabled => "disabled",
            Self::Edited => "edited",
            Self::NotInstalled => "not_installed",
        }
    }
}

/// What is known of the timer.
pub struct TimerStatus {
    /// How it stands.
    pub state: TimerState,
    /// Seconds from one snapshot to the next.
    pub every: Option<u32>,
    /// Whether the manager runs it; `None` if that can't be reached.
    pub runs: Option<bool>,
    /// Its files that are there.
    pub files: Vec<PathBuf>,
    /// The user's own changes to it.
    pub drop_ins: Vec<PathBuf>,
    /// What is to be said of it, and what to do.
    pub detail: String,
    /// What to do; empty for nothing.
    pub hint: String,
}

/// What was done.
pub struct TimerChange {
    /// The files that changed, or are gone.
    pub changed: Vec<PathBuf>,
    /// Why the manager has not followed, and what to do for that.
    pub pending: Option<(String, String)>,
    /// The user's own changes to it, which stay.
    pub drop_ins: Vec<PathBuf>,
}

impl Timer {
    /// That of this machine. `helper` is this program's path, one that stays the same over updates; `tmux` is where tmux lies.
    ///
    /// # Errors
    /// The user's home is not known, or a variable can't be written down.
    pub fn here(helper: String, tmux: Option<&Path>) -> Result<Self> {
        let system = System::here();
        let mut variables = Vec::new();
        for name in VARIABLES {
            match std::env::var(name) {
                Ok(value) if !value.is_empty() => variables.push((name.to_owned(), value)),
                Err(std::env::VarError::NotUnicode(_)) => {
                    return Err(Error::failed("bad_variable", format!("cannot write {name} into a unit file: it is not UTF-8")));
                }
                Ok(_) | Err(std::env::VarError::NotPresent) => (),
            }
        }
        let known = nix::unistd::User::from_uid(nix::unistd::getuid()).ok().flatten().map(|user| user.dir);
        if let Some(home) = home()?.to_str().filter(|home| known.as_deref() != Some(Path::new(home))) {
            variables.push(("HOME".to_owned(), home.to_owned()));
        }
        // Of another tmux than the system's the manager knows nothing, and its client might not understand the server.
        let folder = tmux.and_then(Path::parent).and_then(Path::to_str).filter(|folder| !PATH.split(':').any(|known| known == *folder));
        variables.extend(folder.map(|folder| ("PATH".to_owned(), format!("{folder}:{PATH}"))));
        variables.sort();
        Ok(Self { files: Files::of(system)?, manager: Manager::of(system), system, helper, variables })
    }

    fn units(&self, every: u32) -> Vec<UnitFile> {
        let words = [self.helper.as_str(), "snapshot", "save", "--all-servers"].map(str::to_owned).to_vec();
        let description = "Snapshots of tmux sessions (sidecar)";
        Periodic { name: NAME, description, words, variables: self.variables.clone(), every }.files(self.system)
    }

    /// The unit that is begun and ended, and its file.
    fn unit(&self) -> (&'static str, PathBuf) {
        match self.system {
            System::Systemd => ("sidecar-snapshot.timer", self.files.path("sidecar-snapshot.timer")),
            System::Launchd => (NAME, self.files.path("sidecar-snapshot.plist")),
        }
    }

    /// Installs it, and has it begin.
    ///
    /// # Errors
    /// A file of its name is not ours (exit 5), or can't be written.
    pub fn install(&self, every: u32) -> Result<TimerChange> {
        let units = self.units(every);
        let changed = self.files.install(&units)?;
        let (unit, file) = self.unit();
        let begun = if changed.is_empty() && self.manager.runs(unit) == Some(true) { Ok(()) } else { self.manager.begin(unit, &file) };
        let pending = begun.err().map(|Unreachable(why)| {
            (
                format!("it begins at your next login: {why}"),
                format!("{} begins at once, where your login can be reached", self.manager.by_hand(unit, &file)),
            )
        });
        Ok(TimerChange { changed, pending, drop_ins: self.files.drop_ins(&units) })
    }

    /// Ends it, and takes its files away.
    ///
    /// # Errors
    /// A file of its name is not ours (exit 5), or can't be removed.
    pub fn uninstall(&self) -> Result<TimerChange> {
        let units = self.units(EVERY);
        let (unit, _) = self.unit();
        let was_there = units.iter().any(|unit| self.files.path(&unit.name).exists());
        // What is to be left alone is not ended either.
        self.files.check_all(&units)?;
        let ended = if was_there { self.manager.end(unit) } else { Ok(()) };
        let changed = self.files.uninstall(&units)?;
        let forgotten = if changed.is_empty() { Ok(()) } else { self.manager.forget() };
        let pending =
            ended.and(forgotten).err().map(|Unreachable(why)| (format!("if it runs still, it ends with your login: {why}"), String::new()));
        Ok(TimerChange { changed, pending, drop_ins: self.files.drop_ins(&units) })
    }

    /// How it stands; changes nothing.
    ///
    /// # Errors
    /// Its files can't be read.
    pub fn status(&self) -> Result<TimerStatus> {
        let names = self.units(EVERY);
        let mut texts = Vec::new();
        let mut foreign = None;
        for unit in &names {
            match self.files.state(&unit.name)? {
                UnitState::Ours(text) => texts.push((unit.name.clone(), text)),
                UnitState::Foreign(what) => foreign = Some(format!("{} is {what}", self.files.path(&unit.name).display())),
                UnitState::Missing => (),
            }
        }
        let every = texts.iter().find_map(|(_, text)| Periodic::every_of(text));
        let wanted = self.units(every.unwrap_or(EVERY));
        let as_wanted = wanted.iter().all(|unit| texts.iter().any(|(name, text)| *name == unit.name && *text == unit.text));
        let enabled = wanted.iter().all(|unit| self.files.enabled(unit) == Enabled::Yes);
        let (unit, file) = self.unit();
        let install = "sidecar snapshot timer install".to_owned();
        let (state, detail, hint) = if let Some(foreign) = foreign {
            (TimerState::Edited, foreign, format!("it is left as it is; moved away, `{install}` writes it anew"))
        } else if texts.is_empty() {
            (TimerState::NotInstalled, String::new(), install)
        } else if !as_wanted {
            (TimerState::Outdated, "its files are of another version or path".to_owned(), install)
        } else if !enabled {
            (TimerState::Disabled, "nothing starts it".to_owned(), install)
        } else {
            (TimerState::Installed, String::new(), String::new())
        };
        let runs = if texts.is_empty() { Some(false) } else { self.manager.runs(unit) };
        let (detail, hint) = match (state, runs) {
            (TimerState::Installed, Some(false)) => ("it does not run".to_owned(), self.manager.by_hand(unit, &file)),
            (TimerState::Installed, None) => ("whether it runs can't be told: your service manager can't be reached".to_owned(), hint),
            _ => (detail, hint),
        };
        let files = texts.iter().map(|(name, _)| self.files.path(name)).collect();
        Ok(TimerStatus { state, every, runs, files, drop_ins: self.files.drop_ins(&names), detail, hint })
    }
}
