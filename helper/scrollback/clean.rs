//! Old output as it may be printed to a terminal: text and its colours, and nothing that drives it.

use std::iter::Peekable;
use std::str::Chars;

/// Longest sequence of colours that is kept, in characters; real ones have about twenty.
const LONGEST: usize = 64;

/// Keeps text, line breaks, tabs and SGR sequences (`ESC [ … m`); drops every other escape sequence and control character.
pub(super) fn clean(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\n' | '\t' => out.push(c),
            '\x1b' => escape(&mut chars, &mut out),
            // The same as `ESC [` and its like in one character.
            '\u{9b}' => drop(control_sequence(&mut chars)),
            '\u{90}' | '\u{98}' | '\u{9d}' | '\u{9e}' | '\u{9f}' => string(&mut chars),
            c if c.is_control() => {}
            c => out.push(c),
        }
    }
    out
}

fn escape(chars: &mut Peekable<Chars>, out: &mut String) {
    match chars.peek().copied() {
        Some('[') => {
            chars.next();
            if let Some(colours) = control_sequence(chars) {
                out.push_str("\x1b[");
                out.push_str(&colours);
                out.push('m');
            }
        }
        // The last one is a name of tmux's own.
        Some(']' | 'P' | 'X' | '^' | '_' | 'k') => {
            chars.next();
            string(chars);
        }
        // `ESC ( B` and its like: any number of intermediate characters, then a final one.
        Some(_) => {
            while chars.next_if(|c| matches!(c, ' '..='/')).is_some() {}
            chars.next_if(|c| matches!(c, '0'..='~'));
        }
        None => {}
    }
}

/// Reads a control sequence up to its final character; gives its parameters if it sets colours.
fn control_sequence(chars: &mut Peekable<Chars>) -> Option<String> {
    let mut parameters = String::new();
    while let Some(c) = chars.next_if(|c| matches!(c, ' '..='?')) {
        parameters.push(c);
    }
    let last = chars.next_if(|c| matches!(c, '@'..='~'));
    let plain = parameters.chars().all(|c| matches!(c, '0'..='9' | ';' | ':'));
    (last == Some('m') && plain && parameters.len() <= LONGEST).then_some(parameters)
}

/// Steps over a string for the terminal (a title, a link, a query): to its terminator, and not beyond the line.
fn string(chars: &mut Peekable<Chars>) {
    while let Some(&c) = chars.peek() {
        if c == '\n' {
            return;
        }
        chars.next();
        match c {
            '\x07' | '\u{9c}' => return,
            '\x1b' => {
                // `ESC \` ends it; another escape begins something else, and is read as such.
                chars.next_if(|&c| c == '\\');
                return;
            }
            _ => {}
        }
    }
}

/// Text without its colours.
pub(super) fn plain(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    let mut chars = line.chars().peekable();
    while let Some(c) = chars.next() {
        if c == '\x1b' { escape(&mut chars, &mut String::new()) } else { out.push(c) }
    }
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn text_and_colours_stay_and_everything_else_goes() {
        for (text, cleaned) in [
            ("plain\ttext\n", "plain\ttext\n"),
            ("\x1b[1;38:5:3mred\x1b[0m\x1b[m", "\x1b[1;38:5:3mred\x1b[0m\x1b[m"),
            ("wide 漢字 é\u{301}", "wide 漢字 é\u{301}"),
            ("a\x1b[2J\x1b[H\x1b[?1049hb", "ab"),
            ("a\x1b[>4;2mb\x1b[?5mc", "abc"),
            ("a\x1b]0;title\x07b\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\c", "ablinkc"),
            ("a\x1bP$q\"p\x1b\\b\x1b_x\u{9c}c", "abc"),
            ("a\x1b(0qqq\x1b(B\x0eb\x0f\x1b=\x1b7c\x1bcd", "aqqqbcd"),
            ("a\u{9b}31mb\u{9d}0;x\u{7}c\r\x08\x07\x7f\u{85}", "abc"),
            ("a\x1b]0;never ended\nb", "a\nb"),
            ("a\x1bkname\x1b\\b", "ab"),
            ("a\x1b[3", "a"),
            ("a\x1b", "a"),
            ("a\x1b[\x1b[31mb", "a\x1b[31mb"),
            ("a\x1b]0;x\x1b[31mb", "a[31mb"),
        ] {
            assert_eq!(clean(text), cleaned, "{text:?}");
        }
        assert_eq!(clean(&format!("a\x1b[{}mb", "1;".repeat(40))), "ab");
        assert_eq!(plain("\x1b[1mx\x1b[0m y"), "x y");
    }

    /// What a terminal might act on, often enough.
    fn hostile() -> impl Strategy<Value = String> {
        let piece = prop_oneof![
            Just("\x1b".to_owned()),
            Just("\x1b[".to_owned()),
            Just("\x1b]".to_owned()),
            Just("\u{9b}".to_owned()),
            Just("\u{9c}".to_owned()),
            "[0-9;:?>=]{0,4}",
            "[@-~]",
            "[ -/]",
            any::<char>().prop_map(String::from),
            "[a-z ]{1,4}",
        ];
        proptest::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #[test]
        fn nothing_that_is_left_can_drive_a_terminal(text in hostile()) {
            let cleaned = clean(&text);
            let mut rest = cleaned.as_str();
            while let Some((before, after)) = rest.split_once('\x1b') {
                prop_assert!(!before.chars().any(|c| c.is_control() && c != '\n' && c != '\t'), "{cleaned:?}");
                let parameters = after.strip_prefix('[').and_then(|after| after.split_once('m'));
                let (parameters, after) = parameters.ok_or_else(|| TestCaseError::fail(format!("{cleaned:?}")))?;
                prop_assert!(parameters.chars().all(|c| c.is_ascii_digit() || c == ';' || c == ':'), "{cleaned:?}");
                rest = after;
            }
            prop_assert!(!rest.chars().any(|c| c.is_control() && c != '\n' && c != '\t'), "{cleaned:?}");
            prop_assert_eq!(clean(&cleaned), cleaned.clone(), "cleaning is done once");
        }

        #[test]
        fn text_without_controls_is_left_as_it_is(text in "[^\\x00-\\x1f\\x7f-\\x9f]{0,40}") {
            prop_assert_eq!(clean(&text), text);
        }
    }
}
