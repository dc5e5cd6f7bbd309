//! How an agent ends decides whether it comes back: one that its user left stays away, one that died comes back.

use serde_json::Value;

use super::agents_world::Agents;
use super::support::{wait_for, wait_or_tell};

const CLAUDE: &str = "claude";
const CODEX: &str = "codex --no-daemon";
const SHARED: &str = "codex";

impl Agents {
    /// Three agents in three sessions die with their server, and come back, whether another one runs or not.
    #[track_caller]
    fn survive(&self, kill: impl FnOnce(&Self)) {
        let names = ["one", "two", "three"];
        let ids: Vec<String> = names.iter().zip([CLAUDE, CODEX, SHARED]).map(|(name, program)| self.talk(name, program, name)).collect();
        let pids: Vec<i32> = names.iter().map(|name| self.bound_pid(name)).collect();
        let server = self.world.remember_server().unwrap();
        kill(self);
        self.world.wait_gone(server);
        for pid in pids {
            self.world.wait_gone(pid);
        }
        for new_server in [false, true] {
            if new_server {
                self.world.tmux(["new-session", "-d", "-s", "after"]).ok();
                wait_for("a look", || self.world.recorded().contains(&"after".to_owned()).then_some(()));
                self.world.look();
            }
            for (name, id) in names.iter().zip(&ids) {
                self.wait_verdict(name, "needs_confirmation");
                let bound = self.pane(name)["agent"].clone();
                assert_eq!((&bound["id"], bound["ended"].is_null()), (&Value::from(id.as_str()), true), "{name}: {bound}");
            }
        }
        assert_eq!(self.world.tombstones(), Vec::<String>::new());
    }
}

#[test]
fn agents_whose_server_is_told_to_end_come_back() {
    Agents::recorded(&["claude", "codex"]).survive(|agents| {
        agents.world.tmux(["kill-server"]).ok();
    });
}

#[test]
fn agents_whose_server_is_terminated_come_back() {
    Agents::recorded(&["claude", "codex"]).survive(|agents| agents.world.signal(agents.world.remember_server().unwrap(), "TERM"));
}

#[test]
fn agents_whose_server_is_killed_come_back() {
    Agents::recorded(&["claude", "codex"]).survive(|agents| {
        agents.world.crash();
    });
}

#[test]
fn a_claude_that_its_user_left_stays_away() {
    let agents = Agents::recorded(&["claude", "codex"]);
    let ways = [("one", "/quit"), ("two", "C-d"), ("three", "C-c")];
    for (session, way) in ways {
        agents.talk(session, CLAUDE, session);
        agents.leave(session, way);
        agents.wait_ended(session, "user");
    }
    for alive in [true, false] {
        for (session, _) in ways {
            agents.wait_verdict(session, "ended_by_user");
        }
        if alive {
            agents.world.crash();
        }
    }
}

fn left_codex_stays_away(program: &str) {
    let agents = Agents::recorded(&["claude", "codex"]);
    let id = agents.talk("one", program, "the first");
    for way in ["/quit", "C-d", "C-c"] {
        agents.leave("one", way);
        agents.wait_ended("one", "gone");
        agents.wait_verdict("one", "ended_by_user");
        // Resumed, it is bound before it says anything.
        agents.type_line("one", &format!("{program} resume {id}"));
        agents.wait_bound("one", "it again", |agent| agent["ended"].is_null() && agent["id"] == id.as_str());
        agents.wait_shown("one", "Ask Codex to do anything");
    }
}

#[test]
fn a_codex_that_its_user_left_stays_away() {
    left_codex_stays_away(CODEX);
}

#[test]
fn a_codex_of_the_shared_server_that_its_user_left_stays_away() {
    left_codex_stays_away(SHARED);
}

#[test]
fn a_claude_that_died_alone_comes_back() {
    let agents = Agents::recorded(&["claude", "codex"]);
    for (session, signal) in [("one", "TERM"), ("two", "KILL"), ("three", "HUP")] {
        agents.talk(session, CLAUDE, session);
        agents.world.signal(agents.bound_pid(session), signal);
        agents.wait_ended(session, "died");
        agents.wait_verdict(session, "needs_confirmation");
    }
}

#[test]
fn what_becomes_of_an_agent_whose_pane_or_session_is_closed() {
    let agents = Agents::recorded(&["claude", "codex"]);
    for (session, program) in [("one", CLAUDE), ("two", CODEX)] {
        agents.talk(session, program, session);
        agents.world.tmux(["split-window", "-d", "-t", &format!("={session}:")]).ok();
        let panes = || {
            agents.world.look();
            let state = agents.world.state();
            let shell = state["shells"].as_array().unwrap().iter().find(|shell| shell["session"] == session).cloned();
            shell.map_or(0, |shell| shell["windows"][0]["panes"].as_array().unwrap().len())
        };
        wait_for("two panes", || (panes() == 2).then_some(()));
        // Closed, it is gone from the record, and from that alone.
        let pid = agents.bound_pid(session);
        agents.world.tmux(["kill-pane", "-t", &format!("={session}:.0")]).ok();
        agents.world.wait_gone(pid);
        wait_for("one pane", || (panes() == 1).then_some(()));
        assert!(agents.pane(session)["agent"].is_null());
    }
    // With its session it goes to the shell's tombstone, and comes back with it.
    for (session, program) in [("three", CLAUDE), ("four", SHARED)] {
        let id = agents.talk(session, program, session);
        let pid = agents.bound_pid(session);
        agents.world.tmux(["kill-session", "-t", &format!("={session}")]).ok();
        agents.world.wait_gone(pid);
        wait_or_tell(|| agents.world.log(), || agents.world.tombstones().contains(&session.to_owned()).then_some(()));
        agents.world.sidecar(["shell", "restore", session]).ok();
        agents.wait_verdict(session, "needs_confirmation");
        assert_eq!(agents.pane(session)["agent"]["id"], id.as_str());
    }
}

#[test]
fn an_agent_whose_pane_went_right_before_its_server_comes_back() {
    let agents = Agents::recorded(&["claude", "codex"]);
    agents.world.tmux(["set-option", "-g", "@sidecar-grace", "600"]).ok();
    for (session, program) in [("one", CLAUDE), ("two", CODEX)] {
        agents.talk(session, program, session);
        agents.world.tmux(["split-window", "-d", "-t", &format!("={session}:")]).ok();
        agents.world.look();
        let pid = agents.bound_pid(session);
        agents.world.tmux(["kill-pane", "-t", &format!("={session}:.0")]).ok();
        agents.world.wait_gone(pid);
        agents.world.look();
        assert!(!agents.pane(session)["gone"].is_null(), "{:#}", agents.pane(session));
    }
    agents.world.crash();
    for session in ["one", "two"] {
        agents.wait_verdict(session, "needs_confirmation");
    }
}

#[test]
fn a_codex_that_was_killed_alone_counts_as_left() {
    let agents = Agents::recorded(&["claude", "codex"]);
    agents.talk("one", CODEX, "the first");
    let pid = agents.bound_pid("one");
    // The package's script waits for the program, or becomes it, by the version of Node.
    let children = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap();
    agents.world.signal(children.split_whitespace().next().map_or(pid, |child| child.parse().unwrap()), "KILL");
    agents.wait_ended("one", "gone");
    agents.wait_verdict("one", "ended_by_user");
}

#[test]
fn without_a_hook_a_claude_that_was_left_stays_away_and_one_that_died_comes_back() {
    let agents = Agents::recorded(&[]);
    for session in ["one", "two", "three"] {
        agents.talk(session, CLAUDE, session);
    }
    agents.leave("one", "/exit");
    agents.kill_agent("two");
    agents.wait_ended("one", "gone");
    agents.wait_ended("two", "died");
    agents.crash_with("three");
    for (session, reason) in [("one", "ended_by_user"), ("two", "needs_confirmation"), ("three", "needs_confirmation")] {
        agents.wait_verdict(session, reason);
    }
}
