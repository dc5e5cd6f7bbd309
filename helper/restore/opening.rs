//! How each pane opens: where, and with what.

use std::collections::{HashMap, HashSet};

use super::situation::{is_dir, resolve};
use crate::display::command;
use crate::model::{Pane, RawText, Run, Shell, is_id};
use crate::record::is_named;
use crate::tmux::{arg, double_hash, own_command};

/// What a pane opens with.
#[derive(Debug, PartialEq, Eq)]
pub enum Start<'a> {
    /// The user's shell.
    Shell,
    /// The command that it was started with: shown, and run when the user asks for it.
    Command(&'a Run),
    /// The program that ran in it, as argv.
    Program(&'a [RawText]),
}

/// What a pane opens with, as its record and the user's list of programs have it now.
pub fn start<'a>(pane: &'a Pane, programs: &[String]) -> Start<'a> {
    match (&pane.run, pane.argv.first()) {
        (Some(run), _) => Start::Command(run),
        (None, Some(program)) if is_named(program, programs) => Start::Program(&pane.argv),
        _ => Start::Shell,
    }
}

/// How many commands of one shell are told.
const COMMANDS_TOLD: usize = 3;

/// Says which of a shell's panes wait with which commands; `None` if none do.
pub(super) fn waiting(shell: &Shell) -> Option<String> {
    let runs: Vec<&Run> = shell.panes().filter_map(|pane| pane.run.as_ref()).collect();
    let mut told: Vec<String> = runs.iter().map(|run| format!("`{}`", command(run))).collect();
    told.dedup();
    let more = told.len().saturating_sub(COMMANDS_TOLD);
    told.truncate(COMMANDS_TOLD);
    let told = if more > 0 { format!("{} and {more} more", told.join(", ")) } else { told.join(", ") };
    match runs.len() {
        0 => None,
        1 => Some(format!("1 pane waits with its command, {told}: Enter there runs it")),
        number => Some(format!("{number} panes wait with their commands, {told}: Enter there runs them")),
    }
}

/// Where a pane opens, and what Sidecar starts in it.
pub(super) struct Opening {
    pub(super) dir: RawText,
    /// Empty for the user's shell.
    command: Vec<String>,
}

impl Opening {
    /// Its part of the command that makes the pane. Of what was recorded only the directory stands in it.
    pub(super) fn words(&self) -> String {
        let words = self.command.iter().map(|word| format!(" {}", arg(word.as_bytes())));
        format!("-c {}{}", arg(&double_hash(self.dir.as_bytes())), words.collect::<String>())
    }

    /// Whether it is what a session in this directory opens with by itself.
    pub(super) fn is_plain_in(&self, dir: &RawText) -> bool {
        self.command.is_empty() && self.dir == *dir
    }
}

/// How the panes of a shell open, by their ids.
pub(super) type Openings = HashMap<String, Opening>;

/// How each pane opens, checked now. `helper` is this program's own path.
/// `resumed` are the panes whose conversations are opened again; `has_text` tells the panes above whose prompt old text is shown.
pub(super) fn openings(
    shell: &Shell,
    programs: &[String],
    resumed: &HashSet<&str>,
    has_text: &dyn Fn(&str) -> bool,
    helper: &str,
) -> Openings {
    let opening = |pane: &Pane| {
        let command = match &pane.id {
            id if !is_id(id) => Vec::new(),
            id if resumed.contains(id.as_str()) => own_command(helper, &["agent", "resume", id]),
            id if start(pane, programs) != Start::Shell || has_text(id) => own_command(helper, &["pane", "start", id]),
            _ => Vec::new(),
        };
        Opening { dir: pane_dir(shell, pane), command: command.into_iter().map(str::to_owned).collect() }
    };
    shell.panes().map(|pane| (pane.id.clone(), opening(pane))).collect()
}

/// The directory to open a pane in: the recorded one, by the user's own path where it still leads there, else the shell's.
fn pane_dir(shell: &Shell, pane: &Pane) -> RawText {
    if let Some(logical) = &pane.logical_dir {
        if resolve(logical.as_path()).is_some_and(|real| real == pane.dir.as_path()) {
            return logical.clone();
        }
    }
    if is_dir(pane.dir.as_path()) { pane.dir.clone() } else { shell.work_dir.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_waits_and_a_program_starts_while_the_user_names_it() {
        let run = Run::Line("make serve".into());
        let pane = |run: Option<&Run>, argv: &[&str]| Pane {
            run: run.cloned(),
            argv: argv.iter().map(|&word| word.into()).collect(),
            ..Pane::default()
        };
        let listed = ["vim".to_owned()];
        assert_eq!(start(&pane(None, &["/usr/bin/vim", "x"]), &listed), Start::Program(&["/usr/bin/vim".into(), "x".into()]));
        assert_eq!(start(&pane(None, &["/usr/bin/vim", "x"]), &[]), Start::Shell);
        assert_eq!(start(&pane(None, &[]), &listed), Start::Shell);
        assert_eq!(start(&pane(Some(&run), &["vim"]), &listed), Start::Command(&run));
    }

    use crate::model::Window;

    #[test]
    fn nothing_recorded_but_the_directory_stands_in_a_command_for_tmux() {
        let pane = |id: &str| Pane { id: id.into(), run: Some(Run::Line("SECRET".into())), dir: "/no#{x}".into(), ..Pane::default() };
        let shell = |id: &str| Shell {
            work_dir: "/#{pid}".into(),
            windows: vec![crate::model::Window { panes: vec![pane(id)], ..crate::model::Window::default() }],
            ..Shell::default()
        };
        let words = |id: &str| openings(&shell(id), &[], &HashSet::new(), &|_| true, "/it's/sidecar")[id].words();
        let told = words("pn-1234");
        assert!(
            told.starts_with("-c \"/##{pid}\" \"/bin/sh\" \"-c\" ")
                && told.ends_with("\"/it\\047s/sidecar\" \"pane\" \"start\" \"pn-1234\""),
            "{told}"
        );
        assert!(!told.contains("SECRET"));
        let resumed = openings(&shell("pn-1234"), &[], &HashSet::from(["pn-1234"]), &|_| true, "/sidecar")["pn-1234"].words();
        assert!(resumed.ends_with("\"/sidecar\" \"agent\" \"resume\" \"pn-1234\""), "{resumed}");
        assert_eq!(words("$(x)"), "-c \"/##{pid}\"");
        let plain = Shell {
            windows: vec![Window { panes: vec![Pane { id: "pn-1234".into(), ..Pane::default() }], ..Window::default() }],
            ..Shell::default()
        };
        for (has_text, own) in [(false, false), (true, true)] {
            let words = openings(&plain, &[], &HashSet::new(), &|_| has_text, "/sidecar")["pn-1234"].words();
            assert_eq!(words.contains("pane"), own, "{words}");
        }
    }
}
