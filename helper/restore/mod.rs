//! Bringing shells back: a pure plan, pure scripts for tmux, and the run that carries them out.

mod effective;
mod execute;
mod plan;
mod script;
mod situation;

pub use execute::{Progress, restore};
pub use plan::{Facts, plan};
pub use situation::{Situation, situation};
