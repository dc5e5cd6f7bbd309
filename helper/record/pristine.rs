//! The session that starting tmux makes by itself: neither recorded nor kept as long as nobody used it.

use crate::model::{Bootstrap, Generation, Observation, Screen, SeenSession};

/// A session older than this, in seconds, when its screen is first seen may have been used and cleared: it counts as used.
const FIRST_LOOK_WITHIN: u64 = 60;
/// A shell's start-up files may print for this long, in seconds, before the prompt stands.
const SETTLES_WITHIN: u64 = 3;

/// What a restore calls it while it needs the name `0` for a shell.
pub const MOVED_ASIDE: &str = "sidecar-bootstrap";

/// The session that may be pristine by everything but its screen: the generation's first, named by tmux's own number, with
/// one window and one pane, where the default shell has no child. Only `sidecar` itself may run there.
pub(super) fn candidate(seen: &Observation) -> Option<&SeenSession> {
    first_of_one_pane(seen).filter(|session| is_untouched(session))
}

/// Whether nothing but `sidecar` runs in a session's first pane.
pub(super) fn is_untouched(session: &SeenSession) -> bool {
    let Some(pane) = session.windows.first().and_then(|window| window.panes.first()) else { return false };
    pane.idle || pane.argv.first().is_some_and(|word| word.as_path().file_name().is_some_and(|name| name == "sidecar"))
}

/// The session that may be a candidate once its shell's start-up files, which run programs too, are done. `now` is in seconds.
pub(super) fn starting(seen: &Observation, now: u64) -> Option<&SeenSession> {
    let session = first_of_one_pane(seen)?;
    let settles = now.saturating_sub(session.created) <= SETTLES_WITHIN && nobody_typed(session);
    (settles && !session.windows[0].panes[0].idle).then_some(session)
}

fn first_of_one_pane(seen: &Observation) -> Option<&SeenSession> {
    let session = seen.sessions.iter().find(|session| session.id == "$0")?;
    let [window] = session.windows.as_slice() else { return None };
    let [pane] = window.panes.as_slice() else { return None };
    let untouched = (session.name == "0" || session.name == MOVED_ASIDE)
        && session.tag.is_empty()
        && session.group.is_empty()
        && window.automatic_rename
        && pane.run.is_none()
        && !pane.dead;
    untouched.then_some(session)
}

/// Since the second in which it was made, and its client came.
fn nobody_typed(session: &SeenSession) -> bool {
    session.activity <= session.created + 1
}

/// What its screen tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Nobody used it; with the screen to compare with from now on, `None` while nothing was drawn yet.
    Pristine(Option<Bootstrap>),
    /// It is a shell like any other.
    Used,
}

/// Judges a candidate by its screen. `now` is in seconds.
pub(super) fn judge(known: Option<&Bootstrap>, generation: &Generation, session: &SeenSession, screen: &Screen, now: u64) -> Verdict {
    let age = now.saturating_sub(session.created);
    let fresh = |screen: &Screen| Bootstrap { generation: generation.clone(), session: session.id.clone(), screen: screen.clone() };
    match known.filter(|known| known.generation == *generation && known.session == session.id) {
        None if age > FIRST_LOOK_WITHIN => Verdict::Used,
        None if screen.is_empty() => Verdict::Pristine(None),
        None if shows_one_prompt(screen) => Verdict::Pristine(Some(fresh(screen))),
        None => Verdict::Used,
        Some(known) if unchanged(&known.screen, screen) => Verdict::Pristine(Some(known.clone())),
        // Start-up files still print; nobody typed since the session was made.
        Some(known) if age <= SETTLES_WITHIN && nobody_typed(session) && shows_one_prompt(screen) && !typed_at(&known.screen, screen) => {
            Verdict::Pristine(Some(fresh(screen)))
        }
        Some(_) => Verdict::Used,
    }
}

/// A command that ran leaves a line that begins with the prompt which now stands at the end.
fn shows_one_prompt(screen: &Screen) -> bool {
    match screen.split_last() {
        None => true,
        Some((prompt, above)) => prompt.is_empty() || !above.iter().any(|line| line.starts_with(prompt.as_str())),
    }
}

/// Whether something stands behind the prompt of before. A command may have changed the prompt, and then the new one is alone.
fn typed_at(first: &Screen, now: &Screen) -> bool {
    // Start-up files may print a line in pieces: only what ends like a prompt is one.
    let prompt = first.last().filter(|line| line.ends_with(['$', '#', '%', '>', '❯']));
    prompt.is_some_and(|prompt| now.iter().any(|line| line.strip_prefix(prompt.as_str()).is_some_and(|typed| !typed.trim().is_empty())))
}

/// Whether nothing but runs of `sidecar` came since.
fn unchanged(first: &Screen, now: &Screen) -> bool {
    let Some((prompt, above)) = first.split_last() else { return now.is_empty() };
    let Some(rest) = now.strip_prefix(above) else { return false };
    let after_prompt = |line: &str| line.strip_prefix(prompt.as_str()).map(|typed| typed.trim().to_owned());
    let Some((line, output)) = rest.split_first() else { return false };
    match after_prompt(line) {
        Some(typed) if typed.is_empty() => output.is_empty(),
        // What sidecar printed is no sign of use; a prompt with another command after it is.
        Some(typed) if runs_sidecar(&typed) => {
            output.iter().filter_map(|line| after_prompt(line)).all(|typed| typed.is_empty() || runs_sidecar(&typed))
        }
        _ => false,
    }
}

fn runs_sidecar(typed: &str) -> bool {
    let plain = !typed.contains([';', '&', '|', '`', '$']);
    plain && typed.split_whitespace().next().is_some_and(|word| word == "sidecar" || word.ends_with("/sidecar"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{SeenPane, SeenWindow, TmuxSettings};

    fn lines(text: &[&str]) -> Screen {
        text.iter().map(|&line| line.to_owned()).collect()
    }

    fn generation() -> Generation {
        Generation { boot: "b".into(), pid: 1, start_time: 1, process_start: None }
    }

    fn session() -> SeenSession {
        SeenSession { id: "$0".into(), name: "0".into(), created: 1000, activity: 1000, ..SeenSession::default() }
    }

    #[test]
    fn a_screen_is_compared_with_the_first_one() {
        let first = lines(&["Welcome", "me@host:~$"]);
        for (screen, same) in [
            (lines(&["Welcome", "me@host:~$"]), true),
            (lines(&["Welcome", "me@host:~$ sidecar session restore"]), true),
            (lines(&["Welcome", "me@host:~$ /opt/x/sidecar session status", "RESTORE PLAN", "", "me@host:~$"]), true),
            (lines(&["Welcome", "me@host:~$ sidecar session status; vi x", "me@host:~$"]), false),
            (lines(&["Welcome", "me@host:~$ sidecar session status", "plan", "me@host:~$ ls"]), false),
            (lines(&["Welcome", "me@host:~$ l"]), false),
            (lines(&["Welcome", "me@host:~$ ls", "file", "me@host:~$"]), false),
            (lines(&["me@host:~$"]), false),
            (lines(&[]), false),
        ] {
            assert_eq!(unchanged(&first, &screen), same, "{screen:?}");
        }
    }

    #[test]
    fn the_first_screen_is_taken_once_something_is_drawn() {
        let (generation, session) = (generation(), session());
        assert_eq!(judge(None, &generation, &session, &lines(&[]), 1000), Verdict::Pristine(None));
        let first = judge(None, &generation, &session, &lines(&["$"]), 1001);
        let Verdict::Pristine(Some(known)) = first else { panic!("{first:?}") };
        assert_eq!(known.screen, ["$"]);
        // The start-up files printed on.
        let later = judge(Some(&known), &generation, &session, &lines(&["motd", "host $"]), 1002);
        assert!(matches!(later, Verdict::Pristine(Some(ref known)) if known.screen == ["motd", "host $"]), "{later:?}");
        assert_eq!(judge(Some(&known), &generation, &session, &lines(&["motd", "host $"]), 1010), Verdict::Used);
        // A `cd` changed the prompt.
        assert_eq!(judge(Some(&known), &generation, &session, &lines(&["$ cd /", "/ $"]), 1001), Verdict::Used);
    }

    #[test]
    fn programs_of_start_up_files_are_no_sign_of_use() {
        let seen = |session: SeenSession, idle: bool| Observation {
            generation: generation(),
            version: "3.3a".into(),
            sessions: vec![SeenSession {
                windows: vec![SeenWindow {
                    automatic_rename: true,
                    panes: vec![SeenPane { idle, ..SeenPane::default() }],
                    ..SeenWindow::default()
                }],
                ..session
            }],
            settings: TmuxSettings::default(),
        };
        assert!(candidate(&seen(session(), true)).is_some());
        assert!(starting(&seen(session(), true), 1000).is_none());
        assert!(candidate(&seen(session(), false)).is_none());
        assert!(starting(&seen(session(), false), 1002).is_some());
        // Later it is what the user runs, and so it is once the user typed.
        assert!(starting(&seen(session(), false), 1010).is_none());
        assert!(starting(&seen(SeenSession { activity: 1002, ..session() }, false), 1002).is_none());
        assert!(starting(&seen(SeenSession { name: "mine".into(), ..session() }, false), 1002).is_none());
    }

    #[test]
    fn what_was_used_before_it_was_seen_is_used() {
        let (generation, session) = (generation(), session());
        assert_eq!(judge(None, &generation, &session, &lines(&["$ ls", "file", "$"]), 1001), Verdict::Used);
        assert_eq!(judge(None, &generation, &session, &lines(&["$"]), 5000), Verdict::Used);
        let elsewhere = Bootstrap { generation: Generation { pid: 2, ..generation.clone() }, session: "$0".into(), screen: lines(&["x"]) };
        assert!(matches!(judge(Some(&elsewhere), &generation, &session, &lines(&["$"]), 1001), Verdict::Pristine(Some(_))));
    }
}
