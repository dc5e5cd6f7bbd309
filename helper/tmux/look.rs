//! One complete look at a server: a single round trip that asks for everything.

use std::collections::HashMap;
use std::time::Duration;

use super::act::{LOOK_COMES, OFFER, TIMER};
use super::client::Failure;
use super::frame::{Frame, Row};
use super::inspect;
use super::server::Server;
use super::start_command::{self, Start};
use crate::agents::process;
use crate::model::{Generation, Layout, Observation, Offer, SeenPane, SeenSession, SeenWindow, TmuxSettings};

const HEAD: &[&str] = &[
    "pid",
    "start_time",
    "version",
    "S:x",
    "@sidecar-interval",
    "@sidecar-grace",
    TIMER,
    "@sidecar-offer",
    OFFER,
    "@sidecar_restorable",
    "@sidecar_status",
];
const SESSION: &[&str] = &[
    "session_id",
    "session_name",
    "session_path",
    "session_group",
    "session_attached",
    "session_last_attached",
    "session_windows",
    "@sidecar-shell",
    "default-command",
    "session_created",
    "session_activity",
    "@sidecar-kept",
    "default-shell",
];
const WINDOW: &[&str] = &[
    "session_id",
    "window_index",
    "window_id",
    "window_active",
    "window_last_flag",
    "window_zoomed_flag",
    "automatic-rename",
    "window_name",
    "window_layout",
    "window_width",
    "window_height",
    "window_panes",
    "@sidecar-blank",
];
const PANE: &[&str] = &[
    "session_id",
    "window_index",
    "pane_id",
    "pane_index",
    "pane_active",
    "pane_last",
    "pane_dead",
    "pane_pid",
    "pane_title",
    "@sidecar-pane",
    "pane_start_path",
    "pane_start_command",
    "pane_path",
    "pane_floating_flag",
    #[cfg(not(target_os = "linux"))]
    "pane_current_path",
];

/// What a look is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// To be written down: hooks may ask for another look from here on.
    Record,
    /// To be shown: it changes nothing, not even in tmux.
    Show,
    /// To find live ids: as to be shown, and no process is asked what it does.
    Find,
}

impl Server {
    /// Looks at everything, for at most `limit`.
    ///
    /// # Errors
    /// A failed call, or an answer that is short: a server that is ending answers with part of its panes.
    pub fn look(&self, purpose: Purpose, limit: Duration) -> Result<Observation, Failure> {
        let frame = Frame::new()?;
        let reply = self.call(&argv(&frame, purpose), None, limit)?;
        let rows = frame.rows(&reply.stdout).filter(|rows| reply.ok || is_without_sessions(rows));
        let Some(rows) = rows else {
            return Err(if reply.ok { short() } else { Failure::Other(reply.stderr) });
        };
        let mut seen = assemble(&rows).ok_or_else(short)?;
        if purpose != Purpose::Find {
            seen.sessions.iter_mut().for_each(inspect::session);
        }
        Ok(seen)
    }
}

/// What a look asks of tmux, as the words behind its socket: the least that a look can cost.
///
/// # Errors
/// The system gives no random bytes.
pub fn look_argv() -> Result<Vec<String>, Failure> {
    Ok(argv(&Frame::new()?, Purpose::Record))
}

fn argv(frame: &Frame, purpose: Purpose) -> Vec<String> {
    let mut args: Vec<String> = Vec::new();
    if purpose == Purpose::Record {
        // What happens from here on is for another look.
        args.extend(["set-environment", "-gu", LOOK_COMES, ";"].map(str::to_owned));
    }
    for (command, kind, fields) in [
        (&["display-message", "-p"][..], 'H', HEAD),
        (&["list-sessions", "-F"], 'S', SESSION),
        (&["list-windows", "-a", "-F"], 'W', WINDOW),
        (&["list-panes", "-a", "-F"], 'P', PANE),
        (&["display-message", "-p"], 'E', &["pid"]),
    ] {
        args.extend(command.iter().map(|&word| word.to_owned()));
        args.push(frame.format(kind, fields));
        args.push(";".into());
    }
    args.pop();
    args
}

fn short() -> Failure {
    Failure::Other("the server's answer is not whole: it may be ending".to_owned())
}

pub(super) fn text(field: &[u8]) -> String {
    String::from_utf8_lossy(field).into_owned()
}

pub(super) fn number<T: std::str::FromStr>(field: &[u8]) -> Option<T> {
    std::str::from_utf8(field).ok()?.parse().ok()
}

fn flag(field: &[u8]) -> bool {
    matches!(field, b"1" | b"on")
}

/// A live id: `$3`, `@3` or `%3`. An empty or malformed target would fall back to the current session without an error.
pub(super) fn live_id(field: &[u8], sigil: char) -> Option<String> {
    let id = std::str::from_utf8(field).ok()?;
    let digits = id.strip_prefix(sigil)?;
    (!digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())).then(|| id.to_owned())
}

/// A server that holds no session (`exit-empty off`) tells so, and has no target for the rest of what is asked.
fn is_without_sessions(rows: &[Row]) -> bool {
    matches!(rows, [head] if head.kind == 'H' && head.fields.get(3).is_some_and(|sessions| sessions.is_empty()))
}

/// Joins the rows. `None` unless every count agrees.
fn assemble(rows: &[Row]) -> Option<Observation> {
    let (head, rest) = rows.split_first()?;
    let (end, rest) = if is_without_sessions(rows) { (head, rest) } else { rest.split_last()? };
    if head.kind != 'H' || !matches!(end.kind, 'E' | 'H') || head.fields.len() != HEAD.len() || end.fields.first() != head.fields.first() {
        return None;
    }
    let pid: i32 = number(head.fields[0])?;
    let generation =
        Generation { boot: process::boot_id(), pid, start_time: number(head.fields[1])?, process_start: process::start_time(pid) };
    let settings = TmuxSettings {
        interval: text(head.fields[4]),
        grace: text(head.fields[5]),
        timer: text(head.fields[6]),
        offer: text(head.fields[7]),
        offered: Offer::of(&text(head.fields[8])),
        restorable: text(head.fields[9]),
        status: text(head.fields[10]),
    };
    let mut sessions: Vec<SeenSession> = Vec::new();
    let mut place: HashMap<String, usize> = HashMap::new();
    let mut window_place: HashMap<(usize, u32), (usize, usize)> = HashMap::new();
    let mut windows_expected: Vec<usize> = Vec::new();
    // `default-command` and `default-shell`.
    let mut defaults: Vec<[&[u8]; 2]> = Vec::new();
    for row in rest {
        let f = &row.fields;
        match row.kind {
            'S' if f.len() == SESSION.len() => {
                let id = live_id(f[0], '$')?;
                place.insert(id.clone(), sessions.len());
                windows_expected.push(number(f[6])?);
                defaults.push([f[8], f[12]]);
                sessions.push(SeenSession {
                    id,
                    name: text(f[1]),
                    path: f[2].into(),
                    group: text(f[3]),
                    attached: number(f[4]).unwrap_or(0),
                    last_attached: number(f[5]).unwrap_or(0),
                    tag: text(f[7]),
                    created: number(f[9]).unwrap_or(0),
                    activity: number(f[10]).unwrap_or(0),
                    kept: flag(f[11]),
                    ..SeenSession::default()
                });
            }
            'W' if f.len() == WINDOW.len() => {
                let session = *place.get(&live_id(f[0], '$')?)?;
                let index = number(f[1])?;
                let at = sessions[session].windows.len();
                window_place.insert((session, index), (at, number(f[11])?));
                sessions[session].windows.push(SeenWindow {
                    id: live_id(f[2], '@')?,
                    index,
                    active: flag(f[3]),
                    last: flag(f[4]),
                    zoomed: flag(f[5]),
                    automatic_rename: flag(f[6]),
                    name: text(f[7]),
                    layout: Layout::parse(&text(f[8])),
                    width: number(f[9])?,
                    height: number(f[10])?,
                    blank: flag(f[12]),
                    panes: Vec::new(),
                });
            }
            'P' if f.len() == PANE.len() => {
                let session = *place.get(&live_id(f[0], '$')?)?;
                let (window, _) = *window_place.get(&(session, number(f[1])?))?;
                let pane = pane(f, defaults[session])?;
                sessions[session].windows[window].panes.push(pane);
            }
            _ => return None,
        }
    }
    let whole = sessions.len() == head.fields[3].len()
        && sessions.iter().zip(&windows_expected).all(|(session, &expected)| session.windows.len() == expected)
        && window_place.iter().all(|(&(session, _), &(window, expected))| sessions[session].windows[window].panes.len() == expected);
    whole.then(|| Observation { generation, version: text(head.fields[2]), sessions, settings })
}

fn pane(f: &[&[u8]], [default_command, default_shell]: [&[u8]; 2]) -> Option<SeenPane> {
    let (run, own) = match start_command::read(f[11], default_command, default_shell) {
        Start::Default => (None, false),
        Start::Own => (None, true),
        Start::Run(run) => (Some(run), false),
    };
    let pid: i32 = number(f[7]).unwrap_or(0);
    Some(SeenPane {
        id: live_id(f[2], '%')?,
        index: number(f[3])?,
        active: flag(f[4]),
        last: flag(f[5]),
        dead: flag(f[6]),
        pid,
        title: text(f[8]),
        floating: flag(f[13]),
        tag: text(f[9]),
        start_dir: f[10].into(),
        run,
        launching: own,
        dir: if cfg!(target_os = "linux") { None } else { f.get(14).filter(|path| !path.is_empty()).map(|&path| path.into()) },
        logical_dir: inspect::osc7_path(f[12]),
        ..SeenPane::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn live_ids_are_checked_before_they_become_targets() {
        assert_eq!(live_id(b"$12", '$').as_deref(), Some("$12"));
        for bad in [&b""[..], b"$", b"12", b"@12", b"$1x", b"$-1", b"$1\n"] {
            assert_eq!(live_id(bad, '$'), None, "{bad:?}");
        }
    }
}
