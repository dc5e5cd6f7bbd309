//! In which pane a conversation is shown that a shared server of the agent's runs. Pure.
//!
//! Codex runs the hooks of all its conversations in one background process, whose environment and ancestors are those of whichever
//! pane first started it. So the pane is told by what the programs in the panes show themselves, and by nothing else; where that
//! leaves a doubt, no pane is bound.

use super::flags::Run;
use super::lineage::AgentProcess;
use crate::model::{EpochMs, RawText};

/// With one of these the conversation runs in the program itself, whose hooks tell their pane by their ancestors.
const IN_PROCESS: &[&str] =
    &["--no-daemon", "--config", "--profile", "--search", "--oss", "--strict-config", "--dangerously-bypass-hook-trust"];
/// With one of these it works in another directory than its process is in.
const ELSEWHERE: &[&str] = &["--cd", "-C", "--worktree"];
/// How much of an id a title shows, at the least.
const SHOWN: usize = 29;

/// A program that shows a conversation of the shared server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Viewer {
    /// The conversation that its arguments name.
    pub argv_id: Option<String>,
    /// The title of its pane; empty where it is in none.
    pub title: String,
    /// The directory that it works in; `None` where that can't be told.
    pub dir: Option<RawText>,
    /// When it was started.
    pub since: Option<EpochMs>,
    /// The conversation that its pane is bound to since it was started.
    pub bound: Option<String>,
}

/// A conversation that is looked for.
#[derive(Clone, Copy, Debug, Default)]
pub struct Wanted<'a> {
    /// Its id.
    pub id: &'a str,
    /// The directory that it works in.
    pub dir: &'a str,
    /// Its name, where it has one.
    pub name: Option<&'a str>,
}

/// Why no pane is bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unclear {
    /// None shows it, as far as can be told.
    Nowhere,
    /// Several may show it.
    Several,
}

impl std::fmt::Display for Unclear {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Nowhere => "no pane shows this conversation, as far as can be told",
            Self::Several => {
                "several panes may show this conversation; `sidecar agent integration install codex --titles` tells them apart"
            }
        })
    }
}

/// Whether this run keeps its conversation in the shared server.
pub fn is_shared(agent: &AgentProcess) -> bool {
    let kept = agent.kept.iter().flatten().map(RawText::display);
    matches!(agent.run, Run::Conversation(_))
        && !kept.into_iter().any(|flag| IN_PROCESS.iter().any(|name| flag.split('=').next() == Some(name)))
}

/// Whether its arguments leave its process's directory as the one that it works in.
pub fn works_here(agent: &AgentProcess) -> bool {
    let Some(args) = &agent.args else { return false };
    // A conversation that was begun elsewhere goes on there.
    let goes_on = args.iter().any(|word| matches!(word.as_bytes(), b"resume" | b"fork"));
    agent.run == Run::Conversation(None) && !goes_on && !moves(agent)
}

/// Whether its arguments may name another directory than its process's.
pub fn moves(agent: &AgentProcess) -> bool {
    agent.args.as_ref().is_none_or(|args| args.iter().any(|word| ELSEWHERE.iter().any(|flag| word.display().starts_with(flag))))
}

/// The id in a title, or as much of it as is shown.
pub fn id_in(title: &str) -> Option<&str> {
    title.split([' ', '|']).map(|word| word.trim_end_matches("...").trim_end_matches('…')).find(|word| {
        (SHOWN..=36).contains(&word.len())
            && word.bytes().enumerate().all(|(at, byte)| match at {
                8 | 13 | 18 | 23 => byte == b'-',
                _ => byte.is_ascii_hexdigit(),
            })
    })
}

/// A title without what turns at its front while Codex works.
pub fn at_rest(title: &str) -> &str {
    let turns = |front: &str| front.chars().all(|c| ('\u{2800}'..='\u{28ff}').contains(&c));
    title.split_once(' ').filter(|(front, _)| turns(front)).map_or(title, |(_, rest)| rest)
}

/// When a conversation was begun: the id of Codex (UUID version 7) begins with that time.
fn begun(id: &str) -> Option<EpochMs> {
    let digits: String = id.get(..13)?.chars().filter(|&c| c != '-').collect();
    (id.as_bytes().get(14) == Some(&b'7')).then(|| u64::from_str_radix(&digits, 16).ok()).flatten()
}

/// Which of `viewers` shows it.
///
/// # Errors
/// None does for sure.
pub fn whose(wanted: Wanted, viewers: &[Viewer]) -> Result<usize, Unclear> {
    let fits = |shown: &str| wanted.id.starts_with(shown);
    let shown = |viewer: &Viewer| id_in(&viewer.title).map(fits);
    // What a title shows is the present state; what arguments name may have been left since.
    let by_title: Vec<usize> = (0..viewers.len()).filter(|&at| shown(&viewers[at]) == Some(true)).collect();
    let open: Vec<usize> = (0..viewers.len()).filter(|&at| shown(&viewers[at]).is_none()).collect();
    let of = |test: &dyn Fn(&Viewer) -> bool| -> Vec<usize> { open.iter().copied().filter(|&at| test(&viewers[at])).collect() };
    // One that is bound to another since then has left it, and where others are, one of them may show it now.
    let has_left = |viewer: &Viewer| open.len() > 1 && viewer.bound.as_deref().is_some_and(|bound| bound != wanted.id);
    let by_argv = of(&|viewer| viewer.argv_id.as_deref() == Some(wanted.id) && !has_left(viewer));
    let by_binding = of(&|viewer| viewer.bound.as_deref() == Some(wanted.id));
    for found in [by_title, by_argv, by_binding] {
        match found[..] {
            [] => {}
            [one] => return Ok(one),
            _ => return Err(Unclear::Several),
        }
    }
    // The thread's name stands in a title behind nothing else of that name.
    let by_name =
        of(&|viewer| wanted.name.is_some_and(|name| !name.is_empty() && at_rest(&viewer.title).split(" | ").any(|part| part == name)));
    if let [one] = by_name[..] {
        return Ok(one);
    }
    // A program that works elsewhere than its process is may be it too.
    let here = of(&|viewer| viewer.dir.as_ref().is_none_or(|dir| dir.as_bytes() == wanted.dir.as_bytes()));
    let begun = begun(wanted.id);
    match here[..] {
        [] => Err(Unclear::Nowhere),
        // One that is older than the program may have been opened from anywhere.
        [one] if viewers[one].dir.is_some() && begun.zip(viewers[one].since).is_some_and(|(begun, since)| begun + 1000 >= since) => Ok(one),
        [_] => Err(Unclear::Nowhere),
        _ => Err(Unclear::Several),
    }
}

/// Why the next conversation of the viewer at `at` could not be told from that of another one; `None` if it could.
pub fn why_unclear(viewers: &[Viewer], at: usize) -> Option<Unclear> {
    let own = &viewers[at];
    if id_in(&own.title).is_some() {
        return None;
    }
    let rival = |(other, viewer): (usize, &Viewer)| {
        other != at && id_in(&viewer.title).is_none() && (viewer.dir.is_none() || own.dir.is_none() || viewer.dir == own.dir)
    };
    viewers.iter().enumerate().any(rival).then_some(Unclear::Several)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    // Begun at 2026-11-29T15:10:12Z and a bit.
    const ID: &str = "01a228e7-fac2-7180-b353-a6ead433a7ba";
    const OTHER: &str = "01a228e7-fac3-7180-b353-a6ead433a7bb";

    fn viewer(dir: Option<&str>, title: &str, argv_id: Option<&str>, bound: Option<&str>) -> Viewer {
        Viewer {
            argv_id: argv_id.map(str::to_owned),
            title: title.into(),
            dir: dir.map(RawText::from),
            since: begun(ID).map(|at| at - 500),
            bound: bound.map(str::to_owned),
        }
    }

    #[test]
    fn a_pane_is_found_by_what_it_shows_and_by_nothing_doubtful() {
        let full = format!("{ID} | web");
        let cut = format!("⠋ {}... | web", &ID[..29]);
        let other = format!("{}...", &OTHER[..29]);
        let plain = || viewer(Some("/w"), "web", None, None);
        let wanted = Wanted { id: ID, dir: "/w", name: Some("Make it so") };
        for (why, viewers, found) in [
            ("nobody", vec![], Err(Unclear::Nowhere)),
            ("alone in the directory", vec![plain(), viewer(Some("/x"), "", None, None)], Ok(0)),
            ("two in one directory", vec![plain(), plain()], Err(Unclear::Several)),
            ("another directory", vec![viewer(Some("/x"), "", None, None)], Err(Unclear::Nowhere)),
            ("who works elsewhere may be it too", vec![plain(), viewer(None, "", None, None)], Err(Unclear::Several)),
            ("who works elsewhere is not it for sure", vec![viewer(None, "", None, None)], Err(Unclear::Nowhere)),
            ("the title shows it", vec![plain(), viewer(Some("/x"), &full, None, None)], Ok(1)),
            ("the title shows its beginning", vec![plain(), viewer(Some("/w"), &cut, None, None)], Ok(1)),
            ("the other one shows another", vec![plain(), viewer(Some("/w"), &other, None, None)], Ok(0)),
            ("it shows another", vec![viewer(Some("/w"), &other, None, None)], Err(Unclear::Nowhere)),
            ("two show it", vec![viewer(None, &cut, None, None), viewer(None, &full, None, None)], Err(Unclear::Several)),
            ("its arguments name it", vec![plain(), viewer(None, "", Some(ID), None)], Ok(1)),
            ("its arguments named it, and it shows another", vec![viewer(None, &other, Some(ID), None)], Err(Unclear::Nowhere)),
            ("resumed in two", vec![viewer(None, "", Some(ID), None), viewer(None, "", Some(ID), None)], Err(Unclear::Several)),
            ("it was told before", vec![plain(), viewer(Some("/w"), "", None, Some(ID))], Ok(1)),
            (
                "its arguments named it, and it was bound to another since",
                vec![viewer(Some("/w"), "", Some(ID), Some(OTHER)), viewer(Some("/w"), "", None, None)],
                Err(Unclear::Several),
            ),
            ("the same, and there is no other", vec![viewer(Some("/w"), "", Some(ID), Some(OTHER))], Ok(0)),
            ("the name of the thread", vec![plain(), viewer(Some("/w"), "Make it so | web", None, None)], Ok(1)),
            ("its name while it works", vec![plain(), viewer(Some("/w"), "⠹ Make it so | web", None, None)], Ok(1)),
            (
                "two threads of one name",
                vec![viewer(Some("/w"), "Make it so | a", None, None), viewer(Some("/w"), "Make it so | b", None, None)],
                Err(Unclear::Several),
            ),
        ] {
            assert_eq!(whose(wanted, &viewers), found, "{why}");
        }
        // A conversation from before the program was started: it may be shown by one that works elsewhere.
        let late = Viewer { since: begun(ID).map(|at| at + 60_000), ..plain() };
        assert_eq!(whose(wanted, &[late]), Err(Unclear::Nowhere));
    }

    #[test]
    fn titles_tell_ids_and_nothing_that_only_looks_like_one() {
        let cut = format!("a {}...", &ID[..29]);
        assert_eq!(id_in(&cut), Some(&ID[..29]));
        assert_eq!(id_in(ID), Some(ID));
        for none in ["", "web", &ID[..28], &format!("{ID}0"), "01a228e7_fac2_7180_b353_a6ead433a7ba", "✳ Claude Code"] {
            assert_eq!(id_in(none), None, "{none}");
        }
    }

    #[test]
    fn a_doubt_is_told_before_it_arises() {
        let plain = || viewer(Some("/w"), "web", None, None);
        assert_eq!(why_unclear(&[plain()], 0), None);
        assert_eq!(why_unclear(&[plain(), viewer(Some("/x"), "", None, None)], 0), None);
        assert_eq!(why_unclear(&[plain(), plain()], 0), Some(Unclear::Several));
        assert_eq!(why_unclear(&[plain(), viewer(None, "", None, None)], 0), Some(Unclear::Several));
        assert_eq!(why_unclear(&[plain(), viewer(Some("/w"), ID, None, None)], 0), None);
    }

    fn any_viewer() -> impl Strategy<Value = Viewer> {
        let id = || proptest::option::of(proptest::sample::select(vec![ID.to_owned(), OTHER.to_owned()]));
        let titles = vec![String::new(), ID.to_owned(), format!("{}...", &OTHER[..29]), "Make it so | w".to_owned()];
        (id(), proptest::sample::select(titles), proptest::option::of(proptest::sample::select(vec!["/w", "/x"])), id())
            .prop_map(|(argv_id, title, dir, bound)| Viewer { argv_id, title, dir: dir.map(RawText::from), since: Some(0), bound })
    }

    proptest! {
        /// Whatever is found is found in any order, never beside its equal, and never shows another conversation.
        #[test]
        fn no_pane_is_guessed(viewers in proptest::collection::vec(any_viewer(), 0..5)) {
            let wanted = Wanted { id: ID, dir: "/w", name: Some("Make it so") };
            let found = whose(wanted, &viewers);
            let reversed: Vec<Viewer> = viewers.iter().rev().cloned().collect();
            prop_assert_eq!(whose(wanted, &reversed).map(|at| viewers.len() - 1 - at), found);
            if let Ok(at) = found {
                prop_assert!(id_in(&viewers[at].title).is_none_or(|shown| ID.starts_with(shown)));
                let twins = viewers.iter().filter(|other| **other == viewers[at]).count();
                prop_assert_eq!(twins, 1);
            }
        }
    }
}
