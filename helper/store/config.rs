//! `config.json`: what the user chose. A bad value is told, and the default is used. A file that can't be read at all, as it is half written
//! or has a comma too many, costs no record: what it may want to be kept is kept.

use std::io::Read;
use std::time::Duration;

use serde_json::{Map, Value};

use super::paths::config_file;

/// The user's choices.
#[derive(Clone, Debug)]
pub struct Config {
    /// How long a tombstone stands; `None` for ever.
    pub retention: Option<Duration>,
    /// How many tombstones of closed shells are kept.
    pub closed_tombstones: usize,
    /// Patterns (`*`, `?`) of session names that are never recorded.
    pub ignore: Vec<String>,
    /// `restore.resumeAgents`: `off`, `ask` or `auto`.
    pub resume_agents: String,
    /// `restore.resumeConcurrency`: how many agents may start at the same time.
    pub resume_concurrency: usize,
    /// `restore.resumeStagger`: the time from one agent's start to the next.
    pub resume_stagger: Duration,
    /// `restore.recreateShells`: what a new server does with what can be restored. The option `@sidecar-offer` wins.
    pub recreate_shells: Recreate,
    /// `restore.programs`: the names of programs that a restore starts again.
    pub programs: Vec<String>,
    /// `restore.scrollback`: how many lines of what each pane showed are kept; 0 for none. `None` where the file does not tell: what is kept
    /// stays, and nothing is added.
    pub scrollback: Option<usize>,
    /// `snapshots.keep`: how many of the newest snapshots are kept.
    pub snapshots: usize,
    /// `agents`: entries for the catalog of agents, as they stand.
    pub agents: Map<String, Value>,
    /// What is wrong with the file.
    pub warnings: Vec<String>,
}

/// What a new server does with what can be restored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Recreate {
    /// Nothing.
    Off,
    /// It shows the menu, once.
    #[default]
    Ask,
    /// It restores.
    Auto,
}

impl Recreate {
    fn parse(word: &str) -> Option<Self> {
        match word {
            "off" => Some(Self::Off),
            "ask" => Some(Self::Ask),
            "auto" => Some(Self::Auto),
            _ => None,
        }
    }

    /// Reads `@sidecar-offer`, whose word for asking is `on`.
    pub fn of_option(word: &str) -> Option<Self> {
        Self::parse(if word == "on" { "ask" } else { word })
    }
}

const DAY: Duration = Duration::from_secs(24 * 60 * 60);
/// Each agent takes hundreds of MB.
const MOST_AT_ONCE: usize = 64;
/// In milliseconds; more would look like a hang.
const LONGEST_STAGGER: u64 = 10_000;
/// Of one pane; tmux stands still while it writes them.
const MOST_LINES: usize = 10_000;
const DEFAULT_CLOSED: usize = 200;
const DEFAULT_SNAPSHOTS: usize = 20;
const MOST_SNAPSHOTS: usize = 1000;
const KEPT: &str = "nothing is given up until that is mended";
const DEFAULT_RETENTION: Duration = Duration::from_secs(14 * 24 * 60 * 60);

impl Default for Config {
    fn default() -> Self {
        Self {
            retention: Some(DEFAULT_RETENTION),
            closed_tombstones: DEFAULT_CLOSED,
            ignore: Vec::new(),
            resume_agents: "ask".into(),
            resume_concurrency: 4,
            resume_stagger: Duration::from_millis(250),
            recreate_shells: Recreate::Ask,
            programs: Vec::new(),
            scrollback: Some(0),
            snapshots: DEFAULT_SNAPSHOTS,
            agents: Map::new(),
            warnings: Vec::new(),
        }
    }
}

impl Config {
    /// Reads the user's file; a missing one means the defaults.
    pub fn read() -> Self {
        let Ok(path) = config_file() else { return Self::default() };
        match read_bounded(&path) {
            Ok(bytes) => Self::parse(&bytes, &path.display().to_string()),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Self::default(),
            Err(error) => Self::unreadable(&error.to_string()),
        }
    }

    /// The defaults, but for what would be given up by them.
    fn unreadable(why: &str) -> Self {
        let mut config = Self { warnings: vec![format!("{why}; the defaults are used, and {KEPT}")], ..Self::default() };
        for group in ["shells", "restore", "snapshots"] {
            config.keep_all_of(group);
        }
        config
    }

    /// Gives up nothing that the settings of this group could have kept.
    fn keep_all_of(&mut self, group: &str) {
        match group {
            "shells" => (self.retention, self.closed_tombstones) = (None, usize::MAX),
            "restore" => self.scrollback = None,
            "snapshots" => self.snapshots = usize::MAX,
            _ => (),
        }
    }

    fn parse(bytes: &[u8], name: &str) -> Self {
        let mut config = Self::default();
        let value: Value = match serde_json::from_slice(bytes) {
            Ok(value) => value,
            Err(error) => return Self::unreadable(&format!("{name}: not JSON ({error})")),
        };
        let Value::Object(groups) = &value else {
            return Self::unreadable(&format!("{name}: it holds no JSON object"));
        };
        for (group, keys) in groups {
            let known: &[&str] = match group.as_str() {
                "shells" => &["tombstoneRetention", "closedTombstones", "ignore"],
                "restore" => &["resumeAgents", "resumeConcurrency", "resumeStagger", "recreateShells", "programs", "scrollback"],
                "snapshots" => &["keep"],
                "agents" => continue,
                _ => &[],
            };
            if !known.is_empty() && !keys.is_object() && !keys.is_null() {
                config.keep_all_of(group);
                config.warnings.push(format!("{name}: {group} is {keys}, not a JSON object; its defaults are used, and {KEPT}"));
                continue;
            }
            let all = keys.as_object().into_iter().flat_map(serde_json::Map::keys);
            let strange: Vec<String> = if known.is_empty() {
                vec![group.clone()]
            } else {
                all.filter(|key| !known.contains(&key.as_str())).map(|key| format!("{group}.{key}")).collect()
            };
            config.warnings.extend(strange.into_iter().map(|key| format!("{name}: {key} is not known, and has no effect")));
        }
        let mut warn = |key: &str, value: &Value, wanted: &str| {
            config.warnings.push(format!("{name}: {key} is {value}, not {wanted}; the default is used"));
        };
        let at = |group: &str, key: &str| value.get(group).and_then(|group| group.get(key)).filter(|value| !value.is_null());
        if let Some(value) = at("shells", "tombstoneRetention") {
            match value.as_str().and_then(parse_retention) {
                Some(retention) => config.retention = retention,
                None => warn("shells.tombstoneRetention", value, "a time like \"14d\", \"36h\" or \"forever\""),
            }
        }
        if let Some(value) = at("shells", "closedTombstones") {
            match value.as_u64().and_then(|number| usize::try_from(number).ok()) {
                Some(number) => config.closed_tombstones = number,
                None => warn("shells.closedTombstones", value, "a whole number"),
            }
        }
        if let Some(value) = at("shells", "ignore") {
            match texts(value) {
                Some(patterns) => config.ignore = patterns,
                None => warn("shells.ignore", value, "a list of name patterns"),
            }
        }
        if let Some(value) = at("restore", "resumeAgents") {
            match value.as_str() {
                Some(word @ ("off" | "ask" | "auto")) => word.clone_into(&mut config.resume_agents),
                _ => warn("restore.resumeAgents", value, "\"off\", \"ask\" or \"auto\""),
            }
        }
        if let Some(value) = at("restore", "resumeConcurrency") {
            match value.as_u64().and_then(|number| usize::try_from(number).ok()).filter(|number| (1..=MOST_AT_ONCE).contains(number)) {
                Some(number) => config.resume_concurrency = number,
                None => warn("restore.resumeConcurrency", value, "a whole number from 1 to 64"),
            }
        }
        if let Some(value) = at("restore", "resumeStagger") {
            match value.as_u64().filter(|&pause| pause <= LONGEST_STAGGER) {
                Some(pause) => config.resume_stagger = Duration::from_millis(pause),
                None => warn("restore.resumeStagger", value, "a whole number of milliseconds up to 10000"),
            }
        }
        if let Some(value) = at("restore", "recreateShells") {
            match value.as_str().and_then(Recreate::parse) {
                Some(choice) => config.recreate_shells = choice,
                None => warn("restore.recreateShells", value, "\"off\", \"ask\" or \"auto\""),
            }
        }
        if let Some(value) = at("restore", "programs") {
            match texts(value).filter(|names| names.iter().all(|name| is_program_name(name))) {
                Some(names) => config.programs = names,
                None => warn("restore.programs", value, "a list of program names, such as [\"vim\", \"less\"]"),
            }
        }
        if let Some(value) = at("restore", "scrollback") {
            match value.as_u64().and_then(|lines| usize::try_from(lines).ok()).filter(|lines| *lines <= MOST_LINES) {
                Some(lines) => config.scrollback = Some(lines),
                None => {
                    // Not wanting any is said with 0: what is kept stays.
                    config.scrollback = None;
                    warn("restore.scrollback", value, "a number of lines up to 10000");
                }
            }
        }
        if let Some(value) = at("snapshots", "keep") {
            match value.as_u64().and_then(|number| usize::try_from(number).ok()).filter(|number| (1..=MOST_SNAPSHOTS).contains(number)) {
                Some(number) => config.snapshots = number,
                None => warn("snapshots.keep", value, "a whole number from 1 to 1000"),
            }
        }
        match value.get("agents") {
            None | Some(Value::Null) => (),
            Some(Value::Object(agents)) => config.agents.clone_from(agents),
            Some(value) => warn("agents", value, "a JSON object with an entry for each agent"),
        }
        config
    }

    /// How many lines of what is kept of a pane are shown again; `None` where the user wants none.
    pub fn shown_again(&self) -> Option<usize> {
        Some(self.scrollback.unwrap_or(MOST_LINES)).filter(|&lines| lines > 0)
    }

    /// Whether a session of this name is never to be recorded.
    pub fn ignores(&self, name: &str) -> bool {
        self.ignore.iter().any(|pattern| wildmatch::WildMatch::new(pattern).matches(name))
    }
}

/// A list of texts.
fn texts(value: &Value) -> Option<Vec<String>> {
    value.as_array()?.iter().map(|item| item.as_str().map(str::to_owned)).collect()
}

/// Whether this can be the base name of a program. A name with a dash before it would be an option of what starts it.
fn is_program_name(name: &str) -> bool {
    !name.is_empty() && !name.starts_with('-') && !name.contains(['/', '\0']) && !matches!(name, "." | "..")
}

/// Hooks read it too, so a pipe or a device in its place must not hold them up.
fn read_bounded(path: &std::path::Path) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if !fs_err::metadata(path)?.is_file() {
        return Err(std::io::Error::other(format!("{} is no plain file", path.display())));
    }
    fs_err::File::open(path)?.take(1024 * 1024).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Reads `14d`, `1.5d`, `36h`, `90m` or `forever` (the outer `None` is for what is none of these).
#[expect(clippy::option_option, reason = "a retention may be unbounded, and a text may be no retention")]
fn parse_retention(text: &str) -> Option<Option<Duration>> {
    let text = text.trim();
    if text == "forever" {
        return Some(None);
    }
    let unit = text.chars().last()?;
    let number: f64 = text[..text.len() - unit.len_utf8()].trim().parse().ok()?;
    let seconds = match unit {
        'd' => DAY.as_secs_f64(),
        'h' => 3600.0,
        'm' => 60.0,
        's' => 1.0,
        _ => return None,
    };
    // A time that no clock reaches is for ever.
    let total = number * seconds;
    if !(number.is_finite() && number >= 0.0) {
        return None;
    }
    Some(Duration::try_from_secs_f64(total).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retentions_are_read_with_fractions_and_hours() {
        assert_eq!(parse_retention("14d"), Some(Some(DEFAULT_RETENTION)));
        assert_eq!(parse_retention("1.5d"), Some(Some(Duration::from_secs(129_600))));
        assert_eq!(parse_retention(" 36h "), Some(Some(Duration::from_secs(129_600))));
        assert_eq!(parse_retention("forever"), Some(None));
        assert_eq!(parse_retention("1e300d"), Some(None));
        for bad in ["", "d", "14", "-1d", "NaNd", "infd", "14 fortnights", "14é"] {
            assert_eq!(parse_retention(bad), None, "{bad}");
        }
    }

    #[test]
    fn a_bad_value_is_told_and_the_default_used() {
        let config = Config::parse(br#"{"shells":{"tombstoneRetention":14,"ignore":["tmp-*",3]},"restore":{"resumeAgents":"yes"}}"#, "f");
        assert!(config.ignore.is_empty());
        assert_eq!(config.warnings.len(), 3, "{:?}", config.warnings);
        assert_eq!(Config::parse(br#"{"shellz":{},"shells":{"x":1}}"#, "f").warnings.len(), 2);
        for bad in ["0", "65", "-1", "1.5", "\"4\""] {
            let config = Config::parse(format!(r#"{{"restore":{{"resumeConcurrency":{bad}}}}}"#).as_bytes(), "f");
            assert_eq!((config.resume_concurrency, config.warnings.len()), (4, 1), "{bad}");
        }
        let config = Config::parse(br#"{"restore":{"resumeConcurrency":1,"resumeStagger":0}}"#, "f");
        assert_eq!((config.resume_concurrency, config.resume_stagger, config.warnings.len()), (1, Duration::ZERO, 0));
        for (lines, kept) in [("0", Some(0)), ("2000", Some(2000)), ("10000", Some(10_000)), ("10001", None), ("-1", None), ("true", None)]
        {
            let config = Config::parse(format!(r#"{{"restore":{{"scrollback":{lines}}}}}"#).as_bytes(), "f");
            assert_eq!((config.scrollback, config.warnings.len()), (kept, usize::from(kept.is_none())), "{lines}");
        }
        for (keep, kept, warnings) in [("5", 5, 0), ("0", 20, 1), ("1001", 20, 1), ("\"5\"", 20, 1), ("null", 20, 0)] {
            let config = Config::parse(format!(r#"{{"snapshots":{{"keep":{keep}}}}}"#).as_bytes(), "f");
            assert_eq!((config.snapshots, config.warnings.len()), (kept, warnings), "{keep}");
        }
        assert!(Config::parse(b"{}", "f").warnings.is_empty());
        assert_eq!(Config::parse(br#"{"agents":["claude"]}"#, "f").warnings.len(), 1);
        assert_eq!(Config::parse(br#"{"agents":{"x":1}}"#, "f").agents.len(), 1, "the catalog judges its entries");
    }

    #[test]
    fn what_can_not_be_read_gives_up_nothing() {
        let kept = |text: &str| {
            let config = Config::parse(text.as_bytes(), "f");
            assert_eq!(config.warnings.iter().filter(|warning| warning.ends_with(KEPT)).count(), config.warnings.len(), "{text}");
            (config.retention, config.closed_tombstones, config.scrollback, config.snapshots)
        };
        let (retention, most) = (Some(DEFAULT_RETENTION), usize::MAX);
        let all = (None, most, None, most);
        for unreadable in ["", "{", "[]", r#"{"restore":{"scrollback":2000,}}"#] {
            assert_eq!(kept(unreadable), all, "{unreadable}");
        }
        assert_eq!(kept("{}"), (retention, DEFAULT_CLOSED, Some(0), DEFAULT_SNAPSHOTS));
        assert_eq!(kept(r#"{"shells":3,"restore":{"scrollback":5}}"#), (None, most, Some(5), DEFAULT_SNAPSHOTS));
        assert_eq!(kept(r#"{"restore":[],"snapshots":"x"}"#), (retention, DEFAULT_CLOSED, None, most));
    }

    #[test]
    fn programs_are_names_or_none_at_all() {
        let config = |programs: &str| Config::parse(format!(r#"{{"restore":{{"programs":{programs}}}}}"#).as_bytes(), "f");
        let good = config(r#"["vim","less","a b"]"#);
        assert_eq!((good.programs.as_slice(), good.warnings.len()), (&["vim".to_owned(), "less".into(), "a b".into()][..], 0));
        assert_eq!(config("null").warnings.len() + config("[]").warnings.len(), 0);
        for bad in [r#""vim""#, "[1]", r#"["vim",""]"#, r#"["vim","/bin/sh"]"#, r#"["-x"]"#, r#"[".."]"#, "{}", "true"] {
            let config = config(bad);
            assert_eq!((config.programs.len(), config.warnings.len()), (0, 1), "{bad}");
            assert!(config.warnings[0].contains("restore.programs"), "{bad}");
        }
    }

    #[test]
    fn patterns_are_matched_against_the_whole_name() {
        let config = Config::parse(br#"{"shells":{"ignore":["tmp-*","x?"]}}"#, "f");
        assert!(config.warnings.is_empty());
        for (name, ignored) in [("tmp-1", true), ("a tmp-1", false), ("xy", true), ("x", false), ("xyz", false)] {
            assert_eq!(config.ignores(name), ignored, "{name}");
        }
    }
}
