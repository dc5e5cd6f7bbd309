//! The real agents through crashes of the server: each pane goes on with its own conversation, which the model's side sees come back.

use std::path::PathBuf;
use std::process::Command;

use serde_json::{Value, json};
use sidecar::agents::process;

use super::agents_world::{Agents, programs};
use super::fake_agent::agents as of_restore;
use super::support::{World, sidecar_path, wait_for, wait_or_tell};

impl Agents {
    /// A world in which only the start-up files of the user's shell find the agents and set what they need.
    fn for_crashes() -> Self {
        let agents = Self::recorded(&["claude", "codex"]);
        let exports: String = agents.variables().iter().map(|(name, value)| format!("export {name}='{value}'\n")).collect();
        std::fs::write(agents.world.home().join(".profile"), format!("{exports}PS1='$ '\n")).unwrap();
        agents
    }

    /// The server's end, and what a restore with the agents says of each.
    #[track_caller]
    pub fn crash_and_resume(&self) -> Vec<Value> {
        self.crash_and_resume_by(self.world.command(sidecar_path()))
    }

    #[track_caller]
    fn crash_and_resume_by(&self, mut command: Command) -> Vec<Value> {
        self.world.crash();
        let said = command.args(["session", "restore", "--agents", "--yes", "--json"]).output().unwrap();
        self.world.remember_server();
        let document: Value = serde_json::from_slice(&said.stdout).unwrap_or_else(|error| panic!("{error}: {said:?}"));
        of_restore(&document)
    }

    /// The status and the reason of the agent in a shell.
    #[track_caller]
    pub fn told<'a>(told: &'a [Value], shell: &str, world: &World) -> (&'a str, &'a str) {
        let pane = world.pane_id(shell);
        let found = told.iter().find(|agent| agent["pane"] == pane.as_str()).unwrap_or_else(|| panic!("{shell}: {told:?}"));
        (found["status"].as_str().unwrap(), found["reason"].as_str().unwrap())
    }

    /// The words of the agent in front of a session's pane.
    #[track_caller]
    pub fn words(&self, session: &str) -> Vec<String> {
        let pid: i32 =
            self.world.tmux(["display-message", "-p", "-t", &format!("={session}:"), "#{pane_pid}"]).ok().trim().parse().unwrap();
        let front = process::foreground(pid).map(|(leader, _)| leader).unwrap();
        process::argv(front).unwrap().iter().map(|word| word.display().into_owned()).collect()
    }
}

#[test]
fn each_pane_goes_on_with_its_own_conversation_its_flags_and_its_directory() {
    let agents = Agents::for_crashes();
    // One works in a worktree, which is trusted.
    let tree = agents.world.work().join("tree");
    let git = |words: &[&str]| {
        let done = agents
            .world
            .command("git")
            .arg("-C")
            .arg(&agents.work)
            .args(["-c", "user.name=x", "-c", "user.email=x@x"])
            .args(words)
            .output();
        assert!(done.as_ref().is_ok_and(|done| done.status.success()), "{done:?}");
    };
    git(&["init", "-q"]);
    git(&["commit", "-q", "--allow-empty", "-m", "x"]);
    git(&["worktree", "add", "-q", "-b", "side", tree.to_str().unwrap()]);
    let trusted = agents.world.home().join(".claude.json");
    let mut settings: Value = serde_json::from_slice(&std::fs::read(&trusted).unwrap()).unwrap();
    settings["projects"][tree.to_str().unwrap()] = json!({ "hasTrustDialogAccepted": true });
    std::fs::write(&trusted, settings.to_string()).unwrap();

    let quoted = "claude --model sonnet --append-system-prompt \"two  words; \\$(touch CANARY)\"";
    let ids = [
        ("flags", agents.talk("flags", quoted, "the first")),
        ("plain", agents.talk("plain", "claude", "the second")),
        ("codex", agents.talk("codex", "codex", "the third")),
        ("tree", agents.talk("tree", &format!("cd '{}'; claude", tree.display()), "the fourth")),
    ];
    let mut words: Vec<Vec<String>> = Vec::new();
    for round in 1..=2 {
        let told = agents.crash_and_resume();
        for (session, id) in &ids {
            assert_eq!(Agents::told(&told, session, &agents.world), ("resumed", "resumed"), "{told:?}\n{}", agents.world.log());
            let prompt = format!("again {round} in {session}");
            // The model's side is given all that was said before.
            agents.say(session, &prompt, &format!("ACK {}: {prompt}", round + 1));
            let bound = agents.wait_bound(session, "the same conversation", |agent| agent["id"] == id.as_str() && agent["ended"].is_null());
            let dir = if *session == "tree" { &tree } else { &agents.work };
            assert_eq!(bound["dir"].as_str(), dir.to_str(), "{session}");
        }
        let now: Vec<Vec<String>> = ids.iter().map(|(session, _)| agents.words(session)).collect();
        if round == 1 {
            let flags: Vec<&str> = now[0][1..].iter().map(String::as_str).collect();
            assert_eq!(flags, ["--model=sonnet", "--append-system-prompt=two  words; $(touch CANARY)", "--resume", &ids[0].1]);
        } else {
            assert_eq!(now, words, "the second round gives the same words");
        }
        words = now;
    }
    let found = agents.world.command("find").arg(agents.world.work()).args(["-name", "CANARY"]).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&found.stdout), "");
}

#[test]
fn what_has_nothing_to_come_back_to_comes_back_as_a_shell() {
    let agents = Agents::for_crashes();
    agents.talk("ended", "claude", "the first");
    agents.type_line("ended", "/exit");
    agents.wait_bound("ended", "its end", |agent| agent["ended"]["reason"] == "user");
    let lost = agents.talk("lost", "claude", "the second");
    let kept = agents.talk("kept", "claude", "the third");
    agents.run("blank", "claude");
    agents.wait_bound("blank", "a conversation without a prompt", |agent| agent["prompted"].is_null());
    // Transcripts are cleaned up after 30 days.
    let pid = i32::try_from(agents.pane("lost")["agent"]["process"]["pid"].as_i64().unwrap()).unwrap();
    agents.world.crash();
    wait_for("the end of the agent, which writes to it", || process::start_time(pid).is_none().then_some(()));
    std::fs::remove_file(&agents.transcripts("claude", &lost)[0]).unwrap();
    agents.world.tmux(["new-session", "-d", "-s", "keep-2"]).ok();
    let told = agents.crash_and_resume();
    let of = |shell: &str| Agents::told(&told, shell, &agents.world);
    assert_eq!(
        [of("ended"), of("lost"), of("blank")],
        [("skipped", "ended_by_user"), ("skipped", "transcript_missing"), ("skipped", "transcript_missing")]
    );
    assert_eq!(of("kept"), ("resumed", "resumed"));
    agents.say("kept", "again", "ACK 2: again");
    assert_eq!(agents.pane("kept")["agent"]["id"], kept);
}

#[test]
fn one_with_another_configuration_or_in_the_middle_of_a_turn_goes_on_from_a_server_that_an_agent_started() {
    let agents = Agents::for_crashes();
    let other = agents.world.folder("other config");
    std::fs::copy(agents.world.home().join(".claude.json"), other.join(".claude.json")).unwrap();
    std::fs::copy(agents.world.home().join(".claude/settings.json"), other.join("settings.json")).unwrap();
    let elsewhere = agents.talk("elsewhere", &format!("CLAUDE_CONFIG_DIR='{}' claude", other.display()), "the first");
    let turning = agents.talk("turning", "claude", "the second");
    agents.world.tmux(["send-keys", "-t", "=turning:", "-l", "hold on"]).ok();
    agents.press_until("turning", "Enter", "a turn", || agents.api.prompts().iter().any(|said| said == "hold on").then_some(()));

    // What an agent tells its children would make a new one a part of itself, and write no transcript.
    let mut command = agents.world.command(sidecar_path());
    for (name, value) in [
        ("CLAUDECODE", "1"),
        ("CLAUDE_CODE_ENTRYPOINT", "cli"),
        ("CLAUDE_CODE_CHILD_SESSION", "1"),
        ("CLAUDE_CODE_SESSION_ID", "11111111-2222-3333-4444-555555555555"),
        ("CLAUDE_CONFIG_DIR", "/of another"),
    ] {
        command.env(name, value);
    }
    let told = agents.crash_and_resume_by(command);
    for (shell, id) in [("elsewhere", &elsewhere), ("turning", &turning)] {
        assert_eq!(Agents::told(&told, shell, &agents.world), ("resumed", "resumed"), "{told:?}\n{}", agents.screen(shell));
        // The prompt that was not answered is a part of the conversation.
        let count = if shell == "turning" { 3 } else { 2 };
        let prompt = format!("again in {shell}");
        agents.say(shell, &prompt, &format!("ACK {count}: {prompt}"));
        assert_eq!(agents.pane(shell)["agent"]["id"], **id);
    }
    let transcript = other.join("projects");
    let holds = || {
        let files = Command::new("grep").args(["-rl", "again in elsewhere"]).arg(&transcript).output().unwrap();
        String::from_utf8_lossy(&files.stdout).contains(&elsewhere).then_some(())
    };
    wait_for("its transcript, where it was", holds);
}

#[test]
fn codex_goes_on_without_its_shared_server_and_a_program_that_failed_is_tried_by_hand() {
    let agents = Agents::for_crashes();
    let own = agents.talk("own", "codex --no-daemon", "the first");
    let claude = agents.talk("claude", "claude", "the second");
    // The program fails once, as in the middle of an update.
    let (failing, real) = (agents.world.folder("failing"), programs().join("claude"));
    let script = format!(
        "#!/bin/sh\nif [ -e '{0}/once' ]; then rm '{0}/once'; echo 'half of a program'; exit 1; fi\nexec '{1}' \"$@\"\n",
        failing.display(),
        real.display()
    );
    std::fs::write(failing.join("once"), "").unwrap();
    write_program(&agents.world, &failing.join("claude"), &script);
    let profile = agents.world.home().join(".profile");
    let exports = std::fs::read_to_string(&profile).unwrap();
    std::fs::write(&profile, format!("{exports}PATH='{}':$PATH\n", failing.display())).unwrap();
    let told = agents.crash_and_resume();
    assert_eq!(Agents::told(&told, "own", &agents.world), ("resumed", "resumed"), "{told:?}");
    assert_eq!(Agents::told(&told, "claude", &agents.world), ("failed", "ended_at_once"), "{told:?}");
    agents.say("own", "again", "ACK 2: again");
    assert_eq!(agents.wait_bound("own", "the same", |agent| agent["prompted"] == true)["id"], own);
    assert!(agents.screen("claude").contains("half of a program"), "{}", agents.screen("claude"));
    let pane = agents.world.pane_id("claude");
    wait_for("a prompt", || agents.screen("claude").lines().any(|line| line.trim() == "$").then_some(()));
    agents.type_line("claude", &format!("{} agent resume {pane}", sidecar_path()));
    wait_or_tell(|| agents.screen("claude"), || agents.screen("claude").contains("ACK 1: the second").then_some(()));
    agents.say("claude", "and again", "ACK 2: and again");
    assert_eq!(agents.pane("claude")["agent"]["id"], claude);
}

/// Written by a child: what this process has open for writing, another test's child may hold, and none can run it then.
fn write_program(world: &World, path: &PathBuf, script: &str) {
    let mut write = world.command("/bin/sh");
    write.args(["-c", r#"printf %s "$2" >"$1" && chmod 755 "$1""#, "sh"]).arg(path).arg(script);
    assert!(write.status().unwrap().success());
}
