//! A job of the user's service manager: installing it, taking it away, and how it stands.

use std::path::{Path, PathBuf};

use super::files::{Files, UnitState};
use super::manager::{Manager, Unreachable};
use super::{System, UnitFile};
use crate::error::{Error, Result};
use crate::store::home;

/// Variables that say where the records and the servers are; the manager need not have what the user's shell has.
const VARIABLES: [&str; 4] = ["SIDECAR_HOST_ID", "TMUX_TMPDIR", "XDG_CONFIG_HOME", "XDG_STATE_HOME"];
/// Where the manager finds programs by itself.
const PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// A job with its files.
pub struct Job {
    files: Files,
    manager: Manager,
    system: System,
    units: Vec<UnitFile>,
    install: &'static str,
}

/// How a job stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobState {
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

impl JobState {
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

/// What is known of a job.
#[derive(Clone, Debug)]
pub struct JobStatus {
    /// How it stands.
    pub state: JobState,
    /// Whether the manager runs it; `None` if that can't be reached.
    pub runs: Option<bool>,
    /// Its files that are there.
    pub files: Vec<PathBuf>,
    /// The user's own changes to it.
    pub drop_ins: Vec<PathBuf>,
    /// What is to be said of it.
    pub detail: String,
    /// What to do; empty for nothing.
    pub hint: String,
}

/// What was done.
pub struct JobChange {
    /// The files that changed, or are gone.
    pub changed: Vec<PathBuf>,
    /// Why the manager has not followed, and what to do for that.
    pub pending: Option<(String, String)>,
    /// The user's own changes to it, which stay.
    pub drop_ins: Vec<PathBuf>,
}

/// The variables that a job of this program needs. `tmux` is where tmux lies.
///
/// # Errors
/// The user's home is not known, or a variable can't be written down.
pub fn variables(tmux: Option<&Path>) -> Result<Vec<(String, String)>> {
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
    Ok(variables)
}

impl Job {
    /// One of this machine's manager. `install` is the command that installs it.
    ///
    /// # Errors
    /// The user's home is not known.
    pub fn of(system: System, units: Vec<UnitFile>, install: &'static str) -> Result<Self> {
        Ok(Self { files: Files::of(system)?, manager: Manager::of(system), system, units, install })
    }

    /// What the manager calls it, and its file: the last of its files is what is begun and ended.
    pub fn main(&self) -> (String, PathBuf) {
        let name = self.units.last().map(|unit| unit.name.clone()).unwrap_or_default();
        let file = self.files.path(&name);
        let label = match self.system {
            System::Systemd => name,
            System::Launchd => name.trim_end_matches(".plist").to_owned(),
        };
        (label, file)
    }

    /// Its files' texts, as they are there now, if they are ours.
    ///
    /// # Errors
    /// They can't be read.
    pub fn texts(&self) -> Result<Vec<String>> {
        let states = self.units.iter().map(|unit| self.files.state(&unit.name));
        states
            .filter_map(|state| state.map(|state| if let UnitState::Ours(text) = state { Some(text) } else { None }).transpose())
            .collect()
    }

    /// Writes its files; with `begin`, it begins at once, else at the next login.
    ///
    /// # Errors
    /// A file of its name is not ours (exit 5), or can't be written.
    pub fn install(&self, begin: bool) -> Result<JobChange> {
        let changed = self.files.install(&self.units)?;
        let (unit, file) = self.main();
        let followed = match begin {
            true if changed.is_empty() && self.manager.runs(&unit) == Some(true) => Ok(()),
            true => self.manager.begin(&unit, &file),
            false if changed.is_empty() => Ok(()),
            false => self.manager.reload(),
        };
        let pending = followed.err().map(|Unreachable(why)| {
            let by_hand = self.by_hand();
            let detail = format!("your service manager could not be told, and begins with it at your next login ({why})");
            (detail, format!("to begin at once, in a login of your own: {by_hand}"))
        });
        Ok(JobChange { changed, pending, drop_ins: self.files.drop_ins(&self.units) })
    }

    /// Takes its files away; with `end`, it ends before.
    ///
    /// # Errors
    /// A file of its name is not ours (exit 5), or can't be removed.
    pub fn uninstall(&self, end: bool) -> Result<JobChange> {
        let was_there = self.units.iter().any(|unit| self.files.path(&unit.name).exists());
        // What is to be left alone is not ended either.
        self.files.check_all(&self.units)?;
        let ended = if was_there && end { self.manager.end(&self.main().0) } else { Ok(()) };
        let changed = self.files.uninstall(&self.units)?;
        let forgotten = if changed.is_empty() { Ok(()) } else { self.manager.reload() };
        let pending = ended.and(forgotten).err().map(|Unreachable(why)| {
            (format!("your service manager could not be told, and goes by it until your login ends ({why})"), String::new())
        });
        Ok(JobChange { changed, pending, drop_ins: self.files.drop_ins(&self.units) })
    }

    /// How it stands; changes nothing.
    ///
    /// # Errors
    /// Its files can't be read.
    pub fn status(&self) -> Result<JobStatus> {
        let (mut files, mut as_wanted) = (Vec::new(), true);
        let mut foreign = None;
        for unit in &self.units {
            let path = self.files.path(&unit.name);
            match self.files.state(&unit.name)? {
                UnitState::Ours(text) => {
                    as_wanted &= text == unit.text;
                    files.push(path);
                }
                UnitState::Foreign(what) => foreign = Some(format!("{} is {what}", path.display())),
                UnitState::Missing => as_wanted = false,
            }
        }
        let enabled = self.units.iter().all(|unit| self.files.is_enabled(unit));
        let runs = if files.is_empty() { Some(false) } else { self.manager.runs(&self.main().0) };
        let install = self.install.to_owned();
        let (state, detail, hint) = if let Some(foreign) = foreign {
            (JobState::Edited, foreign, format!("it is left as it is; moved away, `{install}` writes it anew"))
        } else if files.is_empty() {
            (JobState::NotInstalled, String::new(), install)
        } else if !as_wanted {
            (JobState::Outdated, "its files are of another version or path".to_owned(), install)
        } else if !enabled {
            (JobState::Disabled, "nothing starts it".to_owned(), install)
        } else {
            let unknown = "whether it runs can't be told: your service manager can't be reached";
            (JobState::Installed, if runs.is_none() { unknown } else { "" }.to_owned(), String::new())
        };
        Ok(JobStatus { state, runs, files, drop_ins: self.files.drop_ins(&self.units), detail, hint })
    }

    /// Whether the user's manager runs without a login; `None` where that can't be told.
    pub fn lingers(&self) -> Option<bool> {
        self.manager.lingers()
    }

    /// What has the manager begin with it by hand.
    pub fn by_hand(&self) -> String {
        let (unit, file) = self.main();
        self.manager.by_hand(&unit, &file)
    }
}
