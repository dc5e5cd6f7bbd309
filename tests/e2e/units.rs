//! The timer's unit files: what systemd says of them, what their command does in a poor environment, and what is left alone.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use super::records::run;
use super::support::{Said, World, sidecar_path};

/// The user's folder of units in a world.
pub(super) fn folder(world: &World) -> PathBuf {
    world.root().join("config/systemd/user")
}

/// What lies below a folder, with what links lead to.
pub(super) fn below(folder: &Path) -> Vec<String> {
    let output = Command::new("find").arg(folder).args(["-mindepth", "1", "-printf", "%P %l\n"]).output().unwrap();
    let mut lines: Vec<String> = String::from_utf8_lossy(&output.stdout).lines().map(|line| line.trim().to_owned()).collect();
    lines.sort();
    lines
}

fn timer(world: &World, helper: &Path, words: &[&str]) -> Said {
    run(world.command(helper).args(["snapshot", "timer"]).args(words))
}

/// The settings of this name in a unit file.
pub(super) fn settings<'a>(text: &'a str, name: &str) -> Vec<&'a str> {
    text.lines().filter_map(|line| line.strip_prefix(name)?.strip_prefix('=')).collect()
}

/// The words of a setting, as systemd.syntax(7) reads them.
pub(super) fn words(setting: &str, dollar_is_doubled: bool) -> Vec<String> {
    let mut words = Vec::new();
    let mut chars = setting.chars().peekable();
    while let Some(c) = chars.next() {
        if c == ' ' {
            continue;
        }
        assert_eq!(c, '"', "{setting}");
        let mut word = String::new();
        loop {
            match chars.next().unwrap() {
                '"' => break,
                '\\' => word.push(chars.next().unwrap()),
                '%' => {
                    assert_eq!(chars.next(), Some('%'));
                    word.push('%');
                }
                '$' if dollar_is_doubled && !words.is_empty() => {
                    assert_eq!(chars.next(), Some('$'));
                    word.push('$');
                }
                c => word.push(c),
            }
        }
        words.push(word);
    }
    words
}

/// This program in a folder of this name.
fn named(world: &World, folder: &str) -> PathBuf {
    let helper = world.folder(folder).join("sidecar");
    std::os::unix::fs::symlink(sidecar_path(), &helper).unwrap();
    helper
}

#[test]
fn systemd_takes_the_units_and_their_command_saves_in_a_poor_environment() {
    let world = World::new(0.5);
    world.open(&["a"]);
    // One that systemd takes as it is, and one that it does not.
    for (round, folder) in ["a $HOME; é #x", "it's $HOME \"q\" \\n"].into_iter().enumerate() {
        if round > 0 {
            world.tmux(["split-window", "-d", "-t", "=a:"]).ok();
        }
        saves_by_its_unit(&world, &named(&world, folder), round);
    }
}

fn saves_by_its_unit(world: &World, helper: &Path, round: usize) {
    let said = timer(world, helper, &["install", "--every", "600", "--json"]);
    assert_eq!(said.code, 0, "{said:?}");
    let dir = folder(world);
    let path = |name: &str| dir.join(name).display().to_string();
    let link = format!("timers.target.wants/sidecar-snapshot.timer {}", path("sidecar-snapshot.timer"));
    assert_eq!(below(&dir), ["sidecar-snapshot.service", "sidecar-snapshot.timer", "timers.target.wants", link.as_str()]);
    let mode = |name: &str| dir.join(name).metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!((mode("sidecar-snapshot.service"), mode("sidecar-snapshot.timer")), (0o600, 0o600));
    // No manager of the user's runs in this world: that is told, with what to do.
    let document = said.json();
    assert_eq!(document["followed"], json!(false), "{document}");
    assert!(document["hint"].as_str().unwrap().contains("systemctl --user start sidecar-snapshot.timer"), "{document}");
    let mut verify = world.command("systemd-analyze");
    verify.args(["verify", "--user", "--man=no"]).args(["sidecar-snapshot.service", "sidecar-snapshot.timer"].map(path));
    let verified = Said::of(&verify.env("XDG_RUNTIME_DIR", world.folder("run")).output().unwrap());
    assert_eq!((verified.code, verified.err.as_str(), verified.out.as_str()), (0, "", ""));
    // As the manager would run it.
    let text = std::fs::read_to_string(dir.join("sidecar-snapshot.service")).unwrap();
    let [line] = settings(&text, "ExecStart")[..] else { panic!("{text}") };
    let words_of_line = words(line, true);
    assert_eq!(words_of_line[if round == 0 { 0 } else { 3 }..], [helper.to_str().unwrap(), "snapshot", "save", "--all-servers"]);
    let mut poor = Command::new("/usr/bin/env");
    poor.arg("-i").args(settings(&text, "Environment").iter().flat_map(|setting| words(setting, false)));
    poor.arg(words_of_line[0].as_str()).args(&words_of_line[1..]).current_dir("/");
    let saved = run(&mut poor);
    assert!(saved.out.starts_with("default: saved snap-"), "{saved:?}\n{text}");
    assert_eq!(world.sidecar(["snapshot", "list", "--json"]).json()["snapshots"].as_array().unwrap().len(), round + 1);
    // A timer that is there is a timer that is there.
    let again = timer(world, helper, &["install", "--every", "600", "--json"]);
    assert_eq!((again.code, again.json()["changed"].clone()), (0, json!([])), "{again:?}");
    let status = timer(world, helper, &["status", "--json"]).json();
    assert_eq!((&status["state"], &status["every"], &status["running"]), (&json!("installed"), &json!(600), &Value::Null), "{status}");
    timer(world, helper, &["uninstall"]).ok();
    assert!(!dir.parent().unwrap().exists(), "{:?}", below(&dir));
    assert_eq!(timer(world, helper, &["status"]).ok(), "not installed\n  to do: sidecar snapshot timer install\n");
    assert_eq!(timer(world, helper, &["uninstall"]).ok(), "there is no timer\n");
    for bad in ["59", "x", "-1", "604801"] {
        assert_eq!(timer(world, helper, &["install", "--every", bad]).code, 2, "{bad}");
    }
}

#[test]
fn the_users_link_is_the_path_that_is_written_down() {
    let world = World::bare();
    let bin = world.home().join(".local/bin");
    std::fs::create_dir_all(&bin).unwrap();
    let link = bin.join("sidecar");
    let helper = Path::new(sidecar_path());
    let written = || {
        timer(&world, helper, &["install"]).ok();
        let text = std::fs::read_to_string(folder(&world).join("sidecar-snapshot.service")).unwrap();
        words(settings(&text, "ExecStart")[0], true)[0].clone()
    };
    // That of somebody else is none.
    std::os::unix::fs::symlink("/bin/true", &link).unwrap();
    assert_eq!(written(), sidecar_path());
    std::fs::remove_file(&link).unwrap();
    std::os::unix::fs::symlink(sidecar_path(), &link).unwrap();
    assert_eq!(timer(&world, helper, &["status", "--json"]).json()["state"], json!("outdated"));
    assert_eq!(written(), link.to_str().unwrap());
    // Another environment is another file.
    let moved = run(world.command(helper).args(["snapshot", "timer", "status", "--json"]).env("XDG_STATE_HOME", "/elsewhere"));
    assert_eq!(moved.json()["state"], json!("outdated"));
}

#[test]
fn what_the_user_edited_stays_and_is_told() {
    let world = World::bare();
    let helper = Path::new(sidecar_path());
    timer(&world, helper, &["install"]).ok();
    let dir = folder(&world);
    let unit = dir.join("sidecar-snapshot.timer");
    let edited = std::fs::read_to_string(&unit).unwrap().replace("900", "7200");
    std::fs::write(&unit, &edited).unwrap();
    let before = below(&dir);
    for words in [&["install"][..], &["install", "--every", "60"], &["uninstall"]] {
        let said = timer(&world, helper, words);
        assert_eq!(said.code, 5, "{words:?}: {said:?}");
        assert!(said.err.contains("sidecar-snapshot.timer") && said.err.contains("hint: "), "{said:?}");
    }
    assert_eq!((std::fs::read_to_string(&unit).unwrap(), below(&dir)), (edited, before));
    assert_eq!(timer(&world, helper, &["status", "--json"]).json()["state"], json!("edited"));
    // Moved away it is written anew; a drop-in is the user's for good.
    std::fs::rename(&unit, world.work().join("mine")).unwrap();
    let drop_in = dir.join("sidecar-snapshot.timer.d/mine.conf");
    std::fs::create_dir(drop_in.parent().unwrap()).unwrap();
    std::fs::write(&drop_in, "[Timer]\nPersistent=true\n").unwrap();
    timer(&world, helper, &["install"]).ok();
    // Switched off by hand, it is switched on by the next installation.
    std::fs::remove_file(dir.join("timers.target.wants/sidecar-snapshot.timer")).unwrap();
    assert_eq!(timer(&world, helper, &["status", "--json"]).json()["state"], json!("disabled"));
    timer(&world, helper, &["install"]).ok();
    assert_eq!(timer(&world, helper, &["status", "--json"]).json()["state"], json!("installed"));
    let said = timer(&world, helper, &["uninstall"]).ok();
    assert!(said.contains("yours, and left as it is"), "{said}");
    assert_eq!(below(&dir), ["sidecar-snapshot.timer.d", "sidecar-snapshot.timer.d/mine.conf"]);
}

#[test]
fn a_manager_that_can_be_reached_follows_at_once() {
    let world = World::bare();
    let bin = world.folder("bin");
    let (calls, active) = (world.work().join("calls"), world.work().join("active"));
    // It knows whether the timer was begun.
    let script = format!(
        "#!/bin/sh\necho \"$*\" >>'{0}'\ncase $2 in restart) : >'{1}' ;; stop) rm -f '{1}' ;; is-active) [ -e '{1}' ] ;; esac\n",
        calls.display(),
        active.display()
    );
    std::fs::write(bin.join("systemctl"), script).unwrap();
    std::fs::set_permissions(bin.join("systemctl"), PermissionsExt::from_mode(0o755)).unwrap();
    let path = format!("{}:/usr/bin:/bin", bin.display());
    let timer = |words: &[&str]| {
        let said = run(world.command(sidecar_path()).args(["snapshot", "timer"]).args(words).env("PATH", &path));
        let called = std::fs::read_to_string(&calls).unwrap_or_default();
        let _ = std::fs::remove_file(&calls);
        (said, called.lines().map(str::to_owned).collect::<Vec<_>>())
    };
    let (said, called) = timer(&["install", "--json"]);
    assert_eq!(
        (said.json()["followed"].clone(), called),
        (json!(true), ["--user daemon-reload", "--user restart sidecar-snapshot.timer"].map(str::to_owned).to_vec())
    );
    let (status, _) = timer(&["status"]);
    assert!(status.ok().starts_with("installed, every 900 s, and runs\n"));
    // Nothing changed and it runs: it is left running.
    let (_, called) = timer(&["install"]);
    assert!(!called.iter().any(|call| call.contains("restart")), "{called:?}");
    let (_, called) = timer(&["uninstall"]);
    assert_eq!(called, ["--user stop sidecar-snapshot.timer", "--user daemon-reload"]);
    let (_, called) = timer(&["uninstall"]);
    assert_eq!(called, [""; 0]);
    assert!(!folder(&world).exists());
}
