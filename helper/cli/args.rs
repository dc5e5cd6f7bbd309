//! The arguments of every command.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

/// Brings tmux sessions back after a crash, a reboot or an update of tmux.
#[derive(Parser)]
#[command(name = "sidecar", version, about, long_about = None)]
pub(super) struct Cli {
    /// The tmux server with this socket name, as `tmux -L`
    #[arg(short = 'L', value_name = "NAME", conflicts_with = "socket_path", global = true, allow_hyphen_values = true)]
    pub(super) socket_name: Option<String>,
    /// The tmux server at this socket path, as `tmux -S`
    #[arg(short = 'S', value_name = "PATH", global = true)]
    pub(super) socket_path: Option<PathBuf>,
    #[command(subcommand)]
    pub(super) command: Command,
}

#[derive(Subcommand)]
pub(super) enum Command {
    /// What a restore would do, and the restore itself
    Session {
        #[command(subcommand)]
        command: SessionCommand,
    },
    /// The recorded shells
    Shell {
        #[command(subcommand)]
        command: ShellCommand,
    },
    /// What tmux's hooks call; never prints, always exits 0
    #[command(hide = true)]
    Hook {
        /// The event, and what tmux told of it
        #[arg(required = true, allow_hyphen_values = true, trailing_var_arg = true)]
        words: Vec<String>,
    },
    /// What sidecar.tmux calls
    Plugin {
        #[command(subcommand)]
        command: PluginCommand,
    },
}

#[derive(Subcommand)]
pub(super) enum SessionCommand {
    /// Show what a restore would do; changes nothing
    #[command(after_help = "Example:\n  sidecar session status\n  sidecar -L work session status --json")]
    Status {
        /// Print one JSON document
        #[arg(long)]
        json: bool,
    },
    /// Bring the shells back that died with their server
    #[command(after_help = "Example:\n  sidecar session restore --dry-run\n  sidecar session restore --shell web --shell api")]
    Restore(RestoreArgs),
}

#[derive(Args)]
pub(super) struct RestoreArgs {
    /// Only this shell: its id, session name, display name or the name it was made with (may be given again)
    #[arg(long = "shell", value_name = "T", allow_hyphen_values = true)]
    pub(super) shells: Vec<String>,
    /// Say what would be done, and do nothing
    #[arg(long)]
    pub(super) dry_run: bool,
    /// Print one JSON document
    #[arg(long)]
    pub(super) json: bool,
}

#[derive(Subcommand)]
pub(super) enum ShellCommand {
    /// List the shells of the current project: live, restorable and forgotten
    #[command(after_help = "Example:\n  sidecar shell list --all")]
    List(ListArgs),
}

#[derive(Args)]
pub(super) struct ListArgs {
    /// Of every project
    #[arg(long, conflicts_with = "project")]
    pub(super) all: bool,
    /// Of the project that this directory lies in
    #[arg(long, value_name = "DIR")]
    pub(super) project: Option<PathBuf>,
    /// Print one JSON document
    #[arg(long)]
    pub(super) json: bool,
}

#[derive(Subcommand)]
pub(super) enum PluginCommand {
    /// Set the hooks and the timer, and record what already runs; any number of times is as once
    Load,
    /// Take every hook, key binding and option of Sidecar's out of the server; the records stay
    Unload,
    /// Make ~/.local/bin/sidecar a link to this program
    Link,
    /// Print the number by which sidecar.tmux knows a helper that it understands
    #[command(hide = true)]
    Api,
}

impl Command {
    /// Whether errors go out as JSON too.
    pub(super) fn wants_json(&self) -> bool {
        match self {
            Self::Session { command: SessionCommand::Status { json } } => *json,
            Self::Session { command: SessionCommand::Restore(options) } => options.json,
            Self::Shell { command: ShellCommand::List(options) } => options.json,
            Self::Hook { .. } | Self::Plugin { .. } => false,
        }
    }
}
