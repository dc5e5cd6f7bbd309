//! What panes showed: kept beside the records, and shown again above the prompt of a pane that a restore made.
//!
//! `clean` and `text` are pure; `take` asks tmux and writes.

mod clean;
mod take;
mod text;

pub use take::take;
pub use text::{again, has_any};
