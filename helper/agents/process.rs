//! The one reader of the process table. Every answer is 'unknown' (`None`) where the system tells nothing.

use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::model::{BoundProcess, EpochMs, Generation, Program, RawText};

/// Longest argv that is kept, in bytes with its separators; what is longer counts as unknown rather than being cut.
const MAX_ARGV: usize = 16 * 1024;

/// This boot's id; empty where the system has none.
pub fn boot_id() -> String {
    fs_err::read_to_string("/proc/sys/kernel/random/boot_id").map(|id| id.trim().to_owned()).unwrap_or_default()
}

/// The fields of `/proc/PID/stat` that are used here.
struct Stat {
    state: u8,
    parent: i32,
    /// The device of its terminal; 0 for none.
    terminal: u64,
    foreground: i32,
    /// The kernel's `PF_` flags.
    flags: u64,
    start: u64,
}

/// The program's name stands in parentheses and may hold anything, so fields are counted from the last `)`.
fn stat(pid: i32) -> Option<Stat> {
    let text = fs_err::read(format!("/proc/{pid}/stat")).ok()?;
    parse_stat(&text)
}

fn parse_stat(text: &[u8]) -> Option<Stat> {
    let end = text.iter().rposition(|&byte| byte == b')')?;
    let rest = std::str::from_utf8(&text[end + 1..]).ok()?;
    let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
    Some(Stat {
        state: *fields.first()?.as_bytes().first()?,
        parent: fields.get(1)?.parse().ok()?,
        terminal: fields.get(4)?.parse().ok()?,
        foreground: fields.get(5)?.parse().ok()?,
        flags: fields.get(6)?.parse().ok()?,
        start: fields.get(19)?.parse().ok()?,
    })
}

/// When a process started, in clock ticks since boot. `None` once it is gone; a zombie is gone.
pub fn start_time(pid: i32) -> Option<u64> {
    stat(pid).filter(|stat| !matches!(stat.state, b'Z' | b'X')).map(|stat| stat.start)
}

/// Whether the server of this generation still lives: same boot, same pid, same process start.
pub fn lives(generation: &Generation) -> bool {
    if generation.boot != boot_id() {
        return false;
    }
    if cfg!(target_os = "linux") {
        return start_time(generation.pid).is_some_and(|start| generation.process_start.is_none_or(|then| then == start));
    }
    nix::sys::signal::kill(nix::unistd::Pid::from_raw(generation.pid), None) != Err(nix::errno::Errno::ESRCH)
}

/// Waits for the end of a server that may be about to end, for at most `limit`; gives whether it lives still.
pub fn outlives(generation: &Generation, limit: Duration) -> bool {
    !comes_true(limit, &|| !lives(generation))
}

/// Waits until none of these processes lives, for at most `limit`.
pub fn wait_gone(pids: &[i32], limit: Duration) {
    let _ = comes_true(limit, &|| pids.iter().all(|&pid| start_time(pid).is_none()));
}

#[expect(clippy::disallowed_methods, reason = "nothing tells the end of a process that is not a child")]
fn comes_true(limit: Duration, condition: &dyn Fn() -> bool) -> bool {
    let deadline = Instant::now() + limit;
    while !condition() {
        if Instant::now() >= deadline {
            return false;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    true
}

/// Every process.
pub fn all() -> Vec<i32> {
    let entries = fs_err::read_dir("/proc").into_iter().flatten();
    entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect()
}

/// The process that started it, or took it over.
pub fn parent(pid: i32) -> Option<i32> {
    stat(pid).map(|stat| stat.parent).filter(|&parent| parent > 0)
}

/// A start time in ms since the Unix epoch.
pub fn epoch_ms(start_time: u64) -> Option<EpochMs> {
    let uptime: f64 = fs_err::read_to_string("/proc/uptime").ok()?.split_ascii_whitespace().next()?.parse().ok()?;
    let ticks = u64::try_from(nix::unistd::sysconf(nix::unistd::SysconfVar::CLK_TCK).ok()??).ok()?;
    let since_boot = Duration::from_secs_f64(uptime);
    let age = since_boot.saturating_sub(Duration::from_millis(start_time * 1000 / ticks));
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).ok()?;
    u64::try_from(now.saturating_sub(age).as_millis()).ok()
}

/// Whether the process that ran a conversation lives still: same boot, same pid, same start.
pub fn runs(process: &BoundProcess) -> bool {
    process.generation.boot == boot_id() && start_time(process.pid) == Some(process.start_time)
}

/// Whether it was started in a pane of a tmux server that is gone: it has no terminal any more, and is about to end, or should be.
pub fn is_orphan(pid: i32) -> bool {
    let variable = variable(pid, "TMUX").unwrap_or_default();
    let server = variable.display().rsplit(',').nth(1).and_then(|pid| pid.parse::<i32>().ok());
    server.is_some_and(|server| start_time(server).is_none())
}

/// The leader of the foreground process group of the terminal that `pid` runs on, `pid` itself where that has none yet; and
/// whether it was forked and is not yet the program that it was made for: its words and its directory are its parent's then.
pub fn foreground(pid: i32) -> Option<(i32, bool)> {
    const FORKED_WITHOUT_EXEC: u64 = 0x40;
    let own = stat(pid)?;
    let leader = if own.foreground > 0 { own.foreground } else { pid };
    let flags = if leader == pid { own.flags } else { stat(leader).map_or(0, |stat| stat.flags) };
    Some((leader, flags & FORKED_WITHOUT_EXEC != 0))
}

/// What runs for a shell that was given its commands as a word: some become a last command, others (dash, fish) wait for it. `leader`
/// itself for anything else.
pub fn run_by(leader: i32) -> i32 {
    let runs_words = |pid: i32| argv(pid).is_some_and(|argv| argv.get(1).is_some_and(|word| word.as_bytes() == b"-c"));
    let only_child = |pid: i32| {
        let children = fs_err::read_to_string(format!("/proc/{pid}/task/{pid}/children")).ok()?;
        let mut children = children.split_ascii_whitespace();
        children.next().filter(|_| children.next().is_none())?.parse().ok()
    };
    let below = |pid: &i32| if runs_words(*pid) { only_child(*pid) } else { None };
    std::iter::successors(Some(leader), below).take(4).last().unwrap_or(leader)
}

/// Its argv, word for word; `None` if it is gone or longer than what is kept. (One that overwrote its words shows empty ones.)
pub fn argv(pid: i32) -> Option<Vec<RawText>> {
    let text = fs_err::read(format!("/proc/{pid}/cmdline")).ok()?;
    let text = text.strip_suffix(b"\0").unwrap_or(&text);
    if text.is_empty() || text.len() > MAX_ARGV {
        return None;
    }
    Some(text.split(|&byte| byte == 0).map(RawText::from).collect())
}

/// The shells whose jobs are programs in their own right, by the names that they have.
const SHELLS: &[&str] =
    &["ash", "bash", "csh", "dash", "elvish", "fish", "ksh", "ksh93", "mksh", "nu", "oksh", "sh", "tcsh", "xonsh", "yash", "zsh"];

/// The program in front of the pane whose own process is `pane`, if its argv tells all of it: it is a job of the pane's own shell,
/// or stands in that one's place; it is of our user, as one under sudo or doas is not; and it reads from and writes to the pane, as
/// part of a pipeline does not.
pub fn program(pane: i32) -> Option<Program> {
    let (leader, _) = foreground(pane)?;
    let Stat { parent, terminal, .. } = stat(leader)?;
    let is_job = if leader == pane { !is_shell(pane) } else { parent == pane && is_shell(pane) };
    let data = |of: &str| fs_err::metadata(format!("/proc/{leader}/{of}")).ok();
    let is_ours = || data("").is_some_and(|data| data.uid() == nix::unistd::geteuid().as_raw());
    let on_terminal = |descriptor| data(descriptor).is_some_and(|data| data.rdev() == terminal);
    let whole = is_job && is_ours() && terminal != 0 && on_terminal("fd/0") && on_terminal("fd/1");
    whole.then(|| Some(Program { argv: argv(leader)?, executable: without_deleted(exe(leader)?).into() }))?
}

/// Whether a process is a shell: by its executable, by its name, or by the dash with which tmux and login start one.
fn is_shell(pid: i32) -> bool {
    let known = |name: Option<&std::ffi::OsStr>| name.and_then(std::ffi::OsStr::to_str).is_some_and(|name| SHELLS.contains(&name));
    let name = argv(pid).and_then(|words| words.into_iter().next());
    name.is_some_and(|name| name.as_bytes().starts_with(b"-") || known(name.as_path().file_name()))
        || known(exe(pid).map(without_deleted).as_deref().and_then(Path::file_name))
}

/// Whether `leader` is the interactive shell that the line of the pane's own process `pane` starts: tmux runs `default-command` as
/// `SHELL -c LINE`, and dash, or any shell with a longer line, does not become its last program.
pub fn is_shell_of_line(pane: i32, leader: i32) -> bool {
    let runs_line = |words: Vec<RawText>| words.get(1).is_some_and(|word| word.as_bytes() == b"-c");
    let only_flags = |words: Vec<RawText>| words.iter().skip(1).all(|word| word.as_bytes().starts_with(b"-"));
    parent(leader) == Some(pane) && is_shell(leader) && argv(leader).is_some_and(only_flags) && argv(pane).is_some_and(runs_line)
}

/// The file that it runs; ` (deleted)` stands behind one that was replaced.
pub fn exe(pid: i32) -> Option<PathBuf> {
    fs_err::read_link(format!("/proc/{pid}/exe")).ok()
}

/// The control group of systemd's that it is in, as a path.
pub fn control_group(pid: i32) -> Option<String> {
    let text = fs_err::read_to_string(format!("/proc/{pid}/cgroup")).ok()?;
    text.lines()
        .find_map(|line| line.strip_prefix("0::").or_else(|| line.split_once(":name=systemd:").map(|(_, path)| path)))
        .map(str::to_owned)
}

/// Its name in the kernel, of at most 15 bytes.
pub fn comm(pid: i32) -> Option<String> {
    let text = fs_err::read(format!("/proc/{pid}/comm")).ok()?;
    Some(String::from_utf8_lossy(text.strip_suffix(b"\n").unwrap_or(&text)).into_owned())
}

/// Its physical directory, where it was if it has been deleted since.
pub fn directory(pid: i32) -> Option<PathBuf> {
    let path = fs_err::read_link(format!("/proc/{pid}/cwd")).ok()?;
    Some(without_deleted(path))
}

/// The kernel appends ` (deleted)` to a directory that is gone; a directory may also be named so.
fn without_deleted(path: PathBuf) -> PathBuf {
    let bytes = path.as_os_str().as_bytes();
    match bytes.strip_suffix(b" (deleted)") {
        Some(stem) if !path.exists() => PathBuf::from(std::ffi::OsString::from_vec(stem.to_vec())),
        _ => path,
    }
}

/// `PWD` in the environment that it was started with: the path by which its shell came to the directory.
pub fn logical_directory(pid: i32) -> Option<PathBuf> {
    variable(pid, "PWD").map(|value| value.as_path().to_owned())
}

/// A variable of the environment that it was started with.
pub fn variable(pid: i32, name: &str) -> Option<RawText> {
    let environment = fs_err::read(format!("/proc/{pid}/environ")).ok()?;
    let mut entries = environment.split(|&byte| byte == 0);
    entries.find_map(|entry| entry.strip_prefix(name.as_bytes())?.strip_prefix(b"=")).map(RawText::from)
}

/// Whether this one of its descriptors is a terminal; `None` where that can't be told.
pub fn is_terminal(pid: i32, descriptor: u8) -> Option<bool> {
    let file = fs_err::read_link(format!("/proc/{pid}/fd/{descriptor}")).ok()?;
    Some(file.starts_with("/dev/pts") || file.to_str().is_some_and(|path| path.starts_with("/dev/tty")))
}

/// Whether what reads this terminal gets whole lines, as the terminal edits them, and not each key, as the line editor of a shell at
/// its prompt does; `None` where that can't be told.
pub fn reads_lines(tty: &Path) -> Option<bool> {
    let tty = fs_err::File::open(tty).ok()?;
    let mode = nix::sys::termios::tcgetattr(tty.file()).ok()?;
    Some(mode.local_flags.contains(nix::sys::termios::LocalFlags::ICANON))
}

/// Whether it has a living child; `None` where that can't be told.
pub fn has_child(pid: i32) -> Option<bool> {
    if let Ok(children) = fs_err::read_to_string(format!("/proc/{pid}/task/{pid}/children")) {
        return Some(!children.trim().is_empty());
    }
    // Kernels without CONFIG_PROC_CHILDREN: look at everybody's parent.
    Path::new("/proc/self").exists().then(|| all().into_iter().any(|other| stat(other).is_some_and(|stat| stat.parent == pid)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_may_be_named_like_the_fields_behind_it() {
        let stat = parse_stat(b"7 (a) S 1 (x) S 3 7 7 34816 9 4194304 1 0 0 0 0 0 0 0 20 0 1 0 51394 1 1").unwrap();
        assert_eq!((stat.state, stat.parent, stat.foreground, stat.start), (b'S', 3, 9, 51394));
        assert!(parse_stat(b"").is_none());
        assert!(parse_stat(b"7 (a)").is_none());
    }

    #[test]
    fn this_process_lives_and_another_life_of_its_pid_does_not() {
        let pid = i32::try_from(std::process::id()).unwrap();
        let here = Generation { boot: boot_id(), pid, start_time: 0, process_start: start_time(pid) };
        assert!(lives(&here));
        assert!(!lives(&Generation { process_start: Some(1), ..here.clone() }));
        assert!(!lives(&Generation { boot: "another boot".into(), ..here }));
        assert!(!argv(pid).unwrap().is_empty());
        assert_eq!(exe(pid), std::env::current_exe().ok());
        assert!(exe(pid).unwrap().display().to_string().contains(&comm(pid).unwrap()[..7]));
        assert!(directory(pid).unwrap().is_absolute());
        assert!(all().contains(&pid) && all().contains(&parent(pid).unwrap()));
        assert_eq!(variable(pid, "CARGO_MANIFEST_DIR"), Some(env!("CARGO_MANIFEST_DIR").into()));
        assert_eq!(variable(pid, "CARGO_MANIFEST"), None, "a name is a whole one");
        let age = std::time::UNIX_EPOCH + Duration::from_millis(epoch_ms(start_time(pid).unwrap()).unwrap());
        assert!(age.elapsed().unwrap_or_default() < Duration::from_secs(3600));
    }

    #[test]
    fn a_directory_may_be_named_deleted() {
        let dir = tempfile::tempdir().unwrap();
        let named = dir.path().join("x (deleted)");
        assert_eq!(without_deleted(named.clone()), dir.path().join("x"));
        fs_err::create_dir(&named).unwrap();
        assert_eq!(without_deleted(named.clone()), named);
    }
}
