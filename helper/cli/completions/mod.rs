//! `sidecar completions`: scripts for shells, and the targets that they ask for while somebody types.

mod bash_line;
mod fish;
mod place;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{Command, CommandFactory};

use super::Context;
use super::args::{Cli, CompleteCommand, CompletedShell};
use super::output::{print, shown};
use crate::agents::catalog::Catalog;
use crate::agents::integration::Integration;
use crate::error::Result;
use crate::store::Store;
use place::{Named, Place, place};

/// In front of bash's script: asks for targets first. (`compopt` keeps it from offering files where there is none.)
const BASH: &str = r#"_sidecar_or_targets() {
    local words word
    if words="$(command sidecar complete targets --bash "${COMP_LINE:0:COMP_POINT}" --breaks "$COMP_WORDBREAKS" 2>/dev/null)"; then
        compopt +o default +o bashdefault 2>/dev/null
        COMPREPLY=()
        while IFS= read -r word; do
            [ -z "$word" ] || COMPREPLY+=("$word")
        done <<< "$words"
    else
        _sidecar "$@"
    fi
}

"#;

/// In zsh's script. `compadd` quotes what it adds.
const ZSH: &str = r#"
_sidecar_targets() {
    local targets
    targets="$(command sidecar complete targets -- "${(@Q)words[1,CURRENT-1]}" "${(Q)PREFIX}" 2>/dev/null)" || return 1
    [[ -n $targets ]] || return 0
    [[ $PREFIX == --*=* ]] && compset -P '*='
    compadd -- "${(@f)targets}"
    return 0
}
"#;

pub(super) fn script(shell: CompletedShell) -> ExitCode {
    print(&text(shell));
    ExitCode::SUCCESS
}

fn text(shell: CompletedShell) -> String {
    let generated = |shell| generated(shell, visible(&Cli::command()));
    match shell {
        CompletedShell::Bash => {
            BASH.to_owned() + &generated(clap_complete::Shell::Bash).replace("complete -F _sidecar ", "complete -F _sidecar_or_targets ")
        }
        CompletedShell::Zsh => generated(clap_complete::Shell::Zsh)
            .replacen("#compdef sidecar\n", &format!("#compdef sidecar\n{ZSH}"), 1)
            .replacen("\n_sidecar() {\n", "\n_sidecar() {\n    _sidecar_targets && return 0\n", 1),
        CompletedShell::Fish => fish::script(&visible(&Cli::command()), &target_options(&Cli::command())),
    }
}

fn generated(shell: clap_complete::Shell, mut command: Command) -> String {
    let mut out = Vec::new();
    clap_complete::generate(shell, &mut command, "sidecar", &mut out);
    String::from_utf8_lossy(&out).into_owned()
}

/// A command with what help shows of it: the generators also offer what is hidden.
fn visible(command: &Command) -> Command {
    let shown = Command::new(command.get_name().to_owned()).disable_help_subcommand(true);
    let shown = shown.about(command.get_about().cloned().unwrap_or_default()).args(command.get_arguments().cloned());
    shown.subcommands(command.get_subcommands().filter(|inner| !inner.is_hide_set()).map(visible))
}

/// The long options of all commands that take the name of something that lives.
fn target_options(command: &Command) -> Vec<String> {
    let own = command.get_arguments().filter(|arg| place::named(arg).is_some()).filter_map(|arg| arg.get_long().map(str::to_owned));
    own.chain(command.get_subcommands().flat_map(target_options)).collect()
}

/// What a script asks while somebody types: the words that fit, one a line. Exit 1 where no target is wanted.
pub(super) fn complete(command: &CompleteCommand) -> ExitCode {
    let CompleteCommand::Targets { bash, breaks, words } = command;
    let line = bash.as_ref().map(|line| bash_line::read(&line.to_string_lossy(), breaks.as_deref().unwrap_or_default()));
    let words = line.as_ref().map_or(words.clone(), |line| line.words.iter().map(OsString::from).collect());
    let mut command = Cli::command();
    command.build();
    let Some(place) = place(&command, &words) else { return ExitCode::FAILURE };
    let Ok(targets) = targets(&place) else { return ExitCode::SUCCESS };
    let answers: Vec<String> = match &line {
        Some(line) => targets.iter().filter_map(|target| line.replacement(&format!("{}{target}", place.before))).collect(),
        None => targets,
    };
    print(&answers.iter().map(|answer| format!("{answer}\n")).collect::<String>());
    ExitCode::SUCCESS
}

fn targets(place: &Place) -> Result<Vec<String>> {
    let context = Context::of_server(place.socket_name.as_deref(), place.socket_path.as_deref())?;
    // A word that could drive the terminal is not shown in one, and one that looks like an option would be taken for it.
    let fits = |word: &str| shown(word) == word && !(place.options_too && word.starts_with('-'));
    match place.named {
        Named::Shell => context.shells().target_words(false, &fits),
        Named::Forgotten => context.shells().target_words(true, &fits),
        Named::Snapshot => Ok(context.store.snapshots().into_iter().rev().collect()),
        Named::Agent => {
            let (catalog, _) = Catalog::with(&context.config.agents);
            Ok(Integration::all(&catalog)?.iter().map(|one| one.agent.kind.clone()).collect())
        }
        Named::Server => Ok(Store::all()?.iter().map(Store::name).filter(|name| *name != context.store.name() && fits(name)).collect()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_script_asks_for_targets_in_its_own_way_and_offers_nothing_hidden() {
        for (shell, asks) in [
            (CompletedShell::Bash, "    complete -F _sidecar_or_targets -o nosort "),
            (CompletedShell::Zsh, "\n_sidecar() {\n    _sidecar_targets && return 0\n"),
            (
                CompletedShell::Fish,
                " -l target -d 'The shell: its id, session name, display name or the name it was made with' -r -f -a '(__sidecar_targets)'\n",
            ),
        ] {
            let text = text(shell);
            assert!(text.contains(asks), "{text}");
            assert!(!text.contains("report-session") && !text.contains("What the completions ask"), "{text}");
        }
    }

    #[test]
    fn fish_is_told_of_commands_three_words_deep() {
        let text = text(CompletedShell::Fish);
        let begins = |rest: &str| {
            text.lines().any(|line| line.starts_with(&format!("complete -c sidecar -n \"__fish_sidecar_using_subcommand {rest}")))
        };
        let timer = "snapshot; and __fish_seen_subcommand_from timer";
        assert!(begins(&format!("{timer}; and __fish_seen_subcommand_from install\" -l every ")), "{text}");
        assert!(begins(&format!("{timer}; and not __fish_seen_subcommand_from install status uninstall\" -f -a \"install\"")), "{text}");
        assert!(!begins(&format!("{timer}\" -f -a")), "{text}");
    }

    #[test]
    fn every_option_that_takes_a_name_is_named_for_fish() {
        let mut options = target_options(&Cli::command());
        options.sort();
        options.dedup();
        assert_eq!(options, ["as-of", "from", "shell", "target"]);
    }
}
