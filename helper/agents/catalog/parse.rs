//! Reads entries of the table. What is wrong is told with its place.

use std::path::{Component, Path};

use serde_json::{Map, Value};

use super::{Agent, AgentHome, Arity, Class, Dialog, Flag, IdForm, Script, WordRole};
use crate::agents::dialogs::SUMMARY;

const KEYS: &[&str] = &[
    "title",
    "programs",
    "sharedName",
    "executables",
    "scripts",
    "script",
    "resume",
    "id",
    "home",
    "transcripts",
    "emptyTranscripts",
    "headlessPipe",
    "headlessPrompt",
    "scrub",
    "shortEquals",
    "words",
    "flags",
    "dialogs",
];

const CLASSES: [(&str, Class); 9] = [
    ("keep", Class::Keep),
    ("data", Class::Data),
    ("id", Class::Id),
    ("fork", Class::Fork),
    ("session", Class::Session),
    ("once", Class::Once),
    ("headless", Class::Headless),
    ("secret", Class::Secret),
    ("other", Class::Other),
];

const ROLES: [(&str, WordRole); 7] = [
    ("id", WordRole::Id),
    ("fork", WordRole::Fork),
    ("headless", WordRole::Headless),
    ("background", WordRole::Background),
    ("daemon", WordRole::Daemon),
    ("attach", WordRole::Attach),
    ("other", WordRole::Other),
];

/// Reads an entry, on top of what is known of that agent. Lists take the place of known ones, flags and words come before them.
pub(super) fn agent(kind: &str, entry: &Value, known: Option<&Agent>) -> Result<Agent, String> {
    let place = Place(format!("agents.{kind}"));
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if kind.is_empty() || kind.len() > 32 || !kind.chars().all(plain) || kind.starts_with('-') {
        return Err(format!("{}: a kind is 1 to 32 of a-z, 0-9 and -", place.0));
    }
    let entry = place.object(entry)?;
    place.only(entry, KEYS)?;
    let mut agent = known.cloned().unwrap_or_else(|| blank(kind));
    let at = |key: &str| (place.at(key), entry.get(key));

    if let (place, Some(value)) = at("title") {
        agent.title = place.text(value)?;
    }
    if let (place, Some(value)) = at("programs") {
        agent.programs = place.each(value, |word| !word.is_empty() && !word.contains('/'), "no file name")?;
    }
    if let (place, Some(value)) = at("sharedName") {
        agent.shared_name = place.truth(value)?;
    }
    if let (place, Some(value)) = at("executables") {
        agent.executables = place.texts(value)?;
    }
    if let (place, Some(value)) = at("scripts") {
        agent.scripts = place.texts(value)?;
    }
    if let (place, Some(value)) = at("script") {
        agent.script = place.one_of(value, &[("agent", Script::Agent), ("wrapper", Script::Wrapper)])?;
    }
    if let (place, Some(value)) = at("resume") {
        agent.resume = resume(&place, value)?;
    }
    if let (place, Some(value)) = at("id") {
        agent.id = place.one_of(value, &[("uuid", IdForm::Uuid), ("word", IdForm::Word)])?;
    }
    if let (place, Some(value)) = at("home") {
        agent.home = home(&place, value)?;
    }
    if let (place, Some(value)) = at("transcripts") {
        let text = place.text(value)?;
        if !is_below(&text) || text.matches("{id}").count() + text.matches("{id8}").count() != 1 {
            return Err(format!("{} is no path below the agent's folder with {{id}} or {{id8}} in it", place.0));
        }
        agent.transcripts = text;
    }
    if let (place, Some(value)) = at("emptyTranscripts") {
        agent.empty_transcripts = place.truth(value)?;
    }
    if let (place, Some(value)) = at("headlessPipe") {
        agent.headless_pipe = place.truth(value)?;
    }
    if let (place, Some(value)) = at("headlessPrompt") {
        agent.headless_prompt = place.truth(value)?;
    }
    if let (place, Some(value)) = at("scrub") {
        agent.scrub = place.each(value, is_variable, "no name of a variable")?;
    }
    if let (place, Some(value)) = at("shortEquals") {
        agent.short_equals = place.truth(value)?;
    }
    if let (place, Some(value)) = at("words") {
        let groups = place.object(value)?;
        place.only(groups, &ROLES.map(|(name, _)| name))?;
        let mut words = Vec::new();
        for (name, role) in ROLES {
            let Some(list) = groups.get(name) else { continue };
            words.extend(place.at(name).texts(list)?.into_iter().map(|word| (word, role)));
        }
        words.append(&mut agent.words);
        agent.words = words;
    }
    if let (place, Some(value)) = at("flags") {
        let groups = place.object(value)?;
        place.only(groups, &CLASSES.map(|(name, _)| name))?;
        let mut flags = Vec::new();
        for (name, class) in CLASSES {
            let Some(list) = groups.get(name) else { continue };
            let place = place.at(name);
            for (number, text) in place.texts(list)?.iter().enumerate() {
                flags.push(flag(text, class).ok_or_else(|| {
                    format!(
                        "{}[{number}] is not of a form like \"-m, --model <name>\", \"--debug [filter]\" or \"--add-dir <dirs...>\"",
                        place.0
                    )
                })?);
            }
        }
        flags.append(&mut agent.flags);
        agent.flags = flags;
    }
    if let (place, Some(value)) = at("dialogs") {
        let mut dialogs = Vec::new();
        for (name, entry) in place.object(value)? {
            agent.dialogs.retain(|known| known.name != *name);
            if *entry != Value::Bool(false) {
                dialogs.push(dialog(&place.at(name), name, entry)?);
            }
        }
        dialogs.append(&mut agent.dialogs);
        agent.dialogs = dialogs;
    }
    for (key, missing) in [("programs", agent.programs.is_empty()), ("resume", agent.resume.is_empty())] {
        if missing {
            return Err(format!("{}.{key} is missing", place.0));
        }
    }
    Ok(agent)
}

fn blank(kind: &str) -> Agent {
    Agent {
        kind: kind.to_owned(),
        title: kind.to_owned(),
        programs: Vec::new(),
        shared_name: false,
        executables: Vec::new(),
        scripts: Vec::new(),
        script: Script::Agent,
        resume: Vec::new(),
        id: IdForm::Word,
        home: AgentHome::default(),
        transcripts: String::new(),
        empty_transcripts: false,
        headless_pipe: false,
        headless_prompt: false,
        scrub: Vec::new(),
        short_equals: false,
        words: Vec::new(),
        flags: Vec::new(),
        dialogs: Vec::new(),
    }
}

/// The id is a word of its own, and the last: nothing behind it can become its value, and no joining can change it.
fn resume(place: &Place, value: &Value) -> Result<Vec<String>, String> {
    let words = place.texts(value)?;
    let (last, before) = words.split_last().map_or(("", &[][..]), |(last, before)| (last.as_str(), before));
    let flags = before.iter().filter(|word| *word == "{flags}").count();
    let braces = before.iter().any(|word| *word != "{flags}" && word.contains(['{', '}']));
    if last != "{id}" || flags > 1 || braces {
        return Err(format!("{} must end with a word {{id}}, and may hold one word {{flags}} before it", place.0));
    }
    Ok(words)
}

fn home(place: &Place, value: &Value) -> Result<AgentHome, String> {
    let object = place.object(value)?;
    place.only(object, &["variable", "below", "folder"])?;
    let mut home = AgentHome::default();
    if let Some(value) = object.get("variable") {
        home.variable = place.at("variable").text(value)?;
        if !is_variable(&home.variable) {
            return Err(format!("{}.variable is no name of a variable", place.0));
        }
    }
    for (key, what, path) in [("below", "what the variable names", &mut home.below), ("folder", "the home", &mut home.folder)] {
        let Some(value) = object.get(key) else { continue };
        *path = place.at(key).text(value)?;
        if !is_below(path) {
            return Err(format!("{}.{key} is no path below {what}", place.0));
        }
    }
    Ok(home)
}

fn dialog(place: &Place, name: &str, value: &Value) -> Result<Dialog, String> {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    if name.is_empty() || name.len() > 32 || !name.chars().all(plain) {
        return Err(format!("{}: a name is 1 to 32 of a-z, 0-9 and _", place.0));
    }
    let object = place.object(value)?;
    place.only(object, &["title", "texts", "choices", "keys"])?;
    let text = |key: &str| object.get(key).map_or(Ok(String::new()), |value| place.at(key).text(value));
    let texts = |key: &str| {
        let each = |value| place.at(key).each(value, |text| !text.trim().is_empty(), "blank");
        object.get(key).map_or(Ok(Vec::new()), each)
    };
    let dialog =
        Dialog { name: name.to_owned(), title: text("title")?, texts: texts("texts")?, choices: texts("choices")?, keys: text("keys")? };
    let keys = !dialog.keys.trim().is_empty();
    if dialog.title.trim().is_empty() {
        return Err(format!("{}.title is missing", place.0));
    }
    if name == SUMMARY && dialog.choices.is_empty() {
        return Err(format!("{}.choices is missing", place.0));
    }
    match (dialog.choices.is_empty(), keys) {
        (true, false) => Err(format!("{} has neither choices nor keys", place.0)),
        (false, true) => Err(format!("{} has both choices and keys", place.0)),
        _ => Ok(dialog),
    }
}

/// Reads a flag as help texts show it: `-m, --model <name>`, `--debug [filter]`, `--add-dir <dirs...>`, `--image <FILE>...`,
/// `--allow-tool [tools...]`.
fn flag(text: &str, class: Class) -> Option<Flag> {
    let (names, arity) = match text.find(['<', '[']) {
        None => (text, Arity::None),
        Some(at) => {
            let (names, value) = text.split_at(at);
            let arity = match (value.strip_suffix("..."), value.ends_with("...>"), value.as_bytes()[0]) {
                (Some(value), _, b'<') if value.ends_with('>') => Arity::Many,
                (None, true, b'<') => Arity::Many,
                (None, false, b'<') if value.ends_with('>') => Arity::One,
                (None, _, b'[') if value.ends_with("...]") => Arity::Any,
                (None, false, b'[') if value.ends_with(']') => Arity::Optional,
                _ => return None,
            };
            (names.strip_suffix(' ')?, arity)
        }
    };
    let names: Vec<String> = names.split(", ").map(str::to_owned).collect();
    names.iter().all(|name| is_flag_name(name)).then_some(Flag { names, arity, class })
}

/// `-m` or `--model`.
fn is_flag_name(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    match name.strip_prefix("--") {
        Some(long) => !long.is_empty() && !long.starts_with('-') && long.chars().all(plain),
        None => name.len() == 2 && name.starts_with('-') && name.chars().nth(1).is_some_and(|c| c.is_ascii_alphanumeric()),
    }
}

fn is_variable(name: &str) -> bool {
    !name.is_empty() && !name.starts_with(|c: char| c.is_ascii_digit()) && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

fn is_below(path: &str) -> bool {
    !path.is_empty() && Path::new(path).components().all(|part| matches!(part, Component::Normal(_)))
}

/// Where in the configuration we are.
struct Place(String);

impl Place {
    fn at(&self, key: &str) -> Self {
        Self(format!("{}.{key}", self.0))
    }

    fn object<'a>(&self, value: &'a Value) -> Result<&'a Map<String, Value>, String> {
        value.as_object().ok_or_else(|| format!("{} is no JSON object", self.0))
    }

    fn only(&self, object: &Map<String, Value>, known: &[&str]) -> Result<(), String> {
        match object.keys().find(|key| !known.contains(&key.as_str())) {
            Some(key) => Err(format!("{}.{key} is not known (known are {})", self.0, known.join(", "))),
            None => Ok(()),
        }
    }

    fn text(&self, value: &Value) -> Result<String, String> {
        value.as_str().map(str::to_owned).ok_or_else(|| format!("{} is no text", self.0))
    }

    fn truth(&self, value: &Value) -> Result<bool, String> {
        value.as_bool().ok_or_else(|| format!("{} is not true or false", self.0))
    }

    fn texts(&self, value: &Value) -> Result<Vec<String>, String> {
        let list = value.as_array().and_then(|list| list.iter().map(|item| item.as_str().map(str::to_owned)).collect());
        list.ok_or_else(|| format!("{} is no list of words", self.0))
    }

    fn each(&self, value: &Value, good: impl Fn(&str) -> bool, what: &str) -> Result<Vec<String>, String> {
        let words = self.texts(value)?;
        match words.iter().position(|word| !good(word)) {
            Some(at) => Err(format!("{}[{at}] is {what}", self.0)),
            None => Ok(words),
        }
    }

    fn one_of<T: Copy>(&self, value: &Value, known: &[(&str, T)]) -> Result<T, String> {
        let found = known.iter().find(|(word, _)| value.as_str() == Some(word));
        found.map(|&(_, meaning)| meaning).ok_or_else(|| {
            let words: Vec<String> = known.iter().map(|(word, _)| format!("\"{word}\"")).collect();
            format!("{} is not {}", self.0, words.join(" or "))
        })
    }
}
