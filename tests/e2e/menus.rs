//! The menus as a person sees them: an outer tmux shows the inner client, keys are pressed in it, and the result is looked at.

use sidecar::tmux::Version;

use super::records::options;
use super::support::{World, sidecar_path, two_versions, wait_for, wait_or_tell};
use super::terminal::Terminal;

/// A world whose plugin offers nothing by itself, with these sessions dead and a new server with a session `here`.
fn after_a_crash(folder: &std::path::Path, sessions: &[&str], lines: &str) -> World {
    let world = World::bare_with_tmux(folder);
    world.configure(&format!("{}set -g @sidecar-offer off\n{lines}", options(3600.0, 0.3)));
    for name in sessions {
        let dir = world.folder(format!("dir of {name}"));
        world.tmux(["new-session", "-d", "-s", name, "-c", dir.to_str().unwrap()]).ok();
    }
    world.wait_recorded(sessions);
    world.crash();
    world.tmux(["new-session", "-d", "-s", "here"]).ok();
    world.wait_recorded(&[sessions, &["here"]].concat());
    world
}

/// A client of the session `here`.
pub fn attached(world: &World) -> Terminal<'_> {
    let terminal = Terminal::attach(world, "attach -t here");
    terminal.wait_text("[here]");
    terminal
}

pub fn press_prefix(terminal: &Terminal, key: &str) {
    terminal.press(&["C-b"]);
    terminal.type_text(key);
}

#[test]
fn the_restore_menu_shows_the_plan_and_restores_all() {
    for folder in two_versions() {
        let world = after_a_crash(&folder, &["api", "web"], "");
        let terminal = attached(&world);
        press_prefix(&terminal, "R");
        let text = terminal.wait_text("Restore · 2 shells");
        for line in ["Restore all shells", "● api", "● web", "dir of api", "1 pane · moments", "Not now"] {
            assert!(text.contains(line), "{line}:\n{text}");
        }
        terminal.press(&["x"]);
        terminal.wait_no_text("Not now");
        assert_eq!(world.sessions(), ["here"]);
        press_prefix(&terminal, "R");
        terminal.wait_text("Restore all shells");
        terminal.press(&["a"]);
        world.wait_sessions(&["api", "here", "web"]);
        terminal.wait_text("sidecar: 2 shells restored");
        wait_for("the status", || (world.tmux(["show-options", "-gqv", "@sidecar_restorable"]).ok().trim() == "0").then_some(()));
        // Nothing is left, and it says so.
        press_prefix(&terminal, "R");
        terminal.wait_text("sidecar: nothing to restore");
    }
}

#[test]
fn one_shell_is_restored_and_the_client_goes_there() {
    for folder in two_versions() {
        let world = after_a_crash(&folder, &["api", "web"], "");
        let terminal = attached(&world);
        press_prefix(&terminal, "R");
        terminal.wait_text("● web");
        terminal.press(&["2"]);
        terminal.wait_text("Restore it, and go there");
        terminal.press(&["r"]);
        terminal.wait_text("sidecar: 1 shell restored");
        terminal.press(&["Space"]);
        terminal.wait_text("[web]");
        assert_eq!(world.sessions(), ["here", "web"]);
        let option = |name: &str| world.tmux(["show-options", "-gqv", name]).ok().trim().to_owned();
        wait_for("the status", || (option("@sidecar_restorable") == "1" && option("@sidecar_status") == "1 to restore").then_some(()));
    }
}

#[test]
fn a_policy_and_a_tombstone_are_given_and_taken_back() {
    for folder in two_versions() {
        let world = after_a_crash(&folder, &["api", "web"], "");
        let terminal = attached(&world);
        press_prefix(&terminal, "R");
        terminal.wait_text("● api");
        terminal.press(&["1"]);
        terminal.wait_text("Policy: inherit");
        terminal.press(&["p"]);
        terminal.wait_text("never restored");
        terminal.press(&["n"]);
        let text = terminal.wait_text("○ api");
        assert!(text.contains("never restored"), "{text}");
        assert_eq!(world.shell("api")["policy"], "never");
        // One that is never restored can be given another policy still.
        terminal.press(&["1"]);
        terminal.wait_text("Restore: its policy is never");
        terminal.press(&["f"]);
        terminal.wait_text("Forgotten shells (1)");
        assert_eq!(world.tombstones(), ["api"]);
        terminal.press(&["f"]);
        let text = terminal.wait_text("Forgotten · 1 shell");
        assert!(text.contains("forgotten moments ago, kept 13 d") || text.contains("kept 14 d"), "{text}");
        terminal.press(&["1"]);
        terminal.wait_text("Bring its record back");
        terminal.press(&["r"]);
        terminal.wait_text("○ api");
        assert_eq!((world.tombstones().len(), &world.shell("api")["policy"]), (0, &serde_json::Value::from("never")));
        // Forgotten again, and for good this time, after a question.
        terminal.press(&["1"]);
        terminal.wait_text("Forget it");
        terminal.press(&["f"]);
        terminal.wait_text("Forgotten shells (1)");
        terminal.press(&["f"]);
        terminal.wait_text("Forgotten · 1 shell");
        terminal.press(&["1"]);
        terminal.wait_text("Remove for good");
        terminal.press(&["p"]);
        terminal.wait_text("Remove for good?");
        terminal.press(&["n"]);
        terminal.wait_text("Bring its record back");
        assert_eq!(world.tombstones(), ["api"]);
        terminal.press(&["p"]);
        terminal.wait_text("Remove for good?");
        terminal.press(&["y"]);
        terminal.wait_text("is gone for good");
        assert_eq!(world.tombstones(), [""; 0]);
        assert!(!world.recorded().contains(&"api".to_owned()));
    }
}

/// Names that would be commands, formats, styles or keys of a menu.
const NASTY: &[&str] = &[
    "#(touch CANARY)",
    "##(touch CANARY) #",
    "#[fg=red]red##[x]",
    "#{pid} #S %H %% 100%",
    "-inert",
    "$(touch CANARY) `touch CANARY`",
    "'quotes' \"of\" \\kinds;",
    "a,b c,d",
    "日本語 👩‍💻 é",
    "~ * {x} } ; kill-server",
    "  two  spaces, and two before",
    "=x @x %1 $1",
    "2foo:bar.baz",
    "שלום عالم",
    "e\u{301}tude",
];

#[test]
fn any_name_is_shown_as_it_is_and_typed_as_it_is() {
    for folder in two_versions() {
        let world = after_a_crash(&folder, &["plain"], "");
        for (at, name) in NASTY.iter().enumerate() {
            let terminal = Terminal::attach_sized(&world, "attach -t here", (150, 30));
            terminal.wait_text("[here]");
            // Typed at the prompt, it arrives.
            press_prefix(&terminal, "N");
            terminal.wait_text("New name: here");
            terminal.press(&["C-u"]);
            terminal.type_text(name);
            terminal.press(&["Enter"]);
            let shell = || world.state()["shells"].as_array().unwrap().iter().find(|shell| shell["name"] == **name).cloned();
            let shell = wait_or_tell(|| format!("{name:?}: {:?}\n{}\n{}", world.recorded(), terminal.text(), world.log()), shell);
            // And stands in the line the next time.
            press_prefix(&terminal, "N");
            terminal.wait_text("New name: ");
            let shown = terminal.wait_text(name);
            assert!(shown.lines().last().unwrap().contains(name), "{shown}");
            terminal.press(&["C-u"]);
            terminal.type_text("here");
            terminal.press(&["Enter"]);
            wait_for("the old name", || (world.show("#{session_name}") == "here").then_some(()));
            // In a menu, as a record and as a tombstone.
            let other = world.sidecar(["shell", "rename", "--target", "plain", "--", name]);
            assert_eq!(other.code, 0, "{other:?}");
            press_prefix(&terminal, "R");
            let text = terminal.wait_text("Not now");
            assert!(text.contains(&format!("● {name}")), "{name:?}:\n{text}");
            terminal.press(&["1"]);
            terminal.wait_text("Forget it");
            assert!(terminal.text().contains(name), "{name:?}:\n{}", terminal.text());
            terminal.press(&["f"]);
            terminal.wait_text("Forgotten shells (1)");
            terminal.press(&["f"]);
            terminal.wait_text("Forgotten ·");
            assert!(terminal.text().contains(name), "{name:?}:\n{}", terminal.text());
            terminal.press(&["1"]);
            terminal.wait_text("Bring its record back");
            terminal.press(&["r"]);
            terminal.wait_text("Not now");
            terminal.press(&["x"]);
            terminal.wait_no_text("Not now");
            let id = world.state()["shells"].as_array().unwrap().iter().find(|shell| shell["name"] == **name).unwrap()["id"].clone();
            world.sidecar(["shell", "rename", "--target", id.as_str().unwrap(), "plain"]).ok();
            assert_ne!(shell["id"], id);
            let canary = std::process::Command::new("find").arg(world.work()).args(["-name", "*CANARY*"]).output().unwrap();
            assert!(canary.stdout.is_empty(), "{at}: {canary:?}");
            assert!(!world.home().join("CANARY").exists());
        }
    }
}

#[test]
fn a_menu_pages_in_a_small_client_and_a_tiny_one_gets_words() {
    for folder in two_versions() {
        let names: Vec<String> = (10..22).map(|number| format!("s{number}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let world = after_a_crash(&folder, &names, "");
        let terminal = Terminal::attach_sized(&world, "attach -t here", (80, 10));
        terminal.wait_text("[here]");
        press_prefix(&terminal, "R");
        let first = terminal.wait_text("● s10");
        assert!(first.contains("More… 1 of 4") && !first.contains("s13"), "{first}");
        terminal.press(&["m"]);
        terminal.wait_text("● s13");
        terminal.press(&["m"]);
        terminal.wait_text("● s16");
        // The keys count from the page's first.
        terminal.press(&["2"]);
        terminal.wait_text("s17 ·");
        terminal.press(&["r"]);
        terminal.wait_text("sidecar: 1 shell restored");
        terminal.press(&["Space"]);
        terminal.wait_text("[s17]");
        drop(terminal);
        let tiny = Terminal::attach_sized(&world, "attach -t here", (70, 5));
        tiny.wait_text("[here]");
        press_prefix(&tiny, "R");
        tiny.wait_text("sidecar: 11 shells to restore: sidecar session status");
    }
}

#[test]
fn what_cannot_be_restored_is_grey_with_its_reason() {
    for folder in two_versions() {
        let world = after_a_crash(&folder, &["api", "gone"], "");
        std::fs::remove_dir_all(world.work().join("dir of gone")).unwrap();
        let terminal = attached(&world);
        press_prefix(&terminal, "R");
        let text = terminal.wait_text("✗ gone");
        assert!(text.contains("its directory is missing") && text.contains("Restore · 1 shell"), "{text}");
        // No key chooses it.
        terminal.press(&["2"]);
        terminal.wait_text("✗ gone");
        terminal.press(&["1"]);
        terminal.wait_text("Restore it, and go there");
        terminal.press(&["q"]);
        terminal.wait_no_text("Restore it, and go there");
    }
}

#[test]
fn an_entry_that_vanished_meanwhile_is_told() {
    for folder in two_versions() {
        let world = after_a_crash(&folder, &["api", "web"], "");
        let terminal = attached(&world);
        press_prefix(&terminal, "R");
        terminal.wait_text("● web");
        world.sidecar(["shell", "forget", "api"]).ok();
        terminal.press(&["1"]);
        terminal.wait_text("is no longer there: open the menu again");
        // Restored by somebody else: the same.
        press_prefix(&terminal, "R");
        terminal.wait_text("● web");
        terminal.press(&["1"]);
        terminal.wait_text("Restore it, and go there");
        world.sidecar(["session", "restore"]).ok();
        terminal.press(&["r"]);
        terminal.wait_text("sidecar: ");
        terminal.press(&["Space"]);
        terminal.wait_text("[web]");
        assert_eq!(world.sessions(), ["here", "web"]);
    }
}

#[test]
fn clients_that_can_show_no_menu_get_an_answer() {
    for folder in two_versions() {
        let world = after_a_crash(&folder, &["api"], "");
        let ask = |client: &str| world.sidecar(["menu", "restore", "--client", client]);
        let said = world.sidecar(["menu", "restore"]);
        assert_eq!(said.code, 3, "{said:?}");
        assert!(said.err.contains("no client is attached") && said.err.contains("sidecar session status"), "{said:?}");
        assert_eq!(ask("/dev/pts/none").code, 3);
        let terminal = Terminal::attach(&world, "attach -r -t here");
        terminal.wait_text("[here]");
        let name = wait_for("its name", || Some(world.tmux(["list-clients", "-F", "#{client_name}"]).ok()).filter(|name| !name.is_empty()));
        let said = ask(name.trim());
        assert_eq!(said.code, 5, "{said:?}");
        terminal.wait_text("this client is read-only");
        drop(terminal);
        wait_for("its end", || world.tmux(["list-clients"]).ok().is_empty().then_some(()));
        let control = Terminal::run(
            &world,
            |program| world.command(program),
            (100, 20),
            &format!("'{}' -C attach -t here", world.tmux_program().display()),
        );
        let name = wait_for("its name", || Some(world.tmux(["list-clients", "-F", "#{client_name}"]).ok()).filter(|name| !name.is_empty()));
        let said = ask(name.trim());
        assert_eq!(said.code, 5, "{said:?}");
        assert!(said.err.contains("control mode"), "{said:?}");
        drop(control);
    }
}

#[test]
fn a_menu_that_is_open_already_is_told_or_drawn_anew() {
    for folder in two_versions() {
        let world = after_a_crash(&folder, &["api"], "");
        let terminal = attached(&world);
        press_prefix(&terminal, "R");
        terminal.wait_text("● api");
        terminal.press(&["1"]);
        terminal.wait_text("Restore it, and go there");
        world.sidecar(["menu", "restore"]).ok();
        if Version::parse(&world.show("#{version}")) < Version::new(3, 8) {
            let text = terminal.wait_text("another menu or a popup is open here");
            assert!(text.contains("Restore it, and go there") && !text.contains("● api"), "the first one stands:\n{text}");
        } else {
            // From 3.8 on the new menu takes the place of the old one, or stands above it.
            terminal.wait_text("● api");
        }
    }
}

#[test]
fn the_menu_opens_in_the_client_that_pressed_the_key() {
    for folder in two_versions() {
        let world = after_a_crash(&folder, &["api"], "");
        let one = Terminal::attach(&world, "attach -t here");
        let two = Terminal::attach(&world, "new-session -s second");
        one.wait_text("[here]");
        two.wait_text("[second]");
        press_prefix(&one, "R");
        one.wait_text("● api");
        assert!(!two.text().contains("● api"), "{}", two.text());
        one.press(&["1"]);
        one.wait_text("Restore it, and go there");
        one.press(&["r"]);
        one.wait_text("sidecar: 1 shell restored");
        one.press(&["Space"]);
        one.wait_text("[api]");
        assert!(two.text().contains("[second]"));
    }
}

#[test]
fn keys_are_moved_switched_off_noted_and_left_to_others() {
    let world = World::bare();
    let conf = |lines: &str| {
        world.configure(lines);
        world.tmux(["source-file", world.home().join(".tmux.conf").to_str().unwrap()]).ok();
    };
    world.tmux(["new-session", "-d", "-s", "here", ";", "bind-key", "R", "display-message", "theirs"]).ok();
    let keys = || world.tmux(["list-keys", "-T", "prefix"]).ok();
    let bound = |key: &str, what: &str| keys().lines().any(|line| line.contains(&format!(" {key} ")) && line.contains(what));
    conf("");
    assert!(bound("R", "theirs") && bound("N", "'menu' 'rename'"), "{}", keys());
    let waiting = || world.tmux(["show-hooks", "-g"]).ok();
    assert!(waiting().contains("prefix R is taken: set @sidecar-restore-key"), "{}", waiting());
    // Told once, and never again.
    let terminal = Terminal::attach(&world, "attach");
    terminal.wait_text("prefix R is taken");
    drop(terminal);
    conf("");
    assert!(!waiting().contains("[8421]"), "{}", waiting());
    conf("set -g @sidecar-restore-key F5\nset -g @sidecar-rename-key none");
    assert!(bound("F5", "'menu' 'restore'") && !bound("N", "sidecar"), "{}", keys());
    let notes = world.tmux(["list-keys", "-N", "-T", "prefix"]).ok();
    assert!(notes.contains("Restore sessions that died with their server"), "{notes}");
    conf("set -g @sidecar-restore-key Nonsense\nset -gu @sidecar-rename-key");
    assert!(waiting().contains("tmux knows no key 'Nonsense'"), "{}", waiting());
    assert!(bound("N", "'menu' 'rename'") && !bound("F5", "sidecar"), "{}", keys());
    // The user's own key, as the README shows it.
    let line = format!("bind-key S run-shell -b \"{} menu forgotten --client '#{{client_name}}'\"", sidecar_path());
    conf(&line);
    let terminal = Terminal::attach(&world, "attach");
    terminal.wait_text("tmux knows no key 'Nonsense'");
    press_prefix(&terminal, "S");
    terminal.wait_text("sidecar: no shell is forgotten");
}
