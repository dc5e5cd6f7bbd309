//! A world for one test: its own `HOME`, XDG folders, `TMUX_TMPDIR` and tmux socket, and the servers that it started, which end
//! with it, by their pids.

use std::cell::RefCell;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

/// How long a condition may take to come true. Only a broken product or a very busy machine needs it.
const DEADLINE: Duration = Duration::from_secs(30);

/// The program under test.
pub fn sidecar_path() -> &'static str {
    env!("CARGO_BIN_EXE_sidecar")
}

/// The plugin's entry, as a word of a shell line inside tmux's single quotes: the checkout may lie anywhere.
pub fn plugin_word() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("sidecar.tmux").display().to_string();
    path.chars().map(|c| if c.is_alphanumeric() || "/._-".contains(c) { c.to_string() } else { format!("\\{c}") }).collect()
}

/// The tmux clients under test, by version: those that `scripts/tmux-versions` unpacked, or the one on PATH alone.
pub fn tmux_versions() -> Vec<(String, PathBuf)> {
    let Some(dir) = std::env::var_os("SIDECAR_TMUX_VERSIONS") else { return vec![("on PATH".to_owned(), path_tmux())] };
    let mut found: Vec<(String, PathBuf)> = std::fs::read_dir(dir)
        .into_iter()
        .flatten()
        .filter_map(|entry| {
            let folder = entry.ok()?.path();
            let program = folder.join("tmux");
            program.is_file().then_some((folder.file_name()?.to_str()?.to_owned(), folder))
        })
        .collect();
    found.sort();
    assert!(found.len() >= 3, "scripts/tmux-versions unpacks at least three");
    found
}

/// The folders of the machine's own tmux and of the newest there is.
pub fn two_versions() -> Vec<PathBuf> {
    let newest = tmux_versions().into_iter().map(|(_, folder)| folder).next_back();
    let mut folders = vec![path_tmux()];
    folders.extend(newest.filter(|folder| *folder != path_tmux()));
    folders
}

/// The folder of the tmux on PATH.
pub fn path_tmux() -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).find(|folder| folder.join("tmux").is_file()).expect("tmux is installed by scripts/test")
}

/// Waits until `condition` gives something, with a deadline.
#[track_caller]
pub fn wait_for<T>(what: &str, condition: impl FnMut() -> Option<T>) -> T {
    wait_or_tell(|| what.to_owned(), condition)
}

/// The same, with words that are only found when they are needed.
#[track_caller]
pub fn wait_or_tell<T>(what: impl Fn() -> String, condition: impl FnMut() -> Option<T>) -> T {
    wait_within(DEADLINE, what, condition)
}

/// The same, for what takes longer than the rest.
#[track_caller]
pub fn wait_within<T>(limit: Duration, what: impl Fn() -> String, mut condition: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + limit;
    loop {
        if let Some(value) = condition() {
            return value;
        }
        assert!(Instant::now() < deadline, "never came true: {}", what());
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Panics with the lines that two trees don't share.
#[track_caller]
pub fn assert_same(now: &str, before: &str, context: impl std::fmt::Display) {
    let lines = |text: &str, other: &str, sign: char| {
        text.lines().filter(|line| !other.lines().any(|known| known == *line)).map(|line| format!("{sign} {line}\n")).collect::<String>()
    };
    assert!(now == before, "{}{}{context}", lines(before, now, '-'), lines(now, before, '+'));
}

/// What a program said.
#[derive(Debug)]
pub struct Said {
    pub code: i32,
    pub out: String,
    pub err: String,
}

impl Said {
    pub fn of(output: &Output) -> Self {
        Self {
            code: output.status.code().unwrap_or(-1),
            out: String::from_utf8_lossy(&output.stdout).into_owned(),
            err: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    /// Its output, of a program that succeeded.
    #[track_caller]
    pub fn ok(self) -> String {
        assert_eq!(self.code, 0, "{self:?}");
        self.out
    }

    /// Its output as JSON.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

pub struct World {
    dir: TempDir,
    /// The folder of the tmux client; `None` for the one on PATH.
    tmux_dir: Option<PathBuf>,
    pids: RefCell<Vec<i32>>,
}

impl World {
    /// A world whose tmux.conf loads the plugin, with a grace of `grace` seconds and a quick timer, so that tests need not wait.
    pub fn new(grace: f64) -> Self {
        let world = Self::bare();
        world.configure(&format!("set -g @sidecar-grace {grace}\nset -g @sidecar-interval 0.5\n"));
        world
    }

    /// A world with another tmux client than that on PATH.
    pub fn with_tmux(folder: &Path, grace: f64) -> Self {
        let mut world = Self::bare();
        world.tmux_dir = Some(folder.to_owned());
        world.configure(&format!("set -g @sidecar-grace {grace}\nset -g @sidecar-interval 0.5\n"));
        world
    }

    /// A world with another tmux client and without a tmux.conf.
    pub fn bare_with_tmux(folder: &Path) -> Self {
        let mut world = Self::bare();
        world.tmux_dir = Some(folder.to_owned());
        world
    }

    /// The same world seen through another tmux client.
    pub fn switch_tmux(&mut self, folder: &Path) {
        self.tmux_dir = Some(folder.to_owned());
    }

    /// A world without a tmux.conf.
    pub fn bare() -> Self {
        // A short path: a socket's path holds about 100 bytes.
        let dir = tempfile::Builder::new().prefix("sc").tempdir_in("/tmp").unwrap();
        for folder in ["home", "tmp", "work"] {
            std::fs::create_dir(dir.path().join(folder)).unwrap();
        }
        Self { dir, tmux_dir: None, pids: RefCell::default() }
    }

    /// Writes tmux.conf: `lines`, then the plugin.
    pub fn configure(&self, lines: &str) {
        let conf = format!("set -g @sidecar-helper '{}'\n{lines}\nrun-shell '{}'\n", sidecar_path(), plugin_word());
        std::fs::write(self.home().join(".tmux.conf"), conf).unwrap();
    }

    pub fn home(&self) -> PathBuf {
        self.dir.path().join("home")
    }

    /// A folder to work in, made if it is not there.
    pub fn folder(&self, name: impl AsRef<OsStr>) -> PathBuf {
        let path = self.work().join(name.as_ref());
        std::fs::create_dir_all(&path).unwrap();
        path
    }

    /// The folder that all others lie in, as the kernel names it.
    pub fn work(&self) -> PathBuf {
        self.dir.path().canonicalize().unwrap().join("work")
    }

    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut path = "/usr/local/bin:/usr/bin:/bin".to_owned();
        if let Some(folder) = &self.tmux_dir {
            path = format!("{}:{path}", folder.display());
        }
        let mut command = Command::new(program);
        command.env_clear().env("PATH", path).env("HOME", self.home()).env("TMUX_TMPDIR", self.dir.path().join("tmp"));
        for (variable, folder) in
            [("XDG_STATE_HOME", "state"), ("XDG_CONFIG_HOME", "config"), ("XDG_DATA_HOME", "data"), ("XDG_CACHE_HOME", "cache")]
        {
            command.env(variable, self.dir.path().join(folder));
        }
        command.env("LANG", "C.UTF-8").env("TERM", "xterm-256color").env("SHELL", "/bin/sh").env("PS1", "$ ");
        command.current_dir(self.work()).stdin(Stdio::null());
        command
    }

    pub fn tmux_program(&self) -> PathBuf {
        self.tmux_dir.as_ref().map_or_else(|| PathBuf::from("tmux"), |folder| folder.join("tmux"))
    }

    /// Runs `tmux -u ARGS`, and remembers the server that it started, if any.
    pub fn tmux<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Said {
        let said = Said::of(&self.command(self.tmux_program()).arg("-u").args(args).output().unwrap());
        self.remember_server();
        said
    }

    /// Remembers the pid of the server that answers now, so that it ends with this world.
    pub fn remember_server(&self) -> Option<i32> {
        let output = self.command(self.tmux_program()).args(["display-message", "-p", "#{pid}"]).output().unwrap();
        let pid: i32 = String::from_utf8_lossy(&output.stdout).trim().parse().ok()?;
        if !self.pids.borrow().contains(&pid) {
            self.pids.borrow_mut().push(pid);
        }
        Some(pid)
    }

    /// Remembers a server by its pid, so that it ends with this world.
    pub fn remember(&self, pid: i32) {
        self.pids.borrow_mut().push(pid);
    }

    /// One format of the server.
    #[track_caller]
    pub fn show(&self, format: &str) -> String {
        self.tmux(["display-message", "-p", format]).ok().trim_end_matches('\n').to_owned()
    }

    /// What a pane shows, the lines that the terminal wrapped put together.
    pub fn screen(&self, target: &str) -> String {
        self.tmux(["capture-pane", "-p", "-J", "-S", "-", "-t", target]).out
    }

    /// Waits until a pane shows this.
    #[track_caller]
    pub fn wait_shown(&self, target: &str, text: &str) {
        wait_or_tell(|| format!("{text:?} on the screen:\n{}", self.screen(target)), || self.screen(target).contains(text).then_some(()));
    }

    /// Presses keys in a pane.
    #[track_caller]
    pub fn press(&self, target: &str, keys: &[&str]) {
        self.tmux([&["send-keys", "-t", target][..], keys].concat()).ok();
    }

    /// The argv of a pane's own process, and of the program in front of it.
    pub fn processes(&self, target: &str) -> Option<[Vec<u8>; 2]> {
        let pid = self.tmux(["display-message", "-p", "-t", target, "#{pane_pid}"]).out.trim().to_owned();
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let front = stat.rsplit(") ").next()?.split(' ').nth(5)?.to_owned();
        let argv = |pid: &str| std::fs::read(format!("/proc/{pid}/cmdline")).ok();
        Some([argv(&pid)?, argv(&front)?])
    }

    /// Waits until this program, word for word, is in front of a pane.
    #[track_caller]
    pub fn wait_in_front<W: AsRef<[u8]>>(&self, target: &str, words: &[W]) {
        let mut wanted = Vec::new();
        for word in words {
            wanted.extend(word.as_ref());
            wanted.push(0);
        }
        let shown = |argv: &[u8]| String::from_utf8_lossy(argv).replace('\0', " ");
        let what = || {
            let now = self.processes(target).map(|both| both.map(|argv| shown(&argv)));
            format!("{} in front, now {now:?}:\n{}\n{}", shown(&wanted), self.screen(target), self.log())
        };
        wait_or_tell(what, || (self.processes(target)?[1] == wanted).then_some(()));
    }

    /// Writes `config.json`, with these in `restore.programs`.
    pub fn configure_programs(&self, programs: &[&str]) {
        let folder = self.dir.path().join("config/sidecar");
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("config.json"), serde_json::json!({ "restore": { "programs": programs } }).to_string()).unwrap();
    }

    /// Everything that a restore must bring back, as text: sessions by name, windows, flags, layouts, panes and directories.
    pub fn tree(&self) -> String {
        let windows = self
            .tmux([
                "list-windows",
                "-a",
                "-F",
                "#{session_name}:#{window_index}|active=#{window_active}|last=#{window_last_flag}|zoom=#{window_zoomed_flag}|auto=#{automatic-rename}|#{?automatic-rename,,#{window_name}}|#{window_layout}",
            ])
            .ok();
        let mut lines: Vec<String> = windows
            .lines()
            .map(|line| {
                let (rest, layout) = line.rsplit_once('|').unwrap();
                // The pane numbers in a layout are live ids.
                let layout = sidecar::model::Layout::parse(layout).unwrap_or_else(|| panic!("no layout: {line}"));
                format!("{rest}|{}", layout.to_tmux())
            })
            .collect();
        let panes = self
            .tmux([
                "list-panes",
                "-a",
                "-F",
                "#{session_name}:#{window_index}.#{pane_index}|active=#{pane_active}|#{@sidecar-pane}|#{pane_current_path}",
            ])
            .ok();
        lines.extend(panes.lines().map(str::to_owned));
        let groups = self
            .tmux(["list-sessions", "-F", "#{session_name} group=#{session_group} @sidecar-shell=#{@sidecar-shell} path=#{session_path}"])
            .ok();
        lines.extend(groups.lines().map(str::to_owned));
        lines.sort();
        lines.join("\n")
    }

    /// The tree without the sizes, which follow the client once one is attached.
    pub fn tree_without_sizes(&self) -> String {
        let tree = self.tree();
        let lines = tree.lines().map(|line| if line.contains("|last=") { line.rsplit_once('|').unwrap().0 } else { line });
        lines.collect::<Vec<_>>().join("\n")
    }

    /// Runs `sidecar ARGS`.
    pub fn sidecar<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Said {
        let said = Said::of(&self.command(sidecar_path()).args(args).output().unwrap());
        self.remember_server();
        said
    }

    /// Starts a client in a terminal of its own (`script` makes the pty); it lives until the returned guard is dropped.
    pub fn attach(&self, args: &[&str]) -> Client {
        let words: Vec<String> =
            std::iter::once(self.tmux_program().display().to_string()).chain(args.iter().map(|&arg| arg.to_owned())).collect();
        let line = words.iter().map(|word| format!("'{}'", word.replace('\'', r"'\''"))).collect::<Vec<_>>().join(" ");
        let child = self
            .command("script")
            .args(["-qfc", &format!("stty cols 120 rows 40; exec {line}"), "/dev/null"])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        Client { child }
    }

    /// Ends the present server by SIGKILL and waits until it is gone.
    #[track_caller]
    pub fn crash(&self) -> i32 {
        let pid = self.remember_server().expect("a server to end");
        self.signal(pid, "KILL");
        self.wait_gone(pid);
        pid
    }

    pub fn signal(&self, pid: i32, signal: &str) {
        assert!(pid > 1, "a process of this world: {pid}");
        let status = self.command("/bin/kill").arg(format!("-{signal}")).arg(pid.to_string()).stderr(Stdio::null()).status().unwrap();
        let _ = status;
    }

    /// Waits until a process is gone; a zombie is gone.
    #[track_caller]
    #[expect(clippy::unused_self, reason = "it reads like its neighbours")]
    pub fn wait_gone(&self, pid: i32) {
        wait_for(&format!("the end of process {pid}"), || (!is_alive(pid)).then_some(()));
    }

    /// The folder of the only store in this world.
    pub fn store(&self) -> Option<PathBuf> {
        let hosts = std::fs::read_dir(self.dir.path().join("state/sidecar")).ok()?;
        let servers =
            hosts.filter_map(Result::ok).flat_map(|host| std::fs::read_dir(host.path()).into_iter().flatten().filter_map(Result::ok));
        servers.map(|server| server.path()).find(|path| path.is_dir())
    }

    /// `shells.json`, or null while there is none.
    pub fn state(&self) -> Value {
        let text = self.store().and_then(|store| std::fs::read_to_string(store.join("shells.json")).ok());
        text.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or(Value::Null)
    }

    /// The recorded session names, sorted.
    pub fn recorded(&self) -> Vec<String> {
        names(&self.state()["shells"], |shell| &shell["session"])
    }

    /// The session names of the tombstones, sorted.
    pub fn tombstones(&self) -> Vec<String> {
        names(&self.state()["tombstones"], |tombstone| &tombstone["shell"]["session"])
    }

    /// Waits until exactly these sessions are recorded.
    #[track_caller]
    pub fn wait_recorded(&self, wanted: &[&str]) {
        let mut wanted: Vec<String> = wanted.iter().map(|&name| name.to_owned()).collect();
        wanted.sort();
        let told = || format!("wanted {wanted:?}, recorded {:?}, log:\n{}", self.recorded(), self.log());
        wait_or_tell(told, || (self.recorded() == wanted).then_some(()));
    }

    pub fn log(&self) -> String {
        self.store().and_then(|store| std::fs::read_to_string(store.join("log")).ok()).unwrap_or_default()
    }

    /// One look, right now, as the timer would take it.
    pub fn look(&self) {
        self.sidecar(["hook", "tick"]).ok();
    }
}

impl Drop for World {
    fn drop(&mut self) {
        for &pid in self.pids.borrow().iter() {
            if is_alive(pid) {
                self.signal(pid, "CONT");
                self.signal(pid, "KILL");
            }
        }
        // Helpers and shells of this world end with its servers; one that outlived its folder would make parts of it again.
        let home = format!("HOME={}", self.home().display());
        let began = Instant::now();
        while began.elapsed() < Duration::from_secs(10) {
            let left = processes_with(&home);
            if left.is_empty() {
                return;
            }
            if began.elapsed() > Duration::from_secs(2) {
                for pid in left {
                    self.signal(pid, "KILL");
                }
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

/// The processes that were started with this in their environment.
pub fn processes_with(entry: &str) -> Vec<i32> {
    let all = std::fs::read_dir("/proc").into_iter().flatten().filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<i32>().ok());
    let started_so = |pid: &i32| {
        let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environment.split(|&byte| byte == 0).any(|known| known == entry.as_bytes())
    };
    all.filter(started_so).filter(|&pid| is_alive(pid)).collect()
}

/// An attached client.
pub struct Client {
    child: std::process::Child,
}

impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub fn is_alive(pid: i32) -> bool {
    let Ok(stat) = std::fs::read_to_string(format!("/proc/{pid}/stat")) else { return false };
    !matches!(stat.rsplit(") ").next().and_then(|rest| rest.chars().next()), Some('Z' | 'X') | None)
}

fn names<'a>(list: &'a Value, name: impl Fn(&'a Value) -> &'a Value) -> Vec<String> {
    let mut names: Vec<String> =
        list.as_array().into_iter().flatten().map(|item| name(item).as_str().unwrap_or_default().to_owned()).collect();
    names.sort();
    names
}
