//! Bringing shells back: a pure plan, pure scripts for tmux, and the run that carries them out.

mod agents;
mod effective;
mod execute;
mod opening;
mod plan;
mod retire;
mod run;
mod script;
mod situation;

pub use agents::{AgentFacts, Asked, Claim, resume_line};
pub use execute::{Progress, Report, restore};
pub use opening::{Start, start};
pub use plan::{Facts, plan};
pub use retire::{Retiring, retire_bootstrap};
pub use situation::{Situation, situation};
