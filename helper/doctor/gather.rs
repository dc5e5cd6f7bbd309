//! Asks every room for its facts; changes nothing.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::ask;
use super::facts::{Facts, Helper, Hook, Job, Live, Other, Program, Read, Records};
use super::mend::Doctor;
use crate::agents::catalog::{Agent, Catalog};
use crate::agents::integration::{Integration, is_same_program};
use crate::agents::process;
use crate::boot::Unit;
use crate::model::{Observation, ServerState, Shell, State};
use crate::record::{Settings, latest_time, now};
use crate::restore::{Standing, standing};
use crate::snapshots::Timer;
use crate::store::{Loaded, Store};
use crate::tmux::{Failure, Server, Version, shell_word};

const LIMIT: Duration = Duration::from_secs(5);
/// How far back the log is told, in ms, and how many of its errors.
const DAY: u64 = 24 * 60 * 60 * 1000;
const ERRORS: usize = 3;

impl Doctor<'_> {
    /// Gathers them.
    pub(super) fn gather(&self) -> Facts {
        let (server, store) = (self.server, self.store);
        let loaded = store.load();
        let nothing = State::default();
        let state = loaded.as_ref().map_or(&nothing, |loaded| &loaded.state);
        let (catalog, _) = Catalog::with(&self.config.agents);
        let Standing { report, answer, stuck } = standing(server, store, state);
        let seen = answer.as_ref().ok().filter(|_| report.state == ServerState::Running);
        let environment = seen.and_then(|_| server.global_environment(LIMIT).ok()).unwrap_or_default();
        let path = environment.iter().find(|(name, _)| name == "PATH").map(|(_, value)| value.as_str());
        let warnings = self.config.warnings.iter().cloned().chain(seen.iter().flat_map(|seen| Settings::warnings(seen))).collect();
        Facts {
            now: now(),
            tmux: format!("tmux {}", server.attach_options()),
            client: server.client_version(LIMIT),
            socket_exists: server.socket_exists(),
            // Where another server answers, the socket is that one's.
            without_socket: stuck.into_iter().next().filter(|_| matches!(answer, Err(Failure::NoServer))),
            live: seen.filter(|seen| Version::parse(&seen.version) >= Version::OLDEST).map(|seen| self.live(seen, &environment, &catalog)),
            server: report,
            own: Helper { path: self.helper.to_owned(), version: Some(env!("CARGO_PKG_VERSION").to_owned()) },
            on_path: on_path(self.helper),
            records: records(store, &loaded),
            warnings,
            hooks: self.hooks(&catalog),
            programs: programs(state, &catalog, path),
            logind: super::logind::read(seen.map(|seen| seen.generation.pid)),
            jobs: self.jobs(),
            others: store.others_of_host().iter().filter_map(other).collect(),
        }
    }

    /// The boot unit is that of this server; one that no unit can start has none.
    fn jobs(&self) -> Vec<Job> {
        let timer = Timer::here(self.lasting.to_owned(), self.server.program()).and_then(|timer| timer.status());
        let timer =
            timer.map(|(status, _)| Job { id: "snapshot_timer", title: "the snapshots' timer", status, must_run: true, lingers: None });
        let boot = Unit::of(self.server, self.lasting).and_then(|unit| {
            let status = unit.status()?;
            Ok(Job { id: "boot_unit", title: "the boot unit", status, must_run: false, lingers: unit.lingers() })
        });
        [timer, boot].into_iter().filter_map(crate::error::Result::ok).collect()
    }

    fn live(&self, seen: &Observation, environment: &[(String, String)], catalog: &Catalog) -> Live {
        let plugin = self.plugin().standing().ok();
        let helper = plugin.as_ref().and_then(|plugin| plugin.helper.clone());
        let options = self.server.global_options(["@sidecar-helper", "@continuum-restore", "@resurrect-processes"], LIMIT);
        let [chosen, continuum_restore, resurrect_processes] = options.unwrap_or_default();
        let inherited: BTreeSet<&str> = catalog.scrub().filter(|name| environment.iter().any(|(known, _)| known == name)).collect();
        Live {
            helper_is_own: helper.as_deref().is_some_and(|path| is_same_program(path, self.helper)),
            helper_runs: helper.as_deref().map(|path| can_run(Path::new(path))),
            is_current: helper.and_then(|path| fs_err::canonicalize(path).ok()).and_then(|path| ask::is_current(&path)),
            chosen_helper: (!chosen.is_empty()).then(|| {
                let runs = can_run(&expand_home(&chosen));
                (chosen, runs)
            }),
            inherited: inherited.into_iter().map(str::to_owned).collect(),
            continuum_restore,
            resurrect_processes,
            agent_programs: catalog.program_names(),
            started: seen.generation.start_time.saturating_mul(1000),
            process_started: seen.generation.process_start.and_then(process::epoch_ms),
            interval: Settings::of(seen).interval,
            plugin,
        }
    }

    fn hooks(&self, catalog: &Catalog) -> Vec<Hook> {
        let of = |agent: &Agent| {
            let program = program(agent, None);
            let status = Integration::of(agent).ok().flatten()?.status(self.helper, program.as_deref());
            Some(Hook { kind: agent.kind.clone(), title: agent.title.clone(), is_found: program.is_some(), status })
        };
        catalog.agents().iter().filter_map(of).collect()
    }
}

fn can_run(path: &Path) -> bool {
    path.is_file() && nix::unistd::access(path, nix::unistd::AccessFlags::X_OK).is_ok()
}

/// As sidecar.tmux reads the option.
fn expand_home(path: &str) -> PathBuf {
    match path.strip_prefix("~/") {
        Some(rest) => crate::store::home().map_or_else(|_| PathBuf::from(path), |home| home.join(rest)),
        None => PathBuf::from(path),
    }
}

/// Where the agent's program is: on this PATH, or on this process's own.
fn program(agent: &Agent, path: Option<&str>) -> Option<PathBuf> {
    agent.programs.iter().find_map(|name| match path {
        Some(path) => which::which_in(name, Some(path), "/").ok(),
        None => which::which(name).ok(),
    })
}

/// The `sidecar` that the user would type, unless it is this one.
fn on_path(own: &str) -> Option<Helper> {
    let found = which::which("sidecar").ok()?;
    let path = found.display().to_string();
    (!is_same_program(&path, own)).then(|| Helper { path, version: ask::version_of(&found) })
}

fn records(store: &Store, loaded: &crate::error::Result<Loaded>) -> Records {
    let read = match loaded {
        Ok(loaded) => Ok(Read {
            shells: loaded.state.shells.len(),
            forgotten: loaded.state.tombstones.len(),
            notices: loaded.notices.clone(),
            writable: loaded.writable,
            latest: latest_time(&loaded.state),
        }),
        Err(error) => Err((error.message.clone(), error.hint.clone().unwrap_or_default())),
    };
    Records {
        dir: store.dir().to_owned(),
        read,
        unwritable: store.unwritable(),
        bytes: store.size(),
        last_look: store.last_look(),
        trouble: store.trouble(),
        errors: store.errors_since(now().saturating_sub(DAY), ERRORS),
        aside: store.moved_aside(),
        failed_automatics: store.failed_automatics(),
    }
}

/// The programs of agents that may be resumed. The login shell is asked only for what the server's PATH lacks: its start-up files take
/// their time.
fn programs(state: &State, catalog: &Catalog, path: Option<&str>) -> Vec<Program> {
    let bindings = state.shells.iter().flat_map(Shell::panes).filter_map(|pane| pane.agent.as_ref());
    let kinds: BTreeSet<&str> = bindings.map(|binding| binding.kind.as_str()).collect();
    let of = |agent: &Agent| {
        let name = agent.programs.first()?.clone();
        let on_path = program(agent, path).is_some();
        let by_login_shell = if on_path { None } else { ask::login_shell_finds(&name) };
        Some(Program { name, on_path, by_login_shell })
    };
    kinds.into_iter().filter_map(|kind| of(catalog.get(kind)?)).collect()
}

fn other(store: &Store) -> Option<Other> {
    let state = store.load().ok()?.state;
    let name = store.server_name();
    let is_it = |server: &Server| Store::of(server.socket()).is_ok_and(|own| own.dir() == store.dir());
    let by_name = Server::resolve(Some(&name), None).is_ok_and(|server| is_it(&server)).then(|| format!("-L {}", shell_word(&name)));
    let options = by_name.or_else(|| Some(format!("-S {}", shell_word(&state.socket.as_ref()?.display()))));
    let seen = state.shells.iter().filter_map(|shell| shell.seen.as_ref()).map(|seen| &seen.generation);
    let lives = seen.chain(&state.generation).any(process::lives);
    Some(Other { name, options, shells: state.shells.len(), lives })
}
