//! In which pane a hook's agent runs, by the tree of processes. Pure.

use super::flags::Run;
use super::lineage::{AgentProcess, Ancestor};

/// Where the agent of a hook is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// In the pane of this process.
    Pane {
        /// The pane's process.
        pane: i32,
        /// The agent: of a wrapper and its child the wrapper.
        agent: Box<AgentProcess>,
    },
    /// Behind a shared server of this agent's, which knows no pane.
    Shared,
}

/// Finds the agent of kind `kind` whose hook has these ancestors, the nearest first. `panes` are the processes of the server's panes.
///
/// # Errors
/// It is no conversation in a pane, and why.
pub fn of(kind: &str, chain: &[Ancestor], panes: &[i32]) -> Result<Place, String> {
    if let Some(daemon) = chain.iter().filter_map(|one| one.agent.as_ref()).find(|agent| agent.run == Run::Daemon) {
        let shared = daemon.kind == kind && kind == "codex";
        return if shared { Ok(Place::Shared) } else { Err(format!("it runs behind a server of {}", daemon.kind)) };
    }
    let Some(end) = chain.iter().position(|one| panes.contains(&one.pid)) else {
        return Err("no pane of this server is among its ancestors".to_owned());
    };
    let mut agents: Vec<&AgentProcess> = Vec::new();
    // A wrapper stands right above its child, which has the same arguments, and is none itself twice.
    let mut single = None;
    for (at, one) in chain[..=end].iter().enumerate() {
        let Some(agent) = &one.agent else { continue };
        let below = at.checked_sub(1).filter(|below| single == Some(*below)).and_then(|at| chain[at].agent.as_ref());
        if agent.wrapper && below.is_some_and(|below| below.kind == agent.kind && below.args == agent.args) {
            agents.pop();
            single = None;
        } else {
            single = Some(at);
        }
        agents.push(agent);
    }
    match agents[..] {
        [] => Err("no agent stands between it and its pane".to_owned()),
        [agent] if agent.kind != kind => Err(format!("{} runs there, not {kind}", agent.kind)),
        [agent] => match agent.run {
            Run::Conversation(_) => Ok(Place::Pane { pane: chain[end].pid, agent: Box::new(agent.clone()) }),
            Run::Headless => Err("nobody sits at it".to_owned()),
            Run::Attached(_) => Err("its conversation runs in the background".to_owned()),
            Run::Background | Run::Daemon => Err("it works in the background".to_owned()),
            Run::Other => Err("it holds no conversation".to_owned()),
        },
        [inner, .., outer] => Err(format!("{} runs inside {}", inner.kind, outer.kind)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agent(pid: i32, kind: &str, run: Run, wrapper: bool) -> Ancestor {
        let agent = AgentProcess {
            pid,
            start_time: 1,
            kind: kind.into(),
            run,
            kept: Some(Vec::new()),
            args: Some(Vec::new()),
            program: None,
            wrapper,
        };
        Ancestor { pid, agent: Some(agent) }
    }

    fn plain(pid: i32) -> Ancestor {
        Ancestor { pid, agent: None }
    }

    #[test]
    fn the_topmost_agent_of_a_pane_is_the_one_that_is_recorded() {
        let talk = || Run::Conversation(None);
        let claude = |pid| agent(pid, "claude", talk(), false);
        for (why, kind, chain, wanted) in [
            ("an agent below a shell", "claude", vec![plain(9), claude(8), plain(5), plain(2), plain(1)], Ok((5, 8))),
            ("an agent as the pane's own program", "claude", vec![plain(9), claude(5), plain(2)], Ok((5, 5))),
            (
                "a wrapper and its child are one",
                "codex",
                vec![plain(9), agent(8, "codex", talk(), false), agent(7, "codex", talk(), true), plain(5)],
                Ok((5, 7)),
            ),
            ("a server that was started by an agent", "claude", vec![plain(9), claude(8), plain(5), plain(2), claude(3)], Ok((5, 8))),
            (
                "a script that runs itself once more is one",
                "gemini",
                vec![plain(9), agent(8, "gemini", talk(), true), agent(7, "gemini", talk(), true), plain(5)],
                Ok((5, 7)),
            ),
            (
                "and in another such one, whose shell it has replaced, it is a second",
                "gemini",
                [9, 8, 7, 6].map(|pid| agent(pid, "gemini", talk(), true)).into_iter().chain([plain(5)]).collect(),
                Err("gemini runs inside gemini"),
            ),
            (
                "an agent in another one of its kind",
                "claude",
                vec![plain(9), claude(8), plain(7), claude(6), plain(5)],
                Err("claude runs inside claude"),
            ),
            (
                "an agent in one of another kind",
                "codex",
                vec![plain(9), agent(8, "codex", talk(), false), claude(6), plain(5)],
                Err("codex runs inside claude"),
            ),
            ("two right above each other are two", "claude", vec![claude(8), claude(6), plain(5)], Err("claude runs inside claude")),
            ("a hook of one agent in another", "codex", vec![plain(9), claude(8), plain(5)], Err("claude runs there, not codex")),
            ("no agent at all", "claude", vec![plain(9), plain(5)], Err("no agent")),
            ("an agent above the pane alone", "claude", vec![plain(9), plain(5), claude(3)], Err("no agent")),
            ("no pane", "claude", vec![plain(9), claude(8), plain(1)], Err("no pane")),
            ("no ancestor", "claude", vec![], Err("no pane")),
            ("headless", "claude", vec![plain(9), agent(8, "claude", Run::Headless, false), plain(5)], Err("nobody sits")),
            ("a background worker", "claude", vec![agent(8, "claude", Run::Background, false), plain(5)], Err("background")),
            ("an attached one", "claude", vec![agent(8, "claude", Run::Attached(None), false), plain(5)], Err("background")),
            ("a login", "claude", vec![agent(8, "claude", Run::Other, false), plain(5)], Err("no conversation")),
            ("a background server of Claude's", "claude", vec![agent(8, "claude", Run::Daemon, false), plain(5)], Err("server of claude")),
            (
                "a hook of Claude's in a server of Codex",
                "claude",
                vec![plain(9), agent(8, "codex", Run::Daemon, false)],
                Err("server of codex"),
            ),
        ] {
            match (of(kind, &chain, &[4, 5]), wanted) {
                (Ok(Place::Pane { pane, agent }), Ok(wanted)) => assert_eq!((pane, agent.pid), wanted, "{why}"),
                (Err(got), Err(wanted)) => assert!(got.contains(wanted), "{why}: {got}"),
                (got, wanted) => panic!("{why}: {got:?}, not {wanted:?}"),
            }
        }
        // Whether the pane that started it is still there or not.
        for rest in [vec![plain(1)], vec![agent(7, "codex", talk(), true), plain(5)]] {
            let chain = [vec![plain(9), agent(8, "codex", Run::Daemon, false)], rest].concat();
            assert_eq!(of("codex", &chain, &[5]), Ok(Place::Shared));
        }
    }
}
