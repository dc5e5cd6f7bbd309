//! Processes in panes, and the agents among them.

pub mod catalog;
pub mod daemon;
pub mod evidence;
pub mod flags;
pub mod integration;
pub mod lineage;
pub mod payload;
pub mod place;
pub mod process;
pub mod recognize;

/// The programs of the coding agents, by the name that a user types.
const PROGRAMS: &[&str] = &["claude", "codex", "copilot", "gemini", "opencode"];

/// Whether a program of this base name is a coding agent.
pub fn is_known(program: &str) -> bool {
    PROGRAMS.contains(&program)
}
