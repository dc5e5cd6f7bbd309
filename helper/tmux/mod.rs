//! The one place that runs tmux: which server is meant, whether it lives, what it holds, and how text is handed to it.

mod act;
mod client;
mod frame;
mod inspect;
mod look;
mod quote;
mod server;
mod typing;
mod version;

pub use act::{HOOK_INDEX, LOOK_COMES, Rearm, TIMER, announce_look, keep_unattached, only_in};
pub use client::{Failure, Held, Reply};
pub use inspect::session as inspect_again;
pub use look::{Purpose, look_argv};
pub use quote::{arg, double_hash, format_arg, name_from_shown, shell_line, shell_word, shown_from_name};
pub use server::Server;
pub use typing::{PaneNow, Typing};
pub use version::Version;
