//! The arguments of `sidecar boot …`.

use clap::Subcommand;

#[derive(Subcommand)]
pub(crate) enum BootCommand {
    /// Install the unit (systemd, launchd) that starts the server at login or boot
    #[command(after_help = "Examples:\n  sidecar boot install\n  sidecar -L work boot install")]
    Install {
        /// Print one JSON document
        #[arg(long)]
        json: bool,
    },
    /// Show how the unit stands; changes nothing
    #[command(after_help = "Example:\n  sidecar boot status")]
    Status {
        /// Print one JSON document
        #[arg(long)]
        json: bool,
    },
    /// Take the unit's file away; a server that lives goes on
    #[command(after_help = "Example:\n  sidecar boot uninstall")]
    Uninstall {
        /// Print one JSON document
        #[arg(long)]
        json: bool,
    },
    /// What the unit runs: start the server with the environment of your login shell, and restore as the start-up offer says
    #[command(after_help = "Example:\n  sidecar boot start")]
    Start,
    /// What the unit runs at its end: a last look, then the end of the server that it started
    #[command(after_help = "Example:\n  sidecar boot stop")]
    Stop,
    /// What `start` becomes
    #[command(hide = true)]
    Enter,
    /// Print the environment between two marks
    #[command(hide = true)]
    Environment {
        /// What stands before and behind it
        mark: String,
    },
}

impl BootCommand {
    pub(super) fn wants_json(&self) -> bool {
        match self {
            Self::Install { json } | Self::Status { json } | Self::Uninstall { json } => *json,
            Self::Start | Self::Stop | Self::Enter | Self::Environment { .. } => false,
        }
    }
}
