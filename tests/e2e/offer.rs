//! The start-up offer: a new server with something to restore asks once, or restores by itself.

use std::path::Path;

use super::records::options;
use super::support::{World, path_tmux, two_versions, wait_for, wait_or_tell};
use super::terminal::Terminal;

/// A world in which these sessions died with their server, and none runs.
pub(super) fn dead(folder: &Path, names: &[&str], lines: &str) -> World {
    let world = World::bare_with_tmux(folder);
    world.configure(&format!("{}{lines}", options(3600.0, 0.3)));
    for name in names {
        world.tmux(["new-session", "-d", "-s", name, "-c", world.folder(name).to_str().unwrap()]).ok();
    }
    world.wait_recorded(names);
    world.crash();
    world
}

fn option(world: &World, name: &str) -> String {
    world.tmux(["show-options", "-gqv", name]).out.trim().to_owned()
}

/// Whatever way the first client comes, it is asked, and nobody after it.
#[test]
fn the_first_client_is_asked_once_however_it_comes() {
    for folder in two_versions() {
        for (way, headless) in [("new-session", false), ("new-session -A -s mine", false), ("attach", true)] {
            let world = dead(&folder, &["api", "web"], "");
            if headless {
                world.tmux(["new-session", "-d", "-s", "mine"]).ok();
                wait_for("the status", || (option(&world, "@sidecar_restorable") == "2").then_some(()));
            }
            let first = Terminal::attach(&world, way);
            first.wait_text("Restore · 2 shells");
            world.remember_server();
            first.press(&["x"]);
            first.wait_no_text("Restore · 2 shells");
            let second = Terminal::attach(&world, "attach");
            second.wait_text("[");
            // Its arrival was looked at, and nothing was shown.
            world.wait_quiet();
            for terminal in [&first, &second] {
                assert!(
                    !terminal.text().contains("Restore ·"),
                    "{way}:\n{}\n{}\n{}",
                    terminal.text(),
                    world.log(),
                    world.tmux(["show-environment", "-gh"]).out
                );
            }
            drop((first, second));
            // Nor is it after a reload, in this life of the server.
            world.tmux(["source-file", world.home().join(".tmux.conf").to_str().unwrap()]).ok();
            let third = Terminal::attach(&world, "attach");
            third.wait_text("[");
            world.wait_quiet();
            assert!(!third.text().contains("Restore ·"), "{way}:\n{}", third.text());
            assert_eq!(option(&world, "@sidecar_status"), "2 to restore");
        }
    }
}

#[test]
fn all_that_died_comes_back_from_the_offer_and_the_unused_session_goes() {
    for folder in two_versions() {
        let world = dead(&folder, &["api", "web"], "");
        let terminal = Terminal::attach(&world, "new-session");
        terminal.wait_text("Restore · 2 shells");
        terminal.press(&["a"]);
        world.wait_sessions(&["api", "web"]);
        terminal.wait_text("sidecar: 2 shells restored");
        wait_for("the status", || {
            (option(&world, "@sidecar_restorable") == "0" && option(&world, "@sidecar_status").is_empty()).then_some(())
        });
        // The next life has its own offer.
        drop(terminal);
        world.crash();
        let terminal = Terminal::attach(&world, "new-session");
        terminal.wait_text("Restore · 2 shells");
        world.remember_server();
    }
}

#[test]
fn of_two_clients_at_once_one_is_asked_and_one_restore_is_made() {
    for round in 0..10 {
        let folders = two_versions();
        let world = dead(&folders[round % folders.len()], &["api", "web"], "");
        // In two sessions: 3.8 draws a menu in every client of a session.
        world.tmux(["new-session", "-d", "-s", "mine", ";", "new-session", "-d", "-s", "my"]).ok();
        let clients = [Terminal::attach(&world, "attach -t =mine"), Terminal::attach(&world, "attach -t =my")];
        let asked = |terminal: &Terminal| terminal.text().contains("Restore · 2 shells");
        wait_for("an offer", || clients.iter().any(&asked).then_some(()));
        world.wait_quiet();
        assert_eq!(clients.iter().filter(|terminal| asked(terminal)).count(), 1, "round {round}");
        // Both choose, one from the offer and one from its own key, while a command restores as well.
        for terminal in clients.iter().filter(|terminal| !asked(terminal)) {
            terminal.press(&["C-b"]);
            terminal.type_text("R");
            terminal.wait_text("Restore all shells");
        }
        for terminal in &clients {
            terminal.press(&["a"]);
        }
        world.sidecar(["session", "restore"]).ok();
        world.wait_sessions(&["api", "mine", "my", "web"]);
        // Each is told how it went; a message stands for seconds, so both are waited for at once.
        let mut told = [false; 2];
        wait_or_tell(
            || format!("{}\n{}\n{}", clients[0].text(), clients[1].text(), world.log()),
            || {
                for (told, terminal) in told.iter_mut().zip(&clients) {
                    *told |= terminal.text().contains("sidecar: ");
                }
                (told == [true; 2]).then_some(())
            },
        );
        assert_eq!(world.sessions(), ["api", "mine", "my", "web"]);
        let restored = world.log().matches("restored (restored)").count();
        assert_eq!(restored, 2, "each shell once:\n{}", world.log());
    }
}

#[test]
fn off_says_nothing_and_on_wins_over_the_configuration() {
    for folder in two_versions() {
        for (option_line, config, asked) in [
            ("set -g @sidecar-offer off\n", "ask", false),
            ("", "off", false),
            ("set -g @sidecar-offer on\n", "off", true),
            ("", "ask", true),
        ] {
            let world = dead(&folder, &["api"], option_line);
            let file = world.home().with_file_name("config").join("sidecar/config.json");
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(&file, format!("{{\"restore\":{{\"recreateShells\":\"{config}\"}}}}")).unwrap();
            let terminal = Terminal::attach(&world, "new-session -s mine");
            if asked {
                terminal.wait_text("Restore · 1 shell");
                terminal.press(&["x"]);
            }
            terminal.wait_text("[mine]");
            wait_for("the status", || (option(&world, "@sidecar_status") == "1 to restore").then_some(()));
            world.wait_quiet();
            assert!(!terminal.text().contains("Restore ·"), "{option_line} {config}");
            assert_eq!(world.sessions(), ["mine"]);
        }
    }
}

#[test]
fn auto_restores_without_a_client_but_not_what_was_closed_with_its_server() {
    for folder in two_versions() {
        let world = World::bare_with_tmux(&folder);
        let conf = |offer: &str| world.configure(&format!("{}set -g @sidecar-offer {offer}\n", options(0.3, 0.3)));
        conf("off");
        world.tmux(["new-session", "-d", "-s", "api", ";", "split-window", "-d", ";", "new-session", "-d", "-s", "web"]).ok();
        world.wait_recorded(&["api", "web"]);
        world.wait_quiet();
        let before = world.tree();
        let first = world.crash();
        // A second life, whose only session is closed, and its server with it.
        world.tmux(["new-session", "-d", "-s", "last", "-c", world.folder("last").to_str().unwrap()]).ok();
        world.wait_recorded(&["api", "last", "web"]);
        let second = world.remember_server().unwrap();
        assert_ne!(first, second);
        world.tmux(["kill-session", "-t", "last"]).ok();
        world.wait_gone(second);
        conf("auto");
        world.tmux(["new-session", "-d", "-s", "mine"]).ok();
        world.wait_sessions(&["api", "mine", "web"]);
        let terminal = Terminal::attach(&world, "attach -t mine");
        terminal.wait_text("sidecar: 2 shells restored");
        let now = world.tree();
        for line in before.lines() {
            assert!(now.contains(line), "{line}\n{now}");
        }
        assert_eq!(world.sessions(), ["api", "mine", "web"], "what was closed stays closed");
        wait_for("the status", || (option(&world, "@sidecar_restorable") == "1").then_some(()));
        wait_for("the next round", || (!world.store().unwrap().join("automatic").exists()).then_some(()));
    }
}

/// A restore that takes the server down with it each time must not do so for ever.
#[test]
fn after_three_failures_in_a_row_nothing_is_restored_automatically() {
    let world = dead(&path_tmux(), &["api"], "");
    // A pane that opens in that directory ends the server.
    let trap = world.work().join("api/trap");
    std::fs::write(&trap, "").unwrap();
    let shell = world.home().join("shell");
    std::fs::write(&shell, "#!/bin/sh\nif [ -e trap ]; then pid=${TMUX#*,}; kill -KILL \"${pid%,*}\"; fi\nexec /bin/sh\n").unwrap();
    std::os::unix::fs::chown(&shell, None, None).unwrap();
    std::fs::set_permissions(&shell, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    world.configure(&format!("{}set -g @sidecar-offer auto\nset -g default-command '{}'\n", options(3600.0, 60.0), shell.display()));
    let count = || std::fs::read_to_string(world.store().unwrap().join("automatic")).unwrap_or_default();
    for round in 1..=3 {
        world.tmux(["new-session", "-d", "-s", "mine"]);
        wait_or_tell(
            || format!("round {round}: {}", world.log()),
            || (count().trim().trim_end_matches(" well") == round.to_string()).then_some(()),
        );
        wait_or_tell(|| format!("the crash {round}: {}", world.log()), || (world.tmux(["list-sessions"]).code != 0).then_some(()));
    }
    world.tmux(["new-session", "-d", "-s", "mine"]).ok();
    let waiting = || world.tmux(["show-hooks", "-g"]).out;
    wait_for("the message", || waiting().contains("the automatic restore failed 3 times in a row and is off").then_some(()));
    assert_eq!((world.sessions(), count().trim().trim_end_matches(" well")), (vec!["mine".to_owned()], "3"));
    // Once a restore went well, the automatic one is on again.
    std::fs::remove_file(&trap).unwrap();
    world.sidecar(["session", "restore"]).ok();
    assert_eq!(count(), "");
    world.crash();
    world.tmux(["new-session", "-d", "-s", "more"]).ok();
    wait_for("the restore", || world.sessions().contains(&"api".to_owned()).then_some(()));
}
