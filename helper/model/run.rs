//! The command that a pane was started with.

use serde::{Deserialize, Serialize};

use super::RawText;

/// A command of a pane's own, as it was given to tmux.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Run {
    /// One word: a line for the shell.
    Line(RawText),
    /// Several words: a program and its arguments, which no shell reads.
    Words(Vec<RawText>),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_a_string_in_the_records_and_words_are_a_list() {
        let line = Run::Line("sleep 1; x".into());
        let words = Run::Words(vec!["sh".into(), RawText::from(&b"\xff"[..])]);
        for (run, json) in
            [(line, r#""sleep 1; x""#), (words, r#"["sh",{"hex":"ff"}]"#), (Run::Line((&b"\xff"[..]).into()), r#"{"hex":"ff"}"#)]
        {
            assert_eq!(serde_json::to_string(&run).unwrap(), json);
            assert_eq!(serde_json::from_str::<Run>(json).unwrap(), run);
        }
    }
}
