//! Text into a pane, byte for byte, as a paste: `send-keys` breaks at a last `;`, takes a word like `Enter` for a key, and types into
//! every pane of a synchronized window.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use super::client::Failure;
use super::server::Server;
use super::version::Version;
use crate::agents::process;
use crate::model::Generation;

/// What is to be typed.
#[derive(Clone, Copy, Debug)]
pub struct Typing<'a> {
    /// The life of the server that the pane is of.
    pub generation: &'a Generation,
    /// The server's version.
    pub version: Version,
    /// `%3`.
    pub pane: &'a str,
    /// Without control characters but tabs and line breaks.
    pub text: &'a str,
    /// Whether Enter follows.
    pub enter: bool,
}

/// A pane as it is now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PaneNow {
    /// Its terminal.
    pub tty: PathBuf,
    /// The process that tmux started in it.
    pub pid: i32,
    /// Where the cursor stands; `0.0` before anything was drawn.
    pub cursor: String,
    /// Why it takes no text, if it takes none.
    pub refuses: Option<&'static str>,
}

/// A shell without a line editor that has drawn nothing for so long, and runs nothing, stands at its prompt.
const QUIET: Duration = Duration::from_millis(300);

/// 1 while a pane takes text.
const TAKES_TEXT: &str = "#{?#{||:#{pane_in_mode},#{||:#{pane_dead},#{pane_input_off}}},0,1}";

impl Server {
    /// Asks of one pane; `None` if it is gone.
    ///
    /// # Errors
    /// As for any call.
    pub fn pane_now(&self, pane: &str, limit: Duration) -> Result<Option<PaneNow>, Failure> {
        let format = "#{?pane_dead,1,0} #{?pane_in_mode,1,0} #{?pane_input_off,1,0} #{cursor_x}.#{cursor_y} #{pane_pid} #{pane_tty}";
        let reply = self.call(&["display-message", "-p", "-t", pane, format], None, limit)?;
        let said = String::from_utf8_lossy(&reply.stdout).into_owned();
        let fields: Vec<&str> = said.trim_end().splitn(6, ' ').collect();
        let [dead, mode, off, cursor, pid, tty] = *fields.as_slice() else { return Ok(None) };
        // Of a pane that is gone the fields are empty.
        if tty.is_empty() {
            return Ok(None);
        }
        let refuses = match (dead, mode, off) {
            ("1", _, _) => Some("its program has ended"),
            (_, "1", _) => Some("it is in copy mode"),
            (_, _, "1") => Some("its input is switched off"),
            _ => None,
        };
        Ok(Some(PaneNow { tty: tty.into(), pid: pid.parse().unwrap_or(0), cursor: cursor.to_owned(), refuses }))
    }

    /// Waits for the prompt of a shell that was just started; `false` if none comes in time.
    ///
    /// # Errors
    /// As for any call, and a pane that is gone.
    #[expect(clippy::disallowed_methods, reason = "nothing tells when a shell has drawn its prompt")]
    pub fn wait_for_prompt(&self, pane: &str, limit: Duration) -> Result<bool, Failure> {
        let deadline = Instant::now() + limit;
        let mut drawn = (String::new(), Instant::now());
        while Instant::now() < deadline {
            let Some(now) = self.pane_now(pane, limit)?.filter(|now| now.refuses.is_none()) else {
                return Err(Failure::Other("its shell ended at once".to_owned()));
            };
            match process::reads_lines(&now.tty) {
                // A line editor reads each key: fish, zsh and bash at their prompt.
                // What a start-up file runs, an editor or a pager, reads keys too, and stands in front of the shell.
                Some(false) if now.cursor != "0.0" && process::foreground(now.pid).is_some_and(|(leader, _)| leader == now.pid) => {
                    return Ok(true);
                }
                Some(false) if now.cursor != "0.0" => {}
                // A plain shell waits in a read; its start-up files may print, and run programs.
                _ if now.cursor == "0.0" || process::has_child(now.pid) != Some(false) => drawn.1 = Instant::now(),
                _ if now.cursor != drawn.0 => drawn = (now.cursor, Instant::now()),
                _ if drawn.1.elapsed() >= QUIET => return Ok(true),
                _ => {}
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(false)
    }

    /// Types into a pane, or gives `false` where it takes no text at that moment.
    ///
    /// # Errors
    /// As for any call, and a pane that is gone.
    pub fn type_text(&self, typing: &Typing, limit: Duration) -> Result<bool, Failure> {
        let unique = getrandom::u64().map_err(|error| Failure::Other(format!("no random bytes: {error}")))?;
        let (text, enter) = (format!("sidecar-{unique:016x}"), format!("sidecar-{unique:016x}-enter"));
        let pane = typing.pane;
        // From 3.7 a paste is escaped unless it is asked for as it is.
        let as_it_is = if typing.version >= Version::new(3, 7) { "-S " } else { "" };
        // Line breaks stay what they are (`-r`), and are no Enter where the program takes bracketed pastes (`-p`).
        let mut paste = format!("paste-buffer -d -p -r {as_it_is}-b {text} -t {pane} ; ");
        if typing.enter {
            paste.push_str(&format!("paste-buffer -d -r {as_it_is}-b {enter} -t {pane} ; "));
        }
        paste.push_str("display-message -p sent");
        let guard = format!("#{{&&:#{{==:#{{pid}},{}}},{TAKES_TEXT}}}", typing.generation.pid);
        let mut words = vec!["load-buffer", "-b", &text, "-", ";"];
        if typing.enter {
            words.extend(["set-buffer", "-b", &enter, "\r", ";"]);
        }
        words.extend(["if-shell", "-F", "-t", pane, &guard, &paste]);
        let reply = self.call(&words, Some(typing.text.as_bytes()), limit);
        let sent = reply.as_ref().is_ok_and(|reply| reply.stdout.trim_ascii() == b"sent");
        if !sent {
            for buffer in [&text, &enter] {
                let _ = self.call(&["delete-buffer", "-b", buffer], None, limit);
            }
        }
        let reply = reply?;
        if reply.ok { Ok(sent) } else { Err(Failure::Other(reply.stderr)) }
    }
}
