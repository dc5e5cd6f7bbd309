//! Unit files of the user's own service manager: systemd's, or launchd's on macOS.
//!
//! [`Periodic`] and [`AtLogin`] describe a job and make its files as text (pure, for both). [`Job`] installs one, takes it away and tells how it
//! stands: `files` puts files where the manager reads them and takes them away again, and never touches one that somebody else wrote or edited:
//! each file holds a checksum of itself (`stamp`). `manager` has the living manager follow; where it can't be reached, the files alone do at the
//! next login.

mod at_login;
mod files;
mod job;
mod manager;
mod periodic;
mod plist;
mod quote;
mod stamp;

pub use at_login::AtLogin;
pub use job::{Job, JobChange, JobState, JobStatus, variables};
pub use periodic::Periodic;

/// A file of a unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnitFile {
    /// Its name in the manager's folder.
    pub name: String,
    /// Its whole content, stamped.
    pub text: String,
    /// The unit that starts it: a link in that one's `.wants` folder. `None` where nothing does by itself.
    pub wanted_by: Option<&'static str>,
}

/// Which manager there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum System {
    /// `~/.config/systemd/user`.
    Systemd,
    /// `~/Library/LaunchAgents`.
    Launchd,
}

impl System {
    /// That of this machine.
    pub fn here() -> Self {
        if cfg!(target_os = "macos") { Self::Launchd } else { Self::Systemd }
    }
}
