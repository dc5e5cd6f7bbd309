//! The arguments of `sidecar session …`.

use std::ffi::OsString;

use clap::{Args, Subcommand};

#[derive(Subcommand)]
pub(crate) enum SessionCommand {
    /// Show what a restore would do; changes nothing
    #[command(
        after_help = "Example:\n  sidecar session status\n  sidecar -L work session status --json\n  sidecar session status --as-of '2h ago'\n  sidecar session status --all-servers"
    )]
    Status(StatusArgs),
    /// Bring the shells back that died with their server
    #[command(
        after_help = "Example:\n  sidecar session restore --dry-run\n  sidecar session restore --shell web --agents\n  sidecar session restore --from host-0123456789abcdef/default-0123456789abcdef"
    )]
    Restore(RestoreArgs),
    /// What a restore may do with a shell: shows it, or sets it
    #[command(after_help = "Example:\n  sidecar session policy\n  sidecar session policy web --never")]
    Policy(PolicyArgs),
}

#[derive(Args)]
pub(crate) struct PolicyArgs {
    /// The shell: its id, session name, display name or the name it was made with; the current one if left out
    #[arg(value_name = "T")]
    pub(crate) target: Option<OsString>,
    /// Follow restore.resumeAgents (the default)
    #[arg(long, group = "policy")]
    pub(crate) inherit: bool,
    /// Bring back the shell, never its agents
    #[arg(long, group = "policy")]
    pub(crate) shell: bool,
    /// Resume its agents without asking
    #[arg(long, group = "policy")]
    pub(crate) resume: bool,
    /// Never restore it
    #[arg(long, group = "policy")]
    pub(crate) never: bool,
    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
pub(crate) struct StatusArgs {
    /// Of every server that is recorded, of other hosts on this home too
    #[arg(long)]
    pub(crate) all_servers: bool,
    /// With the conversations that the panes had at this time: '2026-11-29 14:00', '14:00', '2h ago', ISO with its zone, or a snapshot's name
    #[arg(long, value_name = "WHEN", allow_hyphen_values = true)]
    pub(crate) as_of: Option<String>,
    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
pub(crate) struct RestoreArgs {
    /// Take the shells of another server over first, by its name in `session status --all-servers`, or as MACHINE/SOCKET; it must not live
    #[arg(long, value_name = "HOST/SERVER")]
    pub(crate) from: Option<String>,
    /// Only this shell: its id, session name, display name or the name it was made with (may be given again)
    #[arg(long = "shell", value_name = "T", allow_hyphen_values = true)]
    pub(crate) shells: Vec<String>,
    /// Open the conversations of the agents again, too
    #[arg(long)]
    pub(crate) agents: bool,
    /// Yes, also those that ask first
    #[arg(long, requires = "agents")]
    pub(crate) yes: bool,
    /// Answer an agent's question whether to go on with a summary with this choice; without it, the full conversation
    #[arg(long, value_name = "N", requires = "agents", conflicts_with = "no_answer", value_parser = clap::value_parser!(u8).range(1..=9))]
    pub(crate) answer_choice: Option<u8>,
    /// Leave that question to me
    #[arg(long, requires = "agents")]
    pub(crate) no_answer: bool,
    /// Say what would be done, and do nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// With the conversations that the panes had at this time: '2026-11-29 14:00', '14:00', '2h ago', ISO with its zone, or a snapshot's name
    #[arg(long, value_name = "WHEN", allow_hyphen_values = true)]
    pub(crate) as_of: Option<String>,
    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
}

impl SessionCommand {
    pub(super) fn wants_json(&self) -> bool {
        match self {
            Self::Status(options) => options.json,
            Self::Restore(options) => options.json,
            Self::Policy(options) => options.json,
        }
    }
}
