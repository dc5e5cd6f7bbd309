//! What each shell of a run makes by itself, and what it takes from the others: windows that stand in several sessions are
//! made once and linked, and the members of a session group share theirs.

use std::collections::{HashMap, HashSet};

use crate::model::{Observation, Shell, Window};

/// The shells whose sessions hold a window, by the window's stable id.
pub(super) type LiveWindows = HashMap<String, HashSet<String>>;

/// The shells of a run as they are to be made, the leaders of groups first.
///
/// A window whose content stands in another record is made here if that record is not part of the run and the window does not
/// live; one that lives in another session already is linked. `live` gives the shells whose sessions hold a window that lives.
pub(super) fn effective(wanted: &[&Shell], all: &[Shell], live: &LiveWindows) -> Vec<Shell> {
    let mut content: HashMap<&str, &Window> = HashMap::new();
    for window in wanted.iter().copied().chain(all).flat_map(Shell::own_windows) {
        content.entry(&window.id).or_insert(window);
    }
    let mut made: HashSet<String> = HashSet::new();
    let mut shells: Vec<Shell> = wanted.iter().map(|shell| (*shell).clone()).collect();
    // Who holds content comes before who only links to it.
    shells.sort_by_key(|shell| shell.own_windows().count() == 0);
    let owned: HashSet<String> = shells.iter().flat_map(Shell::own_windows).map(|window| window.id.clone()).collect();
    // The member that leads a group makes all of its windows, whichever of their records holds them: the others join it.
    let mut led: HashSet<String> = HashSet::new();
    for shell in &mut shells {
        let leads = shell.group.as_ref().is_some_and(|group| led.insert(group.clone()));
        for window in &mut shell.windows {
            let holders = live.get(&window.id);
            let here = holders.is_some_and(|holders| holders.contains(&shell.id));
            let takes = match holders {
                None => !window.linked || leads || !owned.contains(&window.id),
                // Where a run that was cut short made it, it is finished: by its owner, or by whom it was made for in that one's place.
                Some(holders) => here && (!window.linked || !is_held_by_its_owner(all, &window.id, holders)),
            };
            if takes && made.insert(window.id.clone()) {
                if let Some(known) = content.get(window.id.as_str()).filter(|_| window.linked) {
                    *window = Window { index: window.index, active: window.active, last: window.last, gone: None, ..(*known).clone() };
                }
            } else {
                window.linked = true;
                window.panes.clear();
            }
        }
    }
    shells
}

/// Whether a session that holds a window is that of a shell whose record holds its content.
fn is_held_by_its_owner(all: &[Shell], window: &str, holders: &HashSet<String>) -> bool {
    all.iter().any(|shell| holders.contains(&shell.id) && shell.own_windows().any(|own| own.id == window))
}

/// The live session that a shell joins the group of, if one of its group's members lives: its live id and its name. A member
/// that came back alone is in no group now; it is known by the windows that the two share.
pub(super) fn leader<'a>(shell: &Shell, all: &[Shell], seen: &'a Observation) -> Option<(&'a str, &'a str)> {
    let group = shell.group.as_ref()?;
    let places = |shell: &Shell| shell.windows.iter().map(|window| (window.index, window.id.clone())).collect::<Vec<_>>();
    let member = |tag: &str| {
        let other = all.iter().find(|other| other.id == tag && other.id != shell.id);
        other.is_some_and(|other| other.group.as_ref() == Some(group) || places(other) == places(shell))
    };
    seen.sessions.iter().find(|session| member(&session.tag)).map(|session| (session.id.as_str(), session.name.as_str()))
}

/// The shells that come back by joining a group, since an earlier one of the run, or a living session, leads it.
pub(super) fn followers(shells: &[Shell], all: &[Shell], seen: &Observation) -> HashSet<String> {
    let mut led: HashSet<&str> = HashSet::new();
    let mut followers = HashSet::new();
    for shell in shells {
        let Some(group) = shell.group.as_deref() else { continue };
        let lives = leader(shell, all, seen).is_some();
        if lives || !led.insert(group) {
            followers.insert(shell.id.clone());
        }
    }
    followers
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Pane;

    fn window(id: &str, linked: bool) -> Window {
        let panes = if linked { Vec::new() } else { vec![Pane { id: format!("pn-{id}"), ..Pane::default() }] };
        Window { id: id.into(), linked, panes, ..Window::default() }
    }

    fn shell(id: &str, windows: Vec<Window>) -> Shell {
        Shell { id: id.into(), windows, ..Shell::default() }
    }

    fn linked(shells: &[Shell]) -> Vec<(&str, Vec<bool>)> {
        shells.iter().map(|shell| (shell.id.as_str(), shell.windows.iter().map(|window| window.linked).collect())).collect()
    }

    #[test]
    fn the_leader_of_a_group_makes_all_its_windows() {
        let member = |id: &str, windows| Shell { group: Some("g".into()), ..shell(id, windows) };
        let all = [member("a", vec![window("w1", false), window("w2", true)]), member("b", vec![window("w1", true), window("w2", false)])];
        let both = effective(&[&all[0], &all[1]], &all, &LiveWindows::new());
        assert_eq!(linked(&both), [("a", vec![false, false]), ("b", vec![true, true])]);
        assert_eq!(both[0].panes().count(), 2);
        // Cut short before the other member was there, the leader still has them to finish; once that one is, it does.
        let holders = |shells: &[&str]| shells.iter().map(|&shell| shell.to_owned()).collect::<HashSet<_>>();
        let live = |shells| LiveWindows::from([("w1".to_owned(), holders(shells)), ("w2".to_owned(), holders(shells))]);
        assert_eq!(linked(&effective(&[&all[0], &all[1]], &all, &live(&["a"]))), [("a", vec![false, false]), ("b", vec![true, true])]);
        assert_eq!(linked(&effective(&[&all[0], &all[1]], &all, &live(&["a", "b"]))), [("a", vec![false, true]), ("b", vec![true, false])]);
    }

    #[test]
    fn a_window_of_two_sessions_is_made_once() {
        let all = [shell("b", vec![window("w1", true)]), shell("a", vec![window("w1", false), window("w2", false)])];
        let both = effective(&[&all[0], &all[1]], &all, &LiveWindows::new());
        assert_eq!(linked(&both), [("a", vec![false, false]), ("b", vec![true])]);
        // The one alone makes it by itself.
        let alone = effective(&[&all[0]], &all, &LiveWindows::new());
        assert_eq!(linked(&alone), [("b", vec![false])]);
        assert_eq!(alone[0].panes().count(), 1);
        // And its owner, restored later, links to it.
        let later = effective(&[&all[1]], &all, &LiveWindows::from([("w1".to_owned(), HashSet::from(["b".to_owned()]))]));
        assert_eq!(linked(&later), [("a", vec![true, false])]);
        // One that a run which was cut short has made keeps what is to be finished in it.
        let cut = effective(&[&all[1]], &all, &LiveWindows::from([("w1".to_owned(), HashSet::from(["a".to_owned(), "b".to_owned()]))]));
        assert_eq!(linked(&cut), [("a", vec![false, false])]);
    }
}
