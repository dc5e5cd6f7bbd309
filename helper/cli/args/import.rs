//! The arguments of `sidecar import …`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

#[derive(Subcommand)]
pub(crate) enum ImportCommand {
    /// Make records of the sessions in a tmux-resurrect save; none whose name is taken
    #[command(after_help = "Example:\n  sidecar import resurrect --dry-run\n  sidecar import resurrect && sidecar session restore")]
    Resurrect(ResurrectArgs),
}

#[derive(Args)]
pub(crate) struct ResurrectArgs {
    /// The save; the newest one where tmux-resurrect keeps them if left out
    #[arg(value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// List the saves that are there, the newest first, and import none
    #[arg(long, conflicts_with_all = ["file", "dry_run"])]
    pub(crate) list: bool,
    /// Say what would be done, and do nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
}

impl ImportCommand {
    pub(super) fn wants_json(&self) -> bool {
        match self {
            Self::Resurrect(options) => options.json,
        }
    }
}
