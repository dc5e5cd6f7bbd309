//! Printing for people: columns, times, colours, and nothing that a name could do to a terminal.

use std::io::IsTerminal;
use std::path::Path;

use unicode_width::UnicodeWidthStr;

use crate::error::Error;
use crate::model::EpochMs;

/// Whether standard output takes colours: a terminal, and `NO_COLOR` unset or empty.
pub(super) fn colours() -> bool {
    std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

/// Text in this SGR colour, where colours are wanted.
pub(super) fn paint(text: &str, sgr: &str, colours: bool) -> String {
    if colours { format!("\x1b[{sgr}m{text}\x1b[0m") } else { text.to_owned() }
}

/// A name or a path as it may be shown: control characters, which could drive the terminal, become escapes.
pub(super) fn shown(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        // Bidirectional overrides could make a line read as another one.
        if c.is_control() || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}') {
            out.extend(c.escape_default());
        } else {
            out.push(c);
        }
    }
    out
}

/// A shell's name, with its id where several of these are equal.
pub(super) fn told_apart(name: &str, id: &str, names: &[&str]) -> String {
    let alike = names.iter().filter(|other| **other == name).count() > 1;
    if alike { format!("{} ({id})", shown(name)) } else { shown(name) }
}

/// A directory with the home folder as `~`.
pub(super) fn directory(text: &str) -> String {
    let home = std::env::var("HOME").unwrap_or_default();
    if home.len() > 1 {
        if let Ok(rest) = Path::new(text).strip_prefix(&home) {
            let rest = rest.display().to_string();
            return shown(&if rest.is_empty() { "~".to_owned() } else { format!("~/{rest}") });
        }
    }
    shown(text)
}

/// Pads to a display width, wide characters counted.
pub(super) fn pad(text: &str, width: usize) -> String {
    format!("{text}{}", " ".repeat(width.saturating_sub(text.width())))
}

/// The widest of these, in columns.
pub(super) fn widest<'a>(texts: impl Iterator<Item = &'a str>) -> usize {
    texts.map(UnicodeWidthStr::width).max().unwrap_or(0)
}

/// `just now`, `4 min`, `2 h`, `3 d`.
pub(super) fn age(from: EpochMs, to: EpochMs) -> String {
    let seconds = to.saturating_sub(from) / 1000;
    match seconds {
        0..=59 => "moments".to_owned(),
        60..=3599 => format!("{} min", seconds / 60),
        3600..=172_799 => format!("{} h", seconds / 3600),
        _ => format!("{} d", seconds / 86_400),
    }
}

/// The local time of day, with the date where it is not today's.
pub(super) fn local_time(at: EpochMs, now: EpochMs) -> String {
    let zoned = |ms: EpochMs| {
        let timestamp = jiff::Timestamp::from_millisecond(i64::try_from(ms).ok()?).ok()?;
        Some(timestamp.to_zoned_datetime(jiff::tz::TimeZone::system()))
    };
    match (zoned(at), zoned(now)) {
        (Some(at), Some(now)) if at.date() == now.date() => at.strftime("%H:%M").to_string(),
        (Some(at), _) => at.strftime("%Y-%m-%d %H:%M").to_string(),
        _ => "an unknown time".to_owned(),
    }
}

/// Prints an error on standard error, as JSON where the command was asked for that.
pub(super) fn print_error(error: &Error, json: bool) {
    if json {
        let document = serde_json::json!({ "error": { "code": error.code, "message": error.message, "hint": error.hint } });
        eprintln!("{document}");
        return;
    }
    eprintln!("error: {}", shown(&error.message));
    if let Some(hint) = &error.hint {
        eprintln!("hint: {}", shown(hint));
    }
}

/// Prints on standard error what a person should know besides the answer.
pub(super) fn print_notices(notices: &[String]) {
    for notice in notices {
        eprintln!("note: {}", shown(notice));
    }
}

/// Prints one JSON document; the control characters above ASCII, which JSON leaves as they are, become escapes.
pub(super) fn print_json(document: &serde_json::Value) {
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
    fn what_is_shown_cannot_drive_the_terminal() {
        assert_eq!(shown("a\x1b[2Jb\nc"), "a\\u{1b}[2Jb\\nc");
        assert_eq!(shown("a\u{202e}b"), "a\\u{202e}b");
        assert_eq!(shown("naïve 日本"), "naïve 日本");
    }

    #[test]
    fn columns_count_wide_characters_twice() {
        assert_eq!(pad("日本", 6), "日本  ");
        assert_eq!(widest(["a", "日本", "abc"].into_iter()), 4);
    }

    #[test]
    fn ages_are_short() {
        let minute = 60_000;
        for (ms, text) in
            [(0, "moments"), (5 * minute, "5 min"), (150 * minute, "2 h"), (49 * 60 * minute, "2 d"), (30 * 60 * minute, "30 h")]
        {
            assert_eq!(age(0, ms), text);
        }
        assert_eq!(age(10, 0), "moments");
    }
}
