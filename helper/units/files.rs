//! Puts unit files where the manager reads them, and takes them away.
#![expect(clippy::disallowed_methods, reason = "this file owns the unit files")]

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::stamp::is_unedited;
use super::{System, UnitFile};
use crate::error::{Error, Exit, Result};
use crate::store::{home, replace_file};

/// The manager's folder.
#[derive(Clone, Debug)]
pub(super) struct Files {
    dir: PathBuf,
}

/// What stands in a unit file's place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum UnitState {
    /// Nothing.
    Missing,
    /// What some version of this program wrote, as it wrote it.
    Ours(String),
    /// Something else: edited, or never ours. What it is, for people.
    Foreign(String),
}

impl Files {
    /// The folder of this manager: `${XDG_CONFIG_HOME:-~/.config}/systemd/user`, or `~/Library/LaunchAgents`.
    ///
    /// # Errors
    /// The user's home is not known.
    pub(super) fn of(system: System) -> Result<Self> {
        let config = || std::env::var_os("XDG_CONFIG_HOME").map(PathBuf::from).filter(|dir| dir.is_absolute());
        let dir = match system {
            System::Systemd => config().map_or_else(|| Ok(home()?.join(".config")), Ok::<_, Error>)?.join("systemd/user"),
            System::Launchd => home()?.join("Library/LaunchAgents"),
        };
        Ok(Self { dir })
    }

    /// Where a file lies.
    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }

    /// What stands there.
    ///
    /// # Errors
    /// It can't be read.
    pub(super) fn state(&self, name: &str) -> Result<UnitState> {
        let path = self.path(name);
        let data = match path.symlink_metadata() {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(UnitState::Missing),
            data => data?,
        };
        if data.is_symlink() {
            // So is a unit masked, and so do managers of settings keep theirs.
            return Ok(UnitState::Foreign(format!("a link to {}", fs_err::read_link(&path)?.display())));
        }
        if !data.is_file() {
            return Ok(UnitState::Foreign("no plain file".to_owned()));
        }
        let text = String::from_utf8_lossy(&fs_err::read(&path)?).into_owned();
        Ok(if is_unedited(&text) {
            UnitState::Ours(text)
        } else {
            UnitState::Foreign("a file that sidecar did not write, or that was edited since".to_owned())
        })
    }

    /// Whether the link that starts a unit is there, or none is needed.
    pub(super) fn is_enabled(&self, unit: &UnitFile) -> bool {
        let leads_there = |link: PathBuf| fs_err::canonicalize(link).ok() == fs_err::canonicalize(self.path(&unit.name)).ok();
        self.link(unit).is_none_or(|link| link.is_symlink() && leads_there(link))
    }

    fn link(&self, unit: &UnitFile) -> Option<PathBuf> {
        Some(self.dir.join(format!("{}.wants", unit.wanted_by?)).join(&unit.name))
    }

    /// Writes the files and the links that start them; gives the paths that changed. Nothing is written if any of them is not ours.
    ///
    /// # Errors
    /// One is not ours (exit 5), or the folder can't be written.
    pub(super) fn install(&self, units: &[UnitFile]) -> Result<Vec<PathBuf>> {
        self.check_all(units)?;
        let mut changed = Vec::new();
        for unit in units {
            let path = self.path(&unit.name);
            if self.state(&unit.name)? != UnitState::Ours(unit.text.clone()) {
                fs_err::create_dir_all(&self.dir)?;
                replace_file(&path, unit.text.as_bytes(), |_| Ok(()))?;
                changed.push(path.clone());
            }
            if let Some(link) = self.link(unit).filter(|_| !self.is_enabled(unit)) {
                fs_err::create_dir_all(link.parent().unwrap_or(&self.dir))?;
                if link.is_symlink() {
                    fs_err::remove_file(&link)?;
                }
                fs_err::os::unix::fs::symlink(&path, &link)?;
                changed.push(link);
            }
        }
        Ok(changed)
    }

    /// Removes the files, the links and the folders that are empty then; gives the paths that are gone. Drop-ins of the user's stay.
    /// Nothing is removed if any file is not ours.
    ///
    /// # Errors
    /// One is not ours (exit 5), or the folder can't be written.
    pub(super) fn uninstall(&self, units: &[UnitFile]) -> Result<Vec<PathBuf>> {
        self.check_all(units)?;
        let mut gone = Vec::new();
        for unit in units {
            if let Some(link) = self.link(unit).filter(|link| link.is_symlink()) {
                fs_err::remove_file(&link)?;
                let _ = fs_err::remove_dir(link.parent().unwrap_or(&self.dir));
                gone.push(link);
            }
            let path = self.path(&unit.name);
            if path.exists() {
                fs_err::remove_file(&path)?;
                gone.push(path);
            }
        }
        if !gone.is_empty() {
            // Only where nothing else lies in them.
            for folder in self.dir.ancestors().take(2) {
                let _ = fs_err::remove_dir(folder);
            }
        }
        Ok(gone)
    }

    /// The folders with the user's own changes to a unit.
    pub(super) fn drop_ins(&self, units: &[UnitFile]) -> Vec<PathBuf> {
        units.iter().map(|unit| self.dir.join(format!("{}.d", unit.name))).filter(|folder| folder.is_dir()).collect()
    }

    /// Whether all of these files may be changed.
    ///
    /// # Errors
    /// One is not ours (exit 5).
    pub(super) fn check_all(&self, units: &[UnitFile]) -> Result<()> {
        units.iter().try_for_each(|unit| self.check(unit))
    }

    fn check(&self, unit: &UnitFile) -> Result<()> {
        let refused = |path: &Path, what: &str| {
            let path = path.display();
            Err(Error::failed("unit_edited", format!("cannot change {path}: it is {what}")).exit(Exit::Refused).hint(format!(
                "it is left as it is: move it away, then try again; changes of your own are kept in a drop-in (systemctl --user edit {})",
                unit.name
            )))
        };
        if let UnitState::Foreign(what) = self.state(&unit.name)? {
            return refused(&self.path(&unit.name), &what);
        }
        match self.link(unit) {
            Some(link) if link.symlink_metadata().is_ok_and(|data| !data.is_symlink()) => refused(&link, "no link"),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Periodic;

    fn units(every: u32) -> Vec<UnitFile> {
        let job = Periodic { name: "x", description: "X", words: vec!["/bin/true".into()], variables: Vec::new(), every };
        job.files(System::Systemd)
    }

    #[test]
    fn what_is_installed_is_taken_away_without_a_trace() {
        let home = tempfile::tempdir().unwrap();
        let files = Files { dir: home.path().join("systemd/user") };
        assert_eq!(files.uninstall(&units(60)).unwrap(), Vec::<PathBuf>::new());
        assert_eq!(files.install(&units(60)).unwrap().len(), 3);
        assert_eq!(files.install(&units(60)).unwrap(), Vec::<PathBuf>::new(), "nothing changed");
        assert_eq!(files.install(&units(90)).unwrap(), [files.path("x.timer")], "an older file of ours gives way");
        assert!(units(60).iter().all(|unit| files.is_enabled(unit)));
        assert_eq!(files.uninstall(&units(60)).unwrap().len(), 3);
        assert_eq!(std::fs::read_dir(home.path()).unwrap().count(), 0);
    }

    #[test]
    fn what_the_user_wrote_stays_whatever_is_asked() {
        let home = tempfile::tempdir().unwrap();
        let files = Files { dir: home.path().join("systemd/user") };
        files.install(&units(60)).unwrap();
        let (service, timer) = (files.path("x.service"), files.path("x.timer"));
        let edited = std::fs::read_to_string(&timer).unwrap() + "Persistent=true\n";
        std::fs::write(&timer, &edited).unwrap();
        for error in [files.install(&units(90)).unwrap_err(), files.uninstall(&units(60)).unwrap_err()] {
            assert!(error.exit == Exit::Refused && error.message.contains("x.timer"), "{error}");
        }
        assert_eq!(std::fs::read_to_string(&timer).unwrap(), edited);
        assert!(service.exists());
        // A masked unit is a link.
        std::fs::remove_file(&timer).unwrap();
        std::os::unix::fs::symlink("/dev/null", &timer).unwrap();
        assert_eq!(files.install(&units(60)).unwrap_err().exit, Exit::Refused);
        assert!(timer.is_symlink());
        std::fs::remove_file(&timer).unwrap();
        // Drop-ins are theirs, and so is what else lies there.
        std::fs::create_dir(home.path().join("systemd/user/x.timer.d")).unwrap();
        files.install(&units(60)).unwrap();
        std::fs::write(home.path().join("systemd/user/timers.target.wants/other.timer"), "").unwrap();
        files.uninstall(&units(60)).unwrap();
        assert_eq!(files.drop_ins(&units(60)), [home.path().join("systemd/user/x.timer.d")]);
        assert!(home.path().join("systemd/user/timers.target.wants/other.timer").exists());
    }
}
