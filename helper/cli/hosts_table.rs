//! One table of what several hosts answered, made from their documents. Pure.

use serde_json::Value;

use super::args::{Command, SessionCommand, ShellCommand};
use super::output::{age, alike, directory, shown, table, told_apart};
use crate::model::{EpochMs, count};

/// What the rows are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Table {
    /// The steps of plans.
    Steps,
    /// Shells.
    Shells,
}

impl Table {
    /// That of a command; `None` for one that prints no table.
    pub(super) fn of(command: &Command) -> Option<Self> {
        match command {
            Command::Session { command: SessionCommand::Status(options) } if !options.json && !options.all_servers => Some(Self::Steps),
            Command::Shell { command: ShellCommand::List(options) } if !options.json => Some(Self::Shells),
            _ => None,
        }
    }

    /// The table of these hosts' documents.
    pub(super) fn text(self, documents: &[(&str, Value)], now: EpochMs) -> String {
        table(documents.iter().flat_map(|(host, document)| self.rows(host, document, now)).collect())
    }

    /// The rows of one host: host, name, state, directory, and what there is to say.
    fn rows(self, host: &str, document: &Value, now: EpochMs) -> Vec<[String; 5]> {
        let (list, state) = match self {
            Self::Steps => ("steps", "action"),
            Self::Shells => ("shells", "status"),
        };
        let one = |said: &str| vec![[shown(host), said.to_owned(), String::new(), String::new(), String::new()]];
        let Some(shells) = document[list].as_array() else { return one("(an answer of another version)") };
        if shells.is_empty() {
            return one("(no shells)");
        }
        let alike = alike(shells.iter().map(|shell| text(shell, "name")));
        let row = |shell: &Value| {
            let last = match self {
                Self::Steps => of_step(shell),
                Self::Shells => of_shell(shell, now),
            };
            let name = told_apart(text(shell, "name"), text(shell, "shell"), &alike);
            [shown(host), name, shown(text(shell, state)), directory(text(shell, "workDir")), last]
        };
        shells.iter().map(row).collect()
    }
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_default()
}

fn number(value: &Value, key: &str) -> usize {
    value[key].as_u64().and_then(|number| usize::try_from(number).ok()).unwrap_or_default()
}

/// As in the plan of one host, but with the agents that could come back in a word.
fn of_step(step: &Value) -> String {
    let size = format!("{}, {}", count(number(step, "windows"), "window"), count(number(step, "panes"), "pane"));
    let mut said = match (text(step, "action"), text(step, "note")) {
        (_, "") => size,
        ("reattach", note) => shown(note),
        (_, note) => format!("{size}; {}", shown(note)),
    };
    let agents = step["agents"].as_array().into_iter().flatten().filter(|agent| text(agent, "verdict") != "no").count();
    if agents > 0 {
        said.push_str(&format!("; {} to resume", count(agents, "agent")));
    }
    said + &policy(step)
}

fn of_shell(shell: &Value, now: EpochMs) -> String {
    let mut parts = Vec::new();
    if let Some(at) = shell["deletedAt"].as_u64() {
        parts.push(format!("{} {} ago", shown(text(shell, "reason")), age(at, now)));
    }
    for agent in shell["agents"].as_array().into_iter().flatten() {
        parts.push(format!("{} {}", shown(text(agent, "kind")), shown(&text(agent, "state").replace('_', " "))));
    }
    parts.join("; ") + &policy(shell)
}

fn policy(shell: &Value) -> String {
    match (text(shell, "policy"), text(shell, "reason")) {
        ("" | "inherit", _) | (_, "policy_never") => String::new(),
        (policy, _) => format!("; policy {}", shown(policy)),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_rows_of_all_hosts_stand_in_the_same_columns() {
        let step = |name: &str, action: &str, note: Value, verdicts: &[&str]| {
            let agents: Vec<Value> = verdicts.iter().map(|verdict| json!({ "verdict": verdict })).collect();
            json!({
                "shell": format!("sh-{name}"), "name": name, "action": action, "workDir": "/w", "windows": 1, "panes": 2,
                "note": note, "agents": agents, "policy": "inherit", "reason": "",
            })
        };
        let one = json!({ "steps": [
            step("api", "recreate-shell", Value::Null, &["ask", "no"]),
            step("a long name", "reattach", "already running".into(), &[]),
        ] });
        let mut two = json!({ "steps": [step("x\u{1b}[31m", "refuse", "its directory is missing".into(), &[])] });
        two["steps"][0]["policy"] = "shell".into();
        let documents = [("web", one), ("db-1", two), ("new", json!({ "steps": [] })), ("old", json!({}))];
        assert_eq!(
            Table::Steps.text(&documents, 0),
            "web    api                              recreate-shell   /w   1 window, 2 panes; 1 agent to resume\n\
             web    a long name                      reattach         /w   already running\n\
             db-1   x\\u{1b}[31m                      refuse           /w   1 window, 2 panes; its directory is missing; policy shell\n\
             new    (no shells)\n\
             old    (an answer of another version)\n"
        );
    }

    #[test]
    fn shells_are_told_as_one_host_tells_them() {
        let shell = |id: &str, status: &str, deleted: Value| {
            let agents = [json!({ "kind": "claude", "state": "not_captured" })];
            json!({ "shell": id, "name": "same", "status": status, "workDir": "/w", "deletedAt": deleted, "reason": "closed", "agents": agents })
        };
        let document = json!({ "shells": [shell("sh-1", "live", Value::Null), shell("sh-2", "forgotten", 1000.into())] });
        assert_eq!(
            Table::Shells.text(&[("web", document)], 1000 + 2 * 3_600_000),
            "web   same (sh-1)   live        /w   claude not captured\n\
             web   same (sh-2)   forgotten   /w   closed 2 h ago; claude not captured\n"
        );
    }
}
