//! What a look changed that the journal keeps.

use std::collections::HashMap;

use crate::model::{EpochMs, JournalEntry, RawText, Shell, State};

/// An entry for each pane whose directory differs between the two.
pub(super) fn entries(old: &State, new: &State, now: EpochMs) -> Vec<JournalEntry> {
    let before: HashMap<&str, &RawText> = old.shells.iter().flat_map(Shell::panes).map(|pane| (pane.id.as_str(), &pane.dir)).collect();
    let mut entries = Vec::new();
    for shell in &new.shells {
        let Some(seen) = &shell.seen else { continue };
        for pane in shell.panes().filter(|pane| before.get(pane.id.as_str()) != Some(&&pane.dir)) {
            entries.push(JournalEntry {
                at: now,
                generation: seen.generation.clone(),
                shell: shell.id.clone(),
                pane: pane.id.clone(),
                dir: pane.dir.clone(),
            });
        }
    }
    entries
}
