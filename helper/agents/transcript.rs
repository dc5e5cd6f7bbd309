//! Whether a conversation has a transcript: found by its id, where the catalog says that its agent keeps them. Where an agent says
//! that it will write one, it may never be.

use std::path::{Path, PathBuf};

use wildmatch::WildMatch;

use super::catalog::Agent;
use crate::model::Binding;

/// The folders that an agent's conversations may lie in: that of the binding alone, if it has one of its own.
fn folders(agent: &Agent, binding: &Binding) -> Vec<PathBuf> {
    if let Some(own) = &binding.config_dir {
        return vec![own.as_path().to_owned()];
    }
    let usual = crate::store::home().ok().map(|home| home.join(&agent.home.folder));
    let set = std::env::var_os(&agent.home.variable).map(PathBuf::from);
    usual.into_iter().chain(set).filter(|folder| folder.is_absolute()).collect()
}

/// Whether the transcript is there and holds something.
pub fn exists(agent: &Agent, binding: &Binding) -> bool {
    if !agent.is_id(&binding.id) {
        return false;
    }
    let pattern = agent.transcripts.replace("{id}", &binding.id);
    folders(agent, binding).iter().any(|folder| {
        // An agent may keep thousands in hundreds of folders, and mostly it is the one that it told of.
        let told = binding.transcript.as_ref().and_then(|told| told.as_path().strip_prefix(folder).ok());
        told.is_some_and(|below| fits(below, &pattern) && is_filled(&folder.join(below))) || find(folder, &pattern).is_some()
    })
}

fn fits(path: &Path, pattern: &str) -> bool {
    let parts: Vec<&str> = pattern.split('/').collect();
    let own: Vec<_> = path.components().map(|part| part.as_os_str().to_string_lossy()).collect();
    own.len() == parts.len() && own.iter().zip(parts).all(|(own, part)| own != ".." && WildMatch::new(part).matches(own))
}

/// The file of this pattern below a folder that holds anything.
pub(super) fn find(folder: &Path, pattern: &str) -> Option<PathBuf> {
    let (part, rest) = pattern.split_once('/').unwrap_or((pattern, ""));
    let below = |path: PathBuf| if rest.is_empty() { is_filled(&path).then_some(path) } else { find(&path, rest) };
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

fn is_filled(path: &Path) -> bool {
    fs_err::metadata(path).is_ok_and(|data| data.is_file() && data.len() > 0)
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a test writes transcripts as agents do")]
mod tests {
    use super::*;
    use crate::agents::catalog::Catalog;

    const ID: &str = "01a228e7-fac2-7180-b353-a6ead433a7ba";

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
