//! `sidecar pane start` and `sidecar pane ended`: what the pane of a record begins with, and what comes after the program.

use std::ffi::{OsStr, OsString};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use super::launch::Launch;
use super::prompt::wants_to_run;
use super::shell::{is_panes_own, leave_shell, user_shell};
use crate::display::{self, shown};
use crate::error::{Error, Result};
use crate::model::{Pane, RawText, Run, Shell};
use crate::record::now;
use crate::restore::{self, Start};
use crate::scrollback;
use crate::store::{Config, Store};
use crate::tmux::{Server, shell_line};

/// How long tmux may take to tell what a pane shows; the user waits for a prompt.
const LIMIT: Duration = Duration::from_secs(2);

/// Begins the pane with this id, as its record has it now: its command after an Enter, its program, or the user's shell. `helper`
/// is this program's own path. Comes back only if not even a shell can be run.
pub fn start(server: &Server, store: &Store, config: &Config, helper: &str, pane: &str) -> ExitCode {
    if let Err(error) = begin(store, config, helper, pane) {
        tell(&error.message);
    }
    leave_shell(Some(server))
}

/// Comes back where a shell is to be left: with an error that the user should know, or because he wanted it.
fn begin(store: &Store, config: &Config, helper: &str, pane: &str) -> Result<()> {
    let state = store.load()?.state;
    let forgotten = state.tombstones.iter().map(|tombstone| &tombstone.shell);
    let found = state.shells.iter().chain(forgotten).flat_map(Shell::panes).find(|known| known.id == pane);
    let record: &Pane = found.ok_or_else(|| Error::failed("no_such_pane", format!("there is no record of this pane ({pane})")))?;
    let shell = user_shell();
    if !matches!(restore::start(record, &config.programs), Start::Program(_)) {
        show_again(store, config, pane);
    }
    let words = |words: &[RawText]| words.iter().map(|word| word.as_os_str().to_owned()).collect::<Vec<OsString>>();
    let (words, dir) = match restore::start(record, &config.programs) {
        Start::Shell => return Ok(()),
        Start::Program(argv) => (words(argv), &record.dir),
        Start::Command(run) => {
            let dir = record.run_dir.as_ref().unwrap_or(&record.dir);
            let asked = wants_to_run(&display::command(run), &shown(&dir.display()));
            if !asked.map_err(|error| Error::failed("no_terminal", format!("cannot ask in this pane: {error}")))? {
                return Ok(());
            }
            match run {
                // As tmux runs it.
                Run::Line(line) => (vec![shell.clone().into(), "-c".into(), line.as_os_str().to_owned()], dir),
                Run::Words(all) => (words(all), dir),
            }
        }
    };
    // Elsewhere, as in the directory that stands in for a missing one, it would be another command.
    if !dir.as_path().is_dir() {
        return Err(Error::failed("directory_missing", format!("not started, its directory is missing: {}", dir.display())));
    }
    let error = Launch { words, dir: as_opened(dir.as_path()), ..Launch::default() }.exec(&shell, helper.as_ref());
    Err(Error::failed("not_started", format!("not started: {error}")))
}

/// Prints what this pane showed in its former life. What cannot be printed is nothing to keep the user waiting for.
fn show_again(store: &Store, config: &Config, pane: &str) {
    let Some(most) = config.shown_again() else { return };
    if let Some(kept) = store.text(pane).filter(|kept| scrollback::has_any(&kept.text)) {
        let mut out = std::io::stdout().lock();
        let text = scrollback::again(&kept.text, most, kept.taken, now());
        let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    }
}

/// A directory by the path that this pane was opened with, where that leads there.
pub(super) fn as_opened(dir: &Path) -> PathBuf {
    let leads_there = |path: &PathBuf| path.is_absolute() && fs_err::canonicalize(path).ok() == fs_err::canonicalize(dir).ok();
    std::env::var_os("PWD").map(PathBuf::from).filter(leads_there).unwrap_or_else(|| dir.to_owned())
}

/// Leaves the user's shell after a program, and says why that ended if it did not by itself or by the user's hand. `pane` is the
/// record whose conversation it resumed; `helper` this program's own path.
pub fn ended(server: &Server, store: &Store, config: &Config, helper: &str, code: i32, program: &OsStr, pane: Option<&str>) -> ExitCode {
    // A line was run by the shell.
    let program = if Path::new(program) == user_shell() { "the command".into() } else { program.to_string_lossy() };
    if let Some(pane) = pane {
        let said = std::env::var("TMUX_PANE").ok().and_then(|here| server.screen(&here, LIMIT).ok()).unwrap_or_default();
        if let Some(what) = restore::ended(server, store, config, pane, code, &said) {
            tell(&what);
            let program = if which::which("sidecar").is_ok() { "sidecar" } else { helper };
            tell(&format!("try again: {}", shell_line(&[program, "agent", "resume", pane])));
        }
        if !is_panes_own() {
            return ExitCode::from(u8::try_from(code).unwrap_or(1));
        }
        return leave_shell(Some(server));
    }
    match code {
        // Hangup, interrupt, quit and termination are somebody's wish.
        0 | 129 | 130 | 131 | 143 => {}
        127 => tell(&format!("{program}: not found")),
        129.. => tell(&format!("{program} was ended by signal {}", code - 128)),
        _ => tell(&format!("{program} ended with exit code {code}")),
    }
    leave_shell(Some(server))
}

/// One line, above the prompt.
pub(super) fn tell(what: &str) {
    eprintln!("sidecar: {}", shown(what));
}
