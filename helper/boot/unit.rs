//! The unit of a server: a job of the user's own service manager.

use crate::error::{Error, Exit, Result};
use crate::tmux::Server;
use crate::units::{AtLogin, Job, JobChange, JobState, JobStatus, System, variables};

/// Seconds that a start may take: slow start-up files, a tmux.conf that waits for a network, a hundred panes and their agents.
const LIMIT: u32 = 600;

/// The unit of one server.
pub struct Unit {
    job: Job,
}

impl Unit {
    /// That of this server. `helper` is this program's path, one that stays the same over updates.
    ///
    /// # Errors
    /// The server is not one that `tmux`, or `tmux -L` with a plain name, means (exit 2); the user's home is not known.
    pub fn of(server: &Server, helper: &str) -> Result<Self> {
        let label = server.label().ok_or_else(|| {
            Error::failed("no_unit_for_path", format!("no unit can start the server at {}", server.socket().display()))
                .exit(Exit::Usage)
                .hint("a unit starts the default server, or that of a name: sidecar -L NAME boot install")
        })?;
        let name = name(&label).ok_or_else(|| {
            Error::failed("bad_unit_name", format!("no unit can be named after the socket {label:?}"))
                .exit(Exit::Usage)
                .hint("a unit's name takes ASCII letters, digits, '_', '-' and '.'")
        })?;
        let words = |last: &str| {
            let options: &[&str] = if label == "default" { &[] } else { &["-L", &label] };
            [&[helper], options, &["boot", last]].concat().into_iter().map(str::to_owned).collect()
        };
        let description = "The tmux server and its sessions (sidecar)";
        let (start, stop, variables) = (words("start"), words("stop"), variables(server.program())?);
        let system = System::here();
        let file = AtLogin { name: &name, description, start, stop, variables, limit: LIMIT }.file(system);
        Ok(Self { job: Job::of(system, vec![file], "sidecar boot install")? })
    }

    /// What the manager calls it.
    pub fn name(&self) -> String {
        self.job.main().0
    }

    /// Whether the user's manager runs without a login; `None` where that can't be told.
    pub fn lingers(&self) -> Option<bool> {
        self.job.lingers()
    }

    /// Installs it. It begins at the next login or boot; a server that lives is left alone.
    ///
    /// # Errors
    /// A file of its name is not ours (exit 5), or can't be written.
    pub fn install(&self) -> Result<JobChange> {
        self.job.install(false)
    }

    /// Takes its file away. A server that it started lives on.
    ///
    /// # Errors
    /// A file of its name is not ours (exit 5), or can't be removed.
    pub fn uninstall(&self) -> Result<JobChange> {
        self.job.uninstall(false)
    }

    /// How it stands; changes nothing.
    ///
    /// # Errors
    /// Its file can't be read.
    pub fn status(&self) -> Result<JobStatus> {
        let mut status = self.job.status()?;
        if (status.state, status.runs) == (JobState::Installed, Some(false)) {
            status.detail = format!("it begins at your next login or boot; at once: {}", self.job.by_hand());
        }
        Ok(status)
    }
}

/// What the unit of the server with this socket name is called; `None` for a name that no unit can have.
fn name(label: &str) -> Option<String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    match label {
        "default" => Some("sidecar-boot".to_owned()),
        label => (label.len() <= 100 && !label.starts_with('-') && label.chars().all(plain)).then(|| format!("sidecar-boot@{label}")),
    }
}

#[cfg(test)]
mod tests {
    use super::name;

    #[test]
    fn a_unit_has_the_name_of_its_socket() {
        assert_eq!(name("default").as_deref(), Some("sidecar-boot"));
        assert_eq!(name("my-work_2.0").as_deref(), Some("sidecar-boot@my-work_2.0"));
        for bad in ["a b", "-x", "é", "a@b", "%h", "a\\b", &"x".repeat(101)] {
            assert_eq!(name(bad), None, "{bad}");
        }
    }
}
