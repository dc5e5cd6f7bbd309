//! Whether the word that is being typed names something that lives, by the same definitions that parse the finished line. Pure.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use clap::{Arg, Command};

/// What a word can name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Named {
    /// A shell.
    Shell,
    /// A forgotten one.
    Forgotten,
    /// A snapshot.
    Snapshot,
    /// Another server, as `HOST/SERVER`.
    Server,
    /// An agent that there is an integration for.
    Agent,
}

/// A place for such a word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// What it names.
    pub(super) named: Named,
    /// Whether a word that begins with `-` would be an option here.
    pub(super) options_too: bool,
    /// What stands before the name in its word: `--shell=`.
    pub(super) before: String,
    /// The `-L` of the line.
    pub(super) socket_name: Option<String>,
    /// Its `-S`.
    pub(super) socket_path: Option<PathBuf>,
}

/// What an argument's value names, by what help calls it.
pub(super) fn named(arg: &Arg) -> Option<Named> {
    match arg.get_value_names()? {
        [one] if one == "T" => Some(Named::Shell),
        [one] if one == "WHEN" || one == "SNAPSHOT" => Some(Named::Snapshot),
        [one] if one == "HOST/SERVER" => Some(Named::Server),
        [one] if one == "AGENT" => Some(Named::Agent),
        _ => None,
    }
}

/// The place of the last of these words, the one that is being typed, if it names something. The first is the program.
pub(super) fn place(root: &Command, words: &[OsString]) -> Option<Place> {
    let words: Vec<&OsStr> = words.iter().skip(1).map(OsString::as_os_str).collect();
    let (typed, before) = words.split_last()?;
    let typed = typed.to_string_lossy();
    let mut place = Place { named: Named::Shell, options_too: false, before: String::new(), socket_name: None, socket_path: None };
    let (mut command, mut path) = (root, Vec::new());
    let (mut option, mut positionals, mut literal) = (None, 0, false);
    for &word in before {
        let text = word.to_string_lossy();
        if let Some(arg) = option.take() {
            place.note(arg, word);
        } else if !literal && text == "--" {
            literal = true;
        } else if !literal && text.starts_with('-') && text.len() > 1 {
            match option_of(command, &text) {
                Some((arg, Some(value))) => place.note(arg, OsStr::new(value)),
                Some((arg, None)) if arg.get_action().takes_values() => option = Some(arg),
                _ => {}
            }
        } else if let Some(inner) = command.find_subcommand(&*text).filter(|_| !literal && positionals == 0) {
            command = inner;
            path.push(inner.get_name());
        } else {
            positionals += 1;
        }
    }
    let arg = match (option, option_of(command, &typed)) {
        (Some(arg), _) => arg,
        (None, Some((arg, Some(value)))) if !literal => {
            typed[..typed.len() - value.len()].clone_into(&mut place.before);
            arg
        }
        (None, _) if !literal && typed.starts_with('-') => return None,
        (None, _) => {
            place.options_too = !literal;
            command.get_positionals().nth(positionals)?
        }
    };
    place.named = match named(arg)? {
        Named::Shell if matches!(path[..], ["shell", "restore" | "purge"]) => Named::Forgotten,
        named => named,
    };
    Some(place)
}

impl Place {
    /// Takes notice of an option that names the server.
    fn note(&mut self, arg: &Arg, value: &OsStr) {
        match arg.get_id().as_str() {
            "socket_name" => self.socket_name = Some(value.to_string_lossy().into_owned()),
            "socket_path" => self.socket_path = Some(value.into()),
            _ => {}
        }
    }
}

/// The option that a word names, and the value if that stands in the same word.
fn option_of<'c, 'w>(command: &'c Command, word: &'w str) -> Option<(&'c Arg, Option<&'w str>)> {
    if let Some(long) = word.strip_prefix("--") {
        let (name, value) = long.split_once('=').map_or((long, None), |(name, value)| (name, Some(value)));
        let arg = command.get_arguments().find(|arg| arg.get_long() == Some(name))?;
        return Some((arg, value));
    }
    let short = word.strip_prefix('-')?.chars().next()?;
    let arg = command.get_arguments().find(|arg| arg.get_short() == Some(short))?;
    Some((arg, Some(&word[1 + short.len_utf8()..]).filter(|value| !value.is_empty())))
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::super::Cli;
    use super::*;

    fn at(line: &str) -> Option<Place> {
        let mut command = Cli::command();
        command.build();
        place(&command, &line.split(' ').map(OsString::from).collect::<Vec<_>>())
    }

    #[test]
    fn every_place_of_a_name_is_known_and_no_other() {
        for line in [
            "session restore --shell ",
            "session restore --dry-run --shell web --shell w",
            "session policy ",
            "session policy --never w",
            "shell rename --target ",
            "shell send --run x --target w",
            "shell forget ",
            "shell forget --json ",
            "shell delete --target ",
            "-L work shell forget ",
            "shell -L work forget ",
        ] {
            let place = at(&format!("sidecar {line}")).unwrap_or_else(|| panic!("{line}"));
            assert!(place.named == Named::Shell && place.before.is_empty(), "{line}");
        }
        for line in ["shell restore ", "shell purge --target ", "shell purge --yes --target w"] {
            assert_eq!(at(&format!("sidecar {line}")).unwrap().named, Named::Forgotten, "{line}");
        }
        for line in ["session status --as-of ", "session restore --as-of=", "snapshot show ", "snapshot show --json s"] {
            assert_eq!(at(&format!("sidecar {line}")).unwrap().named, Named::Snapshot, "{line}");
        }
        assert_eq!(at("sidecar session restore --from ").unwrap().named, Named::Server);
        for line in [
            "",
            "s",
            "shell ",
            "session restore ",
            "session restore --shell",
            "session policy web ",
            "session policy --shell web ",
            "shell rename ",
            "shell rename --target web ",
            "shell send --run ",
            "shell forget -",
            "shell forget web ",
            "shell new ",
            "shell list --project ",
            "-L ",
            "-L shell ",
            "agent status ",
            "unknown forget ",
        ] {
            assert_eq!(at(&format!("sidecar {line}")), None, "{line}");
        }
        assert_eq!(at("sidecar"), None);
    }

    #[test]
    fn a_value_in_its_options_word_and_the_servers_options_are_read() {
        assert_eq!(at("sidecar session restore --shell=w").unwrap().before, "--shell=");
        assert_eq!(at("sidecar shell delete --target=").unwrap().before, "--target=");
        let server = |line: &str| {
            let place = at(line).unwrap();
            (place.socket_name, place.socket_path)
        };
        assert_eq!(server("sidecar -L work shell forget w"), (Some("work".into()), None));
        assert_eq!(server("sidecar shell forget -Lwork w"), (Some("work".into()), None));
        assert_eq!(server("sidecar shell -S /s forget w"), (None, Some("/s".into())));
        // Behind `--` a dash begins no option.
        assert_eq!([at("sidecar shell forget -- -x"), at("sidecar shell forget x")].map(|place| place.unwrap().options_too), [false, true]);
        assert!(!at("sidecar shell delete --target -x").unwrap().options_too);
    }
}
