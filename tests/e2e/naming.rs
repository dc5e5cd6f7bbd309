//! Names that are given: of shells, of their sessions, and by which a shell is found.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::process::{Child, Command, Stdio};

use serde_json::Value;
use sidecar::tmux::name_from_shown;

use super::names::{in_each_version, load, names, nothing_ran};
use super::records::{run, world_without_timer};
use super::support::{World, wait_for};

/// `sidecar ARGS`, as it is run in this pane.
pub fn inside(world: &World, pane: &str, args: &[&str]) -> Command {
    let mut command = world.sidecar_command(args);
    let server = world.show("#{socket_path},#{pid},0");
    command.env("TMUX", server).env("TMUX_PANE", pane);
    command
}

/// The first pane of a session.
#[track_caller]
pub fn pane_of(world: &World, session: &str) -> String {
    world.tmux(["display-message", "-p", "-t", &format!("={session}:"), "#{pane_id}"]).ok().trim().to_owned()
}

/// The rows of `shell list --all`, by display name.
#[track_caller]
pub fn row(world: &World, name: &str) -> Value {
    let list = run(&mut world.sidecar_command(["shell", "list", "--all", "--json"])).json();
    let rows: Vec<&Value> = list["shells"].as_array().unwrap().iter().filter(|row| row["name"] == name).collect();
    assert_eq!(rows.len(), 1, "{name}: {list}");
    rows[0].clone()
}

fn shown(world: &World, id: &str) -> String {
    let all = world.show_all("list-panes", "#{@sidecar-shell} #{session_name}");
    let found = all.iter().find_map(|line| line.strip_prefix(&format!("{id} ")));
    found.unwrap_or_else(|| panic!("{id} in {all:?}")).to_owned()
}

#[test]
fn any_text_is_a_name_on_every_tmux_alive_and_dead() {
    in_each_version(|version, world| {
        world.tmux(["new-session", "-d", "-s", "first", ";", "new-session", "-d", "-s", "stays"]).ok();
        load(world);
        world.wait_recorded(&["first", "stays"]);
        let id = world.shell("first")["id"].as_str().unwrap().to_owned();
        let mut before = "first".to_owned();
        // Each behaves as one of these two does with names.
        let step = if matches!(version, "of PATH" | "3.8") { 1 } else { 4 };
        for name in names().into_iter().step_by(step) {
            let what = format!("tmux {version}: {:?}", String::from_utf8_lossy(&name));
            let given = OsString::from_vec(name.clone());
            let words =
                [OsStr::new("shell"), "rename".as_ref(), "--json".as_ref(), "--target".as_ref(), OsStr::new(&id), "--".as_ref(), &given];
            let said = world.sidecar(words);
            assert_eq!(said.code, 0, "{what}: {said:?}");
            let done = said.json();
            let display = std::str::from_utf8(&name).map_or_else(|_| sidecar::tmux::shown_from_name(&name), str::to_owned);
            assert_eq!(done["name"], display.as_str(), "{what}");
            let session = shown(world, &id);
            assert_eq!(done["session"], session.as_str(), "{what}");
            // tmux has the name as it is, but for the two characters that it turns, or it has said why not.
            let kept = name.iter().all(|byte| !b":.".contains(byte));
            let follows = name_from_shown(&session) == name;
            let told = done["detail"].as_str().unwrap().contains("its session stays");
            assert!(follows != told || (!kept && !told), "{what}: {done}");
            // The look since has changed nothing, and the new name finds it.
            assert!(done["detail"].as_str().unwrap().starts_with(&format!("'{before}' is '{display}' now")), "{what}: {done}");
            before = display;
            let found = world.sidecar([OsStr::new("session"), "policy".as_ref(), "--json".as_ref(), "--".as_ref(), &given]);
            assert_eq!((found.code, found.json()["shell"].clone()), (0, id.clone().into()), "{what}: {found:?}");
        }
        for target in ["first", &shown(world, &id)] {
            assert_eq!(
                world.sidecar(["session", "policy", "--json", "--", target]).json()["shell"],
                id.as_str(),
                "tmux {version}: {target}"
            );
        }
        nothing_ran(world);

        // The same of a shell that does not live, and what comes back has that name.
        world.crash();
        for name in names().into_iter().step_by(3 * step) {
            let what = format!("tmux {version}: {:?}", String::from_utf8_lossy(&name));
            let given = OsStr::from_bytes(&name);
            let words =
                [OsStr::new("shell"), "rename".as_ref(), "--json".as_ref(), "--target".as_ref(), OsStr::new(&id), "--".as_ref(), given];
            let done = run(&mut world.sidecar_command(words)).json();
            assert_eq!(name_from_shown(done["session"].as_str().unwrap()), name, "{what}");
        }
        for name in [&b"a\\b $x"[..], b"#(touch CANARY)", b"2foo;"] {
            let given = OsStr::from_bytes(name);
            let words = [OsStr::new("shell"), "rename".as_ref(), "--target".as_ref(), OsStr::new(&id), "--".as_ref(), given];
            run(&mut world.sidecar_command(words)).ok();
            world.sidecar(["session", "restore"]).ok();
            assert_eq!(name_from_shown(&shown(world, &id)), name, "tmux {version}");
            world.look();
            let recorded = world.state()["shells"].as_array().unwrap().iter().find(|shell| shell["id"] == id.as_str()).unwrap().clone();
            assert_eq!(recorded["name"], std::str::from_utf8(name).unwrap(), "tmux {version}");
            world.crash();
        }
        nothing_ran(world);
    });
}

#[test]
fn a_name_that_cannot_be_given_is_refused_and_nothing_changes() {
    let world = world_without_timer(0.2);
    world.tmux(["new-session", "-d", "-s", "web", ";", "new-session", "-d", "-s", "api"]).ok();
    world.wait_recorded(&["api", "web"]);
    std::fs::create_dir_all(world.root().join("config/sidecar")).unwrap();
    std::fs::write(world.root().join("config/sidecar/config.json"), r#"{"shells":{"ignore":["tmp-*"]}}"#).unwrap();
    world.wait_prompts();
    world.look();
    let before = world.state_bytes();
    let long = "x".repeat(1001);
    for (target, name, code, said) in [
        ("web", "", 2, "can't be empty"),
        ("web", &long, 2, "1001 bytes"),
        ("nobody", "x", 3, "no shell named 'nobody'"),
        ("we", "x", 3, "no shell named 'we'"),
        ("web", "api", 5, "is named 'api'"),
        ("web", "tmp-1", 5, "shells.ignore"),
    ] {
        let refused = world.sidecar(["shell", "rename", "--target", target, name]);
        assert_eq!((refused.code, refused.out.as_str()), (code, ""), "{refused:?}");
        assert!(refused.err.contains(said), "{refused:?}");
    }
    assert_eq!(world.sidecar(["shell", "rename", "--target", "web"]).code, 2);
    assert_eq!(world.sidecar(["shell", "rename", "outside"]).code, 3);
    assert_eq!(world.state_bytes(), before);
    // A slip of the hand is told, and so is where the name went.
    assert!(world.sidecar(["shell", "rename", "--target", "wbe", "x"]).err.contains("did you mean 'web'?"));
    world.sidecar(["shell", "forget", "web"]).ok();
    let forgotten = world.sidecar(["shell", "rename", "--target", "web", "x"]);
    assert_eq!(forgotten.code, 3);
    assert!(forgotten.err.contains("sidecar shell restore sh-"), "{forgotten:?}");
}

#[test]
fn a_display_name_is_taken_in_its_project_only_and_a_session_name_on_the_server() {
    let world = world_without_timer(0.2);
    let [here, there] = ["here", "there"].map(|name| world.folder(name).display().to_string());
    world
        .tmux([
            "new-session",
            "-d",
            ";",
            "new-session",
            "-d",
            "-s",
            "web",
            "-c",
            &here,
            ";",
            "new-session",
            "-d",
            "-s",
            "api",
            "-c",
            &there,
        ])
        .ok();
    world.wait_recorded(&["api", "web"]);
    let rename = |target: &str, name: &str| world.sidecar(["shell", "rename", "--json", "--target", target, name]).json();
    let done = rename("api", "web");
    assert_eq!((&done["name"], &done["session"]), (&"web".into(), &"api".into()), "{done}");
    assert!(done["detail"].as_str().unwrap().contains("its session stays 'api'"), "{done}");
    world.look();
    assert_eq!(world.shell("api")["name"], "web");
    // Two shells have the name now.
    let both = world.sidecar(["session", "policy", "web"]);
    assert_eq!(both.code, 3);
    for session in ["web", "api"] {
        assert!(both.err.contains(world.shell(session)["id"].as_str().unwrap()), "{both:?}");
    }
    // A session that has no record, since nobody used it, holds its name too.
    let done = rename("api", "0");
    assert_eq!((&done["name"], &done["session"]), (&"0".into(), &"api".into()), "{done}");
    // And so does a shell that is to come back.
    world.crash();
    world.tmux(["new-session", "-d", "-s", "next", "-c", &there]).ok();
    world.wait_recorded(&["api", "next", "web"]);
    let done = rename("next", "web");
    assert_eq!((&done["name"], &done["session"]), (&"web".into(), &"next".into()), "{done}");
    world.sidecar(["session", "restore"]).ok();
    assert_eq!(world.tmux(["list-sessions", "-F", "#{session_name}"]).ok(), "api\nnext\nweb\n");
}

#[test]
fn the_two_names_follow_each_other_and_the_first_one_stays_a_target() {
    let world = world_without_timer(0.2);
    world.tmux(["new-session", "-d", "-s", "made", ";", "new-session", "-d", "-s", "stays"]).ok();
    world.wait_recorded(&["made", "stays"]);
    let id = world.shell("made")["id"].clone();
    let said = world.sidecar(["shell", "rename", "--target", "made", "one"]).ok();
    assert_eq!(said, "'made' is 'one' now\n");
    assert_eq!(shown(&world, id.as_str().unwrap()), "one");
    world.tmux(["rename-session", "-t", "=one", "two"]).ok();
    wait_for("the look", || (row(&world, "two")["session"] == "two").then_some(()));
    for target in ["two", "made", id.as_str().unwrap()] {
        assert_eq!(world.sidecar(["session", "policy", "--json", target]).json()["shell"], id);
    }
    assert_eq!(world.sidecar(["session", "policy", "one"]).code, 3, "what it was called in between is free");
    world.crash();
    world.sidecar(["session", "restore"]).ok();
    world.look();
    assert_eq!(row(&world, "two")["shell"], id);
    assert_eq!(world.sidecar(["session", "policy", "--json", "made"]).json()["shell"], id);
}

#[test]
fn in_a_pane_the_current_shell_is_meant_and_a_session_that_nobody_used_gets_a_record() {
    in_each_version(|version, world| {
        world.tmux(["new-session", "-d", ";", "new-session", "-d", "-s", "other"]).ok();
        load(world);
        let (first, other) = (pane_of(world, "0"), pane_of(world, "other"));
        let done = run(&mut inside(world, &other, &["shell", "rename", "--json", "mine"])).json();
        assert_eq!((&done["name"], &done["session"], &done["status"]), (&"mine".into(), &"mine".into(), &"live".into()), "tmux {version}");
        let done = run(&mut inside(world, &first, &["shell", "rename", "--json", "used"])).json();
        assert_eq!((&done["name"], &done["session"]), (&"used".into(), &"used".into()), "tmux {version}");
        world.look();
        assert_eq!(world.recorded(), ["mine", "used"], "tmux {version}");
        let policy = run(&mut inside(world, &first, &["session", "policy", "--never", "--json"])).json();
        assert_eq!((&policy["session"], &policy["policy"]), (&"used".into(), &"never".into()), "tmux {version}");
        assert!(run(&mut inside(world, &first, &["session", "policy"])).ok().starts_with("'used': never"));
        // Another server is no place where that pane is, and the same one named by its socket is.
        let socket = world.show("#{socket_path}");
        assert_eq!(run(&mut inside(world, &first, &["-S", &socket, "session", "policy", "--json"])).json()["session"], "used");
        assert_eq!(run(&mut inside(world, &first, &["-L", "elsewhere", "session", "policy"])).code, 3);
        // From outside by -L and -S.
        for server in [["-L", "default"], ["-S", socket.as_str()]] {
            let mut words = server.to_vec();
            words.extend(["session", "policy", "--json", "used"]);
            assert_eq!(world.sidecar(words).json()["policy"], "never");
        }
    });
}

#[test]
fn twenty_changes_at_once_lose_nothing() {
    let world = world_without_timer(0.2);
    let names: Vec<String> = (0..20).map(|number| format!("s{number}")).collect();
    for name in &names {
        world.tmux(["new-session", "-d", "-s", name]).ok();
    }
    world.wait_recorded(&names.iter().map(String::as_str).collect::<Vec<_>>());
    let changes: Vec<Vec<String>> = (0..20)
        .map(|number| {
            let name = format!("s{number}");
            match number % 4 {
                0 => vec!["shell".into(), "rename".into(), "--target".into(), name, format!("renamed{number}")],
                1 => vec!["shell".into(), "forget".into(), name],
                2 => vec!["session".into(), "policy".into(), name, "--never".into()],
                _ => vec!["shell".into(), "delete".into(), "--target".into(), name],
            }
        })
        .collect();
    assert_eq!(at_once(&world, &changes), [0; 20]);
    world.look();
    let mut wanted: Vec<String> = (0..20).step_by(4).map(|number| format!("renamed{number}")).collect();
    wanted.extend((2..20).step_by(4).map(|number| format!("s{number}")));
    wanted.sort();
    assert_eq!(world.recorded(), wanted);
    assert_eq!(world.tombstones().len(), 10);
    for number in (2..20).step_by(4) {
        assert_eq!(world.shell(&format!("s{number}"))["policy"], "never");
    }
    // One name that two want at once goes to one of them.
    let both = ["renamed0", "renamed4"].map(|name| ["shell", "rename", "--target", name, "wanted"].map(str::to_owned).to_vec());
    let mut codes = at_once(&world, &both);
    codes.sort_unstable();
    assert_eq!(codes, [0, 5]);
    assert_eq!(world.recorded().len(), 10);
}

/// Starts all of these, then waits for their exit codes.
fn at_once(world: &World, commands: &[Vec<String>]) -> Vec<i32> {
    let start = |words: &Vec<String>| world.sidecar_command(words).stdout(Stdio::null()).spawn().unwrap();
    let children: Vec<Child> = commands.iter().map(start).collect();
    children.into_iter().map(|mut child| child.wait().unwrap().code().unwrap_or(-1)).collect()
}
