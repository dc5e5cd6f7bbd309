//! Which conversation runs in which pane, as the records have it: the real agents, in panes of a test's own server.

use serde_json::Value;

use super::agents_world::Agents;
use super::support::{World, is_alive, sidecar_path, wait_for, wait_or_tell};

#[test]
fn three_agents_in_one_directory_are_told_apart_and_each_ends_in_its_own_way() {
    let agents = Agents::recorded(&["claude"]);
    let ids = ["one", "two", "three"].map(|name| agents.talk(name, "claude --model sonnet", &format!("hello from {name}")));
    assert!(ids[0] != ids[1] && ids[1] != ids[2] && ids[0] != ids[2]);
    for (name, id) in ["one", "two", "three"].into_iter().zip(&ids) {
        let bound = agents.pane(name)["agent"].clone();
        assert_eq!(bound["id"], *id, "{name}");
        assert_eq!((bound["source"].as_str(), bound["flags"][0].as_str()), (Some("hook"), Some("--model=sonnet")));
        // The agent writes it when it likes.
        let holds = || {
            std::fs::read_to_string(bound["transcript"].as_str().unwrap()).is_ok_and(|text| text.contains(&format!("hello from {name}")))
        };
        wait_for("the transcript", || holds().then_some(()));
        let dir = agents.work.to_str();
        assert_eq!((bound["dir"].as_str(), bound["launchDir"].as_str()), (dir, dir));
    }

    // A new conversation in the same process: that is what runs there now, and the old one is not forgotten.
    agents.type_line("one", "/clear");
    let cleared = agents.wait_bound("one", "another conversation", |agent| agent["id"] != ids[0].as_str());
    assert!(cleared["ended"].is_null(), "{cleared}");
    assert_eq!(agents.pane("one")["history"][0]["id"], ids[0]);

    agents.type_line("two", "/exit");
    agents.wait_bound("two", "the end", |agent| agent["ended"]["reason"] == "user" && agent["id"] == ids[1].as_str());
    agents.press_until("three", "C-c", "a second question", || agents.screen("three").contains("again to exit").then_some(()));
    agents.press_until("three", "C-c", "the end", || (agents.pane("three")["agent"]["ended"]["reason"] == "user").then_some(()));
    assert_eq!(agents.pane("three")["agent"]["id"], ids[2]);
    // The journal is written right behind the record.
    let ends = || agents.changes().iter().filter(|what| *what == "ended by the user").count();
    wait_or_tell(|| format!("two ends: {:?}", agents.changes()), || (ends() == 2).then_some(()));
    let changes = agents.changes();
    assert!(ids.iter().all(|id| changes.contains(&format!("bound to claude {id}"))), "{changes:?}");
}

#[test]
fn an_agent_that_died_with_its_server_or_was_killed_is_not_ended_by_the_user() {
    let agents = Agents::recorded(&["claude"]);
    let (one, two) = (agents.talk("one", "claude", "the first"), agents.talk("two", "claude", "the second"));
    let pid = |session: &str| i32::try_from(agents.pane(session)["agent"]["process"]["pid"].as_i64().unwrap()).unwrap();

    // A crash of the agent alone tells nobody anything.
    agents.world.signal(pid("two"), "KILL");
    let dead = agents.wait_bound("two", "its end", |agent| !agent["ended"].is_null());
    assert_eq!((dead["ended"]["reason"].as_str(), &dead["id"]), (Some("died"), &Value::from(two)));

    let claude = pid("one");
    agents.world.crash();
    wait_for("the end of the agent, which reports it", || (!is_alive(claude)).then_some(()));
    agents.world.tmux(["new-session", "-d", "-s", "after"]).ok();
    wait_for("a look at the new server", || agents.world.recorded().contains(&"after".to_owned()).then_some(()));
    agents.world.look();
    let bound = agents.pane("one")["agent"].clone();
    assert_eq!((&bound["id"], bound["ended"].is_null(), bound["missing"].is_null()), (&Value::from(one), true, true));
}

#[test]
fn what_runs_inside_an_agent_or_without_a_user_takes_no_pane() {
    let agents = Agents::recorded(&["claude", "codex"]);
    let id = agents.talk("one", "claude", "the outer");
    // `!` runs a command as the agent's own child.
    for (line, why) in [
        ("claude -p 'the inner'", "claude runs inside claude"),
        ("codex exec --skip-git-repo-check 'the other'", "codex runs inside claude"),
    ] {
        agents.world.tmux(["send-keys", "-t", "=one:", "-l", "!"]).ok();
        agents.type_line("one", line);
        wait_or_tell(|| format!("{why}: {}\n{}", agents.screen("one"), agents.world.log()), || agents.said_in_the_log(why).then_some(()));
        assert_eq!(agents.pane("one")["agent"]["id"], id);
    }
    // The same, started by the user.
    for line in ["claude -p 'of the user'", "codex exec --skip-git-repo-check 'of the user'"] {
        let session = line.split(' ').next().unwrap();
        agents.run(session, &format!("{line}; echo done-$?"));
        agents.wait_shown(session, "done-0");
        agents.world.look();
        assert!(agents.pane(session)["agent"].is_null(), "{:#}", agents.pane(session));
    }
    assert!(agents.said_in_the_log("nobody sits at it"));
}

#[test]
fn two_codex_in_one_directory_are_bound_by_their_titles_and_never_guessed() {
    let agents = Agents::recorded(&["codex"]);
    // Alone in its directory it is known by that.
    let one = agents.talk("one", "codex", "the first");
    agents.run("two", "codex 'the second'");
    agents.wait_shown("two", "ACK 1: the second");
    wait_for("the reason in the log", || agents.said_in_the_log("several panes may show this conversation").then_some(()));
    agents.world.look();
    assert!(agents.pane("two")["agent"].is_null(), "{:#}", agents.pane("two"));
    let rows = agents.sidecar(&["agent", "status", "--json"]).json()["agents"].as_array().unwrap().clone();
    let of = |place: &str| rows.iter().find(|row| row["place"] == place).map(|row| (row["state"].clone(), row["reason"].clone()));
    assert_eq!(of("one:0.0"), Some(("captured".into(), "captured".into())));
    assert_eq!(of("two:0.0"), Some(("not_captured".into(), "ambiguous".into())));
    // The one that is known stays known.
    agents.say("one", "the next", "ACK 2: the next");
    agents.world.look();
    assert_eq!(agents.pane("one")["agent"]["id"], one);

    agents.sidecar(&["agent", "integration", "install", "codex", "--titles"]).ok();
    let three = agents.talk("three", "codex", "the third");
    let four = agents.talk("four", "codex", "the fourth");
    assert!(three != four && three != one && four != one);
    for (name, id, prompt) in [("three", three, "the third"), ("four", four, "the fourth")] {
        let found = agents.transcripts("codex", &id);
        assert!(std::fs::read_to_string(&found[0]).unwrap().contains(prompt), "{name}");
    }
}

#[test]
fn a_codex_that_is_gone_from_its_living_pane_was_ended() {
    let agents = Agents::recorded(&["codex"]);
    let id = agents.talk("one", "codex --no-daemon", "the first");
    agents.press_until("one", "C-c", "the end", || (!agents.pane("one")["agent"]["ended"].is_null()).then_some(()));
    let bound = agents.pane("one")["agent"].clone();
    assert_eq!((bound["ended"]["reason"].as_str(), &bound["id"]), (Some("gone"), &Value::from(id.clone())));
    // Resumed, it is bound before it says anything.
    agents.type_line("one", &format!("codex --no-daemon resume {id}"));
    let again = agents.wait_bound("one", "it again", |agent| agent["ended"].is_null());
    assert_eq!((&again["id"], again["prompted"].as_bool()), (&Value::from(id), Some(true)));
}

#[test]
fn an_agent_from_before_the_integration_is_captured_by_a_look() {
    let agents = Agents::recorded(&[]);
    let id = agents.talk("one", "claude --model sonnet", "the first");
    let bound = agents.pane("one")["agent"].clone();
    assert_eq!((bound["source"].as_str(), bound["flags"][0].as_str()), (Some("sessions"), Some("--model=sonnet")));
    assert_eq!(agents.transcripts("claude", &id).len(), 1);
    let store = agents.world.store().unwrap().join("shells.json");
    let written = || std::fs::metadata(&store).unwrap().modified().unwrap();
    agents.world.look();
    let before = written();
    agents.world.look();
    assert_eq!(written(), before, "no change, no write");
    // No hook tells of the next one either.
    agents.type_line("one", "/clear");
    agents.wait_bound("one", "another conversation", |agent| agent["id"] != id.as_str());
    assert_eq!(agents.pane("one")["history"][0]["id"], id);
}

#[test]
fn a_report_from_elsewhere_says_nothing_and_changes_nothing() {
    let world = World::new(0.5);
    world.tmux(["new-session", "-d", "-s", "one"]).ok();
    world.wait_recorded(&["one"]);
    let before = world.state();
    let id = "01a228e7-fac2-7180-b353-a6ead433a7ba";
    let report = format!(r#"{{"hook_event_name":"UserPromptSubmit","session_id":"{id}","cwd":"/"}}"#);
    let tmux = world.show("#{socket_path},#{pid},0");
    let other = world.show("#{socket_path},1,0");
    for (variables, why) in [
        // The environment names a pane, the tree of processes does not.
        (vec![("TMUX", tmux.as_str()), ("TMUX_PANE", "%0")], "no pane of this server is among its ancestors"),
        // Another server answers on the socket of a dead one.
        (vec![("TMUX", other.as_str()), ("TMUX_PANE", "%0")], "this process runs in the server of pid 1"),
        (vec![], ""),
    ] {
        let mut command = world.command("/bin/sh");
        command.args(["-c", r#"printf %s "$1" | "$2" agent report-session --kind claude --hook-stdin"#, "sh", &report, sidecar_path()]);
        let output = command.envs(variables).output().unwrap();
        assert_eq!((output.status.code(), output.stdout.len(), output.stderr.len()), (Some(0), 0, 0));
        assert!(world.log().contains(why), "{why}: {}", world.log());
    }
    assert_eq!(world.state()["shells"], before["shells"]);
}
