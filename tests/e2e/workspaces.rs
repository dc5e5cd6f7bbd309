//! Shells in git worktrees.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::names::nothing_ran;
use super::records::{run, world_without_timer};
use super::support::{Said, World};

#[track_caller]
fn git(world: &World, dir: &Path, args: &[&str]) -> String {
    let mut command = world.command("git");
    command.args(["-c", "user.name=x", "-c", "user.email=x@x", "-C"]).arg(dir).args(args);
    run(&mut command).ok()
}

/// A repository with one commit on `main`.
fn repository(world: &World, name: &str) -> PathBuf {
    let dir = world.folder(name);
    git(world, &dir, &["init", "-q", "-b", "main"]);
    git(world, &dir, &["commit", "-q", "--allow-empty", "-m", "first"]);
    dir
}

fn new(world: &World, dir: &Path, args: &[&str]) -> Said {
    let mut command = world.sidecar_command(["shell", "new"]);
    let said = run(command.current_dir(dir).args(args));
    world.remember_server();
    said
}

fn step(world: &World, session: &str) -> Value {
    let plan = world.plan();
    plan["steps"].as_array().unwrap().iter().find(|step| step["session"] == session).unwrap_or_else(|| panic!("{plan}")).clone()
}

/// Runs the line that a message holds, as somebody would who copies it.
#[track_caller]
fn run_the_line(world: &World, message: &str) {
    let line = &message[message.find("git -C").expect("a line to run")..];
    let line = line.split(" brings it back").next().unwrap().trim();
    let mut shell = world.command("sh");
    run(shell.current_dir("/").arg("-c").arg(line)).ok();
}

#[test]
fn a_workspace_is_opened_added_and_found_again() {
    let world = world_without_timer(0.2);
    let main = repository(&world, "web");
    let deep = main.join("src/deep");
    std::fs::create_dir_all(&deep).unwrap();
    // From anywhere in the repository; a branch that is not there yet is made.
    let made = new(&world, &deep, &["--worktree", "fix/auth-1.0", "--json"]).json();
    let path = world.work().join("web-fix-auth-1.0");
    assert_eq!((&made["session"], &made["name"]), (&"sidecar-ws-fix/auth-1_0".into(), &"sidecar-ws-fix/auth-1.0".into()), "{made}");
    assert_eq!((&made["workDir"], &made["project"]), (&path.to_str().unwrap().into(), &main.to_str().unwrap().into()));
    assert_eq!(git(&world, &path, &["branch", "--show-current"]), "fix/auth-1.0\n");
    assert_eq!(world.shell("sidecar-ws-fix/auth-1_0")["branch"], "fix/auth-1.0");
    // The same again is the same shell, from the worktree itself too.
    for dir in [&main, &path] {
        let again = new(&world, dir, &["--worktree", "fix/auth-1.0", "--json"]).json();
        assert_eq!((&again["shell"], &again["changed"]), (&made["shell"], &false.into()));
    }
    assert_eq!(new(&world, &main, &["Another", "--worktree", "fix/auth-1.0"]).code, 5);
    // A branch that is there is checked out, and one that is checked out in the main checkout is opened there.
    git(&world, &main, &["branch", "old"]);
    let named = new(&world, &main, &["Old Things", "--worktree", "old", "--json"]).json();
    assert_eq!((&named["session"], &named["name"]), (&"sidecar-ws-old".into(), &"Old Things".into()));
    assert_eq!(new(&world, &main, &["--worktree", "main", "--json"]).json()["workDir"], main.to_str().unwrap());
    // The same branch of another repository has a session name of its own.
    let other = repository(&world, "api");
    git(&world, &other, &["branch", "old"]);
    assert_eq!(new(&world, &other, &["--worktree", "old", "--json"]).json()["session"], "sidecar-ws-old-2");
    // All of one project, wherever they lie.
    let mut list = world.sidecar_command(["shell", "list", "--json"]);
    assert_eq!(run(list.current_dir(&main)).json()["shells"].as_array().unwrap().len(), 3);
    assert_eq!(new(&world, &path, &["Old Things"]).code, 5, "a name is taken in the whole project");
    // And they come back.
    world.crash();
    let again = new(&world, &main, &["--worktree", "old"]);
    assert_eq!(again.code, 5);
    assert!(again.err.contains("sidecar session restore --shell"), "{again:?}");
    world.sidecar(["session", "restore"]).ok();
    assert_eq!(world.tmux(["list-sessions", "-F", "#{session_name}"]).ok().lines().count(), 4);
}

#[test]
fn a_branch_or_a_place_that_cannot_be_is_refused_and_nothing_is_made() {
    let world = world_without_timer(0.2);
    let main = repository(&world, "web");
    let plain = world.folder("plain");
    std::fs::create_dir(world.work().join("web-taken")).unwrap();
    for (dir, branch, code, said) in [
        (&plain, "fix", 2, "no git repository"),
        (&main, "-x", 2, "no name of a branch"),
        (&main, "a b", 2, "no name of a branch"),
        (&main, "a..b", 2, "no name of a branch"),
        (&main, "@{-1}", 2, "no name of a branch"),
        (&main, "", 2, "no name of a branch"),
        (&main, "taken", 5, "is there already"),
    ] {
        let refused = new(&world, dir, &["--worktree", branch]);
        assert_eq!((refused.code, refused.out.as_str()), (code, ""), "{branch}: {refused:?}");
        assert!(refused.err.contains(said), "{refused:?}");
    }
    assert_eq!(new(&world, &main, &["--worktree", "x", "--dir", "/"]).code, 2);
    assert_eq!(git(&world, &main, &["worktree", "list"]).lines().count(), 1);
    assert!(!world.socket().exists(), "no server was started for that");
    // What a branch's name holds is never run, wherever it is shown.
    let hostile = "$(touch${IFS}CANARY)'#(touch-CANARY)";
    let made = new(&world, &main, &["--worktree", hostile, "--json"]).json();
    assert_eq!(made["name"], format!("sidecar-ws-{hostile}"));
    assert_eq!(git(&world, Path::new(made["workDir"].as_str().unwrap()), &["branch", "--show-current"]), format!("{hostile}\n"));
    std::fs::remove_dir_all(made["workDir"].as_str().unwrap()).unwrap();
    run_the_line(&world, &new(&world, &main, &["--worktree", hostile]).err);
    assert!(Path::new(made["workDir"].as_str().unwrap()).is_dir());
    nothing_ran(&world);
}

#[test]
fn a_removed_worktree_is_told_with_the_line_that_brings_it_back() {
    for by_git in [false, true] {
        let world = world_without_timer(0.2);
        let main = repository(&world, "my web");
        let made = new(&world, &main, &["--worktree", "fix", "--json"]).json();
        let path = PathBuf::from(made["workDir"].as_str().unwrap());
        let remove = || {
            if by_git {
                git(&world, &main, &["worktree", "remove", "--force", path.to_str().unwrap()]);
            } else {
                std::fs::remove_dir_all(&path).unwrap();
            }
        };
        // While it runs: its record keeps what it was.
        remove();
        world.look();
        let record = world.shell("sidecar-ws-fix");
        assert_eq!((&record["worktree"], &record["branch"]), (&path.to_str().unwrap().into(), &"fix".into()));
        world.crash();
        let refused = step(&world, "sidecar-ws-fix");
        assert_eq!((&refused["action"], &refused["reason"]), (&"refuse".into(), &"directory_missing".into()));
        assert_eq!(run(&mut world.sidecar_command(["session", "restore"])).code, 5);
        if !by_git {
            let again = new(&world, &main, &["--worktree", "fix"]);
            assert_eq!(again.code, 5, "{again:?}");
            assert!(again.err.contains("the worktree of the branch 'fix' is gone"), "{again:?}");
            run_the_line(&world, &again.err);
            remove();
        }
        run_the_line(&world, refused["detail"].as_str().unwrap());
        world.sidecar(["session", "restore"]).ok();
        assert_eq!(world.show("#{session_name} #{session_path}"), format!("sidecar-ws-fix {}", path.display()));
        assert_eq!(git(&world, &path, &["branch", "--show-current"]), "fix\n");
    }
}
