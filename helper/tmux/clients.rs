//! The clients of a server: who can be shown something, and how large it is.

use std::time::Duration;

use super::client::Failure;
use super::frame::Frame;
use super::server::Server;

const FIELDS: &[&str] = &[
    "client_name",
    "session_id",
    "client_width",
    "client_height",
    "client_utf8",
    "client_control_mode",
    "client_readonly",
    "client_activity",
    "@sidecar-shell",
    "session_name",
];

/// An attached client.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SeenClient {
    /// Its name, the path of its terminal.
    pub name: String,
    /// The live id of the session that it shows.
    pub session: String,
    /// Columns.
    pub width: usize,
    /// Rows, the status line included.
    pub height: usize,
    /// Whether it shows UTF-8.
    pub utf8: bool,
    /// A program that speaks the control protocol: nothing can be drawn there.
    pub control: bool,
    /// It may look and not touch.
    pub read_only: bool,
    /// When it last typed, seconds since the Unix epoch.
    pub activity: u64,
    /// The stable id of its session, empty for none.
    pub shell: String,
    /// The name of its session, as tmux shows it.
    pub session_name: String,
}

impl SeenClient {
    /// Whether a person can see a menu there and choose from it.
    pub fn is_interactive(&self) -> bool {
        !self.control && !self.read_only
    }
}

impl Server {
    /// The live id of the session that this process runs in a pane of.
    pub fn own_session(&self, limit: Duration) -> Option<String> {
        let (_, pane) = self.own_pane()?;
        let reply = self.call(&["display-message", "-p", "-t", &pane, "#{session_id}"], None, limit).ok()?;
        super::look::live_id(reply.stdout.trim_ascii_end(), '$')
    }

    /// Every attached client.
    ///
    /// # Errors
    /// As for any call.
    pub fn clients(&self, limit: Duration) -> Result<Vec<SeenClient>, Failure> {
        let frame = Frame::new()?;
        let reply = self.call(&["list-clients", "-F", &frame.format('C', FIELDS)], None, limit)?;
        if !reply.ok {
            return Err(Failure::Other(reply.stderr));
        }
        let rows = frame.rows(&reply.stdout).ok_or_else(|| Failure::Other("an answer that is not whole".to_owned()))?;
        Ok(rows.iter().filter_map(|row| of_fields(&row.fields)).collect())
    }
}

fn of_fields(fields: &[&[u8]]) -> Option<SeenClient> {
    let texts: Vec<String> = fields.iter().map(|field| String::from_utf8_lossy(field).into_owned()).collect();
    let [name, session, width, height, utf8, control, read_only, activity, shell, session_name] = texts.try_into().ok()?;
    Some(SeenClient {
        name,
        session,
        width: width.parse().unwrap_or(0),
        height: height.parse().unwrap_or(0),
        utf8: utf8 == "1",
        control: control == "1",
        read_only: read_only == "1",
        activity: activity.parse().unwrap_or(0),
        shell,
        session_name,
    })
}
