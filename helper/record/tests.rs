//! The rules of closing and of server death, as tables and as a state machine.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::binding::Processes;
use super::closing::Keep;
use super::observe::{Changes, Rules, observe};
use crate::model::*;

struct Counted(u32);

impl Ids for Counted {
    fn fresh(&mut self, prefix: &str) -> String {
        self.0 += 1;
        format!("{prefix}-{:04}", self.0)
    }
}

const GRACE: EpochMs = 10_000;

fn rules(now: EpochMs) -> Rules {
    Rules {
        now,
        grace: GRACE,
        keep: Keep { retention: None, closed: 200 },
        ignored: Box::new(|name| name.starts_with("tmp-")),
        stuck: Vec::new(),
        programs: vec!["vim".into()],
        agents: vec!["claude".into()],
        processes: Processes::default(),
    }
}

fn generation(life: i32) -> Generation {
    Generation { boot: "boot".into(), pid: 100 + life, start_time: 1, process_start: None }
}

fn pane(id: u32, tag: &str) -> SeenPane {
    SeenPane { id: format!("%{id}"), tag: tag.into(), pid: 1, dir: Some("/w".into()), start_dir: "/w".into(), ..SeenPane::default() }
}

fn window(id: u32, index: u32, panes: Vec<SeenPane>) -> SeenWindow {
    SeenWindow { id: format!("@{id}"), index, name: format!("w{id}"), width: 80, height: 24, panes, ..SeenWindow::default() }
}

fn session(id: u32, name: &str, windows: Vec<SeenWindow>) -> SeenSession {
    SeenSession { id: format!("${id}"), name: name.into(), path: "/w".into(), windows, ..SeenSession::default() }
}

fn seen(life: i32, sessions: Vec<SeenSession>) -> Observation {
    Observation { generation: generation(life), version: "3.3a".into(), sessions, settings: TmuxSettings::default() }
}

/// Puts the stable ids on what was seen, as the helper does after a look.
fn tagged(mut seen: Observation, changes: &Changes) -> Observation {
    for session in &mut seen.sessions {
        for (live, id) in &changes.tags.shells {
            if session.id == *live {
                session.tag.clone_from(id);
            }
        }
        for pane in session.windows.iter_mut().flat_map(|window| &mut window.panes) {
            for (live, id) in &changes.tags.panes {
                if pane.id == *live {
                    pane.tag.clone_from(id);
                }
            }
        }
    }
    seen
}

fn look(state: &State, seen: &Observation, now: EpochMs, ids: &mut Counted) -> Changes {
    observe(state.clone(), seen, &[], None, &rules(now), ids)
}

fn sessions(state: &State) -> Vec<&str> {
    state.shells.iter().map(|shell| shell.session.as_str()).collect()
}

fn tombstones(state: &State) -> Vec<(&str, &str)> {
    state.tombstones.iter().map(|tombstone| (tombstone.shell.session.as_str(), tombstone.reason.word())).collect()
}

#[test]
fn a_closed_session_becomes_a_tombstone_only_by_a_second_look_a_grace_later() {
    let mut ids = Counted(0);
    let both =
        seen(1, vec![session(1, "a", vec![window(1, 0, vec![pane(1, "")])]), session(2, "b", vec![window(2, 0, vec![pane(2, "")])])]);
    let first = look(&State::default(), &both, 1000, &mut ids);
    let both = tagged(both, &first);
    let one = Observation { sessions: both.sessions[..1].to_vec(), ..both.clone() };
    let missed = look(&first.state, &one, 2000, &mut ids);
    assert_eq!(sessions(&missed.state), ["a", "b"]);
    assert_eq!(missed.wanted_at, Some(2000 + GRACE));
    let early = look(&missed.state, &one, 2000 + GRACE - 1, &mut ids);
    assert_eq!(sessions(&early.state), ["a", "b"]);
    // It was only hidden for a moment.
    let back = look(&early.state, &both, 2000 + GRACE, &mut ids);
    assert!(back.state.shells.iter().all(|shell| shell.missing.is_none()));
    let late = look(&early.state, &one, 2000 + GRACE, &mut ids);
    assert_eq!(sessions(&late.state), ["a"]);
    assert_eq!(tombstones(&late.state), [("b", "closed")]);
    assert_eq!(late.state.tombstones[0].deleted_at, 2000);
}

#[test]
fn a_mark_of_another_life_or_of_a_clock_set_back_is_no_mark() {
    let mut ids = Counted(0);
    let one = seen(1, vec![session(1, "a", vec![window(1, 0, vec![pane(1, "")])])]);
    let first = look(&State::default(), &one, 1_000_000, &mut ids);
    let none = seen(1, Vec::new());
    let missed = look(&first.state, &none, 1_001_000, &mut ids);
    // The server ended, and another one answers.
    let other = look(&missed.state, &seen(2, Vec::new()), 9_000_000, &mut ids);
    assert_eq!(sessions(&other.state), ["a"]);
    // The clock was set back by an hour: the mark starts anew.
    let back = look(&missed.state, &none, 500_000, &mut ids);
    assert_eq!(sessions(&back.state), ["a"]);
    assert_eq!(back.state.shells[0].missing.as_ref().map(|mark| mark.at), Some(500_000));
}

#[test]
fn a_member_of_a_group_leaves_no_tombstone_while_the_group_goes_on() {
    let mut ids = Counted(0);
    let shared = || vec![window(1, 0, vec![pane(1, "")])];
    let member = |id, name| SeenSession { group: "g".into(), ..session(id, name, shared()) };
    let both = seen(1, vec![member(1, "a"), member(2, "b")]);
    let first = look(&State::default(), &both, 1000, &mut ids);
    assert_eq!(first.state.shells.iter().filter(|shell| shell.windows[0].linked).count(), 1, "the window is recorded once");
    let both = tagged(both, &first);
    // The one that holds the content is closed.
    let rest = Observation { sessions: both.sessions[1..].to_vec(), ..both };
    let missed = look(&first.state, &rest, 2000, &mut ids);
    let late = look(&missed.state, &rest, 2000 + GRACE, &mut ids);
    assert_eq!(sessions(&late.state), ["b"]);
    assert!(late.state.tombstones.is_empty());
    assert_eq!(late.state.shells[0].panes().count(), 1, "its windows live on in the other");
    assert_eq!(late.state.shells[0].windows[0].id, first.state.shells[0].windows[0].id);
}

#[test]
fn the_intent_to_delete_makes_a_tombstone_whatever_follows() {
    let mut ids = Counted(0);
    let one = seen(1, vec![session(1, "a", vec![window(1, 0, vec![pane(1, "")])])]);
    let mut state = look(&State::default(), &one, 1000, &mut ids).state;
    state.shells[0].deleting = Some(Mark { at: 1500, generation: generation(1) });
    for life in [1, 2] {
        let after = look(&state, &seen(life, Vec::new()), 2000, &mut ids);
        assert_eq!(tombstones(&after.state), [("a", "deleted")], "life {life}");
    }
}

#[test]
fn a_missing_pane_keeps_its_place_until_the_grace_is_over() {
    let mut ids = Counted(0);
    let layout = Layout::parse("77dd,100x30,0,0{50x30,0,0,0,49x30,51,0[49x15,51,0,1,49x14,51,16,2]}");
    let whole = SeenWindow { layout: layout.clone(), ..window(1, 0, vec![pane(1, ""), pane(2, ""), pane(3, "")]) };
    let three = seen(1, vec![session(1, "a", vec![whole])]);
    let first = look(&State::default(), &three, 1000, &mut ids);
    let three = tagged(three, &first);
    let mut two = three.clone();
    two.sessions[0].windows[0].panes.remove(1);
    two.sessions[0].windows[0].layout = Layout::parse("b25d,100x30,0,0{50x30,0,0,0,49x30,51,0,2}");
    let missed = look(&first.state, &two, 2000, &mut ids);
    let window = &missed.state.shells[0].windows[0];
    assert_eq!(window.panes.iter().map(|pane| pane.gone.is_some()).collect::<Vec<_>>(), [false, true, false]);
    assert_eq!(window.layout, layout, "the shape has its place still");
    let late = look(&missed.state, &two, 2000 + GRACE, &mut ids);
    assert_eq!(late.state.shells[0].panes().count(), 2);
    assert_eq!(late.state.shells[0].windows[0].layout, two.sessions[0].windows[0].layout);
    // In another life nothing is dropped for it.
    let other_life = look(&missed.state, &seen(2, Vec::new()), 9_000_000, &mut ids);
    assert_eq!(other_life.state.shells[0].panes().count(), 3);
}

#[test]
fn a_pane_that_moves_is_one_pane() {
    let mut ids = Counted(0);
    let before = seen(
        1,
        vec![session(1, "a", vec![window(1, 0, vec![pane(1, ""), pane(2, "")])]), session(2, "b", vec![window(2, 0, vec![pane(3, "")])])],
    );
    let first = look(&State::default(), &before, 1000, &mut ids);
    let before = tagged(before, &first);
    let moving = before.sessions[0].windows[0].panes[1].clone();
    let id = moving.tag.clone();
    // By join-pane into the other session, and by break-pane into a window of its own.
    let mut joined = before.clone();
    joined.sessions[0].windows[0].panes.pop();
    joined.sessions[1].windows[0].panes.push(moving.clone());
    let mut broken = before.clone();
    broken.sessions[0].windows[0].panes.pop();
    broken.sessions[0].windows.push(window(9, 1, vec![moving]));
    for (after, home) in [(joined, "b"), (broken, "a")] {
        let changes = look(&first.state, &after, 2000, &mut ids);
        let holders: Vec<&str> = changes
            .state
            .shells
            .iter()
            .filter(|shell| shell.panes().any(|pane| pane.id == id))
            .map(|shell| shell.session.as_str())
            .collect();
        assert_eq!(holders, [home]);
        assert_eq!(changes.state.shells.iter().flat_map(Shell::panes).count(), 3);
        assert!(changes.state.shells.iter().flat_map(Shell::panes).all(|pane| pane.gone.is_none()));
        assert!(changes.tags.panes.is_empty());
    }
}

#[test]
fn what_another_tool_made_again_is_adopted_and_what_only_has_the_name_is_not() {
    let mut ids = Counted(0);
    let at = |dir: &str, id| SeenPane { dir: Some(dir.into()), ..pane(id, "") };
    let old = seen(1, vec![session(1, "web", vec![window(1, 0, vec![at("/w/a", 1), at("/w/b", 2)])])]);
    let first = look(&State::default(), &old, 1000, &mut ids);
    let id = first.state.shells[0].id.clone();
    let pane_ids: Vec<String> = first.state.shells[0].panes().map(|pane| pane.id.clone()).collect();
    // The other tool has come half-way: a stranger's session so far.
    let half = seen(2, vec![session(5, "web", vec![window(7, 0, vec![at("/w/a", 8)])])]);
    let young = look(&first.state, &half, 2000, &mut ids);
    assert_eq!(young.state.shells.len(), 2);
    let half = tagged(half, &young);
    // And now it is done.
    let mut whole = half;
    whole.sessions[0].windows[0].panes.push(at("/w/b", 9));
    let adopted = look(&young.state, &whole, 3000, &mut ids);
    assert_eq!(adopted.state.shells.len(), 1);
    assert_eq!(adopted.state.shells[0].id, id);
    assert_eq!(adopted.state.shells[0].panes().map(|pane| pane.id.clone()).collect::<Vec<_>>(), pane_ids);
    assert_eq!(adopted.tags.shells, [("$5".to_owned(), id)]);
    // With its server still alive elsewhere nothing is taken over.
    let stuck = Rules { stuck: vec![generation(1)], ..rules(3000) };
    assert_eq!(observe(first.state.clone(), &whole, &[], None, &stuck, &mut ids).state.shells.len(), 2);
}

#[test]
fn a_forgotten_session_stays_unrecorded_and_a_wrong_tombstone_is_taken_back() {
    let mut ids = Counted(0);
    let one = seen(1, vec![session(1, "a", vec![window(1, 0, vec![pane(1, "")])])]);
    let first = look(&State::default(), &one, 1000, &mut ids);
    let one = tagged(one, &first);
    for (reason, recorded) in [(Reason::Forgotten, 0), (Reason::Deleted, 0), (Reason::Closed, 1)] {
        let mut state = first.state.clone();
        let shell = state.shells.remove(0);
        state.tombstones.push(Tombstone { reason, deleted_at: 1500, shell, extra: serde_json::Map::new() });
        let after = look(&state, &one, 2000, &mut ids);
        assert_eq!((after.state.shells.len(), after.state.tombstones.len()), (recorded, 1 - recorded), "{reason:?}");
    }
}

#[test]
fn a_name_that_the_server_changed_is_no_rename_and_the_users_is() {
    let mut ids = Counted(0);
    let mut one = seen(1, vec![session(1, "a_b", vec![window(1, 0, vec![pane(1, "")])])]);
    let mut state = look(&State::default(), &one, 1000, &mut ids).state;
    (state.shells[0].session, state.shells[0].name, state.shells[0].seen_as) = ("a:b".into(), "Display".into(), Some("a_b".into()));
    one.sessions[0].tag.clone_from(&state.shells[0].id);
    let same = look(&state, &one, 2000, &mut ids);
    assert_eq!(same.state.shells[0].session, "a:b");
    one.sessions[0].name = "new".into();
    let renamed = look(&state, &one, 3000, &mut ids).state;
    assert_eq!(
        (renamed.shells[0].session.as_str(), renamed.shells[0].name.as_str(), renamed.shells[0].made_as.as_str()),
        ("new", "new", "a_b")
    );
}

#[test]
fn nothing_is_purged_while_the_clock_is_plainly_wrong() {
    let day: EpochMs = 24 * 60 * 60 * 1000;
    let shell = Shell { id: "sh-0001".into(), session: "a".into(), ..Shell::default() };
    let state = State {
        tombstones: vec![Tombstone { reason: Reason::Closed, deleted_at: 100 * day, shell, extra: serde_json::Map::new() }],
        ..State::default()
    };
    let kept = |now| {
        let rules = Rules { keep: Keep { retention: Some(std::time::Duration::from_secs(14 * 86_400)), closed: 200 }, ..rules(now) };
        observe(state.clone(), &seen(1, Vec::new()), &[], None, &rules, &mut Counted(0)).state.tombstones.len()
    };
    assert_eq!(kept(113 * day), 1);
    assert_eq!(kept(114 * day), 0);
    assert_eq!(kept(50 * day), 1);
}

#[test]
fn an_ignored_name_is_not_recorded_and_a_record_of_it_can_be_brought_back() {
    let mut ids = Counted(0);
    let mut one = seen(1, vec![session(1, "tmp-1", vec![window(1, 0, vec![pane(1, "")])])]);
    assert!(look(&State::default(), &one, 1000, &mut ids).state.shells.is_empty());
    one.sessions[0].name = "kept".into();
    let first = look(&State::default(), &one, 1000, &mut ids);
    let mut renamed = tagged(one, &first);
    renamed.sessions[0].name = "tmp-2".into();
    let after = look(&first.state, &renamed, 2000, &mut ids);
    assert_eq!((sessions(&after.state).len(), tombstones(&after.state)), (0, vec![("kept", "ignored")]));
    let again = look(&after.state, &renamed, 2000 + 2 * GRACE, &mut ids);
    assert_eq!(again.state.tombstones.len(), 1);
    // Renamed back, it is a record again, the same one.
    renamed.sessions[0].name = "kept".into();
    let back = look(&again.state, &renamed, 3000 + 2 * GRACE, &mut ids);
    assert_eq!((sessions(&back.state), tombstones(&back.state)), (vec!["kept"], vec![]));
}

/// A tmux server and its user, as far as the rules go.
#[derive(Clone, Debug, Default)]
struct World {
    life: i32,
    next: u32,
    /// Live sessions: live id, and the panes of each of its windows.
    sessions: BTreeMap<u32, Vec<Vec<u32>>>,
    tags: BTreeMap<String, String>,
}

impl World {
    fn fresh(&mut self) -> u32 {
        self.next += 1;
        self.next
    }

    fn seen(&self) -> Observation {
        let tag = |live: String| self.tags.get(&live).cloned().unwrap_or_default();
        let sessions = self
            .sessions
            .iter()
            .map(|(&id, windows)| {
                let windows = windows
                    .iter()
                    .enumerate()
                    .map(|(index, panes)| {
                        window(panes[0], u32::try_from(index).unwrap(), panes.iter().map(|&id| pane(id, &tag(format!("%{id}")))).collect())
                    })
                    .collect();
                SeenSession { tag: tag(format!("${id}")), ..session(id, &format!("life{}-{id}", self.life), windows) }
            })
            .collect();
        seen(self.life, sessions)
    }
}

#[derive(Clone, Debug)]
enum Act {
    Open,
    Split(usize),
    NewWindow(usize),
    Close(usize),
    ClosePane(usize),
    Wait(EpochMs),
    Look,
    /// The server ends: by a signal at once, or answering a last look with only some of its sessions and panes.
    Die {
        dying_looks: Vec<usize>,
    },
}

fn any_act() -> impl Strategy<Value = Act> {
    prop_oneof![
        3 => Just(Act::Open),
        1 => (0..5_usize).prop_map(Act::Split),
        1 => (0..5_usize).prop_map(Act::NewWindow),
        2 => (0..5_usize).prop_map(Act::Close),
        1 => (0..5_usize).prop_map(Act::ClosePane),
        3 => (1..2 * GRACE).prop_map(Act::Wait),
        5 => Just(Act::Look),
        1 => proptest::collection::vec(0..5_usize, 0..3).prop_map(|dying_looks| Act::Die { dying_looks }),
    ]
}

proptest! {
    /// No record is lost, no death is taken for a closing, every closing that two looks saw becomes a tombstone, no record
    /// shrinks by a death, and a look that sees nothing new changes nothing.
    #[test]
    fn the_rules_hold_for_any_life(acts in proptest::collection::vec(any_act(), 1..60)) {
        let (mut world, mut state, mut ids, mut now) = (World { life: 1, ..World::default() }, State::default(), Counted(0), 1_000_000);
        let mut ever_seen: BTreeSet<String> = BTreeSet::new();
        let mut closed: BTreeSet<String> = BTreeSet::new();
        // Sessions that the user closed in this life, by when the first look missed them.
        let mut closing: BTreeMap<String, Option<EpochMs>> = BTreeMap::new();
        let name = |world: &World, id: u32| format!("life{}-{id}", world.life);
        let nth = |world: &World, at: usize| world.sessions.keys().copied().nth(at % world.sessions.len().max(1));
        for act in acts {
            match act {
                Act::Open => {
                    let (id, pane) = (world.fresh(), world.fresh());
                    world.sessions.insert(id, vec![vec![pane]]);
                }
                Act::Split(at) => if let Some(id) = nth(&world, at) {
                    let pane = world.fresh();
                    world.sessions.get_mut(&id).unwrap()[0].push(pane);
                },
                Act::NewWindow(at) => if let Some(id) = nth(&world, at) {
                    let pane = world.fresh();
                    world.sessions.get_mut(&id).unwrap().push(vec![pane]);
                },
                Act::Close(at) => if let Some(id) = nth(&world, at) {
                    world.sessions.remove(&id);
                    closed.insert(name(&world, id));
                    closing.insert(name(&world, id), None);
                },
                Act::ClosePane(at) => if let Some(id) = nth(&world, at) {
                    let windows = world.sessions.get_mut(&id).unwrap();
                    if windows[0].len() > 1 {
                        windows[0].pop();
                    }
                },
                Act::Wait(time) => now += time,
                Act::Look => {
                    let seen = world.seen();
                    let changes = look(&state, &seen, now, &mut ids);
                    world.tags.extend(changes.tags.shells.iter().chain(&changes.tags.panes).cloned());
                    ever_seen.extend(seen.sessions.iter().map(|session| session.name.clone()));
                    state = changes.state;
                    let again = look(&state, &world.seen(), now, &mut ids);
                    prop_assert_eq!(&again.state, &state, "a look that sees nothing new changes something");
                    prop_assert!(again.tags.shells.is_empty() && again.tags.panes.is_empty());
                    for (name, missed) in &mut closing {
                        let first = *missed.get_or_insert(now);
                        if ever_seen.contains(name) && now >= first + GRACE {
                            prop_assert!(tombstones(&state).contains(&(name.as_str(), "closed")), "{} was closed", name);
                        }
                    }
                }
                Act::Die { dying_looks } => {
                    let whole = world.clone();
                    for gone in dying_looks {
                        // Within a moment, far less than the grace.
                        now += 1;
                        if let Some(id) = nth(&world, gone) {
                            world.sessions.remove(&id);
                        }
                        if let Some(windows) = world.sessions.values_mut().next() {
                            if windows[0].len() > 1 { windows[0].pop(); }
                        }
                        state = look(&state, &world.seen(), now, &mut ids).state;
                    }
                    for (id, windows) in &whole.sessions {
                        let name = name(&whole, *id);
                        if let Some(shell) = state.shells.iter().find(|shell| shell.session == name) {
                            let known: BTreeSet<String> = shell.panes().map(|pane| pane.tmux.clone()).collect();
                            for pane in windows.iter().flatten().filter(|pane| whole.tags.contains_key(&format!("%{pane}"))) {
                                prop_assert!(known.contains(&format!("%{pane}")), "pane %{} of {} shrank away", pane, name);
                            }
                        }
                    }
                    closing.clear();
                    world = World { life: world.life + 1, next: 0, ..World::default() };
                }
            }
            for name in &ever_seen {
                let recorded = state.shells.iter().filter(|shell| shell.session == *name).count();
                let buried = state.tombstones.iter().filter(|tombstone| tombstone.shell.session == *name).count();
                prop_assert_eq!(recorded + buried, 1, "{} is lost or doubled", name);
                prop_assert!(buried == 0 || closed.contains(name), "{} died and was taken for closed", name);
            }
            let mut pane_ids: Vec<&str> = state.shells.iter().flat_map(Shell::panes).map(|pane| pane.id.as_str()).collect();
            pane_ids.sort_unstable();
            let all = pane_ids.len();
            pane_ids.dedup();
            prop_assert_eq!(pane_ids.len(), all, "a pane is recorded twice");
        }
    }
}
