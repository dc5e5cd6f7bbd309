//! What a snapshot adds to the records: shells that they lack, and conversations that panes lack. Pure; nothing newer is replaced.

use std::collections::HashSet;

use super::agents::recorded;
use crate::agents::cutoff::{Chosen, Cutoff, choose};
use crate::model::{Binding, EpochMs, Observation, Pane, Reason, Report, Shell, Since, Snapshot, State, Window};

/// Adds the shells that only the snapshot has; gives their ids.
///
/// One that was closed since comes back, as its tombstone was made of what was seen. What the user forgot or deleted, or keeps from being
/// recorded, stays away. A window or a pane that another shell has now stays there.
pub fn thaw(state: &mut State, snapshot: &Snapshot, seen: Option<&Observation>) -> HashSet<String> {
    let mut added = HashSet::new();
    for frozen in &snapshot.state.shells {
        let id = frozen.id.as_str();
        let place = state.tombstones.iter().position(|tombstone| tombstone.shell.id == id);
        let wished = place.is_some_and(|place| state.tombstones[place].reason != Reason::Closed);
        if wished || frozen.deleting.is_some() || state.shells.iter().any(|shell| shell.id == id) {
            continue;
        }
        let closed = place.map(|place| &state.tombstones[place].shell);
        let Some(shell) = thawed(frozen, closed, state, seen) else { continue };
        added.insert(shell.id.clone());
        if let Some(place) = place {
            state.tombstones.remove(place);
        }
        state.shells.push(shell);
    }
    added
}

/// The shell as it was, but for what became of it since; `None` if nothing is left of it.
fn thawed(frozen: &Shell, closed: Option<&Shell>, state: &State, seen: Option<&Observation>) -> Option<Shell> {
    let others = || state.tombstones.iter().map(|tombstone| &tombstone.shell).filter(|shell| shell.id != frozen.id).chain(&state.shells);
    let taken: HashSet<&str> = others()
        .flat_map(Shell::own_windows)
        .flat_map(|window| window.panes.iter().map(|pane| pane.id.as_str()).chain([window.id.as_str()]))
        .collect();
    let whole = closed.map_or_else(|| frozen.clone(), |closed| merged(frozen, closed));
    let mut shell = Shell { missing: None, closing: None, restoring: None, ..whole };
    for window in shell.windows.iter_mut().filter(|window| !window.linked) {
        retain(window, |pane| !taken.contains(pane.id.as_str()));
    }
    shell.windows.retain(|window| window.linked || !(taken.contains(window.id.as_str()) || window.panes.is_empty()));
    shell.own_windows().next()?;
    let lives = seen.is_some_and(|seen| seen.sessions.iter().any(|session| session.tag == shell.id));
    if !lives && seen.is_some_and(|seen| shell.lives_in(&seen.generation)) {
        // The next look at the life that it was closed in would close it again.
        shell.seen = None;
    }
    Some(shell)
}

/// Keeps these panes of a window; its layout is that of all.
fn retain(window: &mut Window, keep: impl Fn(&Pane) -> bool) {
    let before = window.panes.len();
    window.panes.retain(keep);
    if window.panes.len() != before {
        window.layout = None;
    }
}

/// A shell as it was closed, and of the snapshot the windows and panes that it had lost by then: a session is often closed pane by pane.
fn merged(frozen: &Shell, closed: &Shell) -> Shell {
    let mut earlier = frozen.windows.clone();
    for window in &mut earlier {
        let id = window.id.clone();
        let moved = |pane: &Pane| closed.windows.iter().any(|other| other.id != id && other.panes.iter().any(|own| own.id == pane.id));
        retain(window, |pane| !moved(pane));
    }
    let mut windows: Vec<Window> = closed.windows.iter().map(|window| with_lost_panes(window, &earlier)).collect();
    for lost in earlier.iter().filter(|lost| closed.windows.iter().all(|window| window.id != lost.id)) {
        let is_free = |index: u32| windows.iter().all(|window| window.index != index);
        let index = Some(lost.index).filter(|&index| is_free(index)).or_else(|| (0..Window::LAST_INDEX).find(|&index| is_free(index)));
        // Which window is the current one was decided since.
        let (active, last) = if closed.windows.is_empty() { (lost.active, lost.last) } else { (false, false) };
        windows.push(Window { index: index.unwrap_or(lost.index), active, last, ..lost.clone() });
    }
    windows.sort_by_key(|window| window.index);
    Shell { windows, ..closed.clone() }
}

/// A window with the panes that a snapshot has besides; one that has got others since stays as it is.
fn with_lost_panes(window: &Window, frozen: &[Window]) -> Window {
    let find = |panes: &[Pane], pane: &Pane| panes.iter().find(|own| own.id == pane.id).cloned();
    let earlier = frozen.iter().find(|earlier| earlier.id == window.id && earlier.panes.len() > window.panes.len() && !window.linked);
    match earlier {
        Some(earlier) if window.panes.iter().all(|pane| find(&earlier.panes, pane).is_some()) => {
            let pane = |pane: &Pane| {
                let Pane { index, active, last, floating, .. } = *pane;
                find(&window.panes, pane).map_or_else(|| pane.clone(), |newer| Pane { index, active, last, floating, ..newer })
            };
            let (layout, width, height, zoomed) = (earlier.layout.clone(), earlier.width, earlier.height, earlier.zoomed);
            Window { panes: earlier.panes.iter().map(pane).collect(), layout, width, height, zoomed, ..window.clone() }
        }
        _ => window.clone(),
    }
}

/// The conversation that a pane had in a snapshot.
pub(super) fn frozen_conversation(pane: &Pane, has_content: &dyn Fn(&Binding) -> bool) -> Option<Chosen> {
    choose(&recorded(pane).collect::<Vec<_>>(), Cutoff::default(), has_content)
}

/// Which of two a pane is given: what is known of it now, or what a snapshot has. What is known stays if it has a transcript and is not
/// older; else the snapshot's fills the gap, if that one has a transcript. `reports` are all that is known of the pane.
pub(super) fn fill(
    known: Option<Chosen>,
    frozen: Option<Chosen>,
    reports: &[Report],
    has_transcript: &dyn Fn(&Binding) -> bool,
) -> Option<Chosen> {
    let Some(frozen) = frozen.filter(|frozen| has_transcript(&frozen.binding)) else { return known };
    if known
        .as_ref()
        .is_some_and(|known| known.binding.is_same(&frozen.binding) || (known.at >= frozen.at && has_transcript(&known.binding)))
    {
        return known;
    }
    // What became of that very conversation since, such as that the user ended it.
    let own = |report: &&Report| report.binding.as_ref().is_some_and(|binding| binding.is_same(&frozen.binding));
    let generation = frozen.binding.process.as_ref().map(|process| process.generation.clone());
    let then = Report { at: frozen.at, generation, pane: String::new(), binding: Some(frozen.binding.clone()) };
    let mut of_it: Vec<Report> = reports.iter().filter(own).cloned().collect();
    of_it.push(then);
    let latest = of_it.iter().max_by_key(|report| last_word(report)).and_then(|report| report.binding.clone());
    let ended = latest.map_or(frozen.binding.ended.clone(), |latest| latest.ended);
    Some(Chosen { binding: Binding { ended, ..frozen.binding }, at: frozen.at, since: Since::Snapshot })
}

/// When a report was true: an end may have been written without a report of its own.
fn last_word(report: &Report) -> EpochMs {
    let ended = report.binding.as_ref().and_then(|binding| binding.ended.as_ref()).map_or(0, |end| end.at);
    report.at.max(ended)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{BindingEnd, EndReason, Generation, Layout, Policy, SNAPSHOT_VERSION, Seen, SeenSession, TmuxSettings, Tombstone};

    fn shell(id: &str, windows: &[(&str, &[&str])]) -> Shell {
        let pane = |id: &&str| Pane { id: (*id).into(), ..Pane::default() };
        let layout = Layout::parse("b25d,80x24,0,0,0");
        let window = |(id, panes): &(&str, &[&str])| Window {
            id: (*id).into(),
            panes: panes.iter().map(pane).collect(),
            layout: layout.clone(),
            ..Window::default()
        };
        Shell { id: id.into(), session: id.into(), windows: windows.iter().map(window).collect(), ..Shell::default() }
    }

    fn frozen(shells: Vec<Shell>) -> Snapshot {
        let state = State { shells, ..State::default() };
        Snapshot { version: SNAPSHOT_VERSION, at: 100, running: Vec::new(), state, extra: serde_json::Map::new() }
    }

    fn tombstone(shell: Shell, reason: Reason) -> Tombstone {
        Tombstone { reason, deleted_at: 200, shell, extra: serde_json::Map::new() }
    }

    fn ids(state: &State) -> Vec<&str> {
        state.shells.iter().map(|shell| shell.id.as_str()).collect()
    }

    #[test]
    fn what_is_missing_or_closed_comes_back_and_what_the_user_sent_away_does_not() {
        let all = ["sh-here", "sh-lost", "sh-closed", "sh-forgotten", "sh-deleted", "sh-ignored"];
        let of = |id: &str| shell(id, &[(&id.replace("sh", "wn"), &[&id.replace("sh", "pn")])]);
        let mut deleting = of("sh-deleting");
        deleting.deleting = Some(crate::model::Mark { at: 1, generation: life(1) });
        let snapshot = frozen(all.iter().map(|id| of(id)).chain([deleting]).collect());
        let tombstones = [
            ("sh-closed", Reason::Closed),
            ("sh-forgotten", Reason::Forgotten),
            ("sh-deleted", Reason::Deleted),
            ("sh-ignored", Reason::Ignored),
        ];
        let mut here = of("sh-here");
        here.name = "as it is now".into();
        let mut closed = of("sh-closed");
        closed.policy = Policy::Never;
        let tombstones = tombstones.map(|(id, reason)| tombstone(if id == "sh-closed" { closed.clone() } else { of(id) }, reason));
        let mut state = State { shells: vec![here.clone()], tombstones: tombstones.to_vec(), ..State::default() };
        let added = thaw(&mut state, &snapshot, None);
        assert_eq!(added, HashSet::from(["sh-lost".to_owned(), "sh-closed".to_owned()]));
        assert_eq!(ids(&state), ["sh-here", "sh-lost", "sh-closed"]);
        assert_eq!((&state.shells[0], state.shells[2].policy, state.tombstones.len()), (&here, Policy::Never, 3));
        assert!(thaw(&mut state, &snapshot, None).is_empty(), "once");
    }

    #[test]
    fn what_another_shell_has_now_stays_there() {
        let snapshot = frozen(vec![
            shell("sh-a", &[("wn-1", &["pn-1", "pn-2"]), ("wn-2", &["pn-3"]), ("wn-3", &["pn-4"])]),
            shell("sh-b", &[("wn-9", &["pn-9"])]),
        ]);
        // The pane 2 was broken out into another session, the window 2 moved there; all of `sh-b` lives on in the shells of its group.
        let mut state =
            State { shells: vec![shell("sh-c", &[("wn-7", &["pn-2"]), ("wn-2", &["pn-3"]), ("wn-9", &["pn-9"])])], ..State::default() };
        assert_eq!(thaw(&mut state, &snapshot, None), HashSet::from(["sh-a".to_owned()]));
        let windows = &state.shells[1].windows;
        assert_eq!(
            windows.iter().map(|window| (window.id.as_str(), window.panes.len(), window.layout.is_some())).collect::<Vec<_>>(),
            [("wn-1", 1, false), ("wn-3", 1, true)]
        );
    }

    #[test]
    fn a_closed_shell_comes_back_with_what_it_got_since_and_what_it_had_lost_when_it_was_closed() {
        let before = shell("sh-a", &[("wn-1", &["pn-1", "pn-2"]), ("wn-2", &["pn-3"]), ("wn-3", &["pn-4", "pn-5"])]);
        let mut before = Shell { name: "old name".into(), ..before };
        for (window, index) in before.windows.iter_mut().zip(0..) {
            window.index = index;
        }
        before.windows[1].active = true;
        // Since then the first window has lost a pane, the second was closed, the third has got one, and a fourth has come.
        let mut closed = shell("sh-a", &[("wn-1", &["pn-2"]), ("wn-4", &["pn-7"]), ("wn-3", &["pn-4", "pn-6"])]);
        // One pane has moved to where its window's was.
        before.windows.push(shell("", &[("wn-5", &["pn-8"])]).windows.remove(0));
        closed.windows[1].panes.push(Pane { id: "pn-8".into(), ..Pane::default() });
        closed.name = "new name".into();
        for (window, index) in closed.windows.iter_mut().zip(0..) {
            (window.index, window.active, window.layout) = (index, index == 0, None);
        }
        closed.windows[0].panes[0].dir = "/newer".into();
        let mut state = State { tombstones: vec![tombstone(closed, Reason::Closed)], ..State::default() };
        thaw(&mut state, &frozen(vec![before]), None);
        let back = &state.shells[0];
        let panes = |window: &Window| window.panes.iter().map(|pane| pane.id[3..].to_owned()).collect::<Vec<_>>().join(" ");
        let told: Vec<_> = back
            .windows
            .iter()
            .map(|window| (window.index, window.id.as_str(), panes(window), window.active, window.layout.is_some()))
            .collect();
        assert_eq!(
            told,
            [
                (0, "wn-1", "1 2".to_owned(), true, true),
                (1, "wn-4", "7 8".to_owned(), false, false),
                (2, "wn-3", "4 6".to_owned(), false, false),
                (3, "wn-2", "3".to_owned(), false, true),
            ]
        );
        assert_eq!((back.name.as_str(), &back.windows[0].panes[1].dir, state.tombstones.len()), ("new name", &"/newer".into(), 0));
    }

    fn life(pid: i32) -> Generation {
        Generation { boot: "b".into(), pid, start_time: 1, process_start: None }
    }

    #[test]
    fn a_shell_of_the_present_life_is_not_closed_again_by_the_next_look() {
        for (snapshot_life, tag, known) in [(1, "", false), (1, "sh-a", true), (2, "", true)] {
            let mut own = shell("sh-a", &[("wn-1", &["pn-1"])]);
            own.seen = Some(Seen { at: 1, generation: life(snapshot_life), session: "$1".into() });
            let session = SeenSession { tag: tag.into(), ..SeenSession::default() };
            let seen =
                Observation { generation: life(1), version: "3.5a".into(), sessions: vec![session], settings: TmuxSettings::default() };
            let mut state = State::default();
            thaw(&mut state, &frozen(vec![own]), Some(&seen));
            assert_eq!(state.shells[0].seen.is_some(), known, "{snapshot_life} {tag}");
        }
    }

    fn binding(id: &str, ended: Option<EpochMs>) -> Binding {
        let ended = ended.map(|at| BindingEnd { reason: EndReason::User, at });
        Binding { kind: "claude".into(), id: id.into(), prompted: true, ended, ..Binding::default() }
    }

    fn chosen(id: &str, at: EpochMs) -> Chosen {
        Chosen { binding: binding(id, None), at, since: Since::Newest }
    }

    fn report(id: &str, at: EpochMs, ended: Option<EpochMs>) -> Report {
        Report { at, generation: None, pane: "pn-1".into(), binding: Some(binding(id, ended)) }
    }

    #[test]
    fn a_snapshot_fills_what_is_missing_and_overrides_nothing_newer() {
        // `good` has a transcript, and so has `old`; `gone` has none.
        let has_transcript = |binding: &Binding| binding.id != "gone";
        for (why, known, frozen, wanted) in [
            ("nothing is known", None, Some(chosen("old", 10)), Some(("old", Since::Snapshot))),
            ("its transcript is gone", Some(chosen("gone", 20)), Some(chosen("old", 10)), Some(("old", Since::Snapshot))),
            ("a newer one with content", Some(chosen("good", 20)), Some(chosen("old", 10)), Some(("good", Since::Newest))),
            ("of the same moment", Some(chosen("good", 10)), Some(chosen("old", 10)), Some(("good", Since::Newest))),
            ("an older one", Some(chosen("good", 5)), Some(chosen("old", 10)), Some(("old", Since::Snapshot))),
            ("the same one", Some(chosen("old", 5)), Some(chosen("old", 10)), Some(("old", Since::Newest))),
            ("the snapshot's transcript is gone too", Some(chosen("gone", 20)), Some(chosen("gone", 10)), Some(("gone", Since::Newest))),
            ("only the snapshot's is gone", None, Some(chosen("gone", 10)), None),
            ("the snapshot knows nothing", Some(chosen("gone", 20)), None, Some(("gone", Since::Newest))),
            ("nobody knows anything", None, None, None),
        ] {
            let filled = fill(known, frozen, &[], &has_transcript);
            assert_eq!(filled.as_ref().map(|filled| (filled.binding.id.as_str(), filled.since)), wanted, "{why}");
        }
    }

    #[test]
    fn what_the_user_ended_since_the_snapshot_stays_ended() {
        let ended = |reports: &[Report]| {
            let filled = fill(Some(chosen("gone", 50)), Some(chosen("old", 10)), reports, &|binding| binding.id != "gone");
            filled.unwrap().binding.ended.is_some()
        };
        assert!(!ended(&[]) && !ended(&[report("old", 5, Some(6))]), "it was opened again before");
        assert!(ended(&[report("old", 30, Some(30))]));
        assert!(ended(&[report("old", 8, Some(30))]), "the end has no report of its own");
        assert!(!ended(&[report("old", 30, Some(30)), report("old", 40, None)]));
        assert!(!ended(&[report("other", 30, Some(30))]));
    }
}
