//! The arguments of `sidecar snapshot …`.

use clap::{Args, Subcommand};

use crate::snapshots::EVERY;

#[derive(Subcommand)]
pub(crate) enum SnapshotCommand {
    /// Freeze the records as they are now; writes nothing if nothing changed
    #[command(after_help = "Example:\n  sidecar snapshot save\n  sidecar snapshot save --harvest")]
    Save(SaveArgs),
    /// List the snapshots, the newest first
    #[command(after_help = "Example:\n  sidecar snapshot list")]
    List {
        /// Print one JSON document
        #[arg(long)]
        json: bool,
    },
    /// Show what is in a snapshot
    #[command(
        after_help = "Example:\n  sidecar snapshot show snap-20261129-231500\n  sidecar session restore --as-of snap-20261129-231500"
    )]
    Show {
        /// Its name
        #[arg(value_name = "SNAPSHOT")]
        name: String,
        /// Print one JSON document
        #[arg(long)]
        json: bool,
    },
    /// A timer of your service manager (systemd, launchd) that saves again and again
    Timer {
        #[command(subcommand)]
        command: TimerCommand,
    },
    /// Give up the snapshots that snapshots.keep does not keep; each save does it too
    #[command(after_help = "Example:\n  sidecar snapshot prune")]
    Prune {
        /// Print one JSON document
        #[arg(long)]
        json: bool,
    },
}

#[derive(Subcommand)]
pub(crate) enum TimerCommand {
    /// Install the timer: it saves the snapshots of every tmux server of yours that runs
    #[command(after_help = "Example:\n  sidecar snapshot timer install\n  sidecar snapshot timer install --every 3600")]
    Install {
        /// Seconds from one snapshot to the next
        #[arg(long, value_name = "SECONDS", default_value_t = EVERY, value_parser = clap::value_parser!(u32).range(60..=604_800))]
        every: u32,
        /// Print one JSON document
        #[arg(long)]
        json: bool,
    },
    /// Show how the timer stands; changes nothing
    #[command(after_help = "Example:\n  sidecar snapshot timer status")]
    Status {
        /// Print one JSON document
        #[arg(long)]
        json: bool,
    },
    /// End the timer and take its files away; the snapshots stay
    #[command(after_help = "Example:\n  sidecar snapshot timer uninstall")]
    Uninstall {
        /// Print one JSON document
        #[arg(long)]
        json: bool,
    },
}

#[derive(Args)]
pub(crate) struct SaveArgs {
    /// Also read the screens of agents whose conversation is not known, for an id that they print
    #[arg(long)]
    pub(crate) harvest: bool,
    /// Of every recorded tmux server of yours that lives
    #[arg(long)]
    pub(crate) all_servers: bool,
    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
}

impl SnapshotCommand {
    pub(super) fn wants_json(&self) -> bool {
        match self {
            Self::Save(options) => options.json,
            Self::List { json } | Self::Show { json, .. } | Self::Prune { json } => *json,
            Self::Timer { command } => match command {
                TimerCommand::Install { json, .. } | TimerCommand::Status { json } | TimerCommand::Uninstall { json } => *json,
            },
        }
    }
}
