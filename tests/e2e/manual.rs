//! Panes that were started with a command of their own: they come back with it, and it runs when the user presses Enter, never before.

use std::io::{Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::records::world_without_timer;
use super::support::{Said, World, assert_same, sidecar_path, tmux_versions, wait_for};

pub const ASKS: &str = "Enter runs it, any other key opens a shell.";

/// The versions that are supported, each in a world without a timer.
pub fn worlds() -> Vec<(String, World)> {
    let versions = tmux_versions().into_iter().filter(|(version, _)| version != "3.1c");
    versions
        .map(|(version, folder)| {
            let world = World::bare_with_tmux(&folder);
            world.configure("set -g @sidecar-interval 3600\n");
            (version, world)
        })
        .collect()
}

/// A program that writes its words down, each between `<` and `>`, and stays.
pub fn teller(world: &World) -> PathBuf {
    script(world, "teller", "for word; do printf '<%s>' \"$word\"; done >told; exec sleep 1000")
}

pub fn script(world: &World, name: &str, text: &str) -> PathBuf {
    let path = world.folder("bin").join(name);
    std::fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    path
}

/// A session `web` in the folder `a`, whose only pane was started with these words.
pub fn start<W: AsRef<std::ffi::OsStr>>(world: &World, words: &[W]) {
    let dir = world.folder("a");
    let before =
        ["new-session", "-d", "-s", "web", "-x", "200", "-y", "30", "-c", dir.to_str().unwrap(), "--"].map(std::ffi::OsString::from);
    world.tmux(before.into_iter().chain(words.iter().map(|word| word.as_ref().to_owned()))).ok();
    world.look_anew();
}

/// What the user types first in a shell tells that it is one.
#[track_caller]
pub fn wait_shell(world: &World, target: &str) {
    // Keys that come while Sidecar is in the pane still are its own.
    wait_for("a shell of the user's", || {
        let [pane, front] = world.processes(target)?;
        (pane == front && !pane.windows(7).any(|part| part == b"sidecar")).then_some(())
    });
    world.press(target, &["echo in a $((41 + 1)) shell", "Enter"]);
    world.wait_shown(target, "in a 42 shell");
}

pub fn told(world: &World) -> Option<Vec<u8>> {
    std::fs::read(world.work().join("a/told")).ok()
}

pub fn forget_told(world: &World) {
    std::fs::remove_file(world.work().join("a/told")).unwrap();
}

pub fn no_canary(world: &World, context: &str) {
    let found = std::process::Command::new("find").arg(world.home().parent().unwrap()).args(["-name", "CANARY*"]).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&found.stdout), "", "{context}");
}

#[test]
fn a_command_waits_for_enter_and_leaves_a_shell_behind() {
    for (version, world) in worlds() {
        start(&world, &["echo ran >>RAN; sleep 1000"]);
        let ran = || std::fs::read_to_string(world.work().join("a/RAN")).unwrap_or_default();
        wait_for("the first run", || (ran() == "ran\n").then_some(()));
        let before = world.tree();
        world.crash();
        let step = world.sidecar(["session", "status", "--json"]).json()["steps"][0].clone();
        assert_eq!((&step["action"], &step["reason"]), (&"manual".into(), &"run_command".into()), "{version}");
        assert!(step["detail"].as_str().unwrap().contains("`echo ran >>RAN; sleep 1000`"), "{step}");
        let dry = world.sidecar(["session", "restore", "--dry-run", "--json"]).json()["outcomes"][0].clone();
        let outcome = world.sidecar(["session", "restore", "--json"]).json()["outcomes"][0].clone();
        for outcome in [&dry, &outcome] {
            assert_eq!((&outcome["status"], &outcome["reason"]), (&"manual".into(), &"run_command".into()), "{version}: {outcome}");
        }
        assert_same(&world.tree(), &before, world.log());
        world.wait_shown("=web:", ASKS);
        assert!(world.screen("=web:").contains("  echo ran >>RAN; sleep 1000\n"), "{version}: {}", world.screen("=web:"));
        assert_eq!(ran(), "ran\n", "{version}");
        // A second restore finds it there.
        let again = world.sidecar(["session", "restore", "--json"]).json();
        assert_eq!(again["outcomes"][0]["reason"], "already_running");

        world.press("=web:", &["Enter"]);
        wait_for("the second run", || (ran() == "ran\nran\n").then_some(()));
        world.wait_in_front("=web:", &["/bin/sh", "-c", "echo ran >>RAN; sleep 1000"]);
        let [pane, _] = world.processes("=web:").unwrap();
        assert!(!pane.starts_with(sidecar_path().as_bytes()), "the helper does not linger");
        world.press("=web:", &["C-c"]);
        wait_shell(&world, "=web:");
        assert!(world.processes("=web:").unwrap()[0].starts_with(b"-sh\0"), "{version}: an ordinary login shell");
    }
}

/// Commands that would leave a file behind if anything but the user ran them.
const HOSTILE: &[&str] = &[
    "touch CANARY1; sleep 1000",
    "#(touch CANARY2)",
    "$(touch CANARY3)`touch CANARY4`",
    "'; touch CANARY5; '",
    "\"; run-shell 'touch CANARY6'; \"",
    "x\ntouch CANARY7\n",
    "\u{1b}]0;title\u{7}\u{1b}[2J\u{1b}[6n\rtouch CANARY8\r",
    "#{pid} ##(touch CANARY9) %H ~ * ;",
    "touch CANARY10 \\",
    " ",
    "\u{202e}01YRANAC hcuot",
];

#[test]
fn nothing_recorded_runs_without_the_enter_whatever_it_holds() {
    for (version, world) in worlds() {
        let dir = world.folder("a");
        // The panes end, since most of these are no commands; they stay to be recorded.
        world
            .tmux([
                "new-session",
                "-d",
                "-s",
                "web",
                "-x",
                "200",
                "-y",
                "30",
                "-c",
                dir.to_str().unwrap(),
                ";",
                "set",
                "-g",
                "remain-on-exit",
                "on",
            ])
            .ok();
        let quoted = |text: &str| String::from_utf8(sidecar::tmux::arg(text.as_bytes()).into_bytes()).unwrap();
        let file = world.work().join("commands");
        let lines = HOSTILE.iter().map(|text| format!("new-window -d -t =web: -c {} {}\n", quoted(dir.to_str().unwrap()), quoted(text)));
        let words = HOSTILE.iter().map(|text| format!("new-window -d -t =web: printf {} {}\n", quoted(text), quoted(text)));
        std::fs::write(&file, lines.chain(words).collect::<String>()).unwrap();
        world.tmux(["source-file", file.to_str().unwrap()]).ok();
        wait_for("the end of all", || {
            let dead = world.tmux(["list-panes", "-s", "-t", "=web", "-F", "#{pane_dead}"]).ok();
            (dead.matches('1').count() >= 2 * HOSTILE.len() - 1).then_some(())
        });
        world.look_anew();
        let recorded = world.state()["shells"][0]["windows"].clone();
        assert_eq!(recorded.as_array().unwrap().iter().filter(|window| window["panes"][0]["run"].is_null()).count(), 1, "{recorded}");
        // What ran at first, by the test's own hand, is taken away.
        for entry in std::fs::read_dir(&dir).unwrap().chain(std::fs::read_dir(world.work()).unwrap()) {
            let path = entry.unwrap().path();
            if path.is_file() && path.file_name().unwrap().as_bytes().starts_with(b"CANARY") {
                std::fs::remove_file(path).unwrap();
            }
        }
        for round in 1..=3 {
            world.crash_and_restore();
            world.sidecar(["session", "status"]).ok();
            world.sidecar(["shell", "list", "--all"]).ok();
            let windows = world.tmux(["list-windows", "-t", "=web", "-F", "#{window_index}"]).ok();
            for window in windows.lines().skip(1) {
                let target = format!("=web:{window}");
                world.wait_shown(&target, ASKS);
                // Even typed commands of the user end in his own shell: the first key is the answer, and no Enter.
                world.press(&target, &["x"]);
            }
            for window in windows.lines().skip(1) {
                wait_shell(&world, &format!("=web:{window}"));
            }
            no_canary(&world, &format!("{version}, round {round}"));
            world.look_anew();
            assert_eq!(without_live_ids(&world.state()["shells"][0]["windows"]), without_live_ids(&recorded), "{version}, round {round}");
        }
    }
}

/// Commands and argv of the records, which are to stay as they are.
pub fn without_live_ids(windows: &Value) -> Vec<String> {
    let panes = windows.as_array().unwrap().iter().flat_map(|window| window["panes"].as_array().unwrap());
    panes.map(|pane| format!("{} {} {}", pane["id"], pane["run"], pane["argv"])).collect()
}

#[test]
fn after_the_enter_every_word_arrives_as_it_was() {
    for (version, world) in worlds() {
        let teller = teller(&world);
        let odd: &[&[u8]] = &[
            b"",
            b" ",
            b"a b",
            b"$(touch CANARY)",
            b"`x`",
            b"'",
            b"\"",
            b"\\",
            b"n\nl",
            b"t\tb",
            b"\xff\xfe",
            "é日本".as_bytes(),
            b"-x",
            b"*",
            b"#(x)",
            b"~",
            b"a;b",
        ];
        let words: Vec<&std::ffi::OsStr> =
            std::iter::once(teller.as_os_str()).chain(odd.iter().map(|word| std::ffi::OsStr::from_bytes(word))).collect();
        start(&world, &words);
        let wanted: Vec<u8> = odd.iter().flat_map(|word| [b"<", *word, b">"].concat()).collect();
        wait_for("the words", || (told(&world)? == wanted).then_some(()));
        forget_told(&world);
        world.crash_and_restore();
        world.wait_shown("=web:", ASKS);
        assert_eq!(told(&world), None);
        world.press("=web:", &["Enter"]);
        wait_for("the words again", || (told(&world).filter(|told| told.len() >= wanted.len())? == wanted).then_some(()));
        no_canary(&world, &version);
    }
}

#[test]
fn after_the_enter_a_line_is_read_by_the_shell_as_it_was() {
    let world = world_without_timer(10.0);
    start(&world, &[&format!("{} 'a  b' \"\\$x\" $((1+1)) \\\\ \"it's\"", teller(&world).display())]);
    let wanted = b"<a  b><$x><2><\\><it's>";
    wait_for("the words", || (told(&world)? == wanted).then_some(()));
    forget_told(&world);
    world.crash_and_restore();
    world.wait_shown("=web:", ASKS);
    world.press("=web:", &["Enter"]);
    wait_for("the words again", || (told(&world)? == wanted).then_some(()));
}

#[test]
fn what_is_shown_is_printable_and_bounded() {
    let world = world_without_timer(10.0);
    let line = format!("true \u{1b}[2J\u{7}\n\u{202e}{}; sleep 1000", "x".repeat(5000));
    start(&world, &[&line]);
    world.crash_and_restore();
    world.wait_shown("=web:", ASKS);
    let screen = world.screen("=web:");
    assert!(screen.contains(r"true \u{1b}[2J\u{7}\n\u{202e}xxx"), "{screen}");
    assert!(screen.contains("more characters") && screen.len() < 3000, "{screen}");
}

/// Runs a restore that gives the panes another path of the helper.
pub fn restore_by(world: &World, helper: &Path) -> Said {
    let output = world.command(sidecar_path()).arg0(helper).args(["session", "restore", "--json"]).output().unwrap();
    world.remember_server();
    Said::of(&output)
}

#[test]
fn keys_that_were_typed_before_the_question_stood_there_are_no_answer() {
    for (version, world) in worlds() {
        let teller = teller(&world);
        start(&world, &[teller.to_str().unwrap(), "x"]);
        wait_for("the first run", || told(&world));
        forget_told(&world);
        world.crash();
        // A helper that takes its time, as on a busy machine.
        let slow = script(
            &world,
            "slow",
            &format!("until [ -e '{}' ]; do sleep 0.02; done\nexec '{}' \"$@\"", world.work().join("go").display(), sidecar_path()),
        );
        restore_by(&world, &slow).ok();
        for _ in 0..5 {
            world.press("=web:", &["Enter"]);
            world.press("=web:", &["y", "C-j", "Enter"]);
        }
        std::fs::write(world.work().join("go"), "").unwrap();
        world.wait_shown("=web:", ASKS);
        // An Enter that comes with other keys was pasted.
        world.tmux(["set-buffer", "-b", "x", "\necho half\n", ";", "paste-buffer", "-d", "-b", "x", "-t", "=web:"]).ok();
        wait_shell(&world, "=web:");
        assert_eq!(told(&world), None, "{version}");
    }
}

/// Here the test is the terminal, so that it can answer late.
#[test]
fn an_enter_that_came_before_the_terminal_drew_the_question_is_no_answer() {
    let world = world_without_timer(10.0);
    let teller = teller(&world);
    start(&world, &[teller.to_str().unwrap(), "x"]);
    wait_for("the first run", || told(&world));
    let pane = world.show("#{@sidecar-pane}");
    let variable = world.show("#{socket_path},#{pid},0");
    for (early, late, runs) in
        [("\r\r", "\u{1b}[9;1Rq", false), ("", "\u{1b}[9;1R\r", true), ("\r", "\u{1b}[9;1R\r", true), ("", "\u{1b}[9;1R\r\r", false)]
    {
        forget_told(&world);
        let pty = nix::pty::openpty(None, None).unwrap();
        let end = || std::process::Stdio::from(pty.slave.try_clone().unwrap());
        let mut child = world
            .command(sidecar_path())
            .args(["pane", "start", &pane])
            .env("TMUX", &variable)
            .current_dir(world.work().join("a"))
            .stdin(end())
            .stdout(end())
            .stderr(end())
            .spawn()
            .unwrap();
        let mut terminal = std::fs::File::from(pty.master);
        let mut shown = Vec::new();
        while !shown.ends_with(b"\x1b[6n") {
            let mut bytes = [0; 100];
            let number = terminal.read(&mut bytes).unwrap();
            shown.extend(&bytes[..number]);
        }
        terminal.write_all(early.as_bytes()).unwrap();
        terminal.write_all(late.as_bytes()).unwrap();
        wait_for("the answer", || {
            let argv = std::fs::read(format!("/proc/{}/cmdline", child.id())).ok()?;
            (!argv.starts_with(sidecar_path().as_bytes())).then_some(())
        });
        if runs {
            wait_for("the run", || told(&world));
        } else {
            // It is the user's shell by now.
            terminal.write_all(b"touch told\n").unwrap();
            wait_for("the shell", || (told(&world)?.is_empty()).then_some(()));
        }
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
