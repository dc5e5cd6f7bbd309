//! The environment of the user's login shell, for a server that no shell starts. Service managers know neither the PATH nor the
//! variables that the user's start-up files set, and every pane of the server would lack them.
#![expect(clippy::disallowed_methods, reason = "this file becomes this program again, with the environment of the user's login shell")]

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::child::{self, Kept};
use crate::pane::{login_shell, user_shell, widened_path};
use crate::store::home;
use crate::tmux::BOOT;

/// How long start-up files may take.
const LIMIT: Duration = Duration::from_secs(60);
/// How much they may print: the environment comes behind it, and is no longer than what a program can be given.
const KEPT: Kept = Kept { out: 64 << 20, err: 0 };

/// What is true of one process only: the shell's own, the service manager's for this unit, and a terminal's.
const NOT_THE_USERS: &[&str] = &[
    "_",
    "COLUMNS",
    "INVOCATION_ID",
    "JOURNAL_STREAM",
    "LINES",
    "LISTEN_FDNAMES",
    "LISTEN_FDS",
    "LISTEN_PID",
    "MANAGERPID",
    "MEMORY_PRESSURE_WATCH",
    "MEMORY_PRESSURE_WRITE",
    "NOTIFY_SOCKET",
    "OLDPWD",
    "PWD",
    "SHLVL",
    "SYSTEMD_EXEC_PID",
    "TMUX",
    "TMUX_PANE",
];

/// What the unit says holds, whatever start-up files set: its end must find the server and the records of its start.
const THE_UNITS: &[&str] = &["HOME", "SIDECAR_HOST_ID", "TMUX_TMPDIR", "XDG_CONFIG_HOME", "XDG_STATE_HOME"];

type Variables = Vec<(OsString, OsString)>;

/// Becomes this program with these words, in the user's environment. Comes back only if that failed, with the reason. `socket` is that of the
/// server which is to be started, and `tmux` the client for it, as the unit finds it; `note` is told what a person should know.
pub fn become_users(helper: &str, words: &[OsString], socket: &Path, tmux: Option<&Path>, note: &dyn Fn(&str)) -> std::io::Error {
    let own: Variables = std::env::vars_os().collect();
    let read = read(helper, socket).unwrap_or_else(|why| {
        let shell = user_shell();
        note(&format!("{} gave no environment ({why}): the server starts with the service manager's, and a wider PATH", shell.display()));
        None
    });
    let variables = merged(read.unwrap_or_else(|| widened(own.clone())), &own);
    let variables = finding(variables, tmux.and_then(Path::parent));
    let mut command = Command::new(helper);
    command.args(words).env_clear().envs(variables).env(BOOT, socket).current_dir(home().unwrap_or_else(|_| "/".into()));
    command.exec()
}

/// Prints this process's environment between two marks: start-up files print too.
pub fn print(mark: &str) -> std::io::Result<()> {
    let mut out = mark.as_bytes().to_vec();
    for (name, value) in std::env::vars_os() {
        out.extend([name.as_bytes(), b"=", value.as_bytes(), b"\0"].concat());
    }
    out.extend(mark.as_bytes());
    std::io::Write::write_all(&mut std::io::stdout().lock(), &out)
}

/// The environment that the user's login shell makes; `None` for one that is not known.
fn read(helper: &str, socket: &Path) -> Result<Option<Variables>, String> {
    let mark = format!("<{:016x}>", getrandom::u64().map_err(|error| error.to_string())?);
    let Some(mut shell) = login_shell(&[helper, "boot", "environment", &mark]) else { return Ok(None) };
    // Many start-up files start tmux, but not inside of it. In an interactive shell they do all that they do in a pane.
    let inside = [socket.as_os_str(), OsStr::new(",0,0")].into_iter().collect::<OsString>();
    let ended = child::run(shell.env("TMUX", inside), None, KEPT, LIMIT).map_err(|error| error.to_string())?;
    if ended.status.is_none() {
        return Err(format!("its start-up files did not end within {} s", LIMIT.as_secs()));
    }
    parse(&ended.out, mark.as_bytes()).map(Some).ok_or_else(|| "its start-up files ended it, or became another program".to_owned())
}

/// The variables between two marks.
fn parse(said: &[u8], mark: &[u8]) -> Option<Variables> {
    let find = |bytes: &[u8]| bytes.windows(mark.len()).position(|part| part == mark);
    let rest = &said[find(said)? + mark.len()..];
    let lines = rest[..find(rest)?].split(|&byte| byte == 0).filter(|line| !line.is_empty());
    let parts = |line: &[u8]| {
        let at = line.iter().position(|&byte| byte == b'=')?;
        Some((OsString::from_vec(line[..at].to_vec()), OsString::from_vec(line[at + 1..].to_vec())))
    };
    Some(lines.filter_map(parts).collect())
}

/// What the server gets of what the shell has made, where the unit had `own`.
fn merged(read: Variables, own: &Variables) -> Variables {
    let is_one_of = |name: &OsStr, names: &[&str]| names.iter().any(|known| name == *known);
    let units = own.iter().filter(|(name, _)| is_one_of(name, THE_UNITS)).cloned();
    let others = read.into_iter().filter(|(name, _)| {
        let unset = own.iter().all(|(known, _)| known != name);
        !is_one_of(name, NOT_THE_USERS) && (unset || !is_one_of(name, THE_UNITS))
    });
    others.chain(units).collect()
}

/// With a PATH on which this folder lies. Start-up files may know nothing of the tmux that is in use, and another one's client would not
/// understand the server.
fn finding(mut variables: Variables, folder: Option<&Path>) -> Variables {
    let at = variables.iter().position(|(name, _)| name == "PATH");
    let path = at.map(|at| variables.remove(at).1).unwrap_or_default();
    let known: Vec<PathBuf> = std::env::split_paths(&path).filter(|folder| !folder.as_os_str().is_empty()).collect();
    let folder = folder.filter(|folder| !known.iter().any(|known| known == folder)).map(Path::to_owned);
    let joined = std::env::join_paths(folder.into_iter().chain(known)).unwrap_or(path);
    variables.push(("PATH".into(), joined));
    variables
}

fn widened(mut variables: Variables) -> Variables {
    let at = variables.iter().position(|(name, _)| name == "PATH");
    let path = widened_path(at.map(|at| variables.remove(at).1));
    variables.push(("PATH".into(), path));
    variables
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variables(pairs: &[(&str, &str)]) -> Variables {
        pairs.iter().map(|&(name, value)| (name.into(), value.into())).collect()
    }

    #[test]
    fn what_start_up_files_print_is_no_variable() {
        let said = b"Welcome A=1\0<m>A=x\ny\0B=\xff=\0C=\0<m>bye";
        let read = parse(said, b"<m>").unwrap();
        assert_eq!(read[0], ("A".into(), "x\ny".into()));
        assert_eq!(read[1], ("B".into(), OsString::from_vec(b"\xff=".to_vec())));
        assert_eq!((read[2].1.len(), read.len()), (0, 3));
        // A mark that has not come yet.
        assert_eq!((parse(b"<m>A=1\0", b"<m>"), parse(b"", b"<m>")), (None, None));
    }

    #[test]
    fn the_tmux_that_is_in_use_is_found() {
        for (path, folder, wanted) in [("/a:/b", "/b", "/a:/b"), ("/a:/b", "/c", "/c:/a:/b")] {
            assert_eq!(finding(variables(&[("PATH", path)]), Some(Path::new(folder))), variables(&[("PATH", wanted)]));
        }
    }

    #[test]
    fn the_unit_says_where_the_records_are_and_the_shell_all_else() {
        let own = variables(&[("HOME", "/h"), ("XDG_STATE_HOME", "/s"), ("PATH", "/bin"), ("JOURNAL_STREAM", "8:1")]);
        let read = variables(&[
            ("HOME", "/other"),
            ("XDG_STATE_HOME", "/other"),
            ("XDG_CONFIG_HOME", "/c"),
            ("PATH", "/mine:/bin"),
            ("JOURNAL_STREAM", "8:1"),
            ("TMUX", "/x,0,0"),
            ("SHLVL", "1"),
        ]);
        let mut merged = merged(read, &own);
        merged.sort();
        assert_eq!(merged, variables(&[("HOME", "/h"), ("PATH", "/mine:/bin"), ("XDG_CONFIG_HOME", "/c"), ("XDG_STATE_HOME", "/s")]));
    }
}
