//! What is recorded, and when: by hooks at once, by the timer where there is no hook, and never without need.

use std::os::unix::fs::MetadataExt;
use std::process::Child;

use serde_json::{Value, json};
use sidecar::model::Layout;

use super::records::{options, pane_ids, world_without_timer};
use super::support::{World, wait_for};

#[test]
fn every_field_of_a_session_is_recorded() {
    let world = world_without_timer(1.0);
    world.configure_programs(&["sleep"]);
    let (real, other) = (world.folder("real"), world.folder("other dir"));
    let link = world.work().join("link");
    std::os::unix::fs::symlink(&real, &link).unwrap();
    let path = |path: &std::path::Path| path.to_str().unwrap().to_owned();
    // Window 0: its own name, two panes, the second one active and zoomed, a title.
    world.tmux(["new-session", "-d", "-s", "web", "-x", "120", "-y", "40", "-n", "editor", "-c", &path(&other)]).ok();
    world.tmux(["split-window", "-h", "-t", "web:0", "-c", &path(&link)]).ok();
    world.tmux(["select-pane", "-t", "web:0.1", "-T", "a title", ";", "resize-pane", "-Z", "-t", "web:0.1"]).ok();
    // Window 3: named by tmux, and what runs in it. Window 7: a command of its own.
    world.tmux(["new-window", "-t", "web:3", "-c", &path(&real), ";", "send-keys", "-t", "web:3", "sleep 1000", "Enter"]).ok();
    world.tmux(["new-window", "-d", "-t", "web:7", "exec sleep 500"]).ok();
    let web = wait_for("what runs", || {
        world.look();
        let windows = &world.shell("web")["windows"];
        // tmux names a window after what runs in it with a delay.
        let is_there = windows[1]["name"] == "sleep" && windows[1]["panes"][0].get("argv").is_some() && windows[2].is_object();
        is_there.then(|| world.shell("web"))
    });

    for (key, value) in [("session", json!("web")), ("name", json!("web")), ("madeAs", json!("web")), ("policy", json!("inherit"))] {
        assert_eq!(web[key], value, "{key}");
    }
    assert_eq!(web["workDir"], path(&other));
    assert_eq!(web["seen"]["session"], world.show("#{session_id}"));
    let [editor, sleeper, runner] = web["windows"].as_array().unwrap().as_slice() else { panic!("{web}") };
    let flags = |window: &Value| {
        let on = |key: &str| window[key] == true;
        (window["index"].as_u64().unwrap(), on("active"), on("last"), on("automaticRename"), on("zoomed"))
    };
    assert_eq!(flags(editor), (0, false, true, false, true));
    assert_eq!(flags(sleeper), (3, true, false, true, false));
    assert_eq!(flags(runner), (7, false, false, true, false));
    let names = web["windows"].as_array().unwrap().iter().map(|window| window["name"].as_str().unwrap());
    assert_eq!(names.collect::<Vec<_>>(), world.show_all("list-windows", "#{window_name}"));
    assert_eq!(editor["name"], "editor");
    assert_eq!((&editor["width"], &editor["height"]), (&120.into(), &40.into()));
    let layout: Layout = serde_json::from_value(editor["layout"].clone()).unwrap();
    let live = world.tmux(["display-message", "-p", "-t", "web:0", "#{window_layout}"]).ok();
    assert_eq!(layout.to_tmux(), Layout::parse(live.trim_end()).unwrap().to_tmux());

    let [left, right] = editor["panes"].as_array().unwrap().as_slice() else { panic!("{editor}") };
    assert_eq!(
        (&left["dir"], &left["logicalDir"], &left["active"], &left["last"]),
        (&path(&other).into(), &Value::Null, &Value::Null, &true.into())
    );
    assert_eq!(
        (&right["dir"], &right["logicalDir"], &right["active"], &right["title"]),
        (&path(&real).into(), &path(&link).into(), &true.into(), &"a title".into())
    );
    assert_eq!((&left["argv"], &left["run"]), (&Value::Null, &Value::Null), "a shell's prompt is no program");
    assert_eq!((&sleeper["panes"][0]["argv"], &sleeper["panes"][0]["run"]), (&json!(["sleep", "1000"]), &Value::Null));
    assert_eq!((&runner["panes"][0]["argv"], &runner["panes"][0]["run"]), (&Value::Null, &"exec sleep 500".into()));
    let tags = world.show_all("list-panes", "#{@sidecar-shell} #{@sidecar-pane}");
    let panes = web["windows"].as_array().unwrap().iter().flat_map(|window| window["panes"].as_array().unwrap());
    let ids: Vec<String> = panes.map(|pane| format!("{} {}", web["id"].as_str().unwrap(), pane["id"].as_str().unwrap())).collect();
    assert_eq!(tags, ids);
}

#[test]
fn windows_of_groups_and_linked_windows_are_recorded_once() {
    let world = World::new(1.0);
    world.inhabit(2);
    world.tmux(["new-session", "-d", "-t", "=s0", "-s", "member", ";", "link-window", "-d", "-s", "=s1:0", "-t", "=s0:5"]).ok();
    world.wait_recorded(&["member", "s0", "s1"]);
    wait_for("the link", || world.shell("s0")["windows"].as_array().filter(|windows| windows.len() == 3).map(drop));
    world.look();
    assert_eq!(pane_ids(&world.state()).len(), 4);
    let linked: Vec<Value> = ["s0", "member", "s1"]
        .map(|name| world.shell(name)["windows"].as_array().unwrap().iter().map(|window| window["linked"] == true).collect())
        .to_vec();
    assert_eq!(linked, [json!([false, false, true]), json!([true, true, true]), json!([false])]);
    assert_eq!(world.shell("s0")["windows"][2]["id"], world.shell("s1")["windows"][0]["id"]);
    assert_eq!(world.shell("s1").get("group"), None);
}

#[test]
fn what_has_a_hook_is_recorded_without_the_timer() {
    let world = world_without_timer(0.0);
    world.inhabit(1);
    let recorded = |what: &str, value: &dyn Fn(&Value) -> bool| {
        wait_for(what, || world.state()["shells"].as_array()?.iter().find(|shell| value(shell)).map(drop));
    };
    world.tmux(["rename-session", "-t", "=s0", "web"]).ok();
    recorded("the session's name", &|shell| shell["session"] == "web" && shell["name"] == "web" && shell["madeAs"] == "s0");
    world.tmux(["rename-window", "-t", "=web:0", "logs"]).ok();
    recorded("the window's name", &|shell| shell["windows"][0]["name"] == "logs" && shell["windows"][0].get("automaticRename").is_none());
    world.tmux(["new-window", "-d", "-t", "=web:6"]).ok();
    recorded("the window", &|shell| shell["windows"][2]["index"] == 6);
    world.tmux(["split-window", "-d", "-t", "=web:6"]).ok();
    recorded("the pane", &|shell| shell["windows"][2]["panes"][1].is_object());
    let before = world.shell("web")["windows"][2]["layout"].clone();
    world.tmux(["resize-pane", "-t", "=web:6.0", "-y", "3"]).ok();
    recorded("the layout", &|shell| shell["windows"][2]["layout"] != before);
    world.tmux(["resize-pane", "-Z", "-t", "=web:6.0"]).ok();
    recorded("the zoom", &|shell| shell["windows"][2]["zoomed"] == true);
    world.tmux(["kill-window", "-t", "=web:6"]).ok();
    recorded("the missing window", &|shell| shell["windows"][2].get("gone").is_some() || shell["windows"].as_array().unwrap().len() == 2);
    world.tmux(["new-session", "-d", "-s", "more"]).ok();
    recorded("the session", &|shell| shell["session"] == "more");
}

#[test]
fn what_has_no_hook_is_recorded_by_the_timer_with_the_status_line_off_and_no_client() {
    let world = World::bare();
    world.configure_programs(&["sleep"]);
    world.configure(&format!("{}set -g status off\nset -g status-right ''\nset -g status-left ''\n", options(1.0, 0.3)));
    world.inhabit(1);
    assert_eq!(world.tmux(["list-clients"]).ok(), "");
    let dir = world.folder("elsewhere");
    let pane = |world: &World| world.shell("s0")["windows"][0]["panes"][0].clone();
    world.tmux(["send-keys", "-t", "=s0:0.0", &format!("cd {}", dir.display()), "Enter"]).ok();
    wait_for("the directory", || (pane(&world)["dir"] == dir.to_str().unwrap()).then_some(()));
    world.tmux(["send-keys", "-t", "=s0:0.0", "sleep 1000", "Enter"]).ok();
    wait_for("the program", || (pane(&world)["argv"] == json!(["sleep", "1000"])).then_some(()));
    world.tmux(["select-pane", "-t", "=s0:0.0", "-T", "other title"]).ok();
    wait_for("the title", || (pane(&world)["title"] == "other title").then_some(()));
    world.tmux(["select-pane", "-t", "=s0:0.1"]).ok();
    wait_for("the active pane", || (world.shell("s0")["windows"][0]["panes"][1]["active"] == true).then_some(()));
    world.tmux(["select-window", "-t", "=s0:1"]).ok();
    wait_for("the active window", || (world.shell("s0")["windows"][1]["active"] == true).then_some(()));
    world.tmux(["set-window-option", "-t", "=s0:1", "automatic-rename", "off"]).ok();
    wait_for("automatic-rename", || world.shell("s0")["windows"][1].get("automaticRename").is_none().then_some(()));
}

#[test]
fn nothing_is_written_while_nothing_changes() {
    let world = World::bare();
    world.configure(&options(0.2, 0.3));
    world.inhabit(9);
    world.wait_prompts();
    world.look();
    let told = |world: &World| {
        let data = world.shells_json().metadata().unwrap();
        (data.ino(), data.mtime(), data.mtime_nsec(), world.state_bytes())
    };
    let before = told(&world);
    let lock = world.store().unwrap().join("lock");
    for _ in 0..4 {
        // The lock's time tells a look of the timer.
        let last = lock.metadata().unwrap().modified().unwrap();
        wait_for("a look", || (lock.metadata().unwrap().modified().unwrap() > last).then_some(()));
        world.look();
    }
    assert!(told(&world) == before, "written without need");
}

#[test]
fn fifty_hooks_at_once_lose_nothing_and_double_nothing() {
    // A tmux that never loaded the plugin: all that is recorded comes from these.
    let world = World::bare();
    let names: Vec<String> = (0..50).map(|number| format!("n{number}")).collect();
    world.tmux(["new-session", "-d", "-s", "n0"]).ok();
    let hook = || -> Child { world.sidecar_command(["hook", "session-created"]).spawn().unwrap() };
    let mut hooks: Vec<Child> = Vec::new();
    for name in &names[1..] {
        world.tmux(["new-session", "-d", "-s", name]).ok();
        hooks.push(hook());
    }
    hooks.push(hook());
    for mut hook in hooks {
        assert!(hook.wait().unwrap().success());
    }
    // Whoever went home left another one waiting, and that one has looked by now.
    let mut wanted = names.clone();
    wanted.sort();
    assert_eq!(world.recorded(), wanted);
    assert_eq!(pane_ids(&world.state()).len(), 50);

    // And what fifty closing sessions tell at once is all there. The grace is that of an unset option: none of it is ripe.
    let (pid, start) = (world.show("#{pid}"), world.show("#{start_time}"));
    let tell =
        |session: usize| world.sidecar_command(["hook", "session-closed", &format!("${session}"), "x", &pid, &start]).spawn().unwrap();
    let hooks: Vec<Child> = (0..50).map(tell).collect();
    for mut hook in hooks {
        assert!(hook.wait().unwrap().success());
    }
    let told = std::fs::read_to_string(world.store().unwrap().join("closed.jsonl")).unwrap();
    assert_eq!(
        told.lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap()["session"].clone())
            .collect::<std::collections::HashSet<_>>()
            .len(),
        50
    );
    world.look();
    assert_eq!((world.recorded(), world.tombstones()), (wanted, vec![]));
}
