//! Bringing shells back: a pure plan, pure scripts for tmux, and the run that carries them out.

mod agents;
mod answer;
mod effective;
mod execute;
mod opening;
mod plan;
mod resume;
mod retire;
mod run;
mod script;
mod situation;
mod source;
mod thaw;
mod watch;

pub use agents::{AgentFacts, Asked, Claim, resume_line};
pub use answer::{NotAnswered, press, visible, wished};
pub use execute::{Order, Progress, Report, restore};
pub use opening::{Start, start};
pub use plan::Facts;
pub use resume::{Claimed, Consent, Wish, claim, ended, last_failure, look_at_waiting, not_begun, waiting};
pub use retire::{Retiring, retire_bootstrap};
pub use situation::{Besides, Situation, Standing, situation, situation_with, standing};
pub use source::Source;
pub use thaw::thaw;
pub use watch::watch;
