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
