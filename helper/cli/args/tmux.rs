//! The arguments of what tmux calls: `sidecar menu …`, `plugin …` and `pane …`.

use std::ffi::OsString;

use clap::{Args, Subcommand};

#[derive(Subcommand)]
pub(crate) enum MenuCommand {
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
pub(crate) struct ClientArgs {
    /// The client to show it to, as `tmux list-clients` names it; without it the one that was used last
    #[arg(long, value_name = "C")]
    pub(crate) client: Option<String>,
}

#[derive(Subcommand)]
pub(crate) enum PluginCommand {
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
pub(crate) enum PaneCommand {
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
