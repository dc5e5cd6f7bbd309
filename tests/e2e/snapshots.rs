//! Snapshots: what is frozen, what a restore takes from one and what it leaves, on real servers.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::crash::disturbed_with;
use super::fake_agent::{FakeAgent, agents};
use super::support::{World, sidecar_path, wait_for, wait_or_tell};

impl World {
    /// Takes a snapshot; gives its name.
    #[track_caller]
    fn snapshot(&self, more: &[&str]) -> String {
        let said = self.sidecar([&["snapshot", "save", "--json"], more].concat());
        assert_eq!(said.code, 0, "{said:?}");
        said.json()["name"].as_str().unwrap_or_else(|| panic!("{said:?}\n{}", self.log())).to_owned()
    }

    fn snapshot_file(&self, name: &str) -> PathBuf {
        self.store().unwrap().join(format!("snapshots/{name}.json"))
    }

    /// The steps of a plan, as `session: action reason`.
    #[track_caller]
    fn steps(&self, more: &[&str]) -> Vec<String> {
        let said = self.sidecar([&["session", "status", "--json"], more].concat());
        assert_eq!(said.code, 0, "{said:?}");
        let word = |step: &Value, key: &str| step[key].as_str().unwrap().to_owned();
        let document = said.json();
        let steps = document["steps"].as_array().unwrap().iter();
        steps.map(|step| format!("{}: {} {}", word(step, "session"), word(step, "action"), word(step, "reason"))).collect()
    }

    #[track_caller]
    fn restore_from(&self, name: &str, more: &[&str]) -> Value {
        let said = self.sidecar([&["session", "restore", "--json", "--as-of", name], more].concat());
        assert_eq!(said.code, 0, "{said:?}\n{}", self.log());
        said.json()
    }
}

#[test]
fn a_save_freezes_the_records_and_writes_nothing_where_nothing_changed() {
    let world = World::new(0.5);
    world.open(&["a", "b"]);
    let name = world.snapshot(&[]);
    assert!(sidecar::store::is_snapshot_name(&name), "{name}");
    let files = || std::fs::read_dir(world.store().unwrap().join("snapshots")).unwrap().count();
    let said = world.sidecar(["snapshot", "save", "--json"]);
    assert_eq!((said.json()["saved"].clone(), files()), (json!(false), 1), "{said:?}");
    assert_eq!(world.sidecar(["snapshot", "save"]).ok(), format!("nothing changed since {name}\n"));
    let frozen: Value = serde_json::from_str(&std::fs::read_to_string(world.snapshot_file(&name)).unwrap()).unwrap();
    assert_eq!(frozen["state"]["shells"], world.state()["shells"]);
    world.tmux(["split-window", "-d", "-t", "=a:"]).ok();
    // A save looks by itself: nobody has to have recorded it before.
    let second = world.snapshot(&[]);
    assert_eq!(files(), 2);
    let listed = world.sidecar(["snapshot", "list", "--json"]).json();
    let panes: Vec<(&str, u64)> =
        listed["snapshots"].as_array().unwrap().iter().map(|one| (one["name"].as_str().unwrap(), one["panes"].as_u64().unwrap())).collect();
    assert_eq!(panes, [(second.as_str(), 3), (name.as_str(), 2)]);
    let shown = world.sidecar(["snapshot", "show", &name]).ok();
    assert!(shown.contains("  a   ") && shown.contains("1 window, 1 pane"), "{shown}");
    let shown = world.sidecar(["snapshot", "show", &second, "--json"]).json();
    assert_eq!((shown["shells"][0]["session"].as_str(), &shown["shells"][0]["panes"]), (Some("a"), &json!(2)));
    // Without a server it freezes what was recorded last, and that is no change.
    world.crash();
    let said = world.sidecar(["snapshot", "save", "--json"]);
    assert_eq!((said.code, said.json()["saved"].clone()), (0, json!(false)), "{said:?}");
}

#[test]
fn bad_names_and_damage_are_told_and_change_nothing() {
    let world = World::new(0.5);
    world.open(&["a"]);
    for (words, code) in [
        (&["snapshot", "show", "snap-20200101-000000"][..], 3),
        (&["snapshot", "show", "../shells"], 3),
        (&["session", "status", "--as-of", "snap-20200101-000000"], 3),
        (&["session", "restore", "--as-of", "snap-20200101-000000"], 3),
        (&["session", "restore", "--as-of", "snap-1"], 2),
        (&["session", "status", "--all-servers", "--as-of", "snap-20200101-000000"], 2),
    ] {
        let said = world.sidecar(words);
        assert_eq!(said.code, code, "{words:?}: {said:?}");
        assert!(said.err.starts_with("error: ") && (words.contains(&"--all-servers") || said.err.contains("hint: ")), "{said:?}");
    }
    let name = world.snapshot(&[]);
    std::fs::write(world.snapshot_file(&name), "{\"version\":1,").unwrap();
    assert_eq!(world.sidecar(["session", "restore", "--as-of", &name]).code, 1);
    assert!(world.sidecar(["snapshot", "list"]).ok().starts_with(&format!("{name}   not readable   cannot read the snapshot")));
    // It does not keep the next one from being taken.
    assert_ne!(world.snapshot(&[]), name);
    assert_eq!(world.sessions(), ["a"]);
}

#[test]
fn as_many_are_kept_as_the_user_says() {
    let world = World::new(0.5);
    world.open(&["a"]);
    let config = world.home().parent().unwrap().join("config/sidecar");
    std::fs::create_dir_all(&config).unwrap();
    std::fs::write(config.join("config.json"), r#"{"snapshots":{"keep":2}}"#).unwrap();
    let folder = world.store().unwrap().join("snapshots");
    std::fs::create_dir_all(&folder).unwrap();
    // The last one of each day stays as well.
    let old = ["snap-20260101-000000", "snap-20260101-000001", "snap-20260102-000000", "snap-20260102-000001"];
    for name in old {
        std::fs::write(folder.join(format!("{name}.json")), "{}").unwrap();
    }
    let said = world.sidecar(["snapshot", "prune", "--json"]);
    assert_eq!((said.json()["removed"].clone(), said.json()["kept"].clone()), (json!(["snap-20260101-000000"]), json!(3)));
    let new = world.snapshot(&[]);
    let names = |world: &World| {
        let listed = world.sidecar(["snapshot", "list", "--json"]).json();
        listed["snapshots"].as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    // Of those of long ago none is the last of its day any more.
    assert_eq!(names(&world), [new.as_str(), old[3]]);
}

#[test]
fn what_was_lost_or_closed_comes_back_and_what_was_forgotten_or_deleted_does_not() {
    let world = World::new(0.3);
    world.open(&["closed", "deleted", "forgotten", "kept", "lost", "purged"]);
    world.tmux(["split-window", "-d", "-t", "=lost:"]).ok();
    let name = world.snapshot(&[]);
    let before = world.tree_without_sizes();
    world.sidecar(["shell", "delete", "--target", "deleted"]).ok();
    world.sidecar(["shell", "forget", "forgotten"]).ok();
    world.sidecar(["shell", "delete", "--target", "purged"]).ok();
    world.sidecar(["shell", "purge", "--target", "purged", "--yes"]).ok();
    world.tmux(["kill-session", "-t", "=closed"]).ok();
    wait_or_tell(|| world.log(), || world.tombstones().contains(&"closed".to_owned()).then_some(()));
    world.crash();
    world.edit_state(|state| state["shells"].as_array_mut().unwrap().retain(|shell| shell["session"] != "lost"));
    assert_eq!(world.steps(&[]), ["kept: recreate-shell died_with_server"]);
    assert_eq!(
        world.steps(&["--as-of", &name]),
        ["closed: recreate-shell from_snapshot", "kept: recreate-shell died_with_server", "lost: recreate-shell from_snapshot"]
    );
    let told = world.sidecar(["session", "status", "--as-of", &name]).ok();
    assert!(told.ends_with(&format!("restore:            sidecar session restore --as-of '{name}'\n")), "{told}");
    let bytes = world.state_bytes();
    let dry = world.restore_from(&name, &["--dry-run"]);
    assert_eq!((dry["outcomes"].as_array().unwrap().len(), world.state_bytes()), (3, bytes));
    // One by its name, the rest then.
    world.restore_from(&name, &["--shell", "lost"]);
    assert_eq!(world.sessions(), ["lost"]);
    assert_eq!(world.tombstones(), ["closed", "deleted", "forgotten"]);
    world.restore_from(&name, &[]);
    world.wait_sessions(&["closed", "kept", "lost"]);
    let lines = |tree: &str| {
        tree.lines()
            .filter(|line| ["closed", "kept", "lost"].iter().any(|name| line.starts_with(name)))
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    assert_eq!(lines(&world.tree_without_sizes()), lines(&before));
    // It is as if they had never been away: nothing is made twice, nothing is closed again.
    world.look();
    world.look();
    assert_eq!(world.recorded(), ["closed", "kept", "lost"]);
    assert_eq!(world.tombstones(), ["deleted", "forgotten"]);
    world.restore_from(&name, &[]);
    assert_eq!(world.sessions().len(), 3);
}

#[test]
fn killed_at_any_tmux_call_and_run_again_what_the_snapshot_has_is_there_once() {
    for n in 1.. {
        let world = World::bare();
        world.open(&["lost", "stays"]);
        world.tmux(["split-window", "-d", "-t", "=lost:"]).ok();
        let name = world.snapshot(&[]);
        world.crash();
        world.edit_state(|state| state["shells"].as_array_mut().unwrap().retain(|shell| shell["session"] != "lost"));
        let code = disturbed_with(&world, "before", n, &["--as-of", &name]);
        world.restore_from(&name, &[]);
        let panes = world.show_all("list-panes", "#{session_name}");
        assert_eq!(panes, ["lost", "lost", "stays"], "killed before call {n}\n{}", world.log());
        assert_eq!(world.recorded(), ["lost", "stays"], "killed before call {n}");
        if code.is_some() && n > 5 {
            break;
        }
    }
}

#[test]
fn a_session_that_was_closed_comes_back_beside_its_living_server() {
    let world = World::new(0.2);
    world.open(&["stays", "web"]);
    let name = world.snapshot(&[]);
    world.tmux(["kill-session", "-t", "=web"]).ok();
    wait_or_tell(|| world.log(), || (world.tombstones() == ["web"]).then_some(()));
    world.restore_from(&name, &[]);
    world.wait_sessions(&["stays", "web"]);
    world.pass_a_grace();
    world.look();
    assert_eq!((world.recorded(), world.tombstones().contains(&"web".to_owned())), (vec!["stays".to_owned(), "web".to_owned()], false));
}

#[test]
fn what_was_closed_and_then_forgotten_or_deleted_by_its_user_comes_back_from_no_snapshot() {
    let world = World::new(0.2);
    world.open(&["closed", "deleted", "forgotten", "stays"]);
    let name = world.snapshot(&[]);
    world.tmux(["kill-session", "-t", "=closed", ";", "kill-session", "-t", "=deleted", ";", "kill-session", "-t", "=forgotten"]).ok();
    wait_or_tell(|| world.log(), || (world.tombstones() == ["closed", "deleted", "forgotten"]).then_some(()));
    for _ in 0..2 {
        world.sidecar(["shell", "forget", "forgotten"]).ok();
        world.sidecar(["shell", "delete", "--target", "deleted"]).ok();
        assert_eq!(world.steps(&["--as-of", &name]), ["closed: recreate-shell from_snapshot", "stays: reattach already_running"]);
    }
    let said = world.sidecar(["shell", "forget", "forgotten", "--json"]).json();
    assert_eq!((&said["changed"], &said["detail"]), (&json!(false), &json!("'forgotten' is forgotten already")), "{said}");
}

#[test]
fn a_tombstone_of_the_users_takes_its_shell_out_of_the_snapshots_when_its_time_is_over() {
    let world = World::new(0.2);
    world.open(&["closed", "forgotten", "stays"]);
    let name = world.snapshot(&[]);
    world.sidecar(["shell", "forget", "forgotten"]).ok();
    world.tmux(["kill-session", "-t", "=forgotten", ";", "kill-session", "-t", "=closed"]).ok();
    wait_or_tell(|| world.log(), || (world.tombstones() == ["closed", "forgotten"]).then_some(()));
    // Long ago.
    world.edit_state(|state| {
        for tombstone in state["tombstones"].as_array_mut().unwrap() {
            tombstone["deletedAt"] = json!(1);
        }
    });
    wait_or_tell(
        || world.log(),
        || {
            world.look();
            world.tombstones().is_empty().then_some(())
        },
    );
    assert_eq!(world.steps(&["--as-of", &name]), ["closed: recreate-shell from_snapshot", "stays: reattach already_running"]);
}

#[test]
fn a_pane_without_a_good_conversation_takes_the_snapshots_and_a_newer_one_stays() {
    let world = World::bare();
    let fake = FakeAgent::new(&world);
    let sessions = ["ended", "empty", "lost", "newer", "same"];
    world.open(&sessions);
    for session in sessions {
        fake.bind(session, &fake.id(session));
    }
    world.crash();
    let name = world.snapshot(&[]);
    let journal = world.store().unwrap().join("journal.jsonl");
    let _ = std::fs::remove_file(journal);
    // What a lost record, a transcript that was cleaned up, a later conversation, and an exit make of them.
    world.set_pane("empty", &json!({ "agent": null, "history": null }));
    let mut other = fake.binding(&fake.id("gone"));
    std::fs::remove_file(world.home().join(format!(".fake/talks/{}.jsonl", fake.id("gone")))).unwrap();
    other["reported"] = json!(sidecar::record::now() + 1);
    world.set_pane("lost", &json!({ "agent": other, "history": null }));
    let mut newer = fake.binding(&fake.id("later"));
    newer["reported"] = json!(sidecar::record::now() + 1);
    world.set_pane("newer", &json!({ "agent": newer, "history": null }));
    let mut ended = fake.binding(&fake.id("ended"));
    ended["ended"] = json!({ "reason": "user", "at": sidecar::record::now() + 1 });
    world.set_pane("ended", &json!({ "agent": ended }));
    let said = world.sidecar(["session", "status", "--json", "--as-of", &name]).json();
    let told: Vec<(String, String, String)> = said["steps"]
        .as_array()
        .unwrap()
        .iter()
        .map(|step| {
            let agent = &step["agents"][0];
            let word = |key: &str| agent[key].as_str().unwrap_or_default().to_owned();
            (word("id"), word("verdict"), word("chosen"))
        })
        .collect();
    let told_of = |id: &str, verdict: &str, chosen: &str| (fake.id(id), verdict.to_owned(), chosen.to_owned());
    assert_eq!(
        told,
        [
            told_of("empty", "ask", "snapshot"),
            told_of("ended", "no", "newest"),
            told_of("lost", "ask", "snapshot"),
            told_of("later", "ask", "newest"),
            told_of("same", "ask", "newest"),
        ]
    );
    let document = world.restore_from(&name, &["--agents", "--yes"]);
    let status: Vec<Value> = agents(&document).iter().map(|agent| agent["status"].clone()).collect();
    assert_eq!(status, ["resumed", "skipped", "resumed", "resumed", "resumed"], "{document}\n{}", world.log());
    for (session, id) in [("empty", "empty"), ("lost", "lost"), ("newer", "later"), ("same", "same")] {
        fake.wait_there(session, &fake.id(id));
    }
    assert_eq!((fake.ids().len(), fake.was_twice()), (4, false));
}

#[test]
fn a_resume_from_a_snapshot_that_failed_can_be_tried_again_by_hand() {
    let world = World::bare();
    let fake = FakeAgent::new(&world);
    world.open(&["a"]);
    fake.bind("a", &fake.id("a"));
    world.crash();
    let name = world.snapshot(&[]);
    let _ = std::fs::remove_file(world.store().unwrap().join("journal.jsonl"));
    world.set_pane("a", &json!({ "agent": null, "history": null }));
    fake.set("fail");
    let said = world.sidecar(["session", "restore", "--agents", "--yes", "--json", "--as-of", &name]);
    assert_eq!((said.code, agents(&said.json())[0]["status"].clone()), (1, json!("failed")), "{said:?}");
    let line = format!("{} agent resume {}", sidecar_path(), world.pane_id("a"));
    world.wait_shown("=a:", "try again");
    world.press("=a:", &[&line, "Enter"]);
    fake.wait_there("a", &fake.id("a"));
}

#[test]
fn a_screen_tells_a_conversation_only_where_it_is_sure() {
    let world = World::bare();
    let fake = FakeAgent::new(&world);
    let sessions = ["claimed", "elsewhere", "good", "older", "two"];
    world.open(&sessions);
    let talks = world.home().join(".fake/talks");
    std::fs::create_dir_all(&talks).unwrap();
    let write = |id: &str, dir: &std::path::Path| {
        std::fs::write(talks.join(format!("{id}.jsonl")), json!({ "cwd": dir }).to_string() + "\n").unwrap();
    };
    let dir = |session: &str| world.folder(format!("in {session}"));
    // A conversation from before the agent began: what the screen shows of it may be older, too.
    write(&fake.id("older"), &dir("older"));
    let old = std::time::SystemTime::now() - std::time::Duration::from_secs(3600);
    std::fs::File::options().append(true).open(talks.join(format!("{}.jsonl", fake.id("older")))).unwrap().set_modified(old).unwrap();
    // The agent is started with an id that its arguments don't name as one, and prints it.
    for session in sessions {
        fake.begin(session, &dir(session), &fake.id(session));
    }
    for session in ["claimed", "good", "two"] {
        write(&fake.id(session), &dir(session));
    }
    write(&fake.id("second"), &dir("two"));
    write(&fake.id("elsewhere"), &world.folder("other"));
    world.press("=two:", &[&format!("and {}", fake.id("second")), "Enter"]);
    world.wait_shown("=two:", &fake.id("second"));
    // Another pane of another server has one of them.
    let other = world.command(world.tmux_program()).args(["-L", "other", "new-session", "-d", "-s", "o"]).output().unwrap();
    assert!(other.status.success(), "{other:?}");
    let pid = world.command(world.tmux_program()).args(["-L", "other", "display-message", "-p", "#{pid}"]).output().unwrap();
    let pid: i32 = String::from_utf8_lossy(&pid.stdout).trim().parse().unwrap();
    // From here on there are two stores.
    let (inside, good) = (world.store().unwrap(), world.pane_id("good"));
    world.sidecar(["-L", "other", "shell", "rename", "--target", "o", "o2"]).ok();
    let hosts = inside.parent().unwrap();
    let theirs = std::fs::read_dir(hosts)
        .unwrap()
        .filter_map(Result::ok)
        .map(|entry| entry.path())
        .find(|path| path.is_dir() && *path != inside)
        .unwrap();
    let file = theirs.join("shells.json");
    let mut state: Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
    state["shells"][0]["windows"][0]["panes"][0]["agent"] =
        json!({ "kind": "fake", "id": fake.id("claimed"), "source": "hook", "reported": 1 });
    std::fs::write(&file, state.to_string()).unwrap();
    // Without being asked for it, it reads no screen; what runs is frozen with its flags all the same.
    let plain = world.snapshot(&[]);
    let shown = world.sidecar(["snapshot", "show", &plain, "--json"]).json();
    for shell in shown["shells"].as_array().unwrap() {
        let agent = &shell["agents"][0];
        assert_eq!((&agent["id"], &agent["flags"]), (&Value::Null, &json!(["--verbose"])), "{shell}");
    }
    let said = world.sidecar(["snapshot", "save", "--harvest", "--json"]).json();
    assert_eq!(said["harvested"], json!([good]), "{said}\n{}", world.screen("=good:"));
    let name = said["name"].as_str().unwrap();
    // The next one, which reads no screen, keeps what was found as long as that process runs.
    assert_eq!(world.sidecar(["snapshot", "save", "--json"]).json()["saved"], json!(false));
    let records: Value = serde_json::from_str(&std::fs::read_to_string(inside.join("shells.json")).unwrap()).unwrap();
    let bound = |shell: &Value| !shell["windows"][0]["panes"][0]["agent"].is_null();
    assert!(!records["shells"].as_array().unwrap().iter().any(bound), "the records keep to what is told: {records}");
    world.signal(pid, "KILL");
    world.wait_gone(pid);
    world.crash();
    world.restore_from(name, &["--agents", "--yes", "--shell", "good"]);
    wait_for("it", || (fake.ids().last() == Some(&fake.id("good")) && fake.ids().len() == 6).then_some(()));
    assert!(fake.starts().last().unwrap().2.contains("--verbose --resume"), "{:?}", fake.starts());
}

#[test]
fn a_screen_that_quotes_another_agents_conversation_or_shows_an_earlier_one_tells_nothing() {
    let world = World::bare();
    let fake = FakeAgent::new(&world);
    let (quoted, alone, cleared) = (world.folder("quoted"), world.folder("alone"), world.folder("cleared"));
    world.open(&["alone", "cleared", "quoting", "silent"]);
    // Two agents in one directory: one has no transcript yet, and shows the id of the other, which shows none.
    fake.begin("silent", &quoted, "no-id");
    fake.begin("quoting", &quoted, &fake.id("silents"));
    // One that has gone on with another conversation, and shows the first one's id still.
    fake.begin("cleared", &cleared, &fake.id("first"));
    fake.begin("alone", &alone, &fake.id("alone"));
    for (name, dir) in [("silents", &quoted), ("first", &cleared), ("second", &cleared), ("alone", &alone)] {
        fake.transcript_in(&fake.id(name), dir);
    }
    let said = world.sidecar(["snapshot", "save", "--harvest", "--json"]).json();
    assert_eq!(said["harvested"], json!([world.pane_id("alone")]), "{said}");
    // As soon as each tells its own, both are known.
    fake.transcript_in(&fake.id("quotings"), &quoted);
    world.press("=silent:", &[&format!("I am {}", fake.id("silents")), "Enter"]);
    world.wait_shown("=silent:", &fake.id("silents"));
    world.press("=quoting:", &["bye", "Enter"]);
    wait_for("its end", || (!fake.here.join(format!("open-{}", fake.id("silents"))).exists()).then_some(()));
    world.press("=quoting:", &["clear", "Enter"]);
    fake.begin("quoting", &quoted, &fake.id("quotings"));
    let both = || {
        let said = world.sidecar(["snapshot", "save", "--harvest", "--json"]).json();
        said["harvested"].as_array().is_some_and(|found| found.len() == 3).then_some(())
    };
    wait_or_tell(|| format!("{}\n{}", world.screen("=quoting:"), world.screen("=silent:")), both);
    // One of them goes on with another conversation: what was found before is no longer sure.
    fake.transcript_in(&fake.id("next"), &alone);
    let said = world.sidecar(["snapshot", "save", "--json"]).json();
    let mut still: Vec<&str> = said["harvested"].as_array().unwrap().iter().map(|pane| pane.as_str().unwrap()).collect();
    let mut wanted = [world.pane_id("quoting"), world.pane_id("silent")];
    still.sort_unstable();
    wanted.sort_unstable();
    assert_eq!(still, wanted, "{said}");
}

#[test]
fn each_living_server_is_saved_and_no_other() {
    let world = World::new(0.5);
    world.open(&["a"]);
    let socket = world.folder("far").join("sock");
    let far = |words: &[&str]| {
        let socket = socket.to_str().unwrap();
        let output = world.command(world.tmux_program()).args(["-f", "/dev/null", "-S", socket]).args(words).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    };
    far(&["new-session", "-d", "-s", "far"]);
    let pid: i32 = far(&["display-message", "-p", "#{pid}"]).parse().unwrap();
    world.sidecar(["-S", socket.to_str().unwrap(), "shell", "rename", "--target", "far", "farther"]).ok();
    let saved = |world: &World| {
        let said = world.sidecar(["snapshot", "save", "--all-servers", "--json"]);
        assert_eq!(said.code, 0, "{said:?}");
        let rows = said.json()["servers"].as_array().unwrap().clone();
        let mut rows: Vec<(String, bool)> =
            rows.iter().map(|row| (row["server"].as_str().unwrap().to_owned(), row["saved"].as_bool().unwrap())).collect();
        rows.sort();
        rows
    };
    let far_name = socket.canonicalize().unwrap().display().to_string();
    assert_eq!(saved(&world), [(far_name.clone(), true), ("default".to_owned(), true)]);
    assert_eq!(saved(&world), [(far_name, false), ("default".to_owned(), false)]);
    world.signal(pid, "KILL");
    world.wait_gone(pid);
    assert_eq!(saved(&world), [("default".to_owned(), false)]);
    world.crash();
    assert_eq!(world.sidecar(["snapshot", "save", "--all-servers"]).ok(), "no recorded tmux server runs\n");
}

#[test]
fn where_nothing_is_recorded_nothing_is_saved_and_nothing_made() {
    let world = World::bare();
    let said = world.sidecar(["snapshot", "save"]).ok();
    assert_eq!(said, "nothing is recorded of this server, and it does not run\n");
    assert_eq!(world.sidecar(["snapshot", "list"]).ok(), "No snapshots: `sidecar snapshot save` makes one.\n");
    for words in [&["session", "restore"][..], &["session", "status"]] {
        assert_eq!(world.sidecar([words, &["--as-of", "snap-20200101-000000"]].concat()).code, 3, "{words:?}");
    }
    assert_eq!(world.sidecar(["snapshot", "prune"]).ok(), "0 snapshots given up, 0 kept\n");
    assert_eq!(world.sidecar(["snapshot", "save", "--all-servers"]).ok(), "no recorded tmux server runs\n");
    assert!(world.store().is_none());
}
