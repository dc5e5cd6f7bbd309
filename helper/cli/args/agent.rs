//! The arguments of `sidecar agent …`.

use clap::{Args, Subcommand};

#[derive(Subcommand)]
pub(crate) enum AgentCommand {
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
pub(crate) struct AnswerArgs {
    /// Say what would be answered, and press no key
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// With this choice; without it, with the full conversation
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=9))]
    pub(crate) choice: Option<u8>,
    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Subcommand)]
pub(crate) enum IntegrationCommand {
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
        #[arg(value_name = "AGENT")]
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
pub(crate) struct ChangeArgs {
    /// Only this agent: claude, codex, copilot, gemini or opencode
    #[arg(value_name = "AGENT")]
    pub(crate) kind: Option<String>,
    /// Show what would change, and change nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
}

impl AgentCommand {
    pub(super) fn wants_json(&self) -> bool {
        match self {
            Self::Integration { command } => command.wants_json(),
            Self::Status { json } => *json,
            Self::Answer(options) => options.json,
            Self::Resume { .. } | Self::ReportSession { .. } => false,
        }
    }
}

impl IntegrationCommand {
    fn wants_json(&self) -> bool {
        match self {
            Self::List { json } | Self::Status { json, .. } => *json,
            Self::Install { change, .. } | Self::Uninstall(change) | Self::Repair(change) => change.json,
        }
    }
}
