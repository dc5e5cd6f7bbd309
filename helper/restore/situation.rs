//! Everything that a plan is made from, read without changing a byte on disk or in tmux.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::plan::{Facts, plan};
use crate::agents::process;
use crate::error::{Error, Result};
use crate::model::{Generation, Hint, Observation, Plan, ServerReport, ServerState, Shell, State};
use crate::record::{ANSWER_LIMIT, Keep, RandomIds, bury_deleted, decide, now, purge, stuck_generations};
use crate::store::{Config, Loaded, Store};
use crate::tmux::{Failure, Purpose, Server};

/// How long a server may take from its socket's end to its own.
const ENDING: Duration = Duration::from_millis(300);

/// What was read.
pub struct Situation {
    /// What a person should know of the records on disk.
    pub notices: Vec<String>,
    /// Whether this version may write them.
    pub writable: bool,
    /// The shells that the records on disk know alive in the server that answers.
    pub lived: HashSet<String>,
    /// The records as the present look makes them, in memory.
    pub state: State,
    /// What lives.
    pub seen: Option<Observation>,
    /// What no look has read yet of the `session-closed` hook.
    pub hints: Vec<Hint>,
    /// What is known of the server.
    pub server: ServerReport,
    /// Recorded generations of other servers that still live.
    pub stuck: Vec<Generation>,
    /// The live id of a session that nobody used yet.
    pub pristine: Option<String>,
}

/// Looks at the server and reads the records.
///
/// # Errors
/// The records can't be read at all.
pub fn situation(server: &Server, store: &Store, config: &Config) -> Result<Situation> {
    let hints = store.hints();
    // Both take their time and neither needs the other.
    let (loaded, answer) = std::thread::scope(|scope| {
        let loading = scope.spawn(|| store.load());
        let answer = settled_answer(server);
        (loading.join(), answer)
    });
    let loaded = loaded.map_err(|_| Error::failed("load", "cannot read the records: the reader ended"))??;
    let mut stuck = stuck_generations(&loaded.state, answer.as_ref().ok().map(|seen| &seen.generation));
    // A server that was just killed stands in the process table for a moment longer than on its socket.
    stuck.retain(|generation| process::outlives(generation, ENDING));
    let report = report(server, store, &answer, &stuck);
    let seen = answer.ok().filter(|seen| server.check_is_ours(seen.generation.pid).is_ok());
    let Loaded { state, notices, writable, .. } = loaded;
    let ids = |shells: &mut dyn Iterator<Item = &Shell>| shells.map(|shell| shell.id.clone()).collect::<HashSet<String>>();
    let mut lived = HashSet::new();
    let (seen, state, pristine) = if let Some(mut seen) = seen {
        crate::record::add_projects(&mut seen);
        crate::record::add_programs(&mut seen, config);
        lived = ids(&mut state.shells.iter().filter(|shell| shell.lives_in(&seen.generation)));
        let known = ids(&mut state.shells.iter().chain(state.tombstones.iter().map(|tombstone| &tombstone.shell)));
        let mut changes = decide(server, config, state, &seen, &hints, &mut RandomIds);
        // What no hook has recorded yet is nothing to plan for.
        changes.state.shells.retain(|shell| known.contains(&shell.id));
        (Some(seen), changes.state, changes.pristine)
    } else {
        let mut state = state;
        bury_deleted(&mut state);
        purge(&mut state, Keep::of(config), now(), &|_| false);
        (None, state, None)
    };
    Ok(Situation { notices, writable, lived, state, seen, hints, server: report, stuck, pristine })
}

/// An answer that is not that of a server just ending, which is neither alive nor gone for a moment.
fn settled_answer(server: &Server) -> std::result::Result<Observation, Failure> {
    let deadline = Instant::now() + ENDING;
    loop {
        match server.look(Purpose::Show, ANSWER_LIMIT) {
            Err(failure) if failure.is_of_an_ending_server() && Instant::now() < deadline => {}
            answer => return answer,
        }
    }
}

/// Whether a directory is there.
pub(super) fn is_dir(path: &Path) -> bool {
    fs_err::metadata(path).is_ok_and(|data| data.is_dir())
}

/// Where a path leads.
pub(super) fn resolve(path: &Path) -> Option<PathBuf> {
    fs_err::canonicalize(path).ok()
}

impl Situation {
    /// The plan for it.
    pub fn plan(&self) -> Plan {
        let seen_dirs: RefCell<HashMap<PathBuf, bool>> = RefCell::default();
        plan(&Facts {
            state: &self.state,
            lived: &self.lived,
            hints: &self.hints,
            seen: self.seen.as_ref(),
            pristine: self.pristine.as_deref(),
            server: self.server.clone(),
            stuck: &self.stuck,
            // Many panes lie in few directories.
            is_dir: &|path| *seen_dirs.borrow_mut().entry(path.to_owned()).or_insert_with(|| is_dir(path)),
            boot: &process::boot_id(),
            writable: self.writable,
        })
    }
}

fn report(server: &Server, store: &Store, answer: &std::result::Result<Observation, Failure>, stuck: &[Generation]) -> ServerReport {
    let socket = server.socket().display().to_string();
    let (state, pid, version, detail) = match answer {
        Ok(seen) => match server.check_is_ours(seen.generation.pid) {
            Err(error) => {
                let detail = error.hint.map_or(error.message.clone(), |hint| format!("{}: {hint}", error.message));
                (ServerState::Stuck, stuck.first().map(|generation| generation.pid), None, Some(detail))
            }
            Ok(()) => match stuck.first() {
                None => (ServerState::Running, Some(seen.generation.pid), Some(seen.version.clone()), None),
                Some(other) => {
                    let (old, new) = (other.pid, seen.generation.pid);
                    let detail = format!(
                        "another server, pid {old}, which holds recorded shells, lives without its socket: pid {new} answers there now. \
                         If you don't need it, end it (kill {old}), and its shells can be restored here. \
                         To go back to it, end this one first, then kill -USR1 {old} makes tmux create the socket again"
                    );
                    (ServerState::Stuck, Some(other.pid), Some(seen.version.clone()), Some(detail))
                }
            },
        },
        Err(failure) => match (failure, stuck.first()) {
            (Failure::NoServer, None) => (ServerState::Gone, None, None, None),
            (Failure::NoServer | Failure::Timeout, Some(generation)) => {
                let pid = generation.pid;
                let what = if *failure == Failure::Timeout {
                    "does not answer"
                } else if server.socket_exists() {
                    "lives, but does not listen on its socket"
                } else {
                    "lives, but its socket is missing"
                };
                let detail = format!("the server, pid {pid}, {what}: kill -USR1 {pid} makes tmux create its socket again");
                (ServerState::Stuck, Some(pid), None, Some(detail))
            }
            (_, known) => (
                ServerState::Unknown,
                known.map(|generation| generation.pid),
                None,
                Some(format!("the tmux server at {socket}: {failure}")),
            ),
        },
    };
    ServerReport { socket, state, pid, version, detail, last_seen: store.last_look() }
}
