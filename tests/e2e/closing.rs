//! Sessions, windows and panes that go while their server lives on.

use super::records::{pane_ids, run, world_without_timer};
use super::support::{World, wait_for};

/// With this grace no look of a test is late enough.
const NEVER: f64 = 3600.0;

fn set_grace(world: &World, seconds: &str) {
    world.tmux(["set-option", "-g", "@sidecar-grace", seconds]).ok();
}

#[test]
fn a_missing_pane_is_only_marked_until_a_look_a_grace_later() {
    let world = world_without_timer(NEVER);
    world.inhabit(1);
    let before = world.shell("s0");
    world.tmux(["kill-pane", "-t", "=s0:0.1"]).ok();
    wait_for("the mark", || world.shell("s0")["windows"][0]["panes"][1].get("gone").cloned());
    for _ in 0..3 {
        world.look();
    }
    let marked = world.shell("s0");
    assert_eq!(pane_ids(&world.state()).len(), 3);
    assert_eq!(marked["windows"][0]["layout"], before["windows"][0]["layout"], "the shape that had a place for it stays");
    assert_eq!((&marked["id"], &marked["windows"][1]), (&before["id"], &before["windows"][1]));

    set_grace(&world, "0");
    world.look();
    let dropped = world.shell("s0");
    assert_eq!(world.sizes()["s0"], [1, 1]);
    assert_ne!(dropped["windows"][0]["layout"], before["windows"][0]["layout"]);
    assert_eq!(dropped["windows"][0]["panes"][0]["id"], before["windows"][0]["panes"][0]["id"]);
    assert_eq!(world.tombstones(), [""; 0]);
}

#[test]
fn a_missing_window_is_only_marked_until_a_look_a_grace_later() {
    let world = world_without_timer(NEVER);
    world.inhabit(1);
    let before = world.shell("s0");
    world.tmux(["kill-window", "-t", "=s0:0"]).ok();
    wait_for("the mark", || world.shell("s0")["windows"][0].get("gone").cloned());
    for _ in 0..3 {
        world.look();
    }
    assert_eq!(world.sizes()["s0"], [2, 1]);
    assert_eq!(world.shell("s0")["windows"][0]["layout"], before["windows"][0]["layout"]);

    set_grace(&world, "0");
    world.look();
    assert_eq!(world.sizes()["s0"], [1]);
    assert_eq!(world.shell("s0")["windows"][0]["id"], before["windows"][1]["id"]);
}

#[test]
fn what_was_missing_when_the_server_died_died_with_it() {
    let world = world_without_timer(NEVER);
    let before = world.inhabit(3);
    world.tmux(["kill-pane", "-t", "=s0:0.1"]).ok();
    world.tmux(["kill-window", "-t", "=s2:1"]).ok();
    world.tmux(["kill-session", "-t", "=s1"]).ok();
    wait_for("the marks", || {
        let (pane, window) = (&world.shell("s0")["windows"][0]["panes"][1], &world.shell("s2")["windows"][1]);
        (pane.get("gone").is_some() && window.get("gone").is_some() && world.shell("s1").get("missing").is_some()).then_some(())
    });
    world.crash();
    // Marks of another life never ripen.
    world.configure(&super::records::options(0.0, 0.5));
    world.pass_a_grace();
    world.look();
    let mut recorded = world.sizes();
    recorded.remove("stays");
    assert_eq!((recorded, world.tombstones()), (before, vec!["probe".to_owned()]));
    for (session, verdict) in world.verdicts() {
        assert!(session == "stays" || verdict.starts_with("recreate-shell"), "{session}: {verdict}");
    }
}

#[test]
fn only_a_mark_of_this_life_and_of_the_past_ripens() {
    for (change, dropped) in [("older", true), ("of another life", false), ("of the future", false)] {
        let world = world_without_timer(NEVER);
        world.inhabit(1);
        world.tmux(["kill-pane", "-t", "=s0:0.1"]).ok();
        wait_for("the mark", || world.shell("s0")["windows"][0]["panes"][1].get("gone").cloned());
        world.wait_quiet();
        world.edit_state(|state| {
            let mark = &mut state["shells"][0]["windows"][0]["panes"][1]["gone"];
            let at = mark["at"].as_u64().unwrap();
            mark["at"] = if change == "of the future" { at + 7_200_000 } else { at - 7_200_000 }.into();
            if change == "of another life" {
                mark["generation"]["pid"] = 1.into();
            }
        });
        for _ in 0..3 {
            world.look();
        }
        assert_eq!(world.sizes()["s0"], if dropped { [1, 1] } else { [2, 1] }, "a mark {change}");
    }
}

#[test]
fn a_pane_that_came_back_is_not_marked_any_more() {
    let world = world_without_timer(NEVER);
    world.inhabit(1);
    world.tmux(["kill-pane", "-t", "=s0:0.1"]).ok();
    wait_for("the mark", || world.shell("s0")["windows"][0]["panes"][1].get("gone").cloned());
    let gone = world.shell("s0")["windows"][0]["panes"][1]["id"].as_str().unwrap().to_owned();
    // A restore gives the new pane the old id.
    world.tmux(["split-window", "-d", "-t", "=s0:0", ";", "set-option", "-p", "-t", "=s0:0.1", "@sidecar-pane", &gone]).ok();
    wait_for("the pane", || {
        world.look();
        let panes = world.shell("s0")["windows"][0]["panes"].clone();
        let back = panes.as_array().unwrap().iter().find(|pane| pane["id"] == gone.as_str())?;
        back.get("gone").is_none().then_some(())
    });
}

#[test]
fn moved_panes_and_windows_keep_their_ids_and_are_neither_doubled_nor_lost() {
    let moves: &[&[&str]] = &[
        &["join-pane", "-d", "-s", "=s0:0.1", "-t", "=s1:0"],
        &["break-pane", "-d", "-s", "=s0:0.1", "-t", "=s1:7"],
        &["break-pane", "-d", "-s", "=s0:0.1"],
        &["move-window", "-d", "-s", "=s0:1", "-t", "=s1:9"],
        &["move-window", "-d", "-s", "=s0:1", "-t", "=s0:4"],
        &["swap-window", "-d", "-s", "=s0:0", "-t", "=s1:0"],
        &["swap-pane", "-d", "-s", "=s0:0.0", "-t", "=s2:0.1"],
        &["swap-pane", "-d", "-s", "=s0:0.0", "-t", "=s0:0.1"],
        &["rotate-window", "-t", "=s0:0"],
        &["move-pane", "-d", "-s", "=s1:0.0", "-t", "=s0:1"],
    ];
    for words in moves {
        let world = World::new(0.0);
        world.inhabit(3);
        let before = pane_ids(&world.state());
        assert_eq!(before.len(), 7);
        let sessions = world.recorded().len();
        world.tmux(*words).ok();
        // With no grace at all, so that what a look misses is lost at the second look.
        for _ in 0..3 {
            world.look();
            assert_eq!(pane_ids(&world.state()), before, "{words:?}");
        }
        world.wait_as_it_is();
        let live = world.live_sizes();
        assert_eq!(world.sizes(), live, "{words:?}");
        // What is recorded at a place is what lives there.
        for (session, windows) in &live {
            let recorded = world.shell(session);
            for at in 0..windows.len() {
                let window = &recorded["windows"][at];
                let panes: Vec<&str> = window["panes"].as_array().unwrap().iter().map(|pane| pane["id"].as_str().unwrap()).collect();
                let target = format!("={session}:{}", window["index"]);
                let tags = world.tmux(["list-panes", "-t", &target, "-F", "#{@sidecar-pane}"]).ok();
                assert_eq!(tags.lines().collect::<Vec<_>>(), panes, "{words:?}");
            }
        }
        // Moving the only pane of s1 away closed it: only then is one session fewer.
        assert_eq!(live.len() + world.tombstones().len(), sessions, "{words:?}");
    }
}

#[test]
fn a_member_of_a_group_closes_without_a_tombstone_while_its_windows_live_on() {
    let world = World::new(0.2);
    world.inhabit(1);
    world.tmux(["new-session", "-d", "-t", "=s0", "-s", "member"]).ok();
    world.wait_recorded(&["member", "s0"]);
    let before = pane_ids(&world.state());
    assert_eq!(before.len(), 3, "each pane once, however many members");
    assert_eq!(world.shell("member")["group"], world.shell("s0")["group"]);

    world.tmux(["kill-session", "-t", "=s0"]).ok();
    world.wait_recorded(&["member"]);
    assert_eq!((world.tombstones(), pane_ids(&world.state())), (vec![], before.clone()));
    assert_eq!(world.sizes()["member"], [2, 1]);

    world.tmux(["new-session", "-d", "-s", "other", ";", "kill-session", "-t", "=member"]).ok();
    wait_for("the tombstone", || (world.tombstones() == ["member"]).then_some(()));
    assert_eq!(world.recorded(), ["other"]);
    let kept = world.state()["tombstones"][0]["shell"].clone();
    assert_eq!(pane_ids(&serde_json::json!({ "shells": [kept] })), before);
}

#[test]
fn a_group_that_died_with_its_server_is_whole() {
    let world = World::new(0.2);
    world.inhabit(1);
    world.tmux(["new-session", "-d", "-t", "=s0", "-s", "member"]).ok();
    world.wait_recorded(&["member", "s0"]);
    let (ids, sizes) = (pane_ids(&world.state()), world.sizes());
    let pid = world.remember_server().unwrap();
    world.tmux(["kill-server"]);
    world.wait_gone(pid);
    world.pass_a_grace();
    let mut recorded = world.sizes();
    recorded.remove("stays");
    assert_eq!((recorded, world.tombstones()), (sizes, vec!["probe".to_owned()]));
    assert!(ids.iter().all(|id| pane_ids(&world.state()).contains(id)));
}

fn mark_as_deleting(world: &World, session: &str) {
    world.edit_state(|state| {
        let generation = state["generation"].clone();
        let shell = state["shells"].as_array_mut().unwrap().iter_mut().find(|shell| shell["session"] == session).unwrap();
        shell["deleting"] = serde_json::json!({ "at": 1_000_u64, "generation": generation });
        // A time of the past would be purged at once.
        shell["deleting"]["at"] = shell["seen"]["at"].clone();
    });
}

#[test]
fn a_session_that_was_being_deleted_is_a_tombstone_without_a_grace() {
    let world = world_without_timer(NEVER);
    world.inhabit(2);
    mark_as_deleting(&world, "s1");
    world.look();
    assert_eq!((world.recorded(), world.tombstones()), (vec!["s0".to_owned(), "s1".to_owned()], vec![]), "it lives still");
    world.tmux(["kill-session", "-t", "=s1"]).ok();
    wait_for("the tombstone", || (world.tombstones() == ["s1"]).then_some(()));
    assert_eq!(world.state()["tombstones"][0]["reason"], "deleted");
    assert_eq!(world.recorded(), ["s0"]);
}

#[test]
fn a_deletion_that_the_server_did_not_outlive_is_a_tombstone_all_the_same() {
    for way in ["KILL", "TERM"] {
        let world = world_without_timer(NEVER);
        world.inhabit(2);
        mark_as_deleting(&world, "s1");
        let pid = world.remember_server().unwrap();
        world.signal(pid, way);
        world.wait_gone(pid);
        assert_eq!(world.verdicts().into_keys().collect::<Vec<_>>(), ["s0"], "{way}: it is not offered");
        let listed = run(&mut world.sidecar_command(["shell", "list", "--all", "--json"])).json();
        let row = listed["shells"].as_array().unwrap().iter().find(|row| row["session"] == "s1").unwrap();
        assert_eq!((&row["status"], &row["reason"]), (&"forgotten".into(), &"deleted".into()), "{way}");
        // The next life writes it down.
        world.tmux(["new-session", "-d", "-s", "next"]).ok();
        world.wait_recorded(&["next", "s0"]);
        assert_eq!(world.tombstones(), ["s1"], "{way}");
        assert_eq!(world.state()["tombstones"][0]["reason"], "deleted", "{way}");
    }
}
