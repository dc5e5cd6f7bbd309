//! Names, titles and directories that strangers chose: recorded byte for byte, shown harmless, never run.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use sidecar::model::RawText;
use sidecar::tmux::{Version, name_from_shown};

use super::records::{in_parallel, options, run, world_without_timer};
use super::support::{World, tmux_versions, wait_for};

/// What has broken such tools, as it is meant: nothing is doubled or escaped here.
pub fn names() -> Vec<Vec<u8>> {
    let mut names: Vec<Vec<u8>> = [
        "plain",
        "two  spaces",
        " leading",
        "trailing ",
        "tab\there",
        "new\nline",
        "cr\rhere",
        "esc\x1b[2Jhere",
        "it's",
        "say \"hi\"",
        "`touch CANARY`",
        "$(touch CANARY)",
        "#(touch CANARY)",
        "##(touch CANARY)",
        "x\ntouch CANARY",
        "x; touch CANARY",
        "x' ; touch CANARY '",
        "\" ; touch CANARY ; \"",
        "#S",
        "#{pid}",
        "#{session_name}",
        "#[fg=red]",
        "#",
        "##",
        "50%",
        "%H:%M",
        "%1",
        "a;",
        ";",
        "a:b",
        "c.d",
        "=x",
        "@x",
        "@1",
        "$x",
        "$1",
        "${HOME}",
        "-x",
        "--",
        "-",
        "~",
        "~root",
        "*",
        "?",
        "[a]",
        "{x,y}",
        "!",
        "!!",
        "+",
        "a\\b",
        "a\\",
        "\\n",
        "\\$x",
        "a$b",
        "日本語",
        "e\u{301}",
        "\u{5d0}\u{5d1}",
        "a\u{202e}b",
        "👩\u{200d}👩\u{200d}👧",
        "🚀",
        "2foo",
        "p-1",
        "p-10",
        "true",
        "null",
        "~0123456789S",
    ]
    .iter()
    .map(|name| name.as_bytes().to_vec())
    .collect();
    names.push(vec![b'n'; 200]);
    names.push("é".repeat(100).into_bytes());
    names.push(b"bad\xff\xfe".to_vec());
    names.push(b"cut\xe2\x82".to_vec());
    names
}

fn os(bytes: &[u8]) -> OsString {
    OsString::from_vec(bytes.to_vec())
}

/// As tmux must be given it where it expands formats: `#` doubled, but not before `[`, where tmux leaves every `#` as it is.
fn literal(bytes: &[u8]) -> OsString {
    let mut out = Vec::new();
    for (at, &byte) in bytes.iter().enumerate() {
        out.push(byte);
        let after = bytes[at..].iter().find(|&&byte| byte != b'#');
        if byte == b'#' && after != Some(&b'[') {
            out.push(b'#');
        }
    }
    // An argument's last `;` would end the command.
    if out.last() == Some(&b';') {
        out.insert(out.len() - 1, b'\\');
    }
    OsString::from_vec(out)
}

/// What tmux says of a session, and of its window and pane.
#[track_caller]
fn ask<const N: usize>(world: &World, session: &str, formats: [&str; N]) -> [String; N] {
    let target = format!("{session}:");
    let words = formats.iter().flat_map(|format| ["display-message", "-p", "-t", &target, format, ";"]);
    let said = run(world.command("tmux").arg("-u").args(words)).ok();
    // What tmux shows holds no line break.
    let mut lines = said.lines();
    let answers = formats.map(|_| lines.next().unwrap_or_else(|| panic!("short: {said:?}")).to_owned());
    assert_eq!(lines.next(), None);
    answers
}

/// Every file below, for the traces of what must not have run.
fn canaries(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok) {
        if entry.file_name().as_bytes().starts_with(b"CANARY") {
            found.push(entry.path());
        }
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            canaries(&entry.path(), found);
        }
    }
}

#[track_caller]
pub fn nothing_ran(world: &World) {
    let mut found = Vec::new();
    canaries(&world.root(), &mut found);
    assert_eq!(found, [""; 0].map(PathBuf::from));
    assert!(!Path::new("/CANARY").exists());
}

/// The document for programs, and the text for people, of the two commands that show records.
#[track_caller]
fn shown(world: &World) -> [Value; 2] {
    [&["session", "status"][..], &["shell", "list", "--all"]].map(|words| {
        let text = run(&mut world.sidecar_command(words)).ok();
        let wild = |c: char| c != '\n' && (c.is_control() || ('\u{202a}'..='\u{202e}').contains(&c));
        assert!(!text.contains(wild), "{text:?}");
        run(world.sidecar_command(words).arg("--json")).json()
    })
}

/// Runs `job` in a world of each version. tmux has not loaded the plugin there.
pub fn in_each_version(job: impl Fn(&str, &World) + Sync) {
    let supported = tmux_versions().into_iter().filter(|(version, _)| !version.starts_with("3.1"));
    let versions: Vec<Option<(String, PathBuf)>> = std::iter::once(None).chain(supported.map(Some)).collect();
    in_parallel(&versions, |version| match version {
        None => job("of PATH", &World::bare()),
        Some((version, folder)) => job(version, &World::bare_with_tmux(folder)),
    });
}

/// Loads the plugin, which looks at what lives.
#[track_caller]
pub fn load(world: &World) {
    world.configure(&options(0.3, 3600.0));
    world.tmux(["source-file", world.home().join(".tmux.conf").to_str().unwrap()]).ok();
    world.wait_quiet();
}

#[test]
fn every_name_title_and_directory_is_recorded_as_it_is_and_never_run() {
    in_each_version(|version, world| {
        // Each name at once as session, window, title and directory.
        let mut made: Vec<(Vec<u8>, String, PathBuf)> = Vec::new();
        let mut refused: Vec<Vec<u8>> = Vec::new();
        for name in names() {
            let dir = world.folder(os(&name));
            let (given, given_dir) = (literal(&name), literal(dir.as_os_str().as_bytes()));
            let mut new = world.command("tmux");
            new.args(["-u", "new-session", "-d", "-P", "-F", "#{session_id}", "-s"]).arg(&given).arg("-c").arg(&given_dir);
            let said = run(&mut new);
            // From 3.7 tmux refuses what it can't show.
            let Some(id) = said.out.trim().strip_prefix('$').filter(|_| said.code == 0).map(|digits| format!("${digits}")) else {
                refused.push(name);
                continue;
            };
            let target = format!("{id}:");
            let mut name_the_rest = world.command("tmux");
            name_the_rest.args(["-u", "select-pane", "-t", &target, "-T"]).arg(&given);
            run(name_the_rest.args([";", "rename-window", "-t", &target, "--"]).arg(&given));
            made.push((name, id, dir));
        }
        world.remember_server();
        let since_37 = Version::parse(&world.show("#{version}")) >= Version::new(3, 7);
        let unshown = |name: &Vec<u8>| std::str::from_utf8(name).map_or(true, |name| name.contains(char::is_control));
        assert_eq!(refused, names().into_iter().filter(|name| since_37 && unshown(name)).collect::<Vec<_>>(), "tmux {version}");
        load(world);
        world.look();

        let state = world.state();
        let shells = state["shells"].as_array().unwrap();
        assert_eq!(shells.len(), made.len(), "tmux {version}");
        for (name, id, dir) in &made {
            let what = format!("tmux {version}: {:?}", String::from_utf8_lossy(name));
            let shell = shells.iter().find(|shell| shell["seen"]["session"] == id.as_str()).unwrap_or_else(|| panic!("{what} is lost"));
            let (window, pane) = (&shell["windows"][0], &shell["windows"][0]["panes"][0]);
            let live = ["#{session_name}", "#{window_name}", "#{pane_title}", "#{@sidecar-shell}", "#{@sidecar-pane}"];
            let recorded = [&shell["session"], &window["name"], &pane["title"], &shell["id"], &pane["id"]];
            assert_eq!(recorded.map(|value| value.as_str().unwrap().to_owned()), ask(world, id, live), "{what}");
            // Up to 3.6 tmux makes `_` of these two; all else it keeps, and shows escaped.
            let kept = name.iter().all(|byte| !b":.".contains(byte));
            let session = shell["session"].as_str().unwrap();
            if kept {
                assert_eq!(name_from_shown(session), *name, "{what}, shown as {session:?}");
            }
            if kept && name.iter().all(|&byte| byte.is_ascii_graphic() && !b"\\$\"".contains(&byte)) {
                assert_eq!((session.as_bytes(), pane["title"].as_str().unwrap().as_bytes()), (&name[..], &name[..]), "{what}");
            }
            for recorded in [&pane["dir"], &shell["workDir"]] {
                let recorded: RawText = serde_json::from_value(recorded.clone()).unwrap();
                assert_eq!(recorded.as_path(), dir, "{what}");
            }
        }

        // Living or dead, each is shown once, and what is shown is what is recorded.
        for _ in 0..2 {
            let [plan, list] = shown(world);
            for rows in [&plan["steps"], &list["shells"]] {
                let mut ids: Vec<&str> = rows.as_array().unwrap().iter().map(|row| row["shell"].as_str().unwrap()).collect();
                ids.sort_unstable();
                let mut wanted: Vec<&str> = shells.iter().map(|shell| shell["id"].as_str().unwrap()).collect();
                wanted.sort_unstable();
                assert_eq!(ids, wanted, "tmux {version}");
                for row in rows.as_array().unwrap() {
                    let shell = shells.iter().find(|shell| shell["id"] == row["shell"]).unwrap();
                    assert_eq!(row["session"], shell["session"]);
                }
            }
            if world.socket().exists() {
                world.crash();
                std::fs::remove_file(world.socket()).unwrap();
            }
        }
        nothing_ran(world);
    });
}

#[test]
fn looking_again_changes_no_name() {
    in_each_version(|version, world| {
        for name in [&b"a$b"[..], b"a\\b", b"a:b", b"x\ty", b"bad\xff", b"50%", b"#(touch CANARY)"] {
            // From 3.7 tmux refuses what it can't show.
            world.tmux([OsStr::new("new-session"), "-d".as_ref(), "-s".as_ref(), &literal(name)]);
        }
        load(world);
        world.wait_prompts();
        world.look();
        let before = world.state_bytes();
        assert!(world.recorded().len() >= 5, "tmux {version}: {:?}", world.recorded());
        for _ in 0..5 {
            world.look();
            assert_eq!(String::from_utf8_lossy(&world.state_bytes()), String::from_utf8_lossy(&before), "tmux {version}");
        }
        nothing_ran(world);
    });
}

#[test]
fn names_that_are_prefixes_of_others_are_closed_alone() {
    let world = World::new(0.2);
    world.tmux(["new-session", "-d", "-s", "p-10", ";", "new-session", "-d", "-s", "p-1", ";", "new-session", "-d", "-s", "p"]).ok();
    world.wait_recorded(&["p", "p-1", "p-10"]);
    let ten = world.shell("p-10");
    world.tmux(["kill-session", "-t", "=p-1"]).ok();
    wait_for("the tombstone", || (world.tombstones() == ["p-1"]).then_some(()));
    assert_eq!(world.recorded(), ["p", "p-10"]);
    assert_eq!(world.shell("p-10")["id"], ten["id"]);
}

#[test]
fn a_name_that_a_tombstone_has_may_be_used_again() {
    let world = World::new(0.2);
    world.tmux(["new-session", "-d", "-s", "stays", ";", "new-session", "-d", "-s", "again"]).ok();
    world.wait_recorded(&["again", "stays"]);
    let first = world.shell("again")["id"].clone();
    world.tmux(["kill-session", "-t", "=again"]).ok();
    wait_for("the tombstone", || (world.tombstones() == ["again"]).then_some(()));
    world.tmux(["new-session", "-d", "-s", "again"]).ok();
    world.wait_recorded(&["again", "stays"]);
    assert_ne!(world.shell("again")["id"], first);
    world.pass_a_grace();
    assert_eq!((world.tombstones(), world.recorded()), (vec!["again".into(), "probe".into()], vec!["again".into(), "stays".into()]));
}

#[test]
fn a_name_that_begins_like_an_index_shadows_no_window() {
    let world = world_without_timer(0.2);
    world.tmux(["new-session", "-d", "-s", "web", "-n", "2foo", ";", "new-window", "-d", "-t", "web:2", "-n", "2"]).ok();
    world.wait_recorded(&["web"]);
    world.wait_as_it_is();
    let windows: Vec<Value> =
        world.shell("web")["windows"].as_array().unwrap().iter().map(|window| json!([window["index"], window["name"]])).collect();
    assert_eq!(windows, [json!([0, "2foo"]), json!([2, "2"])]);
}

#[test]
fn directories_that_went_away_are_recorded_as_they_were_called() {
    let world = world_without_timer(0.2);
    let [deleted, named, replaced, locked] = ["gone", "named (deleted)", "replaced", "locked"].map(|name| world.folder(name));
    for (session, dir) in [("gone", &deleted), ("named", &named), ("replaced", &replaced), ("locked", &locked)] {
        world.tmux(["new-session", "-d", "-s", session, "-c", dir.to_str().unwrap()]).ok();
    }
    world.wait_recorded(&["gone", "locked", "named", "replaced"]);
    std::fs::remove_dir(&deleted).unwrap();
    std::fs::remove_dir(&replaced).unwrap();
    std::fs::write(&replaced, "a file now").unwrap();
    std::fs::set_permissions(&locked, std::os::unix::fs::PermissionsExt::from_mode(0o000)).unwrap();
    // Each is seen anew, and a fresh record says the same.
    world.write_state(br#"{"version":3,"shells":[],"tombstones":[]}"#);
    world.look();
    for (session, dir) in [("gone", &deleted), ("named", &named), ("replaced", &replaced), ("locked", &locked)] {
        let shell = world.shell(session);
        let dir = dir.to_str().unwrap();
        assert_eq!((&shell["workDir"], &shell["windows"][0]["panes"][0]["dir"]), (&dir.into(), &dir.into()), "{session}");
    }
    shown(&world);
    world.crash();
    let verdicts = world.verdicts();
    for session in ["gone", "replaced"] {
        assert_eq!(verdicts[session], "refuse directory_missing");
    }
    assert!(verdicts["named"].starts_with("recreate-shell "), "{verdicts:?}");
    shown(&world);
}

#[test]
fn a_server_whose_own_directory_was_deleted_is_recorded() {
    let world = world_without_timer(0.2);
    let own = world.folder("own");
    let mut tmux = world.command("tmux");
    run(tmux.current_dir(&own).args(["-u", "new-session", "-d", "-s", "first"])).ok();
    world.remember_server();
    world.wait_recorded(&["first"]);
    std::fs::remove_dir(&own).unwrap();
    world.tmux(["new-session", "-d", "-s", "second"]).ok();
    world.wait_recorded(&["first", "second"]);
    assert_eq!(world.shell("first")["workDir"], own.to_str().unwrap());
}
