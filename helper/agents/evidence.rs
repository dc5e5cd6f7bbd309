//! What tells of a conversation without a hook: the agent's own list of its sessions, the arguments of its process, the title of its
//! pane; and what else a binding holds.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::catalog::{Agent, Catalog};
use super::daemon::{at_rest, id_in};
use super::flags::Run;
use super::lineage::{AgentProcess, agent_at};
use super::process;
use super::transcript::find;
use crate::model::{Binding, BoundProcess, EpochMs, RawText, Source};

/// A session's file holds a few hundred bytes.
const LONGEST_FILE: u64 = 64 * 1024;
/// The first line of a transcript may hold all that the agent is told of its work.
const LONGEST_LINE: u64 = 1024 * 1024;

/// An agent in a pane, as it is seen without its help.
#[derive(Clone, Debug)]
pub struct SeenAgent {
    /// Its process.
    pub agent: AgentProcess,
    /// The directory that its process is in.
    pub dir: Option<RawText>,
    /// Whether that is where it works: Codex works where its conversation did or where it is told to, and stays where it is.
    pub works_here: bool,
    /// Its configuration directory, where that is not the default one.
    pub config_dir: Option<RawText>,
    /// Its conversation, where anything tells it.
    pub told: Option<Told>,
}

/// What tells of a conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Told {
    /// Its id.
    pub id: String,
    /// What told.
    pub source: Source,
    /// Of when that is.
    pub at: EpochMs,
    /// Its transcript, if it is there.
    pub transcript: Option<RawText>,
    /// Whether there was a prompt, as far as that can be seen.
    pub prompted: bool,
}

/// The agent at `pid`, if it holds a conversation. `title` is that of its pane, `old` what the pane is bound to.
pub fn look(catalog: &Catalog, pid: i32, title: &str, old: Option<&Binding>, now: EpochMs) -> Option<SeenAgent> {
    let process = agent_at(catalog, pid).filter(|agent| matches!(agent.run, Run::Conversation(_)))?;
    let agent = catalog.get(&process.kind)?;
    let config_dir = config_dir(agent, pid);
    let told = folder_at(agent, config_dir.as_ref()).and_then(|folder| told(agent, &process, &folder, title, old, now));
    let dir = process::directory(pid).map(RawText::from);
    let works_here = works_where_it_stands(&process.kind);
    Some(SeenAgent { agent: process, dir, works_here, config_dir, told })
}

/// Whether an agent's process is in the directory that it works in.
pub fn works_where_it_stands(kind: &str) -> bool {
    kind != "codex"
}

fn told(agent: &Agent, process: &AgentProcess, folder: &Path, title: &str, old: Option<&Binding>, now: EpochMs) -> Option<Told> {
    let (id, source, at) = by_sessions(agent, process.pid, process.start_time, folder)
        .map(|(id, at)| (id, Source::Sessions, at))
        .or_else(|| {
            by_title(agent, folder, title, old).or_else(|| by_name(agent, process, folder, title, old)).map(|id| (id, Source::Title, now))
        })
        .or_else(|| match &process.run {
            Run::Conversation(Some(id)) => Some((id.clone(), Source::Argv, process::epoch_ms(process.start_time)?)),
            _ => None,
        })?;
    // Looked for until it is there, and anew once it has moved, as into a worktree's folder.
    let known = old.filter(|old| old.id == id && old.kind == agent.kind && old.prompted).and_then(|old| old.transcript.clone());
    let known = known.filter(|known| known.as_path().is_file());
    let transcript = known.or_else(|| find(agent, folder, &id).map(RawText::from));
    // Where conversations have no files of their own, one that was opened by its id is there.
    let prompted = transcript.is_some() || (agent.transcripts.is_empty() && source == Source::Argv);
    Some(Told { id, source, at, transcript, prompted })
}

/// Whether a binding's process, which is gone, was killed: Claude Code takes its session's file away at any end that it sees coming.
pub fn was_killed(catalog: &Catalog, binding: &Binding) -> bool {
    let Some((agent, process)) = catalog.get(&binding.kind).zip(binding.process.as_ref()) else { return false };
    let folder = folder_at(agent, binding.config_dir.as_ref());
    folder.is_some_and(|folder| by_sessions(agent, process.pid, process.start_time, &folder).is_some())
}

/// What its variable for its configuration directory says, where that is another one than the default one.
pub fn config_dir(agent: &Agent, pid: i32) -> Option<RawText> {
    let set = process::variable(pid, &agent.home.variable).filter(|_| !agent.home.variable.is_empty())?;
    let other = default_folder(agent).is_none_or(|default| default != agent.home.of(set.as_path()));
    (set.as_path().is_absolute() && other).then_some(set)
}

/// The configuration directory that it has by itself.
pub fn default_folder(agent: &Agent) -> Option<PathBuf> {
    crate::store::home().ok().map(|home| home.join(&agent.home.folder))
}

/// The configuration directory, where its variable says this, or nothing.
pub fn folder_at(agent: &Agent, set: Option<&RawText>) -> Option<PathBuf> {
    set.map(|set| agent.home.of(set.as_path())).or_else(|| default_folder(agent))
}

/// Claude Code lists each process with its conversation. Older versions don't follow when it changes; those don't tell when the
/// process started either.
fn by_sessions(agent: &Agent, pid: i32, start_time: u64, folder: &Path) -> Option<(String, EpochMs)> {
    if agent.kind != "claude" {
        return None;
    }
    let path = folder.join(format!("sessions/{pid}.json"));
    if fs_err::metadata(&path).ok()?.len() > LONGEST_FILE {
        return None;
    }
    session_of(agent, pid, start_time, &fs_err::read(&path).ok()?)
}

fn session_of(agent: &Agent, pid: i32, start_time: u64, text: &[u8]) -> Option<(String, EpochMs)> {
    let session: Value = serde_json::from_slice(text).ok()?;
    let started = session["procStart"].as_str()?.parse::<u64>().ok()?;
    let own = started == start_time && session["pid"].as_i64() == Some(i64::from(pid));
    let interactive = session["entrypoint"].as_str().is_none_or(|entry| entry == "cli");
    let id = session["sessionId"].as_str().filter(|id| own && interactive && agent.is_id(id))?;
    Some((id.to_owned(), session["updatedAt"].as_u64().or_else(|| session["startedAt"].as_u64()).unwrap_or(0)))
}

/// A title may show only the beginning of an id; the rest is in the name of the transcript.
fn by_title(agent: &Agent, folder: &Path, title: &str, old: Option<&Binding>) -> Option<String> {
    if agent.kind != "codex" {
        return None;
    }
    let shown = id_in(title)?;
    if agent.is_id(shown) {
        return Some(shown.to_owned());
    }
    if let Some(old) = old.filter(|old| old.kind == agent.kind && old.id.starts_with(shown)) {
        return Some(old.id.clone());
    }
    let found = find(agent, folder, &format!("{shown}*"))?;
    let stem = found.file_stem()?.to_str()?;
    let id = stem.get(stem.len().checked_sub(36)?..)?;
    (agent.is_id(id) && id.starts_with(shown)).then(|| id.to_owned())
}

/// A title that names another conversation than the one that this process was bound to: what it shows now, if only one has that name.
fn by_name(agent: &Agent, process: &AgentProcess, folder: &Path, title: &str, old: Option<&Binding>) -> Option<String> {
    let is_own = |own: &BoundProcess| own.pid == process.pid && own.start_time == process.start_time;
    let old = old.filter(|old| agent.kind == "codex" && old.kind == agent.kind && old.process.as_ref().is_some_and(is_own))?;
    let title = Some(at_rest(title)).filter(|title| title.contains(" | "))?;
    let shows = |name: &str| !name.is_empty() && title.strip_prefix(name).is_some_and(|rest| rest.starts_with(" | "));
    let names = thread_names(folder);
    // Of one that has no name yet, the title may be that of what it was forked from.
    names.get(&old.id).filter(|own| !shows(own))?;
    let mut shown = names.iter().filter(|(_, name)| shows(name)).map(|(id, _)| id);
    shown.next().filter(|id| shown.next().is_none() && agent.is_id(id)).cloned()
}

/// Where a Codex conversation was begun: the first line of its transcript tells.
pub fn begun_in(agent: &Agent, folder: &Path, id: &str) -> Option<RawText> {
    let mut line = String::new();
    let file = fs_err::File::open(find(agent, folder, id)?).ok()?;
    BufReader::new(file.take(LONGEST_LINE)).read_line(&mut line).ok()?;
    let first: Value = serde_json::from_str(&line).ok()?;
    first["payload"]["cwd"].as_str().map(RawText::from)
}

/// The configuration directory of a process, whether it is the usual one or not; `None` where its environment can't be read.
pub fn folder_of(agent: &Agent, pid: i32) -> Option<PathBuf> {
    let set = process::variable(pid, &agent.home.variable).filter(|_| !agent.home.variable.is_empty());
    let home = || process::variable(pid, "HOME").map(|home| home.as_path().join(&agent.home.folder));
    set.map(|set| agent.home.of(set.as_path())).or_else(home)
}

/// The name of a Codex conversation.
pub fn thread_name(folder: &Path, id: &str) -> Option<String> {
    thread_names(folder).remove(id)
}

/// The names of Codex conversations by their ids, from the index that Codex keeps of them; the last line of an id is the present one.
fn thread_names(folder: &Path) -> HashMap<String, String> {
    let path = folder.join("session_index.jsonl");
    if fs_err::metadata(&path).map_or(true, |data| data.len() > 4 * 1024 * 1024) {
        return HashMap::new();
    }
    let text = fs_err::read(&path).unwrap_or_default();
    let entries = text.split(|&byte| byte == b'\n').filter_map(|line| serde_json::from_slice::<Value>(line).ok());
    entries.filter_map(|entry| Some((entry["id"].as_str()?.to_owned(), entry["thread_name"].as_str()?.to_owned()))).collect()
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a test writes an index as Codex does")]
mod tests {
    use super::*;

    const ID: &str = "01a228e7-fac2-7180-b353-a6ead433a7ba";

    #[test]
    fn a_session_file_is_believed_of_its_own_process_alone() {
        let catalog = Catalog::built_in();
        let claude = catalog.get("claude").unwrap();
        let good = serde_json::json!({ "pid": 7, "sessionId": ID, "procStart": "51394", "entrypoint": "cli", "updatedAt": 9 });
        let of = |file: &Value| session_of(claude, 7, 51394, file.to_string().as_bytes());
        assert_eq!(of(&good), Some((ID.to_owned(), 9)));
        for (key, value) in [
            ("pid", 8.into()),
            ("sessionId", "x".into()),
            ("sessionId", Value::Null),
            ("procStart", "51395".into()),
            ("procStart", Value::Null),
            ("entrypoint", "sdk-cli".into()),
        ] {
            let mut bad = good.clone();
            bad[key] = value;
            assert_eq!(of(&bad), None, "{key}");
        }
        assert_eq!(session_of(claude, 7, 51394, b"{"), None);
    }

    #[test]
    fn a_title_that_is_cut_off_is_made_whole_by_the_transcript_or_tells_nothing() {
        let home = tempfile::tempdir().unwrap();
        let catalog = Catalog::built_in();
        let codex = catalog.get("codex").unwrap();
        let title = format!("{}...", &ID[..29]);
        assert_eq!(by_title(codex, home.path(), &title, None), None);
        let bound = Binding { kind: "codex".into(), id: ID.into(), ..Binding::default() };
        assert_eq!(by_title(codex, home.path(), &title, Some(&bound)).as_deref(), Some(ID));
        let folder = home.path().join("sessions/2026/11/29");
        fs_err::create_dir_all(&folder).unwrap();
        std::os::unix::fs::symlink("/etc/hostname", folder.join(format!("rollout-2026-11-29T15-10-12-{ID}.jsonl"))).unwrap();
        assert_eq!(by_title(codex, home.path(), &title, None).as_deref(), Some(ID));
        assert_eq!(by_title(codex, home.path(), "web", None), None);
        assert_eq!(by_title(catalog.get("claude").unwrap(), home.path(), &title, None), None);
    }

    #[test]
    fn a_name_in_a_title_tells_only_what_was_left_and_only_if_one_has_it() {
        let home = tempfile::tempdir().unwrap();
        let catalog = Catalog::built_in();
        let codex = catalog.get("codex").unwrap();
        let id = |number: u8| format!("01a228e7-fac2-7180-b353-a6ead433a7b{number}");
        let names = [(1, "old"), (1, "one"), (2, "two"), (3, "three"), (4, "three"), (5, "one | b")];
        let lines = names.map(|(number, name)| serde_json::json!({ "id": id(number), "thread_name": name }).to_string() + "\n");
        std::fs::write(home.path().join("session_index.jsonl"), lines.concat() + "{cut off").unwrap();
        let process = AgentProcess {
            pid: 7,
            start_time: 5,
            kind: "codex".into(),
            run: Run::Conversation(None),
            kept: None,
            args: None,
            program: None,
            wrapper: false,
        };
        let generation = crate::model::Generation { boot: "b".into(), pid: 1, start_time: 1, process_start: None };
        let own = BoundProcess { pid: 7, start_time: 5, generation };
        let bound = |number, process| Binding { kind: "codex".into(), id: id(number), process, ..Binding::default() };
        for (why, old, title, wanted) in [
            ("it shows another", bound(1, Some(own.clone())), "two | web", Some(2)),
            ("while it works", bound(1, Some(own.clone())), "⠹ two | web", Some(2)),
            ("it is the same", bound(2, Some(own.clone())), "two | web", None),
            ("two have it", bound(1, Some(own.clone())), "three | web", None),
            ("it may be either", bound(2, Some(own.clone())), "one | b | web", None),
            ("an earlier name", bound(2, Some(own.clone())), "old | web", None),
            ("no name at all", bound(1, Some(own.clone())), "web", None),
            ("no project behind it", bound(1, Some(own.clone())), "two", None),
            ("it has no name yet", bound(9, Some(own.clone())), "two | web", None),
            ("another process was bound", bound(1, Some(BoundProcess { pid: 8, ..own.clone() })), "two | web", None),
            ("its process is unknown", bound(1, None), "two | web", None),
        ] {
            assert_eq!(by_name(codex, &process, home.path(), title, Some(&old)), wanted.map(id), "{why}");
        }
        assert_eq!(by_name(codex, &process, home.path(), "two | web", None), None);
    }
}
