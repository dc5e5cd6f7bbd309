//! Which agents there are, and everything that differs between them: one table, `agents.json`. The `agents` key of the user's
//! `config.json` has the same form.

mod parse;

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

const BUILT_IN: &str = include_str!("agents.json");

/// Longest id of a conversation, in bytes.
const LONGEST_ID: usize = 128;

/// Every agent that is known.
#[derive(Clone, Debug)]
pub struct Catalog {
    agents: Vec<Agent>,
}

/// One agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Agent {
    /// The word for it in records and commands.
    pub kind: String,
    /// Its name for people.
    pub title: String,
    /// File names of its program; the first is the one to start.
    pub programs: Vec<String>,
    /// Whether other programs have such a name too: only `executables` and `scripts` tell it then.
    pub shared_name: bool,
    /// Patterns (`*`) of executables whose file is named otherwise, such as after the version.
    pub executables: Vec<String>,
    /// Patterns (`*`) of the scripts by which an interpreter runs it.
    pub scripts: Vec<String>,
    /// What such a script is.
    pub script: Script,
    /// Its arguments for going on with a conversation: `{flags}` stands for the kept ones, and `{id}`, the last, for the id.
    pub resume: Vec<String>,
    /// The form of its ids.
    pub id: IdForm,
    /// Where its configuration and its conversations lie.
    pub home: AgentHome,
    /// Pattern of a conversation's transcript below `home`, with `{id}` in it, or `{id8}` for its first eight characters: such a
    /// transcript holds the whole id in its first line. Empty where conversations have no files of their own.
    pub transcripts: String,
    /// Whether it writes a transcript before the first prompt, and takes none such for a conversation to go on with.
    pub empty_transcripts: bool,
    /// Whether it answers and ends where its input is no terminal.
    pub headless_pipe: bool,
    /// Whether it answers and ends where its arguments hold a prompt.
    pub headless_prompt: bool,
    /// Variables that it sets for what it starts, and that a new one must not inherit.
    pub scrub: Vec<String>,
    /// Whether `=` after a short flag is no part of the value (`-m=x` is `-mx`).
    pub short_equals: bool,
    /// First words that are no prompt, alone or with the word right behind (`threads continue`).
    pub words: Vec<(String, WordRole)>,
    /// Its flags.
    pub flags: Vec<Flag>,
    /// The questions that it may wait at.
    pub dialogs: Vec<Dialog>,
}

/// A question that an agent may wait at, and by what texts it is known. Spaces, line ends and capitals are the same in them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dialog {
    /// A stable `snake_case` word.
    pub name: String,
    /// What is asked, for people.
    pub title: String,
    /// What stands above its choices.
    pub texts: Vec<String>,
    /// What stands among its choices; empty for a question that has no list of them.
    pub choices: Vec<String>,
    /// What stands among the keys at the end of a question without a list.
    pub keys: String,
}

/// What a script that an interpreter runs is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Script {
    /// The agent itself.
    Agent,
    /// It starts the agent and waits for it, with the same arguments.
    Wrapper,
}

/// The form of a conversation's id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdForm {
    /// 8-4-4-4-12 hexadecimal digits.
    Uuid,
    /// ASCII letters, digits, `_`, `-` and `.`, of which neither of the last two is the first.
    Word,
}

/// A folder: what the variable names, else this one in the user's home.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AgentHome {
    /// The variable, which a resume keeps; empty for none.
    pub variable: String,
    /// Where the folder is below what the variable names; empty if that is the folder itself.
    pub below: String,
    /// Below the user's home.
    pub folder: String,
}

/// What a first word makes of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WordRole {
    /// The next word is the id of the conversation that it goes on with.
    Id,
    /// A conversation of a new id.
    Fork,
    /// Nobody sits at it.
    Headless,
    /// A worker behind conversations.
    Background,
    /// A server of conversations.
    Daemon,
    /// It shows a conversation that runs elsewhere.
    Attach,
    /// No conversation.
    Other,
}

/// A flag.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flag {
    /// `--model`, `-m`; all its names.
    pub names: Vec<String>,
    /// Which words behind it are its values.
    pub arity: Arity,
    /// What becomes of it.
    pub class: Class,
}

impl Flag {
    /// The name that is written: a long one if it has any, as only that can be joined to its value.
    pub fn name(&self) -> &str {
        self.names.iter().find(|name| name.starts_with("--")).unwrap_or(&self.names[0])
    }
}

/// Which words behind a flag are its values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arity {
    /// None.
    None,
    /// The next one, whatever it looks like.
    One,
    /// The next one, unless it begins with `-`.
    Optional,
    /// The next one, and all behind it up to one that begins with `-`.
    Many,
    /// All up to one that begins with `-`, and maybe none.
    Any,
}

/// What becomes of a flag in a resume.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// It is given again.
    Keep,
    /// The same, unless a value that is data and no file name holds what looks like a secret.
    Data,
    /// It names the conversation. Dropped.
    Id,
    /// The conversation gets a new id. Dropped.
    Fork,
    /// It chooses or makes a conversation. Dropped.
    Session,
    /// It is used up by the start. Dropped.
    Once,
    /// Nobody sits at it.
    Headless,
    /// Its value is a secret: never stored. Dropped.
    Secret,
    /// It only tells something.
    Other,
}

impl Catalog {
    /// The agents that are known without a configuration.
    ///
    /// # Panics
    /// Never in a build that passed its tests, which read the table.
    pub fn built_in() -> Self {
        let table: Map<String, Value> = serde_json::from_str(BUILT_IN).expect("the built-in table is JSON");
        let agents = table.iter().map(|(kind, entry)| parse::agent(kind, entry, None).expect("the built-in table is whole"));
        Self { agents: agents.collect() }
    }

    /// With the user's entries: new agents, other values for known ones, `false` for none. Gives also what is wrong with them; such
    /// an entry is left out.
    pub fn with(user: &Map<String, Value>) -> (Self, Vec<String>) {
        let mut catalog = Self::built_in();
        let mut warnings = Vec::new();
        for (kind, entry) in user {
            let known = catalog.agents.iter().position(|agent| agent.kind == *kind);
            if *entry == Value::Bool(false) {
                catalog.agents.retain(|agent| agent.kind != *kind);
                continue;
            }
            match (parse::agent(kind, entry, known.map(|at| &catalog.agents[at])), known) {
                (Ok(agent), Some(at)) => catalog.agents[at] = agent,
                (Ok(agent), None) => catalog.agents.push(agent),
                (Err(wrong), _) => warnings.push(format!("config.json: {wrong}; this entry has no effect")),
            }
        }
        (catalog, warnings)
    }

    /// Every agent.
    pub fn agents(&self) -> &[Agent] {
        &self.agents
    }

    /// The agent of this kind.
    pub fn get(&self, kind: &str) -> Option<&Agent> {
        self.agents.iter().find(|agent| agent.kind == kind)
    }

    /// The names that a program has only where it is an agent.
    pub fn program_names(&self) -> Vec<String> {
        self.agents.iter().filter(|agent| !agent.shared_name).flat_map(|agent| agent.programs.clone()).collect()
    }

    /// The variables that no agent may inherit: what one agent told its children confuses any other too.
    pub fn scrub(&self) -> impl Iterator<Item = &str> {
        self.agents.iter().flat_map(|agent| &agent.scrub).map(String::as_str)
    }
}

impl AgentHome {
    /// The folder, where the variable has this value.
    pub fn of(&self, value: &Path) -> PathBuf {
        if self.below.is_empty() { value.to_owned() } else { value.join(&self.below) }
    }
}

impl Agent {
    /// The pattern of this conversation's transcript below the agent's folder.
    pub fn transcript_of(&self, id: &str) -> String {
        self.transcripts.replace("{id}", id).replace("{id8}", id.get(..8).unwrap_or(id))
    }

    /// The flag of this name.
    pub fn flag(&self, name: &str) -> Option<&Flag> {
        self.flags.iter().find(|flag| flag.names.iter().any(|known| known == name))
    }

    /// What this first word makes of the run; `None` for a prompt.
    pub fn word(&self, word: &str) -> Option<WordRole> {
        self.words.iter().find(|(known, _)| known == word).map(|&(_, role)| role)
    }

    /// Whether this may be the id of one of its conversations. It goes into argument lists, patterns and paths.
    pub fn is_id(&self, text: &str) -> bool {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte);
        match self.id {
            IdForm::Uuid => {
                let dash = |at: usize| matches!(at, 8 | 13 | 18 | 23);
                text.len() == 36
                    && text.bytes().enumerate().all(|(at, byte)| if dash(at) { byte == b'-' } else { byte.is_ascii_hexdigit() })
            }
            IdForm::Word => !text.is_empty() && text.len() <= LONGEST_ID && !text.starts_with(['-', '.']) && text.bytes().all(plain),
        }
    }

    /// Whether its ids can be told from words.
    pub fn has_ids_of_a_form(&self) -> bool {
        self.id == IdForm::Uuid
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(text: &str) -> (Catalog, Vec<String>) {
        Catalog::with(serde_json::from_str::<Value>(text).unwrap().as_object().unwrap())
    }

    #[test]
    fn the_built_in_table_is_read_and_no_name_stands_twice() {
        let catalog = Catalog::built_in();
        assert_eq!(
            catalog.agents().iter().map(|agent| agent.kind.as_str()).collect::<Vec<_>>(),
            ["amp", "claude", "codex", "copilot", "crush", "cursor", "droid", "gemini", "goose", "opencode", "qwen"]
        );
        for agent in catalog.agents() {
            let names: Vec<&String> = agent.flags.iter().flat_map(|flag| &flag.names).collect();
            let words = agent.words.iter().map(|(word, _)| word);
            for list in [names, words.collect()] {
                let mut once = list.clone();
                once.sort();
                once.dedup();
                assert_eq!(once.len(), list.len(), "{list:?}");
            }
        }
    }

    #[test]
    fn ids_are_strict() {
        let claude = Catalog::built_in().get("claude").unwrap().clone();
        assert!(claude.is_id("01a228e7-fac2-7180-b353-a6ead433a7ba"));
        for bad in ["", "nonsense", "01a228e7-fac2-7180-b353-a6ead433a7b", "01a228e7-fac2-7180-b353-a6ead433a7bg", "../../etc/passwd"] {
            assert!(!claude.is_id(bad), "{bad}");
        }
        let word = Agent { id: IdForm::Word, ..claude };
        assert!(word.is_id("ses_6a.b-c"));
        for bad in ["", "-x", ".x", "a b", "a/b", "a\nb", "é", "*", &"x".repeat(129)] {
            assert!(!word.is_id(bad), "{bad}");
        }
    }

    #[test]
    fn users_add_an_agent_and_teach_a_known_one() {
        let (catalog, warnings) = with(
            r#"{ "aider": { "programs": ["aider"], "resume": ["--restore", "{id}"] },
                 "claude": { "title": "My Claude", "flags": { "keep": ["--newer <value>"], "session": ["--model <model>"] },
                             "dialogs": { "log_in": false, "api_key": { "title": "t", "choices": ["c"] }, "new": { "title": "n", "keys": "e" } } },
                 "codex": false }"#,
        );
        assert!(warnings.is_empty(), "{warnings:?}");
        assert_eq!(catalog.agents().len(), Catalog::built_in().agents().len());
        let aider = catalog.get("aider").unwrap();
        assert_eq!((aider.title.as_str(), aider.id, aider.script), ("aider", IdForm::Word, Script::Agent));
        let claude = catalog.get("claude").unwrap();
        assert_eq!(claude.title, "My Claude");
        assert_eq!(claude.flag("--newer").map(|flag| flag.arity), Some(Arity::One));
        assert_eq!(claude.flag("--model").map(|flag| flag.class), Some(Class::Session), "the user's word is the last");
        assert_eq!(claude.flag("--verbose").map(|flag| flag.class), Some(Class::Keep));
        let dialog = |name: &str| claude.dialogs.iter().find(|dialog| dialog.name == name);
        assert_eq!((dialog("log_in"), dialog("api_key").map(|own| own.title.as_str())), (None, Some("t")));
        assert_eq!(claude.dialogs.iter().filter(|dialog| dialog.name == "api_key").count(), 1);
        assert!(dialog("new").is_some() && dialog("trust_folder").is_some());
    }

    #[test]
    fn the_example_of_the_readme_is_read() {
        let readme = include_str!("../../../README.md");
        let example = &readme[readme.find("{ \"agents\": {").unwrap()..];
        let example: Value = serde_json::from_str(&example[..example.find("\n\n").unwrap()]).unwrap();
        let (catalog, warnings) = Catalog::with(example["agents"].as_object().unwrap());
        assert!(warnings.is_empty(), "{warnings:?}");
        assert_eq!(
            catalog.agents().iter().map(|agent| agent.kind.as_str()).collect::<Vec<_>>(),
            ["amp", "claude", "copilot", "crush", "cursor", "droid", "gemini", "goose", "opencode", "qwen", "helper"]
        );
    }

    #[test]
    fn a_bad_entry_is_told_with_its_place_and_left_out() {
        for (entry, told) in [
            (r#"{"x": 1}"#, "agents.x is no JSON object"),
            (r#"{"X y": {}}"#, "agents.X y: a kind is 1 to 32 of a-z, 0-9 and -"),
            (r#"{"x": {}}"#, "agents.x.programs is missing"),
            (r#"{"x": {"programs": ["a/b"], "resume": ["{id}"]}}"#, "agents.x.programs[0] is no file name"),
            (r#"{"x": {"programs": ["x"]}}"#, "agents.x.resume is missing"),
            (r#"{"x": {"programs": ["x"], "resume": ["--resume={id}"]}}"#, "agents.x.resume must end with a word {id}"),
            (r#"{"x": {"programs": ["x"], "resume": ["{id}", "y"]}}"#, "agents.x.resume must end with a word {id}"),
            (r#"{"x": {"programs": ["x"], "resume": ["{flags}", "{flags}", "{id}"]}}"#, "agents.x.resume must end with a word {id}"),
            (r#"{"x": {"programs": "x", "resume": ["{id}"]}}"#, "agents.x.programs is no list of words"),
            (r#"{"x": {"programs": ["x"], "resume": ["{id}"], "id": "any"}}"#, r#"agents.x.id is not "uuid" or "word""#),
            (r#"{"x": {"programs": ["x"], "resume": ["{id}"], "nope": 1}}"#, "agents.x.nope is not known"),
            (r#"{"x": {"programs": ["x"], "resume": ["{id}"], "flags": {"keep": ["model"]}}}"#, "agents.x.flags.keep[0]"),
            (r#"{"x": {"programs": ["x"], "resume": ["{id}"], "flags": {"keeps": []}}}"#, "agents.x.flags.keeps is not known"),
            (r#"{"x": {"programs": ["x"], "resume": ["{id}"], "words": {"id": [1]}}}"#, "agents.x.words.id is no list of words"),
            (
                r#"{"x": {"programs": ["x"], "resume": ["{id}"], "home": {"folder": "/abs"}}}"#,
                "agents.x.home.folder is no path below the home",
            ),
            (r#"{"x": {"programs": ["x"], "resume": ["{id}"], "transcripts": "../{id}"}}"#, "agents.x.transcripts"),
            (r#"{"x": {"programs": ["x"], "resume": ["{id}"], "scrub": ["A=B"]}}"#, "agents.x.scrub[0] is no name of a variable"),
            (r#"{"x": {"programs": ["x"], "resume": ["{id}"], "dialogs": []}}"#, "agents.x.dialogs is no JSON object"),
            (r#"{"claude": {"dialogs": {"A b": {}}}}"#, "agents.claude.dialogs.A b: a name is 1 to 32 of a-z, 0-9 and _"),
            (r#"{"claude": {"dialogs": {"x": {}}}}"#, "agents.claude.dialogs.x.title is missing"),
            (r#"{"claude": {"dialogs": {"x": {"title": "x?"}}}}"#, "agents.claude.dialogs.x has neither choices nor keys"),
            (r#"{"claude": {"dialogs": {"x": {"title": "x?", "choices": ["a"], "keys": "b"}}}}"#, "agents.claude.dialogs.x has both"),
            (r#"{"claude": {"dialogs": {"x": {"title": "x?", "choices": [" "]}}}}"#, "agents.claude.dialogs.x.choices[0] is blank"),
            (r#"{"claude": {"dialogs": {"x": {"title": "x?", "choices": "a"}}}}"#, "agents.claude.dialogs.x.choices is no list of words"),
            (r#"{"claude": {"dialogs": {"x": {"key": "y"}}}}"#, "agents.claude.dialogs.x.key is not known"),
            (
                r#"{"claude": {"dialogs": {"resume_summary": {"title": "x?", "keys": "y"}}}}"#,
                "agents.claude.dialogs.resume_summary.choices is missing",
            ),
            (r#"{"claude": {"flags": {"keep": ["--new value"]}}}"#, "agents.claude.flags.keep[0]"),
        ] {
            let (catalog, warnings) = with(entry);
            assert_eq!(warnings.len(), 1, "{entry}");
            assert!(warnings[0].starts_with(&format!("config.json: {told}")), "{entry}: {}", warnings[0]);
            assert_eq!(catalog.agents(), Catalog::built_in().agents(), "{entry}");
        }
    }
}
