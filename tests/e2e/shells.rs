//! `shell new` and `shell list`.

use std::path::Path;

use serde_json::{Value, json};

use super::names::{in_each_version, load, nothing_ran};
use super::naming::{inside, pane_of};
use super::records::{in_parallel, run, world_without_timer};
use super::support::{Said, World, wait_for};

fn new(world: &World, dir: &Path, args: &[&str]) -> Said {
    let mut command = world.sidecar_command(["shell", "new"]);
    let said = run(command.current_dir(dir).args(args));
    world.remember_server();
    said
}

#[test]
fn a_new_shell_is_recorded_from_its_first_moment_with_and_without_a_server() {
    in_each_version(|version, world| {
        let dir = world.folder("my #{pid} $(touch CANARY)");
        // No server runs, and none has ever: it is started.
        let made = new(world, &dir, &["Auth Refactor", "--json"]);
        assert_eq!(made.code, 0, "tmux {version}: {made:?}");
        let made = made.json();
        let session = made["session"].as_str().unwrap().to_owned();
        assert_eq!(session, "sidecar-sh-my___pid____touch_CANARY_-1", "tmux {version}");
        assert_eq!((&made["name"], &made["status"]), (&"Auth Refactor".into(), &"live".into()));
        assert_eq!(made["workDir"], dir.to_str().unwrap());
        let path = world.tmux(["display-message", "-p", "-t", &format!("={session}:"), "#{@sidecar-shell} #{session_path}"]).ok();
        assert_eq!(path, format!("{} {}\n", made["shell"].as_str().unwrap(), dir.display()), "tmux {version}");
        load(world);
        world.look();
        let record = world.shell(&session);
        assert_eq!(
            (&record["id"], &record["name"], &record["madeAs"]),
            (&made["shell"], &"Auth Refactor".into(), &session.as_str().into())
        );
        assert_eq!(record["windows"].as_array().unwrap().len(), 1);
        // The next one has the next number, and no name is given twice, not even a forgotten one's.
        world.sidecar(["shell", "delete", "--target", "Auth Refactor"]).ok();
        let next = new(world, &dir, &["--json"]).json();
        assert!(next["session"].as_str().unwrap().ends_with("-2") && next["name"] == next["session"], "tmux {version}: {next}");
        // It comes back like any other.
        world.crash();
        world.sidecar(["session", "restore"]).ok();
        world.look();
        assert_eq!(world.shell(next["session"].as_str().unwrap())["id"], next["shell"], "tmux {version}");
        nothing_ran(world);
    });
}

#[test]
fn what_cannot_be_made_is_refused() {
    let world = world_without_timer(0.2);
    let dir = world.folder("web");
    for (args, code, said) in [
        (&[""][..], 2, "can't be empty"),
        (&["--dir", "/nowhere"], 2, "/nowhere: it is no directory"),
        (&["--dir", "/etc/passwd"], 2, "it is no directory"),
        (&["--run", "a\x1bb"], 2, "control character"),
        (&["--run", ""], 2, "nothing to send"),
        (&["--wrong"], 2, ""),
        (&["a", "b"], 2, ""),
    ] {
        let refused = new(&world, &dir, args);
        assert_eq!((refused.code, refused.out.as_str()), (code, ""), "{args:?}: {refused:?}");
        assert!(refused.err.contains(said), "{refused:?}");
    }
    assert!(!world.socket().exists(), "no server was started for that");
    new(&world, &dir, &["x"]).ok();
    let taken = new(&world, &dir, &["x", "--json"]);
    assert_eq!((taken.code, taken.out.as_str()), (5, ""));
    assert_eq!(serde_json::from_str::<Value>(&taken.err).unwrap()["error"]["code"], "name_taken");
    // In another project it is free.
    new(&world, &world.folder("api"), &["x"]).ok();
    // And a server that lives without its socket gets no second one beside it.
    std::fs::remove_file(world.socket()).unwrap();
    let stuck = new(&world, &dir, &["y"]);
    assert_eq!(stuck.code, 5, "{stuck:?}");
    assert!(stuck.err.contains("kill -USR1"), "{stuck:?}");
    assert!(!world.socket().exists());
}

#[test]
fn two_shells_made_at_once_are_two() {
    let world = world_without_timer(0.2);
    let dir = world.folder("web");
    let started = |_| {
        let mut command = world.sidecar_command(["shell", "new"]);
        command.current_dir(&dir).stdout(std::process::Stdio::null()).spawn().unwrap()
    };
    let children: Vec<_> = (0..6).map(started).collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    world.remember_server();
    let wanted: Vec<String> = (1..=6).map(|number| format!("sidecar-sh-web-{number}")).collect();
    assert_eq!(world.recorded(), wanted);
    assert_eq!(world.tmux(["list-sessions", "-F", "#{session_name}"]).ok().lines().count(), 6);
}

#[test]
fn a_command_is_run_once_recorded_and_shown_by_a_restore_that_never_runs_it() {
    let shells = ["/bin/sh", "/bin/bash", "/usr/bin/zsh", "/usr/bin/fish"];
    in_parallel(&shells.map(|shell| shell).into_iter().filter(|shell| Path::new(shell).exists()).collect::<Vec<_>>(), |shell| {
        let world = world_without_timer(0.2);
        world.configure(&format!("set -g @sidecar-interval 3600\nset -g default-shell {shell}\n"));
        let dir = world.folder("web");
        // A start-up file that takes its time, and prints.
        for file in [".profile", ".bash_profile", ".zshrc"] {
            std::fs::write(world.home().join(file), "echo starting; sleep 0.7; echo 'still starting'\n").unwrap();
        }
        std::fs::create_dir_all(world.root().join("config/fish")).unwrap();
        std::fs::write(world.root().join("config/fish/config.fish"), "echo starting; sleep 0.7\n").unwrap();
        let run_command = r#"echo "a  b" '$x' >>out; echo more >>out"#;
        let made = new(&world, &dir, &["--json", "--run", run_command]);
        assert_eq!(made.code, 0, "{shell}: {made:?}");
        let out = || std::fs::read_to_string(dir.join("out")).unwrap_or_default();
        wait_for("what it writes", || out().contains("more\n").then_some(()));
        assert_eq!(out(), "a  b $x\nmore\n", "{shell}");
        let session = made.json()["session"].as_str().unwrap().to_owned();
        world.look();
        assert_eq!(world.shell(&session)["windows"][0]["panes"][0]["run"], run_command, "{shell}");
        world.crash();
        assert_eq!(world.verdicts()[&session], "manual run_command", "{shell}");
        let told = world.sidecar(["session", "restore"]);
        assert_eq!(told.code, 0);
        assert!(told.out.contains(run_command), "{shell}: {told:?}");
        assert_eq!(out(), "a  b $x\nmore\n", "{shell}");
    });
}

#[test]
fn a_shell_that_never_shows_a_prompt_is_made_and_told() {
    let world = world_without_timer(0.2);
    let dir = world.folder("web");
    world.configure("set -g @sidecar-interval 3600\nset -g default-command 'sleep 3600'\n");
    let made = new(&world, &dir, &["x", "--run", "touch CANARY", "--json"]);
    assert_eq!((made.code, made.out.as_str()), (1, ""), "{made:?}");
    let error: Value = serde_json::from_str(&made.err).unwrap();
    assert_eq!(error["error"]["code"], "not_typed");
    assert_eq!(world.shell("sidecar-sh-web-1")["name"], "x");
    nothing_ran(&world);
}

#[test]
fn a_list_tells_the_living_from_the_restorable_and_the_forgotten() {
    let world = world_without_timer(0.2);
    let [here, there] = ["here", "there"].map(|name| world.folder(name).display().to_string());
    world.tmux(["new-session", "-d", "-s", "old", "-c", &here, ";", "new-session", "-d", "-s", "gone", "-c", &here]).ok();
    world.wait_recorded(&["gone", "old"]);
    world.sidecar(["shell", "delete", "--target", "gone"]).ok();
    world.edit_state(|state| {
        let agents = [json!({ "kind": "claude", "id": "x" }), json!({ "kind": "codex", "ended": { "at": 1 } })];
        let pane = state["shells"][0]["windows"][0]["panes"][0].clone();
        for (number, agent) in agents.into_iter().enumerate() {
            let mut pane = pane.clone();
            (pane["id"], pane["agent"]) = (format!("pn-000{number}").into(), agent);
            state["shells"][0]["windows"][0]["panes"].as_array_mut().unwrap().push(pane);
        }
    });
    world.crash();
    world.tmux(["new-session", "-d", "-s", "live", "-c", &here, ";", "new-session", "-d", "-s", "other", "-c", &there]).ok();
    world.wait_recorded(&["live", "old", "other"]);
    let list = |args: &[&str], dir: &str| {
        let mut command = world.sidecar_command(["shell", "list"]);
        run(command.current_dir(dir).args(args))
    };
    let rows = |args: &[&str], dir: &str| -> Vec<String> {
        let list = list(&[args, &["--json"]].concat(), dir).json();
        let of = |row: &Value| {
            format!("{} {} {}", row["name"].as_str().unwrap(), row["status"].as_str().unwrap(), row["reason"].as_str().unwrap())
        };
        list["shells"].as_array().unwrap().iter().map(of).collect()
    };
    let all_here = ["live live already_running", "old restorable died_with_server", "gone forgotten deleted"];
    assert_eq!(rows(&[], &here), all_here);
    assert_eq!(rows(&["--project", &here], &there), all_here);
    assert_eq!(rows(&[], &there), ["other live already_running"]);
    assert_eq!(rows(&["--all"], "/").len(), 4);
    let whole = list(&["--json"], &here).json();
    let old = whole["shells"].as_array().unwrap().iter().find(|row| row["name"] == "old").unwrap();
    assert_eq!(
        old["agents"],
        json!([{ "pane": "pn-0000", "kind": "claude", "state": "not_resumable" }, { "pane": "pn-0001", "kind": "codex", "state": "ended" }])
    );
    let gone = whole["shells"].as_array().unwrap().iter().find(|row| row["name"] == "gone").unwrap();
    let (deleted, expires) = (gone["deletedAt"].as_u64().unwrap(), gone["expiresAt"].as_u64().unwrap());
    assert_eq!(expires - deleted, 14 * 24 * 60 * 60 * 1000);
    assert!(list(&[], &here).ok().contains("deleted moments ago, kept for 14 d more"));
    let nowhere = list(&["--project", "/nowhere"], &here);
    assert_eq!(nowhere.err, "error: cannot list the shells of /nowhere: it is no directory\n");
    assert_eq!((nowhere.code, nowhere.out.as_str()), (2, ""));
    // In a pane it is the project of the pane's directory that a shell asks in, and the server is the pane's.
    let pane = pane_of(&world, "other");
    assert_eq!(run(inside(&world, &pane, &["shell", "list", "--json"]).current_dir(&there)).json()["shells"].as_array().unwrap().len(), 1);
}
