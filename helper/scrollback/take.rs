//! Takes what the panes show, when it is time, and keeps it.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use super::text::{PROMPT, kept};
use crate::agents::process;
use crate::error::{Error, Result};
use crate::model::{EpochMs, Reason, Shell, Tombstone};
use crate::record::now;
use crate::store::{Config, KeptText, Source, Store, TextMark};
use crate::tmux::{Failure, Server, is_starting};

/// For so long, in ms for each line that it showed, a pane is not asked again: tmux stands still while it writes them, for a hundredth of a
/// millisecond each.
const REST: EpochMs = 6;
/// How many panes are asked in one round.
const PANES: usize = 32;
/// How many lines they may have shown until the round is over.
const LINES: usize = 20_000;
const LIMIT: Duration = Duration::from_secs(5);

/// One round: the panes whose screen has changed, those that wait longest first; in the `last` one of a server all of them, however much they
/// show. Drops what belongs to no record any more, and all of it where the user wants none; where that
/// can't be read, nothing is done.
///
/// # Errors
/// No answer, or a folder that can't be written; what was kept before is as it was then.
pub fn take(server: &Server, store: &Store, config: &Config, last: bool) -> Result<()> {
    let Some(most) = config.scrollback else { return Ok(()) };
    if most == 0 {
        store.sweep_texts();
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
        match store.text_mark(id).filter(|(_, known)| pane.is_same_pane(&known.state)) {
            None => due.push((0, id, pane, None)),
            Some((asked, known)) if known.state != pane.state && (last || has_rested(asked, &known, now())) => {
                due.push((asked, id, pane, Some(known.prompt)));
            }
            Some(_) => {}
        }
    }
    due.sort_by_key(|&(asked, ..)| asked);
    let mut lines_asked = 0;
    for (number, (_, id, pane, prompt)) in due.into_iter().enumerate() {
        if !last && (number == PANES || lines_asked > LINES) {
            break;
        }
        let shown = server.pane_text(&generation, &pane.id, most, LIMIT).map_err(unanswered)?;
        let shown = String::from_utf8_lossy(&shown);
        let lines = shown.lines().count();
        lines_asked += lines;
        let (text, below) = kept(&shown, most, prompt.unwrap_or(PROMPT));
        // Nothing new: that it was asked is noted all the same, or it would be asked again in each round.
        let old = || store.text(id).map(|old| (old.text, old.taken));
        let (text, taken) = text.map(|text| (text, now())).or_else(old).unwrap_or_default();
        let mark = TextMark { state: pane.state.clone(), lines, prompt: prompt.unwrap_or(below.min(PROMPT)) };
        store.save_text(&held, id, &KeptText { text, taken, mark })?;
    }
    let is_buried = |tombstone: &&Tombstone| !matches!(tombstone.reason, Reason::Ignored | Reason::Taken);
    let buried = loaded.state.tombstones.iter().filter(is_buried).map(|tombstone| &tombstone.shell);
    let known: HashSet<&str> = loaded.state.shells.iter().chain(buried).flat_map(Shell::panes).map(|pane| pane.id.as_str()).collect();
    store.sweep_texts();
    store.keep_texts(&|pane| known.contains(pane));
    Ok(())
}

/// Whether a pane may be asked again. A time from the future was made by a clock that has been set back since.
fn has_rested(asked: EpochMs, known: &TextMark, now: EpochMs) -> bool {
    let rest = EpochMs::try_from(known.lines).unwrap_or(EpochMs::MAX).saturating_mul(REST);
    asked > now || asked.saturating_add(rest) <= now
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pane_rests_the_longer_the_more_it_shows() {
        let over = |asked, lines, now| has_rested(asked, &TextMark { lines, ..TextMark::default() }, now);
        assert!(over(1000, 0, 1000) && over(1000, 100, 1600) && over(1000, 10_000, 61_000));
        assert!(!over(1000, 100, 1599) && !over(1000, 10_000, 60_999) && !over(1000, usize::MAX, 1_000_000));
        assert!(over(2000, 100, 1000), "the clock was set back");
    }
}
