//! The arguments of `sidecar shell …`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Subcommand};

#[derive(Subcommand)]
pub(crate) enum ShellCommand {
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
pub(crate) struct NewArgs {
    /// Its display name
    #[arg(value_name = "NAME")]
    pub(crate) name: Option<OsString>,
    /// Where it opens; this directory if left out
    #[arg(long, value_name = "D", conflicts_with = "worktree", allow_hyphen_values = true)]
    pub(crate) dir: Option<PathBuf>,
    /// In the git worktree of this branch, which is added if there is none
    #[arg(long, value_name = "BRANCH", allow_hyphen_values = true)]
    pub(crate) worktree: Option<String>,
    /// Type this command into it, once; after a restore its pane waits with it
    #[arg(long, value_name = "CMD", allow_hyphen_values = true)]
    pub(crate) run: Option<String>,
    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
pub(crate) struct RenameArgs {
    /// The shell: its id, session name, display name or the name it was made with; the current one if left out
    #[arg(long, value_name = "T", allow_hyphen_values = true)]
    pub(crate) target: Option<OsString>,
    /// The new name
    #[arg(value_name = "NAME")]
    pub(crate) name: OsString,
    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
#[command(group = clap::ArgGroup::new("text").required(true))]
pub(crate) struct SendArgs {
    /// The shell, or T:WINDOW.PANE for another pane than its active one
    #[arg(long, value_name = "T", allow_hyphen_values = true)]
    pub(crate) target: OsString,
    /// Type this, and press Enter once
    #[arg(long, value_name = "CMD", group = "text", allow_hyphen_values = true)]
    pub(crate) run: Option<String>,
    /// Type this
    #[arg(long = "type", value_name = "TEXT", group = "text", allow_hyphen_values = true)]
    pub(crate) typed: Option<String>,
    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
pub(crate) struct TargetArgs {
    /// The shell: its id, session name, display name or the name it was made with
    #[arg(value_name = "T")]
    pub(crate) target: OsString,
    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
pub(crate) struct DeleteArgs {
    /// The shell: its id, session name, display name or the name it was made with
    #[arg(long, value_name = "T", allow_hyphen_values = true)]
    pub(crate) target: OsString,
    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
pub(crate) struct PurgeArgs {
    /// The forgotten shell: its id, session name, display name or the name it was made with
    #[arg(long, value_name = "T", allow_hyphen_values = true)]
    pub(crate) target: OsString,
    /// Yes, for good
    #[arg(long)]
    pub(crate) yes: bool,
    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
pub(crate) struct ListArgs {
    /// Of every project
    #[arg(long, conflicts_with = "project")]
    pub(crate) all: bool,
    /// Of the project that this directory lies in
    #[arg(long, value_name = "DIR")]
    pub(crate) project: Option<PathBuf>,
    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
}

impl ShellCommand {
    pub(super) fn wants_json(&self) -> bool {
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
