//! One complete look at a server: a single round trip that asks for everything.

use std::collections::HashMap;
use std::path::Path;
use std::time::Duration;

use super::client::Failure;
use super::frame::{Frame, Row};
use super::quote;
use super::server::Server;
use crate::agents::process;
use crate::model::{Generation, Layout, Observation, RawText, Screen, SeenPane, SeenSession, SeenWindow, TmuxSettings};

/// The hidden environment variable that holds the timer's token. Not an `@option`: setting one redraws every client.
const TIMER: &str = "SIDECAR_TIMER";

/// The timer's next round.
#[derive(Clone, Debug)]
pub struct Rearm {
    /// Arm only while the server's token is this one; any if `None`.
    pub only_if: Option<String>,
    /// The new token.
    pub token: String,
    /// Seconds from now.
    pub delay: f64,
    /// What tmux's `run-shell` runs then.
    pub command: String,
}

const HEAD: &[&str] = &["pid", "start_time", "version", "S:x", "@sidecar-interval", "@sidecar-grace", TIMER];
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

impl Server {
    /// Looks at everything, for at most `limit`.
    ///
    /// # Errors
    /// A failed call, or an answer that is short: a server that is ending answers with part of its panes.
    pub fn look(&self, limit: Duration) -> Result<Observation, Failure> {
        let frame = Frame::new()?;
        let reply = self.call(&argv(&frame), None, limit)?;
        if !reply.ok {
            return Err(Failure::Other(reply.stderr));
        }
        let rows = frame.rows(&reply.stdout).ok_or_else(short)?;
        let mut seen = assemble(&rows).ok_or_else(short)?;
        for session in &mut seen.sessions {
            inspect_session(session);
        }
        Ok(seen)
    }

    /// The lines that a pane shows, with at most 200 of its history.
    ///
    /// # Errors
    /// As for any call.
    pub fn screen(&self, pane: &str, limit: Duration) -> Result<Screen, Failure> {
        let reply = self.call(&["capture-pane", "-p", "-J", "-S", "-200", "-t", pane], None, limit)?;
        if !reply.ok {
            return Err(Failure::Other(reply.stderr));
        }
        let text = String::from_utf8_lossy(&reply.stdout);
        let mut lines: Screen = text.lines().map(|line| line.trim_end().to_owned()).collect();
        while lines.last().is_some_and(String::is_empty) {
            lines.pop();
        }
        Ok(lines)
    }

    /// Puts the stable ids on the living objects. Each pair is a live id and a stable one.
    ///
    /// # Errors
    /// As for any call; an object that ended meanwhile is none.
    pub fn tag(
        &self,
        generation: &Generation,
        shells: &[(String, String)],
        panes: &[(String, String)],
        limit: Duration,
    ) -> Result<(), Failure> {
        let guard = format!("#{{==:#{{pid}},{}}}", generation.pid);
        let mut script = String::new();
        for (flag, option, pairs) in [("", "@sidecar-shell", shells), ("-p", "@sidecar-pane", panes)] {
            for (live, stable) in pairs {
                script.push_str(&format!(
                    "if-shell -F {} {{ set-option -q {flag} -t {} {option} {stable} }}\n",
                    quote::arg(guard.as_bytes()),
                    quote::arg(live.as_bytes())
                ));
            }
        }
        self.call(&["source-file", "-"], Some(script.as_bytes()), limit).map(drop)
    }

    /// Gives restored sessions, which a client has come to, the user's own `destroy-unattached` back.
    ///
    /// # Errors
    /// As for any call.
    pub fn let_go(&self, generation: &Generation, sessions: &[String], limit: Duration) -> Result<(), Failure> {
        let guard = quote::arg(format!("#{{==:#{{pid}},{}}}", generation.pid).as_bytes());
        let mut script = String::new();
        for session in sessions {
            let target = quote::arg(session.as_bytes());
            script.push_str(&format!(
                "if-shell -F {guard} {{ set-option -q -u -t {target} destroy-unattached ; set-option -q -u -t {target} @sidecar-kept }}\n"
            ));
        }
        self.source(&script, limit)
    }

    /// The server's own version; the client's may differ after an upgrade.
    ///
    /// # Errors
    /// As for any call.
    pub fn version(&self, limit: Duration) -> Result<String, Failure> {
        let reply = self.call(&["display-message", "-p", "#{version}"], None, limit)?;
        if reply.ok { Ok(text(&reply.stdout).trim().to_owned()) } else { Err(Failure::Other(reply.stderr)) }
    }

    /// Arms the timer; gives the token that holds now, which is another one where `only_if` did not fit.
    ///
    /// # Errors
    /// As for any call.
    pub fn arm(&self, rearm: &Rearm, limit: Duration) -> Result<String, Failure> {
        let command = quote::double_hash(rearm.command.as_bytes());
        let arm = format!("set-environment -gh {TIMER} {} ; run-shell -b -d {:.3} {}", rearm.token, rearm.delay, quote::arg(&command));
        let guard = rearm.only_if.as_ref().map_or_else(|| "1".to_owned(), |token| format!("#{{==:#{{{TIMER}}},{token}}}"));
        let reply = self.call(&["if-shell", "-F", &guard, &arm, ";", "display-message", "-p", &format!("#{{{TIMER}}}")], None, limit)?;
        if reply.ok { Ok(text(&reply.stdout).trim().to_owned()) } else { Err(Failure::Other(reply.stderr)) }
    }

    /// Runs commands of Sidecar's own, such as hooks.
    ///
    /// # Errors
    /// As for any call, and what tmux says of a command that it refuses.
    pub fn source(&self, script: &str, limit: Duration) -> Result<(), Failure> {
        let reply = self.call(&["source-file", "-"], Some(script.as_bytes()), limit)?;
        if reply.ok { Ok(()) } else { Err(Failure::Other(reply.stderr)) }
    }
}

/// What a look asks of tmux, as the words behind its socket: the least that a look can cost.
///
/// # Errors
/// The system gives no random bytes.
pub fn look_argv() -> Result<Vec<String>, Failure> {
    Ok(argv(&Frame::new()?))
}

fn argv(frame: &Frame) -> Vec<String> {
    let mut args: Vec<String> = Vec::new();
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

fn text(field: &[u8]) -> String {
    String::from_utf8_lossy(field).into_owned()
}

fn number<T: std::str::FromStr>(field: &[u8]) -> Option<T> {
    std::str::from_utf8(field).ok()?.parse().ok()
}

fn flag(field: &[u8]) -> bool {
    matches!(field, b"1" | b"on")
}

/// A live id: `$3`, `@3` or `%3`. An empty or malformed target would fall back to the current session without an error.
fn live_id(field: &[u8], sigil: char) -> Option<String> {
    let id = std::str::from_utf8(field).ok()?;
    let digits = id.strip_prefix(sigil)?;
    (!digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())).then(|| id.to_owned())
}

/// Joins the rows. `None` unless every count agrees.
fn assemble(rows: &[Row]) -> Option<Observation> {
    let (head, rest) = rows.split_first()?;
    let (end, rest) = rest.split_last()?;
    if head.kind != 'H' || end.kind != 'E' || head.fields.len() != HEAD.len() || end.fields.first() != head.fields.first() {
        return None;
    }
    let pid: i32 = number(head.fields[0])?;
    let generation =
        Generation { boot: process::boot_id(), pid, start_time: number(head.fields[1])?, process_start: process::start_time(pid) };
    let settings = TmuxSettings { interval: text(head.fields[4]), grace: text(head.fields[5]), timer: text(head.fields[6]) };
    let mut sessions: Vec<SeenSession> = Vec::new();
    let mut place: HashMap<String, usize> = HashMap::new();
    let mut window_place: HashMap<(usize, u32), (usize, usize)> = HashMap::new();
    let mut windows_expected: Vec<usize> = Vec::new();
    let mut default_commands: Vec<String> = Vec::new();
    for row in rest {
        let f = &row.fields;
        match row.kind {
            'S' if f.len() == SESSION.len() => {
                let id = live_id(f[0], '$')?;
                place.insert(id.clone(), sessions.len());
                windows_expected.push(number(f[6])?);
                default_commands.push(text(f[8]));
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
                    panes: Vec::new(),
                });
            }
            'P' if f.len() == PANE.len() => {
                let session = *place.get(&live_id(f[0], '$')?)?;
                let (window, _) = *window_place.get(&(session, number(f[1])?))?;
                let pane = pane(f, &default_commands[session])?;
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

fn pane(f: &[&[u8]], default_command: &str) -> Option<SeenPane> {
    let start_command = unquote(&text(f[11]));
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
        run: (!start_command.is_empty() && start_command != default_command).then_some(start_command),
        dir: if cfg!(target_os = "linux") { None } else { f.get(14).filter(|path| !path.is_empty()).map(|&path| path.into()) },
        logical_dir: osc7_path(f[12]),
        ..SeenPane::default()
    })
}

/// tmux prints a start command of one word with quotes around it; it is kept for people to read.
fn unquote(shown: &str) -> String {
    match shown.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
        Some(inner) if !inner.replace("\\\"", "").contains('"') => inner.replace("\\\"", "\"").replace("\\$", "$").replace("\\\\", "\\"),
        _ => shown.to_owned(),
    }
}

/// The path in what an application reported by OSC 7: `file://HOST/PATH`, percent-encoded, or a bare path.
fn osc7_path(field: &[u8]) -> Option<RawText> {
    let encoded = match field.strip_prefix(b"file://") {
        Some(rest) => &rest[rest.iter().position(|&byte| byte == b'/')?..],
        None => field,
    };
    if encoded.first() != Some(&b'/') {
        return None;
    }
    let mut out = Vec::with_capacity(encoded.len());
    let mut rest = encoded;
    while let Some((&byte, after)) = rest.split_first() {
        let decoded =
            if byte == b'%' { after.get(..2).and_then(|two| u8::from_str_radix(std::str::from_utf8(two).ok()?, 16).ok()) } else { None };
        out.push(decoded.unwrap_or(byte));
        rest = if decoded.is_some() { &after[2..] } else { after };
    }
    Some(out.into())
}

/// Reads from the process table and the file system what tmux can't tell exactly.
fn inspect_session(session: &mut SeenSession) {
    session.path = existing_spelling(&session.path);
    // Only the generation's first session can be a pristine one, and only there does a child matter.
    let may_be_pristine = session.id == "$0" && session.windows.len() == 1 && session.windows[0].panes.len() == 1;
    for pane in session.windows.iter_mut().flat_map(|window| &mut window.panes) {
        inspect_pane(pane, may_be_pristine);
    }
}

fn inspect_pane(pane: &mut SeenPane, may_be_pristine: bool) {
    let reported = pane.logical_dir.take();
    if pane.dead || pane.pid <= 0 {
        return;
    }
    let foreground = process::foreground(pane.pid).unwrap_or(pane.pid);
    let at_prompt = foreground == pane.pid;
    if !at_prompt || pane.run.is_some() {
        pane.argv = process::argv(foreground).unwrap_or_default();
    }
    pane.idle = at_prompt && (!may_be_pristine || process::has_child(pane.pid) == Some(false));
    // A program of another user's hides its directory; the shell below it does not.
    if let Some(dir) = process::directory(foreground).or_else(|| process::directory(pane.pid)) {
        pane.dir = Some(dir.into());
    }
    let Some(dir) = &pane.dir else { return };
    if &pane.start_dir != dir {
        pane.logical_dir = reported
            .into_iter()
            .chain([pane.start_dir.clone(), unvis(&pane.start_dir)])
            .chain(process::logical_directory(foreground).map(RawText::from))
            .find(|path| path != dir && leads_to(path.as_path(), dir.as_path()));
    }
}

fn leads_to(path: &Path, dir: &Path) -> bool {
    path.is_absolute() && fs_err::canonicalize(path).is_ok_and(|real| real == dir)
}

/// Some versions (3.5) print bytes of a path as `\377`; the spelling that exists is the right one.
fn existing_spelling(path: &RawText) -> RawText {
    let plain = unvis(path);
    if plain != *path && !path.as_path().exists() && plain.as_path().exists() { plain } else { path.clone() }
}

fn unvis(path: &RawText) -> RawText {
    match std::str::from_utf8(path.as_bytes()) {
        Ok(shown) if shown.contains('\\') => quote::name_from_shown(shown).into(),
        _ => path.clone(),
    }
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

    #[test]
    fn start_commands_lose_the_quotes_that_tmux_puts_round_one_word() {
        assert_eq!(unquote(r#""sleep 1000""#), "sleep 1000");
        assert_eq!(unquote(r#"sleep "a b""#), r#"sleep "a b""#);
        assert_eq!(unquote(r#""a b" "c d""#), r#""a b" "c d""#);
        assert_eq!(unquote(""), "");
    }

    #[test]
    fn reported_directories_are_decoded() {
        assert_eq!(osc7_path(b"file://host/a%20b/%c3%a9"), Some("/a b/é".into()));
        assert_eq!(osc7_path(b"/plain%"), Some("/plain%".into()));
        for none in [&b""[..], b"relative", b"file://host"] {
            assert_eq!(osc7_path(none), None);
        }
    }
}
