//! A line that somebody types in bash, up to the cursor, and what readline is to put in its place. Pure.
//!
//! bash hands over words that still have their quotes and are cut at `:` and `=`, and puts in what it gets as it is.

/// A line as bash would read it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Line {
    /// Its words without their quotes; the last one is being typed.
    pub(super) words: Vec<String>,
    /// The quote that the last word is still in.
    open: Option<char>,
    /// How many bytes of the last word stand before what readline replaces.
    kept: usize,
}

/// Reads a line; `breaks` is `$COMP_WORDBREAKS`.
pub(super) fn read(line: &str, breaks: &str) -> Line {
    let mut read = Line::default();
    let mut word = String::new();
    let mut in_word = false;
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        match (read.open, c) {
            (None, ' ' | '\t' | '\n') => {
                if std::mem::take(&mut in_word) {
                    read.words.push(std::mem::take(&mut word));
                    read.kept = 0;
                }
                continue;
            }
            (None, '\'' | '"') => {
                read.open = Some(c);
                read.kept = word.len();
            }
            (Some(quote), c) if c == quote => {
                read.open = None;
                read.kept = word.len();
            }
            (None, '\\') => word.extend(chars.next()),
            (Some('"'), '\\') => match chars.next() {
                Some(escaped @ ('\\' | '"' | '$' | '`')) => word.push(escaped),
                other => {
                    word.push('\\');
                    word.extend(other);
                }
            },
            (open, c) => {
                word.push(c);
                if open.is_none() && breaks.contains(c) {
                    read.kept = word.len();
                }
            }
        }
        in_word = true;
    }
    read.words.push(word);
    read
}

impl Line {
    /// What readline puts in for the last word to be this one; `None` if that word does not begin as it was typed.
    pub(super) fn replacement(&self, word: &str) -> Option<String> {
        let typed = self.words.last()?;
        word.starts_with(typed.as_str()).then(|| quoted(&word[self.kept..], self.open))
    }
}

/// Text that bash reads as itself, behind an opened quote (which readline closes) or none.
fn quoted(text: &str, open: Option<char>) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match (open, c) {
            (Some('\''), '\'') => out.push_str(r"'\''"),
            (Some('\''), c) => out.push(c),
            // A backslash before it would stay.
            (Some(_), '!') => out.push_str("\"'!'\""),
            (Some(_), '\\' | '"' | '$' | '`') => out.extend(['\\', c]),
            (Some(_), c) => out.push(c),
            (None, c) if c.is_alphanumeric() || "_-./,+%@:=".contains(c) => out.push(c),
            (None, c) => out.extend(['\\', c]),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const BREAKS: &str = " \t\n\"'@><=;|&(:";

    #[test]
    fn the_words_are_those_that_bash_would_run() {
        let words = |line: &str| read(line, BREAKS).words;
        assert_eq!(words("sidecar shell  forget "), ["sidecar", "shell", "forget", ""]);
        assert_eq!(words(r#"sidecar -L 'a b' x\ y"z $q\"\!" "#), ["sidecar", "-L", "a b", "x yz $q\"\\!", ""]);
        assert_eq!(words(r"sidecar a\"), ["sidecar", "a"]);
        assert_eq!(words("sidecar ''"), ["sidecar", ""]);
    }

    #[test]
    fn what_is_put_in_goes_on_from_where_readline_replaces() {
        let put = |line: &str, word: &str| read(&format!("sidecar shell forget {line}"), BREAKS).replacement(word);
        for (line, word, wanted) in [
            ("", "my notes", r"my\ notes"),
            ("my", "my notes", r"my\ notes"),
            (r"my\ n", "my notes", r"my\ notes"),
            ("'my n", "my notes", "my notes"),
            ("\"", "a\"b$c`d\\e!f g", "a\\\"b\\$c\\`d\\\\e\"'!'\"f g"),
            ("'", "it's", r"it'\''s"),
            ("", "$(touch x);#~é日", r"\$\(touch\ x\)\;\#\~é日"),
            ("--target=w", "--target=web", "web"),
            (r"a\ b:", "a b:c d", r"c\ d"),
        ] {
            assert_eq!(put(line, word).as_deref(), Some(wanted), "{line} {word}");
        }
        assert_eq!(put("x", "my notes"), None);
    }

    proptest! {
        #[test]
        fn any_name_is_read_back_from_what_is_put_in(name in "[^\\p{C}]{1,12}", open in prop_oneof![Just(""), Just("'"), Just("\"")]) {
            let line = format!("sidecar {open}");
            let put = read(&line, BREAKS).replacement(&name).unwrap();
            prop_assert_eq!(read(&format!("{line}{put}{open} "), BREAKS).words, ["sidecar", &name, ""]);
        }
    }
}
