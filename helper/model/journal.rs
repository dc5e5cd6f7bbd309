//! What the journal keeps of each change.

use serde::{Deserialize, Serialize};

use super::{Binding, EpochMs, Generation, RawText};

/// A pane's working directory changed, or was seen for the first time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct JournalEntry {
    /// When the look was that saw it.
    pub at: EpochMs,
    /// In which life of the server.
    pub generation: Generation,
    /// The shell's id.
    pub shell: String,
    /// The pane's id.
    pub pane: String,
    /// The physical directory.
    pub dir: RawText,
}

/// A pane's conversation changed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BindingEntry {
    /// When.
    pub at: EpochMs,
    /// In which life of the server.
    pub generation: Generation,
    /// The shell's id.
    pub shell: String,
    /// The pane's id.
    pub pane: String,
    /// The conversation from then on.
    pub binding: Option<Binding>,
    /// What happened, for people.
    pub what: String,
}
