//! tmux itself: client, server, socket, what its environment and other plugins do.

use super::facts::{Facts, Live};
use super::{Finding, Mend};
use crate::display::age;
use crate::model::{EpochMs, ServerState};
use crate::record::DRIFT;
use crate::tmux::Version;

pub(super) fn findings(facts: &Facts) -> Vec<Finding> {
    let mut found = vec![tmux(facts), server(facts)];
    found.extend(stale_socket(facts));
    if let Some(live) = &facts.live {
        found.extend([environment(live, &facts.tmux), continuum(live), resurrect(live)]);
    }
    found.push(clock(facts));
    found
}

fn tmux(facts: &Facts) -> Finding {
    const ID: &str = "tmux_version";
    let Some(client) = &facts.client else {
        return Finding::problem(ID, "no tmux is found that runs", "nothing can be recorded or restored", "install tmux, or mend PATH");
    };
    match &facts.server.version {
        Some(server) if Version::parse(server) < Version::OLDEST => Finding::problem(
            ID,
            format!("the server is tmux {server}, which is too old"),
            "Sidecar needs 3.2 or newer",
            "update tmux, then start its server anew",
        ),
        None if Version::parse(client) < Version::OLDEST => {
            Finding::problem(ID, format!("tmux is {client}, which is too old"), "Sidecar needs 3.2 or newer", "update tmux")
        }
        Some(server) if server != client => Finding::note(
            ID,
            format!("the client is tmux {client}, the server still {server}"),
            "some commands may not be understood; nothing that can't be asked is taken for gone",
            "start the server anew when it suits you; its sessions can be restored then",
        ),
        Some(_) => Finding::ok(ID, format!("tmux {client}, client and server")),
        None => Finding::ok(ID, format!("tmux {client}")),
    }
}

fn server(facts: &Facts) -> Finding {
    const ID: &str = "server";
    let report = &facts.server;
    let detail = || report.detail.clone().unwrap_or_default();
    match report.state {
        ServerState::Running => Finding::ok(ID, format!("the server runs, pid {}", report.pid.unwrap_or_default())),
        ServerState::Gone => Finding::ok(ID, format!("no server runs at {}", report.socket)),
        ServerState::Unknown => Finding::problem(
            ID,
            detail(),
            "what can't be asked is not recorded, and nothing is restored",
            format!("see whether tmux itself answers: {}ls", facts.tmux),
        ),
        ServerState::Stuck => {
            let why = "its sessions live and can't be reached; nothing is restored beside them";
            let pid = report.pid.unwrap_or_default();
            match &facts.without_socket {
                Some(_) => Finding::problem(ID, detail(), why, format!("kill -USR1 {pid}")).mended_by(Mend::Socket),
                None => Finding::problem(ID, detail(), why, "decide which of the two goes on, as said there"),
            }
        }
    }
}

fn stale_socket(facts: &Facts) -> Option<Finding> {
    let is_stale = facts.server.state == ServerState::Gone && facts.socket_exists;
    is_stale.then(|| {
        Finding::note(
            "stale_socket",
            format!("the socket of a server that is gone lies at {}", facts.server.socket),
            "it does no harm: the next tmux takes its place",
            "",
        )
    })
}

fn environment(live: &Live, tmux: &str) -> Finding {
    const ID: &str = "inherited_variables";
    if live.inherited.is_empty() {
        return Finding::ok(ID, "the server's environment holds no agent's variables");
    }
    let unset = live.inherited.iter().map(|name| format!("{tmux}set-environment -gu {name}")).collect::<Vec<_>>().join("; ");
    Finding::problem(
        ID,
        format!("the server was started by an agent, and its environment holds {}", live.inherited.join(", ")),
        "an agent that you start in a new pane takes itself for a part of that one, and may write no transcript",
        unset,
    )
    .mended_by(Mend::Unset(live.inherited.clone()))
}

fn continuum(live: &Live) -> Finding {
    const ID: &str = "continuum_restore";
    if live.continuum_restore != "on" {
        return Finding::ok(ID, "tmux-continuum does not restore");
    }
    Finding::problem(
        ID,
        "tmux-continuum restores at the start too (@continuum-restore is on)",
        "two tools make the same sessions, and its panes hold no conversations",
        "in tmux.conf: set -g @continuum-restore off",
    )
}

fn resurrect(live: &Live) -> Finding {
    const ID: &str = "resurrect_processes";
    let started = agents_started(&live.resurrect_processes, &live.agent_programs);
    if started.is_empty() {
        return Finding::ok(ID, "tmux-resurrect starts no agent");
    }
    Finding::problem(
        ID,
        format!("tmux-resurrect starts {} in restored panes (@resurrect-processes)", started.join(", ")),
        "that is a bare new conversation in the place of the one that was there",
        format!("in tmux.conf: take {} out of @resurrect-processes", started.join(", ")),
    )
}

/// The agents that such a value starts. It holds words, some in double quotes: a program, `~` for any place in the command line, and
/// what runs instead behind `->`; or `:all:`.
fn agents_started(value: &str, agents: &[String]) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quoted = false;
    for c in value.chars() {
        match c {
            '"' => quoted = !quoted,
            c if c.is_whitespace() && !quoted => words.push(String::new()),
            c => words.last_mut().expect("there is one from the start").push(c),
        }
    }
    if words.iter().any(|word| word == ":all:") {
        return vec!["every program (:all:)".to_owned()];
    }
    let names = words.iter().filter_map(|word| {
        let run = word.split("->").next()?.trim_start_matches('~').split_whitespace().next()?;
        run.rsplit('/').next()
    });
    let names: Vec<&str> = names.collect();
    agents.iter().filter(|agent| names.contains(&agent.as_str())).cloned().collect()
}

fn clock(facts: &Facts) -> Finding {
    const ID: &str = "clock";
    let ahead = |at: EpochMs| at > facts.now.saturating_add(DRIFT);
    let read = facts.records.read.as_ref().ok();
    let future = [read.and_then(|read| read.latest), facts.records.last_look].into_iter().flatten().max().filter(|&at| ahead(at));
    if let Some(at) = future {
        return Finding::problem(
            ID,
            format!("the records are of a time that is {} ahead", age(facts.now, at)),
            "the clock is wrong now or was then; until it has passed that time nothing expires, and ages are wrong",
            "set the clock: timedatectl shows how it is set",
        );
    }
    let apart = facts.live.as_ref().and_then(|live| Some((live.started, live.process_started?)));
    match apart {
        Some((said, kernel)) if said.abs_diff(kernel) > DRIFT => Finding::note(
            ID,
            format!("the clock was changed by {} since the server started", age(0, said.abs_diff(kernel))),
            "ages before that are wrong by as much; nothing is lost",
            "",
        ),
        _ => Finding::ok(ID, "the clock is not behind the records"),
    }
}

#[cfg(test)]
mod tests {
    use super::agents_started;

    #[test]
    fn agents_are_found_in_what_resurrect_starts() {
        let agents = ["claude".to_owned(), "codex".to_owned()];
        for (value, found) in [
            ("", &[][..]),
            ("vim ssh", &[]),
            ("claude-squad mycodex", &[]),
            ("ssh claude", &["claude"]),
            ("\"~claude->claude --continue\" vim", &["claude"]),
            ("'codex --yolo'", &[]),
            ("\"codex --yolo\"", &["codex"]),
            ("~/usr/bin/codex", &["codex"]),
            (":all:", &["every program (:all:)"]),
            ("false", &[]),
        ] {
            assert_eq!(agents_started(value, &agents), found, "{value}");
        }
    }
}
