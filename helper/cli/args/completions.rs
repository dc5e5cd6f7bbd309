//! The arguments of `sidecar completions` and of what the completions ask.

use std::ffi::OsString;

use clap::Subcommand;

/// A shell that completions are made for.
#[derive(Clone, Copy, clap::ValueEnum)]
pub(crate) enum CompletedShell {
    Bash,
    Zsh,
    Fish,
}

#[derive(Subcommand)]
pub(crate) enum CompleteCommand {
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
