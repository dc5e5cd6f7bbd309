//! A server dies, in each way that it can: no shell is taken for closed, none is lost, and no record shrinks.

use super::records::{Sizes, in_parallel, options};
use super::support::{Client, World, wait_for};

/// Sessions in each of the twenty rounds.
const ROUNDS: [usize; 20] = [1, 2, 3, 9, 60, 1, 2, 4, 9, 3, 1, 2, 9, 60, 5, 1, 2, 9, 3, 4];

/// Long enough for any way to die, on a busy machine; a user's is as long where nothing is set.
const GRACE: f64 = 10.0;

/// What one round begins with.
struct Round {
    world: World,
    pid: i32,
    before: Sizes,
}

impl Round {
    fn begin(sessions: usize) -> Self {
        let world = World::new(GRACE);
        let before = world.inhabit(sessions);
        assert_eq!(before.len(), sessions);
        let pid = world.remember_server().unwrap();
        Self { world, pid, before }
    }

    /// The death is over: everything is offered as it was, and the next server takes nothing from it.
    #[track_caller]
    fn end(&self) {
        let world = &self.world;
        world.wait_gone(self.pid);
        assert_eq!(world.plan()["server"]["state"], "gone");
        self.nothing_is_lost();
        // A new life, in which a grace passes.
        world.configure(&options(0.3, 0.5));
        world.pass_a_grace();
        self.nothing_is_lost();
    }

    #[track_caller]
    fn nothing_is_lost(&self) {
        let world = &self.world;
        let state = world.state();
        let tombstones: Vec<String> = world.tombstones().into_iter().filter(|name| name != "probe").collect();
        assert!(tombstones.is_empty(), "taken for closed: {tombstones:?}\n{}", world.log());
        let mut recorded = world.sizes();
        recorded.remove("stays");
        assert_eq!(recorded, self.before, "{state}\n{}", world.log());
        let verdicts = world.verdicts();
        for session in self.before.keys() {
            // The last session's own end is a close only where it was alone: with others alive it was a shutdown.
            let alone = self.before.len() == 1 && verdicts[session] == "recreate-shell closed_with_server";
            assert!(alone || verdicts[session] == "recreate-shell died_with_server", "{session}: {}", verdicts[session]);
        }
    }

    fn attach(&self, target: &str) -> Client {
        let client = self.world.attach(&["attach-session", "-t", target]);
        wait_for("the client", || self.world.tmux(["list-clients"]).ok().contains("/dev/").then_some(()));
        client
    }

    /// Types `exit` in every pane.
    fn exit_everywhere(&self) {
        let panes = self.world.show_all("list-panes", "#{pane_id}");
        let words: Vec<&str> = panes.iter().flat_map(|pane| ["send-keys", "-t", pane, "exit", "Enter", ";"]).collect();
        self.world.tmux(&words[..words.len() - 1]);
    }
}

fn twenty_rounds(die: impl Fn(&Round) + Sync) {
    in_parallel(&ROUNDS, |&sessions| {
        let round = Round::begin(sessions);
        die(&round);
        round.end();
    });
}

#[test]
fn kill_server_closes_nothing() {
    twenty_rounds(|round| {
        round.world.tmux(["kill-server"]);
    });
}

#[test]
fn kill_server_with_a_client_and_looks_under_way_closes_nothing() {
    twenty_rounds(|round| {
        let _client = round.attach("s0");
        // Each of these starts a helper, which then sees the server end.
        round.world.tmux([
            "split-window",
            "-d",
            "-t",
            "s0",
            ";",
            "kill-pane",
            "-t",
            "s0.1",
            ";",
            "rename-window",
            "-t",
            "s0",
            "x",
            ";",
            "kill-server",
        ]);
    });
}

#[test]
fn sigterm_closes_nothing() {
    twenty_rounds(|round| round.world.signal(round.pid, "TERM"));
}

#[test]
fn sigkill_closes_nothing() {
    twenty_rounds(|round| round.world.signal(round.pid, "KILL"));
}

/// As a shutdown does it before tmux 3.7: `session-closed` fires normally for each session but the last.
#[test]
fn panes_that_end_one_by_one_close_nothing() {
    twenty_rounds(|round| {
        for pid in round.world.show_all("list-panes", "#{pane_pid}") {
            nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid.parse().unwrap()), nix::sys::signal::SIGHUP).unwrap();
        }
    });
}

#[test]
fn the_exit_of_everything_with_a_client_attached_closes_nothing() {
    twenty_rounds(|round| {
        let _client = round.attach("s0");
        round.exit_everywhere();
        round.world.wait_gone(round.pid);
    });
}

#[test]
fn the_last_exit_is_offered_with_a_client_or_without() {
    for attached in [false, true] {
        let numbers: Vec<usize> = (0..20).collect();
        in_parallel(&numbers, |number| {
            let round = Round::begin(1);
            let client = attached.then(|| round.attach("s0"));
            if number % 2 == 0 {
                round.world.tmux(["kill-session", "-t", "=s0"]);
            } else {
                round.exit_everywhere();
            }
            round.world.wait_gone(round.pid);
            drop(client);
            let verdict = round.world.verdicts().remove("s0").unwrap();
            if attached {
                assert_eq!(verdict, "recreate-shell closed_with_server", "{}", round.world.log());
            }
            round.end();
        });
    }
}

/// The first server goes on, out of reach; what its own hooks find behind `$TMUX` is the second one.
#[test]
fn a_second_server_on_the_same_socket_path_takes_nothing_from_the_first() {
    in_parallel(&ROUNDS, |&sessions| {
        let round = Round::begin(sessions);
        let world = &round.world;
        let pane = world.show_all("list-panes", "#{pane_pid}").remove(0);
        std::fs::remove_file(world.socket()).unwrap();
        world.configure(&options(0.3, 0.5));
        world.tmux(["new-session", "-d", "-s", "second"]).ok();
        let second = world.remember_server().unwrap();
        assert_ne!(second, round.pid);
        // A pane of the first ends: its hooks run, and reach the second server.
        world.signal(pane.parse().unwrap(), "HUP");
        world.pass_a_grace();
        assert_eq!(world.tombstones(), ["probe"], "{}", world.log());
        let mut recorded = world.sizes();
        for own in ["second", "stays"] {
            recorded.remove(own);
        }
        assert_eq!(recorded, round.before, "{}", world.log());
        let verdicts = world.verdicts();
        for session in round.before.keys() {
            assert_eq!(verdicts[session], "refuse server_stuck", "{session}");
        }
        // Once the first is really gone, all that it held can be restored.
        world.signal(round.pid, "KILL");
        world.wait_gone(round.pid);
        let verdicts = world.verdicts();
        for session in round.before.keys() {
            assert!(verdicts[session].starts_with("recreate-shell "), "{session}: {}", verdicts[session]);
        }
    });
}

#[test]
fn sessions_closed_one_after_the_other_are_tombstones_and_the_last_one_is_offered() {
    for attached in [false, true] {
        let world = World::new(0.3);
        let mut left = world.inhabit(9);
        let pid = world.remember_server().unwrap();
        let client = attached.then(|| world.attach(&["attach-session", "-t", "s8"]));
        let mut closed: Vec<String> = Vec::new();
        for number in 0..8 {
            let name = format!("s{number}");
            world.tmux(["kill-session", "-t", &format!("={name}")]).ok();
            left.remove(&name);
            closed.push(name);
            wait_for("the tombstone", || (world.tombstones() == closed).then_some(()));
            assert_eq!(world.sizes(), left, "no other shell is touched");
        }
        world.tmux(["send-keys", "-t", "=s8:0.0", "exit", "Enter"]).ok();
        world.tmux(["kill-session", "-t", "=s8"]);
        world.wait_gone(pid);
        drop(client);
        assert_eq!((world.tombstones(), world.recorded()), (closed, vec!["s8".to_owned()]));
        let verdict = &world.verdicts()["s8"];
        assert!(verdict.starts_with("recreate-shell "), "{verdict}");
    }
}

#[test]
fn a_close_is_a_tombstone_only_in_a_look_a_grace_later() {
    for count in [2, 9, 60] {
        // With this grace no look of this test is late enough.
        let world = World::new(3600.0);
        let before = world.inhabit(count);
        world.tmux(["kill-session", "-t", "=s1"]).ok();
        wait_for("the mark", || world.shell("s1").get("missing").cloned());
        for _ in 0..3 {
            world.look();
        }
        assert_eq!(world.sizes(), before);
        assert_eq!(world.tombstones(), [""; 0]);
        assert_eq!(world.verdicts()["s1"], "skip closing");
        world.tmux(["set-option", "-g", "@sidecar-grace", "0"]).ok();
        world.look();
        assert_eq!(world.tombstones(), ["s1"]);
        assert_eq!(world.state()["tombstones"][0]["reason"], "closed");
        assert_eq!(world.sizes().len(), count - 1);
    }
}

#[test]
fn a_grace_in_seconds_is_kept_to() {
    let world = World::new(0.7);
    world.inhabit(2);
    world.tmux(["kill-session", "-t", "=s1"]).ok();
    let mark = wait_for("the mark", || world.shell("s1").get("missing").cloned());
    wait_for("the tombstone", || (world.tombstones() == ["s1"]).then_some(()));
    let since = sidecar::record::now() - mark["at"].as_u64().unwrap();
    assert!(since >= 700, "{since} ms");
}
