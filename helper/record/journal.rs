//! What a look changed that the journal keeps.

use std::collections::HashMap;

use crate::model::{Binding, BindingEntry, EndReason, EpochMs, Generation, JournalEntry, Pane, RawText, Shell, State};

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

/// An entry for each pane whose conversation differs between the two.
pub(super) fn conversations(old: &State, new: &State, now: EpochMs) -> Vec<BindingEntry> {
    let panes = old.shells.iter().flat_map(Shell::panes).filter_map(|pane| Some((pane.id.as_str(), pane.agent.as_ref()?)));
    let before: HashMap<&str, &Binding> = panes.collect();
    let mut entries = Vec::new();
    for shell in &new.shells {
        let Some(seen) = &shell.seen else { continue };
        let changed = |pane: &Pane| change(before.get(pane.id.as_str()).copied(), pane, &shell.id, &seen.generation, now);
        entries.extend(shell.panes().filter_map(changed));
    }
    entries
}

/// The entry for a pane, if its conversation is another than `before`, or has changed in more than the time of its last report.
pub(super) fn change(before: Option<&Binding>, pane: &Pane, shell: &str, generation: &Generation, now: EpochMs) -> Option<BindingEntry> {
    let plain = |binding: &Binding| Binding { reported: 0, missing: None, ..binding.clone() };
    if before.map(plain) == pane.agent.as_ref().map(plain) {
        return None;
    }
    let what = match (before, &pane.agent) {
        (_, None) => "bound to none".to_owned(),
        (Some(old), Some(new)) if old.is_same(new) => match &new.ended {
            Some(end) if old.ended.is_none() => match end.reason {
                EndReason::User => "ended by the user".to_owned(),
                EndReason::Gone => "gone, as the user ends it".to_owned(),
                EndReason::Died => "died".to_owned(),
            },
            _ if old.process != new.process => format!("{} opened again", new.kind),
            _ if new.prompted && !old.prompted => "prompted".to_owned(),
            _ => "changed".to_owned(),
        },
        (_, Some(new)) => format!("bound to {} {}", new.kind, new.id),
    };
    Some(BindingEntry {
        at: now,
        generation: generation.clone(),
        shell: shell.to_owned(),
        pane: pane.id.clone(),
        binding: pane.agent.clone(),
        what,
    })
}
