//! Text into a shell's pane, as if it was typed there.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use super::open::{live_session, session_named};
use super::target::{First, Target, find, no_target};
use super::{CALL_LIMIT, Shells};
use crate::agents::process;
use crate::error::{Error, Exit, Result};
use crate::model::{NoTarget, Observation, SeenPane, SeenSession, SeenWindow, State};
use crate::record::ANSWER_LIMIT;
use crate::tmux::{Failure, PaneNow, Purpose, Typing, Version};

/// A terminal that edits lines by itself cuts what is longer, in bytes (Linux: 4,096 with the line break).
const LONGEST_LINE: usize = 4095;

/// What is sent.
#[derive(Clone, Copy, Debug)]
pub enum Text<'a> {
    /// Typed, and Enter pressed once.
    Run(&'a str),
    /// Typed.
    Type(&'a str),
}

impl<'a> Text<'a> {
    fn as_str(self) -> &'a str {
        match self {
            Self::Run(text) | Self::Type(text) => text,
        }
    }

    /// Refuses what would drive the program in the pane rather than be its input: an escape can end a bracketed paste, and what
    /// follows is run.
    pub(super) fn check(self) -> Result<()> {
        let wrong = |why: String| Err(Error::failed("bad_text", why).exit(Exit::Usage));
        if self.as_str().is_empty() {
            return wrong("there is nothing to send".to_owned());
        }
        for (at, c) in self.as_str().char_indices().filter(|(_, c)| c.is_control() && *c != '\t') {
            match (self, c) {
                (Self::Run(_), '\n') => {}
                (Self::Type(_), '\n' | '\r') => {
                    return wrong(format!("--type takes one line, and there is a line break at byte {at}: --run sends several"));
                }
                _ => {
                    return wrong(format!(
                        "the text holds the control character {} at byte {at}: only tabs can be sent",
                        c.escape_default()
                    ));
                }
            }
        }
        Ok(())
    }
}

/// Where text went.
#[derive(Clone, Debug)]
pub struct Sent {
    /// The session's name.
    pub session: String,
    /// The pane, as tmux numbers it: `window.pane`.
    pub place: String,
    /// Its live id.
    pub pane: String,
}

/// What a target of a pane means in what lives.
struct Meant<'a> {
    session: &'a SeenSession,
    window: &'a SeenWindow,
    pane: &'a SeenPane,
}

impl Shells<'_> {
    /// Types into the shell's active pane, or into that of `T:WINDOW.PANE`, exactly this text.
    ///
    /// # Errors
    /// A text that can't be sent (exit 2), no such shell or pane (3), a shell that does not run, or a pane that takes no text now (5);
    /// tmux fails.
    pub fn send(&self, target: &OsStr, text: Text) -> Result<Sent> {
        text.check()?;
        let state = self.store.load()?.state;
        let answer = self.server.look(Purpose::Find, ANSWER_LIMIT);
        if let Ok(seen) = &answer {
            self.server.check_is_ours(seen.generation.pid)?;
        }
        let meant = self.pane_meant(&state, answer.as_ref(), target)?;
        let Ok(seen) = &answer else { return Err(no_target(&self.server.display_name(), target, &NoTarget::Unknown(None))) };
        let place = format!("{}.{}", meant.window.index, meant.pane.index);
        let name = format!("{}:{place}", meant.session.name);
        let now = self.pane_now(&meant.pane.id, &name)?;
        let longest = text.as_str().split('\n').map(str::len).max().unwrap_or(0);
        if longest > LONGEST_LINE && process::reads_lines(&now.tty) == Some(true) {
            let why =
                format!("cannot type into {name}: its program reads lines of {LONGEST_LINE} bytes at most, and this one has {longest}");
            return Err(Error::failed("line_too_long", why)
                .exit(Exit::Refused)
                .hint("nothing was typed; send it in shorter lines, or as a file"));
        }
        let typing = Typing {
            generation: &seen.generation,
            version: Version::parse(&seen.version),
            pane: &meant.pane.id,
            text: text.as_str(),
            enter: matches!(text, Text::Run(_)),
            keys: false,
        };
        match self.server.type_text(&typing, CALL_LIMIT) {
            Ok(true) => Ok(Sent { session: meant.session.name.clone(), place, pane: meant.pane.id.clone() }),
            Ok(false) => {
                // It changed since it was asked.
                self.pane_now(&meant.pane.id, &name)?;
                Err(refused(&name, "it takes no text at the moment"))
            }
            Err(failure) => Err(Error::failed("tmux", format!("cannot type into {name}: {failure}"))),
        }
    }

    fn pane_now(&self, pane: &str, name: &str) -> Result<PaneNow> {
        let failed = |failure: Failure| Error::failed("tmux", format!("cannot type into {name}: {failure}"));
        let now = self.server.pane_now(pane, CALL_LIMIT).map_err(failed)?;
        let now = now.ok_or_else(|| Error::failed("no_such_pane", format!("the pane {name} ended meanwhile")).exit(Exit::NoTarget))?;
        now.refuses.map_or(Ok(now.clone()), |why| Err(refused(name, why)))
    }

    /// The pane that `T` or `T:WINDOW.PANE` means. A name may hold colons, so the whole is tried first.
    fn pane_meant<'o>(&self, state: &State, answer: std::result::Result<&'o Observation, &Failure>, target: &OsStr) -> Result<Meant<'o>> {
        let bytes = target.as_bytes();
        let colons = (0..bytes.len()).rev().filter(|&at| bytes[at] == b':');
        let mut why = None;
        for end in std::iter::once(bytes.len()).chain(colons) {
            let name = OsStr::from_bytes(&bytes[..end]);
            let session = match find(state, name, First::Recorded) {
                Ok(found) => self.session_of(found, answer)?,
                Err(several @ NoTarget::Several(_)) => return Err(no_target(&self.server.display_name(), name, &several)),
                Err(unknown) => match session_named(answer.ok(), name) {
                    Some(session) => session,
                    None => {
                        why.get_or_insert_with(|| no_target(&self.server.display_name(), target, &unknown));
                        continue;
                    }
                },
            };
            let place = bytes.get(end + 1..).map(String::from_utf8_lossy);
            return pane_at(session, place.as_deref()).map_err(|why| {
                Error::failed("no_such_pane", format!("no pane '{}' in '{}'", place.unwrap_or_default(), session.name))
                    .exit(Exit::NoTarget)
                    .hint(why)
            });
        }
        Err(why.unwrap_or_else(|| no_target(&self.server.display_name(), target, &NoTarget::Unknown(None))))
    }

    fn session_of<'o>(&self, target: Target, answer: std::result::Result<&'o Observation, &Failure>) -> Result<&'o SeenSession> {
        let shell = match target {
            Target::Recorded(shell) => shell,
            Target::Forgotten(tombstone) => &tombstone.shell,
        };
        if let Err(failure) =
            answer.as_ref().err().filter(|failure| ***failure != Failure::NoServer).map_or(Ok(()), |failure| Err(*failure))
        {
            return Err(Error::failed("no_answer", format!("the tmux server at {}: {failure}", self.server.socket().display())));
        }
        let seen = answer.ok();
        let live = live_session(shell, seen);
        seen.into_iter().flat_map(|seen| &seen.sessions).find(|session| Some(session.id.as_str()) == live).ok_or_else(|| {
            let error = Error::failed("not_running", format!("cannot type into '{}': it does not run", shell.name)).exit(Exit::Refused);
            match target {
                Target::Recorded(_) => error.hint(format!("`sidecar session restore --shell {}` makes it again", shell.id)),
                Target::Forgotten(_) => error.hint(format!("it is forgotten: `sidecar shell restore {}` brings its record back", shell.id)),
            }
        })
    }
}

fn refused(name: &str, why: &str) -> Error {
    Error::failed("takes_no_text", format!("cannot type into {name}: {why}")).exit(Exit::Refused).hint("nothing was typed")
}

/// The pane at `WINDOW.PANE` or in `WINDOW`, else the active one. A window is named by its index, its id or its name; a pane by its
/// index or its id. The error says which there are.
fn pane_at<'a>(session: &'a SeenSession, place: Option<&str>) -> std::result::Result<Meant<'a>, String> {
    let Some(place) = place else {
        let window = session.windows.iter().find(|window| window.active).or(session.windows.first());
        return window.and_then(|window| active(session, window)).ok_or_else(|| "it has no pane".to_owned());
    };
    if let Some((window, pane)) = place.rsplit_once('.') {
        if let Some(window) = window_at(session, window) {
            let is = |other: &&SeenPane| other.id == pane || pane.parse() == Ok(other.index);
            let found = window.panes.iter().find(is).map(|pane| Meant { session, window, pane });
            let panes: Vec<String> = window.panes.iter().map(|pane| pane.index.to_string()).collect();
            return found.ok_or_else(|| format!("the window {} has the panes {}", window.index, panes.join(", ")));
        }
    }
    let windows: Vec<String> = session.windows.iter().map(|window| window.index.to_string()).collect();
    window_at(session, place).and_then(|window| active(session, window)).ok_or_else(|| format!("it has the windows {}", windows.join(", ")))
}

fn window_at<'a>(session: &'a SeenSession, text: &str) -> Option<&'a SeenWindow> {
    let by_index = session.windows.iter().find(|window| text.parse() == Ok(window.index));
    let by_id = || session.windows.iter().find(|window| window.id == text);
    let mut named = session.windows.iter().filter(|window| window.name == text);
    by_index.or_else(by_id).or_else(|| named.next().filter(|_| named.next().is_none()))
}

fn active<'a>(session: &'a SeenSession, window: &'a SeenWindow) -> Option<Meant<'a>> {
    let pane = window.panes.iter().find(|pane| pane.active).or(window.panes.first())?;
    Some(Meant { session, window, pane })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_drive_the_program_is_no_text() {
        for good in ["x", "a\tb", "-x;", "Enter", "日本", "'\"$(x)`"] {
            assert!(Text::Type(good).check().is_ok() && Text::Run(good).check().is_ok(), "{good:?}");
        }
        assert!(Text::Run("a\nb").check().is_ok());
        for bad in ["", "\x1b[201~x", "a\rb", "\0", "\x7f", "\u{9b}x", "a\r\nb"] {
            assert_eq!(Text::Run(bad).check().unwrap_err().exit, Exit::Usage, "{bad:?}");
        }
        assert_eq!(Text::Type("a\nb").check().unwrap_err().exit, Exit::Usage);
    }

    #[test]
    fn a_pane_is_named_by_window_and_pane() {
        let pane = |index: u32, active| SeenPane { id: format!("%{index}"), index, active, ..SeenPane::default() };
        let window = |index: u32, name: &str, active| SeenWindow {
            id: format!("@{index}"),
            index,
            name: name.into(),
            active,
            panes: vec![pane(0, false), pane(1, true)],
            ..SeenWindow::default()
        };
        let windows = vec![window(0, "2", false), window(2, "2foo", true), window(3, "a.b", false), window(4, "a.b", false)];
        let session = SeenSession { windows, ..SeenSession::default() };
        let at = |place: Option<&str>| pane_at(&session, place).map(|meant| format!("{}.{}", meant.window.index, meant.pane.index));
        for (place, found) in [(None, "2.1"), (Some("0.0"), "0.0"), (Some("2"), "2.1"), (Some("2foo.0"), "2.0"), (Some("@3.%0"), "3.0")] {
            assert_eq!(at(place).as_deref(), Ok(found), "{place:?}");
        }
        assert_eq!(at(Some("0.7")), Err("the window 0 has the panes 0, 1".to_owned()));
        for none in ["a.b", "", ".", "1.0", "9"] {
            assert_eq!(at(Some(none)), Err("it has the windows 0, 2, 3, 4".to_owned()), "{none}");
        }
    }
}
