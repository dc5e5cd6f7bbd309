//! The one place that runs tmux: which server is meant, whether it lives, what it holds, and how text is handed to it.

mod act;
mod client;
mod frame;
mod inspect;
mod look;
mod quote;
mod server;
mod version;

/// The hidden environment variable that is set while a look is on its way: hooks start no other one.
pub const LOOK_COMES: &str = act::LOOK_COMES;

pub use act::Rearm;
pub use client::{Failure, Reply};
pub use look::{Purpose, look_argv};
pub use quote::{arg, double_hash, name_from_shown, shell_word};
pub use server::{Server, Via};
pub use version::Version;
