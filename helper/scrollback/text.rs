//! What of a pane's text is kept, and how it is shown again.

use super::clean::{clean, plain};
use crate::display::local_time;
use crate::model::EpochMs;

/// Begins the line below what is shown again, by which it is found when the pane is looked at next.
const LINE: &str = "--- sidecar: above, what this pane showed until ";

/// So many lines below it, when a pane is first looked at, are a prompt and a word of a shell that starts: nothing that was not there before.
pub(super) const PROMPT: usize = 4;

/// Longest text of one pane, in bytes; its end is kept.
const LONGEST: usize = 4 * 1024 * 1024;

/// What is kept of a pane that shows this, of at most so many lines; `None` if it shows nothing new: no more than `prompt` lines below what
/// was shown again. That is part of it, once, and the lines that said so are none. Beside it the number of lines that are below.
pub(super) fn kept(shown: &str, most: usize, prompt: usize) -> (Option<String>, usize) {
    let text = clean(shown);
    let mut lines: Vec<&str> = text.lines().collect();
    while lines.last().is_some_and(|line| plain(line).trim().is_empty()) {
        lines.pop();
    }
    let ours = |line: &str| plain(line).trim_start().starts_with(LINE);
    let last = lines.iter().rposition(|line| ours(line));
    let below = last.map_or(0, |at| lines[at + 1..].iter().filter(|line| !plain(line).trim().is_empty()).count());
    if last.is_some() && below <= prompt {
        return (None, below);
    }
    lines.retain(|line| !ours(line));
    let mut size = 0;
    let fits = |line: &&&str| {
        size += line.len() + 1;
        size <= LONGEST
    };
    let count = lines.iter().rev().take(most).take_while(fits).count();
    let kept = &lines[lines.len() - count..];
    ((!kept.is_empty()).then(|| kept.iter().flat_map(|line| [line, "\n"]).collect()), below)
}

/// The text as it is shown again, at most so many lines, with the line that says where it ends. `until` is when it was taken.
pub fn again(text: &str, most: usize, until: EpochMs, now: EpochMs) -> String {
    let text = clean(text);
    let lines: Vec<&str> = text.lines().collect();
    let shown = &lines[lines.len().saturating_sub(most)..];
    let shown: String = shown.iter().flat_map(|line| [line, "\n"]).collect();
    format!("{shown}\x1b[0m\x1b[2m{LINE}{} ---\x1b[0m\n", local_time(until, now))
}

/// Whether there is anything in it but space.
pub fn has_any(text: &str) -> bool {
    !plain(text).trim().is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbered(count: usize) -> String {
        (0..count).map(|number| format!("line {number}\n")).collect()
    }

    /// At the first look at a pane.
    fn first(shown: &str, most: usize) -> Option<String> {
        kept(shown, most, PROMPT).0
    }

    #[test]
    fn the_end_is_kept_without_empty_lines_behind_it() {
        assert_eq!(first("a\n\n b \n\x1b[0m\n   \n\n", 10).as_deref(), Some("a\n\n b \n"));
        assert_eq!(first(&numbered(10), 3).as_deref(), Some("line 7\nline 8\nline 9\n"));
        for nothing in ["", "\n\n", " \x1b[1m \x1b[0m\n"] {
            assert_eq!(first(nothing, 10), None);
        }
        let long = "x".repeat(LONGEST / 3);
        assert_eq!(first(&format!("{long}\n{long}\n{long}\n{long}\n"), 10).unwrap().len(), 2 * (long.len() + 1));
    }

    #[test]
    fn what_was_shown_again_is_kept_once_however_often_it_comes_back() {
        let old = first(&numbered(20), 100).unwrap();
        let mut shown = again(&old, 100, 0, 0);
        // Restored again and again, and never used.
        for _ in 0..3 {
            shown.push_str("Welcome\n$ \n");
            assert_eq!(first(&shown, 100), None);
            shown = again(&old, 100, 0, 0);
        }
        shown.push_str("$ make\none\ntwo\nthree\n$\n");
        let second = first(&shown, 100).unwrap();
        assert_eq!(second, old + "$ make\none\ntwo\nthree\n$\n");
        // Once it is known how long the prompt is, a single line more is new.
        let shown = again("a\n", 100, 0, 0) + "Welcome\n$ ";
        assert_eq!(kept(&shown, 100, PROMPT), (None, 2));
        assert_eq!(kept(&shown, 100, 2), (None, 2));
        assert_eq!(kept(&(shown + "x\n$ "), 100, 2), (Some("a\nWelcome\n$ x\n$ \n".to_owned()), 3));
        assert!(!again(&second, 100, 0, 0).trim_end().lines().rev().skip(1).any(|line| line.contains(LINE)));
    }

    #[test]
    fn what_is_shown_again_is_bounded_and_ends_with_one_line_that_says_so() {
        let shown = again(&numbered(10), 2, 0, 0);
        let lines: Vec<&str> = shown.lines().collect();
        assert_eq!((lines.len(), lines[0]), (3, "line 8"));
        assert!(plain(lines[2]).starts_with(LINE) && lines[2].ends_with("---\x1b[0m"));
        // A file that somebody else wrote drives nothing either.
        assert!(!again("x\x1b]0;y\x07\x1b[2J", 2, 0, 0).contains(['\x07', ']', 'J']));
    }
}
