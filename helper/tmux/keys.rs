//! One key into a pane, and the screen that it is pressed for.

use std::time::Duration;

use super::client::Failure;
use super::quote;
use super::server::Server;
use super::typing::{TAKES_TEXT, refusal};
use crate::model::Screen;

/// What a pane shows at this moment, and by what it is known when a key is pressed in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Visible {
    /// The server's pid.
    pub server: i32,
    /// The process that tmux started in it.
    pub pid: i32,
    /// Why it takes no key, if it takes none.
    pub refuses: Option<&'static str>,
    /// What the program in it shows, without the history, also while the user looks at that.
    pub screen: Screen,
}

impl Server {
    /// What a pane shows; `None` if it is gone.
    ///
    /// # Errors
    /// As for any call.
    pub fn visible(&self, pane: &str, limit: Duration) -> Result<Option<Visible>, Failure> {
        let format = "#{pid} #{pane_pid} #{?pane_dead,1,0} #{?pane_in_mode,1,0} #{?pane_input_off,1,0}";
        let words = ["display-message", "-p", "-t", pane, format, ";", "capture-pane", "-p", "-J", "-t", pane];
        let reply = self.call(&words, None, limit)?;
        let text = String::from_utf8_lossy(&reply.stdout);
        let mut lines = text.lines();
        let fields: Vec<&str> = lines.next().unwrap_or_default().split(' ').collect();
        // Of a pane that is gone the fields are empty, and there is nothing to capture.
        let [server, pid, dead, mode, off] = fields[..] else { return Ok(None) };
        let (Ok(server), Ok(pid), true) = (server.parse(), pid.parse(), reply.ok) else { return Ok(None) };
        let mut screen: Screen = lines.map(|line| line.trim_end().to_owned()).collect();
        while screen.last().is_some_and(String::is_empty) {
            screen.pop();
        }
        Ok(Some(Visible { server, pid, refuses: refusal(dead, mode, off), screen }))
    }

    /// Presses the key of a digit in a pane that was seen, while it still shows `shown`; `false` if it does no more, or takes no key.
    /// Nobody else gets it, in a synchronized window neither: it goes as a paste, as text does.
    ///
    /// # Errors
    /// As for any call.
    pub fn press_digit(&self, pane: &str, seen: &Visible, digit: u8, shown: &str, limit: Duration) -> Result<bool, Failure> {
        let unique = getrandom::u64().map_err(|error| Failure::Other(format!("no random bytes: {error}")))?;
        let buffer = format!("sidecar-{unique:016x}");
        let same = format!("#{{&&:#{{==:#{{pid}},{}}},#{{==:#{{pane_pid}},{}}}}}", seen.server, seen.pid);
        let guard = format!("#{{&&:{same},#{{&&:{TAKES_TEXT},#{{C:{}}}}}}}", pattern(shown));
        let paste = format!("paste-buffer -d -r -b {buffer} -t {pane} ; display-message -p sent");
        let script = format!(
            "set-buffer -b {buffer} {} ; if-shell -F -t {pane} {} {{ {paste} }} {{ delete-buffer -b {buffer} }}\n",
            digit % 10,
            quote::arg(guard.as_bytes())
        );
        let reply = self.call(&["source-file", "-"], Some(script.as_bytes()), limit)?;
        Ok(reply.stdout.trim_ascii() == b"sent")
    }
}

/// A pattern for `#{C:}` that this text fits, whatever it holds.
fn pattern(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            _ if c.is_ascii_alphanumeric() || c == ' ' => out.push(c),
            // Whether it is one character to the matcher depends on the server's locale.
            _ if !out.ends_with('*') => out.push('*'),
            _ => {}
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::pattern;

    #[test]
    fn nothing_in_a_shown_text_is_read_as_a_format_or_a_pattern() {
        assert_eq!(pattern("2. Resume full session as-is"), "2* Resume full session as*is");
        assert_eq!(pattern("1. #{a},[x]?é: b\\"), "1* *a*x* b*");
    }
}
