//! Runs a program in this pane as the user would: with the environment of a login shell, every word exact, and a shell afterwards.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::login;
use crate::tmux::OWN_SHELL;

/// A program to run in the pane that this process runs in.
#[derive(Clone, Debug, Default)]
pub struct Launch {
    /// The program and its arguments. No shell reads them: whatever they hold, they arrive as they are.
    pub words: Vec<OsString>,
    /// Where it runs, whatever directory the start-up files change to.
    pub dir: PathBuf,
    /// Variables that it alone gets: the shell that is left has none of them.
    pub set: Vec<(OsString, OsString)>,
    /// Variables that it does not get.
    pub remove: Vec<OsString>,
    /// The executable, for when the program's name is not found.
    pub fallback: Option<OsString>,
    /// The pane's record, where a conversation is resumed: it runs in `dir` or not at all, and its end is told by this id.
    pub resumes: Option<String>,
    /// Whether this process is a command of the user's shell, whose environment is the right one.
    pub typed: bool,
}

/// What `/bin/sh` runs then: `$1` is the helper, `$2` the directory, `$3` the program to look for, `$4` its executable if that is
/// not found, `$5` the pane whose conversation it resumes; the rest is what to run.
///
/// It is interactive, so that the program is a job of its own, in front of the terminal, and Ctrl-C ends that one alone: dash, bash
/// and busybox ash go on behind the trap. A program that is stopped goes on at once, since nobody else could call it back; by a
/// call of the function to itself, for bash leaves a loop when a job stops.
const SCRIPT: &str = r#"trap : INT QUIT
ended() { code=$?; case $code in 14[5-9] | 150) fg >/dev/null 2>&1; ended ;; esac; }
found() { command -v -- "$1" >/dev/null 2>&1 || [ -x "$2" ]; }
if ! cd -- "$2" 2>/dev/null && [ "$5" ]; then code=1
elif found "$3" "$4"; then (shift 5; exec "$@"); ended
else code=127; fi
[ -x "$1" ] && exec "$1" pane ended "$code" "$3" ${5:+"$5"}
exec "${SHELL:-/bin/sh}""#;

/// Runs a program by its name, `$1`, else by its path, `$2`.
const BY_NAME: &str = r#"name=$1 path=$2; shift 2; command -v -- "$name" >/dev/null 2>&1 || name=$path; exec "$name" "$@""#;

/// Where programs of a user's lie, for shells whose start-up files can't be asked.
const USUAL_PATH: &[&str] = &[
    ".local/bin",
    "bin",
    ".cargo/bin",
    ".npm-global/bin",
    ".bun/bin",
    ".volta/bin",
    ".asdf/shims",
    ".local/share/mise/shims",
    "/opt/homebrew/bin",
    "/home/linuxbrew/.linuxbrew/bin",
    "/usr/local/bin",
    "/usr/bin",
    "/bin",
];

impl Launch {
    /// The words of the process that this one becomes. `shell` is the user's; one that is not known is gone round.
    pub fn argv(&self, shell: &Path, helper: &OsStr) -> Vec<OsString> {
        let login: Vec<OsString> = if self.typed {
            Vec::new()
        } else {
            login::in_pane(shell)
                .unwrap_or_else(|| vec!["env".into(), [OsStr::new("PATH="), &widened_path(std::env::var_os("PATH"))].into_iter().collect()])
        };
        let program = self.words.first().map(OsString::as_os_str).unwrap_or_default();
        let fallback = self.fallback.as_deref().unwrap_or_default();
        let inner: [&OsStr; 9] = [
            "/bin/sh".as_ref(),
            "-ic".as_ref(),
            SCRIPT.as_ref(),
            OWN_SHELL.as_ref(),
            helper,
            self.dir.as_os_str(),
            program,
            fallback,
            self.resumes.as_deref().unwrap_or_default().as_ref(),
        ];
        let mut argv: Vec<OsString> = login.into_iter().chain(inner.map(OsStr::to_owned)).collect();
        if self.has_environment() {
            argv.push("env".into());
            argv.extend(self.remove.iter().flat_map(|name| ["-u".into(), name.clone()]));
            argv.extend(self.set.iter().map(|(name, value)| [name.as_os_str(), OsStr::new("="), value].into_iter().collect::<OsString>()));
        }
        if self.fallback.is_some() {
            argv.extend(["/bin/sh", "-c", BY_NAME, "sh"].map(Into::into));
            argv.extend([program.to_owned(), fallback.to_owned()]);
        }
        argv.extend(self.words.iter().skip(usize::from(self.fallback.is_some())).cloned());
        argv
    }

    fn has_environment(&self) -> bool {
        !(self.set.is_empty() && self.remove.is_empty())
    }

    /// Becomes the program; comes back only if that failed, with the reason.
    pub fn exec(&self, shell: &Path, helper: &OsStr) -> std::io::Error {
        let Some(program) = self.words.first() else {
            return std::io::Error::new(std::io::ErrorKind::InvalidInput, "it has no words");
        };
        if self.has_environment() && program.as_bytes().contains(&b'=') {
            return std::io::Error::new(std::io::ErrorKind::InvalidInput, "env(1) takes its name for a variable");
        }
        let argv = self.argv(shell, helper);
        Command::new(&argv[0]).args(&argv[1..]).exec()
    }
}

/// A search path with the usual folders of programs behind what it has.
pub fn widened_path(path: Option<OsString>) -> OsString {
    let home = crate::store::home().unwrap_or_else(|_| "/".into());
    let mut folders: Vec<PathBuf> = path.iter().flat_map(std::env::split_paths).collect();
    for folder in USUAL_PATH.iter().map(|folder| home.join(folder)) {
        if folder.is_dir() && !folders.contains(&folder) {
            folders.push(folder);
        }
    }
    // A folder with a colon in its name can be in no path.
    std::env::join_paths(&folders).unwrap_or_else(|_| path.unwrap_or_default())
}
