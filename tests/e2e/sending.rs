//! `shell send`: text arrives byte for byte, and Enter is pressed where it was asked for.

use std::path::Path;

use super::names::{in_each_version, load, nothing_ran};
use super::records::{in_parallel, run, world_without_timer};
use super::support::{World, tmux_versions, wait_for, wait_or_tell};

/// What has broken such tools.
fn texts() -> Vec<String> {
    let mut texts: Vec<String> = [
        "plain",
        " leading and trailing ",
        "ends;",
        ";",
        "a;b;",
        "\\;",
        "-x",
        "--",
        "-l",
        "Enter",
        "C-c",
        "Escape",
        "a\ttab",
        "\t",
        "it's",
        "say \"hi\"",
        "$(touch CANARY)",
        "`touch CANARY`",
        "#(touch CANARY)",
        "#{pid}",
        "##",
        "%1",
        "%H",
        "~",
        "*",
        "!!",
        "{x}",
        "a\\b",
        "a\\",
        "$HOME",
        "é日本🚀",
        "e\u{301}",
        "x\u{200d}y",
        "two  spaces",
    ]
    .map(str::to_owned)
    .into();
    texts.push("y".repeat(10_000) + ";");
    texts.push("日".repeat(3_333));
    texts
}

/// A pane that keeps each byte it gets in a file, and says when it is ready.
fn catcher(world: &World, name: &str, bracketed: bool) -> std::path::PathBuf {
    let file = world.work().join(format!("{name}.bytes"));
    let mode = if bracketed { "\\033[?2004h" } else { "" };
    let line = format!("stty raw -echo; printf '{mode}ready'; exec cat >'{}'", file.display());
    world.tmux(["new-session", "-d", "-s", name, &line]).ok();
    wait_for("the catcher", || world.tmux(["capture-pane", "-p", "-t", &format!("={name}:")]).out.starts_with("ready").then_some(()));
    file
}

#[track_caller]
fn wait_bytes(file: &Path, wanted: &str, what: &str) {
    let read = || std::fs::read(file).unwrap_or_default();
    let tell = || {
        let (got, wanted) = (read(), wanted.as_bytes());
        let at = got.iter().zip(wanted).take_while(|(a, b)| a == b).count();
        let part = |bytes: &[u8]| String::from_utf8_lossy(&bytes[at.min(bytes.len())..bytes.len().min(at + 60)]).into_owned();
        format!("{what}: {} bytes, not {}; at {at}: {:?}, not {:?}", got.len(), wanted.len(), part(&got), part(wanted))
    };
    wait_or_tell(tell, || (read() == wanted.as_bytes()).then_some(()));
}

#[test]
fn text_arrives_byte_for_byte_on_every_tmux() {
    in_each_version(|version, world| {
        for bracketed in [false, true] {
            let name = if bracketed { "takes-pastes" } else { "raw" };
            let file = catcher(world, name, bracketed);
            let (begin, end) = if bracketed { ("\x1b[200~", "\x1b[201~") } else { ("", "") };
            let mut wanted = String::new();
            for text in texts() {
                world.sidecar(["shell", "send", "--target", name, "--type", &text]).ok();
                wanted.push_str(&format!("{begin}{text}{end}"));
                world.sidecar(["shell", "send", "--target", name, "--run", &text]).ok();
                wanted.push_str(&format!("{begin}{text}{end}\r"));
            }
            world.sidecar(["shell", "send", "--target", name, "--run", "one\ntwo\n\nthree\n"]).ok();
            wanted.push_str(&format!("{begin}one\ntwo\n\nthree\n{end}\r"));
            wait_bytes(&file, &wanted, &format!("tmux {version}, {name}"));
        }
        assert_eq!(world.tmux(["list-buffers"]).ok(), "", "tmux {version}: no buffer is left");
        nothing_ran(world);
    });
}

#[test]
fn a_shell_runs_what_is_sent_once_and_what_is_typed_not_before_enter() {
    let versions = tmux_versions();
    let mut cases = Vec::new();
    for (version, folder) in versions.iter().filter(|(version, _)| !version.starts_with("3.1")) {
        for shell in ["bash", "dash", "bash --noediting"] {
            cases.push((version, folder, shell));
        }
    }
    in_parallel(&cases, |(version, folder, shell)| {
        let world = World::bare_with_tmux(folder);
        let dir = world.folder("here").display().to_string();
        world.tmux(["new-session", "-d", "-s", "x", "-x", "200", "-c", &dir, &format!("exec {shell}")]).ok();
        wait_for("a prompt", || world.tmux(["capture-pane", "-p", "-t", "=x:"]).out.contains(['$', '#']).then_some(()));
        let file = |name: &str| world.work().join("here").join(name);
        let what = format!("{shell} in tmux {version}");
        // A tab completes where a line editor takes no pastes, so none is sent here.
        let line = r#"printf '%s|' "a  b" 'c;d' -x Enter "é日本" '#(touch CANARY)' >>one;"#;
        world.sidecar(["shell", "send", "--target", "x", "--run", line]).ok();
        wait_bytes(&file("one"), "a  b|c;d|-x|Enter|é日本|#(touch CANARY)|", &what);

        world.sidecar(["shell", "send", "--target", "x", "--type", "echo typed >two"]).ok();
        wait_for("the text", || world.tmux(["capture-pane", "-p", "-t", "=x:"]).out.contains("echo typed >two").then_some(()));
        assert!(!file("two").exists(), "{what}");
        world.sidecar(["shell", "send", "--target", "x", "--run", " && echo more >>two"]).ok();
        wait_bytes(&file("two"), "typed\nmore\n", &what);

        world.sidecar(["shell", "send", "--target", "x", "--run", "for i in 1 2; do\n  echo \"$i\" >>three\ndone\necho end >>three"]).ok();
        wait_bytes(&file("three"), "1\n2\nend\n", &what);
        nothing_ran(&world);
    });
}

#[test]
fn what_cannot_be_sent_is_refused_and_nothing_is_typed() {
    in_each_version(|version, world| {
        let file = catcher(world, "raw", false);
        world.tmux(["split-window", "-d", "-t", "=raw:", "cat"]).ok();
        load(world);
        world.tmux(["set-option", "-g", "remain-on-exit", "on", ";", "new-session", "-d", "-s", "dead", "true"]).ok();
        wait_for("the end", || (world.tmux(["display-message", "-p", "-t", "=dead:", "#{pane_dead}"]).ok() == "1\n").then_some(()));
        world.tmux(["new-session", "-d", "-s", "busy", ";", "copy-mode", "-t", "=busy:"]).ok();
        world.tmux(["new-session", "-d", "-s", "deaf", ";", "select-pane", "-d", "-t", "=deaf:"]).ok();
        world.look();
        let long = "z".repeat(5000);
        for (target, option, text, code, said) in [
            ("raw", "--run", "\x1b[201~touch CANARY", 2, "control character"),
            ("raw", "--type", "a\nb", 2, "line break"),
            ("raw", "--run", "a\rb", 2, "control character"),
            ("raw", "--type", "\u{9b}A", 2, "control character"),
            ("raw", "--type", "", 2, "nothing to send"),
            ("nobody", "--type", "x", 3, "no shell named 'nobody'"),
            ("ra", "--type", "x", 3, "no shell named 'ra'"),
            ("raw:7.0", "--type", "x", 3, "no pane '7.0'"),
            ("raw:0.7", "--type", "x", 3, "panes 0, 1"),
            ("raw:0.1", "--run", &long, 5, "4095 bytes"),
            ("dead", "--run", "touch CANARY", 5, "has ended"),
            ("busy", "--run", "touch CANARY", 5, "copy mode"),
            ("deaf", "--run", "touch CANARY", 5, "switched off"),
        ] {
            let refused = world.sidecar(["shell", "send", "--target", target, option, text]);
            assert_eq!((refused.code, refused.out.as_str()), (code, ""), "tmux {version}, {target} {text:?}: {refused:?}");
            assert!(refused.err.contains(said), "tmux {version}: {refused:?}");
            let refused = world.sidecar(["shell", "send", "--json", "--target", target, option, text]);
            let error: serde_json::Value = serde_json::from_str(&refused.err).unwrap_or_else(|_| panic!("{refused:?}"));
            assert_eq!((refused.code, refused.out.as_str()), (code, ""));
            assert!(error["error"]["code"].is_string() && error["error"]["message"].is_string(), "{error}");
        }
        assert_eq!(world.sidecar(["shell", "send", "--target", "raw"]).code, 2);
        assert_eq!(world.sidecar(["shell", "send", "--type", "x"]).code, 2);
        assert_eq!(world.sidecar(["shell", "send", "--target", "raw", "--type", "x", "--run", "y"]).code, 2);
        // The one that is sent shows that none of the others was.
        world.sidecar(["shell", "send", "--target", "raw", "--type", "last"]).ok();
        wait_bytes(&file, "last", version);
        assert_eq!(world.tmux(["list-buffers"]).ok(), "", "tmux {version}");
        world.crash();
        let refused = run(&mut world.sidecar_command(["shell", "send", "--target", "raw", "--type", "x"]));
        assert_eq!(refused.code, 5, "{refused:?}");
        assert!(refused.err.contains("does not run"), "{refused:?}");
        nothing_ran(world);
    });
}

#[test]
fn a_pane_is_chosen_and_a_synchronized_window_runs_it_in_no_other() {
    in_each_version(|version, world| {
        let reader = |name: &str| {
            let file = world.work().join(name);
            (format!("stty raw -echo; printf ready; exec cat >'{}'", file.display()), file)
        };
        let (panes, files): (Vec<String>, Vec<_>) = ["zero", "one", "two"].map(reader).into_iter().unzip();
        // A name with a colon is one from 3.7 on; up to 3.6 tmux makes `_` of it.
        world
            .tmux(["new-session", "-d", "-s", "a:0", &panes[0], ";", "split-window", "-d", &panes[1], ";", "new-window", "-d", &panes[2]])
            .ok();
        world.tmux(["set-option", "-w", "-t", "$0:0", "synchronize-panes", "on"]).ok();
        let ready = || world.show_all("list-panes", "#{cursor_x}").iter().all(|x| x == "5");
        wait_for("the readers", || ready().then_some(()));
        let name = world.show("#{session_name}");
        for (place, text) in [("0.0", "first"), ("0.1", "second"), ("1.0", "third"), ("1", "fourth")] {
            world.sidecar(["shell", "send", "--target", &format!("{name}:{place}"), "--run", text]).ok();
        }
        world.sidecar(["shell", "send", "--target", &name, "--run", "active"]).ok();
        for (file, wanted) in files.iter().zip(["first\ractive\r", "second\r", "third\rfourth\r"]) {
            wait_bytes(file, wanted, version);
        }
    });
}

#[test]
fn a_forgotten_shell_that_runs_takes_text_and_a_dead_one_is_told_from_it() {
    let world = world_without_timer(0.2);
    let file = catcher(&world, "raw", false);
    world.wait_recorded(&["raw"]);
    world.sidecar(["shell", "forget", "raw"]).ok();
    let sent = world.sidecar(["shell", "send", "--json", "--target", "raw", "--run", "x"]).json();
    assert_eq!((&sent["session"], &sent["place"], &sent["enter"]), (&"raw".into(), &"0.0".into(), &true.into()));
    wait_bytes(&file, "x\r", "");
}
