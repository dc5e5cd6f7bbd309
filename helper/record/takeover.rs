//! Shells that move from one store to another. Pure: what arrives, under which ids, and what leaves.

use std::collections::{HashMap, HashSet};

use super::closing::{apply_hints, bury};
use crate::model::{BindingEntry, EpochMs, Hint, Ids, Reason, Report, Shell, State, Taken, Tombstone};

/// What a takeover does to both stores.
#[derive(Clone, Debug, Default)]
pub struct Takeover {
    /// Who all are meant, by their ids in the store that takes: also those that an earlier run has brought.
    pub ids: Vec<String>,
    /// Entries for the journal of the store that takes.
    pub journal: Vec<BindingEntry>,
    /// The panes that come: their ids there, and here.
    pub panes: Vec<(String, String)>,
    arriving: Vec<Shell>,
    leaving: Vec<String>,
}

/// What the store of `here` takes from the store `from`, whose records, unread hints and journal these are. `selected` are ids, of
/// there or of what came from there. Shells that share windows come together. Those that an earlier run has brought, and did not
/// live to take from there, only leave.
pub fn takeover(
    from: &str,
    (there, hints, reports): (&State, &[Hint], &[Report]),
    here: &State,
    selected: Option<&[String]>,
    ids: &mut dyn Ids,
) -> Takeover {
    let mut there = there.clone();
    apply_hints(&mut there, hints);
    let is_from_there = |shell: &&Shell| shell.taken.as_ref().is_some_and(|taken| taken.from == from);
    // What was given up again is not here, whatever it once was.
    let kept = || here.shells.iter().chain(kept_tombstones(here));
    let brought = || kept().filter(is_from_there);
    let is_selected = |id: &String| selected.is_none_or(|ids| ids.contains(id));
    let mut wanted: HashSet<&str> = brought()
        .filter(|shell| is_selected(&shell.id))
        .filter_map(|shell| Some(shell.taken.as_ref()?.shell.as_str()))
        .chain(there.shells.iter().filter(|shell| is_selected(&shell.id)).map(|shell| shell.id.as_str()))
        .collect();
    while let Some(more) = sharing(&there.shells, &wanted) {
        wanted.insert(more);
    }
    let mut takeover = Takeover::default();
    let mut fresh = FreshIds { occupied: occupied(here), given: HashMap::new(), ids };
    for shell in there.shells.iter().filter(|shell| wanted.contains(shell.id.as_str()) && shell.deleting.is_none()) {
        takeover.leaving.push(shell.id.clone());
        let origin = Taken { from: from.to_owned(), shell: shell.id.clone(), seen: shell.seen_at() };
        if brought().any(|own| own.taken.as_ref() == Some(&origin)) {
            continue;
        }
        let arriving = fresh.arriving(shell, origin);
        let panes: HashMap<&str, &str> = shell.panes().zip(arriving.panes()).map(|(old, new)| (old.id.as_str(), new.id.as_str())).collect();
        takeover.journal.extend(reports.iter().filter_map(|report| entry(report, &arriving, panes.get(report.pane.as_str())?)));
        takeover.panes.extend(panes.into_iter().map(|(there, here)| (there.to_owned(), here.to_owned())));
        takeover.ids.push(arriving.id.clone());
        takeover.arriving.push(arriving);
    }
    let earlier = here.shells.iter().filter(is_from_there);
    let is_meant = |shell: &&Shell| shell.taken.as_ref().is_some_and(|taken| wanted.contains(taken.shell.as_str()));
    takeover.ids.extend(earlier.filter(is_meant).map(|shell| shell.id.clone()));
    takeover
}

impl Takeover {
    /// Whether the store that takes gets anything.
    pub fn brings_any(&self) -> bool {
        !self.arriving.is_empty()
    }

    /// The records that the store that takes gets.
    pub fn arriving(&self) -> impl Iterator<Item = &Shell> {
        self.arriving.iter()
    }

    /// Whether the other store gives anything up.
    pub fn takes_any(&self) -> bool {
        !self.leaving.is_empty()
    }

    /// What the journal there has told of the panes that come.
    pub fn reports(&self) -> impl Iterator<Item = Report> {
        self.journal.iter().map(|entry| Report {
            at: entry.at,
            generation: Some(entry.generation.clone()),
            pane: entry.pane.clone(),
            binding: entry.binding.clone(),
        })
    }

    /// The records of the store that takes. What it once gave up and now gets again is no tombstone any more.
    pub fn arrive(&self, here: &mut State) {
        let is_back = |tombstone: &Tombstone| self.arriving.iter().any(|shell| shell.id == tombstone.shell.id);
        here.tombstones.retain(|tombstone| tombstone.reason != Reason::Taken || !is_back(tombstone));
        here.shells.extend(self.arriving.iter().cloned());
    }

    /// The records of the other store: each that leaves has a tombstone, which tells by whom it was taken.
    pub fn leave(&self, there: &mut State, by: &str, now: EpochMs) {
        let (leaving, staying): (Vec<Shell>, Vec<Shell>) =
            std::mem::take(&mut there.shells).into_iter().partition(|shell| self.leaving.contains(&shell.id));
        there.shells = staying;
        for shell in leaving {
            bury(there, shell, Reason::Taken, now);
            if let Some(tombstone) = there.tombstones.last_mut() {
                tombstone.extra.insert("takenBy".into(), by.into());
            }
        }
    }
}

/// A shell outside `wanted` that has a window in common with one in it: a member of its session group, or by a linked window.
fn sharing<'a>(all: &'a [Shell], wanted: &HashSet<&str>) -> Option<&'a str> {
    let (inside, outside): (Vec<&Shell>, Vec<&Shell>) = all.iter().partition(|shell| wanted.contains(shell.id.as_str()));
    let windows: HashSet<&str> = inside.iter().flat_map(|shell| &shell.windows).map(|window| window.id.as_str()).collect();
    let shares = |shell: &&Shell| shell.windows.iter().any(|window| windows.contains(window.id.as_str()));
    outside.into_iter().find(shares).map(|shell| shell.id.as_str())
}

/// The shells that are forgotten here, and no other store has.
fn kept_tombstones(here: &State) -> impl Iterator<Item = &Shell> {
    here.tombstones.iter().filter(|tombstone| tombstone.reason != Reason::Taken).map(|tombstone| &tombstone.shell)
}

/// The ids, and the names of groups, that mean something else here. What this store gave up may come back under its own.
fn occupied(here: &State) -> HashSet<String> {
    let mut occupied = HashSet::new();
    for shell in here.shells.iter().chain(kept_tombstones(here)) {
        occupied.insert(shell.id.clone());
        occupied.extend(shell.group.clone());
        occupied.extend(shell.windows.iter().map(|window| window.id.clone()));
        occupied.extend(shell.windows.iter().flat_map(|window| &window.panes).map(|pane| pane.id.clone()));
    }
    occupied
}

/// Ids that are free where a shell arrives: its own, unless another has them.
struct FreshIds<'a> {
    occupied: HashSet<String>,
    given: HashMap<String, String>,
    ids: &'a mut dyn Ids,
}

impl FreshIds<'_> {
    fn free(&mut self, prefix: &str, id: &mut String) {
        if self.occupied.contains(id.as_str()) {
            let ids = &mut self.ids;
            self.given.entry(id.clone()).or_insert_with(|| ids.fresh(prefix)).clone_into(id);
        }
    }

    /// The record with which a shell arrives. What a look or a restore has noted of it was about another server.
    fn arriving(&mut self, shell: &Shell, origin: Taken) -> Shell {
        let mut shell = Shell { missing: None, restoring: None, taken: Some(origin), ..shell.clone() };
        self.free("sh", &mut shell.id);
        if let Some(group) = &mut shell.group {
            self.free("group", group);
        }
        for window in &mut shell.windows {
            self.free("wn", &mut window.id);
            for pane in &mut window.panes {
                self.free("pn", &mut pane.id);
            }
        }
        shell
    }
}

/// What the journal there has told of a pane.
fn entry(report: &Report, shell: &Shell, pane: &str) -> Option<BindingEntry> {
    let generation = report.generation.clone().or_else(|| Some(shell.seen.as_ref()?.generation.clone()))?;
    let (at, binding, what) = (report.at, report.binding.clone(), "taken over".to_owned());
    Some(BindingEntry { at, generation, shell: shell.id.clone(), pane: pane.to_owned(), binding, what })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Generation, Pane, Seen, Window};

    struct Counted(u32);

    impl Ids for Counted {
        fn fresh(&mut self, prefix: &str) -> String {
            self.0 += 1;
            format!("{prefix}-new{}", self.0)
        }
    }

    fn shell(id: &str, windows: &[(&str, bool)], at: EpochMs) -> Shell {
        let pane = |window: &str| Pane { id: window.replace("wn", "pn"), ..Pane::default() };
        let windows = windows.iter().map(|&(id, linked)| {
            let panes = if linked { Vec::new() } else { vec![pane(id)] };
            Window { id: id.into(), linked, panes, ..Window::default() }
        });
        let generation = Generation { boot: "b".into(), pid: 1, start_time: 1, process_start: None };
        let seen = Some(Seen { at, generation, session: "$1".into() });
        Shell { id: id.into(), session: id.into(), name: id.into(), windows: windows.collect(), seen, ..Shell::default() }
    }

    fn state(shells: &[Shell]) -> State {
        State { shells: shells.to_vec(), ..State::default() }
    }

    fn ids(state: &State) -> Vec<&str> {
        state.shells.iter().map(|shell| shell.id.as_str()).collect()
    }

    fn take(there: &State, here: &State, selected: Option<&[String]>) -> Takeover {
        takeover("h/s", (there, &[], &[]), here, selected, &mut Counted(0))
    }

    #[test]
    fn killed_between_the_two_writes_it_converges_and_nothing_comes_twice() {
        let there = state(&[shell("sh-a", &[("wn-a", false)], 5), shell("sh-b", &[("wn-b", false)], 6)]);
        let mut here = State::default();
        let first = take(&there, &here, None);
        first.arrive(&mut here);
        // The other store was never told. Meanwhile one of them came back here and lives on, and the user forgot the other.
        here.shells[0].seen.as_mut().unwrap().at = 50;
        let forgotten = here.shells.remove(1);
        bury(&mut here, forgotten, Reason::Forgotten, 9);
        let (before, mut there) = (here.clone(), there);
        let second = take(&there, &here, None);
        assert!(!second.brings_any() && second.takes_any());
        assert_eq!(second.ids, ["sh-a"]);
        second.arrive(&mut here);
        second.leave(&mut there, "me/x", 7);
        assert_eq!(here, before);
        assert!(there.shells.is_empty());
        assert_eq!(there.tombstones.iter().map(|one| one.reason.word()).collect::<Vec<_>>(), ["taken", "taken"]);
        assert_eq!(there.tombstones[0].extra["takenBy"], "me/x");
        // And a third time there is nothing to do.
        let third = take(&there, &here, None);
        assert!(!third.brings_any() && !third.takes_any());
        assert_eq!(third.ids, ["sh-a"]);
    }

    #[test]
    fn ids_that_mean_something_else_here_give_way_to_fresh_ones() {
        let there = state(&[shell("sh-a", &[("wn-a", false), ("wn-b", false)], 5), shell("sh-b", &[("wn-a", true)], 5)]);
        let here = state(&[shell("sh-a", &[("wn-a", false)], 1)]);
        let report = Report { at: 3, generation: None, pane: "pn-a".into(), binding: None };
        let took = takeover("h/s", (&there, &[], &[report]), &here, None, &mut Counted(0));
        let mut now = here.clone();
        took.arrive(&mut now);
        assert_eq!(ids(&now), ["sh-a", "sh-new1", "sh-b"]);
        let windows = |at: usize| now.shells[at].windows.iter().map(|window| window.id.as_str()).collect::<Vec<_>>();
        assert_eq!((windows(1), windows(2)), (vec!["wn-new2", "wn-b"], vec!["wn-new2"]));
        assert_eq!(
            took.journal.iter().map(|entry| (entry.shell.as_str(), entry.pane.as_str())).collect::<Vec<_>>(),
            [("sh-new1", "pn-new3")]
        );
    }

    #[test]
    fn a_shell_that_was_taken_and_is_taken_back_is_a_record_again() {
        let home = state(&[shell("sh-a", &[("wn-a", false)], 5)]);
        let (mut one, mut two) = (home, State::default());
        let there = takeover("h/one", (&one, &[], &[]), &two, None, &mut Counted(0));
        there.arrive(&mut two);
        there.leave(&mut one, "h/two", 6);
        two.shells[0].seen.as_mut().unwrap().at = 9;
        let back = takeover("h/two", (&two, &[], &[]), &one, None, &mut Counted(0));
        back.arrive(&mut one);
        back.leave(&mut two, "h/one", 10);
        assert_eq!((ids(&one), one.tombstones.len(), one.shells[0].seen_at()), (vec!["sh-a"], 0, Some(9)));
        assert_eq!((ids(&two).len(), two.tombstones.len()), (0, 1));
        // To and fro, without ever living: it is always in one of the two.
        let forth = takeover("h/one", (&one, &[], &[]), &two, None, &mut Counted(0));
        forth.arrive(&mut two);
        forth.leave(&mut one, "h/two", 11);
        assert_eq!((ids(&one).len(), ids(&two)), (0, vec!["sh-a"]));
        let back = takeover("h/two", (&two, &[], &[]), &one, None, &mut Counted(0));
        back.arrive(&mut one);
        back.leave(&mut two, "h/one", 12);
        assert_eq!((ids(&one), ids(&two).len()), (vec!["sh-a"], 0));
        // Brought back there by hand and lived on, it is another shell than the one here.
        let again = two.tombstones.remove(0).shell;
        two.shells.push(Shell { seen: shell("", &[], 20).seen, ..again });
        let third = takeover("h/two", (&two, &[], &[]), &one, None, &mut Counted(0));
        third.arrive(&mut one);
        assert_eq!(ids(&one), ["sh-a", "sh-new1"]);
    }

    #[test]
    fn who_shares_windows_comes_along_and_the_rest_stays() {
        let all = [
            shell("sh-a", &[("wn-a", false)], 1),
            shell("sh-b", &[("wn-a", true), ("wn-b", false)], 1),
            shell("sh-c", &[("wn-c", false)], 1),
        ];
        let mut there = state(&[&all[..], &[shell("sh-d", &[("wn-b", true)], 1)]].concat());
        let took = take(&there, &State::default(), Some(&["sh-a".to_owned()]));
        assert_eq!(took.ids, ["sh-a", "sh-b", "sh-d"]);
        took.leave(&mut there, "x/y", 1);
        assert_eq!(ids(&there), ["sh-c"]);
    }
}
