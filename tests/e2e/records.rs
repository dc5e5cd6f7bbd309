//! What the tests of recording read of the records, write into them by hand, and compare with what lives.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::Value;
use sidecar::store::Store;

use super::support::{Said, World, sidecar_path, wait_for, wait_or_tell};

/// Panes in each window, in order, by session name.
pub type Sizes = BTreeMap<String, Vec<usize>>;

/// A world whose timer is out of the way: only hooks, and looks that the test asks for.
pub fn world_without_timer(grace: f64) -> World {
    let world = World::bare();
    world.configure(&options(grace, 3600.0));
    world
}

/// The lines of tmux.conf that set the grace and the timer's interval, in seconds.
pub fn options(grace: f64, interval: f64) -> String {
    format!("set -g @sidecar-grace {grace}\nset -g @sidecar-interval {interval}\n")
}

/// Runs `job` once for each item, a few at a time: rounds mostly wait.
pub fn in_parallel<T: Sync>(items: &[T], job: impl Fn(&T) + Sync) {
    let next = std::sync::atomic::AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..6 {
            scope.spawn(|| {
                while let Some(item) = items.get(next.fetch_add(1, std::sync::atomic::Ordering::Relaxed)) {
                    job(item);
                }
            });
        }
    });
}

impl World {
    /// The names of the living sessions, in tmux's order.
    pub fn sessions(&self) -> Vec<String> {
        self.tmux(["list-sessions", "-F", "#{session_name}"]).out.lines().map(str::to_owned).collect()
    }

    /// Waits until exactly these sessions live.
    #[track_caller]
    pub fn wait_sessions(&self, wanted: &[&str]) {
        let told = || format!("{wanted:?}: {:?}\n{}", self.sessions(), self.log());
        wait_or_tell(told, || (self.sessions() == wanted).then_some(()));
    }

    /// Ends the server and restores; the restore must not fail.
    #[track_caller]
    pub fn crash_and_restore(&self) -> Value {
        self.crash();
        let said = self.sidecar(["session", "restore", "--json"]);
        assert_eq!(said.code, 0, "{said:?}\n{}", self.log());
        said.json()
    }

    /// Makes `count` sessions `s0`, `s1`, … of one to three panes, and waits until they are recorded as they are.
    #[track_caller]
    pub fn inhabit(&self, count: usize) -> Sizes {
        let mut words: Vec<String> = Vec::new();
        for number in 0..count {
            let name = format!("s{number}");
            words.extend(["new-session", "-d", "-x", "120", "-y", "40", "-s", &name].map(str::to_owned));
            words.push(";".into());
            if number % 2 == 0 {
                words.extend(["new-window", "-d", "-t", &name, ";", "split-window", "-d", "-t", &name, ";"].map(str::to_owned));
            }
        }
        words.pop();
        self.tmux(words).ok();
        self.wait_as_it_is();
        self.live_sizes()
    }

    /// Waits until the records hold what lives, no more and no less, and every id stands on its object.
    #[track_caller]
    pub fn wait_as_it_is(&self) {
        let what = || format!("records as it is: {:?}, not {:?}, log:\n{}", self.live_sizes(), self.living_sizes(), self.log());
        let tagged = |tags: &String| tags.starts_with("sh-") && tags.contains(":pn-");
        wait_or_tell(what, || {
            let same = self.living_sizes() == self.live_sizes();
            (same && self.show_all("list-panes", "#{@sidecar-shell}:#{@sidecar-pane}").iter().all(tagged)).then_some(())
        });
    }

    /// Waits until no hook is at work: the server has no children but its panes.
    #[track_caller]
    pub fn wait_quiet(&self) {
        let pid = self.remember_server().expect("a server");
        wait_for("the end of all hooks", || {
            let panes = self.show_all("list-panes", "#{pane_pid}");
            let children = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap();
            children.split_whitespace().all(|child| panes.iter().any(|pane| pane == child)).then_some(())
        });
    }

    /// One look that nobody else's stands in for.
    #[track_caller]
    pub fn look_anew(&self) {
        self.wait_quiet();
        self.look();
    }

    /// Waits until every shell has drawn its prompt, and tmux has named its window after it: nothing changes by itself any more.
    #[track_caller]
    pub fn wait_prompts(&self) {
        wait_for("prompts", || {
            let panes = self.show_all("list-panes", "#{?cursor_x,prompt,none} #{window_name} #{pane_current_command}");
            panes.iter().all(|pane| pane == "prompt sh sh").then_some(())
        });
    }

    /// What lives.
    #[track_caller]
    pub fn live_sizes(&self) -> Sizes {
        let mut sizes = Sizes::new();
        for line in self.show_all("list-windows", "#{window_panes} #{session_name}") {
            let (panes, name) = line.split_once(' ').unwrap();
            sizes.entry(name.to_owned()).or_default().push(panes.parse().unwrap());
        }
        sizes
    }

    /// One format of every window or pane.
    #[track_caller]
    pub fn show_all(&self, list: &str, format: &str) -> Vec<String> {
        self.tmux([list, "-a", "-F", format]).ok().lines().map(str::to_owned).collect()
    }

    /// What is recorded, with what a look only missed so far.
    pub fn sizes(&self) -> Sizes {
        sizes_where(&self.state(), |_| true)
    }

    /// The same of the shells that the last look found.
    fn living_sizes(&self) -> Sizes {
        let state = self.state();
        sizes_where(&state, |shell| shell["seen"]["generation"]["pid"] == state["generation"]["pid"])
    }

    /// The record of the shell with this session name.
    #[track_caller]
    pub fn shell(&self, session: &str) -> Value {
        let state = self.state();
        let shells = state["shells"].as_array().unwrap_or_else(|| panic!("no shells: {state}"));
        shells.iter().find(|shell| shell["session"] == session).unwrap_or_else(|| panic!("no {session}: {state}")).clone()
    }

    pub fn shells_json(&self) -> PathBuf {
        self.store().expect("a store").join("shells.json")
    }

    pub fn state_bytes(&self) -> Vec<u8> {
        std::fs::read(self.shells_json()).unwrap()
    }

    /// Writes something else in the place of `shells.json`, under the lock that every writer takes.
    pub fn write_state(&self, bytes: &[u8]) {
        let held = Store::at(self.store().expect("a store")).lock(Duration::from_secs(20)).unwrap();
        std::fs::write(self.shells_json(), bytes).unwrap();
        drop(held);
    }

    /// Changes `shells.json` by hand, under the same lock.
    pub fn edit_state(&self, edit: impl FnOnce(&mut Value)) {
        let held = Store::at(self.store().expect("a store")).lock(Duration::from_secs(20)).unwrap();
        let mut state = self.state();
        edit(&mut state);
        std::fs::write(self.shells_json(), state.to_string()).unwrap();
        drop(held);
    }

    /// Waits until a true close, of a session `probe` made for it, has become a tombstone: a grace has passed in this life of
    /// the server then, and looks have taken all that was ripe.
    #[track_caller]
    pub fn pass_a_grace(&self) {
        let earlier = self.tombstones().len();
        self.tmux(["new-session", "-d", "-s", "probe", ";", "new-session", "-d", "-s", "stays"]);
        wait_for("the probe's record", || self.recorded().contains(&"probe".to_owned()).then_some(()));
        self.tmux(["kill-session", "-t", "=probe"]).ok();
        wait_for("the probe's tombstone", || (self.tombstones().len() > earlier).then_some(()));
        assert!(self.tombstones().contains(&"probe".to_owned()), "{:?}", self.tombstones());
    }

    /// `sidecar ARGS`, to be given more variables.
    pub fn sidecar_command<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Command {
        let mut command = self.command(sidecar_path());
        command.args(args);
        command
    }

    /// The plan, as `session status --json` tells it.
    #[track_caller]
    pub fn plan(&self) -> Value {
        let said = run(&mut self.sidecar_command(["session", "status", "--json"]));
        assert_eq!(said.code, 0, "{said:?}");
        said.json()
    }

    /// Each shell's action and reason in the plan, by session name.
    #[track_caller]
    pub fn verdicts(&self) -> BTreeMap<String, String> {
        let plan = self.plan();
        let word = |step: &Value, key: &str| step[key].as_str().unwrap().to_owned();
        let steps = plan["steps"].as_array().unwrap();
        steps.iter().map(|step| (word(step, "session"), format!("{} {}", word(step, "action"), word(step, "reason")))).collect()
    }

    /// The socket that the default server of this world has.
    pub fn socket(&self) -> PathBuf {
        self.root().join("tmp").join(format!("tmux-{}", nix::unistd::getuid())).join("default")
    }

    /// The folder that holds all of this world.
    pub fn root(&self) -> PathBuf {
        self.home().parent().unwrap().canonicalize().unwrap()
    }
}

/// Runs a program that may find no server, or one that does not answer: nothing asks for that server's pid afterwards.
pub fn run(command: &mut Command) -> Said {
    let output = command.stdin(Stdio::null()).output().unwrap();
    Said {
        code: output.status.code().unwrap_or(-1),
        out: String::from_utf8_lossy(&output.stdout).into_owned(),
        err: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

fn sizes_where(state: &Value, wanted: impl Fn(&Value) -> bool) -> Sizes {
    let mut sizes = Sizes::new();
    for shell in state["shells"].as_array().into_iter().flatten().filter(|shell| wanted(shell)) {
        let windows = shell["windows"].as_array().unwrap();
        let panes = windows.iter().map(|window| window["panes"].as_array().map_or(0, Vec::len)).collect();
        let doubled = sizes.insert(shell["session"].as_str().unwrap().to_owned(), panes);
        assert!(doubled.is_none(), "recorded twice: {} in {state}", shell["session"]);
    }
    sizes
}

/// The stable ids of every recorded pane, sorted; one that stands in two places appears twice.
pub fn pane_ids(state: &Value) -> Vec<String> {
    let windows = state["shells"].as_array().into_iter().flatten().flat_map(|shell| shell["windows"].as_array().unwrap());
    let panes = windows.flat_map(|window| window["panes"].as_array().into_iter().flatten());
    let mut ids: Vec<String> = panes.map(|pane| pane["id"].as_str().unwrap().to_owned()).collect();
    ids.sort();
    ids
}
