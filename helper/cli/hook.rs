//! `sidecar hook`: silent, exit 0 whatever happens.

use std::ffi::OsString;
use std::process::ExitCode;

use super::{Context, own_path};
use crate::plugin::Event;

/// What tmux's hooks say, read without clap: they come at every event, and clap makes all commands to read one, for a quarter of a look's
/// instructions. `None` for what it is to read: another command, an option, words that are not UTF-8.
pub(super) fn words(args: impl IntoIterator<Item = OsString>) -> Option<Vec<String>> {
    let mut args = args.into_iter().skip(1);
    args.next().filter(|first| first == "hook")?;
    let words: Vec<String> = args.map(|word| word.into_string().ok()).collect::<Option<_>>()?;
    words.first().is_some_and(|event| !event.starts_with('-')).then_some(words)
}

/// A hook of the server that calls it.
pub(super) fn main(words: &[String]) -> ExitCode {
    Context::of_server(None, None).map_or(ExitCode::SUCCESS, |context| run(&context, words))
}

pub(super) fn run(context: &Context, words: &[String]) -> ExitCode {
    if let (Some(event), Ok(helper)) = (Event::parse(words), own_path()) {
        context.plugin(&helper).run(&event);
    }
    ExitCode::SUCCESS
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::super::args::{Cli, Command};
    use super::*;

    #[test]
    fn what_is_read_without_clap_is_what_clap_reads() {
        for line in
            ["hook tick", "hook changed window-linked", "hook closed $1 0 7 8", "hook tick -L x", "hook tick 12.3 15 --help", "hook x \t"]
        {
            let line: Vec<OsString> = ["sidecar"].into_iter().chain(line.split(' ')).map(OsString::from).collect();
            let read = words(line.clone()).unwrap();
            let Ok(Cli { socket_name: None, command: Command::Hook { words }, .. }) = Cli::try_parse_from(line) else { panic!("{read:?}") };
            assert_eq!(read, words);
        }
        for other in ["", "hook", "hook --help", "-L x hook tick", "shell list hook", "hooks tick"] {
            assert_eq!(words(["sidecar"].into_iter().chain(other.split(' ')).map(OsString::from)), None, "{other}");
        }
    }
}
