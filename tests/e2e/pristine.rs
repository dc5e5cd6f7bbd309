//! The session that starting tmux makes by itself: nothing is recorded of it until somebody uses it.

use super::support::{World, wait_for};

/// A server with its first session, whose prompt has been seen and found untouched.
fn untouched() -> World {
    let world = World::new(0.2);
    start(&world);
    world
}

#[track_caller]
fn start(world: &World) {
    world.tmux(["new-session", "-d"]).ok();
    assert_eq!(world.show("#{session_name}"), "0");
    wait_for("its first screen", || {
        world.look();
        world.state()["bootstrap"]["screen"][0].as_str().map(str::to_owned)
    });
}

/// Looks by the timer, as the lock file's time tells them.
fn wait_looks(world: &World, count: usize) {
    let lock = world.store().unwrap().join("lock");
    for _ in 0..count {
        let last = lock.metadata().unwrap().modified().unwrap();
        wait_for("the timer's look", || (lock.metadata().unwrap().modified().unwrap() > last).then_some(()));
    }
}

#[test]
fn an_untouched_first_session_is_not_recorded_and_leaves_nothing() {
    let world = untouched();
    let first = world.state_bytes();
    wait_looks(&world, 3);
    assert_eq!(world.recorded(), [""; 0]);
    assert_eq!(world.state_bytes(), first);
    assert_eq!(world.plan()["steps"].as_array().unwrap().len(), 0);
    // What else lives is recorded beside it, and its own end is nobody's loss.
    world.tmux(["new-session", "-d", "-s", "work", ";", "kill-session", "-t", "=0"]).ok();
    world.wait_recorded(&["work"]);
    world.pass_a_grace();
    assert_eq!(world.tombstones(), ["probe"]);
    assert_eq!(world.recorded(), ["stays", "work"]);
}

#[test]
fn an_untouched_first_session_that_somebody_looks_at_is_not_recorded() {
    let world = World::new(0.2);
    let _client = world.attach(&["new-session"]);
    wait_for("the server", || world.remember_server());
    wait_for("its first screen", || world.state()["bootstrap"]["screen"][0].as_str().map(str::to_owned));
    wait_looks(&world, 3);
    assert_eq!(world.recorded(), [""; 0]);
}

#[test]
fn an_untouched_first_session_dies_without_a_trace() {
    let world = untouched();
    world.crash();
    assert_eq!(world.plan()["steps"].as_array().unwrap().len(), 0);
    start(&world);
    assert_eq!((world.recorded(), world.tombstones()), (vec![], vec![]));
}

#[test]
fn a_first_session_that_is_used_is_recorded() {
    for words in [
        &["send-keys", "-t", "0", "echo hello", "Enter"][..],
        &["send-keys", "-t", "0", "half a line"],
        &["send-keys", "-t", "0", "exec sleep 60", "Enter"],
        &["split-window", "-d", "-t", "0"],
        &["new-window", "-d", "-t", "=0:"],
        &["rename-window", "-t", "0", "mine"],
        &["respawn-window", "-k", "-t", "0", "sleep 60"],
    ] {
        let world = untouched();
        world.tmux(words).ok();
        world.wait_recorded(&["0"]);
        // And like any other it is a tombstone once it is closed.
        world.pass_a_grace();
        world.tmux(["kill-session", "-t", "=0"]).ok();
        wait_for("the tombstone", || (world.tombstones() == ["0", "probe"]).then_some(()));
    }
}

#[test]
fn a_renamed_first_session_is_recorded() {
    let world = untouched();
    world.tmux(["rename-session", "-t", "0", "mine"]).ok();
    world.wait_recorded(&["mine"]);
}

#[test]
fn a_first_session_with_a_running_child_is_recorded() {
    let world = World::new(0.2);
    world.configure("set -g @sidecar-interval 0.5\nset -g default-shell /bin/bash\nset -g default-command ''\n");
    std::fs::write(world.home().join(".bash_profile"), "sleep 60 &\n").unwrap();
    world.tmux(["new-session", "-d"]).ok();
    world.wait_recorded(&["0"]);
}

#[test]
fn sessions_that_are_not_the_first_or_were_named_are_recorded_untouched() {
    let world = World::new(0.2);
    start(&world);
    world.tmux(["new-session", "-d"]).ok();
    world.wait_recorded(&["1"]);
    let named = World::new(0.2);
    named.tmux(["new-session", "-d", "-s", "work"]).ok();
    named.wait_recorded(&["work"]);
}

#[test]
fn a_bash_prompt_is_untouched_too() {
    let world = World::new(0.2);
    world.configure("set -g @sidecar-interval 0.5\nset -g @sidecar-grace 0.2\nset -g default-shell /bin/bash\n");
    std::fs::write(world.home().join(".bash_profile"), "echo welcome; PS1='\\u:\\w\\$ '\n").unwrap();
    start(&world);
    wait_looks(&world, 3);
    assert_eq!(world.recorded(), [""; 0]);
    world.tmux(["send-keys", "-t", "0", "cd /", "Enter"]).ok();
    world.wait_recorded(&["0"]);
}
