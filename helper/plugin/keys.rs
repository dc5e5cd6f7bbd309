//! The keys of the plugin, in the prefix table.

use super::hooks::background;
use crate::tmux::{KEYS, arg};

/// A key that opens a menu.
struct Key {
    /// The option that moves it, or says `none`.
    option: &'static str,
    default: &'static str,
    /// What `list-keys -N` tells of it.
    note: &'static str,
    menu: &'static str,
    /// What it does, as a sentence says it.
    verb: &'static str,
}

const TABLE: [Key; 2] = [
    Key {
        option: "@sidecar-restore-key",
        default: "R",
        note: "Restore sessions that died with their server",
        menu: "restore",
        verb: "restores",
    },
    Key { option: "@sidecar-rename-key", default: "N", note: "Name this session's shell", menu: "rename", verb: "renames" },
];

/// What the server says of keys: the values of the options, in the table's order, the keys that we have bound, and what
/// `list-keys -T prefix` prints.
pub(super) struct Known<'a> {
    pub(super) options: [&'a str; 2],
    pub(super) ours: &'a str,
    pub(super) bound: Vec<&'a str>,
}

/// What to ask for it, in this order, a line each but for the last.
pub(super) fn asked() -> Vec<String> {
    let formats = TABLE.iter().map(|key| format!("#{{{}}}", key.option)).chain([format!("#{{{KEYS}}}")]);
    let mut words: Vec<String> =
        formats.flat_map(|format| ["display-message".to_owned(), "-p".to_owned(), format, ";".to_owned()]).collect();
    words.extend(["list-keys", "-T", "prefix"].map(str::to_owned));
    words
}

/// What is done about the keys.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Binding {
    /// The commands that bind keys whose names are our own.
    pub(super) script: String,
    /// The same for names that the user chose, one by one: tmux may know none of that name.
    pub(super) chosen: Vec<(String, String)>,
    /// Which key does what, for people: the key and its verb.
    pub(super) words: Vec<(String, &'static str)>,
    /// The default keys that somebody else holds, with the option that moves each.
    pub(super) held: Vec<(&'static str, &'static str)>,
}

impl Binding {
    /// Which key does what, and which does not; but for those of `unknown`, which tmux does not know.
    pub(super) fn in_words(&self, unknown: &[&str]) -> String {
        let known = self.words.iter().filter(|(name, _)| !unknown.contains(&name.as_str()));
        let words: Vec<String> = known.map(|(name, verb)| format!("prefix {name} {verb}")).collect();
        let held = self.held.iter().map(|(key, option)| format!("prefix {key} is taken: set {option}"));
        let parts: Vec<String> = [words.join(", ")].into_iter().filter(|words| !words.is_empty()).chain(held).collect();
        parts.join("; ")
    }
}

/// Decides which keys are bound: the user's choice wins, and a default one that somebody else holds stays his.
pub(super) fn bind(helper: &str, known: &Known) -> Binding {
    let before: Vec<&str> = known.ours.split_whitespace().collect();
    let (mut script, mut chosen, mut words, mut held, mut ours) = (String::new(), Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for (key, option) in TABLE.iter().zip(known.options) {
        let name = if option.is_empty() { key.default } else { option };
        if name == "none" {
            continue;
        }
        let theirs = |line: &&&str| key_of(line) == Some(name) && !(before.contains(&name) && is_ours(line));
        if option.is_empty() && known.bound.iter().any(|line| theirs(&line)) {
            held.push((key.default, key.option));
            continue;
        }
        let run = background(helper, &["menu", key.menu, "--client", "#{client_name}"]);
        let command = format!("bind-key -T prefix -N {} {} {run}\n", arg(key.note.as_bytes()), arg(name.as_bytes()));
        if option.is_empty() {
            script.push_str(&command);
        } else {
            chosen.push((name.to_owned(), command));
        }
        words.push((name.to_owned(), key.verb));
        ours.push(name);
    }
    let gone: Vec<&str> = before.into_iter().filter(|name| !ours.contains(name)).collect();
    script.push_str(&unbind(&gone.join(" "), &known.bound));
    script.push_str(&format!("set-environment -gh {KEYS} {}\n", arg(ours.join(" ").as_bytes())));
    Binding { script, chosen, words, held }
}

/// A key of the plugin, as the server has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyStanding {
    /// `R`.
    pub key: String,
    /// The option that moves it.
    pub option: &'static str,
    /// What it should do, as a sentence says it.
    pub verb: &'static str,
    /// What it does.
    pub does: Does,
}

/// What a key does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Does {
    /// What it should.
    Ours,
    /// Nothing.
    Nothing,
    /// Something else: this command.
    Other(String),
}

/// How the keys stand.
pub(super) fn standing(known: &Known) -> Vec<KeyStanding> {
    let keys = TABLE.iter().zip(known.options).map(|(key, option)| (key, if option.is_empty() { key.default } else { option }));
    let stand = |(key, name): (&Key, &str)| {
        let line = known.bound.iter().find(|line| key_of(line) == Some(name));
        let does = match line {
            None => Does::Nothing,
            Some(line) if is_ours(line) => Does::Ours,
            Some(line) => Does::Other(command_of(line).to_owned()),
        };
        KeyStanding { key: name.to_owned(), option: key.option, verb: key.verb, does }
    };
    keys.filter(|(_, name)| *name != "none").map(stand).collect()
}

/// What stands behind the key in a line of `list-keys`.
fn command_of(line: &str) -> &str {
    let rest = line.split_once("-T prefix ").map_or(line, |(_, rest)| rest).trim_start();
    rest.split_once(' ').map_or("", |(_, command)| command.trim_start())
}

/// The commands that take these keys away, but for those that the user has bound to something else since.
pub(super) fn unbind(keys: &str, bound: &[&str]) -> String {
    let ours = |key: &&str| bound.iter().any(|line| key_of(line) == Some(key) && is_ours(line));
    keys.split_whitespace().filter(ours).map(|key| format!("unbind-key -T prefix {}\n", arg(key.as_bytes()))).collect()
}

/// Whether we bound it, or sidecar.tmux did while there was no helper.
fn is_ours(line: &str) -> bool {
    line.contains("'--client' '#{client_name}'") || (line.contains("display-message -d 8000") && line.contains("sidecar: "))
}

/// The key of a line of `list-keys`; tmux puts a backslash before some.
fn key_of(line: &str) -> Option<&str> {
    let key = line.split_once("-T prefix ")?.1.split_whitespace().next()?;
    Some(key.strip_prefix('\\').filter(|rest| !rest.is_empty()).unwrap_or(key))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known<'a>(options: [&'a str; 2], ours: &'a str, bound: &[&'a str]) -> Known<'a> {
        Known { options, ours, bound: bound.to_vec() }
    }

    const THEIRS: &str = "bind-key    -T prefix       R                 source-file ~/.tmux.conf";
    const OURS: &str =
        "bind-key    -T prefix       R                 run-shell -b \"… '/p/x' 'menu' 'restore' '--client' '#{client_name}'\"";

    #[test]
    fn free_keys_are_taken_and_those_of_others_are_not() {
        let free = bind("/p/sidecar", &known(["", ""], "", &[]));
        assert_eq!(free.in_words(&[]), "prefix R restores, prefix N renames");
        assert!(free.script.contains("\"R\" run-shell -b ") && free.script.contains("SIDECAR_KEYS \"R N\"") && free.held.is_empty());
        let held = bind("/p/sidecar", &known(["", ""], "", &[THEIRS]));
        assert_eq!(held.in_words(&[]), "prefix N renames; prefix R is taken: set @sidecar-restore-key");
        // Even one that names us, if we did not bind it.
        assert_eq!(bind("/p/sidecar", &known(["", ""], "", &[OURS])).held.len(), 1);
        assert!(bind("/p/sidecar", &known(["", ""], "R N", &[OURS])).held.is_empty());
        // Taken over by the user since.
        assert_eq!(bind("/p/sidecar", &known(["", ""], "R N", &[THEIRS])).held.len(), 1);
    }

    #[test]
    fn keys_are_moved_and_switched_off() {
        let moved = bind("/p/sidecar", &known(["F5", "none"], "R N", &[OURS]));
        assert_eq!(moved.in_words(&[]), "prefix F5 restores");
        assert_eq!((moved.chosen[0].0.as_str(), moved.in_words(&["F5"]).as_str()), ("F5", ""));
        assert!(moved.script.contains("unbind-key -T prefix \"R\"") && !moved.script.contains("bind-key -T prefix -N"), "{}", moved.script);
        // The user's choice wins over whoever holds it.
        let chosen = bind("/p/sidecar", &known(["R", ""], "", &[THEIRS]));
        assert!(chosen.held.is_empty() && chosen.chosen.len() == 1);
    }

    #[test]
    fn it_is_told_what_each_key_does() {
        let of = |options, bound: &[&'static str]| standing(&known(options, "", bound)).into_iter().map(|key| (key.key, key.does));
        let theirs = Does::Other("source-file ~/.tmux.conf".to_owned());
        assert_eq!(of(["", ""], &[THEIRS]).collect::<Vec<_>>(), [("R".to_owned(), theirs), ("N".to_owned(), Does::Nothing)]);
        assert_eq!(of(["", "none"], &[OURS]).collect::<Vec<_>>(), [("R".to_owned(), Does::Ours)]);
        assert_eq!(of(["F5", "none"], &[OURS]).collect::<Vec<_>>(), [("F5".to_owned(), Does::Nothing)]);
    }

    #[test]
    fn the_key_of_a_line_is_found() {
        assert_eq!(key_of(THEIRS), Some("R"));
        assert_eq!(key_of("bind-key -r -T prefix \\; last-pane"), Some(";"));
        assert_eq!(key_of("bind-key -T prefix \\ x"), Some("\\"));
        assert_eq!(key_of("bind-key -T root R x"), None);
    }
}
