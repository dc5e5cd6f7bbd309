//! Tombstones: made, kept, brought back, given up.

use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

use serde_json::{Value, json};

use super::naming::{pane_of, row};
use super::records::{run, world_without_timer};
use super::support::{World, path_tmux, sidecar_path, wait_for};

fn config(world: &World, text: &str) {
    let folder = world.root().join("config/sidecar");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("config.json"), text).unwrap();
}

/// A world without a timer, and with these sessions recorded.
fn with(names: &[&str]) -> World {
    let world = world_without_timer(0.2);
    for name in names {
        world.tmux(["new-session", "-d", "-s", name]).ok();
    }
    world.wait_recorded(names);
    world
}

fn sessions(world: &World) -> String {
    world.tmux(["list-sessions", "-F", "#{session_name}"]).out
}

fn now() -> u64 {
    u64::try_from(std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_millis()).unwrap()
}

#[test]
fn what_is_forgotten_runs_on_unrecorded_until_it_is_brought_back() {
    let world = with(&["web", "stays"]);
    let id = world.shell("web")["id"].clone();
    let said = world.sidecar(["shell", "forget", "web"]).ok();
    assert!(said.starts_with("'web' is forgotten; its session runs on"), "{said}");
    world.tmux(["rename-session", "-t", "=web", "called-otherwise", ";", "split-window", "-d", "-t", "=called-otherwise:"]).ok();
    world.pass_a_grace();
    assert_eq!((world.recorded(), world.tombstones()), (vec!["stays".to_owned()], vec!["probe".to_owned(), "web".to_owned()]));
    let listed = row(&world, "web");
    assert_eq!((&listed["status"], &listed["reason"], &listed["running"]), (&"forgotten".into(), &"forgotten".into(), &true.into()));
    // However old it gets: without its tombstone it would be recorded anew.
    config(&world, r#"{"shells":{"tombstoneRetention":"0s"}}"#);
    world.look();
    world.look();
    assert_eq!((world.recorded(), world.tombstones()), (vec!["stays".to_owned()], vec!["web".to_owned()]));
    assert_eq!(row(&world, "web")["expiresAt"], Value::Null);
    assert_eq!(world.sidecar(["shell", "forget", "web"]).ok(), "'web' is forgotten already\n");

    let said = world.sidecar(["shell", "restore", "web", "--json"]).json();
    assert_eq!((&said["shell"], &said["status"], &said["changed"]), (&id, &"live".into(), &true.into()));
    // As it is by now.
    assert_eq!((world.shell("called-otherwise")["id"].clone(), world.sizes()["called-otherwise"].clone()), (id, vec![2]));
    assert_eq!(world.sidecar(["shell", "restore", "called-otherwise"]).ok(), "'called-otherwise' is not forgotten\n");
}

#[test]
fn a_closed_shell_that_is_brought_back_is_not_closed_again_and_can_be_restored() {
    let world = with(&["web", "stays"]);
    let id = world.shell("web")["id"].clone();
    world.tmux(["kill-session", "-t", "=web"]).ok();
    wait_for("the tombstone", || (world.tombstones() == ["web"]).then_some(()));
    assert_eq!(row(&world, "web")["reason"], "closed");
    let said = world.sidecar(["shell", "restore", "web"]).ok();
    assert!(said.contains(&format!("`sidecar session restore --shell {}` makes it", id.as_str().unwrap())), "{said}");
    world.pass_a_grace();
    world.look();
    assert_eq!((&row(&world, "web")["status"], &row(&world, "web")["shell"]), (&"restorable".into(), &id));
    world.sidecar(["session", "restore", "--shell", "web"]).ok();
    assert!(sessions(&world).contains("web\n"));
    world.look();
    assert_eq!(row(&world, "web")["status"], "live");
}

#[test]
fn a_dead_shell_is_forgotten_and_brought_back_without_a_server() {
    let world = with(&["web", "api"]);
    world.crash();
    for (words, status) in [(["forget", "web"], "forgotten"), (["restore", "web"], "restorable")] {
        let said = run(&mut world.sidecar_command(["shell", words[0], words[1], "--json"])).json();
        assert_eq!(said["status"], status);
        let listed = run(&mut world.sidecar_command(["shell", "list", "--all", "--json"])).json();
        let found = listed["shells"].as_array().unwrap().iter().find(|row| row["name"] == "web").unwrap()["status"].clone();
        assert_eq!(found, status);
    }
    run(&mut world.sidecar_command(["shell", "forget", "web"])).ok();
    world.sidecar(["session", "restore"]).ok();
    assert_eq!(sessions(&world), "api\n");
    world.look();
    assert_eq!(world.tombstones(), ["web"]);
}

#[test]
fn a_name_that_was_taken_meanwhile_is_told_and_nothing_is_lost() {
    let world = with(&["web", "stays"]);
    let old = world.shell("web")["id"].as_str().unwrap().to_owned();
    world.tmux(["kill-session", "-t", "=web"]).ok();
    wait_for("the tombstone", || (world.tombstones() == ["web"]).then_some(()));
    world.tmux(["new-session", "-d", "-s", "web"]).ok();
    world.wait_recorded(&["stays", "web"]);
    let new = world.shell("web")["id"].as_str().unwrap().to_owned();
    let refused = world.sidecar(["shell", "restore", "web"]);
    assert_eq!((refused.code, refused.out.as_str()), (5, ""));
    assert!(refused.err.contains(&format!("sidecar shell rename --target {new} NAME")), "{refused:?}");
    assert!(world.tombstones().contains(&"web".to_owned()));
    // `forget` and `delete` mean the one that stands.
    assert_eq!(world.sidecar(["session", "policy", "--json", "web"]).json()["shell"], new.as_str());
    world.sidecar(["shell", "rename", "--target", &new, "web-2"]).ok();
    assert_eq!(world.sidecar(["shell", "restore", "--json", "web"]).json()["shell"], old.as_str());
    assert_eq!(world.recorded(), ["stays", "web", "web-2"]);
    // Two tombstones of one name are told apart by their ids.
    world.sidecar(["shell", "forget", &old]).ok();
    world.sidecar(["shell", "rename", "--target", &new, "web"]).ok();
    world.sidecar(["shell", "forget", &new]).ok();
    let both = world.sidecar(["shell", "restore", "web"]);
    assert_eq!(both.code, 3);
    assert!(both.err.contains(&old) && both.err.contains(&new), "{both:?}");
    world.sidecar(["shell", "restore", &new]).ok();
}

#[test]
fn exactly_one_session_is_closed_by_a_delete() {
    let world = with(&["p-1", "p-10", "p"]);
    let said = world.sidecar(["shell", "delete", "--target", "p-1", "--json"]).json();
    assert_eq!((&said["name"], &said["status"], &said["changed"]), (&"p-1".into(), &"forgotten".into(), &true.into()));
    assert_eq!(sessions(&world), "p\np-10\n");
    assert_eq!((world.recorded(), world.tombstones()), (vec!["p".to_owned(), "p-10".to_owned()], vec!["p-1".to_owned()]));
    assert_eq!(world.state()["tombstones"][0]["reason"], "deleted");
    assert_eq!(world.sidecar(["shell", "delete", "--target", "p-1"]).ok(), "'p-1' is deleted already\n");
    assert_eq!(world.sidecar(["shell", "delete", "--target", "p-"]).code, 3);
    assert_eq!(world.sidecar(["shell", "delete", "p"]).code, 2);
    assert_eq!(world.sidecar(["shell", "delete"]).code, 2);
    // One that was forgotten and runs is closed too.
    world.sidecar(["shell", "forget", "p-10"]).ok();
    world.sidecar(["shell", "delete", "--target", "p-10"]).ok();
    assert_eq!((sessions(&world), row(&world, "p-10")["reason"].clone()), ("p\n".to_owned(), "deleted".into()));
    // With the last one the server ends.
    let pid = world.remember_server().unwrap();
    world.sidecar(["shell", "delete", "--target", "p"]).ok();
    world.wait_gone(pid);
    assert_eq!((world.recorded(), world.tombstones().len()), (vec![], 3));
    assert_eq!(run(&mut world.sidecar_command(["session", "status", "--json"])).json()["steps"], json!([]));
    // And what does not run goes to a tombstone at once.
    run(&mut world.sidecar_command(["shell", "restore", "p"])).ok();
    let said = run(&mut world.sidecar_command(["shell", "delete", "--target", "p", "--json"])).json();
    assert_eq!((&said["status"], world.recorded()), (&"forgotten".into(), vec![]));
}

#[test]
fn a_shell_deletes_itself_from_its_own_pane() {
    let world = with(&["mine", "stays"]);
    let line = format!("'{}' shell delete --target mine", sidecar_path());
    world.sidecar(["shell", "send", "--target", "mine", "--run", &line]).ok();
    wait_for("the tombstone", || (world.tombstones() == ["mine"]).then_some(()));
    assert_eq!(world.state()["tombstones"][0]["reason"], "deleted");
    wait_for("the end", || (sessions(&world) == "stays\n").then_some(()));
    world.pass_a_grace();
    assert!(world.tombstones().contains(&"mine".to_owned()));
}

/// A `tmux` that ends its caller, `shell delete`, before or after the call that closes the session.
fn disturbed_delete(world: &World, when: &str) {
    let folder = world.folder("in-between");
    let tmux = path_tmux().join("tmux");
    let script = format!(
        "#!/bin/sh\n\
         case $(tr '\\0' ' ' </proc/$PPID/cmdline) in *'shell delete'*) ;; *) exec {0} \"$@\" ;; esac\n\
         case \"$*\" in *'source-file -'*) ;; *) exec {0} \"$@\" ;; esac\n\
         input=$(cat)\n\
         case $input in *kill-session*) if [ {when} = before ]; then kill -9 $PPID; exit 1; fi ;; esac\n\
         printf '%s\\n' \"$input\" | {0} \"$@\"\n\
         case $input in *kill-session*) kill -9 $PPID ;; esac\n",
        tmux.display()
    );
    let program = folder.join("tmux");
    std::fs::write(&program, script).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = world.sidecar_command(["shell", "delete", "--target", "web"]);
    command.env("PATH", format!("{}:/usr/bin:/bin", folder.display())).stdout(Stdio::null());
    assert_eq!(command.status().unwrap().code(), None, "it is killed");
}

#[test]
fn what_was_meant_holds_when_the_delete_itself_is_killed() {
    for (when, way) in [("before", "close"), ("after", "look"), ("before", "crash")] {
        let world = with(&["web", "stays"]);
        disturbed_delete(&world, when);
        match way {
            "close" => {
                assert!(world.shell("web")["deleting"].is_object(), "the intent is written first");
                world.tmux(["kill-session", "-t", "=web"]).ok();
            }
            "crash" => {
                world.crash();
                world.tmux(["new-session", "-d", "-s", "next"]).ok();
            }
            _ => {}
        }
        wait_for("the tombstone", || {
            world.look();
            (world.tombstones() == ["web"]).then_some(())
        });
        assert_eq!(world.state()["tombstones"][0]["reason"], "deleted", "{when} {way}");
    }
}

#[test]
fn one_member_of_a_group_is_deleted_and_its_windows_live_on() {
    let world = world_without_timer(0.2);
    world.inhabit(1);
    world.tmux(["new-session", "-d", "-t", "=s0", "-s", "member"]).ok();
    world.wait_recorded(&["member", "s0"]);
    world.sidecar(["shell", "delete", "--target", "s0"]).ok();
    assert_eq!((world.recorded(), world.tombstones()), (vec!["member".to_owned()], vec!["s0".to_owned()]));
    assert_eq!(world.sizes()["member"], [2, 1]);
    // And a window that stands in two sessions goes over to the one that stays.
    world.sidecar(["shell", "restore", "s0"]).ok();
    world.tmux(["new-session", "-d", "-s", "other", ";", "link-window", "-d", "-s", "=member:0", "-t", "=other:7"]).ok();
    world.wait_recorded(&["member", "other", "s0"]);
    world.look();
    world.crash();
    run(&mut world.sidecar_command(["shell", "forget", "member"])).ok();
    run(&mut world.sidecar_command(["shell", "forget", "s0"])).ok();
    world.sidecar(["session", "restore"]).ok();
    assert_eq!(world.live_sizes()["other"], [1, 2]);
}

#[test]
fn a_policy_is_kept_through_everything() {
    let world = with(&["web", "stays"]);
    let policy = || row(&world, "web")["policy"].as_str().unwrap().to_owned();
    let set = |target: &str, flag: &str| world.sidecar(["session", "policy", target, flag, "--json"]).json();
    for (flag, word) in [("--shell", "shell"), ("--resume", "resume"), ("--inherit", "inherit"), ("--never", "never")] {
        assert_eq!((&set("web", flag)["policy"], policy().as_str()), (&word.into(), word));
    }
    assert_eq!(set("web", "--never")["changed"], false);
    assert_eq!(world.sidecar(["session", "policy", "web", "--never", "--shell"]).code, 2);
    assert_eq!(world.sidecar(["session", "policy", "nobody", "--never"]).code, 3);
    assert_eq!(world.sidecar(["session", "policy", "web"]).ok(), "'web': never (never restored)\n");
    for words in
        [&["shell", "rename", "--target", "web", "x"][..], &["shell", "rename", "--target", "x", "web"], &["shell", "forget", "web"]]
    {
        world.sidecar(words).ok();
    }
    assert_eq!(policy(), "never");
    world.sidecar(["shell", "restore", "web"]).ok();
    world.look();
    assert_eq!(policy(), "never");
    assert!(world.sidecar(["shell", "list", "--all"]).ok().contains("policy never"));
    let plan = |world: &World| {
        let steps = world.plan()["steps"].clone();
        let step = steps.as_array().unwrap().iter().find(|step| step["session"] == "web").unwrap().clone();
        format!("{} {} {}", step["policy"].as_str().unwrap(), step["action"].as_str().unwrap(), step["reason"].as_str().unwrap())
    };
    assert_eq!(plan(&world), "never reattach already_running");
    world.crash();
    assert_eq!(plan(&world), "never skip policy_never");
    world.sidecar(["session", "restore"]).ok();
    assert_eq!(sessions(&world), "stays\n");
    run(&mut world.sidecar_command(["session", "policy", "web", "--shell"])).ok();
    world.sidecar(["session", "restore"]).ok();
    world.look();
    assert_eq!((sessions(&world).as_str(), policy().as_str()), ("stays\nweb\n", "shell"));
}

#[test]
fn older_versions_of_the_records_keep_policies_and_tombstones() {
    for version in [1, 2] {
        let world = world_without_timer(0.2);
        world.tmux(["new-session", "-d", "-s", "stays"]).ok();
        world.wait_recorded(&["stays"]);
        world.crash();
        let dir = world.folder("a").display().to_string();
        let mut old = json!({ "version": version, "shells": [{ "id": "sh-0001", "session": "web", "workDir": dir, "policy": "never" }] });
        if version == 2 {
            let gone = json!({ "id": "sh-0002", "session": "old", "workDir": dir, "policy": "resume" });
            old["tombstones"] = json!([{ "reason": "forgotten", "deletedAt": now(), "shell": gone }]);
        }
        world.write_state(old.to_string().as_bytes());
        let said = run(&mut world.sidecar_command(["session", "policy", "--json", "web"])).json();
        assert_eq!((&said["policy"], world.state()["version"].clone()), (&"never".into(), version.into()), "reading writes nothing");
        if version == 2 {
            assert_eq!(run(&mut world.sidecar_command(["shell", "restore", "--json", "old"])).json()["policy"], "resume");
            assert_eq!(world.recorded(), ["old", "web"]);
        }
        run(&mut world.sidecar_command(["shell", "forget", "web"])).ok();
        assert_eq!(world.state()["tombstones"][0]["shell"]["policy"], "never");
        assert_eq!(world.state()["version"], 3);
    }
}

#[test]
fn tombstones_expire_and_those_of_closed_shells_are_bounded() {
    let world = with(&["stays"]);
    let shell = world.shell("stays");
    let day = 24 * 60 * 60 * 1000;
    let tombstone = |name: &str, reason: &str, days: u64| {
        let mut shell = shell.clone();
        (shell["id"], shell["session"], shell["name"], shell["seen"]) =
            (format!("sh-{name}").into(), name.into(), name.into(), Value::Null);
        json!({ "reason": reason, "deletedAt": now() - days * day, "shell": shell })
    };
    let put = |tombstones: Value| world.edit_state(|state| state["tombstones"] = tombstones);
    let all = json!([
        tombstone("closed1", "closed", 1),
        tombstone("closed2", "closed", 2),
        tombstone("closed3", "closed", 3),
        tombstone("closed4", "closed", 3),
        tombstone("mine5", "forgotten", 5),
        tombstone("mine6", "deleted", 6),
        tombstone("mine20", "forgotten", 20),
    ]);
    for (text, kept, told) in [
        ("{}", "closed1 closed2 closed3 closed4 mine5 mine6", ""),
        (r#"{"shells":{"tombstoneRetention":"4.5d"}}"#, "closed1 closed2 closed3 closed4", ""),
        (r#"{"shells":{"tombstoneRetention":"36h"}}"#, "closed1", ""),
        (r#"{"shells":{"tombstoneRetention":"forever"}}"#, "closed1 closed2 closed3 closed4 mine20 mine5 mine6", ""),
        (
            r#"{"shells":{"tombstoneRetention":"a fortnight"}}"#,
            "closed1 closed2 closed3 closed4 mine5 mine6",
            "tombstoneRetention is \"a fortnight\"",
        ),
        (r#"{"shells":{"closedTombstones":2}}"#, "closed1 closed2 mine5 mine6", ""),
        (r#"{"shells":{"closedTombstones":3}}"#, "closed1 closed2 closed4 mine5 mine6", ""),
        (r#"{"shells":{"closedTombstones":0}}"#, "mine5 mine6", ""),
        (r#"{"shells":{"closedTombstones":-1}}"#, "closed1 closed2 closed3 closed4 mine5 mine6", "closedTombstones is -1"),
    ] {
        config(&world, text);
        put(all.clone());
        let listed = world.sidecar(["shell", "list", "--all"]);
        assert_eq!(listed.err.contains("note: "), !told.is_empty(), "{text}: {listed:?}");
        assert!(listed.err.contains(told), "{text}: {listed:?}");
        assert_eq!(world.tombstones().len(), 7, "a list changes nothing");
        world.look();
        assert_eq!(world.tombstones().join(" "), kept, "{text}");
    }
    // A clock that is plainly wrong purges nothing.
    config(&world, r#"{"shells":{"tombstoneRetention":"1s","closedTombstones":0}}"#);
    put(all);
    world.edit_state(|state| state["shells"][0]["seen"]["at"] = (now() + day).into());
    world.tmux(["set-option", "-g", "@sidecar-grace", "9"]).ok();
    world.look();
    assert_eq!(world.tombstones().len(), 7);
}

#[test]
fn one_tombstone_is_removed_for_good() {
    let world = with(&["web", "api", "stays"]);
    world.sidecar(["shell", "delete", "--target", "web"]).ok();
    world.sidecar(["shell", "forget", "api"]).ok();
    for (words, code, said) in [
        (&["--target", "web"][..], 5, "--yes"),
        (&["--target", "nobody", "--yes"], 3, "no shell named"),
        (&["--target", "stays", "--yes"], 5, "not forgotten"),
        (&["--target", "api", "--yes"], 5, "its session runs"),
        (&["--yes"], 2, "--target"),
    ] {
        let refused = world.sidecar(["shell", "purge"].iter().chain(words));
        assert_eq!(refused.code, code, "{refused:?}");
        assert!(refused.err.contains(said), "{refused:?}");
    }
    assert_eq!(world.tombstones(), ["api", "web"]);
    assert_eq!(world.sidecar(["shell", "purge", "--target", "web", "--yes"]).ok(), "'web' is gone for good\n");
    assert_eq!(world.tombstones(), ["api"]);
    assert_eq!(world.sidecar(["shell", "restore", "web"]).code, 3);
}

#[test]
fn a_server_that_does_not_answer_keeps_its_sessions_and_their_names() {
    let world = with(&["web", "stays"]);
    world.wait_quiet();
    let pane = pane_of(&world, "web");
    let pid = world.remember_server().unwrap();
    world.signal(pid, "STOP");
    for words in [&["shell", "rename", "--target", "web", "x"][..], &["shell", "delete", "--target", "web"]] {
        let refused = run(world.sidecar_command(words).arg("--json"));
        assert_eq!(refused.code, 1, "{refused:?}");
        let error: Value = serde_json::from_str(&refused.err).unwrap();
        assert_eq!(
            (&error["error"]["code"], &error["error"]["hint"]),
            (&"server_unknown".into(), &"nothing was changed".into()),
            "{error}"
        );
    }
    // A record can be forgotten all the same.
    run(&mut world.sidecar_command(["shell", "forget", "web"])).ok();
    world.signal(pid, "CONT");
    world.look();
    assert_eq!((world.recorded(), world.tombstones()), (vec!["stays".to_owned()], vec!["web".to_owned()]));
    assert_eq!(pane_of(&world, "web"), pane);
    world.sidecar(["shell", "restore", "web"]).ok();
    assert_eq!(row(&world, "web")["status"], "live");
}
