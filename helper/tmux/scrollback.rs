//! What panes show: whether it has changed, and the text.

use std::time::Duration;

use super::client::Failure;
use super::frame::Frame;
use super::look::{live_id, number, text};
use super::quote::arg;
use super::server::Server;
use crate::agents::process;
use crate::model::Generation;

/// What changes when anything is printed: the history grows to its limit, and the window's last output has a time, in seconds.
const FIELDS: &[&str] = &[
    "pid",
    "start_time",
    "pane_id",
    "pane_pid",
    "alternate_on",
    "history_size",
    "cursor_x",
    "cursor_y",
    "pane_width",
    "pane_height",
    "window_activity",
];

/// A pane on its normal screen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PaneMark {
    /// `%3`.
    pub id: String,
    /// The process that tmux started in it.
    pub pid: i32,
    /// Another one, as soon as something was printed. Without spaces.
    pub state: String,
}

impl PaneMark {
    /// Whether another state is that of this very pane, in this life of the server.
    pub fn is_same_pane(&self, state: &str) -> bool {
        self.state.split('.').take(3).eq(state.split('.').take(3))
    }
}

impl Server {
    /// The panes on whose normal screen something may stand, and which life of the server it is. A full-screen program has the other
    /// screen.
    ///
    /// # Errors
    /// No answer, or one that is not whole.
    pub fn pane_marks(&self, limit: Duration) -> Result<(Generation, Vec<PaneMark>), Failure> {
        let frame = Frame::new()?;
        let reply = self.call(&["list-panes", "-a", "-F", &frame.format('P', FIELDS)], None, limit)?;
        let short = || Failure::Other("the server's answer is not whole: it may be ending".to_owned());
        let rows = frame.rows(&reply.stdout).filter(|rows| reply.ok && !rows.is_empty()).ok_or_else(short)?;
        let (mut pid, mut start_time) = (0, 0);
        let mut panes: Vec<PaneMark> = Vec::new();
        for row in &rows {
            let [server, started, id, own, alternate, rest @ ..] = &row.fields[..] else { return Err(short()) };
            pid = number(server).ok_or_else(short)?;
            start_time = number(started).ok_or_else(short)?;
            let id = live_id(id, '%').ok_or_else(short)?;
            // A linked window's panes come once for each of its places.
            if *alternate != b"1" && panes.iter().all(|known| known.id != id) {
                let numbers = rest.iter().map(|field| text(field)).collect::<Vec<_>>().join(".");
                let state = format!("{pid}.{start_time}.{id}.{numbers}").replace(' ', "");
                panes.push(PaneMark { id, pid: number(own).unwrap_or(0), state });
            }
        }
        Ok((Generation { boot: process::boot_id(), pid, start_time, process_start: process::start_time(pid) }, panes))
    }

    /// What a pane shows, with so many lines of its history: wrapped lines as one, colours as SGR sequences. Empty while it has the
    /// alternate screen.
    ///
    /// # Errors
    /// As for any call; a pane that is gone.
    pub fn pane_text(&self, generation: &Generation, pane: &str, lines: usize, limit: Duration) -> Result<Vec<u8>, Failure> {
        let guard = format!("#{{||:#{{alternate_on}},#{{!=:#{{pid}},{}}}}}", generation.pid);
        let capture = format!("capture-pane -p -e -J -S -{lines} -t {}", arg(pane.as_bytes()));
        let reply = self.call(&["if-shell", "-F", "-t", pane, &guard, "", &capture], None, limit)?;
        if reply.ok { Ok(reply.stdout) } else { Err(Failure::Other(reply.stderr)) }
    }
}
