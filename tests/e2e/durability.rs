//! The records under damage, without room, and of several servers and hosts.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use super::records::{options, run, world_without_timer};
use super::support::{World, sidecar_path, wait_for};

/// A second life of a server: `a` and `b` died with the first, `c` lives.
fn second_life() -> World {
    let world = world_without_timer(0.3);
    world.tmux(["new-session", "-d", "-s", "a", ";", "split-window", "-d", "-t", "a", ";", "new-session", "-d", "-s", "b"]).ok();
    world.wait_recorded(&["a", "b"]);
    world.wait_as_it_is();
    world.crash();
    world.tmux(["new-session", "-d", "-s", "c"]).ok();
    world.wait_recorded(&["a", "b", "c"]);
    world.wait_as_it_is();
    world.wait_quiet();
    world
}

/// The files of the store whose name begins so, sorted.
fn files(world: &World, prefix: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(world.store().unwrap()).unwrap();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.file_name().unwrap().to_str().unwrap().starts_with(prefix));
    files.sort();
    files
}

fn notices(world: &World) -> String {
    world.plan()["notices"].to_string()
}

#[test]
fn damaged_records_are_told_moved_aside_and_made_good_from_the_generation_before() {
    let whole = second_life();
    let half = whole.state_bytes();
    let half = &half[..half.len() / 2];
    for damage in [&b""[..], half, b"\0\0\0\0\0\0\0\0", b"\x7fELF\x02\xff\xfe garbage", b"[]", b"{\"version\":3,\"shells\":{}}"] {
        let world = second_life();
        let (sizes, ids) = (world.sizes(), ["a", "b", "c"].map(|name| world.shell(name)["id"].clone()));
        world.write_state(damage);
        // Reading tells it, and changes nothing.
        let told = notices(&world);
        assert!(told.contains("shells.json") && told.contains("the records come from"), "{damage:?}: {told}");
        let shown = run(&mut world.sidecar_command(["session", "status"])).ok();
        assert!(shown.contains("note: ") && shown.contains("the records come from"), "{shown}");
        assert_eq!(world.state_bytes(), damage);
        assert_eq!(files(&world, "shells.json.corrupt-"), [""; 0].map(PathBuf::from));

        // The next writer moves it aside; what lives has its ids still.
        world.tmux(["new-session", "-d", "-s", "d"]).ok();
        world.wait_recorded(&["a", "b", "c", "d"]);
        let aside = files(&world, "shells.json.corrupt-");
        assert_eq!(aside.len(), 1, "{aside:?}");
        assert_eq!(std::fs::read(&aside[0]).unwrap(), damage);
        assert_eq!(["a", "b", "c"].map(|name| world.shell(name)["id"].clone()), ids);
        let mut recorded = world.sizes();
        recorded.remove("d");
        assert_eq!(recorded, sizes);
        assert!(!notices(&world).contains("the records come from"));
        assert!(world.log().contains("the records come from"), "{}", world.log());
    }
}

#[test]
fn records_that_are_gone_altogether_come_from_the_generation_before() {
    let world = second_life();
    std::fs::remove_file(world.shells_json()).unwrap();
    assert!(notices(&world).contains("the records come from"));
    world.look();
    assert_eq!(world.recorded(), ["a", "b", "c"]);
}

#[test]
fn with_every_generation_damaged_it_is_said_and_what_lives_is_recorded() {
    let world = second_life();
    world.write_state(b"{");
    for earlier in files(&world, "shells.json.") {
        std::fs::write(earlier, "{").unwrap();
    }
    assert!(notices(&world).contains("no earlier generation can be read either"));
    world.look();
    assert_eq!(world.recorded(), ["c"]);
    assert_eq!(files(&world, "shells.json.corrupt-").len(), 1);
}

#[test]
fn records_of_a_newer_version_are_shown_and_never_written() {
    let world = second_life();
    world.edit_state(|state| {
        state["version"] = 99.into();
        state["shells"][0]["newField"] = json!({ "kept": true });
    });
    let before = world.state_bytes();
    world.tmux(["new-session", "-d", "-s", "d"]).ok();
    wait_for("the refusal", || world.log().contains("newer than").then_some(()));
    world.look();
    assert_eq!(world.state_bytes(), before);
    let told = notices(&world);
    assert!(told.contains("version 99") && told.contains("records are not being written"), "{told}");
    for session in ["a", "b"] {
        assert_eq!(world.verdicts()[session], "refuse state_newer");
    }
    let listed = run(&mut world.sidecar_command(["shell", "list", "--all", "--json"])).json();
    assert_eq!(listed["shells"].as_array().unwrap().len(), 3);
    assert_eq!(run(&mut world.sidecar_command(["session", "restore"])).code, 5);
}

#[test]
fn fields_of_other_versions_survive_a_rewrite() {
    let world = second_life();
    world.edit_state(|state| {
        state["theme"] = "dark".into();
        for shell in state["shells"].as_array_mut().unwrap() {
            shell["colour"] = 7.into();
            shell["windows"][0]["note"] = "w".into();
            shell["windows"][0]["panes"][0]["note"] = json!(["p"]);
        }
    });
    world.tmux(["rename-session", "-t", "=c", "renamed"]).ok();
    world.wait_recorded(&["a", "b", "renamed"]);
    assert_eq!(world.state()["theme"], "dark");
    for name in ["a", "b", "renamed"] {
        let shell = world.shell(name);
        let window = &shell["windows"][0];
        assert_eq!((&shell["colour"], &window["note"], &window["panes"][0]["note"]), (&json!(7), &json!("w"), &json!(["p"])), "{name}");
    }
}

#[test]
fn the_state_folder_may_be_a_link_to_another_file_system() {
    let elsewhere = tempfile::tempdir_in("/dev/shm").unwrap();
    let world = world_without_timer(0.3);
    std::os::unix::fs::symlink(elsewhere.path(), world.root().join("state")).unwrap();
    let before = world.inhabit(3);
    assert!(elsewhere.path().join("sidecar").is_dir());
    world.crash();
    world.tmux(["new-session", "-d", "-s", "next"]).ok();
    world.wait_recorded(&["next", "s0", "s1", "s2"]);
    let mut recorded = world.sizes();
    recorded.remove("next");
    assert_eq!(recorded, before);
    assert!(world.root().join("state").is_symlink());
    assert_eq!(files(&world, ".").len(), 0, "no temporary file is left");
}

#[test]
fn a_state_folder_that_cannot_be_made_is_told_and_tmux_goes_on() {
    let make_file = |state: &Path| std::fs::write(state, "a file").unwrap();
    let make_link = |state: &Path| std::os::unix::fs::symlink("/mnt/none/state", state).unwrap();
    for (make, why) in [(make_file as fn(&Path), "is not a directory"), (make_link, "is a link to /mnt/none/state, which is missing")] {
        let world = world_without_timer(0.3);
        make(&world.root().join("state"));
        world.tmux(["new-session", "-d", "-s", "work"]).ok();
        let hook = run(&mut world.sidecar_command(["hook", "session-created"]));
        assert_eq!((hook.code, hook.out.as_str(), hook.err.as_str()), (0, "", ""));
        let status = run(&mut world.sidecar_command(["session", "status"]));
        assert_eq!(status.code, 0, "{status:?}");
        assert!(status.out.contains("records are not being written") && status.out.contains(why), "{status:?}");
        // And the first client is told to look there.
        assert!(world.tmux(["show-hooks", "-g"]).ok().contains("sidecar: cannot write the records: "));
        assert_eq!(world.show("#{session_name}"), "work");
    }
}

/// The program without the right to pass over file modes, which root has.
pub fn bound_by_modes(world: &World, words: &[&str]) -> Command {
    if !nix::unistd::getuid().is_root() {
        return world.sidecar_command(words);
    }
    let mut command = world.command("setpriv");
    command.args(["--inh-caps=-all", "--bounding-set=-dac_override,-dac_read_search", sidecar_path()]).args(words);
    command
}

fn set_mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(mode)).unwrap();
}

#[test]
fn a_read_only_folder_is_told_and_the_old_records_stay() {
    let world = second_life();
    let (store, before) = (world.store().unwrap(), world.state_bytes());
    set_mode(&store, 0o500);
    // Something to write, which a hook without root's rights can't.
    unset_hooks(&world);
    world.tmux(["rename-session", "-t", "=c", "renamed"]).ok();
    let hook = run(&mut bound_by_modes(&world, &["hook", "session-renamed"]));
    assert_eq!((hook.code, hook.out.as_str(), hook.err.as_str()), (0, "", ""));
    assert_eq!(world.state_bytes(), before);
    let status = run(&mut bound_by_modes(&world, &["session", "status"]));
    assert!(status.out.contains("records are not being written"), "{status:?}");
    set_mode(&store, 0o700);
    world.look();
    assert_eq!(world.recorded(), ["a", "b", "renamed"]);
    assert!(!notices(&world).contains("records are not being written"));
}

fn unset_hooks(world: &World) {
    let hooks = world.tmux(["show-hooks", "-g", ";", "show-hooks", "-gw"]).ok();
    for hook in hooks.lines().filter_map(|line| line.split(' ').next()).filter(|hook| hook.ends_with("[8420]")) {
        world.tmux(["set-hook", "-gu", hook]).ok();
    }
}

#[test]
fn a_write_that_finds_no_room_is_told_and_the_old_records_stay() {
    let world = world_without_timer(0.3);
    world.inhabit(12);
    unset_hooks(&world);
    let before = world.state_bytes();
    assert!(before.len() > 8192, "{}", before.len());
    world.tmux(["rename-session", "-t", "=s1", "renamed"]).ok();
    // No file may grow beyond 6 KB, and growing it is an error rather than a signal.
    let mut hook = world.command("/bin/sh");
    hook.args(["-c", "trap '' XFSZ; ulimit -f 12; exec \"$0\" hook session-renamed", sidecar_path()]);
    let said = run(&mut hook);
    assert_eq!((said.code, said.out.as_str(), said.err.as_str()), (0, "", ""));
    assert_eq!(world.state_bytes(), before);
    assert_eq!(files(&world, ".").len(), 0, "the half-written file is gone");
    assert!(world.log().contains("cannot write the records"), "{}", world.log());
    assert!(notices(&world).contains("records are not being written"), "{}", notices(&world));
    world.look();
    assert!(world.recorded().contains(&"renamed".to_owned()));
    assert!(!notices(&world).contains("records are not being written"));
}

/// The recorded session names of each store, by its folder.
fn stores(world: &World) -> Vec<(PathBuf, Vec<String>)> {
    let list =
        |folder: &Path| -> Vec<PathBuf> { std::fs::read_dir(folder).into_iter().flatten().map(|entry| entry.unwrap().path()).collect() };
    let mut stores: Vec<(PathBuf, Vec<String>)> = Vec::new();
    for server in list(&world.root().join("state/sidecar")).iter().flat_map(|host| list(host)) {
        let Ok(text) = std::fs::read(server.join("shells.json")) else { continue };
        let state: Value = serde_json::from_slice(&text).unwrap();
        let names = state["shells"].as_array().unwrap().iter().map(|shell| shell["session"].as_str().unwrap().to_owned());
        stores.push((server, names.collect()));
    }
    stores.sort_by(|a, b| a.1.cmp(&b.1));
    stores
}

#[test]
fn two_sockets_have_two_stores() {
    let world = world_without_timer(0.3);
    world.tmux(["new-session", "-d", "-s", "mine"]).ok();
    world.tmux(["-L", "work", "new-session", "-d", "-s", "theirs"]).ok();
    let pid: i32 = world.tmux(["-L", "work", "display-message", "-p", "#{pid}"]).ok().trim().parse().unwrap();
    wait_for("both records", || (stores(&world).len() == 2 && stores(&world).iter().all(|store| store.1.len() == 1)).then_some(()));
    let found = stores(&world);
    assert_eq!(found.iter().map(|store| store.1[0].as_str()).collect::<Vec<_>>(), ["mine", "theirs"]);
    assert_eq!(found[0].0.parent(), found[1].0.parent(), "one host");
    let sessions = |args: &[&str]| {
        let steps = run(&mut world.sidecar_command(args.iter().copied().chain(["session", "status", "--json"]))).json()["steps"].clone();
        steps.as_array().unwrap().iter().map(|step| step["session"].clone()).collect::<Vec<_>>()
    };
    assert_eq!((sessions(&[]), sessions(&["-L", "work"])), (vec!["mine".into()], vec!["theirs".into()]));
    // The death of one is nothing to the other.
    world.signal(pid, "KILL");
    world.wait_gone(pid);
    world.look();
    run(&mut world.sidecar_command(["-L", "work", "hook", "tick"])).ok();
    assert_eq!(stores(&world), found);
}

#[test]
fn two_hosts_with_one_home_have_two_stores() {
    let world = World::bare();
    world.configure(&options(0.3, 3600.0));
    let start = |host: &str| {
        let socket = world.root().join("tmp").join(host);
        let mut tmux = world.command("tmux");
        run(tmux.env("SIDECAR_HOST_ID", host).arg("-S").arg(&socket).args(["new-session", "-d", "-s", host])).ok();
        let mut tmux = world.command("tmux");
        let pid = run(tmux.arg("-S").arg(&socket).args(["display-message", "-p", "#{pid}"])).ok();
        pid.trim().parse::<i32>().unwrap()
    };
    let pids = [start("one"), start("two")];
    wait_for("both records", || (stores(&world).iter().filter(|store| store.1.len() == 1).count() == 2).then_some(()));
    let found = stores(&world);
    for pid in pids {
        world.signal(pid, "KILL");
    }
    assert_eq!(found.iter().map(|store| store.1[0].as_str()).collect::<Vec<_>>(), ["one", "two"]);
    assert_ne!(found[0].0.parent(), found[1].0.parent());
    // A host sees its own.
    for host in ["one", "two"] {
        let mut status =
            world.sidecar_command(["-S".into(), world.root().join("tmp").join(host), "session".into(), "status".into(), "--json".into()]);
        let other = if host == "one" { "two" } else { "one" };
        assert_eq!(run(status.env("SIDECAR_HOST_ID", host)).json()["steps"][0]["session"], host);
        assert_eq!(run(status.env("SIDECAR_HOST_ID", other)).json()["steps"], json!([]));
    }
}
