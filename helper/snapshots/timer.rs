//! The timer that saves snapshots: a job of the user's own service manager.

use std::path::Path;

use crate::error::Result;
use crate::units::{Job, JobChange, JobState, JobStatus, Periodic, System, variables};

/// What the job is called.
const NAME: &str = "sidecar-snapshot";
/// Seconds from one snapshot to the next, where nothing else is said.
pub const EVERY: u32 = 900;

/// The timer on this machine.
pub struct Timer {
    helper: String,
    variables: Vec<(String, String)>,
}

impl Timer {
    /// That of this machine. `helper` is this program's path, one that stays the same over updates; `tmux` is where tmux lies.
    ///
    /// # Errors
    /// The user's home is not known, or a variable can't be written down.
    pub fn here(helper: String, tmux: Option<&Path>) -> Result<Self> {
        Ok(Self { helper, variables: variables(tmux)? })
    }

    fn job(&self, every: u32) -> Result<Job> {
        let words = [self.helper.as_str(), "snapshot", "save", "--all-servers"].map(str::to_owned).to_vec();
        let description = "Snapshots of tmux sessions (sidecar)";
        let job = Periodic { name: NAME, description, words, variables: self.variables.clone(), every };
        Job::of(System::here(), job.files(System::here()), "sidecar snapshot timer install")
    }

    /// Installs it, and has it begin.
    ///
    /// # Errors
    /// A file of its name is not ours (exit 5), or can't be written.
    pub fn install(&self, every: u32) -> Result<JobChange> {
        self.job(every)?.install(true)
    }

    /// Ends it, and takes its files away.
    ///
    /// # Errors
    /// A file of its name is not ours (exit 5), or can't be removed.
    pub fn uninstall(&self) -> Result<JobChange> {
        self.job(EVERY)?.uninstall(true)
    }

    /// How it stands, and the seconds from one snapshot to the next; changes nothing.
    ///
    /// # Errors
    /// Its files can't be read.
    pub fn status(&self) -> Result<(JobStatus, Option<u32>)> {
        let every = self.job(EVERY)?.texts()?.iter().find_map(|text| Periodic::every_of(text));
        let job = self.job(every.unwrap_or(EVERY))?;
        let mut status = job.status()?;
        if (status.state, status.runs) == (JobState::Installed, Some(false)) {
            (status.detail, status.hint) = ("it does not run".to_owned(), job.by_hand());
        }
        Ok((status, every))
    }
}
