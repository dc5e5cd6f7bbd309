//! What becomes of agents: the plan's verdicts, the time as of which conversations are chosen, and `agent status`. The records are
//! written by hand, as hooks would have led to them. The agent is a shell of that name with a script: what it is taken for is its
//! executable and its words, and it waits as one at its prompt does.

use std::path::PathBuf;
use std::process::Stdio;

use serde_json::{Value, json};

use super::support::{World, wait_for};

const A: &str = "aaaaaaaa-0000-4000-8000-000000000001";
const B: &str = "bbbbbbbb-0000-4000-8000-000000000002";
const C: &str = "cccccccc-0000-4000-8000-000000000003";
/// In one test alone: live processes are looked for on the whole machine.
const OPEN: &str = "dddddddd-0000-4000-8000-000000000004";

/// A world without a timer, in which nobody writes records but this test and the looks that it takes.
pub fn world(sessions: &[&str]) -> World {
    let world = World::bare();
    world.open(sessions);
    world
}

impl World {
    /// Makes sessions, and has them recorded.
    pub fn open(&self, sessions: &[&str]) {
        for session in sessions {
            self.tmux(["new-session", "-d", "-x", "100", "-y", "30", "-s", session]).ok();
        }
        self.look();
        self.wait_recorded(sessions);
    }

    /// Changes the records.
    fn edit(&self, change: impl FnOnce(&mut Value)) {
        let mut state = self.state();
        change(&mut state);
        std::fs::write(self.store().unwrap().join("shells.json"), state.to_string()).unwrap();
    }

    /// Gives the first pane of a session's record these fields.
    pub fn set_pane(&self, session: &str, fields: &Value) {
        self.edit(|state| {
            let shells = state["shells"].as_array_mut().unwrap();
            let shell = shells.iter_mut().find(|shell| shell["session"] == session).unwrap();
            let pane = shell["windows"][0]["panes"][0].as_object_mut().unwrap();
            pane.extend(fields.as_object().unwrap().clone());
        });
    }

    fn set_policy(&self, session: &str, policy: &str) {
        self.sidecar(["session", "policy", session, &format!("--{policy}")]).ok();
    }

    pub fn pane_id(&self, session: &str) -> String {
        let state = self.state();
        let shells = state["shells"].as_array().unwrap();
        let shell = shells.iter().find(|shell| shell["session"] == session).unwrap();
        shell["windows"][0]["panes"][0]["id"].as_str().unwrap().to_owned()
    }

    pub fn generation(&self) -> Value {
        self.state()["generation"].clone()
    }

    /// A transcript of Claude Code's.
    fn transcript(&self, id: &str) {
        let folder = self.home().join(".claude/projects/-w");
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join(format!("{id}.jsonl")), "{}\n").unwrap();
    }

    /// The step of a session.
    fn step_with(&self, session: &str, more: &[&str]) -> Value {
        let plan = self.sidecar([&["session", "status", "--json"], more].concat()).json();
        plan["steps"].as_array().unwrap().iter().find(|step| step["session"] == session).unwrap().clone()
    }

    pub fn step(&self, session: &str) -> Value {
        self.step_with(session, &[])
    }

    /// The verdict and the reason of a session's only agent.
    #[track_caller]
    pub fn agent_verdict(&self, session: &str) -> (String, String) {
        let step = self.step(session);
        let agents = step["agents"].as_array().unwrap();
        assert_eq!(agents.len(), 1, "{step}");
        let text = |key: &str| agents[0][key].as_str().unwrap().to_owned();
        (text("verdict"), text("reason"))
    }

    fn journal(&self, lines: &[Value]) {
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        std::fs::write(self.store().unwrap().join("journal.jsonl"), text).unwrap();
    }

    /// What stands for Claude Code: a shell by that name, and the script that it runs.
    fn fake_claude(&self) -> (PathBuf, PathBuf) {
        let folder = self.folder("bin");
        let (program, script) = (folder.join("claude"), folder.join("wait"));
        // By a child: what this process has open for writing, another test's child may hold, and none can run it then.
        assert!(self.command("cp").arg("/bin/bash").arg(&program).status().unwrap().success());
        std::fs::write(&script, "echo ready; read -r line\n").unwrap();
        (program, script)
    }

    /// Starts it in a session's pane, and gives its pid.
    fn run_claude(&self, session: &str, words: &str) -> i32 {
        let (program, script) = self.fake_claude();
        let target = format!("={session}:");
        self.tmux(["send-keys", "-t", &target, &format!("{} {} {words}", program.display(), script.display()), "Enter"]).ok();
        wait_for("the agent", || self.tmux(["capture-pane", "-p", "-t", &target]).out.lines().any(|line| line == "ready").then_some(()));
        let pane: i32 = self.tmux(["display-message", "-p", "-t", &target, "#{pane_pid}"]).ok().trim().parse().unwrap();
        sidecar::agents::process::foreground(pane).unwrap().0
    }

    #[track_caller]
    fn agent_rows(&self) -> Vec<Value> {
        self.sidecar(["agent", "status", "--json"]).json()["agents"].as_array().unwrap().clone()
    }
}

fn bound(id: &str, reported: u64) -> Value {
    json!({ "kind": "claude", "id": id, "source": "hook", "reported": reported, "prompted": true })
}

fn with(mut value: Value, key: &str, field: Value) -> Value {
    value[key] = field;
    value
}

fn is(verdict: &str, reason: &str) -> (String, String) {
    (verdict.to_owned(), reason.to_owned())
}

#[test]
fn each_agent_of_a_dead_server_has_its_verdict() {
    let world = world(&["a", "b"]);
    let now = sidecar::record::now();
    world.transcript(A);
    world.crash();
    world.set_pane("a", &json!({ "agent": bound(A, now) }));
    let before = std::fs::read(world.store().unwrap().join("shells.json")).unwrap();

    assert_eq!(world.agent_verdict("a"), is("ask", "needs_confirmation"));
    let step = world.step("a");
    assert_eq!(
        (&step["action"], &step["agents"][0]["id"], &step["agents"][0]["kind"]),
        (&json!("resume-agent"), &json!(A), &json!("claude"))
    );
    assert_eq!(step["agents"][0]["workDir"], world.work().to_str().unwrap());
    assert_eq!((&world.step("b")["action"], &world.step("b")["agents"]), (&json!("recreate-shell"), &json!([])));
    let text = world.sidecar(["session", "status"]).ok();
    assert!(text.contains(&format!("    Claude Code · {A} · last active ")) && text.contains(" · asks first\n"), "{text}");
    assert_eq!(std::fs::read(world.store().unwrap().join("shells.json")).unwrap(), before, "a plan writes nothing");

    let said = world.sidecar(["session", "restore", "--agents", "--dry-run"]);
    let told = "    a:0.0   Claude Code asks first\n";
    assert!(said.code == 5 && said.out.contains(told) && said.out.ends_with(", 1 agent would be asked for first\n"), "{said:?}");

    // A restore without the agents leaves them, and says so.
    let dry = world.sidecar(["session", "restore", "--dry-run", "--json"]).json();
    assert_eq!(dry["outcomes"][0]["agents"][0]["status"], "skipped");
    assert_eq!(dry["outcomes"][0]["agents"][0]["reason"], "not_requested");

    for (setting, wanted) in [("off", is("no", "resume_off")), ("auto", is("resume", "resume")), ("ask", is("ask", "needs_confirmation"))] {
        let config = world.home().parent().unwrap().join("config/sidecar");
        std::fs::create_dir_all(&config).unwrap();
        std::fs::write(config.join("config.json"), json!({ "restore": { "resumeAgents": setting } }).to_string()).unwrap();
        assert_eq!(world.agent_verdict("a"), wanted, "{setting}");
    }
    for (policy, wanted) in [
        ("shell", is("no", "policy_shell")),
        ("never", is("no", "policy_never")),
        ("resume", is("resume", "resume")),
        ("inherit", is("ask", "needs_confirmation")),
    ] {
        world.set_policy("a", policy);
        assert_eq!(world.agent_verdict("a"), wanted, "{policy}");
    }

    let ended = |reason: &str| with(bound(A, now), "ended", json!({ "reason": reason, "at": now }));
    for (agent, wanted) in [
        (with(bound(A, now), "kind", json!("nobody")), is("no", "unknown_agent")),
        (bound("../../etc", now), is("no", "no_binding")),
        (ended("user"), is("no", "ended_by_user")),
        (ended("gone"), is("no", "ended_by_user")),
        (bound(B, now), is("no", "transcript_missing")),
        (with(bound(A, now), "dir", json!("/gone")), is("no", "agent_directory_missing")),
        (ended("died"), is("ask", "needs_confirmation")),
    ] {
        world.set_pane("a", &json!({ "agent": agent }));
        assert_eq!(world.agent_verdict("a"), wanted);
    }
    // One that was never bound is known by what ran in its pane.
    world.set_pane("b", &json!({ "argv": ["claude", "--model", "x"] }));
    assert_eq!(world.agent_verdict("b"), is("no", "no_binding"));
    world.set_pane("b", &json!({ "argv": ["claude", "-p", "x"] }));
    assert_eq!(world.step("b")["agents"], json!([]), "nobody sat at it");
}

#[test]
fn a_conversation_of_two_panes_is_that_of_the_newest_report_on_the_whole_host() {
    let world = world(&["a", "b"]);
    let now = sidecar::record::now();
    world.transcript(A);
    world.crash();
    world.set_pane("a", &json!({ "agent": bound(A, now) }));
    world.set_pane("b", &json!({ "agent": bound(A, now - 1000) }));
    assert_eq!((world.agent_verdict("a"), world.agent_verdict("b")), (is("ask", "needs_confirmation"), is("no", "duplicate")));
    world.set_pane("b", &json!({ "agent": bound(A, now + 1000) }));
    assert_eq!((world.agent_verdict("a"), world.agent_verdict("b")), (is("no", "duplicate"), is("ask", "needs_confirmation")));
    // Another server's record, and a later report in it.
    let other = world.store().unwrap().parent().unwrap().join("other-0123456789abcdef");
    std::fs::create_dir(&other).unwrap();
    let pane = json!({ "id": "pn-other", "dir": "/", "agent": bound(A, now + 2000) });
    let shell = json!({ "id": "sh-other", "name": "far", "session": "far", "workDir": "/", "windows": [{ "id": "wn-other", "index": 3, "panes": [pane] }] });
    std::fs::write(other.join("shells.json"), json!({ "version": 3, "shells": [shell] }).to_string()).unwrap();
    assert_eq!(world.agent_verdict("b"), is("no", "duplicate"));
    let detail = world.step("b")["agents"][0]["detail"].as_str().unwrap().to_owned();
    assert!(detail.contains("far:3.0 of the server 'other'"), "{detail}");
}

#[test]
fn a_conversation_that_a_live_process_has_open_is_not_opened_again() {
    let world = world(&["a", "b"]);
    let now = sidecar::record::now();
    for id in [OPEN, B] {
        world.transcript(id);
    }
    world.set_pane("a", &json!({ "agent": bound(OPEN, now) }));
    // In the living pane, which is idle, it can come back, without the shell being made again.
    let step = world.step("a");
    assert_eq!((&step["action"], &step["agents"][0]["verdict"]), (&json!("reattach"), &json!("ask")));
    // One that runs in no pane, with the conversation among its words.
    let (program, script) = world.fake_claude();
    let mut outside =
        world.command(&program).arg(&script).args(["--resume", OPEN]).stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    let pid = i32::try_from(outside.id()).unwrap();
    wait_for("its own words", || (world.agent_verdict("a") == is("no", "already_open")).then_some(()));
    // By what was recorded of its process, whatever its arguments say.
    let start = sidecar::agents::process::start_time(pid).unwrap();
    let process = json!({ "pid": pid, "startTime": start, "generation": world.generation() });
    world.set_pane("b", &json!({ "agent": with(bound(B, now), "process", process.clone()) }));
    world.set_pane("a", &json!({ "agent": bound(B, now + 1000) }));
    assert_eq!(world.agent_verdict("a"), is("no", "already_open"));
    // Another life of that pid is another process.
    world.set_pane("b", &json!({ "agent": with(bound(B, now), "process", with(process, "startTime", json!(1))) }));
    assert_eq!(world.agent_verdict("a"), is("ask", "needs_confirmation"));
    // Nor is one opened where something else runs.
    world.set_pane("b", &json!({ "agent": bound(B, now + 2000) }));
    world.tmux(["send-keys", "-t", "=b:", "cat", "Enter"]).ok();
    wait_for("it", || (world.tmux(["display-message", "-p", "-t", "=b:", "#{pane_current_command}"]).out.trim() == "cat").then_some(()));
    assert_eq!(world.agent_verdict("b"), is("no", "pane_busy"));
    drop(outside.stdin.take());
    outside.wait().unwrap();
}

#[test]
fn what_a_broken_restore_reported_is_stepped_over_and_a_time_can_be_asked_for() {
    let world = world(&["a"]);
    for id in [A, B, C] {
        world.transcript(id);
    }
    let pane = world.pane_id("a");
    let first = world.generation();
    world.crash();
    world.tmux(["new-session", "-d", "-s", "a"]).ok();
    world.look();
    let second = world.generation();
    assert_ne!(first["pid"], second["pid"]);
    let start = second["startTime"].as_u64().unwrap() * 1000;
    let hour = 3_600_000;
    let line = |at: u64, generation: &Value, id: &str| json!({ "at": at, "generation": generation, "shell": "x", "pane": pane, "binding": bound(id, at), "what": "prompt" });
    let wrote = [line(start - 3 * hour, &first, A), line(start - hour, &first, B), line(start + 1500, &second, C)];
    world.journal(&wrote);
    world.edit(|state| {
        let shell = &mut state["shells"][0];
        shell["windows"][0]["panes"][0]["id"] = json!(pane);
        shell["windows"][0]["panes"][0]["agent"] = bound(C, start + 1500);
    });
    let chosen = |more: &[&str]| {
        let agent = world.step_with("a", more)["agents"][0].clone();
        (agent["id"].as_str().unwrap_or_default().to_owned(), agent["chosen"].as_str().unwrap_or_default().to_owned())
    };
    assert_eq!(chosen(&[]), is(B, "before_this_server"));
    assert_eq!(chosen(&["--as-of", "2h ago"]), is(A, "before_this_server"));
    let text = world.sidecar(["session", "status", "--as-of", "2h ago"]).ok();
    assert!(text.contains(A) && text.contains("as it was before this server"), "{text}");
    assert!(text.contains(" sidecar session restore --as-of '2h ago' --agents\n"), "{text}");
    assert_eq!(world.step_with("a", &["--as-of", "5h ago"])["agents"], json!([]));
    // Once it was seen running here, the newest report counts.
    world.journal(&[wrote.as_slice(), &[line(start + 1000, &second, B)]].concat());
    assert_eq!(chosen(&[]), is(C, "newest"));
    // After the server's end all of them count, but a time can be asked for; a restore takes one too.
    world.journal(&wrote);
    world.crash();
    assert_eq!(chosen(&[]), is(C, "newest"));
    assert_eq!(chosen(&["--as-of", "30 minutes ago"]), is(B, "as_of"));
    let dry = world.sidecar(["session", "restore", "--dry-run", "--json", "--as-of", "30 minutes ago"]).json();
    assert!(dry["outcomes"][0]["agents"][0]["detail"].as_str().unwrap().contains("asked for"), "{dry}");

    for words in [["session", "status", "--as-of", "teatime"], ["session", "restore", "--as-of", "teatime"]] {
        let said = world.sidecar(words);
        assert_eq!((said.code, said.out.as_str()), (2, ""));
        assert!(said.err.contains("'teatime'") && said.err.contains("hint: "), "{}", said.err);
    }
    assert!(world.recorded().contains(&"a".to_owned()));
}

#[test]
fn an_agent_that_went_with_its_session_is_not_ended_once_that_is_back_without_it() {
    let world = world(&["a", "b"]);
    world.tmux(["set-option", "-g", "@sidecar-grace", "0"]).ok();
    let pid = world.run_claude("a", "");
    let start = sidecar::agents::process::start_time(pid).unwrap();
    let process = json!({ "pid": pid, "startTime": start, "generation": world.generation() });
    // Without its hook, nobody would have told that the user ended it.
    let agent = with(with(bound(A, sidecar::record::now()), "source", json!("sessions")), "process", process);
    world.set_pane("a", &json!({ "agent": agent }));
    world.transcript(A);
    world.sidecar(["shell", "delete", "--target", "a"]).ok();
    world.wait_gone(pid);
    world.sidecar(["shell", "restore", "a"]).ok();
    world.sidecar(["session", "restore", "--shell", "a"]).ok();
    for _ in 0..3 {
        world.look();
    }
    assert_eq!(world.agent_verdict("a"), is("ask", "needs_confirmation"));
}

#[test]
fn agent_status_tells_of_each_agent_whether_its_conversation_is_known_and_what_resumes_it() {
    let world = world(&["a", "b"]);
    let now = sidecar::record::now();
    assert!(world.sidecar(["agent", "status"]).ok().starts_with("No agent"));
    let pid = world.run_claude("a", "--model x");
    world.look();
    let of = |rows: &[Value], key: &str| rows.iter().map(|row| row[key].clone()).collect::<Vec<_>>();
    let rows = world.agent_rows();
    assert_eq!((of(&rows, "state"), of(&rows, "reason")), (vec![json!("not_captured")], vec![json!("integration_missing")]));
    assert_eq!((&rows[0]["place"], &rows[0]["kind"]), (&json!("a:0.0"), &json!("claude")));
    assert!(rows[0]["hint"].as_str().unwrap().contains("integration install claude"));
    world.sidecar(["agent", "integration", "install", "claude"]).ok();
    assert_eq!(of(&world.agent_rows(), "reason"), [json!("no_prompt_yet")]);

    let start = sidecar::agents::process::start_time(pid).unwrap();
    let process = json!({ "pid": pid, "startTime": start, "generation": world.generation() });
    let flags = json!(["--model=x y", "--settings={\"apiKey\":\"hidden\"}", "a stray prompt"]);
    let agent = with(with(bound(A, now), "process", process), "flags", flags);
    let agent = with(agent, "dir", json!(world.folder("deep").to_str().unwrap()));
    world.set_pane("a", &json!({ "agent": agent }));
    let rows = world.agent_rows();
    let line = format!("cd {} && claude '--model=x y' --resume {A}", world.folder("deep").display());
    assert_eq!((of(&rows, "state"), of(&rows, "resume")), (vec![json!("captured")], vec![json!(line)]));
    let listed = || {
        let list = world.sidecar(["shell", "list", "--all", "--json"]).json();
        list["shells"].as_array().unwrap().iter().flat_map(|shell| shell["agents"].as_array().unwrap().clone()).collect::<Vec<_>>()
    };
    assert_eq!(of(&listed(), "state"), [json!("captured")]);
    assert!(world.sidecar(["shell", "list", "--all"]).ok().contains("; Claude Code captured\n"));

    world.transcript(A);
    world.signal(pid, "KILL");
    world.wait_gone(pid);
    let rows = wait_for("the prompt", || Some(world.agent_rows()).filter(|rows| of(rows, "state") == [json!("resumable")]));
    assert_eq!((of(&rows, "resume"), of(&rows, "workDir")), (vec![json!(line)], vec![json!(world.folder("deep").to_str().unwrap())]));
    let text = world.sidecar(["agent", "status"]).ok();
    assert!(text.contains("a:0.0   Claude Code   resumable") && text.contains(&line) && !text.contains("hidden"), "{text}");
    assert_eq!(of(&listed(), "state"), [json!("resumable")]);
    world.crash();
    assert_eq!(of(&world.agent_rows(), "state"), [json!("resumable")], "without a server too");
    world.set_pane("a", &json!({ "agent": with(bound(A, now), "ended", json!({ "reason": "user", "at": now })) }));
    assert_eq!((world.agent_rows().len(), of(&listed(), "state")), (0, vec![json!("ended")]));
}
