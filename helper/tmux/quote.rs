//! Text on its way into tmux and out of it.

/// One argument of a command in a file for `source-file`, whatever bytes it holds.
///
/// Inside double quotes tmux's parser takes `\ooo` for any byte; everything but plain characters is written so,
/// since single quotes don't keep a line break (the parser eats the blanks after it).
pub fn arg(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    let mut out = String::with_capacity(bytes.len() + 2);
    out.push('"');
    for &byte in bytes {
        if byte.is_ascii_alphanumeric() || b" /_-.,:=@%+#{}()[]<>*?!&|^".contains(&byte) {
            out.push(char::from(byte));
        } else {
            let _ = write!(out, "\\{byte:03o}");
        }
    }
    out.push('"');
    out
}

/// Makes text literal where tmux expands formats: `#` is doubled, but for a run of them right before `[`, which tmux copies as it
/// is (it would begin a style where text is drawn).
pub fn double_hash(bytes: &[u8]) -> Vec<u8> {
    repeat_hashes(bytes, 1, 2)
}

/// Each run of `#` so many times: one right before `[`, and any other.
pub(super) fn repeat_hashes(bytes: &[u8], before_bracket: usize, elsewhere: usize) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let Some((&byte, after)) = rest.split_first() {
        if byte != b'#' {
            out.push(byte);
            rest = after;
            continue;
        }
        let run = rest.iter().take_while(|&&byte| byte == b'#').count();
        let copies = if rest.get(run) == Some(&b'[') { before_bracket * run } else { elsewhere * run };
        out.extend(std::iter::repeat_n(b'#', copies));
        rest = &rest[run..];
    }
    out
}

/// A format argument: `#` made literal, then quoted.
pub fn format_arg(bytes: &[u8]) -> String {
    arg(&double_hash(bytes))
}

/// A command line for people to copy: words in quotes where they need them.
pub fn shell_line(words: &[&str]) -> String {
    let plain = |word: &str| !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || "/._-+,@%:".contains(c));
    let words: Vec<String> = words.iter().map(|word| if plain(word) { (*word).to_owned() } else { shell_word(word) }).collect();
    words.join(" ")
}

/// One word for `/bin/sh`, in single quotes.
pub fn shell_word(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// The name to ask for so that tmux shows `shown`.
///
/// tmux shows names through vis(3): a backslash doubled, other characters as `\t`, `\$` or `\377`. Asking for what it shows
/// would grow backslashes with each restore.
pub fn name_from_shown(shown: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(shown.len());
    let mut rest = shown.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        if byte != b'\\' {
            out.push(byte);
            continue;
        }
        match unescape(rest) {
            Some((plain, after)) => {
                out.push(plain);
                rest = after;
            }
            None => out.push(b'\\'),
        }
    }
    out
}

/// What [`name_from_shown`] reads as this name, as a record of it is kept where no server has shown it yet.
pub fn shown_from_name(name: &[u8]) -> String {
    let mut out = String::with_capacity(name.len());
    for chunk in name.utf8_chunks() {
        for c in chunk.valid().chars() {
            match c {
                '\\' => out.push_str("\\\\"),
                '\t' => out.push_str("\\t"),
                '\n' => out.push_str("\\n"),
                '\r' => out.push_str("\\r"),
                c if c.is_ascii_control() => out.push_str(&format!("\\{:03o}", u32::from(c))),
                c => out.push(c),
            }
        }
        for byte in chunk.invalid() {
            out.push_str(&format!("\\{byte:03o}"));
        }
    }
    out
}

/// The byte that an escape of vis(3) stands for, and what follows it; `rest` is what stands behind the backslash.
fn unescape(rest: &[u8]) -> Option<(u8, &[u8])> {
    if let [a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7', after @ ..] = rest {
        return Some(((a - b'0') * 64 + (b - b'0') * 8 + (c - b'0'), after));
    }
    let (&escaped, after) = rest.split_first()?;
    let plain = match escaped {
        b'\\' | b'$' | b'"' => escaped,
        b't' => b'\t',
        b'n' => b'\n',
        b'r' => b'\r',
        b'b' => 8,
        b'a' => 7,
        b'v' => 11,
        b'f' => 12,
        b's' => b' ',
        b'0' => 0,
        _ => return None,
    };
    Some((plain, after))
}

/// The words of a `#{pane_start_command}`: tmux puts a word in quotes of one kind or the other, or in none, and writes each
/// backslash in it twice (the same from 3.3a to 3.8). `None` for what no tmux has shown.
pub(super) fn words_from_shown(shown: &[u8]) -> Option<Vec<Vec<u8>>> {
    let mut words = Vec::new();
    let mut rest = shown;
    while !rest.is_empty() {
        let quote = rest.first().copied().filter(|byte| matches!(byte, b'"' | b'\''));
        rest = if quote.is_some() { &rest[1..] } else { rest };
        let mut word = Vec::new();
        loop {
            match rest.split_first() {
                None if quote.is_some() => return None,
                None => break,
                Some((b'\\', after)) => {
                    // A word of one character has a backslash before it where it would not be taken for itself.
                    let (byte, after) = unescape(after).or_else(|| after.split_first().map(|(&byte, after)| (byte, after)))?;
                    word.push(byte);
                    rest = after;
                }
                Some((&byte, after)) if Some(byte) == quote => {
                    rest = after;
                    break;
                }
                Some((b' ', _)) if quote.is_none() => break,
                Some((&byte, after)) => {
                    word.push(byte);
                    rest = after;
                }
            }
        }
        words.push(word);
        rest = match rest.split_first() {
            None => rest,
            Some((b' ', after)) if !after.is_empty() => after,
            Some(_) => return None,
        };
    }
    Some(words)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn arguments_keep_every_byte_out_of_the_parsers_reach() {
        assert_eq!(arg(b"plain name"), "\"plain name\"");
        assert_eq!(arg(b"a\"b\\c$d;e~f\n"), r#""a\042b\134c\044d\073e\176f\012""#);
        assert_eq!(arg(&[0xff, b'\'']), r#""\377\047""#);
        for (plain, literal) in
            [("#(x)##", "##(x)####"), ("#[x]", "#[x]"), ("##[x", "##[x"), ("#a[", "##a["), ("[#", "[##"), ("###", "######")]
        {
            assert_eq!(double_hash(plain.as_bytes()), literal.as_bytes());
        }
        assert_eq!(shell_word("it's"), r"'it'\''s'");
    }

    #[test]
    fn shown_names_are_read_back() {
        for (shown, asked) in [
            (r"a\\b", &b"a\\b"[..]),
            (r"a\$b", b"a$b"),
            (r"n\nl\tt", b"n\nl\tt"),
            (r"x\377\376y", b"x\xff\xfey"),
            (r"end\", b"end\\"),
            (r"\q", b"\\q"),
            ("plain é", "plain é".as_bytes()),
        ] {
            assert_eq!(name_from_shown(shown), asked, "{shown}");
        }
    }

    #[test]
    fn lines_to_copy_are_quoted_where_they_must_be() {
        assert_eq!(shell_line(&["git", "-C", "/a b", "x", "", "it's"]), r"git -C '/a b' x '' 'it'\''s'");
    }

    #[test]
    fn start_commands_are_read_back_word_for_word() {
        let words = |shown: &str| {
            words_from_shown(shown.as_bytes())
                .map(|words| words.into_iter().map(|word| String::from_utf8(word).unwrap()).collect::<Vec<_>>())
        };
        // As tmux 3.3a to 3.8 show them.
        for (shown, wanted) in [
            (r#""sleep 1000""#, &["sleep 1000"][..]),
            ("sleep 1000", &["sleep", "1000"]),
            (
                r#"sh -c "a \"b\" \$X \\\$x `x` #(y) ;%" "it's" 'q"q' '' " ""#,
                &["sh", "-c", r#"a "b" $X \$x `x` #(y) ;%"#, "it's", "q\"q", "", " "],
            ),
            (r#"\~ \~x \\ a\\b \$ \" \' \# \{ \% \*"#, &["~", "~x", "\\", "a\\b", "$", "\"", "'", "#", "{", "%", "*"]),
            (
                r#"tab\tnl\nesc\033x '\\"' " \\" \r\b\a\v\f \1771 a|b é"#,
                &["tab\tnl\nesc\x1bx", "\\\"", " \\", "\r\x08\x07\x0b\x0c", "\x7f1", "a|b", "é"],
            ),
            ("", &[]),
        ] {
            assert_eq!(words(shown).as_deref().unwrap(), wanted, "{shown}");
        }
        assert_eq!(words_from_shown(br"\377\376"), Some(vec![vec![0xff, 0xfe]]));
        for none in ["\"a", "'a", "\"a\"b", "a ", "a  b ", "a\\"] {
            assert_eq!(words(none), None, "{none}");
        }
    }

    proptest! {
        #[test]
        fn a_name_is_read_back_from_what_stands_for_it(name in proptest::collection::vec(1..=255_u8, 0..32)) {
            prop_assert_eq!(name_from_shown(&shown_from_name(&name)), name);
        }

        #[test]
        fn an_argument_is_one_line_of_printable_ascii(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
            let quoted = arg(&bytes);
            prop_assert!(quoted.bytes().all(|byte| (0x20..0x7f).contains(&byte)));
            prop_assert_eq!(quoted.matches('"').count(), 2);
        }
    }
}
