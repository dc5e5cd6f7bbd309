//! Unit files of the user's own service manager: systemd's, or launchd's on macOS.
//!
//! [`Periodic`] describes a job and makes its files as text (pure, for both). [`Files`] puts files where the manager reads them and takes them
//! away again, and never touches one that somebody else wrote or edited: each file holds a checksum of itself ([`stamp`]). [`Manager`] has
//! the living manager follow; where it can't be reached, the files alone do at the next login.

mod files;
mod manager;
mod periodic;
mod quote;
mod stamp;

pub use files::{Enabled, Files, UnitState};
pub use manager::{Manager, Unreachable};
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
