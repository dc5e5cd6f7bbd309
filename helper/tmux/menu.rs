//! What is shown to a client: messages, menus, a line to type a name in.

use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;
use std::sync::mpsc;
use std::time::Duration;

use super::client::Failure;
use super::clients::SeenClient;
use super::quote::{arg, double_hash, repeat_hashes};
use super::server::Server;
use super::version::Version;

/// A menu that was not drawn is over at once; one that was, on tmux before 3.8, holds up the commands behind it until it is closed.
const AT_ONCE: Duration = Duration::from_millis(10);

/// Columns that a menu's frame takes.
pub const MENU_FRAME: usize = 4;

/// One line of a menu.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Item {
    /// A line across.
    Rule,
    /// What can't be chosen; shown grey.
    Inert(String),
    /// What can be.
    Choice {
        /// Its text.
        text: String,
        /// Its key.
        key: Option<char>,
        /// The tmux commands that it runs; none closes the menu.
        commands: String,
    },
}

/// A menu.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Menu {
    /// Its title.
    pub title: String,
    /// Its lines.
    pub items: Vec<Item>,
}

/// Whether a menu can be seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Drawn {
    /// It can.
    Yes,
    /// It can't: another menu or a popup is open.
    No,
    /// This tmux does not tell.
    Unknown,
}

impl Server {
    /// Draws a menu in the middle of a client. It must fit: tmux draws none that does not, and says nothing.
    ///
    /// # Errors
    /// The client is gone, or the server does not answer.
    pub fn show_menu(&self, client: &SeenClient, menu: &Menu, limit: Duration) -> Result<Drawn, Failure> {
        let script = format!("display-message -p begun\n{} ; display-message -p \"over #{{version}}\"\n", menu_command(client, menu));
        let mut child = self
            .command(&["-S".as_ref(), self.socket().as_os_str(), "source-file".as_ref(), "-".as_ref()])?
            .stdin(Stdio::piped())
            .spawn()
            .map_err(|error| Failure::Other(error.to_string()))?;
        if let Some(mut stdin) = child.stdin.take() {
            stdin.write_all(script.as_bytes()).map_err(|error| Failure::Other(error.to_string()))?;
        }
        let (sender, receiver) = mpsc::channel();
        let stdout = child.stdout.take();
        std::thread::spawn(move || {
            let lines = stdout.map(BufReader::new).into_iter().flat_map(BufReader::lines).map_while(std::io::Result::ok);
            lines.take(2).all(|line| sender.send(line).is_ok())
        });
        // The client itself is left to wait as long as the menu stands.
        match receiver.recv_timeout(limit) {
            Ok(line) if line == "begun" => {}
            Err(mpsc::RecvTimeoutError::Timeout) => return Err(Failure::Timeout),
            _ => return Err(Failure::Other(last_words(child))),
        }
        match receiver.recv_timeout(AT_ONCE) {
            Ok(line) if Version::parse(line.trim_start_matches("over ")) < Version::new(3, 8) => Ok(Drawn::No),
            Ok(_) => Ok(Drawn::Unknown),
            Err(mpsc::RecvTimeoutError::Timeout) => Ok(Drawn::Yes),
            // It went on no further: the menu was refused.
            Err(mpsc::RecvTimeoutError::Disconnected) => Err(Failure::Other(last_words(child))),
        }
    }

    /// Shows a line in a client's status line: until a key is pressed, or for that long.
    ///
    /// # Errors
    /// The client is gone, or the server does not answer.
    pub fn show_message(&self, client: &str, text: &str, time: Duration) -> Result<(), Failure> {
        self.source(&format!("{}\n", message_command(Some(client), text, time)), Duration::from_secs(5))
    }
}

/// What a client that has ended said.
fn last_words(child: std::process::Child) -> String {
    let said = child.wait_with_output().map(|output| String::from_utf8_lossy(&output.stderr).trim().to_owned());
    said.ok().filter(|said| !said.is_empty()).unwrap_or_else(|| "tmux refused it".to_owned())
}

/// The command that shows a message to a client, else to the one that the command is about.
pub fn message_command(client: Option<&str>, text: &str, time: Duration) -> String {
    let client = client.map(|name| format!("-c {} ", arg(name.as_bytes()))).unwrap_or_default();
    format!("display-message {client}-d {} {}", time.as_millis(), arg(&message_text(text)))
}

fn menu_command(client: &SeenClient, menu: &Menu) -> String {
    // 3.8 goes by the target, and shows it to every client of that session.
    let mut command = format!(
        "display-menu -c {} -t {} -T {} -x C -y C --",
        arg(client.name.as_bytes()),
        arg(format!("{}:", client.session).as_bytes()),
        arg(&menu_text(&menu.title))
    );
    for item in &menu.items {
        match item {
            Item::Rule => command.push_str(" \"\""),
            // An empty key and an empty command; the dash greys it out.
            Item::Inert(text) => command.push_str(&format!(" {} \"\" \"\"", arg(&[b"-", menu_text(text).as_slice()].concat()))),
            Item::Choice { text, key, commands } => {
                let key = key.map(String::from).unwrap_or_default();
                // A dash would make it inert.
                let text = if text.starts_with('-') { &format!(" {text}") } else { text };
                command.push_str(&format!(" {} {} {}", arg(&menu_text(text)), arg(key.as_bytes()), arg(&double_hash(commands.as_bytes()))));
            }
        }
    }
    command
}

/// How many bytes tmux counts of a line.
pub fn menu_length(text: &str) -> usize {
    // As it is after its formats were expanded.
    text.len() + text.bytes().filter(|&byte| byte == b'#').count()
}

/// Text as a menu shows it as it is. It is expanded as a format, then drawn, where `#[` begins a style: a run of `#` before `[`
/// passes the first and is halved by the second, any other is halved by both. A style follows the end of the text.
fn menu_text(text: &str) -> Vec<u8> {
    repeat_hashes(text.as_bytes(), 2, 4)
}

/// The same for a message, whose text is a time format first.
fn message_text(text: &str) -> Vec<u8> {
    menu_text(&text.replace('%', "%%"))
}

/// What a line to type in asks for.
#[derive(Clone, Debug)]
pub struct Prompt<'a> {
    /// Shown before the line; plain text without commas, which tmux takes for several prompts.
    pub label: &'a str,
    /// What stands in the line.
    pub present: &'a str,
    /// Tells one prompt from another: letters and digits.
    pub token: &'a str,
    /// The tmux command that is run when something was typed, and fetches it by [`Server::typed`].
    pub then: &'a str,
}

impl Server {
    /// Lets a client type a line.
    ///
    /// What is typed goes into hidden variables of the server, and never becomes part of a command's text: from 3.3 on it is put into
    /// the words of commands that are parsed already. 3.3 does so twice, the second time into what it has put in before: there
    /// only `%2` gives it as it was typed. What stands in the line comes from a variable too, since tmux parts that text at commas.
    ///
    /// # Errors
    /// The client is gone, or the server does not answer.
    pub fn prompt(&self, client: &str, prompt: &Prompt, version: Version, limit: Duration) -> Result<(), Failure> {
        let [first, second] = variables(prompt.token);
        // From 3.3 on it would hold up whoever asks.
        let background = if version < Version::new(3, 3) { "" } else { "-b" };
        let ask =
            format!("command-prompt {background} -t {} -p {} -I \"#{{{PRESENT}}}\"", arg(client.as_bytes()), arg(prompt.label.as_bytes()));
        let keep = |one: &str, two: &str| format!("set-environment -gh {first} \"{one}\" ; set-environment -gh {second} \"{two}\"");
        let then = prompt.then;
        let ask = if version < Version::new(3, 3) {
            // Before 3.3 the text is put in before the parser reads it; `%1%` is quoted for the inside of double quotes.
            format!("{ask} {}", arg(format!("{} ; {then}", keep("%1%", "%2%")).as_bytes()))
        } else {
            format!("{ask} {{ {} ; {then} }}", keep("%1", "%2"))
        };
        self.source(&format!("set-environment -gh {PRESENT} {}\n{ask}\n", arg(prompt.present.as_bytes())), limit)
    }

    /// What was typed at a prompt, once.
    ///
    /// # Errors
    /// The server does not answer; nothing was typed.
    pub fn typed(&self, token: &str, limit: Duration) -> Result<Vec<u8>, Failure> {
        let [first, second] = variables(token);
        let value = |name: &str| -> Result<Vec<u8>, Failure> {
            let reply = self.call(&["show-environment", "-gh", name], None, limit)?;
            let line = reply.stdout.strip_suffix(b"\n").unwrap_or(&reply.stdout);
            match line.strip_prefix(format!("{name}=").as_bytes()) {
                Some(value) if reply.ok => Ok(value.to_vec()),
                _ => Err(Failure::Other("nothing was typed".to_owned())),
            }
        };
        let (one, two) = (value(&first)?, value(&second)?);
        let forget: String = [first, second].iter().map(|name| format!("set-environment -gu {name}\n")).collect();
        self.source(&forget, limit)?;
        Ok(if two == b"%2" || two == b"%2%" { one } else { two })
    }
}

/// Holds what is to stand in a prompt, which is read when it opens.
const PRESENT: &str = "SIDECAR_PRESENT";

fn variables(token: &str) -> [String; 2] {
    ["TYPED", "TYPED2"].map(|what| format!("SIDECAR_{what}_{token}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_counted_by_what_follows() {
        for (text, wanted) in
            [("plain", "plain"), ("#(x)", "####(x)"), ("#[fg=red]", "##[fg=red]"), ("##[x] #", "####[x] ####"), ("é#", "é####")]
        {
            assert_eq!(String::from_utf8(menu_text(text)).unwrap(), wanted);
        }
        assert_eq!(message_text("5% #"), b"5%% ####");
    }
}
