//! Another store, whose shells are taken over: of a server of this host that is dead, or of another host on the same home.

use std::collections::HashSet;
use std::time::Duration;

use super::execute::LOCK_LIMIT;
use super::situation::{Situation, situation, situation_unasked};
use crate::agents::process;
use crate::error::{Error, Exit, Result};
use crate::model::{ServerState, Shell, State};
use crate::record::{RandomIds, Takeover, now, stuck_generations, takeover};
use crate::store::{Config, Level, Loaded, Store};
use crate::tmux::Server;

/// How long another restore is waited for.
const RESTORE_LIMIT: Duration = Duration::from_secs(120);
/// A server looks four times a minute; one of another machine whose last look is younger lives, as far as can be told from here.
const LOOKS: u64 = 120_000;

/// Whether a store is meant by the words that people have for its host and its server.
fn is_called(store: &Store, name: &str) -> bool {
    let Some((host, server)) = name.rsplit_once('/') else { return false };
    let of_host = || store.host_key() == host || store.load().is_ok_and(|loaded| loaded.state.host_name.as_deref() == Some(host));
    (store.server_name() == server || store.name().ends_with(&format!("/{server}"))) && of_host()
}

/// A store that is not that of the server of this call.
pub struct Source {
    store: Store,
    config: Config,
    /// When its server last looked, before anything was locked here.
    last_look: Option<u64>,
}

impl Source {
    /// The store of this name: `HOST/SERVER` as [`Store::name`] has it, or the host's own name and that of the socket, where these mean one.
    ///
    /// # Errors
    /// There is none, or several (exit 3), or it is that of the server that would take from it (exit 2).
    pub fn named(name: &str, own: &Store, config: &Config) -> Result<Self> {
        let all = Store::all()?;
        let exact = all.iter().find(|store| store.name() == name);
        let meant: Vec<&Store> = exact.map_or_else(|| all.iter().filter(|store| is_called(store, name)).collect(), |store| vec![store]);
        let [store] = meant[..] else {
            let why = match meant.len() {
                0 => format!("no server is recorded as '{name}'"),
                number => format!("'{name}' means {number} servers"),
            };
            let others = if meant.is_empty() { all.iter().collect() } else { meant };
            let others: Vec<String> = others.into_iter().map(Store::name).filter(|other| *other != own.name()).collect();
            let hint = if others.is_empty() { "there is no other one".to_owned() } else { format!("these are: {}", others.join(", ")) };
            return Err(Error::failed("no_such_store", why)
                .exit(Exit::NoTarget)
                .hint(format!("{hint}; `session status --all-servers` shows them")));
        };
        if store.name() == own.name() {
            return Err(Error::failed("usage", format!("cannot take from {name}: it is the very server that would take"))
                .exit(Exit::Usage)
                .hint("`sidecar session restore` without --from restores its shells"));
        }
        Ok(Self { store: store.clone(), config: config.clone(), last_look: store.last_look() })
    }

    /// Its name.
    pub fn name(&self) -> String {
        self.store.name()
    }

    /// What is known of the server and the shells of any store.
    ///
    /// # Errors
    /// Its records can't be read.
    pub fn situation(store: &Store, config: &Config) -> Result<Situation> {
        if !store.is_of_this_host() {
            let why = format!("its server is of another host ({}), and can't be asked from here", store.host_key());
            return situation_unasked(store, config, &why);
        }
        match &store.load()?.state.socket {
            Some(socket) => situation(&Server::resolve(None, Some(socket.as_path()))?, store, config),
            None => situation_unasked(store, config, "an earlier version recorded it, without the path of its socket"),
        }
    }

    /// The shells that can be meant: those there, and those that came from there to `own`.
    ///
    /// # Errors
    /// Records that can't be read.
    pub fn candidates(&self, own: &Store) -> Result<State> {
        let mut state = self.store.load()?.state;
        let there = |id: &str, state: &State| state.shells.iter().any(|shell| shell.id == id);
        let came =
            |shell: &Shell| shell.taken.as_ref().is_some_and(|taken| taken.from == self.store.name() && !there(&taken.shell, &state));
        let came: Vec<Shell> = own.load()?.state.shells.into_iter().filter(came).collect();
        state.shells.extend(came);
        Ok(state)
    }

    /// What would be taken now.
    ///
    /// # Errors
    /// Its server lives, or that can't be told (exit 5); records that can't be read, or that a newer version wrote.
    pub fn peek(&self, own: &Store, selected: Option<&[String]>) -> Result<Takeover> {
        Ok(self.read(own, selected)?.0)
    }

    /// Takes these shells into the records of `own`, and gives their ids there. Killed at any point and run again, it converges.
    ///
    /// # Errors
    /// As for [`Source::peek`]; records that can't be written, or that somebody else holds.
    pub fn take(&self, own: &Store, selected: Option<&[String]>) -> Result<Takeover> {
        // Who takes from each other at the same time must not wait for one another.
        let mut both = [own, &self.store];
        both.sort_by(|a, b| a.dir().cmp(b.dir()));
        // A restore of either would go on with records that have moved.
        let _alone = [both[0].lock_restore(RESTORE_LIMIT)?, both[1].lock_restore(RESTORE_LIMIT)?];
        let (first, second) = (both[0].lock(LOCK_LIMIT)?, both[1].lock(LOCK_LIMIT)?);
        let (held_own, held_there) = if both[0].dir() == own.dir() { (first, second) } else { (second, first) };
        let (takeover, here, there) = self.read(own, selected)?;
        if takeover.brings_any() {
            own.take_texts(&self.store, &takeover.panes);
            own.add_to_journal(&held_own, &takeover.journal)?;
            let mut state = here.state.clone();
            takeover.arrive(&mut state);
            own.save(&held_own, &here, &state, now())?;
            own.log(Level::Info, "takeover", &format!("{} from {}", takeover.ids.join(" "), self.store.name()));
        }
        if takeover.takes_any() {
            let mut state = there.state.clone();
            takeover.leave(&mut state, &own.name(), now());
            self.store.save(&held_there, &there, &state, now())?;
            self.store.log(Level::Info, "takeover", &format!("shells were taken by {}", own.name()));
            // Nobody may look there again, and what stood on a screen is to go with its record.
            let came: HashSet<&str> =
                takeover.panes.iter().filter(|(_, ours)| own.text_mark(ours).is_some()).map(|(theirs, _)| theirs.as_str()).collect();
            self.store.keep_texts(&|pane| !came.contains(pane));
        }
        Ok(takeover)
    }

    fn read(&self, own: &Store, selected: Option<&[String]>) -> Result<(Takeover, Loaded, Loaded)> {
        let (here, there) = (own.load()?, self.store.load()?);
        for (store, loaded) in [(own, &here), (&self.store, &there)] {
            if !loaded.writable {
                let why = format!("cannot take shells over: the records of {} are of a newer version of sidecar", store.name());
                return Err(Error::failed("state_newer", why).hint("update sidecar; nothing was changed"));
            }
        }
        let takeover =
            takeover(&self.store.name(), (&there.state, &self.store.hints(), &self.store.reports()), &here.state, selected, &mut RandomIds);
        if takeover.takes_any() {
            self.check_is_gone(&there.state)?;
        }
        Ok((takeover, here, there))
    }

    /// Nothing is taken from a server that lives: it would go on recording, and its agents have their conversations open.
    fn check_is_gone(&self, state: &State) -> Result<()> {
        let name = self.store.name();
        let lives = |why: &str| {
            Err(Error::failed("server_lives", format!("cannot take from {name}: {why}"))
                .exit(Exit::Refused)
                .hint("end that server first; nothing was changed"))
        };
        if let Some(generation) = stuck_generations(state, None).first().filter(|_| !self.store.is_of_this_host() || state.socket.is_none())
        {
            return lives(&format!("its server lives (pid {})", generation.pid));
        }
        if !self.store.is_of_this_host() {
            let is_elsewhere = state.generation.as_ref().is_some_and(|generation| generation.boot != process::boot_id());
            let age = self.last_look.map(|at| now().saturating_sub(at));
            return match age.filter(|&age| is_elsewhere && age < LOOKS) {
                Some(age) => lives(&format!("its last look was {} s ago, so its server lives; wait 2 minutes after its end", age / 1000)),
                None => Ok(()),
            };
        }
        if state.socket.is_none() {
            return Ok(());
        }
        let server = Self::situation(&self.store, &self.config)?.server;
        match server.state {
            ServerState::Gone => Ok(()),
            ServerState::Running => lives(&format!("its server lives (pid {})", server.pid.unwrap_or_default())),
            ServerState::Stuck => lives(&server.detail.unwrap_or_default()),
            ServerState::Unknown => {
                let why = format!("cannot take from {name}: {}", server.detail.unwrap_or_default());
                Err(Error::failed("server_unknown", why).exit(Exit::Refused).hint("nothing was changed"))
            }
        }
    }
}
