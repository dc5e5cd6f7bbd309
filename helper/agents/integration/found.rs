//! What is found in an agent's configuration.

/// What a file holds of hooks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Found {
    /// Our entries.
    pub(super) entries: Vec<Entry>,
    /// The file keeps hooks from running.
    pub(super) disabled: bool,
    /// There are hooks, ours or others.
    pub(super) any: bool,
}

/// One entry of ours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    /// The event that it stands under.
    pub(super) event: String,
    /// The line that it runs.
    pub(super) line: String,
}

/// Why a file is left as it is, and where in it the reason stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Wrong {
    /// From 1.
    pub(super) line: usize,
    /// From 1, in characters.
    pub(super) column: usize,
    /// What is wrong.
    pub(super) what: String,
}

impl Wrong {
    /// At this byte of the text.
    pub(super) fn at(text: &str, byte: usize, what: impl Into<String>) -> Self {
        let before = text.get(..byte).unwrap_or(text);
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        let column = before[line_start..].chars().count() + 1;
        Self { line: before.matches('\n').count() + 1, column, what: what.into() }
    }
}
