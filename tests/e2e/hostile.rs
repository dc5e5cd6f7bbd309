//! What strangers, other tools and unlucky timing have done to it.

use serde_json::{Value, json};

use super::support::{World, assert_same, tmux_versions, wait_for};

fn names(world: &World) -> String {
    world.tmux(["list-sessions", "-F", "#{session_name}"]).out
}

/// A recorded and dead server with the sessions `main` (two panes) and `other`.
fn dead(world: &World) {
    let dir = world.folder("a").display().to_string();
    world.tmux(["new-session", "-d", "-s", "main", "-x", "100", "-y", "30", "-c", &dir, ";", "split-window", "-c", &dir]).ok();
    world.tmux(["new-session", "-d", "-s", "other", "-c", &dir]).ok();
    world.look();
    world.crash();
}

/// Changes `shells.json` as a stranger might.
fn edit(world: &World, change: impl FnOnce(&mut Value)) {
    let mut state = world.state();
    change(&mut state);
    std::fs::write(world.store().unwrap().join("shells.json"), state.to_string()).unwrap();
}

#[test]
fn two_records_of_one_name_never_double_and_none_is_lost() {
    let world = World::new(10.0);
    dead(&world);
    // The user just starts again, under the same name.
    world.tmux(["new-session", "-d", "-s", "main", "-c", "/"]).ok();
    world.look();
    let said = world.sidecar(["session", "restore"]);
    assert_eq!(said.code, 5, "the name is taken");
    assert_eq!(said.out.lines().filter(|line| line.starts_with("main (sh-")).count(), 2, "{said:?}");
    for _ in 0..3 {
        world.crash();
        let said = world.sidecar(["session", "restore", "--json"]);
        assert_eq!(said.code, 5, "one of the two waits: {said:?}");
        assert_eq!(names(&world), "main\nother\n");
        world.look();
        assert_eq!(world.recorded(), ["main", "main", "other"]);
    }
    // With the name free, the one that waited comes back.
    world.tmux(["rename-session", "-t", "=main", "mine"]).ok();
    world.look();
    world.sidecar(["session", "restore"]).ok();
    assert_eq!(names(&world), "main\nmine\nother\n");
    assert_eq!(world.tmux(["list-panes", "-s", "-t", "=main", "-F", "x"]).ok().lines().count(), 2);
}

#[test]
fn a_session_that_tmux_conf_makes_is_seen_before_anything_is_made() {
    let world = World::new(10.0);
    dead(&world);
    world.configure("set -g @sidecar-grace 10\nset -g @sidecar-interval 0.5\nnew-session -d -s main -c /\n");
    for _ in 0..3 {
        let said = world.sidecar(["session", "restore"]);
        assert_eq!(said.code, 5, "{said:?}");
        assert_eq!(names(&world), "main\nother\n");
        world.look();
        assert!(world.recorded().len() <= 4, "{:?}", world.recorded());
        world.crash();
    }
}

#[test]
fn sessions_whose_names_another_tmux_makes_equal_all_come_back() {
    let versions = tmux_versions();
    let (Some((_, new)), Some((_, old))) =
        (versions.iter().find(|(version, _)| version == "3.8"), versions.iter().find(|(version, _)| version == "3.3a"))
    else {
        assert!(std::env::var_os("SIDECAR_TMUX_VERSIONS").is_none(), "both versions are unpacked");
        return;
    };
    let mut world = World::with_tmux(new, 10.0);
    for name in ["a.b", "a:b", "a_b"] {
        world.tmux(["new-session", "-d", "-s", name, "-c", "/"]).ok();
    }
    world.look();
    world.crash();
    world.switch_tmux(old);
    let said = world.sidecar(["session", "restore", "--json"]);
    assert_eq!(said.code, 0, "{said:?} {}", world.log());
    assert!(said.out.contains("its name is taken"), "{said:?}");
    assert_eq!(names(&world).lines().count(), 3);
    assert!(!names(&world).contains("sidecar-restore"), "{}", names(&world));
    world.look();
    assert_eq!(world.recorded(), ["a.b", "a:b", "a_b"]);
    world.crash();
    world.switch_tmux(new);
    world.sidecar(["session", "restore"]).ok();
    assert_eq!(names(&world), "a.b\na:b\na_b\n");
}

type Change = Box<dyn Fn(&mut Value)>;

#[test]
fn a_hostile_record_neither_hangs_nor_harms_the_server() {
    let huge = 4_294_967_295_u32;
    let cell = |w: u32, h: u32| json!({ "w": w, "h": h, "x": 0, "y": 0 });
    let changes: Vec<(&str, Change)> = vec![
        (
            "layout",
            Box::new(move |window| {
                window["layout"] =
                    json!({ "w": huge, "h": huge, "x": huge, "y": 0, "split": "rows", "cells": [cell(huge, huge), cell(huge, huge)] });
            }),
        ),
        (
            "half",
            Box::new(
                move |window| window["layout"] = json!({ "w": huge / 2, "h": huge / 2, "x": 0, "y": 0, "split": "columns", "cells": [cell(huge / 2, 9), cell(9, huge / 2)] }),
            ),
        ),
        ("size", Box::new(move |window| (window["width"], window["height"]) = (huge.into(), huge.into()))),
        ("index", Box::new(move |window| window["index"] = huge.into())),
        (
            "ids",
            Box::new(|window| (window["id"], window["panes"][0]["id"]) = ("$(touch CANARY)".into(), "\"; run-shell 'touch CANARY'".into())),
        ),
        (
            "names",
            Box::new(|window| {
                (window["name"], window["automaticRename"], window["panes"][0]["title"]) =
                    ("#(touch CANARY)\"; kill-server".into(), false.into(), "#(touch CANARY)".into());
            }),
        ),
        ("dirs", Box::new(|window| window["panes"][0]["dir"] = "/#(touch CANARY)\n; kill-server".into())),
    ];
    for (what, change) in &changes {
        for (version, folder) in tmux_versions().into_iter().filter(|(version, _)| version != "3.1c") {
            let world = World::with_tmux(&folder, 10.0);
            dead(&world);
            world.tmux(["new-session", "-d", "-s", "user", "-c", "/"]).ok();
            world.look();
            edit(&world, |state| {
                let shell = state["shells"].as_array_mut().unwrap().iter_mut().find(|shell| shell["session"] == "main").unwrap();
                // A second window of the same, so that indexes and ids collide too.
                change(&mut shell["windows"][0]);
                let second = shell["windows"][0].clone();
                shell["windows"].as_array_mut().unwrap().push(second);
            });
            let said = world.sidecar(["session", "restore", "--json"]);
            assert!((0..=1).contains(&said.code), "{what} on {version}: {said:?}");
            let alive = names(&world);
            assert!(
                alive.contains("user\n") && alive.contains("main\n") && alive.contains("other\n"),
                "{what} on {version}: {alive} {}",
                world.log()
            );
            world.look();
            let canaries =
                std::process::Command::new("find").arg(world.home().parent().unwrap()).args(["-name", "CANARY"]).output().unwrap();
            assert_eq!(String::from_utf8_lossy(&canaries.stdout), "", "{what} on {version}");
        }
    }
}

#[test]
fn a_server_that_cannot_start_or_stay_is_a_failure_and_nothing_is_lost() {
    for (options, words) in [
        ("set -g exit-unattached on", "exit-unattached"),
        ("set -g default-shell /bin/false\nset -g default-command ''", "tmux"),
        ("set -g @x 1\nkill-server", "the tmux server did not start"),
    ] {
        let world = World::new(10.0);
        dead(&world);
        let recorded = world.recorded();
        world.configure(&format!("{options}\nset -g @sidecar-grace 0.1\nset -g @sidecar-interval 0.2\n"));
        let said = world.sidecar(["session", "restore"]);
        assert_eq!(said.code, 1, "{options}: {said:?} {}", world.log());
        assert!(said.out.contains(words), "{options}: {said:?}");
        if let Some(pid) = world.remember_server() {
            world.signal(pid, "KILL");
            world.wait_gone(pid);
        }
        assert_eq!(world.recorded(), recorded, "{options}");
        assert_eq!(world.tombstones(), [""; 0], "{options}");
        world.configure("set -g @sidecar-grace 10\n");
        world.sidecar(["session", "restore"]).ok();
        assert_eq!(names(&world), "main\nother\n", "{options}");
    }
}

#[test]
fn a_window_linked_twice_into_one_session_has_both_places_again() {
    let world = World::new(10.0);
    world.tmux(["new-session", "-d", "-s", "main", "-x", "100", "-y", "30", "-c", "/"]).ok();
    world.tmux(["link-window", "-d", "-s", "=main:0", "-t", "=main:7"]).ok();
    world.look();
    let before = world.tree();
    world.crash();
    world.sidecar(["session", "restore"]).ok();
    assert_same(&world.tree(), &before, world.log());
}

#[test]
fn a_server_without_a_session_closes_what_is_gone() {
    let world = World::bare();
    world.configure("set -g @sidecar-grace 0.2\nset -g @sidecar-interval 0.3\nset -g exit-empty off\n");
    world.tmux(["new-session", "-d", "-s", "main"]).ok();
    world.wait_recorded(&["main"]);
    world.tmux(["kill-session", "-t", "=main"]).ok();
    wait_for("its tombstone", || (world.tombstones() == ["main"]).then_some(()));
    let plan = world.sidecar(["session", "status", "--json"]).json();
    assert_eq!(plan["server"]["state"], "running");
}

#[test]
fn a_pipe_in_the_place_of_a_file_holds_nobody_up() {
    let world = World::new(10.0);
    let repository = world.folder("repository");
    for pipe in [repository.join(".git"), world.home().parent().unwrap().join("config/sidecar/config.json")] {
        std::fs::create_dir_all(pipe.parent().unwrap()).unwrap();
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    }
    world.tmux(["new-session", "-d", "-s", "main", "-c", repository.to_str().unwrap()]).ok();
    world.look();
    assert_eq!(world.recorded(), ["main"]);
    let status = world.sidecar(["session", "status"]);
    assert_eq!(status.code, 0);
    assert!(status.out.contains("no plain file"), "{status:?}");
}

#[test]
fn a_look_that_never_came_silences_the_hooks_for_seconds_only() {
    let world = World::bare();
    world.configure("set -g @sidecar-interval 3600\n");
    world.tmux(["new-session", "-d", "-s", "main"]).ok();
    world.wait_recorded(&["main"]);
    // As if a helper had been ended between the hook and its look.
    let hook = world.tmux(["show-hooks", "-g", "session-created"]).ok();
    assert!(hook.contains("SIDECAR_LOOK"), "{hook}");
    world
        .tmux([
            "set-option",
            "-g",
            "@sidecar-helper",
            "/nonexistent",
            ";",
            "set-environment",
            "-gh",
            "SIDECAR_LOOK",
            "1",
            ";",
            "run-shell",
            "-b",
            "-d",
            "5",
            "-C",
            "set-environment -gu SIDECAR_LOOK",
        ])
        .ok();
    world.tmux(["new-session", "-d", "-s", "unseen"]).ok();
    wait_for("the end of the silence", || world.tmux(["show-environment", "-gh", "SIDECAR_LOOK"]).out.is_empty().then_some(()));
    world.tmux(["new-session", "-d", "-s", "seen"]).ok();
    world.wait_recorded(&["main", "seen", "unseen"]);
}

#[test]
fn a_plain_set_hook_that_took_ours_is_repaired_when_a_client_comes() {
    let world = World::bare();
    world.configure("set -g @sidecar-interval 3600\n");
    world.tmux(["new-session", "-d", "-s", "main"]).ok();
    world.wait_recorded(&["main"]);
    let ours = || world.tmux(["show-hooks", "-g", "session-created"]).ok().contains("[8420]");
    world.tmux(["set-hook", "-gu", "session-created", ";", "set-hook", "-g", "session-created", "display-message hello"]).ok();
    assert!(!ours());
    let _client = world.attach(&["attach", "-t", "=main"]);
    wait_for("our hook", || ours().then_some(()));
    assert!(world.tmux(["show-hooks", "-g", "session-created"]).ok().contains("hello"), "and theirs stays");
}

#[test]
fn the_users_interval_is_the_timers() {
    let world = World::bare();
    world.configure("set -g @sidecar-interval 77\n");
    world.tmux(["new-session", "-d", "-s", "main"]).ok();
    world.wait_recorded(&["main"]);
    wait_for("a timer of 77 s", || world.show("#{SIDECAR_TIMER}").contains(".77000.").then_some(()));
}

#[test]
fn the_users_own_hooks_that_split_add_nothing_to_what_comes_back() {
    for (version, folder) in tmux_versions().into_iter().filter(|(version, _)| version != "3.1c") {
        let world = World::with_tmux(&folder, 10.0);
        // tmux 3.8 runs `session-created` whatever the session itself says of that hook.
        let created = if version.starts_with("3.8") { "" } else { "set-hook -g session-created[3] 'new-window -d'\n" };
        world.configure(&format!(
            "set -g @sidecar-grace 10\nset -g @sidecar-interval 0.5\n{created}\
             set-hook -g after-new-session[3] 'split-window'\nset-hook -g after-new-window[3] 'split-window -h'\n\
             set-hook -g after-select-pane[3] 'split-window'\nset-hook -g after-rename-session[3] 'split-window'\n"
        ));
        let dir = world.folder("a").display().to_string();
        world.tmux(["new-session", "-d", "-s", "main", "-x", "100", "-y", "30", "-c", &dir]).ok();
        world.tmux(["new-window", "-t", "=main:", "-c", &dir]).ok();
        wait_for("what the hooks add", || {
            (world.tmux(["list-panes", "-s", "-t", "=main", "-F", "x"]).out.lines().count() >= if created.is_empty() { 4 } else { 5 })
                .then_some(())
        });
        world.look();
        let before = world.tree();
        for _ in 0..3 {
            world.crash();
            world.sidecar(["session", "restore"]).ok();
            assert_same(&world.tree(), &before, format!("{version}: {}", world.log()));
            world.look();
        }
        // And the hooks are there again for what the user makes.
        let count = || world.tmux(["list-panes", "-s", "-t", "=main", "-F", "x"]).ok().lines().count();
        wait_for("the user's own hooks", || (world.tmux(["show-hooks", "-t", "=main:"]).ok().trim().is_empty()).then_some(()));
        let panes = count();
        world.tmux(["new-window", "-t", "=main:"]).ok();
        assert!(count() >= panes + 2, "{version}");
    }
}
