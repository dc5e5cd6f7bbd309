//! The same command on other hosts, through the user's own ssh: their configuration, their keys.

mod line;
mod ssh;

pub use line::{is_host, remote_line, remote_words};
pub use ssh::{Answer, attached, together};
