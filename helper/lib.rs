//! sidecar.tmux's helper: records tmux sessions and brings them back.
//!
//! Decisions are pure functions over the data of [`model`]; effects live at the edge. Only [`tmux`] runs tmux, only
//! [`store`] touches the state files, only [`agents::process`] reads the process table. `ARCHITECTURE.md` has the map.

pub mod agents;
pub mod boot;
pub mod child;
pub mod cli;
pub mod display;
pub mod doctor;
pub mod error;
pub mod hosts;
pub mod import;
pub mod model;
pub mod pane;
pub mod plugin;
pub mod record;
pub mod restore;
pub mod scrollback;
pub mod shells;
pub mod snapshots;
pub mod store;
pub mod tmux;
pub mod units;
