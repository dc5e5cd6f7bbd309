//! The conversation in a pane changes while its agent lives on: the record follows, and forgets none.

use serde_json::Value;

use super::agents_records::id_of;
use super::agents_world::Agents;

/// Each way in which another conversation comes to run in Claude Code.
fn follow_claude(agents: &Agents) {
    let first = agents.talk("one", "claude", "the first");
    agents.type_line("one", "/branch");
    let branch = agents.wait_other("one", &first);
    assert_eq!(agents.earlier("one"), [first.as_str()]);
    agents.say("one", "on the branch", "ACK 2: on the branch");
    agents.type_line("one", &format!("/resume {first}"));
    assert_eq!(agents.wait_other("one", &branch), first);
    assert_eq!(agents.earlier("one"), [branch.as_str()]);
    agents.say("one", "on the trunk", "ACK 2: on the trunk");
    agents.type_line("one", "/compact");
    agents.wait_shown("one", "Compacted");

    agents.run("two", &format!("claude --resume {first} --fork-session"));
    let fork = id_of(&agents.wait_bound("two", "a conversation of its own", |_| true));
    assert!(fork != first && fork != branch);
    agents.say("two", "on the fork", "ACK 2: on the fork");
    agents.wait_bound("two", "its prompt", |agent| agent["prompted"] == true && agent["id"] == fork.as_str());
    assert_eq!(agents.earlier("two"), Vec::<String>::new());
    let bound = agents.pane("one")["agent"].clone();
    assert_eq!((&bound["id"], bound["ended"].is_null(), agents.earlier("one")), (&Value::from(first), true, vec![branch]));

    // The fork is no second process on the conversation that it was made from.
    agents.kill_agent("one");
    agents.wait_ended("one", "died");
    agents.wait_verdict("one", "needs_confirmation");
    agents.crash_with("two");
    for session in ["one", "two"] {
        agents.wait_verdict(session, "needs_confirmation");
    }
}

/// Each way in which another conversation comes to run in Codex.
fn follow_codex(agents: &Agents, program: &str) {
    let first = agents.talk("one", program, "the first");
    agents.command("one", "/new", |screen| !screen.contains("the first"));
    agents.say("one", "the second", "ACK 1: the second");
    let second = agents.wait_other("one", &first);
    assert_eq!(agents.earlier("one"), [first.as_str()]);
    agents.command("one", "/fork", |screen| screen.contains("Fork created"));
    agents.say("one", "on the fork", "ACK 2: on the fork");
    let fork = agents.wait_other("one", &second);
    assert_eq!(agents.earlier("one"), [second.as_str(), first.as_str()]);
    agents.command("one", "/compact", |screen| screen.contains("Context compacted"));
    agents.say("one", "after it", ": after it");
    agents.world.look();
    let bound = agents.pane("one")["agent"].clone();
    assert_eq!((id_of(&bound), bound["ended"].is_null(), agents.earlier("one")), (fork, true, vec![second, first]));
}

#[test]
fn claude_is_followed_by_its_reports() {
    let agents = Agents::recorded(&["claude"]);
    follow_claude(&agents);
}

#[test]
fn claude_is_followed_by_looks_alone() {
    let agents = Agents::recorded(&[]);
    follow_claude(&agents);
}

#[test]
fn codex_is_followed_in_its_own_process() {
    let agents = Agents::recorded(&["codex"]);
    follow_codex(&agents, "codex --no-daemon");
}

#[test]
fn codex_is_followed_behind_its_shared_server() {
    let agents = Agents::recorded(&["codex"]);
    follow_codex(&agents, "codex");
}

#[test]
fn a_new_conversation_in_a_resumed_codex_of_the_shared_server_is_followed() {
    let agents = Agents::recorded(&["codex"]);
    let first = agents.talk("one", "codex", "the first");
    agents.crash_with("one");
    agents.run("two", &format!("codex resume {first}"));
    agents.wait_bound("two", "it again", |agent| agent["id"] == first.as_str());
    agents.say("two", "the second", "ACK 2: the second");
    agents.command("two", "/new", |screen| !screen.contains("the first"));
    agents.say("two", "the third", "ACK 1: the third");
    agents.wait_other("two", &first);
    assert_eq!(agents.earlier("two"), [first.as_str()]);
}

#[test]
fn of_two_codex_in_one_directory_the_name_in_the_title_tells_which_goes_on_with_another() {
    let agents = Agents::recorded(&["codex"]);
    let first = agents.talk("one", "codex", "the first");
    agents.run("two", "codex 'the second'");
    agents.wait_shown("two", "ACK 1: the second");
    // Its prompt alone can't tell which of them it is.
    agents.command("one", "/new", |screen| !screen.contains("the first"));
    agents.say("one", "the third", "ACK 1: the third");
    agents.wait_other("one", &first);
    assert!(agents.pane("two")["agent"].is_null());
    agents.say("two", "the fourth", "ACK 2: the fourth");
    let second = id_of(&agents.wait_bound("two", "what its title names", |agent| agent["prompted"] == true));
    for (session, prompt) in [("one", "the third"), ("two", "the second")] {
        let bound = agents.pane(session)["agent"].clone();
        let transcript = std::fs::read_to_string(bound["transcript"].as_str().unwrap()).unwrap();
        assert!(transcript.contains(prompt), "{session}: {bound}");
    }
    assert!(agents.earlier("one") == [first.as_str()] && second != first);
}
