//! Text for people's eyes: names that can't drive a terminal, directories, ages, columns.

use std::path::Path;

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::model::{EpochMs, Run};
use crate::tmux::shell_line;

/// A name or a path as it may be shown: control characters, which could drive the terminal, become escapes.
pub fn shown(text: &str) -> String {
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

/// How much of a command is shown, in characters; what is left out is told.
const COMMAND: usize = 2000;

/// A command, on one line, with words that a reader can tell apart.
pub fn command(run: &Run) -> String {
    let text = match run {
        Run::Line(line) => shown(&line.display()),
        Run::Words(words) => {
            let words: Vec<String> = words.iter().map(|word| shown(&word.display())).collect();
            shell_line(&words.iter().map(String::as_str).collect::<Vec<_>>())
        }
    };
    let mut rest = text.char_indices().skip(COMMAND).map(|(at, _)| at);
    match rest.next() {
        Some(end) => format!("{} … and {} more characters", &text[..end], rest.count() + 1),
        None => text,
    }
}

/// A directory with the home folder as `~`.
pub fn directory(text: &str) -> String {
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
pub fn pad(text: &str, width: usize) -> String {
    format!("{text}{}", " ".repeat(width.saturating_sub(text.width())))
}

/// The widest of these, in columns.
pub fn widest<'a>(texts: impl Iterator<Item = &'a str>) -> usize {
    texts.map(UnicodeWidthStr::width).max().unwrap_or(0)
}

/// `moments`, `4 min`, `2 h`, `3 d`.
pub fn age(from: EpochMs, to: EpochMs) -> String {
    let seconds = to.saturating_sub(from) / 1000;
    match seconds {
        0..=59 => "moments".to_owned(),
        60..=3599 => format!("{} min", seconds / 60),
        3600..=172_799 => format!("{} h", seconds / 3600),
        _ => format!("{} d", seconds / 86_400),
    }
}

/// The time that is left, rounded: of 14 days that have just begun, 14.
pub fn left(now: EpochMs, until: EpochMs) -> String {
    age(now, until.saturating_add(30 * 60_000))
}

/// The local time of day, with the date where it is not today's.
pub fn local_time(at: EpochMs, now: EpochMs) -> String {
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

/// Text in at most `width` columns, wide characters counted; what was longer ends in `ellipsis`.
pub fn cut(text: &str, width: usize, ellipsis: &str) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let room = width.saturating_sub(ellipsis.width());
    let mut out = String::new();
    let mut used = 0;
    for c in text.chars() {
        used += c.width().unwrap_or(0);
        if used > room {
            break;
        }
        out.push(c);
    }
    out.push_str(ellipsis);
    out
}

/// The same from the other side: of a path its end tells more.
pub fn cut_start(text: &str, width: usize, ellipsis: &str) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let reversed: String = text.chars().rev().collect();
    let kept = cut(&reversed, width.saturating_sub(ellipsis.width()), "");
    format!("{ellipsis}{}", kept.chars().rev().collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_one_line_with_its_words_apart() {
        let words = |words: &[&str]| command(&Run::Words(words.iter().map(|&word| word.into()).collect()));
        assert_eq!(command(&Run::Line("a\n\x1b[2Jb $(c)".into())), "a\\n\\u{1b}[2Jb $(c)");
        assert_eq!(words(&["tail", "-f", "/a b", "", "it's", "x=1"]), r"tail -f '/a b' '' 'it'\''s' 'x=1'");
        assert_eq!(words(&["a\u{7}"]), r"'a\u{7}'");
        let long = command(&Run::Line("é".repeat(COMMAND + 7).as_str().into()));
        assert!(long.ends_with("é … and 7 more characters"), "{long}");
    }

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
        assert_eq!(left(20_000, 14 * 24 * 60 * minute), "14 d");
    }

    #[test]
    fn text_is_cut_by_columns_from_either_side() {
        assert_eq!(cut("日本語", 6, "…"), "日本語");
        assert_eq!(cut("日本語x", 6, "…"), "日本…");
        assert_eq!(cut("abcdef", 4, "..."), "a...");
        assert_eq!(cut_start("~/code/sidecar", 9, "…"), "…/sidecar");
        assert_eq!(cut_start("日本語", 4, "…"), "…語");
        assert_eq!(cut("abc", 0, ""), "");
    }
}
