//! Takes what the panes show, when it is time, and keeps it.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use super::text::kept;
use crate::agents::process;
use crate::error::{Error, Result};
use crate::model::{EpochMs, Reason, Shell};
use crate::record::now;
use crate::store::{Config, KeptText, Source, Store};
use crate::tmux::{Failure, Server, is_starting};

/// A pane is asked for its text at most this often, in ms.
const EVERY: EpochMs = 60_000;

/// How many panes are asked in one round: tmux stands still while it writes thousands of lines.
const AT_ONCE: usize = 8;

const LIMIT: Duration = Duration::from_secs(5);

/// One round: the panes whose screen has changed, those that wait longest first. Drops what belongs to no record any more, and all of it
/// where the user wants none.
///
/// # Errors
/// No answer, or a folder that can't be written; what was kept before is as it was then.
pub fn take(server: &Server, store: &Store, config: &Config) -> Result<()> {
    if config.scrollback == 0 {
        store.keep_texts(&|_| false);
        return Ok(());
    }
    // Of two rounds at a time one is enough.
    let Ok(held) = store.lock_texts() else { return Ok(()) };
    let loaded = store.load()?;
    if !matches!(loaded.source, Source::Current | Source::Older(_)) {
        return Ok(());
    }
    let unanswered = |failure: Failure| Error::failed("no_answer", format!("the tmux server: {failure}"));
    let (generation, panes) = server.pane_marks(LIMIT).map_err(unanswered)?;
    server.check_is_ours(generation.pid)?;
    // What nobody records, such as a session of `shells.ignore`, is not kept either.
    let recorded = loaded.state.shells.iter().filter(|shell| shell.lives_in(&generation)).flat_map(Shell::panes);
    let ids: HashMap<&str, &str> = recorded.map(|pane| (pane.tmux.as_str(), pane.id.as_str())).collect();
    let mut due = Vec::new();
    for pane in &panes {
        let Some(&id) = ids.get(pane.id.as_str()) else { continue };
        if process::argv(pane.pid).is_some_and(|argv| is_starting(&argv)) {
            continue;
        }
        let last = store.text_mark(id);
        let asked = last.as_ref().map_or(0, |last| last.asked);
        // A time from the future was made by a clock that has been set back since.
        let is_due = last.is_none_or(|last| last.mark != pane.mark) && (asked.saturating_add(EVERY) <= now() || asked > now());
        if is_due {
            due.push((asked, id, pane));
        }
    }
    due.sort_by_key(|&(asked, ..)| asked);
    for (_, id, pane) in due.into_iter().take(AT_ONCE) {
        let shown = server.pane_text(&generation, &pane.id, config.scrollback, LIMIT).map_err(unanswered)?;
        let new = kept(&String::from_utf8_lossy(&shown), config.scrollback).map(|text| (text, now()));
        // Nothing new: that it was asked is noted all the same, or it would be asked again in each round.
        let (text, taken) = new.or_else(|| store.text(id).map(|old| (old.text, old.taken))).unwrap_or_default();
        store.save_text(&held, id, &KeptText { text, taken, mark: pane.mark.clone() })?;
    }
    let buried = loaded.state.tombstones.iter().filter(|tombstone| tombstone.reason != Reason::Ignored).map(|tombstone| &tombstone.shell);
    let known: HashSet<&str> = loaded.state.shells.iter().chain(buried).flat_map(Shell::panes).map(|pane| pane.id.as_str()).collect();
    store.keep_texts(&|pane| known.contains(pane));
    Ok(())
}
