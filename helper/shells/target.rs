//! Which shell a target means, among the records and the tombstones.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use super::Shells;
use crate::error::{Error, Exit, Result};
use crate::model::{NoTarget, Shell, State, Tombstone, find_shell};
use crate::restore::thaw;
use crate::tmux::shown_from_name;

/// What a target means.
#[derive(Clone, Copy, Debug)]
pub(super) enum Target<'a> {
    /// A record.
    Recorded(&'a Shell),
    /// A tombstone.
    Forgotten(&'a Tombstone),
}

/// Where it is looked for first; what is found there hides the rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum First {
    /// Among the records.
    Recorded,
    /// Among the tombstones.
    Forgotten,
}

/// The ways to say it: as it was typed, and as tmux shows what was typed.
fn spellings(target: &OsStr) -> Vec<String> {
    let mut spellings: Vec<String> = target.to_str().map(str::to_owned).into_iter().collect();
    spellings.push(shown_from_name(target.as_bytes()));
    spellings.dedup();
    spellings
}

/// Finds what a target means.
pub(super) fn find<'a>(state: &'a State, target: &OsStr, first: First) -> std::result::Result<Target<'a>, NoTarget<'a>> {
    let mut near = None;
    let order = if first == First::Recorded { [First::Recorded, First::Forgotten] } else { [First::Forgotten, First::Recorded] };
    for group in order {
        for spelling in spellings(target) {
            let found = match group {
                First::Recorded => find_shell(state.shells.iter(), &spelling),
                First::Forgotten => find_shell(state.tombstones.iter().map(|tombstone| &tombstone.shell), &spelling),
            };
            match found {
                Ok(shell) => {
                    let tombstone = state.tombstones.iter().find(|tombstone| tombstone.shell.id == shell.id);
                    return Ok(match (group, tombstone) {
                        (First::Forgotten, Some(tombstone)) => Target::Forgotten(tombstone),
                        _ => Target::Recorded(shell),
                    });
                }
                Err(NoTarget::Unknown(slip)) => near = near.or(slip),
                Err(several) => return Err(several),
            }
        }
    }
    Err(NoTarget::Unknown(near))
}

/// Exit 3: a target that means nothing, or too much.
pub(super) fn no_target(server: &str, target: &OsStr, why: &NoTarget) -> Error {
    let target = target.to_string_lossy();
    let error = match why {
        NoTarget::Several(shells) => {
            let candidates: Vec<String> =
                shells.iter().map(|shell| format!("{} ('{}' in {})", shell.id, shell.session, shell.work_dir.display())).collect();
            Error::failed("ambiguous_target", format!("{} shells are named '{target}': {}", shells.len(), candidates.join(", ")))
                .hint("give the id of the one that is meant")
        }
        NoTarget::Unknown(near) => {
            let near = near.map(|near| format!("did you mean '{near}'? ")).unwrap_or_default();
            Error::failed("no_such_shell", format!("no shell named '{target}' on the server '{server}'"))
                .hint(format!("{near}`sidecar shell list --all` shows them"))
        }
    };
    error.exit(Exit::NoTarget)
}

impl Shells<'_> {
    /// A word for each recorded, or each forgotten, shell that means it and no other one: its name, else its session's name, else its
    /// id; the first that `fits`. Reads, no more.
    ///
    /// # Errors
    /// The records can't be read.
    pub fn target_words(&self, forgotten: bool, fits: &dyn Fn(&str) -> bool) -> Result<Vec<String>> {
        let state = self.store.load()?.state;
        let first = if forgotten { First::Forgotten } else { First::Recorded };
        let means = |word: &str, id: &str| match find(&state, OsStr::new(word), first) {
            Ok(Target::Recorded(shell)) => shell.id == id,
            Ok(Target::Forgotten(tombstone)) => tombstone.shell.id == id,
            Err(_) => false,
        };
        let word = |shell: &Shell| {
            let words = [&shell.name, &shell.session, &shell.id];
            words.into_iter().find(|word| fits(word) && means(word, &shell.id)).cloned()
        };
        let mut words: Vec<String> = if forgotten {
            state.tombstones.iter().filter_map(|tombstone| word(&tombstone.shell)).collect()
        } else {
            state.shells.iter().filter_map(word).collect()
        };
        words.sort();
        Ok(words)
    }

    /// The ids of the shells that these targets name, those of a snapshot too; what was forgotten is named only where nothing else is.
    /// Reads, no more.
    ///
    /// # Errors
    /// A target means none or several (exit 3), or the records can't be read.
    pub fn ids(&self, targets: &[String], snapshot: Option<&str>) -> Result<Vec<String>> {
        let mut state = self.store.load()?.state;
        if let Some(name) = snapshot {
            thaw(&mut state, &self.store.snapshot(name)?, None);
        }
        ids_in(&state, &self.server.display_name(), targets)
    }
}

/// The same in these records of a server.
///
/// # Errors
/// A target means none or several (exit 3).
pub fn ids_in(state: &State, server: &str, targets: &[String]) -> Result<Vec<String>> {
    let id = |target: &String| {
        let target = OsStr::new(target);
        match find(state, target, First::Recorded) {
            Ok(Target::Recorded(shell)) => Ok(shell.id.clone()),
            Ok(Target::Forgotten(tombstone)) => Ok(tombstone.shell.id.clone()),
            Err(why) => Err(no_target(server, target, &why)),
        }
    };
    targets.iter().map(id).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Reason;

    fn shell(id: &str, name: &str) -> Shell {
        Shell { id: id.into(), name: name.into(), session: name.into(), made_as: name.into(), ..Shell::default() }
    }

    fn state(shells: &[(&str, &str)], tombstones: &[(&str, &str)]) -> State {
        let tombstone = |&(id, name): &(&str, &str)| Tombstone {
            reason: Reason::Closed,
            deleted_at: 1,
            shell: shell(id, name),
            extra: serde_json::Map::new(),
        };
        State {
            shells: shells.iter().map(|(id, name)| shell(id, name)).collect(),
            tombstones: tombstones.iter().map(tombstone).collect(),
            ..State::default()
        }
    }

    fn told(state: &State, target: &str, first: First) -> String {
        match find(state, OsStr::new(target), first) {
            Ok(Target::Recorded(shell)) => shell.id.clone(),
            Ok(Target::Forgotten(tombstone)) => format!("forgotten {}", tombstone.shell.id),
            Err(NoTarget::Several(shells)) => format!("{} of them", shells.len()),
            Err(NoTarget::Unknown(near)) => format!("near {near:?}"),
        }
    }

    #[test]
    fn a_tombstone_hides_no_shell_of_its_name_and_no_shell_hides_the_tombstone_that_is_asked_for() {
        let state = state(&[("sh-0001", "web"), ("sh-0002", r"a\\b")], &[("sh-0003", "web"), ("sh-0004", "old"), ("sh-0005", "old")]);
        for (target, first, found) in [
            ("web", First::Recorded, "sh-0001"),
            ("web", First::Forgotten, "forgotten sh-0003"),
            ("sh-0003", First::Recorded, "forgotten sh-0003"),
            ("sh-0001", First::Forgotten, "sh-0001"),
            ("old", First::Recorded, "2 of them"),
            (r"a\b", First::Recorded, "sh-0002"),
            (r"a\\b", First::Recorded, "sh-0002"),
            ("wbe", First::Forgotten, "near Some(\"web\")"),
            ("w", First::Recorded, "near None"),
        ] {
            assert_eq!(told(&state, target, first), found, "{target} {first:?}");
        }
    }
}
