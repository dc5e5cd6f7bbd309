//! fish's script. What it asks for targets is in front; the generator knows two levels of commands, and we have three.

use clap::Command;

use super::generated;

/// In front of fish's script; fish quotes what it is given. An option's own line has to name them.
const FISH: &str = r"function __sidecar_targets
    set -l words (commandline -opc)
    command sidecar complete targets -- $words (commandline -ct) 2>/dev/null
end

complete -c sidecar -n '__sidecar_targets >/dev/null' -f -a '(__sidecar_targets)'
";

/// The whole script; `options` are those that take the name of something that lives.
pub(super) fn script(root: &Command, options: &[String]) -> String {
    let mut lines = lines_of(root.clone());
    for parent in root.get_subcommands() {
        for group in parent.get_subcommands().filter(|group| group.has_subcommands()) {
            let seen = format!("{}; and __fish_seen_subcommand_from {}", using(parent), group.get_name());
            let whole = format!("\"{seen}\"");
            lines.retain(|line| !line.contains(&whole));
            // Made as one of the first level, and put where it is.
            let alone = Command::new("sidecar").args(root.get_arguments().cloned()).subcommand(group.clone());
            let own = lines_of(alone).into_iter().filter(|line| line.contains(&using(group)));
            lines.extend(own.map(|line| line.replace(&using(group), &seen)).collect::<Vec<_>>());
        }
    }
    let takes = |line: &str| line.ends_with(" -r") && options.iter().any(|name| line.contains(&format!(" -l {name} ")));
    let ask = |line: String| if takes(&line) { format!("{line} -f -a '(__sidecar_targets)'\n") } else { format!("{line}\n") };
    FISH.to_owned() + &lines.into_iter().map(ask).collect::<String>()
}

fn lines_of(command: Command) -> Vec<String> {
    generated(clap_complete::Shell::Fish, command).lines().map(str::to_owned).collect()
}

/// The condition that a line has for a command of the first level.
fn using(command: &Command) -> String {
    format!("__fish_sidecar_using_subcommand {}", command.get_name())
}
