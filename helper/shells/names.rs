//! Which names may be given.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::quoted;
use crate::error::{Error, Exit, Result};
use crate::model::{Observation, RawText, Shell, State};
use crate::store::Config;
use crate::tmux::shown_from_name;

/// The longest name, in bytes: one that a table, a menu and a tmux command can hold.
const LONGEST: usize = 1000;

/// A name that somebody typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Name {
    /// As people see it. Bytes that are no text are written as tmux writes them, `\377`.
    pub(super) display: String,
    /// As it is asked of tmux.
    pub(super) bytes: Vec<u8>,
}

/// Any text is a name, but none.
pub(super) fn check(name: &OsStr) -> Result<Name> {
    let bytes = name.as_bytes();
    let wrong = |why: String| Err(Error::failed("bad_name", why).exit(Exit::Usage));
    if bytes.is_empty() {
        return wrong("a name can't be empty".to_owned());
    }
    if bytes.len() > LONGEST {
        return wrong(format!("this name has {} bytes: {LONGEST} are the most", bytes.len()));
    }
    let display = name.to_str().map_or_else(|| shown_from_name(bytes), str::to_owned);
    Ok(Name { display, bytes: bytes.to_vec() })
}

/// The shell that has this display name in a project, other than the one of the id `except`.
pub(super) fn holder<'a>(state: &'a State, name: &str, home: &RawText, except: &str) -> Option<&'a Shell> {
    state.shells.iter().find(|shell| shell.id != except && shell.name == name && shell.home() == home)
}

/// Refuses a display name that another shell of the project has.
pub(super) fn check_free(state: &State, name: &str, home: &RawText, except: &str) -> Result<()> {
    match holder(state, name, home, except) {
        None => Ok(()),
        Some(other) => {
            Err(Error::failed("name_taken", format!("another shell of the project {} is named '{name}': {}", home.display(), other.id))
                .exit(Exit::Refused)
                .hint(format!("choose another name, or rename that one: `sidecar shell rename --target {} NAME`", other.id)))
        }
    }
}

/// Refuses a session name that the user does not want recorded.
pub(super) fn check_recorded(config: &Config, session: &str) -> Result<()> {
    if config.ignores(session) {
        return Err(Error::failed("name_ignored", format!("'{session}' matches shells.ignore: a session of that name is not recorded"))
            .exit(Exit::Refused)
            .hint("choose another name, or change shells.ignore in config.json"));
    }
    Ok(())
}

/// The shell that has this session name, or would come back under it, other than the one of the id `except`: to take it from a
/// shell that does not live would be to keep it from coming back.
pub(super) fn session_holder<'a>(state: &'a State, session: &str, except: &str) -> Option<&'a Shell> {
    state.shells.iter().find(|shell| shell.id != except && (shell.session == session || shell.seen_as.as_deref() == Some(session)))
}

pub(super) fn held_by(other: &Shell) -> String {
    format!("another shell, {} ({}), has that session name", quoted(other), other.id)
}

/// A session name of Sidecar's own that is free: `stem-1`, `stem-2` …, or first `stem` alone. What a shell was once named stays a
/// target for its life, so no name is given twice.
pub(super) fn free_session(state: &State, seen: Option<&Observation>, stem: &str, alone: bool) -> String {
    let records = || state.shells.iter().chain(state.tombstones.iter().map(|tombstone| &tombstone.shell));
    let taken = |name: &str| {
        let of = |shell: &Shell| [&shell.session, &shell.made_as, &shell.name].iter().any(|known| *known == name);
        records().any(of) || seen.into_iter().flat_map(|seen| &seen.sessions).any(|session| session.name == name)
    };
    let mut names =
        alone.then(|| stem.to_owned()).into_iter().chain((if alone { 2 } else { 1 }..).map(|number| format!("{stem}-{number}")));
    names.find(|name| !taken(name)).unwrap_or_default()
}

/// `sidecar-sh-<project>`, in characters that every tmux keeps as they are and takes in a target.
pub(super) fn stem_of_project(home: &Path) -> String {
    let base = home.file_name().map(OsStr::to_string_lossy).unwrap_or_default();
    format!("sidecar-sh-{}", plain(&base, ""))
}

/// `sidecar-ws-<branch>`.
pub(super) fn stem_of_branch(branch: &str) -> String {
    format!("sidecar-ws-{}", plain(branch, "/"))
}

fn plain(text: &str, also: &str) -> String {
    let keep = |c: char| c.is_alphanumeric() || "-_".contains(c) || also.contains(c);
    let plain: String = text.chars().take(100).map(|c| if keep(c) { c } else { '_' }).collect();
    if plain.is_empty() { "root".to_owned() } else { plain }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Reason, Tombstone};

    fn shell(id: &str, name: &str, session: &str) -> Shell {
        Shell {
            id: id.into(),
            name: name.into(),
            session: session.into(),
            made_as: session.into(),
            work_dir: "/p".into(),
            ..Shell::default()
        }
    }

    #[test]
    fn any_text_is_a_name() {
        for name in ["x", " ", "\t", "a\nb", "-x", "#(touch CANARY)", "日本", "'\"`;"] {
            let checked = check(OsStr::new(name)).unwrap();
            assert_eq!((checked.display.as_str(), checked.bytes.as_slice()), (name, name.as_bytes()));
        }
        assert_eq!(check(OsStr::from_bytes(b"bad\xff")).unwrap().display, r"bad\377");
        for bad in [String::new(), "x".repeat(1001)] {
            assert_eq!(check(OsStr::new(&bad)).unwrap_err().exit, Exit::Usage);
        }
    }

    #[test]
    fn a_display_name_is_given_once_in_a_project_and_a_tombstone_has_none() {
        let mut state = State { shells: vec![shell("sh-0001", "web", "a"), shell("sh-0002", "api", "b")], ..State::default() };
        let gone = shell("sh-0003", "old", "c");
        state.tombstones.push(Tombstone { reason: Reason::Closed, deleted_at: 1, shell: gone, extra: serde_json::Map::new() });
        let free = |name: &str, home: &str| check_free(&state, name, &home.into(), "sh-0002").is_ok();
        assert_eq!([free("web", "/p"), free("api", "/p"), free("old", "/p"), free("web", "/q")], [false, true, true, true]);
    }

    #[test]
    fn no_session_name_is_given_twice() {
        let mut state = State { shells: vec![shell("sh-0001", "x", "sidecar-sh-p-1")], ..State::default() };
        let gone = Shell { made_as: "sidecar-sh-p-2".into(), ..shell("sh-0002", "y", "y") };
        state.tombstones.push(Tombstone { reason: Reason::Closed, deleted_at: 1, shell: gone, extra: serde_json::Map::new() });
        assert_eq!(free_session(&state, None, "sidecar-sh-p", false), "sidecar-sh-p-3");
        assert_eq!(free_session(&state, None, "y", true), "y-2");
        assert_eq!(free_session(&state, None, "z", true), "z");
    }

    #[test]
    fn sidecars_own_session_names_hold_nothing_that_tmux_changes() {
        for (home, stem) in [("/code/my.app v2", "sidecar-sh-my_app_v2"), ("/", "sidecar-sh-root"), ("/日本:x", "sidecar-sh-日本_x")] {
            assert_eq!(stem_of_project(Path::new(home)), stem);
        }
        assert_eq!(stem_of_branch("fix/auth-2.1#x"), "sidecar-ws-fix/auth-2_1_x");
    }
}
