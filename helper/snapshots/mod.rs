//! Snapshots: freezing the records, and looking at what was frozen. What a restore makes of one is `restore::thaw`.

mod harvest;
mod running;
mod timer;

use std::time::Duration;

use running::Looked;
pub use timer::{EVERY, Timer};

use crate::error::{Error, Result};
use crate::model::{Binding, Pane, SNAPSHOT_VERSION, Shell, Snapshot, Source, State, count};
use crate::record::{Recorded, bind, now, record};
use crate::store::{Config, Level, Lock, Store, superfluous};
use crate::tmux::Server;

/// How long the lock of the records is waited for.
const LOCK_LIMIT: Duration = Duration::from_secs(10);

/// The snapshots of one server.
#[derive(Clone, Copy)]
pub struct Snapshots<'a> {
    /// The server.
    pub server: &'a Server,
    /// Its records.
    pub store: &'a Store,
    /// The user's choices.
    pub config: &'a Config,
}

/// What became of a save.
#[derive(Clone, Debug)]
pub struct Saved {
    /// The new snapshot's name; `None` if nothing changed since the last one, or nothing is recorded.
    pub name: Option<String>,
    /// What was done, as a sentence for people.
    pub said: String,
    /// The panes whose conversation was found on their screens.
    pub harvested: Vec<String>,
    /// The older snapshots that were given up.
    pub removed: Vec<String>,
    /// What a person should know besides.
    pub notices: Vec<String>,
}

/// A snapshot in a list.
pub struct Listed {
    /// Its name.
    pub name: String,
    /// It, or why it can't be read.
    pub content: Result<Snapshot>,
}

impl Snapshots<'_> {
    /// Freezes the records as a look makes them now; where the server does not answer, as they were recorded last. `harvest` also reads the
    /// screens of agents whose conversation is not known.
    ///
    /// # Errors
    /// The records can't be read or written, or are of a newer version.
    pub fn save(&self, harvest: bool) -> Result<Saved> {
        if !self.store.exists() && !self.server.socket_exists() {
            return Ok(nothing("nothing is recorded of this server, and it does not run"));
        }
        let held = self.store.lock(LOCK_LIMIT)?;
        let mut notices = self.store.load()?.notices;
        let last = self.store.snapshots().pop().and_then(|name| Some((self.store.snapshot(&name).ok()?, name)));
        let (state, looked) = match record(self.server, self.store, self.config, &held) {
            Ok(Recorded { seen, changes }) => {
                let told = last.iter().flat_map(|(last, _)| told_by_screens(last)).collect();
                let looked = running::look(self, &changes.state, &seen, harvest, &told);
                (changes.state, looked)
            }
            Err(error) if matches!(error.code, "no_answer" | "other_server") => {
                notices.push(format!("{}; what was recorded last is frozen", error.message));
                let loaded = self.store.load()?;
                if !loaded.writable {
                    return Err(
                        Error::failed("state_newer", "cannot freeze the records: they are of a newer version").hint("update sidecar")
                    );
                }
                (loaded.state, Looked::default())
            }
            Err(error) => return Err(error),
        };
        if state.shells.is_empty() && state.unreadable.is_empty() {
            return Ok(Saved { notices, ..nothing("no shells are recorded") });
        }
        let (snapshot, harvested) = freeze(state, looked);
        if let Some((_, name)) = last.filter(|(last, _)| last.is_same(&snapshot)) {
            return Ok(Saved { removed: self.prune_held(&held)?, notices, ..nothing(&format!("nothing changed since {name}")) });
        }
        let name = self.store.add_snapshot(&held, &snapshot)?;
        self.store.log(Level::Info, "snapshot", &format!("saved {name}"));
        let shells = count(snapshot.state.shells.len(), "shell");
        let said = format!("saved {name}: {shells}, {}", count(conversations(&snapshot.state).count(), "conversation"));
        Ok(Saved { name: Some(name), said, harvested, removed: self.prune_held(&held)?, notices })
    }

    /// All of them, the newest first.
    pub fn list(&self) -> Vec<Listed> {
        let names = self.store.snapshots().into_iter().rev();
        names.map(|name| Listed { content: self.store.snapshot(&name), name }).collect()
    }

    /// Gives up the snapshots that `snapshots.keep` does not keep; gives their names.
    ///
    /// # Errors
    /// The folder can't be written.
    pub fn prune(&self) -> Result<Vec<String>> {
        if self.store.snapshots().is_empty() {
            return Ok(Vec::new());
        }
        let held = self.store.lock(LOCK_LIMIT)?;
        self.prune_held(&held)
    }

    fn prune_held(&self, held: &Lock) -> Result<Vec<String>> {
        let gone = superfluous(&self.store.snapshots(), self.config.snapshots, now());
        for name in &gone {
            self.store.remove_snapshot(held, name)?;
        }
        Ok(gone)
    }
}

fn nothing(said: &str) -> Saved {
    Saved { name: None, said: said.to_owned(), harvested: Vec::new(), removed: Vec::new(), notices: Vec::new() }
}

/// The panes of records that are bound to a conversation.
pub fn conversations(state: &State) -> impl Iterator<Item = &Pane> {
    state.shells.iter().flat_map(Shell::panes).filter(|pane| pane.agent.as_ref().is_some_and(|agent| !agent.id.is_empty()))
}

/// What was found on a screen before, by the panes' ids; it counts as long as the same process runs there.
fn told_by_screens(last: &Snapshot) -> impl Iterator<Item = (&str, &Binding)> {
    let bound = conversations(&last.state).filter_map(|pane| Some((pane.id.as_str(), pane.agent.as_ref()?)));
    bound.filter(|(_, binding)| binding.source == Source::Screen)
}

/// The records and the agents of a look as they are kept.
fn freeze(mut state: State, looked: Looked) -> (Snapshot, Vec<String>) {
    state.tombstones.clear();
    // Whose they are stands in the records themselves.
    (state.bootstrap, state.socket, state.host_name) = (None, None, None);
    let Looked { mut running, mut found } = looked;
    running.retain(|running| !found.iter().any(|(pane, _)| *pane == running.pane));
    let panes = state.shells.iter_mut().flat_map(|shell| &mut shell.windows).flat_map(|window| &mut window.panes);
    let mut harvested = Vec::new();
    for pane in panes {
        if let Some(at) = found.iter().position(|(known, _)| *known == pane.id) {
            bind(pane, found.swap_remove(at).1);
            harvested.push(pane.id.clone());
        }
    }
    (Snapshot { version: SNAPSHOT_VERSION, at: now(), running, state, extra: serde_json::Map::new() }, harvested)
}

/// The snapshots of every server of this host that lives. Gives each server's name for people, and what became of it.
///
/// # Errors
/// Neither `XDG_STATE_HOME` nor `HOME` is set.
pub fn save_all(config: &Config, harvest: bool) -> Result<Vec<(String, Result<Saved>)>> {
    let mut saved = Vec::new();
    for store in Store::all_of_host()? {
        let Some(server) = server_of(&store) else { continue };
        if !server.socket_exists() || server.pid_and_version(Duration::from_secs(5)).is_err() {
            continue;
        }
        saved.push((server.display_name(), Snapshots { server: &server, store: &store, config }.save(harvest)));
    }
    saved.sort_by(|a, b| a.0.cmp(&b.0));
    Ok(saved)
}

/// The server of a store: by the path that its records tell, else, of records that are older than that, in tmux's usual folder.
fn server_of(store: &Store) -> Option<Server> {
    let recorded = store.load().ok()?.state.socket.and_then(|socket| Server::resolve(None, Some(socket.as_path())).ok());
    let server = recorded.or_else(|| Server::resolve(Some(&store.server_name()), None).ok())?;
    let own = Store::of(server.socket()).ok()?;
    (own.dir() == store.dir()).then_some(server)
}
