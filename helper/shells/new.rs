//! A new shell: a session of Sidecar's own making, recorded from its first moment.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::names::{self, Name, check_free, check_recorded, free_session, stem_of_branch, stem_of_project};
use super::open::{Open, live_session};
use super::send::Text;
use super::worktree::{self, Worktree};
use super::{CALL_LIMIT, Done, Shells, quoted};
use crate::error::{Error, Exit, Result};
use crate::model::{Ids, Observation, Pane, RawText, Run, Seen, ServerState, Shell, State, Window};
use crate::record::{RandomIds, now, project_of};
use crate::restore::situation;
use crate::tmux::{Held, Typing, Version};

/// How long a server may take to read the user's tmux.conf.
const START_LIMIT: Duration = Duration::from_secs(60);
/// How long a shell may take to its first prompt.
const PROMPT_LIMIT: Duration = Duration::from_secs(15);
/// How often another session may take the name that was free a moment ago.
const TRIES: usize = 5;

/// Where a new shell opens.
#[derive(Clone, Copy, Debug)]
pub enum Place<'a> {
    /// In this directory.
    Dir(&'a Path),
    /// In the worktree of a branch.
    Worktree {
        /// A directory in the repository.
        from: &'a Path,
        /// The branch.
        branch: &'a str,
    },
}

/// What is wanted.
#[derive(Clone, Copy, Debug)]
pub struct NewShell<'a> {
    /// Its display name; its session's name if there is none.
    pub name: Option<&'a OsStr>,
    /// Where it opens.
    pub place: Place<'a>,
    /// What is typed there once its shell is ready; after a restore the pane waits with it
    pub run: Option<&'a str>,
}

/// Where it opens, and how its session is called.
struct Plan {
    dir: PathBuf,
    home: RawText,
    stem: String,
    /// The display name that a branch gives.
    named: Option<String>,
}

/// A session that was just made.
struct Made {
    shell: Shell,
    pane: String,
}

impl Shells<'_> {
    /// Makes a shell, and starts the server if none runs. The worktree of a branch that has a shell already is that shell.
    ///
    /// # Errors
    /// A name, a text or a place that can't be (exit 2); a name that another shell of the project has, a worktree that was removed, a
    /// server that is stuck (5); git, tmux or the records fail.
    pub fn new_shell(&self, wanted: &NewShell) -> Result<Done> {
        let name = wanted.name.map(names::check).transpose()?;
        if let Some(run) = wanted.run {
            Text::Run(run).check()?;
        }
        let worktree = match wanted.place {
            Place::Dir(_) => None,
            Place::Worktree { from, branch } => Some((worktree::find(from, branch)?, branch)),
        };
        let plan = plan(wanted.place, worktree.as_ref())?;
        if let Some(name) = &name {
            check_free(&self.store.load()?.state, &name.display, &plan.home, "")?;
        }
        // Before anything is made: a worktree that was removed must not come back for a shell that is then refused.
        if let Some((worktree, _)) = worktree.as_ref().filter(|_| self.store.exists()) {
            let open = self.open()?;
            if let Some(shell) = already_open(&open, &worktree.path, wanted)? {
                return open.nothing(&shell.id, format!("{} runs already", quoted(&shell)));
            }
        }
        let held = self.ensure_server()?;
        // A checkout may take its time, so the records are not held meanwhile.
        worktree.as_ref().map_or(Ok(()), |(worktree, _)| worktree.ensure())?;
        if !plan.dir.is_dir() {
            return Err(no_directory(&plan.dir));
        }
        let open = self.open()?;
        if let Some((worktree, _)) = &worktree {
            if let Some(shell) = already_open(&open, &worktree.path, wanted)? {
                return open.nothing(&shell.id, format!("{} runs already", quoted(&shell)));
            }
        }
        if let Some(name) = &name {
            check_free(&open.state, &name.display, &plan.home, "")?;
        }
        let (done, made) = self.make(open, &plan, name, wanted.run)?;
        drop(held);
        match wanted.run {
            Some(run) => self.type_first(&made, run).map(|()| done),
            None => Ok(done),
        }
    }

    fn ensure_server(&self) -> Result<Option<Held>> {
        let server = situation(self.server, self.store, self.config)?.server;
        match server.state {
            ServerState::Running => Ok(None),
            ServerState::Gone => {
                let failed = |failure| Error::failed("server_not_started", format!("the tmux server did not start: {failure}"));
                self.server.start_and_hold(START_LIMIT).map(Some).map_err(failed)
            }
            ServerState::Stuck | ServerState::Unknown => {
                let why = server.detail.unwrap_or_else(|| "it does not answer".to_owned());
                Err(Error::failed("server_stuck", format!("cannot make a shell: {why}")).exit(Exit::Refused))
            }
        }
    }

    fn make(&self, open: Open, plan: &Plan, name: Option<Name>, run: Option<&str>) -> Result<(Done, Made)> {
        let failed = |why: String| Error::failed("tmux", format!("cannot make a session in {}: {why}", plan.dir.display()));
        let Some(seen) = open.seen() else { return Err(failed("the server ended meanwhile".to_owned())) };
        let (id, dir) = (RandomIds.fresh("sh"), RawText::from(plan.dir.as_path()));
        let mut session = free_session(&open.state, Some(seen), &plan.stem, plan.named.is_some());
        let mut tries = 1..TRIES;
        let [live, window, pane] = loop {
            check_recorded(self.config, &session)?;
            let made = self.server.new_session(&seen.generation, &id, &session, dir.as_bytes(), CALL_LIMIT);
            match made.map_err(|failure| failed(failure.to_string()))? {
                Ok(ids) => break ids,
                Err(said) => match tries.next() {
                    // Somebody took the name, which no record tells.
                    Some(number) if said.contains("duplicate session") => session = format!("{}-{}", plan.stem, 100 + number),
                    _ => return Err(failed(said)),
                },
            }
        };
        let display = name.map(|name| name.display).or_else(|| plan.named.clone()).unwrap_or_else(|| session.clone());
        let here = Seen { at: now(), generation: seen.generation.clone(), session: live };
        let shell = Shell {
            id: id.clone(),
            name: display,
            session: session.clone(),
            made_as: session,
            work_dir: dir,
            made: Some(here.clone()),
            seen: Some(here),
            windows: vec![first_window(window, pane.clone(), run, &plan.dir)],
            ..Shell::default()
        };
        let committed = self.commit(&open, |state, seen| add(state, shell.clone(), seen));
        let (state, seen) = committed.map_err(|error| Error {
            hint: Some(format!("the session '{}' was made all the same, and is recorded as soon as that is mended", shell.session)),
            ..error
        })?;
        let mut said = format!("{} (session '{}') in {}", quoted(&shell), shell.session, plan.dir.display());
        let opened = seen.as_ref().and_then(|seen| opened_in(seen, &shell));
        if let Some(elsewhere) = opened.filter(|opened| *opened != shell.work_dir) {
            said.push_str(&format!("; tmux opened it in {}", elsewhere.display()));
        }
        let done = Done::of(&id, &state, seen.as_ref(), said)?;
        Ok((Done { notices: open.notices, ..done }, Made { shell, pane }))
    }

    /// Types the command once the shell has drawn its prompt. Keys that come before may be lost, or be read by a start-up file.
    fn type_first(&self, made: &Made, run: &str) -> Result<()> {
        let not_typed = |why: &str| {
            Error::failed("not_typed", format!("{} was made, but the command was not typed: {why}", quoted(&made.shell)))
                .hint(format!("`sidecar shell send --target {} --run …` types it", made.shell.id))
        };
        let Some(here) = &made.shell.seen else { return Err(not_typed("it ended")) };
        let (_, version) = self.server.pid_and_version(CALL_LIMIT).map_err(|failure| not_typed(&failure.to_string()))?;
        match self.server.wait_for_prompt(&made.pane, PROMPT_LIMIT) {
            Ok(true) => {}
            Ok(false) => return Err(not_typed(&format!("its shell showed no prompt within {} s", PROMPT_LIMIT.as_secs()))),
            Err(failure) => return Err(not_typed(&failure.to_string())),
        }
        let version = Version::parse(&version);
        let typing = Typing { generation: &here.generation, version, pane: &made.pane, text: run, enter: true, keys: false };
        match self.server.type_text(&typing, CALL_LIMIT) {
            Ok(true) => Ok(()),
            Ok(false) => Err(not_typed("its pane takes no text")),
            Err(failure) => Err(not_typed(&failure.to_string())),
        }
    }
}

/// The shell that a worktree has already.
fn already_open(open: &Open, path: &Path, wanted: &NewShell) -> Result<Option<Shell>> {
    let is_its = |shell: &&Shell| shell.work_dir.as_path() == path && shell.made_as.starts_with("sidecar-ws-");
    let Some(shell) = open.state.shells.iter().find(is_its) else { return Ok(None) };
    let refused = |why: &str| Error::failed("already_open", format!("{} {why} in {}", quoted(shell), path.display())).exit(Exit::Refused);
    if open.live(shell).is_none() {
        return Err(refused("is recorded").hint(format!("`sidecar session restore --shell {}` makes it again", shell.id)));
    }
    let other_name = wanted.name.is_some_and(|name| name != OsStr::new(&shell.name));
    if other_name || wanted.run.is_some() {
        return Err(refused("runs").hint(format!("`sidecar shell rename` and `sidecar shell send` work on it: {}", shell.id)));
    }
    Ok(Some(shell.clone()))
}

fn plan(place: Place, worktree: Option<&(Worktree, &str)>) -> Result<Plan> {
    match (place, worktree) {
        (_, Some((worktree, branch))) => Ok(Plan {
            dir: worktree.path.clone(),
            home: worktree.main.clone().into(),
            stem: stem_of_branch(branch),
            named: Some(format!("sidecar-ws-{branch}")),
        }),
        (Place::Dir(dir) | Place::Worktree { from: dir, .. }, None) => {
            let dir = std::path::absolute(dir).unwrap_or_else(|_| dir.to_owned());
            if !dir.is_dir() {
                return Err(no_directory(&dir));
            }
            let home = project_of(&dir).0.unwrap_or_else(|| dir.as_path().into());
            Ok(Plan { stem: stem_of_project(home.as_path()), dir, home, named: None })
        }
    }
}

fn no_directory(dir: &Path) -> Error {
    Error::failed("no_such_directory", format!("cannot make a shell in {}: it is no directory", dir.display())).exit(Exit::Usage)
}

fn first_window(window: String, pane: String, run: Option<&str>, dir: &Path) -> Window {
    let run_dir = run.map(|_| dir.into());
    let run = run.map(|line| Run::Line(line.into()));
    let pane = Pane { id: RandomIds.fresh("pn"), tmux: pane, active: true, run, run_dir, ..Pane::default() };
    Window { id: RandomIds.fresh("wn"), tmux: window, active: true, automatic_rename: true, panes: vec![pane], ..Window::default() }
}

/// Adds the record before the look that fills it; what this server makes of the session's name is its name.
fn add(state: &mut State, mut shell: Shell, seen: Option<&Observation>) {
    let live = live_session(&shell, seen);
    if let Some(session) = seen.into_iter().flat_map(|seen| &seen.sessions).find(|session| Some(session.id.as_str()) == live) {
        shell.session.clone_from(&session.name);
    }
    state.shells.push(shell);
}

/// The session's own directory, as tmux has it.
fn opened_in(seen: &Observation, shell: &Shell) -> Option<RawText> {
    let live = live_session(shell, Some(seen))?;
    seen.sessions.iter().find(|session| session.id == live).map(|session| session.path.clone())
}
