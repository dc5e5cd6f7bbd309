//! Several agents in one pane, one after the other or stopped, and what stands in front of them for a moment.

use std::time::{Duration, Instant};

use serde_json::Value;

use super::agents_records::id_of;
use super::agents_world::Agents;
use super::support::{wait_for, wait_or_tell};

#[test]
fn of_two_agents_one_after_the_other_the_last_is_the_panes() {
    let agents = Agents::recorded(&["claude", "codex"]);
    let first = agents.talk("one", "claude", "the first");
    agents.leave("one", "/exit");
    agents.wait_ended("one", "user");
    agents.type_line("one", "codex --no-daemon 'the second'");
    let bound = agents.wait_bound("one", "the second", |agent| agent["kind"] == "codex" && agent["prompted"] == true);
    assert!(bound["ended"].is_null());
    assert_eq!(agents.earlier("one"), [first.as_str()]);
    let second = id_of(&bound);
    agents.crash_with("one");
    agents.wait_verdict("one", "needs_confirmation");
    let step = agents.world.step("one")["agents"][0].clone();
    assert_eq!((&step["kind"], &step["id"]), (&Value::from("codex"), &Value::from(second)));
}

#[test]
fn an_agent_that_is_stopped_or_behind_another_program_is_kept() {
    let agents = Agents::recorded(&["claude", "codex"]);
    let claude = agents.talk("one", "claude", "the first");
    let kept = |what: &str| {
        let began = Instant::now();
        wait_for("looks for longer than the grace", || {
            agents.world.look();
            (began.elapsed() > Duration::from_secs(1)).then_some(())
        });
        let bound = agents.pane("one")["agent"].clone();
        assert_eq!((id_of(&bound), bound["ended"].is_null(), bound["missing"].is_null()), (claude.clone(), true, true), "{what}: {bound}");
    };
    agents.type_line("one", "!sleep 1");
    kept("a program of its own");
    agents.press_until("one", "C-z", "a stopped one", || agents.screen("one").contains("Stopped").then_some(()));
    kept("it is stopped");
    agents.type_line("one", "sleep 1");
    kept("another program is in front");
    // Another agent meanwhile.
    agents.type_line("one", "codex --no-daemon 'the second'");
    let codex = id_of(&agents.wait_bound("one", "the second", |agent| agent["kind"] == "codex" && agent["prompted"] == true));
    agents.leave("one", "/quit");
    agents.wait_ended("one", "gone");
    agents.type_line("one", "fg");
    agents.wait_bound("one", "the first again", |agent| agent["kind"] == "claude" && agent["ended"].is_null());
    kept("in front again");
    assert_eq!(agents.earlier("one"), [codex.as_str()]);
    agents.say("one", "again", "ACK 2: again");
    kept("it goes on");
}

#[test]
fn what_a_claude_sends_to_the_background_takes_no_pane() {
    let agents = Agents::recorded(&["claude", "codex"]);
    agents.overhear();
    let claude = agents.talk("one", "claude", "the first");
    let kept = |what: &str| {
        agents.world.look();
        let bound = agents.pane("one")["agent"].clone();
        assert_eq!((id_of(&bound), bound["ended"].is_null(), agents.earlier("one").len()), (claude.clone(), true, 0), "{what}: {bound}");
    };
    agents.command("one", "/fork say it", |_| agents.api.prompts().iter().any(|said| said.contains("say it")));
    let of_fork = || agents.reports("claude", "UserPromptSubmit").into_iter().find(|report| report["session_id"] != claude.as_str());
    // Its prompt went out behind its hook.
    wait_or_tell(|| agents.screen("one"), of_fork);
    kept("a fork in the background");
    agents.press_until("one", "Left", "the list of sessions", || agents.screen("one").contains("moved to the background").then_some(()));
    kept("it shows the list of sessions");
}
