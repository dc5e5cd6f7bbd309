//! `sidecar plugin unload`, `load` and `link`.

use super::records::run;
use super::stranger::{Stranger, content, supported_versions};
use super::support::{World, wait_for};

#[test]
fn unload_takes_everything_out_and_load_brings_it_back() {
    for (version, folder) in supported_versions() {
        let world = World::with_tmux(&folder, 3600.0);
        world.tmux(["new-session", "-d", "-s", "work", ";", "split-window", "-d", ";", "new-session", "-d", "-s", "more"]).ok();
        world.wait_recorded(&["more", "work"]);
        let ours = || {
            let shown = [["show-hooks", "-g"], ["show-hooks", "-gw"], ["show-environment", "-gh"], ["list-keys", "-T"]];
            let text: String =
                shown.map(|words| if words[1] == "-T" { world.tmux(["list-keys"]).out } else { world.tmux(words).out }).concat();
            let formats = ["#{@sidecar-shell}#{@sidecar-kept}", "#{@sidecar-pane}#{@sidecar-blank}"];
            let tags = world.tmux(["list-sessions", "-F", formats[0], ";", "list-panes", "-a", "-F", formats[1]]).ok();
            let lines = text
                .lines()
                .filter(|line| line.to_lowercase().contains("sidecar") && !line.starts_with("SIDECAR_OFFER="))
                .chain(tags.lines().filter(|line| !line.is_empty()));
            lines.map(str::to_owned).collect::<Vec<_>>()
        };
        wait_for("ids", || (ours().len() > 15).then_some(()));
        let ids = world.state()["shells"].clone();
        let said = world.sidecar(["plugin", "unload"]);
        assert!(said.out.contains("unloaded"), "{version}: {said:?}");
        assert_eq!(ours(), [""; 0], "{version}");
        world.sidecar(["plugin", "unload"]).ok();
        // A look that was on its way brings nothing back but a record.
        world.tmux(["rename-session", "-t", "work", "renamed"]).ok();
        world.look();
        assert!(!ours().iter().any(|line| line.contains("8420") || line.contains("TIMER")), "{:?}", ours());
        world.sidecar(["plugin", "load"]).ok();
        wait_for("ids", || (ours().len() > 15).then_some(()));
        world.wait_recorded(&["more", "renamed"]);
        let now = world.state()["shells"].clone();
        let id_of = |shells: &serde_json::Value| {
            let mut ids: Vec<String> = shells.as_array().unwrap().iter().map(|shell| shell["id"].to_string()).collect();
            ids.sort();
            ids
        };
        assert_eq!(id_of(&now), id_of(&ids), "they are the same shells");
    }
}

#[test]
fn link_puts_the_command_at_hand_and_never_over_a_foreign_file() {
    let stranger = Stranger::new();
    stranger.clone();
    stranger.fake_cargo("1.99.0", ":");
    run(stranger.command("sh").arg(stranger.plugin().join("scripts/build"))).ok();
    let command = stranger.plugin().join("bin/sidecar");
    let link = stranger.home().join(".local/bin/sidecar");
    let ask = || run(stranger.command(command.to_str().unwrap()).args(["plugin", "link"]));
    let said = ask();
    assert!(said.code == 0 && said.out.contains("is not on your PATH yet"), "{said:?}");
    assert_eq!(std::fs::read_link(&link).unwrap(), command.canonicalize().unwrap().with_file_name("sidecar"));
    assert!(run(stranger.command(link.to_str().unwrap()).arg("--version")).ok().starts_with("sidecar "));
    // Through the link itself it is known too.
    assert!(run(stranger.command(link.to_str().unwrap()).args(["plugin", "link"])).ok().contains("already"));
    std::fs::remove_file(&link).unwrap();
    std::fs::write(&link, "theirs").unwrap();
    let said = ask();
    assert_eq!(said.code, 5, "{said:?}");
    assert!(said.err.contains(".local/bin/sidecar") && said.err.contains("hint: "), "{said:?}");
    assert_eq!(content(&link), b"theirs");
}

#[test]
fn without_a_server_a_load_says_so_and_starts_none() {
    let world = World::new(10.0);
    let said = world.sidecar(["plugin", "load"]);
    assert!(said.code == 1 && said.out.is_empty() && said.err.contains(": no server"), "{said:?}");
    assert!(world.store().is_none());
}
