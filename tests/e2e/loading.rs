//! Loading and reloading: hooks in their slots, one timer, the first session, and servers that are too old.

use super::records::{options, run};
use super::support::{World, plugin_word, sidecar_path, tmux_versions, wait_for};

/// Every hook of the server, those of windows too.
fn hooks(world: &World) -> Vec<String> {
    // Before 3.2 there is one list for both.
    let windows = world.tmux(["show-hooks", "-gw"]);
    let all = world.tmux(["show-hooks", "-g"]).ok() + if windows.code == 0 { &windows.out } else { "" };
    all.lines().filter(|line| line.contains('[')).map(str::to_owned).collect()
}

fn reload(world: &World) {
    world.tmux(["source-file", world.home().join(".tmux.conf").to_str().unwrap()]).ok();
}

#[test]
fn forty_reloads_leave_one_hook_in_each_slot_and_those_of_others_alone() {
    let world = World::new(1.0);
    world.tmux(["new-session", "-d", "-s", "work"]).ok();
    world
        .tmux([
            "set-hook",
            "-g",
            "session-created[3]",
            "set -g @created 1",
            ";",
            "set-hook",
            "-g",
            "window-renamed[9000]",
            "set -g @renamed 1",
        ])
        .ok();
    let before = hooks(&world);
    let ours = |hooks: &[String]| hooks.iter().filter(|hook| hook.contains(sidecar_path())).count();
    assert!(ours(&before) >= 10, "{before:?}");
    for _ in 0..40 {
        reload(&world);
    }
    let after = hooks(&world);
    assert_eq!(after, before);
    for hook in after.iter().filter(|hook| hook.contains(sidecar_path())) {
        assert!(hook.split(' ').next().unwrap().ends_with("[8420]"), "{hook}");
    }
    assert_eq!(after.len(), ours(&after) + 2, "ours and theirs: {after:?}");
    // And they work, theirs too.
    world.tmux(["new-session", "-d", "-s", "more"]).ok();
    assert_eq!(world.tmux(["show-options", "-gv", "@created"]).ok(), "1\n");
    world.wait_recorded(&["more", "work"]);
}

#[test]
fn a_load_that_works_says_nothing() {
    let world = World::new(1.0);
    world.tmux(["new-session", "-d", "-s", "work"]).ok();
    let _client = world.attach(&["attach-session", "-t", "work"]);
    let client =
        wait_for("the client", || Some(world.tmux(["list-clients", "-F", "#{client_name}"]).out).filter(|name| name.contains("/dev/")));
    reload(&world);
    world.wait_recorded(&["work"]);
    let messages = world.tmux(["show-messages", "-t", client.trim()]).ok();
    assert!(!messages.contains("sidecar:"), "{messages}");
    assert!(!hooks(&world).iter().any(|hook| hook.contains("[8421]")), "no message waits for a client");
}

#[test]
fn forty_reloads_leave_one_timer() {
    const INTERVAL: u64 = 300;
    let world = World::bare();
    let calls = world.folder("bin").join("calls");
    // The helper, with each of its calls noted: it goes by the name it was called by, so the hooks call this one again.
    let helper = world.folder("bin").join("sidecar");
    let script = format!("#!/bin/bash\necho \"$*\" >> '{}'\nexec -a \"$0\" '{}' \"$@\"\n", calls.display(), sidecar_path());
    std::fs::write(&helper, script).unwrap();
    run(world.command("chmod").arg("755").arg(&helper)).ok();
    world.configure(&format!("set -g @sidecar-helper '{}'\n{}", helper.display(), options(1.0, 0.3)));
    world.tmux(["new-session", "-d", "-s", "work"]).ok();
    for _ in 0..40 {
        reload(&world);
    }
    // A timer of an earlier load has one more round before it at most, and then finds a newer token than its own.
    let settled = sidecar::record::now() + INTERVAL + 200;
    let rounds = wait_for("ten rounds", || {
        let text = std::fs::read_to_string(&calls).unwrap();
        let due = |line: &str| -> Option<u64> { line.strip_prefix("hook tick ")?.split_once(".300.")?.0.parse().ok() };
        let rounds: Vec<u64> = text.lines().filter_map(due).filter(|&due| due > settled).collect();
        (rounds.len() >= 10).then_some(rounds)
    });
    for pair in rounds.windows(2) {
        assert!(pair[1] >= pair[0] + INTERVAL, "two timers: {rounds:?}");
    }
}

#[test]
fn the_first_session_is_recorded_when_the_plugin_loads_in_the_background() {
    for _ in 0..5 {
        let world = World::bare();
        let conf = format!("set -g @sidecar-helper '{}'\n{}run-shell -b '{}'\n", sidecar_path(), options(1.0, 3600.0), plugin_word());
        std::fs::write(world.home().join(".tmux.conf"), conf).unwrap();
        world.tmux(["new-session", "-d", "-s", "first"]).ok();
        world.wait_recorded(&["first"]);
    }
}

#[test]
fn what_runs_already_is_recorded_when_the_plugin_is_loaded_later() {
    let world = World::bare();
    world.tmux(["new-session", "-d", "-s", "a", ";", "new-session", "-d", "-s", "b", ";", "split-window", "-d", "-t", "b"]).ok();
    world.configure(&options(1.0, 3600.0));
    reload(&world);
    world.wait_recorded(&["a", "b"]);
    world.wait_as_it_is();
}

#[test]
fn a_timer_that_is_missing_is_armed_by_any_hook() {
    let world = World::bare();
    world.configure(&options(1.0, 0.3));
    world.inhabit(1);
    // As if it were gone: no pending round has this token.
    world.tmux(["set-environment", "-gh", "SIDECAR_TIMER", "1000.0a", ";", "new-session", "-d", "-s", "more"]).ok();
    world.wait_recorded(&["more", "s0"]);
    let dir = world.folder("elsewhere");
    world.tmux(["send-keys", "-t", "=more:", &format!("cd {}", dir.display()), "Enter"]).ok();
    wait_for("the directory", || (world.shell("more")["windows"][0]["panes"][0]["dir"] == dir.to_str().unwrap()).then_some(()));
}

#[test]
fn a_look_that_never_came_keeps_hooks_silent_for_one_round_of_the_timer_at_most() {
    let world = World::bare();
    world.configure(&options(1.0, 0.3));
    world.inhabit(1);
    world.wait_quiet();
    // A hook told the others that it would look, and was killed.
    world.tmux(["set-environment", "-gh", "SIDECAR_LOOK", "1", ";", "new-session", "-d", "-s", "more"]).ok();
    world.wait_recorded(&["more", "s0"]);
    wait_for("the end of the silence", || (!world.tmux(["show-environment", "-gh"]).ok().contains("SIDECAR_LOOK")).then_some(()));
}

#[test]
fn a_server_that_is_too_old_gets_one_message_and_no_hooks() {
    for (version, folder) in tmux_versions().into_iter().filter(|(version, _)| version.starts_with("3.1") || version.starts_with("3.0")) {
        let world = World::with_tmux(&folder, 1.0);
        world.tmux(["new-session", "-d", "-s", "work"]).ok();
        let words = format!("sidecar: needs tmux 3.2 or newer, and this server is {version}");
        // Nobody was there to read it: it waits for the first client, in a slot that is not one of recording.
        let waiting = hooks(&world);
        assert_eq!(waiting.len(), 1, "{waiting:?}");
        assert!(waiting[0].contains(&words) && !waiting[0].contains(sidecar_path()), "{waiting:?}");
        let _client = world.attach(&["attach-session", "-t", "work"]);
        let client =
            wait_for("the client", || Some(world.tmux(["list-clients", "-F", "#{client_name}"]).out).filter(|name| name.contains("/dev/")));
        let messages = || world.tmux(["show-messages", "-t", client.trim()]).ok();
        wait_for("the message", || messages().contains(&words).then_some(()));
        assert_eq!(messages().matches(&words).count(), 1);
        assert_eq!(hooks(&world), [""; 0]);
        assert!(world.store().is_none(), "nothing was recorded");
        let said = run(&mut world.sidecar_command(["plugin", "load"]));
        assert_eq!(said.code, 1);
        assert!(said.err.contains(&format!("needs tmux 3.2 or newer, and this server is {version}")), "{said:?}");
        assert_eq!(hooks(&world), [""; 0]);
    }
}
