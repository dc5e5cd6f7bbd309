//! The panes of a server and their processes, and nothing else: what a report of an agent needs to find its own.

use std::time::Duration;

use super::client::Failure;
use super::frame::Frame;
use super::look::{live_id, number, text};
use super::server::Server;
use crate::agents::process;
use crate::model::Generation;

const FIELDS: &[&str] = &["pid", "start_time", "pane_id", "pane_pid", "pane_title", "@sidecar-pane"];

/// A pane.
#[derive(Clone, Debug)]
pub struct LivePane {
    /// `%3`.
    pub id: String,
    /// The process that tmux started in it.
    pub pid: i32,
    /// `#{pane_title}`.
    pub title: String,
    /// `@sidecar-pane`.
    pub tag: String,
}

impl Server {
    /// Every pane, and which life of the server it is.
    ///
    /// # Errors
    /// No answer, or one that is not whole.
    pub fn panes(&self, limit: Duration) -> Result<(Generation, Vec<LivePane>), Failure> {
        let frame = Frame::new()?;
        let reply = self.call(&["list-panes", "-a", "-F", &frame.format('P', FIELDS)], None, limit)?;
        let short = || Failure::Other("the server's answer is not whole: it may be ending".to_owned());
        let rows = frame.rows(&reply.stdout).filter(|rows| reply.ok && !rows.is_empty()).ok_or_else(short)?;
        let (mut pid, mut start_time) = (0, 0);
        let mut panes = Vec::new();
        for row in &rows {
            let &[server, started, id, own, title, tag] = &row.fields[..] else { return Err(short()) };
            pid = number(server).ok_or_else(short)?;
            start_time = number(started).ok_or_else(short)?;
            let id = live_id(id, '%').ok_or_else(short)?;
            panes.push(LivePane { id, pid: number(own).unwrap_or(0), title: text(title), tag: text(tag) });
        }
        let generation = Generation { boot: process::boot_id(), pid, start_time, process_start: process::start_time(pid) };
        Ok((generation, panes))
    }
}
