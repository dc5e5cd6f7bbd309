//! Programs that the user named in `restore.programs`: they come back as argv, through his login shell; no others do.

use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use sidecar::pane::Launch;

use super::support::{World, assert_same, sidecar_path, tmux_versions, wait_for};

/// A world with these programs named, and these lines in its tmux.conf.
fn world(tmux: Option<&Path>, options: &str, programs: &[&str]) -> World {
    let world = tmux.map_or_else(World::bare, World::bare_with_tmux);
    world.configure(&format!("set -g @sidecar-interval 3600\n{options}\n"));
    world.configure_programs(programs);
    world
}

/// A session `web` in the folder `a`.
fn open(world: &World) {
    world.tmux(["new-session", "-d", "-s", "web", "-x", "120", "-y", "30", "-c", world.folder("a").to_str().unwrap()]).ok();
}

/// The recorded argv of the first pane.
fn argv(world: &World) -> Value {
    world.look_anew();
    world.state()["shells"][0]["windows"][0]["panes"][0]["argv"].clone()
}

/// Types a line into the shell of `web`.
#[track_caller]
fn type_line(world: &World, line: &[u8]) {
    let mut load = world.command(tmux_of(world)).args(["load-buffer", "-b", "x", "-"]).stdin(std::process::Stdio::piped()).spawn().unwrap();
    std::io::Write::write_all(&mut load.stdin.take().unwrap(), line).unwrap();
    assert!(load.wait().unwrap().success());
    // From 3.7 on `paste-buffer` takes the option that leaves bytes as they are; earlier it always does.
    let raw = world.tmux(["list-commands", "paste-buffer"]).ok().contains('S');
    let options: &[&str] = if raw { &["-S"] } else { &[] };
    world.tmux([&["paste-buffer", "-d", "-b", "x", "-t", "=web:"], options].concat()).ok();
    world.press("=web:", &["Enter"]);
}

fn tmux_of(world: &World) -> PathBuf {
    let path = world.command("sh").args(["-c", "command -v tmux"]).output().unwrap().stdout;
    PathBuf::from(String::from_utf8(path).unwrap().trim())
}

#[track_caller]
fn wait_shell(world: &World) {
    // Keys that come while Sidecar is in the pane still are its own.
    wait_for("a shell of the user's", || {
        let [pane, front] = world.processes("=web:")?;
        (pane == front && !pane.windows(7).any(|part| part == b"sidecar")).then_some(())
    });
    world.press("=web:", &["echo in a $((41 + 1)) shell", "Enter"]);
    world.wait_shown("=web:", "in a 42 shell");
}

/// Words that a program may have been given, and what a shell is typed to give them.
const ODD: &[(&[u8], &[u8])] = &[
    (b"tail", b"tail"),
    (b"-F", b"-F"),
    (b"--", b"--"),
    (b"", b"''"),
    (b"a  b", b"'a  b'"),
    (b"$(touch CANARY)", b"'$(touch CANARY)'"),
    (b"`touch CANARY`", b"'`touch CANARY`'"),
    (b"#(touch CANARY)", b"'#(touch CANARY)'"),
    (b"\"; touch CANARY; \"", b"'\"; touch CANARY; \"'"),
    (b"it's", b"\"it's\""),
    (b"\\", b"'\\'"),
    (b"*", b"'*'"),
    (b"~", b"'~'"),
    (b"-x", b"-x"),
    (b"a\nb", b"'a\nb'"),
    (b"\xff\xfe", b"$(printf '\\377\\376')"),
    ("é日本".as_bytes(), "é日本".as_bytes()),
];

#[test]
fn a_named_program_comes_back_with_every_word_as_it_was() {
    for (version, folder) in tmux_versions().into_iter().filter(|(version, _)| version != "3.1c") {
        let world = world(Some(&folder), "", &["tail"]);
        open(&world);
        let words: Vec<&[u8]> = ODD.iter().map(|(word, _)| *word).collect();
        type_line(&world, &ODD.iter().map(|(_, typed)| *typed).collect::<Vec<_>>().join(&b' '));
        world.wait_in_front("=web:", &words);
        let recorded = argv(&world);
        assert_eq!((&recorded[0], &recorded[3], &recorded[15]), (&json!("tail"), &json!(""), &json!({ "hex": "fffe" })), "{version}");
        let tree = world.tree();
        for round in 1..=3 {
            world.crash_and_restore();
            // What was recorded stays while the program is still to come.
            assert_eq!(argv(&world), recorded, "{version}, round {round}");
            world.wait_in_front("=web:", &words);
            assert_eq!(argv(&world), recorded, "{version}, round {round}");
            assert_same(&world.tree(), &tree, format!("{version}, round {round}"));
            let start = world.show_all("list-panes", "#{pane_start_command}").join("\n");
            assert!(start.contains("pane start pn-") && !start.contains("CANARY") && !start.contains("tail"), "{start}");
        }
        // Ctrl-Z does not leave it behind where nobody could call it back, and Ctrl-C ends it alone.
        world.press("=web:", &["C-z", "C-z"]);
        world.wait_in_front("=web:", &words);
        world.press("=web:", &["C-c"]);
        wait_shell(&world);
        assert_eq!(argv(&world), Value::Null, "{version}");
        assert!(!world.screen("=web:").contains("sidecar: "), "{}", world.screen("=web:"));
        let found = std::process::Command::new("find").arg(world.work()).args(["-name", "CANARY"]).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&found.stdout), "", "{version}");
    }
}

/// Puts a program named `prog`, a copy of `tail`, where only the start-up files of a shell find it; those change the directory, too.
fn hidden_program(world: &World) {
    let folder = world.folder("only for logins");
    std::fs::copy("/usr/bin/tail", folder.join("prog")).unwrap();
    let home = world.home();
    std::fs::create_dir_all(world.work().parent().unwrap().join("config/fish")).unwrap();
    let posix = format!("PATH='{}':$PATH; export PATH; cd /\n", folder.display());
    for file in [".profile", ".bash_profile", ".zshrc"] {
        std::fs::write(home.join(file), &posix).unwrap();
    }
    let fish = format!("set -x PATH '{}' $PATH; cd /\n", folder.display());
    std::fs::write(world.work().parent().unwrap().join("config/fish/config.fish"), fish).unwrap();
}

#[test]
fn the_users_own_shell_finds_the_program_and_is_left_afterwards() {
    for shell in ["/bin/bash", "/usr/bin/zsh", "/usr/bin/fish", "/bin/dash", "/bin/sh"] {
        let world = world(None, &format!("set -g default-shell {shell}"), &["prog"]);
        hidden_program(&world);
        open(&world);
        let dir = world.folder("a");
        let words: &[&[u8]] = &[b"prog", b"-F", b"--", b"", b"a  b", b"$(touch CANARY)", b"`x`", b"it's", b"\"", b"*", b"-x", b"\xff"];
        let bytes = if shell.ends_with("fish") { &b"(printf '\\377')"[..] } else { b"$(printf '\\377')" };
        let line = format!("cd '{}'; prog -F -- '' 'a  b' '$(touch CANARY)' '`x`' \"it's\" '\"' '*' -x ", dir.display());
        wait_for("a prompt", || (!world.screen("=web:").trim().is_empty()).then_some(()));
        type_line(&world, &[line.as_bytes(), bytes].concat());
        world.wait_in_front("=web:", words);
        let recorded = argv(&world);
        world.crash_and_restore();
        world.wait_in_front("=web:", words);
        assert_eq!(world.show("#{pane_current_path}"), dir.display().to_string(), "{shell}: in the pane's own directory");
        assert_eq!(argv(&world), recorded, "{shell}");
        world.press("=web:", &["C-c"]);
        let name = format!("-{}\0", shell.rsplit('/').next().unwrap());
        wait_for(&format!("{shell} afterwards"), || {
            let [pane, front] = world.processes("=web:")?;
            (pane == front && pane == name.as_bytes()).then_some(())
        });
    }
}

#[test]
fn a_shell_that_is_not_known_is_gone_round() {
    let world = world(None, "", &["tail"]);
    let shell = world.folder("bin").join("myshell");
    std::fs::copy("/bin/dash", &shell).unwrap();
    world.configure(&format!("set -g @sidecar-interval 3600\nset -g default-shell '{}'\n", shell.display()));
    open(&world);
    world.press("=web:", &["tail -F x", "Enter"]);
    world.wait_in_front("=web:", &["tail", "-F", "x"]);
    assert_eq!(argv(&world), json!(["tail", "-F", "x"]));
    world.crash_and_restore();
    world.wait_in_front("=web:", &["tail", "-F", "x"]);
    world.press("=web:", &["C-c"]);
    wait_for("that shell afterwards", || (world.processes("=web:")?[0] == b"-myshell\0").then_some(()));
}

#[test]
fn a_command_line_that_was_not_named_is_never_written_down() {
    let world = world(None, "", &["less", "vim"]);
    open(&world);
    world.press("=web:", &["tail -F hunter2", "Enter"]);
    world.wait_in_front("=web:", &["tail", "-F", "hunter2"]);
    assert_eq!(argv(&world), Value::Null);
    // It is named later on, and no longer after that.
    world.configure_programs(&["tail"]);
    assert_eq!(argv(&world), json!(["tail", "-F", "hunter2"]));
    world.crash();
    world.configure_programs(&["less"]);
    world.sidecar(["session", "restore"]).ok();
    wait_shell(&world);
    assert!(!world.screen("=web:").contains("sidecar"), "{}", world.screen("=web:"));
    assert_eq!(argv(&world), Value::Null);
    let tmux = world.show_all("list-panes", "#{pane_start_command}").join("\n");
    assert_eq!(tmux, "", "it opened like any other pane");
    // A bad value is told, and names nothing.
    std::fs::write(world.work().parent().unwrap().join("config/sidecar/config.json"), r#"{"restore":{"programs":["tail",1]}}"#).unwrap();
    world.press("=web:", &["tail -F hunter2", "Enter"]);
    world.wait_in_front("=web:", &["tail", "-F", "hunter2"]);
    assert_eq!(argv(&world), Value::Null);
    assert!(world.sidecar(["session", "status"]).ok().contains("restore.programs is"));
}

#[test]
fn what_only_looks_like_a_named_program_is_none() {
    let bin = |world: &World, name: &str, text: &str| {
        let path = world.folder("bin").join(name);
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    };
    // The line, and what must run before anything is looked at.
    for (line, running) in [
        ("tail -F x & wait", "tail -F x"),
        ("tail -F x | cat", "cat"),
        ("true | tail -F x", "tail -F x"),
        ("tail -F x >out", "tail -F x"),
        ("tail -F x </dev/null", "tail -F x"),
        ("../bin/parent tail -F x", "tail -F x"),
        // An interactive shell of another program gives its jobs the terminal.
        ("sh -i", ""),
        ("../bin/tail.sh", "sleep 1000"),
        ("bash -c 'exec -a other sleep 1000'", "other 1000"),
    ] {
        let world = world(None, "", &["tail"]);
        bin(&world, "parent", "#!/bin/sh\n\"$@\"\n:\n");
        bin(&world, "tail.sh", "#!/bin/sh\nprintf '\\033]2;tail -F x\\007'\nexec sleep 1000\n");
        open(&world);
        world.press("=web:", &[line, "Enter"]);
        if running.is_empty() {
            wait_for("the inner shell", || {
                let [pane, front] = world.processes("=web:")?;
                (pane != front).then_some(())
            });
            world.press("=web:", &["tail -F x", "Enter"]);
        }
        let wanted = if running.is_empty() { "tail -F x" } else { running };
        wait_for(line, || is_running(&world, wanted).then_some(()));
        assert_eq!(argv(&world), Value::Null, "{line}");
    }
    // Of another user's, as sudo and doas start it in their own place.
    if nix::unistd::geteuid().is_root() {
        let world = world(None, "", &["tail"]);
        open(&world);
        world.press("=web:", &["setpriv --reuid=65534 --clear-groups tail -F x", "Enter"]);
        world.wait_in_front("=web:", &["tail", "-F", "x"]);
        assert_eq!(argv(&world), Value::Null);
    }
    // A job that was stopped or went to the background is none either, and the one in front is.
    let world = world(None, "set -g default-shell /bin/bash", &["tail"]);
    open(&world);
    world.press("=web:", &["tail -F x", "Enter"]);
    world.wait_in_front("=web:", &["tail", "-F", "x"]);
    assert_eq!(argv(&world), json!(["tail", "-F", "x"]));
    world.press("=web:", &["C-z"]);
    wait_shell(&world);
    assert_eq!(argv(&world), Value::Null);
    world.press("=web:", &["bash -c 'exec -a other tail -F y'", "Enter"]);
    world.wait_in_front("=web:", &["other", "-F", "y"]);
    assert_eq!(argv(&world), json!(["/usr/bin/tail", "-F", "y"]), "by its executable");
}

/// Whether a process of this world has this argv, its words joined with spaces.
fn is_running(world: &World, argv: &str) -> bool {
    let home = format!("HOME={}", world.home().display());
    super::support::processes_with(&home).into_iter().any(|pid| {
        let words = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&words).trim_end_matches('\0').replace('\0', " ") == argv
    })
}

#[test]
fn a_program_that_is_not_found_or_fails_is_told_in_one_line() {
    for (program, words, said) in [
        ("nosuch", json!(["nosuch", "$(touch CANARY)"]), "sidecar: nosuch: not found"),
        ("no\u{1b}[2Jsuch", json!(["no\u{1b}[2Jsuch"]), r"sidecar: no\u{1b}[2Jsuch: not found"),
        ("false", json!(["false"]), "sidecar: false ended with exit code 1"),
        ("sleep", json!(["sleep", { "hex": "61ff" }]), "sidecar: sleep ended with exit code 1"),
        ("vim", json!(["-x/vim"]), "sidecar: -x/vim: not found"),
        ("sh", json!(["sh", "-c", "kill -9 $$"]), "sidecar: sh was ended by signal 9"),
    ] {
        let world = world(None, "", &[program]);
        open(&world);
        world.look_anew();
        world.crash();
        let records = world.store().unwrap().join("shells.json");
        let mut state = world.state();
        state["shells"][0]["windows"][0]["panes"][0]["argv"] = words;
        std::fs::write(&records, state.to_string()).unwrap();
        world.sidecar(["session", "restore"]).ok();
        world.wait_shown("=web:", said);
        wait_shell(&world);
        let screen = world.screen("=web:");
        assert_eq!(screen.lines().filter(|line| line.contains("sidecar: ")).count(), 1, "{screen}");
        assert!(!world.work().join("a/CANARY").exists());
        assert_eq!(argv(&world), Value::Null, "it is not tried again");
    }
}

#[test]
fn a_program_whose_directory_is_missing_is_not_started_elsewhere() {
    let world = world(None, "", &["tail"]);
    open(&world);
    let gone = world.folder("gone");
    world.press("=web:", &[&format!("cd {}; tail -F x", gone.display()), "Enter"]);
    world.wait_in_front("=web:", &["tail", "-F", "x"]);
    world.look_anew();
    world.crash();
    std::fs::remove_dir(&gone).unwrap();
    world.sidecar(["session", "restore"]).ok();
    world.wait_shown("=web:", &format!("sidecar: not started, its directory is missing: {}", gone.display()));
    wait_shell(&world);
}

#[test]
fn a_crash_before_the_program_came_loses_nothing() {
    let world = world(None, "set -g default-shell /bin/bash", &["tail"]);
    // Start-up files that take their time until the test lets them go on.
    let go = world.work().join("go");
    std::fs::write(world.home().join(".bash_profile"), format!("until [ -e '{}' ]; do sleep 0.02; done\n", go.display())).unwrap();
    std::fs::write(&go, "").unwrap();
    open(&world);
    world.press("=web:", &["tail -F x", "Enter"]);
    world.wait_in_front("=web:", &["tail", "-F", "x"]);
    let recorded = argv(&world);
    std::fs::remove_file(&go).unwrap();
    for _ in 0..2 {
        world.crash_and_restore();
        wait_for("the login shell", || (world.processes("=web:")?[0].starts_with(b"/bin/bash\0-lic\0")).then_some(()));
        assert_eq!(argv(&world), recorded);
    }
    std::fs::write(&go, "").unwrap();
    world.wait_in_front("=web:", &["tail", "-F", "x"]);
    // The user ends it, and it stays away.
    world.press("=web:", &["C-c"]);
    wait_shell(&world);
    assert_eq!(argv(&world), Value::Null);
}

#[test]
fn a_full_screen_editor_works_as_it_did() {
    let world = world(None, "set -g default-shell /bin/bash", &["vi"]);
    open(&world);
    let file = world.work().join("a/it's a note.txt");
    world.press("=web:", &["vi -u NONE \"it's a note.txt\"", "Enter"]);
    world.wait_in_front("=web:", &["vi", "-u", "NONE", "it's a note.txt"]);
    world.look_anew();
    world.crash();
    // The old one is on its way out, and the new one would ask about its swap file.
    let swap = world.work().join("a/.it's a note.txt.swp");
    wait_for("the editor's end", || (!swap.exists()).then_some(()));
    world.sidecar(["session", "restore"]).ok();
    world.wait_in_front("=web:", &["vi", "-u", "NONE", "it's a note.txt"]);
    world.wait_shown("=web:", "~");
    world.press("=web:", &["C-z"]);
    world.press("=web:", &["i", "hello", "Escape", ":wq", "Enter"]);
    wait_for("the file", || (std::fs::read(&file).ok()?.as_slice() == b"hello\n").then_some(()));
    wait_shell(&world);
}

/// The part of the launch that waits for the program's end is run by whatever `/bin/sh` is.
#[test]
fn the_launch_goes_on_after_its_program_in_every_sh() {
    for sh in ["/bin/dash", "/bin/bash"] {
        let world = world(None, "", &[]);
        let link = world.folder("bin").join("sh");
        std::os::unix::fs::symlink(sh, &link).unwrap();
        // It notes each time that it goes on after a stop.
        let program = ["sh", "-c", "trap 'echo on >>went' CONT; while :; do sleep 0.1; done", "a  b"];
        let launch = Launch {
            words: program.map(Into::into).to_vec(),
            dir: world.folder("a"),
            set: vec![("SET".into(), "a = b".into())],
            remove: vec!["TMUX_PANE".into(), "EDITOR".into()],
            // Without a login shell before it.
            typed: true,
            ..Launch::default()
        };
        let mut words = launch.argv(Path::new("/opt/unknown shell"), sidecar_path().as_ref());
        assert_eq!(words[0], "/bin/sh");
        words[0] = link.into();
        world
            .tmux(["new-session", "-d", "-s", "web", "-x", "120", "-y", "30", "-c", "/", "--"].map(Into::into).into_iter().chain(words))
            .ok();
        world.wait_in_front("=web:", &program);
        let pid = world.tmux(["display-message", "-p", "-t", "=web:", "#{pane_pid}"]).ok();
        let environment = |pid: &str| String::from_utf8(std::fs::read(format!("/proc/{pid}/environ")).unwrap()).unwrap();
        let children = std::fs::read_to_string(format!("/proc/{0}/task/{0}/children", pid.trim())).unwrap();
        let its = environment(children.trim());
        assert!(its.contains("\0SET=a = b\0") && !its.contains("\0TMUX_PANE="), "{sh}: {its}");
        assert_eq!(world.show("#{pane_current_path}"), world.folder("a").display().to_string());
        for times in 1..=3 {
            world.press("=web:", &["C-z"]);
            let went = || std::fs::read_to_string(world.work().join("a/went")).unwrap_or_default();
            wait_for("it goes on", || (went() == "on\n".repeat(times)).then_some(()));
            world.wait_in_front("=web:", &program);
        }
        world.press("=web:", &["C-c"]);
        wait_shell(&world);
        assert!(!environment(pid.trim()).contains("\0SET="), "{sh}: the shell that is left has its own environment");
        assert_eq!(world.processes("=web:").unwrap()[0], b"-sh\0", "{sh}");
    }
}

/// Only that the bytes of a path are not changed on their way.
#[test]
fn a_program_by_its_path_comes_back_by_that_path() {
    let world = world(None, "", &["prog"]);
    let program = world.folder(std::ffi::OsStr::from_bytes(b"odd \xff dir")).join("prog");
    std::fs::copy("/usr/bin/tail", &program).unwrap();
    open(&world);
    type_line(&world, &[&b"'"[..], program.as_os_str().as_bytes(), b"' -F x"].concat());
    let words = [program.as_os_str().as_bytes(), b"-F", b"x"];
    world.wait_in_front("=web:", &words);
    world.look_anew();
    world.crash_and_restore();
    world.wait_in_front("=web:", &words);
}
