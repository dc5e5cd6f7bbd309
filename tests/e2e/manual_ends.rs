//! Panes with a command of their own through any number of crashes: it stays with its pane, and a shell of the user's is left.

use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;

use super::manual::{ASKS, forget_told, no_canary, restore_by, script, start, teller, told, wait_shell, without_live_ids, worlds};
use super::records::world_without_timer;
use super::support::{World, assert_same, sidecar_path, wait_for};

#[test]
fn the_command_runs_where_it_was_started_or_not_at_all() {
    let world = world_without_timer(10.0);
    world.folder("a/sub");
    start(&world, &["cd sub && pwd >>../told; sleep 1000; false"]);
    wait_for("the first run", || told(&world));
    // The pane is where its program went.
    let sub = world.work().join("a/sub").display().to_string();
    wait_for("the directory", || (world.show("#{pane_current_path}") == sub).then_some(()));
    world.look_anew();
    for _ in 0..2 {
        forget_told(&world);
        world.crash_and_restore();
        world.wait_shown("=web:", &format!("command, in {}:", world.folder("a").display()));
        assert_eq!(world.show("#{pane_current_path}"), sub);
        world.press("=web:", &["Enter"]);
        wait_for("the run", || (told(&world)? == format!("{sub}\n").as_bytes()).then_some(()));
    }
    world.press("=web:", &["C-c"]);
    wait_shell(&world, "=web:");
    // The session's own directory is there, and that of the command is not.
    world.tmux(["new-window", "-t", "=web:", "-c", &world.folder("b").display().to_string(), "touch ../CANARY; exec sleep 1000"]).ok();
    wait_for("its first run", || std::fs::remove_file(world.work().join("CANARY")).ok());
    world.look_anew();
    world.crash();
    std::fs::remove_dir(world.folder("b")).unwrap();
    world.sidecar(["session", "restore"]).ok();
    world.wait_shown("=web:", ASKS);
    world.press("=web:", &["Enter"]);
    world.wait_shown("=web:", "sidecar: not started, its directory is missing: ");
    wait_shell(&world, "=web:");
    no_canary(&world, "a command in another directory");
}

#[test]
fn the_command_stays_with_its_pane_through_any_number_of_crashes() {
    for (version, world) in worlds() {
        world.configure_programs(&["tail"]);
        let teller = teller(&world);
        let dir = world.folder("a").display().to_string();
        // A mixed shell: a line, words, a plain shell, and a program that the user named.
        start(&world, &[&format!("'{}' line; sleep 1000", teller.display())]);
        world.tmux(["split-window", "-h", "-t", "=web:", "-c", &dir, teller.to_str().unwrap(), "two  words", ""]).ok();
        world.tmux(["split-window", "-t", "=web:", "-c", &dir]).ok();
        world.tmux(["new-window", "-t", "=web:", "-c", &dir]).ok();
        world.press("=web:1", &["tail -f /dev/null", "Enter"]);
        world.wait_in_front("=web:1", &["tail", "-f", "/dev/null"]);
        world.look_anew();
        let (tree, recorded) = (world.tree(), without_live_ids(&world.state()["shells"][0]["windows"]));
        assert!(recorded[1].contains(r#""two  words","""#), "{recorded:?}");
        for round in 1..=3 {
            let report = world.crash_and_restore();
            let outcome = &report["outcomes"][0];
            assert_eq!((&outcome["status"], &outcome["reason"]), (&"restored".into(), &"restored".into()), "{version}");
            assert!(outcome["detail"].as_str().unwrap().contains("2 panes wait with their commands"), "{outcome}");
            for pane in ["=web:0.0", "=web:0.1"] {
                world.wait_shown(pane, ASKS);
            }
            // Once nothing is answered, once Enter, once another key.
            match round {
                2 => {
                    world.press("=web:0.0", &["Enter"]);
                    world.wait_in_front("=web:0.0", &["/bin/sh", "-c", &format!("'{}' line; sleep 1000", teller.display())]);
                    world.press("=web:0.1", &["Enter"]);
                    world.wait_in_front("=web:0.1", &["sleep", "1000"]);
                }
                3 => {
                    for pane in ["=web:0.0", "=web:0.1"] {
                        world.press(pane, &["q"]);
                        wait_shell(&world, pane);
                    }
                }
                _ => {}
            }
            world.wait_in_front("=web:1", &["tail", "-f", "/dev/null"]);
            world.look_anew();
            assert_same(&world.tree(), &tree, format!("{version}, round {round}"));
            assert_eq!(without_live_ids(&world.state()["shells"][0]["windows"]), recorded, "{version}, round {round}");
        }
        // Another command takes its place.
        world.tmux(["respawn-pane", "-k", "-t", "=web:0.0", "exec sleep 7"]).ok();
        world.look_anew();
        assert_eq!(world.state()["shells"][0]["windows"][0]["panes"][0]["run"], "exec sleep 7");
    }
}

#[test]
fn a_pane_ends_in_a_shell_if_the_helper_or_the_record_is_gone() {
    let world = world_without_timer(10.0);
    let teller = teller(&world);
    start(&world, &[teller.to_str().unwrap(), "x"]);
    wait_for("the first run", || told(&world));
    world.crash();
    let helper = world.folder("it's #(touch CANARY) $(x)").join("sidecar");
    std::fs::copy(sidecar_path(), &helper).unwrap();
    restore_by(&world, &helper).ok();
    world.wait_shown("=web:", ASKS);
    forget_told(&world);

    // It goes while it waits: the command runs all the same, and a shell is left.
    std::fs::remove_file(&helper).unwrap();
    world.press("=web:", &["Enter"]);
    wait_for("the run", || told(&world));
    world.press("=web:", &["C-c"]);
    wait_shell(&world, "=web:");

    let respawned = |what: &str| {
        world.tmux(["respawn-pane", "-k", "-t", "=web:"]).ok();
        world.wait_shown("=web:", what);
        wait_shell(&world, "=web:");
        let screen = world.screen("=web:");
        assert_eq!(screen.lines().filter(|line| line.starts_with("sidecar: ")).count(), 1, "{screen}");
        assert_eq!(world.tmux(["list-panes", "-s", "-t", "=web", "-F", "#{@sidecar-pane}"]).ok().lines().count(), 1);
    };
    respawned(&format!("sidecar: cannot run {}, so here is a shell", helper.display()));
    std::fs::write(&helper, b"\x7fELF no program").unwrap();
    std::fs::set_permissions(&helper, std::fs::Permissions::from_mode(0o755)).unwrap();
    respawned("sidecar: cannot run");
    std::fs::remove_file(&helper).unwrap();
    std::fs::copy(sidecar_path(), &helper).unwrap();
    let records = world.store().unwrap().join("shells.json");
    let kept = std::fs::read(&records).unwrap();
    for broken in [&br#"{"version":3,"shells":[],"tombstones":[]}"#[..], b"{\"version\":\"?\"}"] {
        std::fs::write(&records, broken).unwrap();
        for entry in std::fs::read_dir(world.store().unwrap()).unwrap() {
            let path = entry.unwrap().path();
            if path.file_name().unwrap().as_bytes().starts_with(b"shells.json.") {
                std::fs::remove_file(path).unwrap();
            }
        }
        respawned("sidecar: there is no record of this pane");
    }
    std::fs::write(&records, kept).unwrap();
    world.tmux(["respawn-pane", "-k", "-t", "=web:"]).ok();
    world.wait_shown("=web:", ASKS);
    no_canary(&world, "the helper's own path");
}

#[test]
fn the_shell_that_is_left_is_the_one_that_tmux_opens() {
    for (options, argv0, mark) in [
        ("set -g default-shell /bin/bash", "-bash", ""),
        ("set -g default-shell /usr/bin/zsh", "-zsh", ""),
        ("set -g default-shell /usr/bin/fish", "-fish", ""),
        ("set -g default-shell /bin/dash", "-dash", ""),
        ("set -g default-shell /bin/dash\nset -g default-command 'MARK=\"a b\" exec bash --norc'", "bash", "MARK=a b"),
    ] {
        for key in ["Enter", "q"] {
            let world = World::bare();
            world.configure(&format!("set -g @sidecar-interval 3600\n{options}\n"));
            std::fs::write(world.home().join(".zshrc"), "").unwrap();
            start(&world, &["exec sleep 1000"]);
            world.crash_and_restore();
            world.wait_shown("=web:", ASKS);
            world.press("=web:", &[key]);
            if key == "Enter" {
                world.wait_in_front("=web:", &["sleep", "1000"]);
                world.press("=web:", &["C-c"]);
            }
            wait_for(&format!("{argv0} for {options}, {key}"), || {
                let [pane, front] = world.processes("=web:")?;
                (pane == front && pane.starts_with(argv0.as_bytes()) && pane.get(argv0.len()) == Some(&0)).then_some(())
            });
            if !mark.is_empty() {
                let pid = world.tmux(["display-message", "-p", "-t", "=web:", "#{pane_pid}"]).ok();
                let environment = std::fs::read(format!("/proc/{}/environ", pid.trim())).unwrap();
                assert!(environment.split(|&byte| byte == 0).any(|entry| entry == mark.as_bytes()), "{options}");
            }
        }
    }
}

#[test]
fn a_start_command_that_is_the_users_shell_or_an_agent_is_none() {
    let world = World::bare();
    world.configure("set -g @sidecar-interval 3600\nset -g default-shell /bin/bash\nset -g default-command 'exec  bash \"-i\"'\n");
    script(&world, "claude", "exec sleep 1000");
    start(&world, &["exec  bash \"-i\""]);
    let claude = world.work().join("bin/claude").display().to_string();
    for command in [&["/bin/bash"][..], &["bash"], &[], &[&claude, "--resume", "x"], &[&format!("{claude} --resume x")]] {
        world.tmux([&["new-window", "-d", "-t", "=web:"], command].concat()).ok();
    }
    world.look_anew();
    let windows = world.state()["shells"][0]["windows"].clone();
    assert_eq!(windows.as_array().unwrap().len(), 6);
    assert!(!windows.to_string().contains("\"run\""), "{windows}");
}
