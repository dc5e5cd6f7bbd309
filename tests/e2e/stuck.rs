//! A server that lives without answering, another one than was asked for, another boot, and pids that came again.

use std::process::Stdio;

use serde_json::Value;

use super::records::{run, world_without_timer};
use super::support::{World, tmux_versions, wait_for};

/// Two recorded sessions, and a third that no record knows yet: a look that may write would write it.
fn world_with_news() -> (World, i32) {
    let world = world_without_timer(0.3);
    world.inhabit(2);
    let pid = world.remember_server().unwrap();
    // No hook of ours is left to record it.
    let hooks = world.tmux(["show-hooks", "-g", ";", "show-hooks", "-gw"]).ok();
    for hook in hooks.lines().filter_map(|line| line.split(' ').next()).filter(|hook| hook.ends_with("[8420]")) {
        world.tmux(["set-hook", "-gu", hook]).ok();
    }
    world.look();
    world.tmux(["new-session", "-d", "-s", "news"]).ok();
    (world, pid)
}

/// A look as a hook inside the server of this pid takes it.
fn look_inside(world: &World, pid: i32) {
    let tmux = format!("{},{pid},0", world.socket().display());
    let said = run(world.sidecar_command(["hook", "session-created"]).env("TMUX", tmux));
    assert_eq!((said.code, said.out.as_str(), said.err.as_str()), (0, "", ""));
}

#[test]
fn a_helper_that_finds_another_server_behind_its_variable_writes_nothing() {
    let (world, pid) = world_with_news();
    let before = world.state_bytes();
    look_inside(&world, pid + 1);
    assert_eq!(world.state_bytes(), before);
    assert!(world.log().contains("this process runs in the server of pid"), "{}", world.log());
    // The same look in the right server has something to write.
    look_inside(&world, pid);
    assert_eq!(world.recorded(), ["news", "s0", "s1"]);
}

#[test]
fn a_server_whose_socket_was_removed_is_stuck_until_it_makes_it_again() {
    let (world, pid) = world_with_news();
    let before = world.state_bytes();
    std::fs::remove_file(world.socket()).unwrap();
    let plan = world.plan();
    assert_eq!((&plan["server"]["state"], &plan["server"]["pid"]), (&"stuck".into(), &pid.into()));
    assert!(plan["server"]["detail"].as_str().unwrap().contains(&format!("kill -USR1 {pid}")), "{plan}");
    assert_eq!(world.verdicts().into_values().collect::<Vec<_>>(), ["refuse server_stuck"; 2]);
    let said = run(&mut world.sidecar_command(["session", "restore", "--json"]));
    assert_eq!(said.code, 5, "{said:?}");
    assert!(!world.socket().exists(), "no second server was started");
    look_inside(&world, pid);
    assert_eq!(world.state_bytes(), before);

    world.signal(pid, "USR1");
    wait_for("the socket", || world.socket().exists().then_some(()));
    assert_eq!(world.remember_server(), Some(pid));
    assert_eq!(world.verdicts().into_values().collect::<Vec<_>>(), ["reattach already_running"; 2]);
    world.look();
    assert_eq!((world.recorded(), world.tombstones()), (vec!["news".into(), "s0".into(), "s1".into()], vec![]));
}

#[test]
fn a_server_that_does_not_answer_is_stuck_and_nothing_is_written() {
    let (world, pid) = world_with_news();
    let before = world.state_bytes();
    world.signal(pid, "STOP");
    let begin = |words: &[&str]| world.sidecar_command(words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let (plan, hook) = (begin(&["session", "status", "--json"]), begin(&["hook", "session-created"]));
    let (plan, hook) = (plan.wait_with_output().unwrap(), hook.wait_with_output().unwrap());
    world.signal(pid, "CONT");
    assert!(hook.status.success() && hook.stdout.is_empty() && hook.stderr.is_empty(), "{hook:?}");
    let plan: Value = serde_json::from_slice(&plan.stdout).unwrap();
    assert_eq!((&plan["server"]["state"], &plan["server"]["pid"]), (&"stuck".into(), &pid.into()));
    for step in plan["steps"].as_array().unwrap() {
        assert_eq!((&step["action"], &step["reason"]), (&"refuse".into(), &"server_stuck".into()));
    }
    assert_eq!(world.state_bytes(), before);
    assert!(world.log().contains("did not answer in time"), "{}", world.log());
    world.look();
    assert_eq!((world.recorded(), world.tombstones()), (vec!["news".into(), "s0".into(), "s1".into()], vec![]));
}

/// Puts another value into each recorded generation.
fn edit_generations(state: &mut Value, edit: &dyn Fn(&mut Value)) {
    match state {
        Value::Object(object) => {
            for (key, value) in object {
                if key == "generation" {
                    edit(value);
                } else {
                    edit_generations(value, edit);
                }
            }
        }
        Value::Array(list) => list.iter_mut().for_each(|value| edit_generations(value, edit)),
        _ => {}
    }
}

#[test]
fn a_boot_id_from_before_means_that_the_server_died_whatever_its_pid_does_now() {
    let world = world_without_timer(0.3);
    world.inhabit(2);
    let before = world.sizes();
    // The same pid lives, as after a reboot; but nobody answers on the socket.
    std::fs::remove_file(world.socket()).unwrap();
    assert_eq!(world.plan()["server"]["state"], "stuck");
    world.edit_state(|state| edit_generations(state, &|generation| generation["boot"] = "another-boot".into()));
    assert_eq!(world.plan()["server"]["state"], "gone");
    assert_eq!(world.verdicts().into_values().collect::<Vec<_>>(), ["recreate-shell died_with_server"; 2]);
    world.pass_a_grace();
    let mut recorded = world.sizes();
    recorded.remove("stays");
    assert_eq!((recorded, world.tombstones()), (before, vec!["probe".to_owned()]));
}

#[test]
fn a_pid_that_another_process_has_now_is_not_the_server() {
    let world = world_without_timer(0.3);
    world.inhabit(2);
    world.crash();
    // Some process that lives; its start is told in clock ticks.
    let pid = std::process::id();
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let start: u64 = stat.rsplit(") ").next().unwrap().split(' ').nth(19).unwrap().parse().unwrap();
    let reuse = |start: u64| {
        world.edit_state(|state| {
            edit_generations(state, &|generation| {
                generation["pid"] = pid.into();
                generation["processStart"] = start.into();
            });
        });
    };
    reuse(start);
    assert_eq!(world.plan()["server"]["state"], "stuck", "the pid with its start is the server");
    reuse(start - 1);
    assert_eq!(world.plan()["server"]["state"], "gone");
    assert_eq!(world.verdicts().into_values().collect::<Vec<_>>(), ["recreate-shell died_with_server"; 2]);
}

#[test]
fn what_was_closed_with_its_server_counts_as_dead_after_another_boot() {
    let world = world_without_timer(0.3);
    world.inhabit(1);
    let pid = world.remember_server().unwrap();
    let client = world.attach(&["attach-session", "-t", "s0"]);
    wait_for("the client", || world.tmux(["list-clients"]).ok().contains("/dev/").then_some(()));
    world.tmux(["kill-session", "-t", "=s0"]);
    world.wait_gone(pid);
    drop(client);
    assert_eq!(world.verdicts()["s0"], "recreate-shell closed_with_server");
    world.edit_state(|state| edit_generations(state, &|generation| generation["boot"] = "another-boot".into()));
    assert_eq!(world.verdicts()["s0"], "recreate-shell died_with_server");
}

#[test]
fn a_whole_answer_counts_whatever_the_versions_of_client_and_server() {
    let versions: Vec<_> = tmux_versions().into_iter().filter(|(version, _)| !version.starts_with("3.1")).collect();
    for (server, folder) in &versions {
        let mut world = World::with_tmux(folder, 0.2);
        let before = world.inhabit(2);
        for (client, folder) in &versions {
            world.switch_tmux(folder);
            world.look();
            assert_eq!((world.sizes(), world.tombstones()), (before.clone(), vec![]), "{client} asks {server}");
            let plan = world.plan();
            // An answer that is no whole one is nothing that a plan is made of.
            assert!(plan["server"]["state"] == "running" || plan["server"]["state"] == "unknown", "{client} asks {server}: {plan}");
        }
    }
}
