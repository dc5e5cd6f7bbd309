//! Records from another tool's save.

use std::path::{Path, PathBuf};

use super::Shells;
use super::saves::read;
use crate::error::{Error, Result};
use crate::import::{Candidate, Draft, Fate, Places, Problem, choose, drafts, parse};
use crate::model::{Observation, ServerState, Shell, State};
use crate::record::{RandomIds, branch_of, now, project_of};
use crate::restore::situation;
use crate::store::{Level, home};

/// No server holds more panes: so many terminals the kernel gives by default.
const MOST_PANES: usize = 4096;

/// What an import did, or would do.
#[derive(Clone, Debug)]
pub struct Import {
    /// The save.
    pub file: PathBuf,
    /// Its sessions, and what became of them.
    pub candidates: Vec<Candidate>,
    /// What of it could not be read.
    pub problems: Vec<Problem>,
    /// What a person should know of the choice of the save, and of the records on disk.
    pub notices: Vec<String>,
}

impl Shells<'_> {
    /// Makes records of the sessions in a save of tmux-resurrect: of `file`, else of the newest one there is. None whose name is
    /// taken. With `dry_run` it only tells what it would do.
    ///
    /// # Errors
    /// No such file (exit 3), or none that can be read; it holds no session, or more than any server; it can't be told which sessions live; the records can't
    /// be read or written.
    pub fn import(&self, file: Option<&Path>, dry_run: bool) -> Result<Import> {
        let (file, mut notices) = match file {
            Some(file) => (file.to_owned(), Vec::new()),
            None => self.newest_save()?,
        };
        let bytes = read(&file)?;
        let save = parse(&bytes);
        let mut problems = save.problems.clone();
        let home = home()?;
        let is_dir = |path: &Path| fs_err::metadata(path).is_ok_and(|data| data.is_dir());
        let mut drafts = drafts(&save, Places { is_dir: &is_dir, home: &home }, &mut RandomIds, &mut problems);
        if drafts.is_empty() {
            return Err(nothing_in(&file, &bytes, &problems));
        }
        let panes: usize = drafts.iter().filter(|draft| draft.original.is_none()).map(|draft| draft.panes).sum();
        if panes > MOST_PANES {
            let why = format!("{} lists {panes} panes, more than any tmux server holds ({MOST_PANES})", file.display());
            return Err(Error::failed("save_too_large", why).hint("`sidecar import resurrect --list` shows the other saves"));
        }
        for draft in &mut drafts {
            add_project(&mut draft.shell);
        }
        let choose = |state: &State, seen: Option<&Observation>| choose(drafts.clone(), state, seen, &|name| self.config.ignores(name));
        if dry_run {
            let situation = situation(self.server, self.store, self.config)?;
            if !situation.writable {
                return Err(Error::failed("state_newer", "the records are of a newer version of sidecar").hint("update sidecar"));
            }
            if situation.seen.is_none() && situation.server.state != ServerState::Gone {
                let why = situation.server.detail.unwrap_or_default();
                return Err(Error::failed("server_unknown", format!("cannot import: {why}")).hint("nothing was changed"));
            }
            notices.extend(situation.notices);
            let candidates = choose(&situation.state, situation.seen.as_ref());
            return Ok(Import { file, candidates, problems, notices });
        }
        let open = self.open_anyway()?;
        open.must_know("import")?;
        let mut candidates = Vec::new();
        self.commit(&open, |state, seen| {
            candidates = choose(state, seen);
            state
                .shells
                .extend(candidates.iter().filter(|candidate| candidate.fate == Fate::Imported).map(|candidate| record(&candidate.draft)));
        })?;
        for candidate in candidates.iter().filter(|candidate| candidate.fate == Fate::Imported) {
            let shell = &candidate.draft.shell;
            self.store.log(Level::Info, "import", &format!("{} ({}): from {}", shell.id, shell.session, file.display()));
        }
        notices.extend(open.notices);
        Ok(Import { file, candidates, problems, notices })
    }
}

fn record(draft: &Draft) -> Shell {
    Shell { imported: Some(now()), ..draft.shell.clone() }
}

fn add_project(shell: &mut Shell) {
    (shell.project, shell.worktree) = project_of(shell.work_dir.as_path());
    shell.branch = shell.worktree.as_ref().and_then(|worktree| branch_of(worktree.as_path()));
}

fn nothing_in(file: &Path, bytes: &[u8], problems: &[Problem]) -> Error {
    let why = match problems.first() {
        None if bytes.is_empty() => "it is empty".to_owned(),
        None => "it lists no pane".to_owned(),
        Some(first) => format!("line {}: {}", first.line, first.message),
    };
    Error::failed("no_session_in_save", format!("{} holds no session that can be read: {why}", file.display()))
        .hint("`sidecar import resurrect --list` shows the other saves")
}
