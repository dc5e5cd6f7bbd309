//! Saves of tmux-resurrect: what stands in one, and the shells that it makes. Pure; `shells::import` has the effects.

mod choose;
mod rows;
mod sessions;
#[cfg(test)]
mod tests;

pub use choose::{Candidate, Fate, Reason, choose};
pub use rows::{Problem, Save, parse};
pub use sessions::{Draft, Places, drafts};
