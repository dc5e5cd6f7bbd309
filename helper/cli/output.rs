//! Printing for people: columns, times, colours, and nothing that a name could do to a terminal.

use std::collections::HashSet;
use std::io::IsTerminal;
use std::sync::OnceLock;

use serde_json::{Value, json};

use super::args::Cli;
pub(super) use crate::display::{age, directory, left, local_time, pad, shown, widest};
use crate::error::Error;
use crate::tmux::shell_word;

/// Whether standard output takes colours: a terminal, and `NO_COLOR` unset or empty.
pub(super) fn colours() -> bool {
    std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

/// Text in this SGR colour, where colours are wanted.
pub(super) fn paint(text: &str, sgr: &str, colours: bool) -> String {
    if colours { format!("\x1b[{sgr}m{text}\x1b[0m") } else { text.to_owned() }
}

/// The names that more than one of these shells has.
pub(super) fn alike<'a>(names: impl Iterator<Item = &'a str>) -> HashSet<&'a str> {
    let mut once = HashSet::new();
    names.filter(|name| !once.insert(*name)).collect()
}

/// A shell's name, with its id where it is one of those that are [`alike`].
pub(super) fn told_apart(name: &str, id: &str, alike: &HashSet<&str>) -> String {
    if alike.contains(name) { format!("{} ({id})", shown(name)) } else { shown(name) }
}

/// Rows of a table: each column but the last is as wide as its widest cell.
pub(super) fn columns<const N: usize>(mut rows: Vec<[String; N]>) -> Vec<[String; N]> {
    for column in 0..N.saturating_sub(1) {
        let width = widest(rows.iter().map(|row| row[column].as_str()));
        for row in &mut rows {
            row[column] = pad(&row[column], width);
        }
    }
    rows
}

/// A table, a line each.
pub(super) fn table<const N: usize>(rows: Vec<[String; N]>) -> String {
    columns(rows).iter().map(|row| format!("{}\n", row.join("   ").trim_end())).collect()
}

/// The options by which this call names its server, with a space behind: what is told to be run next must mean the same one.
static SERVER_OPTIONS: OnceLock<String> = OnceLock::new();

/// Notes the options that the commands in our texts need.
pub(super) fn note_server_options(cli: &Cli) {
    let options = match (&cli.socket_name, &cli.socket_path) {
        (Some(name), _) => format!("-L {} ", shell_word(name)),
        (None, Some(path)) => format!("-S {} ", shell_word(&path.display().to_string())),
        (None, None) => String::new(),
    };
    let _ = SERVER_OPTIONS.set(options);
}

/// Text in which `sidecar …` is told to be run, for the server of this call.
pub(super) fn for_this_server(text: &str) -> String {
    let options = SERVER_OPTIONS.get().map_or("", String::as_str);
    ["session", "shell", "agent", "import", "plugin", "doctor", "hook", "snapshot", "boot"]
        .iter()
        .fold(text.to_owned(), |text, group| text.replace(&format!("sidecar {group} "), &format!("sidecar {options}{group} ")))
}

/// An error as documents hold it.
pub(super) fn error_json(error: &Error) -> Value {
    json!({ "code": error.code, "message": error.message, "hint": error.hint.as_deref().map(for_this_server) })
}

/// Prints an error on standard error, as JSON where the command was asked for that.
pub(super) fn print_error(error: &Error, json: bool) {
    if json {
        eprintln!("{}", json!({ "error": error_json(error) }));
        return;
    }
    eprintln!("error: {}", shown(&error.message));
    if let Some(hint) = &error.hint {
        eprintln!("hint: {}", shown(&for_this_server(hint)));
    }
}

/// Prints on standard error what a person should know besides the answer.
pub(super) fn print_notices(notices: &[String]) {
    for notice in notices {
        eprintln!("note: {}", shown(notice));
    }
}

/// Prints one JSON document; the control characters above ASCII, which JSON leaves as they are, become escapes.
pub(super) fn print_json(document: &Value) {
    let mut out = String::new();
    for c in document.to_string().chars() {
        if c.is_control() {
            out.push_str(&format!("\\u{:04x}", u32::from(c)));
        } else {
            out.push(c);
        }
    }
    print(&format!("{out}\n"));
}

/// Prints to standard output; a reader that has gone away (`| head`) is no error of ours, a full disk is.
pub(super) fn print(text: &str) {
    use std::io::Write as _;
    let mut out = std::io::stdout().lock();
    if let Err(error) = out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        if error.kind() != std::io::ErrorKind::BrokenPipe {
            eprintln!("error: cannot write the output: {error}");
            std::process::exit(crate::error::Exit::Failed as i32);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_text() {
        let rows = [["snap-1", "02:36 (moments ago)", "5 shells"], ["snap-2", "02:35 (1 min ago)", "12 shells"], ["漢", "", ""]];
        let rows = rows.map(|row| row.map(str::to_owned));
        assert_eq!(table(rows.to_vec()), "snap-1   02:36 (moments ago)   5 shells\nsnap-2   02:35 (1 min ago)     12 shells\n漢\n");
    }
}
