//! Processes in panes.

pub mod process;
