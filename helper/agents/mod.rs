//! Processes in panes, and the agents among them.

pub mod catalog;
pub mod cutoff;
pub mod daemon;
pub mod dialogs;
pub mod evidence;
pub mod flags;
pub mod integration;
pub mod lineage;
pub mod live;
pub mod payload;
pub mod place;
pub mod process;
pub mod recognize;
pub mod transcript;
pub mod verdict;
