//! Where an agent works is where its process is, which need not be where it was started.

use std::path::Path;

use serde_json::Value;

use super::agents_world::Agents;
use super::support::Said;

const ENTER: [&str; 2] = [r#"use ToolSearch {"query":"select:EnterWorktree"}"#, r#"use EnterWorktree {"name":"later"}"#];

impl Agents {
    /// Makes a repository with one commit of the agents' folder.
    fn repository(&self) {
        let mut git = self.world.command("/bin/sh");
        let script = "git init -qb main && git -c user.name=x -c user.email=x@localhost commit -q --allow-empty -m first";
        git.args(["-c", script]).current_dir(&self.work);
        Said::of(&git.output().unwrap()).ok();
    }

    /// Waits until a pane's Claude Code is recorded in this directory, with its only transcript in the folder of that one; gives the binding.
    #[track_caller]
    fn wait_dir(&self, session: &str, dir: &Path) -> Value {
        let is_there = |agent: &Value| match self.transcripts("claude", agent["id"].as_str().unwrap()).as_slice() {
            [only] => agent["transcript"] == only.to_str().unwrap(),
            _ => false,
        };
        self.wait_bound(session, "its directory and transcript", |agent| agent["dir"] == dir.to_str().unwrap() && is_there(agent))
    }

    /// Resumes the agent of a session, whose server has died, by the line that is told; it remembers `prompts` prompts.
    #[track_caller]
    fn resume_where_it_was(&self, session: &str, dir: &Path, prompts: u32) {
        self.crash_with(session);
        assert_eq!(self.world.step(session)["agents"][0]["workDir"], dir.to_str().unwrap());
        let rows = self.sidecar(&["agent", "status", "--json"]).json()["agents"].as_array().unwrap().clone();
        let line = rows[0]["resume"].as_str().unwrap();
        assert!(line.starts_with(&format!("cd {} && ", dir.display())), "{line}");
        self.run("again", line);
        self.wait_bound("again", "the same conversation", |agent| agent["id"] == rows[0]["id"]);
        self.say("again", "once more", &format!("ACK {}: once more", prompts + 1));
        self.wait_bound("again", "its directory", |agent| agent["dir"] == dir.to_str().unwrap());
    }
}

fn enter_a_worktree(agents: &Agents) {
    agents.repository();
    agents.talk("one", "claude", "the first");
    for (number, prompt) in ENTER.into_iter().enumerate() {
        agents.say("one", prompt, &format!("ACK {}: ", number + 2));
    }
    let later = agents.work.join(".claude/worktrees/later");
    assert_eq!(agents.wait_dir("one", &later)["launchDir"], agents.work.to_str().unwrap());
    agents.say("one", "within", "ACK 4: within");
    assert_eq!(agents.wait_dir("one", &later)["launchDir"], agents.work.to_str().unwrap());
    agents.resume_where_it_was("one", &later, 4);
}

#[test]
fn a_worktree_that_claude_enters_is_where_it_goes_on() {
    let agents = Agents::recorded(&["claude"]);
    enter_a_worktree(&agents);
}

#[test]
fn a_worktree_that_claude_enters_is_seen_without_a_hook() {
    let agents = Agents::recorded(&[]);
    enter_a_worktree(&agents);
}

#[test]
fn a_worktree_that_claude_is_started_in_is_where_it_goes_on() {
    let agents = Agents::recorded(&["claude"]);
    agents.repository();
    agents.talk("one", "claude --worktree other --model sonnet", "the first");
    let other = agents.work.join(".claude/worktrees/other");
    let bound = agents.wait_dir("one", &other);
    // It would make another one.
    assert_eq!(bound["flags"], serde_json::json!(["--model=sonnet"]));
    agents.resume_where_it_was("one", &other, 1);
}

#[test]
fn a_directory_that_claude_moves_to_is_where_it_goes_on() {
    let agents = Agents::recorded(&["claude"]);
    agents.talk("one", "claude", "the first");
    let deep = agents.work.join("deep");
    std::fs::create_dir(&deep).unwrap();
    agents.type_line("one", "/cd deep");
    assert_eq!(agents.wait_dir("one", &deep)["launchDir"], agents.work.to_str().unwrap());
    agents.say("one", "within", "ACK 2: within");
    // The next conversation in the same process began there.
    let old = agents.pane("one")["agent"]["id"].clone();
    agents.type_line("one", "/clear");
    agents.wait_bound("one", "another conversation", |agent| agent["id"] != old);
    agents.say("one", "anew", "ACK 1: anew");
    agents.wait_dir("one", &deep);
    agents.resume_where_it_was("one", &deep, 1);
}

/// Resumed from elsewhere, Codex asks, and by default goes on where the conversation did; its process stays where it was started.
fn resume_from_elsewhere(program: &str) {
    let agents = Agents::recorded(&["codex"]);
    let first = agents.talk("one", program, "the first");
    agents.leave("one", "/quit");
    agents.wait_ended("one", "gone");
    std::fs::create_dir(agents.work.join("other")).unwrap();
    agents.type_line("one", &format!("cd other && {program} resume {first}"));
    agents.wait_shown("one", "Use session directory");
    let asks = || agents.screen("one").contains("Use session directory");
    agents.press_until("one", "Enter", "the answer", || (!asks()).then_some(()));
    let here = |agent: &Value| agent["dir"] == agents.work.to_str().unwrap() && agent["ended"].is_null();
    agents.wait_bound("one", "where it was", here);
    agents.say("one", "the second", "ACK 2: the second");
    agents.wait_bound("one", "a report", |agent| agent["source"] == "hook" && here(agent));
    agents.command("one", "/new", |screen| !screen.contains("the first"));
    agents.say("one", "the third", "ACK 1: the third");
    agents.wait_other("one", &first);
    agents.world.look();
    agents.resume_where_it_was("one", &agents.work, 1);
}

#[test]
fn a_codex_that_is_resumed_from_elsewhere_works_where_its_conversation_did() {
    resume_from_elsewhere("codex --no-daemon");
}

#[test]
fn a_codex_of_the_shared_server_that_is_resumed_from_elsewhere_works_where_its_conversation_did() {
    resume_from_elsewhere("codex");
}
