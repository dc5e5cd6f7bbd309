//! Whether a conversation has a transcript: found by its id, where the catalog says that its agent keeps them. Where an agent says
//! that it will write one, it may never be.

use std::cell::RefCell;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use serde_json::Value;
use wildmatch::WildMatch;

use super::catalog::Agent;
use crate::model::{Binding, EpochMs, RawText};

/// A transcript's first line tells what it is of.
const LONGEST_LINE: u64 = 64 * 1024;

/// The folders that an agent's conversations may lie in: that of the binding alone, if it has one of its own.
fn folders(agent: &Agent, binding: &Binding) -> Vec<PathBuf> {
    if let Some(own) = &binding.config_dir {
        return vec![agent.home.of(own.as_path())];
    }
    let usual = crate::store::home().ok().map(|home| home.join(&agent.home.folder));
    let set = std::env::var_os(&agent.home.variable).map(|set| agent.home.of(Path::new(&set)));
    usual.into_iter().chain(set).filter(|folder| folder.is_absolute()).collect()
}

/// Whether the transcript is there and holds something. Where an agent keeps no file for each conversation, a prompt is the proof.
pub fn exists(agent: &Agent, binding: &Binding) -> bool {
    if !agent.is_id(&binding.id) {
        return false;
    }
    if agent.transcripts.is_empty() || (agent.empty_transcripts && !binding.prompted) {
        return agent.transcripts.is_empty() && binding.prompted;
    }
    let pattern = agent.transcript_of(&binding.id);
    folders(agent, binding).iter().any(|folder| {
        // An agent may keep thousands in hundreds of folders, and mostly it is the one that it told of.
        let told = binding.transcript.as_ref().and_then(|told| told.as_path().strip_prefix(folder).ok());
        told.is_some_and(|below| fits(below, &pattern) && is_of(agent, &binding.id, &folder.join(below)))
            || find(agent, folder, &binding.id).is_some()
    })
}

/// Where the transcript is, of an agent that keeps a file for each conversation.
pub fn path(agent: &Agent, binding: &Binding) -> Option<PathBuf> {
    let folders = if agent.is_id(&binding.id) && !agent.transcripts.is_empty() { folders(agent, binding) } else { Vec::new() };
    folders.iter().find_map(|folder| find(agent, folder, &binding.id))
}

/// The transcript of a conversation below the agent's folder, if it is there and holds anything.
pub(super) fn find(agent: &Agent, folder: &Path, id: &str) -> Option<PathBuf> {
    search(folder, &agent.transcript_of(id), &|path| is_of(agent, id, path))
}

/// Whether a file that is named as its transcript holds anything; and names the whole id in its first line, where its name has only
/// the beginning.
fn is_of(agent: &Agent, id: &str, path: &Path) -> bool {
    fs_err::metadata(path).is_ok_and(|data| data.is_file() && data.len() > 0)
        && (!agent.transcripts.contains("{id8}") || first_line(path).is_some_and(|line| line.contains(id)))
}

/// The transcripts of an agent's conversations that were written to since then. `binding` tells whose folders.
pub fn since(agent: &Agent, binding: &Binding, since: EpochMs) -> Vec<PathBuf> {
    let found = RefCell::new(Vec::new());
    let collect = |path: &Path| {
        if written(path).is_some_and(|at| at >= since) {
            found.borrow_mut().push(path.to_owned());
        }
        false
    };
    let folders = if agent.transcripts.is_empty() { Vec::new() } else { folders(agent, binding) };
    for folder in folders {
        search(&folder, &agent.transcript_of("*"), &collect);
    }
    let mut found = found.into_inner();
    found.sort_unstable();
    found.dedup();
    found
}

/// Whether a file is this conversation's transcript.
pub fn is_named(agent: &Agent, path: &Path, id: &str) -> bool {
    let pattern = agent.transcript_of(id);
    let names: Vec<PathBuf> =
        path.ancestors().take(pattern.split('/').count()).filter_map(|part| part.file_name()).map(PathBuf::from).collect();
    let below: PathBuf = names.iter().rev().collect();
    fits(&below, &pattern) && is_of(agent, id, path)
}

fn first_line(path: &Path) -> Option<String> {
    let mut line = Vec::new();
    let file = fs_err::File::open(path).ok()?;
    BufReader::new(file.take(LONGEST_LINE)).read_until(b'\n', &mut line).ok()?;
    Some(String::from_utf8_lossy(&line).into_owned())
}

fn fits(path: &Path, pattern: &str) -> bool {
    let parts: Vec<&str> = pattern.split('/').collect();
    let own: Vec<_> = path.components().map(|part| part.as_os_str().to_string_lossy()).collect();
    own.len() == parts.len() && own.iter().zip(parts).all(|(own, part)| own != ".." && WildMatch::new(part).matches(own))
}

/// The file of this pattern below a folder that fits.
fn search(folder: &Path, pattern: &str, fits: &dyn Fn(&Path) -> bool) -> Option<PathBuf> {
    let (part, rest) = pattern.split_once('/').unwrap_or((pattern, ""));
    let below = |path: PathBuf| if rest.is_empty() { fits(&path).then_some(path) } else { search(&path, rest, fits) };
    if !part.contains('*') && !part.contains('?') {
        return below(folder.join(part));
    }
    let wanted = WildMatch::new(part);
    let entries = fs_err::read_dir(folder).ok()?.filter_map(|entry| Some(entry.ok()?.file_name()));
    let mut names: Vec<_> = entries.filter(|name| wanted.matches(&name.to_string_lossy())).collect();
    // Folders are named by dates or projects: of dates the newest is the likeliest.
    names.sort_unstable_by(|a, b| b.cmp(a));
    names.into_iter().find_map(|name| below(folder.join(name)))
}

/// When a transcript was last written to.
pub fn written(transcript: &Path) -> Option<EpochMs> {
    let modified = fs_err::metadata(transcript).ok()?.modified().ok()?;
    u64::try_from(modified.duration_since(std::time::UNIX_EPOCH).ok()?.as_millis()).ok()
}

/// How much of a transcript is read for the directory that it was begun in.
const LONGEST_BEGINNING: u64 = 1024 * 1024;
/// How many of its first lines, of which some agents fill a few with other things.
const FIRST_LINES: usize = 64;

/// Where a conversation was begun: the first of a transcript's lines that tells a directory.
pub fn directory(transcript: &Path) -> Option<RawText> {
    let file = fs_err::File::open(transcript).ok()?;
    let lines = BufReader::new(file.take(LONGEST_BEGINNING)).split(b'\n').take(FIRST_LINES);
    lines.map_while(std::result::Result::ok).find_map(|line| {
        let line: Value = serde_json::from_slice(&line).ok()?;
        line["cwd"].as_str().or_else(|| line["payload"]["cwd"].as_str()).map(RawText::from)
    })
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a test writes transcripts as agents do")]
mod tests {
    use super::*;
    use crate::agents::catalog::Catalog;

    const ID: &str = "01a228e7-fac2-7180-b353-a6ead433a7ba";

    #[test]
    fn a_transcript_named_by_the_beginning_of_an_id_counts_for_the_whole_one_and_for_a_prompt() {
        let home = tempfile::tempdir().unwrap();
        let agent = Catalog::built_in().get("gemini").unwrap().clone();
        let folder = home.path().join("h/.gemini");
        let path = folder.join(format!("tmp/web/chats/session-2026-11-29T23-57-{}.jsonl", &ID[..8]));
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, format!("{{\"sessionId\":\"{ID}\"}}\n{{}}\n")).unwrap();
        let binding = Binding { id: ID.into(), config_dir: Some(home.path().join("h").into()), prompted: true, ..Binding::default() };
        assert!(exists(&agent, &binding));
        assert!(!exists(&agent, &Binding { prompted: false, ..binding.clone() }), "it is there before the first prompt");
        let other = format!("{}{}", &ID[..8], ID[8..].replace("fac2", "fac3"));
        assert!(!exists(&agent, &Binding { id: other, transcript: Some(path.into()), ..binding }));
    }

    #[test]
    fn without_files_of_their_own_a_prompt_is_the_proof_of_a_conversation() {
        let agent = Agent { transcripts: String::new(), ..Catalog::built_in().get("claude").unwrap().clone() };
        for prompted in [true, false] {
            assert_eq!(exists(&agent, &Binding { id: ID.into(), prompted, ..Binding::default() }), prompted);
        }
    }

    #[test]
    fn a_transcript_tells_where_it_was_begun() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("t.jsonl");
        let told = |text: &str| {
            std::fs::write(&path, text).unwrap();
            directory(&path).map(|dir| dir.display().into_owned())
        };
        assert_eq!(told("{\"type\":\"summary\"}\nnonsense\n{\"cwd\":\"/w/a\"}\n{\"cwd\":\"/w/b\"}\n").as_deref(), Some("/w/a"));
        assert_eq!(told("{\"payload\":{\"cwd\":\"/w/c\"}}").as_deref(), Some("/w/c"));
        assert_eq!(told(&("{}\n".repeat(FIRST_LINES) + "{\"cwd\":\"/w/a\"}")), None);
        assert_eq!(told("{\"cwd\":7}"), None);
    }

    #[test]
    fn the_transcripts_since_a_time_are_those_of_all_conversations_and_each_is_told_by_its_id() {
        let home = tempfile::tempdir().unwrap();
        let other = ID.replace("a7ba", "a7bb");
        for (kind, folder, name) in [
            ("claude", "projects/-w-p1", "{}.jsonl"),
            ("codex", "sessions/2026/11/29", "rollout-2026-11-29T15-10-12-{}.jsonl"),
            ("gemini", ".gemini/tmp/web/chats", "session-2026-11-29T23-57-{8}.jsonl"),
        ] {
            let agent = Catalog::built_in().get(kind).unwrap().clone();
            let folder = home.path().join(kind).join(folder);
            std::fs::create_dir_all(&folder).unwrap();
            let binding = Binding { config_dir: Some(home.path().join(kind).into()), ..Binding::default() };
            let path = |id: &str| folder.join(name.replace("{}", id).replace("{8}", &id[..8]));
            for id in [&other, ID] {
                std::fs::write(path(id), format!("{{\"sessionId\":\"{id}\"}}\n{{}}\n")).unwrap();
            }
            std::fs::write(folder.join("notes.txt"), "x").unwrap();
            // Gemini CLI's names have only the beginning of an id: of these two the last one written is left.
            let own = if kind == "gemini" { vec![path(ID)] } else { vec![path(ID), path(&other)] };
            assert_eq!(since(&agent, &binding, 0), own, "{kind}");
            assert!(since(&agent, &binding, u64::MAX).is_empty(), "{kind}");
            assert!(is_named(&agent, &path(ID), ID) && !is_named(&agent, &path(ID), &other), "{kind}");
        }
    }

    #[test]
    fn a_transcript_is_found_by_its_id_alone() {
        let home = tempfile::tempdir().unwrap();
        let catalog = Catalog::built_in();
        for (kind, file) in [
            ("claude", format!("projects/-w-p1/{ID}.jsonl")),
            ("codex", format!("sessions/2026/11/29/rollout-2026-11-29T15-10-12-{ID}.jsonl")),
        ] {
            let agent = catalog.get(kind).unwrap();
            let folder = home.path().join(kind);
            let mut binding = Binding { id: ID.into(), config_dir: Some(folder.clone().into()), ..Binding::default() };
            assert!(!exists(agent, &binding));
            let path = folder.join(&file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, "").unwrap();
            assert!(!exists(agent, &binding), "it holds nothing");
            std::fs::write(&path, "{}\n").unwrap();
            assert!(exists(agent, &binding));
            // What the agent told first may be a file that it never wrote; what lies elsewhere proves nothing.
            binding.transcript = Some(folder.join("projects/-w-p2/x.jsonl").into());
            assert!(exists(agent, &binding));
            assert!(!exists(agent, &Binding { id: ID.replace("01a", "01b"), transcript: Some(path.into()), ..binding.clone() }));
            assert!(!exists(agent, &Binding { id: "../../x".into(), ..binding }));
        }
    }
}
