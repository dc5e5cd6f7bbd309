//! The session that starting tmux made by itself: it goes once there is something better to look at, if nobody used it.

use std::time::Duration;

use super::script;
use crate::model::{Bootstrap, Generation, Observation, SeenSession, State};
use crate::record::is_still_unused;
use crate::store::{Level, Store};
use crate::tmux::Server;

const CALL_LIMIT: Duration = Duration::from_secs(5);

/// The session to end, and where its clients go.
#[derive(Clone, Debug)]
pub struct Retiring {
    session: SeenSession,
    bootstrap: Option<Bootstrap>,
    goto: String,
    generation: Generation,
}

/// Who is to go, if anybody: a pristine session, where a shell of an earlier life has come back. Its clients go to the shell that
/// was last attached.
pub(super) fn of(state: &State, seen: &Observation, pristine: Option<&str>) -> Option<Retiring> {
    let session = seen.sessions.iter().find(|session| Some(session.id.as_str()) == pristine)?.clone();
    let back = state.shells.iter().filter(|shell| {
        let earlier = shell.made.as_ref().is_none_or(|made| made.generation != seen.generation);
        earlier && shell.lives_in(&seen.generation) && shell.missing.is_none()
    });
    let latest = back.max_by_key(|shell| (shell.last_attached, std::cmp::Reverse(&shell.name)))?;
    let goto = latest.seen.as_ref()?.session.clone();
    Some(Retiring { session, bootstrap: state.bootstrap.clone(), goto, generation: seen.generation.clone() })
}

/// Moves its clients and ends it, unless somebody used it meanwhile.
/// `said` is shown to them there.
pub fn retire_bootstrap(server: &Server, store: &Store, retiring: &Retiring, said: &str) {
    let id = &retiring.session.id;
    let mut clients: Vec<String> = Vec::new();
    // Where nobody is, nobody can have used it since it was seen; and the script looks once more that nobody came.
    if retiring.session.attached > 0 {
        if !is_still_unused(server, &retiring.session, retiring.bootstrap.as_ref(), &retiring.generation) {
            return;
        }
        if let Ok(reply) = server.call(&["list-clients", "-t", id, "-F", "#{client_name}"], None, CALL_LIMIT) {
            clients.extend(String::from_utf8_lossy(&reply.stdout).lines().map(str::to_owned));
        }
    }
    store.log(Level::Info, "restore", &format!("the unused session {id} ends"));
    let script = script::retire(id, &clients, &retiring.goto, said, &retiring.generation);
    if let Err(failure) = server.source(&script, CALL_LIMIT) {
        store.log(Level::Warn, "restore", &failure.to_string());
    }
}
