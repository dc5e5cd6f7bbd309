//! What tmux can't tell exactly: read from the process table and the file system.

use std::path::Path;

use super::{quote, start_command};
use crate::agents::process;
use crate::model::{RawText, SeenPane, SeenSession};

/// The path in what an application reported by OSC 7: `file://HOST/PATH`, percent-encoded, or a bare path.
pub(super) fn osc7_path(field: &[u8]) -> Option<RawText> {
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
/// Reads, anew each time, what runs in a session's panes and where.
pub fn session(session: &mut SeenSession) {
    session.path = existing_spelling(&session.path);
    // Only the generation's first session can be a pristine one, and only there does a child matter.
    let may_be_pristine = session.id == "$0" && session.windows.len() == 1 && session.windows[0].panes.len() == 1;
    for pane in session.windows.iter_mut().flat_map(|window| &mut window.panes) {
        self::pane(pane, may_be_pristine);
    }
}

fn pane(pane: &mut SeenPane, may_be_pristine: bool) {
    let reported = pane.logical_dir.take();
    if pane.run.is_some() {
        pane.start_dir = existing_spelling(&pane.start_dir);
    }
    if pane.dead || pane.pid <= 0 {
        return;
    }
    let (foreground, copy) = process::foreground(pane.pid).unwrap_or((pane.pid, false));
    let is_own = foreground == pane.pid;
    let at_prompt = is_own || (pane.run.is_none() && process::is_shell_of_line(pane.pid, foreground));
    // A subshell that the user runs in front is one for good.
    let copy = copy && is_own;
    if pane.launching {
        pane.launching = copy || process::argv(pane.pid).is_none_or(|argv| start_command::is_launching(&argv));
    }
    if !at_prompt || pane.run.is_some() {
        pane.argv = process::argv(foreground).unwrap_or_default();
        pane.foreground = process::run_by(foreground);
    }
    pane.idle = at_prompt && (!may_be_pristine || process::has_child(foreground) == Some(false));
    // A program of another user's hides its directory; the shell below it does not.
    if let Some(dir) = process::directory(foreground).or_else(|| process::directory(pane.pid)).filter(|_| !copy) {
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
    fn reported_directories_are_decoded() {
        assert_eq!(osc7_path(b"file://host/a%20b/%c3%a9"), Some("/a b/é".into()));
        assert_eq!(osc7_path(b"/plain%"), Some("/plain%".into()));
        for none in [&b""[..], b"relative", b"file://host"] {
            assert_eq!(osc7_path(none), None);
        }
    }
}
