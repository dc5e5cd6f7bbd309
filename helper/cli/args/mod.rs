//! The arguments of every command, a file for each group of them.

mod agent;
mod boot;
mod completions;
mod import;
mod session;
mod shell;
mod snapshot;
mod tmux;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

pub(super) use agent::{AgentCommand, AnswerArgs, ChangeArgs, IntegrationCommand};
pub(super) use boot::BootCommand;
pub(super) use completions::{CompleteCommand, CompletedShell};
pub(super) use import::{ImportCommand, ResurrectArgs};
pub(super) use session::{PolicyArgs, RestoreArgs, SessionCommand, StatusArgs};
pub(super) use shell::{DeleteArgs, ListArgs, NewArgs, PurgeArgs, RenameArgs, SendArgs, ShellCommand, TargetArgs};
pub(super) use snapshot::{SaveArgs, SnapshotCommand, TimerCommand};
pub(super) use tmux::{MenuCommand, PaneCommand, PluginCommand};

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
    /// Run the command on this host instead, through ssh (may be given again); it stands before the command
    #[arg(long = "host", value_name = "H")]
    pub(super) hosts: Vec<String>,
    /// With several hosts: how long they are waited for, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..=86_400), requires = "hosts")]
    pub(super) host_timeout: u64,
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
    /// Shells from another tool's save
    Import {
        #[command(subcommand)]
        command: ImportCommand,
    },
    /// Frozen copies of the records, which a restore can take what is missing from
    Snapshot {
        #[command(subcommand)]
        command: SnapshotCommand,
    },
    /// The tmux server, started with its sessions at login or boot
    Boot {
        #[command(subcommand)]
        command: BootCommand,
    },
    /// Menus in a tmux client; what the keys call, to be bound to others too
    #[command(after_help = "Example, in tmux.conf:\n  bind-key S run-shell -b \"sidecar menu restore --client '#{client_name}'\"")]
    Menu {
        #[command(subcommand)]
        command: MenuCommand,
    },
    /// Coding agents in panes, and the hook by which they tell their conversations
    Agent {
        #[command(subcommand)]
        command: AgentCommand,
    },
    /// Print the completions for a shell
    #[command(
        after_help = "Examples:\n  source <(sidecar completions bash)\n  sidecar completions zsh > ~/.zfunc/_sidecar\n  sidecar completions fish > ~/.config/fish/completions/sidecar.fish"
    )]
    Completions {
        /// The shell
        shell: CompletedShell,
    },
    /// Print the manual's page, or write the pages of all commands
    #[command(after_help = "Examples:\n  sidecar man | man -l -\n  sidecar man --out ~/.local/share/man/man1")]
    Man {
        /// Write them into this folder
        #[arg(long, value_name = "DIR")]
        out: Option<PathBuf>,
    },
    /// What the completions ask
    #[command(hide = true)]
    Complete {
        #[command(subcommand)]
        command: CompleteCommand,
    },
    /// What is wrong, why it matters, and how to mend it; exit 1 if there is a problem
    #[command(after_help = "Example:\n  sidecar doctor\n  sidecar doctor --fix")]
    Doctor(DoctorArgs),
    /// What tmux's hooks call; never prints, always exits 0
    #[command(hide = true)]
    Hook {
        /// The event, and what tmux told of it
        #[arg(required = true, allow_hyphen_values = true, trailing_var_arg = true)]
        words: Vec<String>,
    },
    /// What runs inside the panes that a restore makes; always leaves a shell
    #[command(hide = true)]
    Pane {
        #[command(subcommand)]
        command: PaneCommand,
    },
    /// The plugin in the tmux server, and `sidecar` as a command in your shell
    Plugin {
        #[command(subcommand)]
        command: PluginCommand,
    },
}

#[derive(Args)]
pub(super) struct DoctorArgs {
    /// Mend what can be mended without risk: hooks, keys and timer, inherited variables, damaged hooks of agents, a missing socket
    #[arg(long)]
    pub(super) fix: bool,
    /// Print one JSON document
    #[arg(long)]
    pub(super) json: bool,
}

impl Command {
    /// Whether errors go out as JSON too.
    pub(super) fn wants_json(&self) -> bool {
        match self {
            Self::Session { command } => command.wants_json(),
            Self::Shell { command } => command.wants_json(),
            Self::Import { command } => command.wants_json(),
            Self::Snapshot { command } => command.wants_json(),
            Self::Boot { command } => command.wants_json(),
            Self::Agent { command } => command.wants_json(),
            Self::Doctor(options) => options.json,
            Self::Menu { .. }
            | Self::Completions { .. }
            | Self::Man { .. }
            | Self::Complete { .. }
            | Self::Hook { .. }
            | Self::Pane { .. }
            | Self::Plugin { .. } => false,
        }
    }

    /// What a command is called that only makes sense where it is called, inside tmux.
    pub(super) fn is_bound_to_this_host(&self) -> Option<&'static str> {
        match self {
            Self::Hook { .. } | Self::Agent { command: AgentCommand::ReportSession { .. } } => Some("a hook"),
            Self::Menu { .. } => Some("a menu"),
            Self::Pane { .. } | Self::Agent { command: AgentCommand::Resume { .. } } => Some("a command for the pane that it is called in"),
            _ => None,
        }
    }

    /// Whether it is a hook, which never prints and always exits with 0.
    pub(super) fn is_hook(&self) -> bool {
        matches!(self, Self::Hook { .. } | Self::Agent { command: AgentCommand::ReportSession { .. } })
    }
}
