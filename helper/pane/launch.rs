//! Runs a program in this pane as the user would: with the environment of a login shell, every word exact, and a shell afterwards.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

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
}

/// The login shell reads the user's start-up files and becomes the next one. Its words are its parameters, never its text.
const POSIX_LINE: &str = "exec \"$@\"";
const FISH_LINE: &str = "exec $argv";

/// What `/bin/sh` runs then: `$1` is the helper, `$2` the directory, `$3` the program to look for, the rest is what to run.
///
/// It is interactive, so that the program is a job of its own, in front of the terminal, and Ctrl-C ends that one alone: dash, bash
/// and busybox ash go on behind the trap. A program that is stopped goes on at once, since nobody else could call it back; by a
/// call of the function to itself, for bash leaves a loop when a job stops.
const SCRIPT: &str = r#"trap : INT QUIT
ended() { code=$?; case $code in 14[5-9] | 150) fg >/dev/null 2>&1; ended ;; esac; }
cd -- "$2" 2>/dev/null
if command -v -- "$3" >/dev/null 2>&1; then (shift 3; exec "$@"); ended; else code=127; fi
[ -x "$1" ] && exec "$1" pane ended "$code" "$3"
exec "${SHELL:-/bin/sh}""#;

impl Launch {
    /// The words of the process that this one becomes. `shell` is the user's; one that is not known is gone round.
    pub fn argv(&self, shell: &Path, helper: &OsStr) -> Vec<OsString> {
        let name = shell.file_name().and_then(OsStr::to_str).unwrap_or_default();
        let login: &[&OsStr] = match name {
            "bash" | "zsh" | "dash" | "sh" => &[shell.as_os_str(), "-lic".as_ref(), POSIX_LINE.as_ref(), OWN_SHELL.as_ref()],
            "fish" => &[shell.as_os_str(), "-lic".as_ref(), FISH_LINE.as_ref()],
            _ => &[],
        };
        let program = self.words.first().map(OsString::as_os_str).unwrap_or_default();
        let inner: [&OsStr; 7] =
            ["/bin/sh".as_ref(), "-ic".as_ref(), SCRIPT.as_ref(), OWN_SHELL.as_ref(), helper, self.dir.as_os_str(), program];
        let mut argv: Vec<OsString> = login.iter().chain(&inner).map(|&word| word.to_owned()).collect();
        if self.has_environment() {
            argv.push("env".into());
            argv.extend(self.remove.iter().flat_map(|name| ["-u".into(), name.clone()]));
            argv.extend(self.set.iter().map(|(name, value)| [name.as_os_str(), OsStr::new("="), value].into_iter().collect::<OsString>()));
        }
        argv.extend(self.words.iter().cloned());
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
