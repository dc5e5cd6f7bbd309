//! The one place that runs tmux: which server is meant, whether it lives, what it holds, and how text is handed to it.

mod client;
mod frame;
mod look;
mod quote;
mod server;
mod version;

pub use client::{Failure, Reply};
pub use look::{Rearm, look_argv};
pub use quote::{arg, double_hash, name_from_shown, shell_word};
pub use server::{Server, Via};
pub use version::Version;
