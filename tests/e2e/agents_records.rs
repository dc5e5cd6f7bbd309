//! The real agents in a world that is recorded, and what the records tell of them.

use serde_json::Value;

use super::agents_world::Agents;
use super::support::{World, is_alive, wait_for, wait_or_tell};

impl Agents {
    /// A world that is recorded, with a grace of half a second, and with the hooks of these agents.
    pub fn recorded(hooks: &[&str]) -> Self {
        let world = World::bare();
        // A login shell may ask and set what it likes.
        world.configure("set -g @sidecar-grace 0.5\nset -g @sidecar-interval 0.5\nset -g default-command /bin/sh\n");
        let agents = Self::in_world(world);
        agents.install(hooks);
        agents
    }

    /// Installs the hooks of these agents, which do not ask for trust then.
    #[track_caller]
    pub fn install(&self, kinds: &[&str]) {
        for &kind in kinds {
            let trust: &[&str] = if kind == "codex" { &["--trust"] } else { &[] };
            self.sidecar(&[&["agent", "integration", "install", kind], trust].concat()).ok();
        }
    }

    /// Ends the server, and waits for the end of this session's agent, too.
    #[track_caller]
    pub fn crash_with(&self, session: &str) {
        let pid = self.bound_pid(session);
        self.world.crash();
        self.world.wait_gone(pid);
    }

    /// Runs a line in the shell of a new session of this name.
    pub fn run(&self, session: &str, line: &str) {
        let mut args: Vec<String> = ["new-session", "-d", "-x", "140", "-y", "45", "-s", session, "-c"].map(str::to_owned).to_vec();
        args.push(self.work.display().to_string());
        for (name, value) in self.variables() {
            // A pane's PATH is that of the client that made it.
            let name = if name == "PATH" { "AGENTS" } else { name };
            args.extend(["-e".to_owned(), format!("{name}={value}")]);
        }
        self.world.tmux(args).ok();
        wait_for("a prompt", || (!self.screen(session).trim().is_empty()).then_some(()));
        // A Ctrl-D that comes when the agent has ended already must not end the shell, and its session.
        self.type_line(session, &format!("set -o ignoreeof; PATH=$AGENTS; {line}"));
    }

    pub fn type_line(&self, session: &str, line: &str) {
        self.world.tmux(["send-keys", "-t", &format!("={session}:"), "-l", line]).ok();
        self.world.tmux(["send-keys", "-t", &format!("={session}:"), "Enter"]).ok();
    }

    /// The record of a session's pane.
    pub fn pane(&self, session: &str) -> Value {
        let state = self.world.state();
        let shell = state["shells"].as_array().into_iter().flatten().find(|shell| shell["session"] == session);
        shell.map_or(Value::Null, |shell| shell["windows"][0]["panes"][0].clone())
    }

    /// Waits for a binding of this session's pane, and gives it.
    #[track_caller]
    pub fn wait_bound(&self, session: &str, what: &str, fits: impl Fn(&Value) -> bool) -> Value {
        let told = || {
            let lines: Vec<String> = self.world.log().lines().filter(|line| line.contains("report")).map(str::to_owned).collect();
            format!("{what} in {session}: {:#}\n{}\n{}", self.pane(session), lines.join("\n"), self.screen(session))
        };
        wait_or_tell(told, || Some(self.pane(session)["agent"].clone()).filter(|agent| agent["id"].is_string() && fits(agent)))
    }

    /// Waits until a pane's binding has an end for this reason.
    #[track_caller]
    pub fn wait_ended(&self, session: &str, reason: &str) {
        self.wait_bound(session, reason, |agent| agent["ended"]["reason"] == reason);
    }

    /// Starts Claude Code and sends a first prompt; gives the conversation's id.
    #[track_caller]
    pub fn talk(&self, session: &str, program: &str, prompt: &str) -> String {
        self.run(session, &format!("{program} '{prompt}'"));
        self.wait_shown(session, &format!("ACK 1: {prompt}"));
        id_of(&self.wait_bound(session, "a prompted conversation", |agent| agent["prompted"] == true))
    }

    /// The process that a pane is bound to.
    pub fn bound_pid(&self, session: &str) -> i32 {
        i32::try_from(self.pane(session)["agent"]["process"]["pid"].as_i64().unwrap()).unwrap()
    }

    /// Ends a pane's agent alone, by SIGKILL.
    #[track_caller]
    pub fn kill_agent(&self, session: &str) {
        let pid = self.bound_pid(session);
        self.world.signal(pid, "KILL");
        self.world.wait_gone(pid);
    }

    /// Waits until this is the reason of the verdict on a session's only agent.
    #[track_caller]
    pub fn wait_verdict(&self, session: &str, reason: &str) {
        let told = || format!("{reason}: {:?} {:#}\n{}", self.world.agent_verdict(session), self.pane(session), self.screen(session));
        wait_or_tell(told, || (self.world.agent_verdict(session).1 == reason).then_some(()));
    }

    /// Types a command of the agent's and presses Enter until its screen shows that it was carried out.
    #[track_caller]
    pub fn command(&self, session: &str, command: &str, done: impl Fn(&str) -> bool) {
        self.world.tmux(["send-keys", "-t", &format!("={session}:"), "-l", command]).ok();
        self.wait_shown(session, command);
        self.press_until(session, "Enter", command, || done(&self.screen(session)).then_some(()));
    }

    pub fn said_in_the_log(&self, text: &str) -> bool {
        self.world.log().contains(text)
    }

    /// The entries of the journal about conversations.
    pub fn changes(&self) -> Vec<String> {
        let journal = std::fs::read_to_string(self.world.store().unwrap().join("journal.jsonl")).unwrap_or_default();
        let entries = journal.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        entries.filter_map(|entry| entry["what"].as_str().map(str::to_owned)).collect()
    }

    /// Leaves a pane's agent by a command of its own or a key, as its user would.
    #[track_caller]
    pub fn leave(&self, session: &str, way: &str) {
        let pid = self.bound_pid(session);
        if way.starts_with('/') {
            return self.command(session, way, |_| !is_alive(pid));
        }
        // It may ask for the key once more, for a moment.
        let asked = || (!is_alive(pid) || self.screen(session).contains("again to exit")).then_some(());
        self.press_until(session, way, "a second question", asked);
        self.press_until(session, way, "the end", || (!is_alive(pid)).then_some(()));
    }

    /// Waits until the pane is bound to another conversation than this one, and gives its id.
    #[track_caller]
    pub fn wait_other(&self, session: &str, id: &str) -> String {
        let bound = self.wait_bound(session, "another conversation", |agent| agent["id"] != id);
        assert!(bound["ended"].is_null(), "{bound}");
        id_of(&bound)
    }

    /// The ids in a pane's history.
    pub fn earlier(&self, session: &str) -> Vec<String> {
        self.pane(session)["history"].as_array().into_iter().flatten().map(id_of).collect()
    }
}

pub fn id_of(binding: &Value) -> String {
    binding["id"].as_str().unwrap().to_owned()
}
