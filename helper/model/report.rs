//! A pane's conversation as it was at one time.

use super::{Binding, EpochMs, Generation};

/// What was reported of a pane's conversation: an entry of the journal, or what the record itself holds.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// When.
    pub at: EpochMs,
    /// In which life of the server; `None` where that is unknown.
    pub generation: Option<Generation>,
    /// The pane's id.
    pub pane: String,
    /// The binding since then; `None` if the pane has none any more.
    pub binding: Option<Binding>,
}
