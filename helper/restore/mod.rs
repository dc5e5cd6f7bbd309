//! Bringing shells back: a pure plan, pure scripts for tmux, and the run that carries them out.

mod effective;
mod execute;
mod farewell;
mod plan;
mod script;
mod situation;

pub use execute::{Progress, Report, restore};
pub use farewell::{Farewell, say_farewell};
pub use plan::{Facts, plan};
pub use situation::{Situation, situation};
