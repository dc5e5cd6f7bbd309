//! End-to-end tests: real tmux servers, real files, real processes, each test in a world of its own.
#![allow(
    missing_docs,
    unreachable_pub,
    dead_code,
    clippy::disallowed_methods,
    clippy::must_use_candidate,
    reason = "tests run tmux and make files by themselves"
)]

mod agents;
mod agents_records;
mod agents_world;
mod boot;
mod capture;
mod closing;
mod completions;
mod crash;
mod crash_resume;
mod death;
mod deaths;
mod dialogs;
mod doctor;
mod durability;
mod fake_agent;
mod fixed_point;
mod following;
mod forgetting;
mod hostile;
mod hosts;
mod import;
mod install;
mod integration;
mod loading;
mod main_job;
mod manual;
mod manual_ends;
mod menu_agents;
mod menus;
mod model_api;
mod more_agents;
mod names;
mod naming;
mod offer;
mod places;
mod plugin_commands;
mod pristine;
mod programs;
mod recording;
mod records;
mod remote;
mod restore;
mod resume;
mod resume_rules;
mod scrollback;
mod sending;
mod shells;
mod snapshots;
mod stranger;
mod stuck;
mod support;
mod terminal;
mod turns;
mod units;
mod verdicts;
mod workspaces;
