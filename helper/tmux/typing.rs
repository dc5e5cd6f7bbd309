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
    /// Whether it is keys, rather than a text that a program which knows pastes is to take as one.
    pub keys: bool,
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
pub(super) const TAKES_TEXT: &str = "#{?#{||:#{pane_in_mode},#{||:#{pane_dead},#{pane_input_off}}},0,1}";

/// Why a line was not run in a pane: a stable `snake_case` word, and words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotRun(pub &'static str, pub String);

impl From<Failure> for NotRun {
    fn from(failure: Failure) -> Self {
        Self("no_answer", failure.to_string())
    }
}

/// What prompts end with. A line that ends otherwise may hold what the user has begun to type.
const PROMPT_ENDS: &[char] = &['$', '#', '%', '>', '❯', '➜', '»', 'λ', '›', '▶', '→', '⟩'];

/// How long a shell may take to show what was typed.
const ECHO_LIMIT: Duration = Duration::from_secs(3);

impl Server {
    /// Runs a line in a shell that sits idle at its prompt. That is proved first: what tmux started there is a shell, in front of its
    /// terminal, which reads as a prompt does; and the line is seen to stand there before Enter is pressed.
    ///
    /// # Errors
    /// It was not run, and why; then nothing is left of it at the prompt.
    #[expect(clippy::disallowed_methods, reason = "nothing tells when a shell has drawn what was typed")]
    pub fn run_at_prompt(&self, generation: &Generation, version: Version, pane: &str, line: &str, limit: Duration) -> Result<(), NotRun> {
        let busy = |why: &str| NotRun("pane_busy", why.to_owned());
        let Some(now) = self.pane_now(pane, limit)? else { return Err(busy("its pane is gone")) };
        if let Some(why) = now.refuses {
            return Err(busy(why));
        }
        if !is_idle_shell(&now) {
            return Err(busy("its pane runs something else"));
        }
        let before = self.before_cursor(pane, limit)?;
        if !before.trim_end().ends_with(PROMPT_ENDS) {
            return Err(NotRun("no_prompt", "no empty prompt is seen in its pane".to_owned()));
        }
        let typing = Typing { generation, version, pane, text: line, enter: false, keys: false };
        if !self.type_text(&typing, limit)? {
            return Err(busy("its pane takes no text"));
        }
        let stands_behind = |shown: &str| shown.strip_suffix(line).is_some_and(|rest| rest.trim_end() == before.trim_end());
        let deadline = Instant::now() + ECHO_LIMIT;
        while !stands_behind(&self.before_cursor(pane, limit)?) {
            if Instant::now() >= deadline {
                // Nothing stood there before, so Ctrl-C gives up no more than what a line editor has made of it.
                self.type_text(&Typing { text: "\u{3}", keys: true, ..typing }, limit)?;
                return Err(NotRun("no_prompt", "its pane does not take text as a prompt does".to_owned()));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        self.type_text(&Typing { text: "\r", keys: true, ..typing }, limit)?;
        Ok(())
    }

    fn before_cursor(&self, pane: &str, limit: Duration) -> Result<String, Failure> {
        let format = "#{cursor_x} #{cursor_y} #{pane_width}";
        let reply = self.call(&["display-message", "-p", "-t", pane, format, ";", "capture-pane", "-p", "-t", pane], None, limit)?;
        let text = String::from_utf8_lossy(&reply.stdout);
        let mut lines = text.lines();
        let numbers: Vec<usize> = lines.next().unwrap_or_default().split(' ').filter_map(|word| word.parse().ok()).collect();
        let [x, y, width] = numbers[..] else { return Err(Failure::Other(format!("the pane {pane} is gone"))) };
        Ok(before_cursor(&lines.collect::<Vec<_>>(), x, y, width))
    }

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
        let refuses = refusal(dead, mode, off);
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
        let bracketed = if typing.keys { "" } else { "-p " };
        let mut paste = format!("paste-buffer -d {bracketed}-r {as_it_is}-b {text} -t {pane} ; ");
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

/// Why a pane takes no text, by its flags.
pub(super) fn refusal(dead: &str, mode: &str, off: &str) -> Option<&'static str> {
    match (dead, mode, off) {
        ("1", _, _) => Some("its program has ended"),
        (_, "1", _) => Some("it is in copy mode"),
        (_, _, "1") => Some("its input is switched off"),
        _ => None,
    }
}

/// Whether what tmux started in the pane is a shell that waits at its prompt.
fn is_idle_shell(now: &PaneNow) -> bool {
    let Some((in_front, forked)) = process::foreground(now.pid) else { return false };
    if forked || !(in_front == now.pid || process::is_shell_of_line(now.pid, in_front)) {
        return false;
    }
    let argv = process::argv(in_front).filter(|argv| !super::is_launching(argv));
    let name = argv.and_then(|argv| Some(argv.first()?.as_path().file_name()?.to_string_lossy().into_owned()));
    let (Some(name), Some(reads_lines)) = (name, process::reads_lines(&now.tty)) else { return false };
    // One without a line editor waits in a read, as one that runs a builtin does; it is told by its own name.
    let plain = ["sh", "dash", "ash", "ksh", "mksh"].contains(&name.trim_start_matches('-'));
    is_shell(&name) && (!reads_lines || (plain && process::has_child(in_front) == Some(false)))
}

/// Whether a program of this name is a shell that people sit at; a login shell has a dash before it.
pub fn is_shell(name: &str) -> bool {
    const SHELLS: &[&str] = &["sh", "ash", "bash", "dash", "zsh", "fish", "ksh", "mksh", "tcsh", "csh", "nu", "elvish", "xonsh"];
    SHELLS.contains(&name.trim_start_matches('-'))
}

/// What stands before the cursor in its line, with the full lines above that it goes on from.
fn before_cursor(lines: &[&str], x: usize, y: usize, width: usize) -> String {
    let columns = |line: &str| line.chars().map(columns_of).sum::<usize>();
    let mut from = y.min(lines.len());
    while from > 0 && y > from - 1 && columns(lines[from - 1]) >= width {
        from -= 1;
    }
    let mut out: String = lines[from..y.min(lines.len())].concat();
    let mut room = x;
    for c in lines.get(y).unwrap_or(&"").chars() {
        if room < columns_of(c) || room == 0 {
            break;
        }
        room -= columns_of(c);
        out.push(c);
    }
    out.extend(std::iter::repeat_n(' ', room));
    out
}

fn columns_of(c: char) -> usize {
    unicode_width::UnicodeWidthChar::width(c).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_before_the_cursor_goes_on_over_full_lines() {
        let lines = ["motd", "~/日本 $ sideca", "r agent", ""];
        assert_eq!(before_cursor(&lines, 9, 1, 80), "~/日本 $ ");
        assert_eq!(before_cursor(&lines, 7, 2, 15), "~/日本 $ sidecar agent");
        assert_eq!(before_cursor(&lines, 7, 2, 16), "r agent");
        // tmux gives lines without the spaces at their end.
        assert_eq!(before_cursor(&["$"], 2, 0, 80), "$ ");
        assert_eq!(before_cursor(&[], 2, 5, 80), "  ");
    }
}
