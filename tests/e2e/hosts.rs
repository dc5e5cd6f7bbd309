//! Several servers and several hosts: every server's plan, and shells that are taken over from another one's records. A host is told
//! by `SIDECAR_HOST_ID`, so that one machine can be several on one home.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};
use sidecar::store::{KeptText, Store, TextMark};

use super::fake_agent::{FakeAgent, agents};
use super::records::options;
use super::support::{Said, World, assert_same, sidecar_path, wait_for};
use super::verdicts::world;

impl World {
    /// Runs `sidecar ARGS` as another host on the same home.
    fn sidecar_on(&self, host: &str, args: &[&str]) -> Said {
        let said = Said::of(&self.command(sidecar_path()).env("SIDECAR_HOST_ID", host).args(args).output().unwrap());
        self.remember_server();
        said
    }

    /// Every server, as this host sees them.
    fn servers(&self, host: &str) -> Vec<Value> {
        let document = self.sidecar_on(host, &["session", "status", "--all-servers", "--json"]).json();
        assert_eq!(document["schemaVersion"], 1);
        document["servers"].as_array().unwrap().clone()
    }

    fn state_root(&self) -> PathBuf {
        self.home().parent().unwrap().join("state/sidecar")
    }

    /// Every file of every store with its content, but for locks.
    fn state_root_listing(&self) -> String {
        let find = ["-c", "find . -type f ! -name lock ! -name queue -exec cksum {} + | sort"];
        Said::of(&self.command("sh").args(find).current_dir(self.state_root()).output().unwrap()).ok()
    }

    /// The records of the store of this name.
    fn records(&self, store: &str) -> Value {
        let text = std::fs::read_to_string(self.state_root().join(store).join("shells.json")).unwrap_or_default();
        serde_json::from_str(&text).unwrap_or(Value::Null)
    }

    /// A server of its own, with these sessions; gives its pid and its store's name.
    fn other_server(&self, label: &str, sessions: &[&str]) -> (i32, String) {
        let run = |words: &[&str]| Said::of(&self.command("tmux").args(["-L", label]).args(words).output().unwrap()).ok();
        for session in sessions {
            run(&["new-session", "-d", "-s", session, "-c", &self.folder(format!("in {session}")).display().to_string()]);
        }
        let pid: i32 = run(&["display-message", "-p", "#{pid}"]).trim().parse().unwrap();
        self.remember(pid);
        self.sidecar(["-L", label, "hook", "tick"]).ok();
        let all = self.sidecar(["session", "status", "--all-servers", "--json"]).json();
        let is_it = |server: &&Value| server["store"].as_str().unwrap().contains(&format!("/{label}-"));
        (pid, all["servers"].as_array().unwrap().iter().find(is_it).unwrap()["store"].as_str().unwrap().to_owned())
    }

    fn end(&self, pid: i32) {
        self.signal(pid, "KILL");
        self.wait_gone(pid);
    }
}

fn sessions(records: &Value) -> Vec<String> {
    let mut names: Vec<String> =
        records["shells"].as_array().into_iter().flatten().map(|shell| shell["session"].as_str().unwrap().to_owned()).collect();
    names.sort();
    names
}

fn reasons(records: &Value) -> Vec<&str> {
    records["tombstones"].as_array().into_iter().flatten().map(|tombstone| tombstone["reason"].as_str().unwrap()).collect()
}

#[test]
fn every_server_is_shown_this_hosts_first_and_another_hosts_as_unknown_with_its_last_look() {
    let world = world(&["a", "b"]);
    let (pid, two) = world.other_server("two", &["c"]);
    world.end(pid);
    let before = world.state_root_listing();
    let here = world.servers("");
    let summary = |servers: &[Value]| {
        let of = |server: &Value| {
            format!("{} {} {}", server["thisHost"], server["server"]["state"].as_str().unwrap(), server["steps"].as_array().unwrap().len())
        };
        servers.iter().map(of).collect::<Vec<_>>()
    };
    assert_eq!(summary(&here), ["true running 2", "true gone 1"]);
    assert_eq!((here[1]["store"].as_str(), here[1]["steps"][0]["session"].as_str()), (Some(two.as_str()), Some("c")));
    assert!(here[1]["server"]["socket"].as_str().unwrap().ends_with("/two"));
    // Each is the document that `session status` gives of it.
    let own = world.sidecar(["-L", "two", "session", "status", "--json"]).json();
    for key in ["server", "steps", "notices", "resumeAgents"] {
        assert_eq!(own[key], here[1][key], "{key}");
    }

    // Another host on this home can't ask them.
    let there = world.servers("elsewhere");
    assert_eq!(summary(&there), ["false unknown 2", "false unknown 1"]);
    assert!(there[0]["server"]["lastLook"].as_u64().is_some(), "{there:?}");
    assert_eq!(there[0]["steps"][0]["reason"], "server_unknown");
    assert_eq!(there[0]["host"], here[0]["host"]);
    let text = world.sidecar_on("elsewhere", &["session", "status", "--all-servers"]).ok();
    assert!(text.contains(&two) && text.contains("2 shells wait") && text.contains("last look"), "{text}");
    let text = world.sidecar(["session", "status", "--all-servers"]).ok();
    assert!(text.contains("this host   nothing waits   running") && text.contains("1 shell waits   gone since"), "{text}");
    assert_eq!(world.state_root_listing(), before, "nothing is written");

    // One that can't be read keeps no other from being shown.
    std::fs::write(world.state_root().join(&two).join("shells.json"), "{").unwrap();
    let broken = world.servers("");
    assert_eq!(summary(&broken), ["true running 2", "true unknown 0"]);
    assert_eq!(world.sidecar(["-L", "x", "session", "status", "--all-servers"]).code, 2);
}

#[test]
fn records_without_a_socket_are_read_and_get_it_with_the_next_change() {
    let world = world(&["a"]);
    let store = world.store().unwrap().join("shells.json");
    let socket = world.state()["socket"].clone();
    assert!(socket.as_str().unwrap().ends_with("/default"), "{socket}");
    let mut old = world.state();
    old.as_object_mut().unwrap().retain(|key, _| key != "socket" && key != "hostName");
    std::fs::write(&store, old.to_string()).unwrap();
    world.look();
    assert_eq!(world.state()["socket"], Value::Null, "it makes no write of its own");
    assert_eq!(world.servers("")[0]["server"]["state"], "unknown");
    world.tmux(["new-window", "-d", "-t", "=a:"]).ok();
    world.look();
    assert_eq!(world.state()["socket"], socket);
    for bad in [json!(7), json!({ "hex": "zz" })] {
        let mut state = world.state();
        state["socket"] = bad;
        std::fs::write(&store, state.to_string()).unwrap();
        assert_eq!(world.step("a")["action"], "reattach");
    }
}

#[test]
fn shells_of_another_hosts_dead_server_are_taken_over_with_their_conversations() {
    let world = world(&["a", "b"]);
    let fake = FakeAgent::new(&world);
    let id = fake.id("a");
    fake.bind("a", &id);
    let name = world.servers("")[0]["store"].as_str().unwrap().to_owned();
    let restore = |more: &[&str]| world.sidecar_on("new", &[&["session", "restore", "--from", &name], more].concat());
    let before = world.state_root_listing();

    // It lives, in the table of processes that both share.
    let said = restore(&["--json"]);
    assert_eq!(said.code, 5, "{said:?}");
    assert!(said.err.contains("server_lives") && said.err.contains("pid"), "{said:?}");
    world.crash();

    // Names are exact, and nothing is made before all is agreed.
    for wrong in [&name[..name.len() - 1], name.split('/').next().unwrap(), "", "../x", "default"] {
        let said = world.sidecar_on("new", &["session", "restore", "--from", wrong]);
        assert_eq!(said.code, 3, "{wrong}: {said:?}");
        assert!(said.err.contains(&name), "{said:?}");
    }
    assert_eq!(world.sidecar(["session", "restore", "--from", &name]).code, 2, "it is its own");
    assert_eq!(restore(&["--agents"]).code, 5);
    assert_eq!(restore(&["--shell", "nobody"]).code, 3);
    let dry = restore(&["--agents", "--yes", "--dry-run", "--json"]);
    assert_eq!(dry.code, 0, "{dry:?}");
    assert_eq!(
        dry.json()["outcomes"].as_array().unwrap().iter().map(|one| one["status"].as_str().unwrap()).collect::<Vec<_>>(),
        ["restored", "restored"]
    );
    assert_eq!(dry.json()["taken"].as_array().unwrap().len(), 2);
    assert_eq!(agents(&dry.json())[0]["status"], "resumed");
    assert!(restore(&["--dry-run"]).ok().starts_with(&format!("2 shells would be taken from {name}: a, b\n")));
    assert_eq!(world.state_root_listing(), before, "so far nothing was written");

    let done = restore(&["--agents", "--yes", "--json"]);
    assert_eq!(done.code, 0, "{done:?}");
    assert_eq!(agents(&done.json())[0]["status"], "resumed", "{done:?}");
    fake.wait_there("a", &id);
    assert_eq!(fake.ids(), [id.as_str()]);
    let own = world.servers("new")[0]["store"].as_str().unwrap().to_owned();
    assert_eq!((sessions(&world.records(&own)), sessions(&world.records(&name))), (vec!["a".to_owned(), "b".into()], vec![]));
    assert_eq!(reasons(&world.records(&name)), ["taken", "taken"]);
    assert_eq!(world.records(&name)["tombstones"][0]["takenBy"], json!(own));
    // Run again there is nothing to take, and nothing comes twice.
    let again = restore(&["--agents", "--yes"]);
    assert!(again.code == 0 && again.out.starts_with("Nothing to take from"), "{again:?}");
    assert_eq!((fake.ids().len(), fake.was_twice()), (1, false));
    // The host that gave them up does not offer them any more. (Both share the socket here, so what lives on it would be its own.)
    world.crash();
    assert!(world.sidecar(["session", "restore", "--agents", "--yes", "--json"]).json()["outcomes"].as_array().unwrap().is_empty());
    assert!(world.sidecar(["shell", "list", "--all"]).ok().contains("taken"));
}

#[test]
fn a_store_with_a_second_name_is_one_and_nothing_is_taken_from_it_by_itself() {
    let world = world(&["a"]);
    let name = world.servers("")[0]["store"].as_str().unwrap().to_owned();
    world.crash();
    let (root, (host, server)) = (world.state_root(), name.split_once('/').unwrap());
    std::os::unix::fs::symlink(host, root.join("host-0000000000000000")).unwrap();
    std::os::unix::fs::symlink(server, root.join(host).join("a-0000000000000000")).unwrap();
    let stores: Vec<String> = world.servers("").iter().map(|server| server["store"].as_str().unwrap().to_owned()).collect();
    assert_eq!(stores, [name.as_str()]);
    for other in [format!("host-0000000000000000/{server}"), format!("{host}/a-0000000000000000")] {
        let said = world.sidecar(["session", "restore", "--from", &other]);
        assert_eq!(said.code, 3, "{said:?}");
    }
    assert_eq!(world.sidecar(["session", "restore"]).code, 0);
}

#[test]
fn from_a_dead_server_of_this_host_single_shells_are_taken_and_held_names_refused() {
    let world = world(&["web"]);
    let (pid, two) = world.other_server("two", &["web", "api", "log"]);
    let restore = |more: &[&str]| world.sidecar([&["session", "restore", "--from", &two], more].concat());
    let alive = restore(&[]);
    assert_eq!(alive.code, 5, "{alive:?}");
    assert!(alive.err.contains("its server lives (pid"), "{alive:?}");
    world.end(pid);

    // By the words that people have for it, where they mean one.
    let named = |name: &str| world.sidecar(["session", "restore", "--dry-run", "--shell", "api", "--from", name]);
    let machine = world.records(&two)["hostName"].as_str().unwrap().to_owned();
    let (key, server) = two.split_once('/').unwrap();
    for name in [format!("{machine}/two"), format!("{machine}/{server}"), format!("{key}/two")] {
        assert_eq!(named(&name).code, 0, "{name}: {:?}", named(&name));
    }
    for name in ["two", "/two", "elsewhere/two", &format!("{machine}/tw"), &format!("{machine}/two-"), &format!("{machine}/")] {
        let said = named(name);
        assert!(said.code == 3 && said.err.contains(&two), "{name}: {said:?}");
    }
    let twin = world.state_root().join(key).join("two-0123456789abcdef");
    std::fs::create_dir(&twin).unwrap();
    let records = world.state_root().join(&two).join("shells.json");
    std::fs::copy(records, twin.join("shells.json")).unwrap();
    let said = named(&format!("{machine}/two"));
    assert!(said.code == 3 && said.err.contains("means 2 servers") && said.err.contains(&two), "{said:?}");
    std::fs::remove_dir_all(twin).unwrap();

    let said = restore(&["--shell", "api", "--json"]);
    assert_eq!(said.code, 0, "{said:?}");
    assert_eq!(world.sessions(), ["api", "web"]);
    assert_eq!(sessions(&world.records(&two)), ["log", "web"]);
    // That of the same name is a session of its own, in whatever directory: the record is kept here until the name is free.
    let said = restore(&["--json"]);
    assert_eq!(said.code, 5, "{said:?}");
    let document = said.json();
    let outcome = |name: &str, status: &str| {
        document["outcomes"].as_array().unwrap().iter().any(|one| one["session"] == name && one["status"] == status)
    };
    assert!(outcome("web", "refused") && outcome("log", "restored") && outcome("api", "reattached"), "{document}");
    assert!(sessions(&world.records(&two)).is_empty());
    world.tmux(["rename-session", "-t", "=web", "held"]).ok();
    assert_eq!(world.sidecar(["session", "restore"]).code, 0);
    assert_eq!(world.sessions(), ["api", "held", "log", "web"]);
}

#[test]
fn what_panes_showed_comes_along() {
    let world = World::bare();
    world.configure(&options(0.2, 3600.0));
    let folder = world.root().join("config/sidecar");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("config.json"), json!({ "restore": { "scrollback": 100 } }).to_string()).unwrap();
    let (pid, two) = world.other_server("two", &["api"]);
    let there = Store::at(world.state_root().join(&two));
    let pane = world.records(&two)["shells"][0]["windows"][0]["panes"][0]["id"].as_str().unwrap().to_owned();
    world.end(pid);
    let text = KeptText { text: "make: done\n".into(), taken: 1_700_000_000_000, mark: TextMark::default() };
    there.save_text(&there.lock_texts().unwrap(), &pane, &text).unwrap();
    world.tmux(["new-session", "-d", "-s", "own"]).ok();
    world.sidecar(["session", "restore", "--from", &two]).ok();
    world.wait_shown("=api:", "make: done");
    assert_eq!(there.text(&pane), None, "it is not left where nobody looks any more");
}

#[test]
fn a_session_that_looks_like_a_taken_shell_is_not_taken_for_it() {
    let world = world(&["web"]);
    let name = world.servers("")[0]["store"].as_str().unwrap().to_owned();
    world.crash();
    // Another host has one of the same name in the same directory.
    let start = Said::of(&world.command("tmux").env("SIDECAR_HOST_ID", "new").args(["new-session", "-d", "-s", "web"]).output().unwrap());
    assert_eq!(start.code, 0);
    world.sidecar_on("new", &["hook", "tick"]).ok();
    let said = world.sidecar_on("new", &["session", "restore", "--from", &name, "--json"]);
    assert_eq!(
        (said.code, said.json()["outcomes"].as_array().unwrap().iter().filter(|one| one["reason"] == "name_taken").count()),
        (5, 1),
        "{said:?}"
    );
}

#[test]
fn groups_linked_windows_layouts_and_ids_come_over_as_they_were() {
    let world = super::crash::world();
    let before = super::crash::dead_server(&world);
    let name = world.servers("")[0]["store"].as_str().unwrap().to_owned();
    // Of those that share windows one brings all.
    world.sidecar_on("new", &["session", "restore", "--from", &name, "--shell", "member"]).ok();
    assert_same(&world.tree(), &before, world.log());
    assert!(sessions(&world.records(&name)).is_empty());
}

#[test]
fn a_server_of_another_machine_lives_as_long_as_it_looks() {
    let world = world(&["a"]);
    let name = world.servers("")[0]["store"].as_str().unwrap().to_owned();
    world.crash();
    let folder = world.state_root().join(&name);
    // As that machine has written it: its boot is another one.
    let text = std::fs::read_to_string(folder.join("shells.json")).unwrap();
    let boot = world.generation()["boot"].as_str().unwrap().to_owned();
    std::fs::write(folder.join("shells.json"), text.replace(&boot, "the boot of another machine")).unwrap();
    let lock = std::fs::File::options().append(true).open(folder.join("lock")).unwrap();
    lock.set_modified(SystemTime::now()).unwrap();
    let said = world.sidecar_on("new", &["session", "restore", "--from", &name]);
    assert!(said.code == 5 && said.err.contains("its last look was"), "{said:?}");
    lock.set_modified(SystemTime::now() - Duration::from_secs(300)).unwrap();
    world.sidecar_on("new", &["session", "restore", "--from", &name]).ok();
    assert_eq!(world.sessions(), ["a"]);
}

#[test]
fn a_takeover_that_is_killed_at_any_point_loses_nothing_and_is_finished_by_the_next() {
    let world = world(&["a", "b"]);
    for session in ["a", "b"] {
        // So that no server is started, which is another test's matter.
        world.sidecar(["session", "policy", session, "--never"]).ok();
    }
    let name = world.servers("")[0]["store"].as_str().unwrap().to_owned();
    world.crash();
    let (root, kept) = (world.state_root(), world.work().join("kept"));
    let copy = |from: &Path, to: &Path| {
        let _ = std::fs::remove_dir_all(to);
        assert!(world.command("cp").arg("-a").args([from, to]).status().unwrap().success());
    };
    copy(&root, &kept);
    let restore = ["session", "restore", "--from", &name, "--json"];
    let mut own = String::new();
    for call in ["rename", "fsync", "flock"] {
        for number in 1.. {
            copy(&kept, &root);
            let log = world.work().join("strace.log").display().to_string();
            let (trace, inject) = (format!("trace={call}"), format!("inject={call}:signal=KILL:when={number}"));
            let strace = ["-f", "-o", &log, "-e", &trace, "-e", &inject, sidecar_path()];
            let mut command = world.command("strace");
            let status = command.env("SIDECAR_HOST_ID", "new").args(strace).args(restore).stdout(Stdio::null()).status().unwrap();
            if status.code() == Some(0) {
                assert!(number > 3, "there is more than that to kill: {call} {number}");
                break;
            }
            let stores: Vec<String> = world.servers("new").iter().map(|server| server["store"].as_str().unwrap().to_owned()).collect();
            let all: Vec<String> = stores.iter().flat_map(|store| sessions(&world.records(store))).collect();
            assert!(["a", "b"].iter().all(|session| all.iter().any(|known| known == session)), "{call} {number}: {all:?}");
            assert_eq!(world.sidecar_on("new", &restore).code, 0, "{call} {number}");
            world.servers("new")[0]["store"].as_str().unwrap().clone_into(&mut own);
            assert_eq!(sessions(&world.records(&own)), ["a", "b"], "{call} {number}");
            assert!(sessions(&world.records(&name)).is_empty(), "{call} {number}");
            assert_eq!(reasons(&world.records(&name)), ["taken", "taken"], "{call} {number}");
        }
    }
}

#[test]
fn two_that_take_from_each_other_at_once_both_end() {
    let world = world(&["a"]);
    let one = world.servers("")[0]["store"].as_str().unwrap().to_owned();
    world.sidecar(["session", "policy", "a", "--never"]).ok();
    world.crash();
    world.sidecar_on("new", &["session", "restore", "--from", &one]).ok();
    let two = world.servers("new")[0]["store"].as_str().unwrap().to_owned();
    for _ in 0..5 {
        let start = |host: &str, from: &str| {
            let mut command = world.command(sidecar_path());
            command.env("SIDECAR_HOST_ID", host).args(["session", "restore", "--from", from]).stdout(Stdio::null());
            command.spawn().unwrap()
        };
        let mut command = world.command(sidecar_path());
        let mut here = command.args(["session", "restore", "--from", &two]).stdout(Stdio::null()).spawn().unwrap();
        let mut there = start("new", &one);
        for child in [&mut here, &mut there] {
            let status = wait_for("the end of a takeover", || child.try_wait().unwrap());
            assert!(status.success());
        }
        let all = [sessions(&world.records(&one)), sessions(&world.records(&two))].concat();
        assert_eq!(all, ["a"]);
    }
}
