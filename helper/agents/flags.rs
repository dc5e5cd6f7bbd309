//! From the arguments that an agent runs with to those that its resume is given, and what kind of run they make.
//!
//! Kept flags are written in one form: a word for each, `--flag=value`. So a value can't leave its flag, and a flag that takes
//! any number of values can't take a word that stands behind it.

use super::catalog::{Agent, Arity, Class, Flag, WordRole};
use crate::model::RawText;

/// What arguments say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reading {
    /// What kind of run this is.
    pub run: Run,
    /// The flags that a resume is given again.
    pub kept: Vec<RawText>,
    /// The flags that a resume would be given, were it not for the reason told; by name, never with a value.
    pub left_out: Vec<(String, LeftOut)>,
}

/// What kind of run an agent's process is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Run {
    /// Somebody sits at it; with the id of the conversation, where the arguments name it.
    Conversation(Option<String>),
    /// It shows a conversation that runs in the background, of this name.
    Attached(Option<String>),
    /// It answers and ends; nobody sits at it.
    Headless,
    /// A worker behind conversations.
    Background,
    /// A server of conversations.
    Daemon,
    /// It does something else, such as a login.
    Other,
}

/// Why a flag is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeftOut {
    /// Its value may be a secret, which is not stored.
    Secret,
    /// The catalog doesn't know it, and whether the word behind it is its value or a prompt can't be told. Without the word
    /// it might take the next flag for its value; with it a prompt might be sent again.
    Ambiguous,
}

/// Reads the arguments behind the program's name.
pub fn read(agent: &Agent, args: &[RawText]) -> Reading {
    let mut reader = Reader {
        agent,
        words: args,
        kept: Vec::new(),
        left_out: Vec::new(),
        first: None,
        positional: Vec::new(),
        id: None,
        forks: false,
        headless: false,
        other: false,
    };
    reader.read();
    reader.finish()
}

/// The arguments that go on with the conversation `id` under these kept flags; `None` if that can be no id.
pub fn resume(agent: &Agent, kept: &[RawText], id: &str) -> Option<Vec<RawText>> {
    if !agent.is_id(id) {
        return None;
    }
    let words = agent.resume.iter().flat_map(|word| match word.as_str() {
        "{flags}" => kept.to_vec(),
        "{id}" => vec![RawText::from(id)],
        word => vec![RawText::from(word)],
    });
    Some(words.collect())
}

struct Reader<'a> {
    agent: &'a Agent,
    words: &'a [RawText],
    kept: Vec<RawText>,
    left_out: Vec<(String, LeftOut)>,
    /// What the first word makes of the run, where it is none of those behind `--`.
    first: Option<WordRole>,
    positional: Vec<&'a RawText>,
    id: Option<&'a [u8]>,
    forks: bool,
    headless: bool,
    other: bool,
}

impl<'a> Reader<'a> {
    fn read(&mut self) {
        while let Some((word, rest)) = self.words.split_first() {
            self.words = rest;
            match word.as_bytes() {
                b"--" => {
                    self.positional.extend(rest);
                    return;
                }
                [b'-', b'-', ..] => self.long(word),
                [b'-', _, ..] => self.cluster(word.as_bytes()),
                _ => {
                    if self.positional.is_empty() {
                        self.first = self.first_role(word);
                    }
                    self.positional.push(word);
                }
            }
            if self.first.is_some_and(|role| !matches!(role, WordRole::Id | WordRole::Fork)) {
                // Behind such a word stand a subcommand's own flags.
                self.positional.extend(self.words.iter().find(|word| !looks_like_a_flag(word)));
                return;
            }
        }
    }

    /// What the first word makes of the run. The word behind it is taken if both together are known.
    fn first_role(&mut self, word: &RawText) -> Option<WordRole> {
        if word.as_bytes().contains(&b' ') {
            return None;
        }
        if let Some((next, rest)) = self.words.split_first() {
            let both = RawText::from([word.as_bytes(), b" ", next.as_bytes()].concat());
            if let Some(role) = word_role(self.agent, &both) {
                self.words = rest;
                return Some(role);
            }
        }
        word_role(self.agent, word)
    }

    fn long(&mut self, word: &'a RawText) {
        let bytes = word.as_bytes();
        let (name, joined) = match bytes.iter().position(|&byte| byte == b'=') {
            Some(at) => (&bytes[..at], Some(&bytes[at + 1..])),
            None => (bytes, None),
        };
        match self.flag(name) {
            Some(flag) => self.known(flag, joined),
            None => self.unknown(word, name, joined.is_some()),
        }
    }

    /// `-abc`: flags without values, the last of them perhaps with one, joined or behind it.
    fn cluster(&mut self, word: &'a [u8]) {
        let mut letters = &word[1..];
        while let Some((&letter, rest)) = letters.split_first() {
            let Some(flag) = self.flag(&[b'-', letter]) else {
                if letters.len() + 1 < word.len() {
                    return self.leave_out(&format!("-{}", letter.escape_ascii()), LeftOut::Ambiguous);
                }
                return self.unknown(&RawText::from(word), &word[..2], false);
            };
            if flag.arity == Arity::None {
                self.known(flag, None);
                letters = rest;
                continue;
            }
            let joined = if self.agent.short_equals { rest.strip_prefix(b"=").unwrap_or(rest) } else { rest };
            return self.known(flag, (!rest.is_empty()).then_some(joined));
        }
    }

    fn flag(&self, name: &[u8]) -> Option<&'a Flag> {
        self.agent.flag(std::str::from_utf8(name).ok()?)
    }

    fn known(&mut self, flag: &'a Flag, joined: Option<&'a [u8]>) {
        let mut values: Vec<&[u8]> = joined.into_iter().collect();
        if joined.is_none() {
            let taken = match flag.arity {
                Arity::None => 0,
                Arity::One => 1,
                Arity::Optional => usize::from(self.words.first().is_some_and(|next| !looks_like_a_flag(next))),
                Arity::Many => 1 + self.words.iter().skip(1).take_while(|next| !looks_like_a_flag(next)).count(),
                Arity::Any => self.words.iter().take_while(|next| !looks_like_a_flag(next)).count(),
            };
            let (taken, rest) = self.words.split_at(taken.min(self.words.len()));
            values.extend(taken.iter().map(RawText::as_bytes));
            self.words = rest;
        }
        match flag.class {
            Class::Keep => self.keep(flag, &values),
            Class::Data if values.iter().any(|value| holds_secret(value)) => self.leave_out(flag.name(), LeftOut::Secret),
            Class::Data => self.keep(flag, &values),
            Class::Secret => self.leave_out(flag.name(), LeftOut::Secret),
            Class::Id => self.id = values.first().copied().or(self.id),
            Class::Fork => self.forks = true,
            Class::Headless => self.headless = true,
            Class::Other => self.other = true,
            Class::Session | Class::Once => (),
        }
    }

    fn keep(&mut self, flag: &Flag, values: &[&[u8]]) {
        if values.iter().any(|value| is_token(value)) {
            return self.leave_out(flag.name(), LeftOut::Secret);
        }
        let name = flag.name().as_bytes();
        if values.is_empty() {
            // One that wants a value and has none comes from no run that lasted.
            if matches!(flag.arity, Arity::None | Arity::Optional | Arity::Any) {
                self.kept.push(name.into());
            }
        } else if name.starts_with(b"--") {
            self.kept.extend(values.iter().map(|value| RawText::from([name, b"=", value].concat())));
        } else {
            self.kept.extend(values.iter().flat_map(|value| [RawText::from(name), RawText::from(*value)]));
        }
    }

    fn unknown(&mut self, word: &RawText, name: &[u8], joined: bool) {
        let shown = name.escape_ascii().to_string();
        if is_secret_name(name) || is_token(word.as_bytes()) {
            self.leave_out(&shown, LeftOut::Secret);
        } else if !joined && self.words.first().is_some_and(|next| !looks_like_a_flag(next)) {
            self.leave_out(&shown, LeftOut::Ambiguous);
        } else {
            self.kept.push(word.clone());
            return;
        }
        // A word that may be its value must not be read as the first positional one, unless it is a known one.
        let next = self.words.first().filter(|next| !joined && !looks_like_a_flag(next));
        if next.is_some_and(|next| word_role(self.agent, next).is_none()) {
            self.words = &self.words[1..];
        }
    }

    fn leave_out(&mut self, flag: &str, why: LeftOut) {
        self.left_out.push((flag.to_owned(), why));
    }

    fn finish(self) -> Reading {
        let second = self.positional.get(1).map(|word| word.as_bytes());
        let text = |bytes: Option<&[u8]>| bytes.and_then(|bytes| std::str::from_utf8(bytes).ok()).map(str::to_owned);
        let id = |bytes: Option<&[u8]>| text(bytes).filter(|id| self.agent.is_id(id));
        let run = match self.first {
            Some(WordRole::Other) => Run::Other,
            Some(WordRole::Daemon) => Run::Daemon,
            Some(WordRole::Background) => Run::Background,
            Some(WordRole::Headless) => Run::Headless,
            Some(WordRole::Attach) => Run::Attached(text(second).filter(|name| !name.is_empty())),
            _ if self.other => Run::Other,
            _ if self.headless => Run::Headless,
            None if self.agent.headless_prompt && !self.positional.is_empty() => Run::Headless,
            Some(WordRole::Fork) => Run::Conversation(None),
            _ if self.forks => Run::Conversation(None),
            Some(WordRole::Id) => Run::Conversation(id(second)),
            None => Run::Conversation(id(self.id)),
        };
        let (kept, left_out) = match run {
            Run::Conversation(_) => (self.kept, self.left_out),
            _ => (Vec::new(), Vec::new()),
        };
        Reading { run, kept, left_out }
    }
}

fn word_role(agent: &Agent, word: &RawText) -> Option<WordRole> {
    agent.word(std::str::from_utf8(word.as_bytes()).ok()?)
}

/// A lone `-` is a word.
fn looks_like_a_flag(word: &RawText) -> bool {
    matches!(word.as_bytes(), [b'-', _, ..])
}

/// What keys of secrets are called.
const SECRET_WORDS: &[&str] =
    &["token", "secret", "password", "passwd", "apikey", "credential", "authorization", "bearer", "privatekey", "cookie"];

/// What keys of services begin with.
const TOKEN_STARTS: &[&str] = &["sk-", "ghp_", "gho_", "github_pat_", "glpat-", "xoxb-", "xoxp-", "AKIA", "AIza", "eyJhbGciOi"];

/// Whether a thing of this name holds a secret.
fn is_secret_name(name: &[u8]) -> bool {
    let plain: Vec<u8> = name.iter().filter(|byte| byte.is_ascii_alphanumeric()).map(u8::to_ascii_lowercase).collect();
    let plain = String::from_utf8_lossy(&plain);
    SECRET_WORDS.iter().any(|word| plain.contains(word))
}

/// Whether data in place of a file name (JSON, `key=value`, an address) holds what looks like a secret.
fn holds_secret(value: &[u8]) -> bool {
    let is_data = value.first().is_some_and(|first| b"{[".contains(first)) || value.contains(&b'=');
    let has_user = String::from_utf8_lossy(value).split_once("://").is_some_and(|(_, rest)| rest.contains('@'));
    has_user || (is_data && is_secret_name(value)) || is_token(value)
}

/// Whether a key of a well-known service stands in it.
fn is_token(value: &[u8]) -> bool {
    let text = String::from_utf8_lossy(value);
    let words = text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '-' || c == '_'));
    words.filter(|word| word.len() >= 16).any(|word| TOKEN_STARTS.iter().any(|start| word.starts_with(start)))
}

#[cfg(test)]
#[path = "flags_tests.rs"]
mod tests;
