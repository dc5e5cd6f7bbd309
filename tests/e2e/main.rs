//! End-to-end tests: real tmux servers, real files, real processes, each test in a world of its own.
#![allow(
    missing_docs,
    unreachable_pub,
    dead_code,
    clippy::disallowed_methods,
    clippy::must_use_candidate,
    reason = "tests run tmux and make files by themselves"
)]

mod closing;
mod death;
mod fixed_point;
mod main_job;
mod pristine;
mod records;
mod stuck;
mod support;
