//! The restore in its corners: directories, options, the bootstrap session, other tools' sessions, several versions.

use serde_json::Value;

use super::support::{Client, Said, World, assert_same, tmux_versions, wait_for};

fn outcome<'a>(report: &'a Value, session: &str) -> &'a Value {
    let outcomes = report["outcomes"].as_array().unwrap();
    outcomes.iter().find(|outcome| outcome["session"] == session).unwrap_or_else(|| panic!("no outcome of {session}: {report}"))
}

fn restore(world: &World) -> (Said, Value) {
    let said = world.sidecar(["session", "restore", "--json"]);
    let report = said.json();
    (said, report)
}

/// A session of this name with a window of two panes and another window, in folders of its own.
fn make(world: &World, name: &str) {
    let folder = |part: &str| world.folder(format!("{name}-{part}")).display().to_string();
    let id = world.tmux(["new-session", "-d", "-P", "-F", "#{session_id}", "-s", name, "-x", "100", "-y", "30", "-c", &folder("a")]).ok();
    let target = format!("{}:", id.trim());
    world.tmux(["split-window", "-h", "-t", &target, "-c", &folder("b")]).ok();
    world.tmux(["new-window", "-t", &target, "-n", "logs", "-c", &folder("c")]).ok();
}

/// A client that starts tmux as a person does, with the prompt of its session drawn.
fn bootstrap(world: &World) -> Client {
    let client = world.attach(&["new-session"]);
    wait_for("the bootstrap session's prompt", || {
        let screen = world.tmux(["capture-pane", "-p", "-t", "$0"]);
        (!screen.out.trim().is_empty()).then_some(())
    });
    client
}

#[test]
fn a_missing_directory_of_the_shell_is_refused_and_one_of_a_pane_is_told() {
    let world = World::new(10.0);
    make(&world, "web");
    make(&world, "api");
    world.look();
    world.crash();
    std::fs::remove_dir(world.folder("web-a")).unwrap();
    std::fs::remove_dir(world.folder("api-b")).unwrap();
    let (said, report) = restore(&world);
    assert_eq!(said.code, 5, "{said:?}");
    let web = outcome(&report, "web");
    assert_eq!((&web["status"], &web["reason"]), (&"refused".into(), &"directory_missing".into()));
    let api = outcome(&report, "api");
    assert_eq!(api["status"], "restored");
    assert!(api["detail"].as_str().unwrap().contains("api-b"), "{api}");
    let paths = world.tmux(["list-panes", "-s", "-t", "=api", "-F", "#{pane_current_path}"]).ok();
    let lines: Vec<&str> = paths.lines().collect();
    assert!(lines[1].ends_with("/api-a"), "in the shell's own directory, never silently at home: {paths}");
    // The refused one is not lost, and comes back once its directory is there again.
    std::fs::create_dir(world.work().join("web-a")).unwrap();
    assert_eq!(outcome(&restore(&world).1, "web")["status"], "restored");
}

#[test]
fn a_file_in_the_place_of_the_directory_is_a_missing_directory() {
    let world = World::new(10.0);
    make(&world, "web");
    world.look();
    world.crash();
    std::fs::remove_dir(world.folder("web-a")).unwrap();
    std::fs::write(world.work().join("web-a"), "").unwrap();
    let plan = world.sidecar(["session", "status", "--json"]).json();
    assert_eq!(plan["steps"][0]["reason"], "directory_missing");
    assert_eq!(restore(&world).0.code, 5);
}

#[test]
fn a_directory_behind_a_symlink_comes_back_by_the_users_own_path() {
    let world = World::new(10.0);
    let real = world.folder("real");
    let link = world.work().join("link");
    std::os::unix::fs::symlink(&real, &link).unwrap();
    world.tmux(["new-session", "-d", "-s", "web", "-c", link.to_str().unwrap()]).ok();
    world.look();
    world.crash();
    restore(&world);
    assert_eq!(
        world.tmux(["list-panes", "-t", "=web", "-F", "#{pane_start_path} #{pane_current_path}"]).ok().trim(),
        format!("{} {}", link.display(), real.display())
    );
}

/// Options that have made such tools lose or double something.
#[test]
fn the_users_options_do_not_get_in_the_way() {
    for options in [
        "set -g default-command 'exec /bin/sh'",
        "set -g default-shell /bin/bash",
        "set -g destroy-unattached on",
        "set -g remain-on-exit on",
        "set -g exit-empty off",
        "set -g base-index 1\nset -g pane-base-index 1\nset -g renumber-windows on",
        "set -g status off",
        "set -g automatic-rename off\nset -g allow-rename off",
        "set -g window-size smallest\nset -g aggressive-resize on",
    ] {
        let world = World::bare();
        world.configure(&format!("set -g @sidecar-interval 3600\n{options}\n"));
        // With destroy-unattached on, only an attached session lives.
        let client = world.attach(&["new-session", "-s", "web", "-c", world.folder("web-a").to_str().unwrap()]);
        wait_for("the first session", || (world.tmux(["has-session", "-t", "=web"]).code == 0).then_some(()));
        world.tmux(["split-window", "-h", "-t", "=web:", "-c", world.folder("web-b").to_str().unwrap()]).ok();
        world.tmux(["new-window", "-t", "=web:", "-n", "logs"]).ok();
        world.look();
        let before = world.tree();
        world.crash();
        drop(client);
        let (said, report) = restore(&world);
        assert_eq!(said.code, 0, "{options}: {said:?} {}", world.log());
        assert_eq!(outcome(&report, "web")["status"], "restored", "{options}");
        assert_same(&world.tree(), &before, options);
        let panes = world.state()["shells"][0]["windows"].to_string();
        world.look();
        assert_eq!(world.state()["shells"][0]["windows"].to_string(), panes, "{options}");
    }
}

#[test]
fn destroy_unattached_is_the_users_again_after_the_first_client() {
    let world = World::bare();
    world.configure("set -g destroy-unattached on\nset -g @sidecar-interval 3600\n");
    let client = world.attach(&["new-session", "-s", "web"]);
    wait_for("the first session", || (world.tmux(["has-session", "-t", "=web"]).code == 0).then_some(()));
    world.look();
    world.crash();
    drop(client);
    restore(&world);
    let option = || world.tmux(["show-options", "-t", "=web:", "-qv", "destroy-unattached"]).out.trim().to_owned();
    assert_eq!(option(), "off", "nobody is attached yet");
    let _client = world.attach(&["attach", "-t", "=web"]);
    wait_for("the user's own value", || option().is_empty().then_some(()));
}

#[test]
fn a_server_whose_own_directory_is_gone_opens_the_right_ones() {
    let world = World::new(3600.0);
    let gone = world.folder("gone");
    make(&world, "web");
    world.look();
    world.wait_as_it_is();
    let before = world.tree();
    world.crash();
    world.command("tmux").args(["new-session", "-d", "-s", "elsewhere", "-c", "/"]).current_dir(&gone).status().unwrap();
    world.remember_server();
    std::fs::remove_dir(&gone).unwrap();
    let (said, _) = restore(&world);
    assert_eq!(said.code, 0, "{said:?}");
    let after: Vec<String> = world.tree().lines().filter(|line| !line.starts_with("elsewhere")).map(str::to_owned).collect();
    assert_eq!(after.join("\n"), before);
}

#[test]
fn the_bootstrap_session_goes_and_its_client_sees_the_shell_last_attached() {
    let world = World::new(10.0);
    make(&world, "api");
    make(&world, "web");
    let client = world.attach(&["attach", "-t", "=web"]);
    wait_for("a client", || world.tmux(["list-clients", "-F", "#{client_session}"]).out.contains("web").then_some(()));
    world.look();
    world.crash();
    drop(client);
    let _client = bootstrap(&world);
    let (said, _) = restore(&world);
    assert_eq!(said.code, 0, "{said:?}");
    assert_eq!(world.tmux(["list-sessions", "-F", "#{session_name}"]).ok(), "api\nweb\n");
    assert_eq!(world.tmux(["list-clients", "-F", "#{client_session}"]).ok(), "web\n");
}

#[test]
fn the_restore_runs_from_the_bootstrap_pane_itself() {
    let world = World::new(10.0);
    make(&world, "web");
    world.look();
    let before = world.tree_without_sizes();
    world.crash();
    let _client = bootstrap(&world);
    world.tmux(["send-keys", "-t", "$0:", &format!("{} session restore", super::support::sidecar_path()), "Enter"]).ok();
    wait_for("the end of the bootstrap session", || (world.tmux(["list-sessions", "-F", "#{session_name}"]).out == "web\n").then_some(()));
    wait_for("the whole shell", || (world.tree_without_sizes() == before).then_some(()));
    assert_eq!(world.tmux(["list-clients", "-F", "#{client_session}"]).ok(), "web\n");
}

#[test]
fn a_bootstrap_session_that_somebody_typed_in_stays() {
    let world = World::new(10.0);
    make(&world, "web");
    world.look();
    world.crash();
    let _client = bootstrap(&world);
    world.look();
    world.tmux(["send-keys", "-t", "$0:", "echo half a thou"]).ok();
    wait_for("what was typed", || world.tmux(["capture-pane", "-p", "-t", "$0"]).out.contains("thou").then_some(()));
    restore(&world);
    assert_eq!(world.tmux(["list-sessions", "-F", "#{session_name}"]).ok(), "0\nweb\n");
    world.wait_recorded(&["0", "web"]);
}

#[test]
fn a_saved_shell_named_like_the_bootstrap_session_comes_back() {
    let world = World::new(10.0);
    make(&world, "0");
    world.look();
    let before = world.tree_without_sizes();
    assert_eq!(world.recorded(), ["0"]);
    world.crash();
    let _client = bootstrap(&world);
    let (said, _) = restore(&world);
    assert_eq!(said.code, 0, "{said:?} {}", world.log());
    assert_eq!(world.tree_without_sizes(), before, "{}", world.log());
}

#[test]
fn what_another_tool_made_again_is_taken_over_and_not_doubled() {
    let world = World::new(10.0);
    make(&world, "web");
    world.look();
    let (id, panes) =
        (world.state()["shells"][0]["id"].clone(), world.tmux(["list-panes", "-s", "-t", "=web", "-F", "#{@sidecar-pane}"]).ok());
    world.crash();
    // As tmux-resurrect does: the same name and directories, no options.
    make(&world, "web");
    world.look();
    assert_eq!(world.recorded(), ["web"]);
    let (said, report) = restore(&world);
    assert_eq!((said.code, &outcome(&report, "web")["status"]), (0, &"reattached".into()));
    assert_eq!(world.state()["shells"][0]["id"], id);
    assert_eq!(world.tmux(["list-panes", "-s", "-t", "=web", "-F", "#{@sidecar-pane}"]).ok(), panes);
}

#[test]
fn an_unrelated_session_of_the_same_name_is_left_alone() {
    let world = World::new(10.0);
    make(&world, "web");
    world.look();
    world.crash();
    let id = world.state()["shells"][0]["id"].clone();
    world.tmux(["new-session", "-d", "-s", "web", "-c", "/"]).ok();
    let (said, report) = restore(&world);
    assert_eq!(said.code, 5);
    let ours = report["outcomes"].as_array().unwrap().iter().find(|outcome| outcome["shell"] == id).unwrap();
    assert_eq!(ours["reason"], "name_taken");
    world.tmux(["rename-session", "-t", "=web", "mine"]).ok();
    world.look();
    let (said, report) = restore(&world);
    assert_eq!((said.code, &outcome(&report, "web")["status"]), (0, &"restored".into()));
    assert_eq!(world.tmux(["list-sessions", "-F", "#{session_name}"]).ok(), "mine\nweb\n");
}

#[test]
fn one_shell_alone_comes_back_by_any_of_its_names() {
    let world = World::new(10.0);
    for name in ["p-1", "p-10", "other"] {
        make(&world, name);
    }
    world.tmux(["rename-session", "-t", "=other", "renamed"]).ok();
    world.look();
    let id = world.state()["shells"].as_array().unwrap().iter().find(|shell| shell["session"] == "p-10").unwrap()["id"]
        .as_str()
        .unwrap()
        .to_owned();
    world.crash();
    let dry = world.sidecar(["session", "restore", "--dry-run", "--json", "--shell", "p-1"]).json();
    assert_eq!(
        (&dry["dryRun"], &outcome(&dry, "p-1")["status"], &outcome(&dry, "p-10")["reason"]),
        (&true.into(), &"restored".into(), &"not_selected".into())
    );
    assert_eq!(world.tmux(["list-sessions"]).code, 1, "a dry run starts no server");
    world.sidecar(["session", "restore", "--shell", "p-1"]).ok();
    assert_eq!(world.tmux(["list-sessions", "-F", "#{session_name}"]).ok(), "p-1\n");
    world.sidecar(["session", "restore", "--shell", &id, "--shell", "other"]).ok();
    assert_eq!(world.tmux(["list-sessions", "-F", "#{session_name}"]).ok(), "p-1\np-10\nrenamed\n");
    let unknown = world.sidecar(["session", "restore", "--shell", "renamde", "--json"]);
    assert_eq!(unknown.code, 3);
    let error: Value = serde_json::from_str(&unknown.err).unwrap();
    assert_eq!(error["error"]["code"], "no_such_shell");
    assert!(error["error"]["hint"].as_str().unwrap().contains("renamed"), "{error}");
}

#[test]
fn one_member_of_a_group_comes_back_alone_with_its_windows_and_the_other_joins_it_later() {
    let world = World::new(10.0);
    make(&world, "web");
    world.tmux(["new-session", "-d", "-t", "=web", "-s", "second"]).ok();
    world.tmux(["new-session", "-d", "-s", "third", "-c", "/"]).ok();
    world.tmux(["link-window", "-d", "-s", "=web:1", "-t", "=third:9"]).ok();
    world.look();
    // Whoever holds a window has its panes.
    let list = world.sidecar(["shell", "list", "--all"]).ok();
    let sizes = |name: &str| list.lines().find(|line| line.starts_with(name)).unwrap().rsplit("   ").next().unwrap().to_owned();
    assert_eq!(sizes("second"), sizes("web"), "{list}");
    let before = world.tree();
    world.crash();
    for shell in ["second", "third", "web"] {
        let said = world.sidecar(["session", "restore", "--shell", shell]);
        assert_eq!(said.code, 0, "{said:?} {}", world.log());
    }
    assert_eq!(world.tree(), before);
    world.look();
    assert_eq!(world.recorded(), ["second", "third", "web"]);
}

#[test]
fn copy_mode_dead_panes_nested_tmux_and_a_hundred_windows() {
    let world = World::new(10.0);
    world.tmux(["new-session", "-d", "-s", "many", "-c", "/"]).ok();
    for _ in 0..99 {
        world.tmux(["new-window", "-d", "-t", "=many:"]).ok();
    }
    make(&world, "odd");
    world.tmux(["copy-mode", "-t", "=odd:0.0"]).ok();
    world.tmux(["set-option", "-w", "-t", "=odd:1", "remain-on-exit", "on", ";", "respawn-pane", "-k", "-t", "=odd:1", "true"]).ok();
    wait_for("a dead pane", || (world.tmux(["display-message", "-p", "-t", "=odd:1", "#{pane_dead}"]).out.trim() == "1").then_some(()));
    world.tmux(["send-keys", "-t", "=odd:0.1", "TMUX= tmux -L inner -f /dev/null", "Enter"]).ok();
    let inner =
        wait_for("the inner server", || world.tmux(["-L", "inner", "display-message", "-p", "#{pid}"]).out.trim().parse::<i32>().ok());
    world.look();
    world.crash();
    world.signal(inner, "KILL");
    let (said, _) = restore(&world);
    assert_eq!(said.code, 0, "{said:?} {}", world.log());
    assert_eq!(world.tmux(["list-windows", "-t", "=many", "-F", "x"]).ok().lines().count(), 100);
    assert_eq!(world.tmux(["list-panes", "-s", "-t", "=odd", "-F", "x"]).ok().lines().count(), 3);
}

/// A record made on one version comes back on every other.
#[test]
fn records_of_one_tmux_version_come_back_on_the_others() {
    let versions: Vec<_> = tmux_versions().into_iter().filter(|(version, _)| version != "3.1c").collect();
    for (from, from_dir) in &versions {
        for (to, to_dir) in &versions {
            if from == to {
                continue;
            }
            let mut world = World::with_tmux(from_dir, 10.0);
            make(&world, "a$b:c.d\\e");
            world.tmux(["resize-pane", "-Z", "-t", "$0:0.1", ";", "select-window", "-t", "$0:0"]).ok();
            world.look();
            let name = world.recorded()[0].clone();
            let shape = |world: &World| {
                let tree = world.tree();
                // Names differ where a version does not take them; everything else is equal.
                let lines: Vec<String> = tree
                    .lines()
                    .map(|line| line[line.find([':', ' ']).unwrap()..].to_owned())
                    .filter(|line| line.contains("|active"))
                    .map(|line| line[line.find('|').unwrap()..].to_owned())
                    .collect();
                lines.join("\n")
            };
            let before = shape(&world);
            world.crash();
            world.switch_tmux(to_dir);
            let said = world.sidecar(["session", "restore", "--json"]);
            assert_eq!(said.code, 0, "{from} to {to}: {said:?} {}", world.log());
            assert_eq!(shape(&world), before, "{from} to {to}");
            world.look();
            assert_eq!(world.recorded(), [name.as_str()], "{from} to {to}: the name stays the shell's own");
        }
    }
}

#[test]
fn floating_panes_come_back_as_panes() {
    for (version, folder) in tmux_versions() {
        if version == "3.1c" {
            continue;
        }
        let world = World::with_tmux(&folder, 10.0);
        make(&world, "web");
        // Asked of the server that lives: it would start one that ends at once, under the feet of what follows.
        if !world.tmux(["list-commands"]).ok().contains("new-pane") {
            continue;
        }
        world.tmux(["new-pane", "-t", "=web:0", "-x", "20", "-y", "5", "-c", world.folder("float").to_str().unwrap()]).ok();
        world.look();
        assert!(world.state().to_string().contains("\"floating\":true"), "{version}");
        let panes = |world: &World| world.tmux(["list-panes", "-t", "=web:0", "-F", "#{@sidecar-pane} #{pane_current_path}"]).ok();
        let mut before: Vec<String> = panes(&world).lines().map(str::to_owned).collect();
        before.sort();
        world.crash();
        let (said, _) = restore(&world);
        assert_eq!(said.code, 0, "{version}: {said:?} {}", world.log());
        let mut after: Vec<String> = panes(&world).lines().map(str::to_owned).collect();
        after.sort();
        assert_eq!(after, before, "{version}");
    }
}

#[test]
fn a_session_of_linked_windows_alone_comes_back_without_a_window_too_many() {
    let world = World::new(10.0);
    for name in ["a", "b"] {
        world.tmux(["new-session", "-d", "-s", name, "-x", "100", "-y", "30", "-c", "/"]).ok();
    }
    world.tmux(["link-window", "-d", "-s", "=a:0", "-t", "=b:5"]).ok();
    world.look();
    let before = world.tree();
    world.crash();
    // The one that only links it makes the window, and its owner has nothing left to make.
    for shell in ["b", "a"] {
        world.sidecar(["session", "restore", "--shell", shell]).ok();
    }
    assert_eq!(world.tree(), before, "{}", world.log());
}

#[test]
fn a_forgotten_shell_is_left_alone_and_what_is_wrong_is_said() {
    let world = World::new(0.1);
    make(&world, "web");
    make(&world, "gone");
    world.wait_recorded(&["gone", "web"]);
    world.tmux(["kill-session", "-t", "=gone"]).ok();
    wait_for("its tombstone", || (world.tombstones() == ["gone"]).then_some(()));
    world.crash();
    let said = world.sidecar(["session", "restore", "--shell", "gone", "--json"]);
    assert_eq!((said.code, outcome(&said.json(), "gone")["reason"].as_str()), (0, Some("tombstoned")));
    world.tmux(["start-server", ";", "set-option", "-g", "@sidecar-grace", "soon", ";", "new-session", "-d", "-s", "other"]).ok();
    let status = world.sidecar(["session", "status", "--json"]).json();
    assert!(status["notices"].to_string().contains("@sidecar-grace is 'soon'"), "{status}");
    let full =
        world.command("sh").args(["-c", &format!("exec {} session status >/dev/full", super::support::sidecar_path())]).output().unwrap();
    assert_eq!(full.status.code(), Some(1));
    // And nothing is made where nothing was recorded.
    let fresh = World::bare();
    fresh.sidecar(["session", "restore"]).ok();
    assert!(fresh.store().is_none());
}

#[test]
fn a_group_whose_windows_are_recorded_with_several_members_comes_back_whole() {
    let world = World::new(0.1);
    world.tmux(["new-session", "-d", "-s", "s", "-x", "100", "-y", "30", "-c", "/"]).ok();
    world.look();
    world.tmux(["new-session", "-d", "-t", "=s", "-s", "g"]).ok();
    world.look();
    world.tmux(["new-window", "-d", "-t", "=s:", "-c", "/"]).ok();
    world.look();
    world.tmux(["new-session", "-d", "-s", "r", "-x", "100", "-y", "30", "-c", "/"]).ok();
    world.tmux(["link-window", "-d", "-s", "=s:0", "-t", "=r:5", ";", "kill-window", "-t", "=r:0"]).ok();
    world.tmux(["select-window", "-t", "=g:0", ";", "select-window", "-t", "=s:1"]).ok();
    wait_for("the record without the closed window", || {
        world.look();
        let state = world.state();
        let shell = state["shells"].as_array().unwrap().iter().find(|shell| shell["session"] == "r")?.clone();
        (shell["windows"].as_array().unwrap().len() == 1).then_some(())
    });
    let before = world.tree();
    for round in 1..=3 {
        world.crash();
        world.sidecar(["session", "restore"]).ok();
        assert_same(&world.tree(), &before, format!("round {round}: {}", world.log()));
        world.look();
    }
}
