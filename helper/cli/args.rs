//! The arguments of every command.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use crate::snapshots::EVERY;

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
    /// What sidecar.tmux calls
    Plugin {
        #[command(subcommand)]
        command: PluginCommand,
    },
}

/// A shell that completions are made for.
#[derive(Clone, Copy, clap::ValueEnum)]
pub(super) enum CompletedShell {
    Bash,
    Zsh,
    Fish,
}

#[derive(Subcommand)]
pub(super) enum CompleteCommand {
    /// The shells that could stand where a word is being typed; exit 1 where none could
    Targets {
        /// The line up to the cursor, as bash has it; the answers are in bash's quotes
        #[arg(long, value_name = "LINE", allow_hyphen_values = true)]
        bash: Option<OsString>,
        /// bash's `COMP_WORDBREAKS`
        #[arg(long, value_name = "CHARACTERS", allow_hyphen_values = true)]
        breaks: Option<String>,
        /// The words of the line, the last one being typed
        #[arg(last = true)]
        words: Vec<OsString>,
    },
}

#[derive(Subcommand)]
pub(super) enum SessionCommand {
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
pub(super) struct PolicyArgs {
    /// The shell: its id, session name, display name or the name it was made with; the current one if left out
    #[arg(value_name = "T")]
    pub(super) target: Option<OsString>,
    /// Follow restore.resumeAgents (the default)
    #[arg(long, group = "policy")]
    pub(super) inherit: bool,
    /// Bring back the shell, never its agents
    #[arg(long, group = "policy")]
    pub(super) shell: bool,
    /// Resume its agents without asking
    #[arg(long, group = "policy")]
    pub(super) resume: bool,
    /// Never restore it
    #[arg(long, group = "policy")]
    pub(super) never: bool,
    /// Print one JSON document
    #[arg(long)]
    pub(super) json: bool,
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

#[derive(Args)]
pub(super) struct StatusArgs {
    /// Of every server that is recorded, of other hosts on this home too
    #[arg(long)]
    pub(super) all_servers: bool,
    /// With the conversations that the panes had at this time: '2026-11-29 14:00', '14:00', '2h ago', ISO with its zone, or a snapshot's name
    #[arg(long, value_name = "WHEN", allow_hyphen_values = true)]
    pub(super) as_of: Option<String>,
    /// Print one JSON document
    #[arg(long)]
    pub(super) json: bool,
}

#[derive(Args)]
pub(super) struct RestoreArgs {
    /// Take the shells of another server over first, by its name in `session status --all-servers`; it must not live
    #[arg(long, value_name = "HOST/SERVER")]
    pub(super) from: Option<String>,
    /// Only this shell: its id, session name, display name or the name it was made with (may be given again)
    #[arg(long = "shell", value_name = "T", allow_hyphen_values = true)]
    pub(super) shells: Vec<String>,
    /// Open the conversations of the agents again, too
    #[arg(long)]
    pub(super) agents: bool,
    /// Yes, also those that ask first
    #[arg(long, requires = "agents")]
    pub(super) yes: bool,
    /// Answer an agent's question whether to go on with a summary with this choice; without it, the full conversation
    #[arg(long, value_name = "N", requires = "agents", conflicts_with = "no_answer", value_parser = clap::value_parser!(u8).range(1..=9))]
    pub(super) answer_choice: Option<u8>,
    /// Leave that question to me
    #[arg(long, requires = "agents")]
    pub(super) no_answer: bool,
    /// Say what would be done, and do nothing
    #[arg(long)]
    pub(super) dry_run: bool,
    /// With the conversations that the panes had at this time: '2026-11-29 14:00', '14:00', '2h ago', ISO with its zone, or a snapshot's name
    #[arg(long, value_name = "WHEN", allow_hyphen_values = true)]
    pub(super) as_of: Option<String>,
    /// Print one JSON document
    #[arg(long)]
    pub(super) json: bool,
}

#[derive(Subcommand)]
pub(super) enum ShellCommand {
    /// List the shells of the current project: live, restorable and forgotten
    #[command(after_help = "Example:\n  sidecar shell list --all")]
    List(ListArgs),
    /// Make a shell, in a directory or in the worktree of a branch
    #[command(after_help = "Example:\n  sidecar shell new 'Auth Refactor'\n  sidecar shell new --worktree fix-auth --run 'npm run dev'")]
    New(NewArgs),
    /// Name a shell; its session's name follows
    #[command(after_help = "Example:\n  sidecar shell rename 'Auth Refactor'\n  sidecar shell rename --target web web-2")]
    Rename(RenameArgs),
    /// Type into a shell, exactly this text
    #[command(
        after_help = "Example:\n  sidecar shell send --target web --run 'make test'\n  sidecar shell send --target web:1.0 --type 'git commit -m '"
    )]
    Send(SendArgs),
    /// Forget a shell; its session, if it runs, goes on unrecorded
    #[command(after_help = "Example:\n  sidecar shell forget web")]
    Forget(TargetArgs),
    /// Bring a forgotten, closed or deleted shell's record back
    #[command(after_help = "Example:\n  sidecar shell restore web")]
    Restore(TargetArgs),
    /// Close a shell's session, and forget it
    #[command(after_help = "Example:\n  sidecar shell delete --target web")]
    Delete(DeleteArgs),
    /// Remove a forgotten shell's record for good
    #[command(after_help = "Example:\n  sidecar shell purge --target web --yes")]
    Purge(PurgeArgs),
}

#[derive(Args)]
pub(super) struct NewArgs {
    /// Its display name
    #[arg(value_name = "NAME")]
    pub(super) name: Option<OsString>,
    /// Where it opens; this directory if left out
    #[arg(long, value_name = "D", conflicts_with = "worktree", allow_hyphen_values = true)]
    pub(super) dir: Option<PathBuf>,
    /// In the git worktree of this branch, which is added if there is none
    #[arg(long, value_name = "BRANCH", allow_hyphen_values = true)]
    pub(super) worktree: Option<String>,
    /// Type this command into it, once; after a restore its pane waits with it
    #[arg(long, value_name = "CMD", allow_hyphen_values = true)]
    pub(super) run: Option<String>,
    /// Print one JSON document
    #[arg(long)]
    pub(super) json: bool,
}

#[derive(Args)]
pub(super) struct RenameArgs {
    /// The shell: its id, session name, display name or the name it was made with; the current one if left out
    #[arg(long, value_name = "T", allow_hyphen_values = true)]
    pub(super) target: Option<OsString>,
    /// The new name
    #[arg(value_name = "NAME")]
    pub(super) name: OsString,
    /// Print one JSON document
    #[arg(long)]
    pub(super) json: bool,
}

#[derive(Args)]
#[command(group = clap::ArgGroup::new("text").required(true))]
pub(super) struct SendArgs {
    /// The shell, or T:WINDOW.PANE for another pane than its active one
    #[arg(long, value_name = "T", allow_hyphen_values = true)]
    pub(super) target: OsString,
    /// Type this, and press Enter once
    #[arg(long, value_name = "CMD", group = "text", allow_hyphen_values = true)]
    pub(super) run: Option<String>,
    /// Type this
    #[arg(long = "type", value_name = "TEXT", group = "text", allow_hyphen_values = true)]
    pub(super) typed: Option<String>,
    /// Print one JSON document
    #[arg(long)]
    pub(super) json: bool,
}

#[derive(Args)]
pub(super) struct TargetArgs {
    /// The shell: its id, session name, display name or the name it was made with
    #[arg(value_name = "T")]
    pub(super) target: OsString,
    /// Print one JSON document
    #[arg(long)]
    pub(super) json: bool,
}

#[derive(Args)]
pub(super) struct DeleteArgs {
    /// The shell: its id, session name, display name or the name it was made with
    #[arg(long, value_name = "T", allow_hyphen_values = true)]
    pub(super) target: OsString,
    /// Print one JSON document
    #[arg(long)]
    pub(super) json: bool,
}

#[derive(Args)]
pub(super) struct PurgeArgs {
    /// The forgotten shell: its id, session name, display name or the name it was made with
    #[arg(long, value_name = "T", allow_hyphen_values = true)]
    pub(super) target: OsString,
    /// Yes, for good
    #[arg(long)]
    pub(super) yes: bool,
    /// Print one JSON document
    #[arg(long)]
    pub(super) json: bool,
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
pub(super) enum ImportCommand {
    /// Make records of the sessions in a tmux-resurrect save; none whose name is taken
    #[command(after_help = "Example:\n  sidecar import resurrect --dry-run\n  sidecar import resurrect && sidecar session restore")]
    Resurrect(ResurrectArgs),
}

#[derive(Args)]
pub(super) struct ResurrectArgs {
    /// The save; the newest one where tmux-resurrect keeps them if left out
    #[arg(value_name = "FILE")]
    pub(super) file: Option<PathBuf>,
    /// List the saves that are there, the newest first, and import none
    #[arg(long, conflicts_with_all = ["file", "dry_run"])]
    pub(super) list: bool,
    /// Say what would be done, and do nothing
    #[arg(long)]
    pub(super) dry_run: bool,
    /// Print one JSON document
    #[arg(long)]
    pub(super) json: bool,
}

#[derive(Subcommand)]
pub(super) enum SnapshotCommand {
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
pub(super) enum BootCommand {
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

#[derive(Subcommand)]
pub(super) enum TimerCommand {
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
pub(super) struct SaveArgs {
    /// Also read the screens of agents whose conversation is not known, for an id that they print
    #[arg(long)]
    pub(super) harvest: bool,
    /// Of every recorded tmux server of yours that lives
    #[arg(long)]
    pub(super) all_servers: bool,
    /// Print one JSON document
    #[arg(long)]
    pub(super) json: bool,
}

#[derive(Subcommand)]
pub(super) enum MenuCommand {
    /// What can be restored: all, or one by one
    Restore(ClientArgs),
    /// The forgotten shells: bring one back, or remove it for good
    Forgotten(ClientArgs),
    /// A new name for the session that the client shows
    Rename(ClientArgs),
    /// What the entries of the menus call
    #[command(hide = true)]
    Go {
        /// The client that chose
        #[arg(long, value_name = "C")]
        client: String,
        /// What it chose
        #[arg(required = true, trailing_var_arg = true)]
        words: Vec<String>,
    },
}

#[derive(Args)]
pub(super) struct ClientArgs {
    /// The client to show it to, as `tmux list-clients` names it; without it the one that was used last
    #[arg(long, value_name = "C")]
    pub(super) client: Option<String>,
}

#[derive(Subcommand)]
pub(super) enum AgentCommand {
    /// The hook in an agent's own configuration
    Integration {
        #[command(subcommand)]
        command: IntegrationCommand,
    },
    /// Show the agents in panes: whether their conversations are known, and what would resume them; changes nothing
    #[command(after_help = "Example:\n  sidecar agent status")]
    Status {
        /// Print one JSON document
        #[arg(long)]
        json: bool,
    },
    /// Answer agents that ask whether to go on with a summary or with the full conversation; leaves every other question to you
    #[command(after_help = "Examples:\n  sidecar agent answer --dry-run\n  sidecar agent answer --choice 1")]
    Answer(AnswerArgs),
    /// Open a pane's conversation again, in the pane that this is called in; the pane is one of `agent status --json`
    #[command(after_help = "Example:\n  sidecar agent resume pn-0123456789abcdef")]
    Resume {
        /// The id of the pane's record
        pane: String,
    },
    /// What that hook calls; never prints, always exits 0
    #[command(hide = true)]
    ReportSession {
        /// The agent
        #[arg(long)]
        kind: String,
        /// The report comes on standard input
        #[arg(long, required = true)]
        hook_stdin: bool,
    },
}

#[derive(Args)]
pub(super) struct AnswerArgs {
    /// Say what would be answered, and press no key
    #[arg(long)]
    pub(super) dry_run: bool,
    /// With this choice; without it, with the full conversation
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=9))]
    pub(super) choice: Option<u8>,
    /// Print one JSON document
    #[arg(long)]
    pub(super) json: bool,
}

#[derive(Subcommand)]
pub(super) enum IntegrationCommand {
    /// List the agents that are known, and whether there is an integration for them
    #[command(after_help = "Example:\n  sidecar agent integration list")]
    List {
        /// Print one JSON document
        #[arg(long)]
        json: bool,
    },
    /// Show whether the hook is installed, and what to do; changes nothing
    #[command(after_help = "Example:\n  sidecar agent integration status claude")]
    Status {
        /// Only this agent: claude, codex, copilot, gemini or opencode
        kind: Option<String>,
        /// Print one JSON document
        #[arg(long)]
        json: bool,
    },
    /// Add the hook to the agent's settings
    #[command(after_help = "Examples:\n  sidecar agent integration install --dry-run\n  sidecar agent integration install codex --trust")]
    Install {
        #[command(flatten)]
        change: ChangeArgs,
        /// Codex: have the hook trusted too, so that Codex does not ask at its next start
        #[arg(long)]
        trust: bool,
        /// Codex: put the conversation's id into the terminal's title, by which panes that share a server process are told apart
        #[arg(long)]
        titles: bool,
    },
    /// Take the hook out again; the settings are as they were before
    #[command(after_help = "Example:\n  sidecar agent integration uninstall codex")]
    Uninstall(ChangeArgs),
    /// Mend an installed hook: a helper that has moved, entries that are missing or doubled
    #[command(after_help = "Example:\n  sidecar agent integration repair")]
    Repair(ChangeArgs),
}

#[derive(Args)]
pub(super) struct ChangeArgs {
    /// Only this agent: claude, codex, copilot, gemini or opencode
    pub(super) kind: Option<String>,
    /// Show what would change, and change nothing
    #[arg(long)]
    pub(super) dry_run: bool,
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

#[derive(Subcommand)]
pub(super) enum PaneCommand {
    /// Begin the pane of this record: its command after an Enter, its program, or a shell
    Start {
        /// The id of the pane's record
        pane: String,
    },
    /// Leave a shell after a program
    Ended {
        /// Its exit code
        code: String,
        /// Its name
        #[arg(allow_hyphen_values = true)]
        program: OsString,
        /// The pane's record, if it resumed its conversation
        pane: Option<String>,
    },
    /// Watch the resume of a pane's conversation
    Watch {
        /// The id of the pane's record
        pane: String,
        /// The live pane that it runs in
        here: String,
    },
}

impl Command {
    /// Whether errors go out as JSON too.
    pub(super) fn wants_json(&self) -> bool {
        match self {
            Self::Session { command: SessionCommand::Status(options) } => options.json,
            Self::Session { command: SessionCommand::Restore(options) } => options.json,
            Self::Session { command: SessionCommand::Policy(options) } => options.json,
            Self::Shell { command } => command.wants_json(),
            Self::Import { command: ImportCommand::Resurrect(options) } => options.json,
            Self::Snapshot { command } => command.wants_json(),
            Self::Boot { command: BootCommand::Install { json } | BootCommand::Status { json } | BootCommand::Uninstall { json } } => *json,
            Self::Agent { command: AgentCommand::Integration { command } } => match command {
                IntegrationCommand::List { json } | IntegrationCommand::Status { json, .. } => *json,
                IntegrationCommand::Install { change, .. } => change.json,
                IntegrationCommand::Uninstall(change) | IntegrationCommand::Repair(change) => change.json,
            },
            Self::Agent { command: AgentCommand::Status { json } } => *json,
            Self::Agent { command: AgentCommand::Answer(options) } => options.json,
            Self::Doctor(options) => options.json,
            Self::Agent { command: AgentCommand::ReportSession { .. } | AgentCommand::Resume { .. } }
            | Self::Boot { .. }
            | Self::Menu { .. }
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

impl SnapshotCommand {
    fn wants_json(&self) -> bool {
        match self {
            Self::Save(options) => options.json,
            Self::List { json } | Self::Show { json, .. } | Self::Prune { json } => *json,
            Self::Timer { command } => match command {
                TimerCommand::Install { json, .. } | TimerCommand::Status { json } | TimerCommand::Uninstall { json } => *json,
            },
        }
    }
}

impl ShellCommand {
    fn wants_json(&self) -> bool {
        match self {
            Self::List(options) => options.json,
            Self::New(options) => options.json,
            Self::Rename(options) => options.json,
            Self::Send(options) => options.json,
            Self::Forget(options) | Self::Restore(options) => options.json,
            Self::Delete(options) => options.json,
            Self::Purge(options) => options.json,
        }
    }
}
