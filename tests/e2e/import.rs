//! Records from a save of tmux-resurrect.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::support::{World, assert_same, tmux_versions, two_versions, wait_for};

/// Written by tmux-resurrect itself: a group, a zoom, an empty title, two spaces in a directory.
const SAVE: &str = include_str!("resurrect_save.txt");

/// That save with its directories in this world, where they are made.
fn save_of(world: &World) -> String {
    for dir in ["code/api", "code/web", "code/two  spaces", "code/it's"] {
        world.folder(dir);
    }
    SAVE.replace("/srv/code", &world.work().join("code").display().to_string())
}

fn write(world: &World, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
    let path = world.folder("saves").join(name);
    std::fs::write(&path, content).unwrap();
    path
}

/// What became of each session.
fn fates(document: &Value) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    document["shells"].as_array().unwrap().iter().map(|shell| (text(&shell["session"]), text(&shell["reason"]))).collect()
}

fn all(reason: &str) -> Vec<(String, String)> {
    ["2foo", "my notes", "web", "grp"].map(|name| (name.to_owned(), reason.to_owned())).to_vec()
}

#[test]
fn a_save_comes_back_on_every_tmux_as_it_was() {
    for (version, folder) in tmux_versions().into_iter().filter(|(version, _)| version != "3.1c") {
        let world = World::with_tmux(&folder, 10.0);
        let save = write(&world, "save.txt", save_of(&world));
        let save = save.to_str().unwrap();
        let said = world.sidecar(["import", "resurrect", save, "--json"]);
        assert_eq!((said.code, fates(&said.json()), &said.json()["problems"]), (0, all("imported"), &json!([])), "{version}: {said:?}");
        let plan = world.sidecar(["session", "status", "--json"]).json();
        let reasons: Vec<_> = plan["steps"].as_array().unwrap().iter().map(|step| &step["reason"]).collect();
        assert_eq!(reasons, ["died_with_server"; 4], "{version}");
        let said = world.sidecar(["session", "restore"]);
        assert_eq!(said.code, 0, "{version}: {said:?}");
        let windows = "#{session_name}:#{window_index}|#{?automatic-rename,auto,#{window_name}}|#{window_active}#{window_last_flag}#{window_zoomed_flag}|#{window_panes}";
        assert_eq!(
            world.tmux(["list-windows", "-a", "-F", windows]).ok().lines().collect::<Vec<_>>(),
            [
                "2foo:0|2foo|100|1",
                "grp:0|editor|101|2",
                "grp:1|logs β|000|1",
                "my notes:0|auto|100|2",
                "web:0|editor|011|2",
                "web:1|logs β|100|1"
            ],
            "{version}"
        );
        let layouts = world.tmux(["list-windows", "-a", "-F", "#{window_layout}"]).ok();
        for (now, saved) in layouts.lines().zip([0, 2, 3, 1, 2, 3]) {
            let row = SAVE.lines().filter(|line| line.starts_with("window")).nth(saved).unwrap().split('\t').nth(6).unwrap();
            let layout = |text: &str| sidecar::model::Layout::parse(text).unwrap();
            assert_eq!(layout(now), layout(row), "{version}");
        }
        let panes = "#{session_name}:#{window_index}.#{pane_index}|#{pane_active}|#{pane_current_path}";
        let code = world.work().join("code").display().to_string();
        let panes = world.tmux(["list-panes", "-a", "-F", panes]).ok().replace(&code, "CODE");
        assert_eq!(
            panes.lines().filter(|line| !line.starts_with("grp")).collect::<Vec<_>>(),
            [
                "2foo:0.0|1|CODE/api",
                "my notes:0.0|0|CODE/two  spaces",
                "my notes:0.1|1|CODE/it's",
                "web:0.0|0|CODE/web",
                "web:0.1|1|CODE/api",
                "web:1.0|1|/usr"
            ],
            "{version}"
        );
        let groups = world.tmux(["list-sessions", "-F", "#{session_name} #{session_group}"]).ok();
        assert_eq!(groups.lines().collect::<Vec<_>>(), ["2foo ", "grp web", "my notes ", "web web"], "{version}");
        assert_eq!(world.tmux(["list-panes", "-t", "=my notes:", "-F", "#{pane_title}"]).ok().lines().nth(1), Some("a title"), "{version}");
        // A restore does not make it news.
        let said = world.sidecar(["import", "resurrect", save, "--json"]);
        assert_eq!(fates(&said.json()), all("already_imported"), "{version}");
        let before = world.tree();
        world.look();
        world.crash();
        world.sidecar(["session", "restore"]).ok();
        assert_same(&world.tree(), &before, version);
    }
}

#[test]
fn imported_twice_it_adds_nothing_whatever_became_of_the_shells_since() {
    let world = World::new(10.0);
    let save = write(&world, "save.txt", save_of(&world));
    let import = || world.sidecar(["import", "resurrect", save.to_str().unwrap(), "--json"]).json();
    assert_eq!(fates(&import()), all("imported"));
    world.sidecar(["shell", "rename", "--target", "web", "site"]).ok();
    world.sidecar(["shell", "forget", "2foo"]).ok();
    let before = world.state();
    let again = import();
    assert_eq!(fates(&again), all("already_imported"));
    assert!(again["shells"].as_array().unwrap().iter().all(|shell| shell["shell"].is_null()), "{again}");
    assert_eq!(world.state(), before);
    assert!(world.log().contains("my notes): from "), "{}", world.log());
}

#[test]
fn a_dry_run_changes_no_byte_and_says_what_the_import_then_does() {
    for running in [false, true] {
        let world = World::new(10.0);
        if running {
            world.tmux(["new-session", "-d", "-s", "web"]).ok();
            world.wait_recorded(&["web"]);
            world.wait_quiet();
        }
        let save = write(&world, "save.txt", save_of(&world) + "nonsense\n");
        let import = |options: &[&str]| world.sidecar([&["import", "resurrect", save.to_str().unwrap()][..], options].concat());
        let files = || {
            let mut found = Vec::new();
            let mut folders = vec![world.home().parent().unwrap().to_owned()];
            while let Some(folder) = folders.pop() {
                for entry in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
                    match std::fs::symlink_metadata(&entry).unwrap() {
                        data if data.is_dir() => folders.push(entry),
                        data if data.is_file() => found.push((std::fs::read(&entry).unwrap(), data.modified().unwrap(), entry)),
                        _ => {}
                    }
                }
            }
            found.sort();
            found
        };
        // The timer would look meanwhile.
        if running {
            world.sidecar(["plugin", "unload"]).ok();
        }
        let before = files();
        let dry = import(&["--dry-run"]);
        let dry_json = import(&["--dry-run", "--json"]).json();
        assert!(files() == before, "{dry:?}");
        assert_eq!(world.store().is_some(), running);
        let wet_json = import(&["--json"]).json();
        let same = |document: &Value| {
            let mut document = document.clone();
            document["dryRun"].take();
            document["shells"].as_array_mut().unwrap().iter_mut().for_each(|shell| drop(shell["shell"].take()));
            document
        };
        assert_eq!((&dry_json["dryRun"], &wet_json["dryRun"]), (&true.into(), &false.into()));
        assert_eq!(same(&dry_json), same(&wet_json));
        let reason = if running { ["session_running", "original_skipped"] } else { ["imported"; 2] };
        assert_eq!(fates(&wet_json)[2..], [("web".to_owned(), reason[0].to_owned()), ("grp".to_owned(), reason[1].to_owned())]);
        assert_eq!(wet_json["problems"], json!([{ "line": 13, "message": "it is no row of a save; left out" }]));
        let shown = dry.ok();
        assert!(
            shown.contains("my notes   1 window    2 panes   would be imported\n") && shown.contains("\nline 13: it is no row"),
            "{shown}"
        );
        assert!(shown.contains(" of 4 sessions would be imported from ") && !shown.contains("session restore"), "{shown}");
    }
}

#[test]
fn nothing_in_a_save_is_run_and_no_command_of_it_starts_by_itself() {
    for folder in two_versions() {
        let world = World::with_tmux(&folder, 10.0);
        let canary = world.work().join("CANARY");
        let evil = format!("#(touch {0}) $(touch {0}) `touch {0}`;'\"#{{pid}}", canary.display());
        let dir = world.folder("d");
        let dir = dir.display();
        let row = |index: u32, command: &str| format!("pane\t{evil}\t0\t1\t:*\t{index}\t{evil}\t:{dir}\t1\tx\t:{command}\n");
        let touch = format!("touch {}", canary.display());
        let rows = row(0, &touch) + &row(1, &format!("sh -c {touch}")) + &row(2, "claude --resume 01a228e7-fac2-7180-b353-a6ead433a7ba");
        let save = write(&world, "save.txt", format!("{rows}window\t{evil}\t0\t:{evil}\t1\t:*\t{evil}\toff\n"));
        world.sidecar(["import", "resurrect", save.to_str().unwrap()]).ok();
        let status = world.sidecar(["session", "status"]).ok();
        assert!(!status.contains("01a228e7"), "no conversation is guessed: {status}");
        world.sidecar(["session", "restore"]).ok();
        wait_for("three prompts", || {
            let cursors = world.show_all("list-panes", "#{cursor_x}");
            (cursors.len() == 3 && cursors.iter().all(|at| at != "0")).then_some(())
        });
        assert_eq!(world.state()["shells"][0]["windows"][0]["panes"].as_array().unwrap().len(), 3);
        assert!(world.state()["shells"][0]["windows"][0]["panes"].as_array().unwrap().iter().all(|pane| pane["agent"].is_null()));
        assert_eq!(world.tmux(["list-windows", "-a", "-F", "#{==:#{window_name},#{session_name}}"]).ok().trim(), "1");
        assert!(!canary.exists());
    }
}

#[test]
fn a_named_program_starts_again_with_its_saved_words() {
    let world = World::new(10.0);
    world.configure_programs(&["tail"]);
    let file = write(&world, "it's log", "");
    let words = [b"tail".as_slice(), b"-f", file.as_os_str().as_encoded_bytes()];
    let command = format!("tail -f {}", file.display().to_string().replace('\'', "\\'").replace(' ', "\\ "));
    let save = write(&world, "save.txt", format!("pane\tweb\t0\t1\t:*\t0\tt\t:{}\t1\ttail\t:{command}\n", world.work().display()));
    world.sidecar(["import", "resurrect", save.to_str().unwrap()]).ok();
    world.sidecar(["session", "restore"]).ok();
    world.wait_in_front("=web:", &words);
}

#[test]
fn the_newest_save_is_found_where_tmux_resurrect_keeps_it() {
    let world = World::new(10.0);
    let row = |name: &str| format!("pane\t{name}\t0\t1\t:*\t0\tt\t:/\t1\tsh\t:\n");
    let none = world.sidecar(["import", "resurrect", "--json"]);
    let error: Value = serde_json::from_str(&none.err).unwrap();
    assert_eq!((none.code, &error["error"]["code"]), (3, &"no_save".into()), "{none:?}");
    assert!(none.err.contains("/home/.tmux/resurrect") && none.err.contains("/data/tmux/resurrect"), "{none:?}");

    let save = |folder: &str, time: &str, content: &str| {
        let folder = world.home().parent().unwrap().join(folder);
        std::fs::create_dir_all(&folder).unwrap();
        let name = format!("tmux_resurrect_{time}.txt");
        std::fs::write(folder.join(&name), content).unwrap();
        let _ = std::fs::remove_file(folder.join("last"));
        std::os::unix::fs::symlink(&name, folder.join("last")).unwrap();
    };
    let taken = || {
        let document = world.sidecar(["import", "resurrect", "--dry-run", "--json"]).json();
        (fates(&document)[0].0.clone(), document["notices"].as_array().unwrap().len())
    };
    save("data/tmux/resurrect", "20240102T101112", &row("data"));
    assert_eq!(taken(), ("data".to_owned(), 0));
    save("home/.tmux/resurrect", "2015-01-02T10:11:12", &row("home"));
    assert_eq!(taken(), ("home".to_owned(), 0));
    world.tmux(["new-session", "-d", "-s", "x", ";", "set", "-g", "@resurrect-dir", "~/s $HOSTNAME $(x)"]).ok();
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
    let option = format!("home/s {} $(x)", host.trim());
    save(&option, "20240102T101113", &row("older"));
    save(&option, "20240102T101114", &format!("{}{}", row("newer"), row("second")));
    assert_eq!(taken(), ("newer".to_owned(), 0));
    // What a crash left empty hides none before it.
    save(&option, "20240102T101115", "");
    assert_eq!(taken(), ("newer".to_owned(), 1));

    let list = world.sidecar(["import", "resurrect", "--list", "--json"]).json();
    let told: Vec<_> = list["saves"].as_array().unwrap().iter().map(|save| [&save["sessions"], &save["panes"], &save["last"]]).collect();
    assert_eq!(json!(told), json!([[0, 0, true], [2, 2, false], [1, 1, false]]));
    let shown = world.sidecar(["import", "resurrect", "--list"]).ok();
    assert!(shown.starts_with("2024-01-02 10:11   0 sessions   0 panes   ~/s "), "{shown}");
    assert_eq!(world.state()["shells"].as_array().unwrap().len(), 1);
}

#[test]
fn while_it_cannot_be_told_what_lives_nothing_is_imported() {
    let world = World::new(10.0);
    world.tmux(["new-session", "-d", "-s", "web"]).ok();
    world.wait_recorded(&["web"]);
    std::fs::remove_file(world.socket()).unwrap();
    let save = write(&world, "save.txt", save_of(&world));
    for options in [&["--json"][..], &["--json", "--dry-run"]] {
        let said = world.sidecar([&["import", "resurrect", save.to_str().unwrap()][..], options].concat());
        let error: Value = serde_json::from_str(&said.err).unwrap();
        assert_eq!((said.code, &error["error"]["code"]), (1, &"server_unknown".into()), "{said:?}");
    }
    assert_eq!(world.recorded(), ["web"]);
}

#[test]
fn what_is_no_save_is_refused_and_told() {
    let world = World::bare();
    let refused = |file: &str| {
        let said = world.sidecar(["import", "resurrect", file, "--json"]);
        let error: Value = serde_json::from_str(&said.err).unwrap_or_else(|_| panic!("{said:?}"));
        assert!(said.out.is_empty() && world.store().is_none(), "{said:?}");
        (said.code, error["error"]["code"].as_str().unwrap().to_owned())
    };
    let pipe = world.work().join("pipe");
    assert!(world.command("mkfifo").arg(&pipe).status().unwrap().success());
    let write = |name: &str, content: &[u8]| write(&world, name, content).display().to_string();
    assert_eq!(refused("/none/save.txt"), (3, "no_such_file".to_owned()));
    assert_eq!(refused(pipe.to_str().unwrap()), (1, "save_unreadable".to_owned()));
    assert_eq!(refused("/"), (1, "save_unreadable".to_owned()));
    assert_eq!(refused(&write("empty", b"")), (1, "no_session_in_save".to_owned()));
    assert_eq!(refused(&write("zeros", &[0; 4096])), (1, "no_session_in_save".to_owned()));
    assert_eq!(refused(&write("other", b"\x7fELF\xff\n\n\xfe")), (1, "no_session_in_save".to_owned()));
    assert_eq!(refused(&write("state", b"state\ta\tb\n")), (1, "no_session_in_save".to_owned()));
    let many: String = (0..5000).map(|index| format!("pane\ts\t{index}\t1\t:*\t0\tt\t:/\t1\tsh\t:\n")).collect();
    assert_eq!(refused(&write("many", many.as_bytes())), (1, "save_too_large".to_owned()));
    let usage = world.sidecar(["import", "resurrect", "--list", "--dry-run"]);
    assert_eq!(usage.code, 2, "{usage:?}");
}
