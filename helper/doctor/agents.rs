//! Agents: their hooks, and whether their programs are found.

use super::facts::{Facts, Hook, Program};
use super::{Finding, Mend};
use crate::agents::integration::State;

pub(super) fn findings(facts: &Facts) -> Vec<Finding> {
    facts.hooks.iter().filter_map(finding).chain(programs(&facts.programs)).collect()
}

fn finding(hook: &Hook) -> Option<Finding> {
    let Hook { kind, title, is_found, status } = hook;
    let id = format!("integration_{kind}");
    let what =
        |what: &str| if status.detail.is_empty() { format!("{title}: {what}") } else { format!("{title}: {what}: {}", status.detail) };
    let unknown = "which conversation runs in a pane is told late or not at all";
    Some(match status.state {
        // Who does not use an agent needs no hook in it.
        State::NotInstalled if !is_found => return None,
        State::NotInstalled => Finding::note(id, what("its hook is not installed"), unknown, status.hint.clone()),
        State::Installed if status.detail.is_empty() => Finding::ok(id, what("its hook is installed")),
        State::Installed => {
            Finding::note(id, what("its hook is installed"), "it may not be the helper that you mean, or not be trusted", "")
        }
        State::NeedsRepair => {
            Finding::problem(id, what("its hook is damaged"), unknown, status.hint.clone()).mended_by(Mend::Repair(kind.clone()))
        }
        State::NotTrusted => Finding::problem(id, what("its hook is not trusted"), unknown, status.hint.clone()),
        State::Disabled => Finding::problem(id, what("its hooks are off"), unknown, status.hint.clone()),
        State::Unreadable => Finding::problem(id, what("its settings can't be read"), unknown, status.hint.clone()),
    })
}

fn programs(programs: &[Program]) -> Vec<Finding> {
    const ID: &str = "server_path";
    let told = [Some(true), Some(false), None].into_iter().filter_map(|answer| {
        let lacking = programs.iter().filter(|program| !program.on_path && program.by_login_shell == answer);
        let names = lacking.map(|program| program.name.as_str()).collect::<Vec<_>>().join(", ");
        (!names.is_empty()).then(|| match answer {
            Some(true) => Finding::note(
                ID,
                format!("the server's PATH does not have {names}, and your login shell's does"),
                "a resume goes through the login shell, and finds it; what else starts it in tmux may not",
                "start tmux from your login shell, or set PATH in tmux.conf: set-environment -g PATH …",
            ),
            Some(false) => Finding::problem(
                ID,
                format!("neither the server's PATH nor your login shell's has {names}, whose conversations are recorded"),
                "they can't be resumed",
                format!("install {names}, or put the folder on PATH in your shell's start-up files"),
            ),
            None => Finding::problem(
                ID,
                format!("the server's PATH does not have {names}, whose conversations are recorded"),
                "your login shell could not be asked; without it they can't be resumed",
                "set PATH in tmux.conf: set-environment -g PATH …",
            ),
        })
    });
    let told: Vec<Finding> = told.collect();
    if told.is_empty() && !programs.is_empty() { vec![Finding::ok(ID, "the agents that are recorded are found")] } else { told }
}
