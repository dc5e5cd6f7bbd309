//! A restore that is killed at any point, or whose server goes away, and the run after it.

use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::Stdio;

use super::support::{World, assert_same, sidecar_path};

/// A server with two shells, linked and grouped, recorded and then killed; gives what lived.
pub fn dead_server(world: &World) -> String {
    let folder = |name: &str| world.folder(name).display().to_string();
    world.tmux(["new-session", "-d", "-s", "web", "-x", "100", "-y", "30", "-c", &folder("a")]).ok();
    world.tmux(["split-window", "-h", "-t", "=web:", "-c", &folder("b"), ";", "resize-pane", "-Z"]).ok();
    world.tmux(["new-window", "-d", "-t", "=web:4", "-n", "logs", "-c", &folder("c")]).ok();
    world.look_anew();
    // The sizes are equal: tmux itself resizes a window that is linked into a session of another size.
    world.tmux(["new-session", "-d", "-s", "api.v1", "-x", "100", "-y", "30", "-c", &folder("d")]).ok();
    world.tmux(["link-window", "-d", "-s", "=web:4", "-t", "$1:7"]).ok();
    world.tmux(["new-session", "-d", "-t", "=web", "-s", "member", "-c", &folder("a")]).ok();
    // A window of the group that the other member's record holds, with a command of its own.
    world.tmux(["new-window", "-d", "-t", "=web:5", "-n", "serve", "-c", &folder("c"), "sleep 1000"]).ok();
    world.look_anew();
    let before = world.tree();
    world.crash();
    before
}

/// The command that a pane was started with waits there, and in its record.
#[track_caller]
fn assert_waits(world: &World) {
    world.wait_shown("=web:serve", "Enter runs it");
    assert!(world.state().to_string().contains(r#""run":"sleep 1000""#));
}

/// A `tmux` that stands before the real one and, for calls of `session restore` alone, does something at call number `N`:
/// it ends its caller before or after the call, or the server. Everything else of it is the real tmux.
fn tmux_in_between(world: &World) -> PathBuf {
    let folder = world.folder("in-between");
    let script = format!(
        "#!/bin/sh\n\
         case $(tr '\\0' ' ' </proc/$PPID/cmdline) in *'session restore'*) ;; *) exec {1} \"$@\" ;; esac\n\
         count='{0}/count'\n\
         n=$(($(cat \"$count\" 2>/dev/null || echo 0) + 1)); echo $n >\"$count\"\n\
         if [ \"$WHEN:$N\" = \"before:$n\" ]; then kill -9 $PPID; exit 1; fi\n\
         if [ \"$WHEN:$N\" = \"server:$n\" ]; then kill -9 $({1} display-message -p '#{{pid}}'); fi\n\
         if [ \"$WHEN:$N\" = \"other:$n\" ]; then kill -9 $({1} display-message -p '#{{pid}}'); {1} new-session -d -s another; fi\n\
         if [ \"$WHEN:$N\" = \"after:$n\" ]; then {1} \"$@\"; kill -9 $PPID; exit 1; fi\n\
         exec {1} \"$@\"\n",
        folder.display(),
        super::support::path_tmux().join("tmux").display()
    );
    let program = folder.join("tmux");
    std::fs::write(&program, script).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    folder
}

/// The exit code of a restore through that tmux, `None` if it was killed.
fn disturbed(world: &World, when: &str, n: usize) -> Option<i32> {
    disturbed_with(world, when, n, &[])
}

/// The same with more words.
pub fn disturbed_with(world: &World, when: &str, n: usize, more: &[&str]) -> Option<i32> {
    let folder = tmux_in_between(world);
    let mut command = world.command(sidecar_path());
    let path = format!("{}:/usr/bin:/bin", folder.display());
    let status = command
        .env("PATH", path)
        .env("WHEN", when)
        .env("N", n.to_string())
        .args(["session", "restore"])
        .args(more)
        .stdout(Stdio::null())
        .status()
        .unwrap();
    world.remember_server();
    assert!(status.signal().is_none_or(|signal| signal == 9), "{status:?}");
    status.code()
}

/// The plugin's hooks work all the while, with a grace so short that a record which a look may shrink would shrink.
pub fn world() -> World {
    let world = World::bare();
    world.configure("set -g @sidecar-grace 0.05\nset -g @sidecar-interval 0.2\n");
    world
}

#[test]
fn a_restore_killed_at_any_tmux_call_ends_as_if_it_had_run_once() {
    for when in ["before", "after"] {
        let mut n = 1;
        loop {
            let world = world();
            let before = dead_server(&world);
            let code = disturbed(&world, when, n);
            let said = world.sidecar(["session", "restore", "--json"]);
            assert_eq!(said.code, 0, "killed {when} call {n}: {said:?}\n{}", world.log());
            assert_same(&world.tree(), &before, format!("killed {when} call {n}\n{}", world.log()));
            assert_waits(&world);
            world.look_anew();
            assert_eq!(world.recorded(), [&world.recorded()[0], "member", "web"], "killed {when} call {n}");
            assert_eq!(world.tombstones(), [""; 0], "killed {when} call {n}");
            let calls: usize = std::fs::read_to_string(world.folder("in-between").join("count")).unwrap().trim().parse().unwrap();
            if calls < n {
                assert_eq!(code, Some(0));
                assert!(n > 5, "a restore makes more calls than {n}");
                break;
            }
            // The call that holds the server ends with the restore itself, so nothing comes after it.
            assert!(code.is_none() || (when, n) == ("after", 2), "not killed {when} call {n}");
            n += 1;
        }
    }
}

#[test]
fn a_restore_killed_at_any_write_ends_as_if_it_had_run_once() {
    // strace delivers SIGKILL on entering the n-th of these calls, so that it is not carried out.
    for (call, least) in [("fsync", 4), ("rename", 2), ("flock", 2), ("write", 4), ("linkat,link", 0)] {
        let mut n = 1;
        loop {
            let world = world();
            let before = dead_server(&world);
            let (trace, inject) = (format!("trace={call}"), format!("inject={call}:signal=KILL:when={n}"));
            let traced = ["-qq", "-o", "/dev/null", "-e", &trace, "-e", &inject, sidecar_path(), "session", "restore"];
            let status = world.command("strace").args(traced).stdout(Stdio::null()).status().expect("strace is installed by scripts/test");
            world.remember_server();
            let said = world.sidecar(["session", "restore", "--json"]);
            assert_eq!(said.code, 0, "killed at {call} {n}: {said:?}\n{}", world.log());
            assert_same(&world.tree(), &before, format!("killed at {call} {n}\n{}", world.log()));
            assert_waits(&world);
            assert_eq!(world.tombstones(), [""; 0], "killed at {call} {n}");
            if status.success() {
                assert!(n > least, "a restore calls {call} more often than {} times", n - 1);
                break;
            }
            n += 1;
        }
    }
}

#[test]
fn a_server_that_vanishes_or_changes_ends_the_run_cleanly_and_the_next_one_finishes() {
    for when in ["server", "other"] {
        for n in 2..=8 {
            let world = world();
            let before = dead_server(&world);
            let code = disturbed(&world, when, n);
            assert!(code.is_some_and(|code| code <= 1), "{when} at call {n}: {code:?}");
            let said = world.sidecar(["session", "restore", "--json"]);
            assert_eq!(said.code, 0, "{when} at call {n}: {said:?}\n{}", world.log());
            let after: Vec<String> = world.tree().lines().filter(|line| !line.starts_with("another")).map(str::to_owned).collect();
            assert_same(&after.join("\n"), &before, format!("{when} at call {n}\n{}", world.log()));
            assert_waits(&world);
        }
    }
}

#[test]
fn two_restores_at_once_end_as_one() {
    for _ in 0..10 {
        let world = world();
        let before = dead_server(&world);
        let mut both: Vec<_> =
            (0..2).map(|_| world.command(sidecar_path()).args(["session", "restore"]).stdout(Stdio::null()).spawn().unwrap()).collect();
        for child in &mut both {
            assert!(child.wait().unwrap().success());
        }
        world.remember_server();
        assert_same(&world.tree(), &before, world.log());
        world.look_anew();
        assert_eq!(world.recorded().len(), 3);
    }
}
