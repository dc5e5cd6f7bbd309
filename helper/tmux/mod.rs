//! The one place that runs tmux: which server is meant, whether it lives, what it holds, and how text is handed to it.

mod act;
mod client;
mod frame;
mod inspect;
mod look;
mod quote;
mod server;
mod version;

pub use act::{HOOK_INDEX, LOOK_COMES, Rearm, TIMER, announce_look, only_in};
pub use client::{Failure, Held, Reply};
pub use inspect::session as inspect_again;
pub use look::{Purpose, look_argv};
pub use quote::{arg, double_hash, name_from_shown, shell_word};
pub use server::Server;
pub use version::Version;
