//! What tmux calls: hooks, the timer, and the load that sets them up.

mod hook;
mod hooks;
mod load;
mod timer;

pub use hook::{Event, Plugin};
pub use load::Loading;
