//! `sidecar doctor`: what is ill is found, on real servers, and what it mends is well.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use sidecar::store::{Level, Store};

use super::fake_agent::FakeAgent;
use super::records::{run, world_without_timer};
use super::stranger::{Stranger, supported_versions};
use super::support::{Said, World, is_alive, sidecar_path, wait_for, wait_or_tell};
use super::units::folder;

type Levels = BTreeMap<String, String>;

/// What is not well, with its level; the machine's own logind is none of this world's.
#[track_caller]
fn ills_of(said: &Said) -> Levels {
    let document = said.json();
    assert_eq!(document["schemaVersion"], 1);
    let findings = document["findings"].as_array().unwrap();
    for finding in findings {
        let (what, why) = (&finding["what"], &finding["why"]);
        assert!(what.as_str().is_some_and(|what| !what.is_empty()), "{finding}");
        assert_eq!(finding["level"] == "ok", why.is_null(), "{finding}");
    }
    let is_problem = |finding: &&Value| finding["level"] == "problem";
    assert_eq!(said.code, i32::from(findings.iter().any(|finding| is_problem(&finding))), "{said:?}");
    let word = |finding: &Value, key: &str| finding[key].as_str().unwrap().to_owned();
    let ill = findings.iter().filter(|finding| finding["level"] != "ok" && finding["id"] != "logout");
    ill.map(|finding| (word(finding, "id"), word(finding, "level"))).collect()
}

#[track_caller]
fn ills(world: &World) -> Levels {
    ills_of(&world.sidecar(["doctor", "--json"]))
}

#[track_caller]
fn finding(said: &Said, id: &str) -> Value {
    let document = said.json();
    let found = document["findings"].as_array().unwrap().iter().find(|finding| finding["id"] == id);
    found.unwrap_or_else(|| panic!("no {id}: {document}")).clone()
}

fn levels(wanted: &[(&str, &str)]) -> Levels {
    wanted.iter().map(|(id, level)| ((*id).to_owned(), (*level).to_owned())).collect()
}

/// The ids that `--fix` says it has mended.
fn mended(said: &Said) -> Vec<String> {
    let document = said.json();
    let fixed = document["findings"].as_array().unwrap().iter().filter(|finding| finding["fixed"] == true);
    fixed.map(|finding| finding["id"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn without_a_server_and_records_all_is_well_and_nothing_is_made() {
    let world = World::bare();
    assert_eq!(ills(&world), Levels::new());
    let text = world.sidecar(["doctor", "--fix"]).ok();
    assert!(text.contains("no server runs at") && text.contains("0 shells"), "{text}");
    assert_eq!(world.store(), None);
    assert!(world.remember_server().is_none());
}

#[test]
fn what_others_did_to_a_server_is_found_and_what_can_be_is_mended() {
    for (version, folder) in supported_versions() {
        let world = World::with_tmux(&folder, 3600.0);
        world.configure("set -g @sidecar-interval 3600");
        world.inhabit(2);
        let said = world.sidecar(["doctor", "--json"]);
        assert_eq!(ills_of(&said), Levels::new(), "{version}");
        let helper = finding(&said, "helper")["what"].as_str().unwrap().to_owned();
        assert!(helper.ends_with(&format!("{}; the hooks call it", sidecar_path())), "{version}: {helper}");

        world.tmux(["set-hook", "-g", "window-linked", "set -g @theirs 1"]).ok();
        world.tmux(["set-hook", "-gu", "session-closed[8420]"]).ok();
        world.tmux(["unbind-key", "-T", "prefix", "R", ";", "bind-key", "-T", "prefix", "N", "next-window"]).ok();
        world.tmux(["set-environment", "-g", "CLAUDECODE", "1", ";", "set-environment", "-g", "MINE", "1"]).ok();
        world.tmux(["set", "-g", "@continuum-restore", "on", ";", "set", "-g", "@resurrect-processes", "vim \"~claude->claude -c\""]).ok();
        world.tmux(["set", "-g", "@sidecar-grace", "soon"]).ok();
        let theirs = [("continuum_restore", "problem"), ("resurrect_processes", "problem"), ("config", "problem"), ("key_renames", "note")];
        let ours = [("hooks", "problem"), ("key_restores", "problem"), ("inherited_variables", "problem")];
        assert_eq!(ills(&world), levels(&[&theirs[..], &ours].concat()), "{version}");

        let said = world.sidecar(["doctor", "--fix", "--json"]);
        assert_eq!(ills_of(&said), levels(&theirs), "{version}");
        let mut fixed = mended(&said);
        fixed.sort();
        assert_eq!(fixed, ["hooks", "inherited_variables", "key_restores"], "{version}");
        let environment = world.tmux(["show-environment", "-g"]).ok();
        assert!(!environment.contains("CLAUDECODE") && environment.contains("MINE=1"), "{version}");
        let hooks = world.tmux(["show-hooks", "-g", ";", "show-hooks", "-gw"]).ok();
        assert!(hooks.contains("@theirs") && hooks.contains("window-linked[8420]") && hooks.contains("session-closed[8420]"), "{hooks}");
        assert!(world.tmux(["list-keys", "-T", "prefix"]).ok().contains("next-window"));

        // The second time there is nothing to mend.
        assert_eq!(mended(&world.sidecar(["doctor", "--fix", "--json"])), [""; 0], "{version}");
        world
            .tmux(["set", "-gu", "@continuum-restore", ";", "set", "-gu", "@resurrect-processes", ";", "set", "-gu", "@sidecar-grace"])
            .ok();
        assert_eq!(ills(&world), levels(&[("key_renames", "note")]), "{version}");
    }
}

#[test]
fn a_plugin_that_is_not_loaded_and_a_timer_that_stopped_are_mended_by_a_load() {
    let world = world_without_timer(0.3);
    world.inhabit(1);
    world.sidecar(["plugin", "unload"]).ok();
    assert_eq!(ills(&world), levels(&[("plugin", "problem")]));
    let said = world.sidecar(["doctor", "--fix", "--json"]);
    assert_eq!((ills_of(&said), mended(&said)), (Levels::new(), vec!["plugin".to_owned()]));
    // Its next round was due an hour ago.
    let due = sidecar::record::now() - 3_600_000;
    world.tmux(["set-environment", "-gh", "SIDECAR_TIMER", &format!("{due}.500.0a")]).ok();
    assert_eq!(ills(&world)["timer"], "problem");
    assert!(mended(&world.sidecar(["doctor", "--fix", "--json"])).contains(&"timer".to_owned()));
    // The timer's rounds are looks, so something is recorded from now on.
    world.tmux(["new-session", "-d", "-s", "more"]).ok();
    world.wait_recorded(&["more", "s0"]);
}

#[test]
fn a_link_to_the_helper_that_the_hooks_call_is_no_other_one() {
    let world = world_without_timer(3600.0);
    world.inhabit(1);
    world.sidecar(["agent", "integration", "install", "claude"]).ok();
    let link = world.folder("bin").join("sidecar");
    std::os::unix::fs::symlink(sidecar_path(), &link).unwrap();
    let said = Said::of(&world.command(&link).args(["doctor", "--json"]).output().unwrap());
    assert_eq!(ills_of(&said), Levels::new());
    assert_eq!(finding(&said, "integration_claude")["level"], "ok");
}

#[test]
fn hooks_that_call_a_helper_which_is_gone_are_set_anew() {
    let world = World::bare();
    let helper = world.folder("bin").join("sidecar");
    std::fs::copy(sidecar_path(), &helper).unwrap();
    world.configure(&format!("set -g @sidecar-helper '{}'\nset -g @sidecar-interval 3600", helper.display()));
    world.tmux(["new-session", "-d", "-s", "work", ";", "split-window"]).ok();
    world.wait_recorded(&["work"]);
    world.wait_quiet();
    let said = world.sidecar(["doctor", "--json"]);
    assert_eq!(finding(&said, "helper")["level"], "note", "two helpers: {said:?}");
    std::fs::remove_file(&helper).unwrap();
    let both = levels(&[("helper", "problem"), ("helper_option", "problem")]);
    assert_eq!(ills(&world), both);
    let said = world.sidecar(["doctor", "--fix", "--json"]);
    assert_eq!(ills_of(&said), levels(&[("helper_option", "problem")]));
    assert!(world.tmux(["show-hooks", "-g"]).ok().contains(sidecar_path()));
}

#[test]
fn a_server_without_its_socket_is_given_it_back_and_nobody_elses_is_taken() {
    let world = world_without_timer(0.3);
    world.inhabit(2);
    let pid = world.remember_server().unwrap();
    world.wait_quiet();
    std::fs::remove_file(world.socket()).unwrap();
    let said = world.sidecar(["doctor", "--json"]);
    assert_eq!(ills_of(&said), levels(&[("server", "problem")]));
    assert!(finding(&said, "server")["fix"].as_str().unwrap().contains(&format!("kill -USR1 {pid}")));
    let said = world.sidecar(["doctor", "--fix", "--json"]);
    assert_eq!((ills_of(&said), mended(&said)), (Levels::new(), vec!["server".to_owned()]));
    assert_eq!(world.remember_server(), Some(pid));

    // Where another server answers by now, the first one would take its socket.
    std::fs::remove_file(world.socket()).unwrap();
    world.tmux(["-f", "/dev/null", "new-session", "-d", "-s", "second"]).ok();
    let second = world.remember_server().unwrap();
    assert_ne!(second, pid);
    let said = world.sidecar(["doctor", "--fix", "--json"]);
    assert_eq!((ills_of(&said)["server"].as_str(), mended(&said)), ("problem", Vec::new()), "{said:?}");
    assert!(is_alive(pid) && is_alive(second));
    assert_eq!(world.sessions(), ["second"]);
}

#[test]
fn an_examination_changes_nothing_on_disk_or_in_tmux() {
    let world = world_without_timer(0.3);
    let fake = FakeAgent::new(&world);
    world.inhabit(2);
    fake.bind("s0", &fake.id("one"));
    world.tmux(["set-hook", "-gu", "session-closed[8420]", ";", "set-environment", "-g", "CLAUDECODE", "1"]).ok();
    world.tmux(["unbind-key", "-T", "prefix", "R"]).ok();
    world.wait_quiet();
    let everything = || {
        let asked = [["show-hooks", "-g"], ["show-environment", "-g"], ["show-environment", "-gh"], ["show-options", "-g"]];
        let told: String = asked.iter().map(|words| world.tmux(words).ok()).collect();
        let list = std::fs::read_dir(world.store().unwrap()).unwrap().map(|entry| {
            let path = entry.unwrap().path();
            (path.clone(), path.metadata().unwrap().modified().unwrap(), std::fs::read(path).unwrap_or_default())
        });
        let mut files: Vec<_> = list.collect();
        files.sort();
        (told, world.tmux(["list-keys"]).ok(), files)
    };
    let before = everything();
    assert!(ills(&world).len() > 3);
    assert!(before == everything());
}

#[test]
fn a_helper_that_is_older_than_its_sources_is_told() {
    let stranger = Stranger::new();
    stranger.clone();
    stranger.fake_cargo("1.99.0", ":");
    run(stranger.command("sh").arg(stranger.plugin().join("scripts/build"))).ok();
    stranger.tmux(&["new-session", "-d", "-s", "work"]).ok();
    stranger.wait_loaded();
    let helper = stranger.plugin().join("bin/sidecar");
    let build = || {
        let said = run(stranger.command(helper.to_str().unwrap()).args(["doctor", "--json"]));
        finding(&said, "helper_build")["level"].clone()
    };
    assert_eq!(build(), "ok");
    std::fs::write(stranger.plugin().join("helper/lib.rs"), "// Another one.\n").unwrap();
    assert_eq!(build(), "note");
}

#[test]
fn a_stale_socket_is_no_problem() {
    let world = world_without_timer(0.3);
    world.inhabit(1);
    world.crash();
    assert!(world.socket().exists());
    assert_eq!(ills(&world), levels(&[("stale_socket", "note")]));
}

#[test]
fn records_that_cannot_be_read_or_are_of_another_time_are_told_and_left_as_they_are() {
    let world = world_without_timer(0.3);
    world.inhabit(1);
    world.wait_quiet();
    let whole = world.state_bytes();
    let look_at = |bytes: &[u8]| {
        world.write_state(bytes);
        let found = ills_of(&world.sidecar(["doctor", "--fix", "--json"]));
        assert_eq!(world.state_bytes(), bytes, "it is left as it is");
        found
    };
    let newer = String::from_utf8(whole.clone()).unwrap().replace("\"version\":3", "\"version\":99");
    assert_eq!(look_at(newer.as_bytes()), levels(&[("records", "problem")]));
    assert_eq!(look_at(b"{ half"), levels(&[("records", "note")]));

    world.write_state(&whole);
    world.edit_state(|state| state["shells"][0]["seen"]["at"] = json!(sidecar::record::now() + 3_600_000));
    assert_eq!(ills(&world), levels(&[("clock", "problem")]));
    world.write_state(b"{ half");
    world.look();
    wait_for("the file that was moved aside", || ills(&world).contains_key("records_aside").then_some(()));

    std::fs::remove_file(world.shells_json()).unwrap();
    std::fs::create_dir(world.shells_json()).unwrap();
    let said = world.sidecar(["doctor", "--json"]);
    assert_eq!((ills_of(&said)["records"].as_str(), said.err.as_str()), ("problem", ""), "{said:?}");
    std::fs::remove_dir(world.shells_json()).unwrap();
    world.write_state(&whole);

    Store::at(world.store().unwrap()).log(Level::Error, "hook tick", "no room for it");
    let said = world.sidecar(["doctor", "--json"]);
    let found = ills_of(&said);
    assert_eq!((found["recording"].as_str(), found["log"].as_str()), ("problem", "note"));
    assert!(finding(&said, "log")["what"].as_str().unwrap().contains("hook tick: no room for it"));
    world.look();
    assert!(!ills(&world).contains_key("recording"), "a look has succeeded since");
}

#[test]
fn a_damaged_hook_of_an_agent_is_repaired_and_one_that_was_never_installed_is_not() {
    let world = World::bare();
    let settings = world.home().join(".claude/settings.json");
    std::fs::create_dir_all(settings.parent().unwrap()).unwrap();
    std::fs::write(&settings, "{\n  \"model\": \"x\"\n}\n").unwrap();
    assert_eq!(mended(&world.sidecar(["doctor", "--fix", "--json"])), [""; 0]);
    assert_eq!(std::fs::read_to_string(&settings).unwrap(), "{\n  \"model\": \"x\"\n}\n");

    world.sidecar(["agent", "integration", "install", "claude"]).ok();
    let whole = std::fs::read_to_string(&settings).unwrap();
    let mut half: Value = serde_json::from_str(&whole).unwrap();
    half["hooks"].as_object_mut().unwrap().remove("SessionEnd");
    std::fs::write(&settings, half.to_string()).unwrap();
    assert_eq!(ills(&world), levels(&[("integration_claude", "problem")]));
    assert_eq!(mended(&world.sidecar(["doctor", "--fix", "--json"])), ["integration_claude"]);
    let now: Value = serde_json::from_str(&std::fs::read_to_string(&settings).unwrap()).unwrap();
    assert_eq!(now, serde_json::from_str::<Value>(&whole).unwrap());
    assert_eq!(ills(&world), Levels::new());
}

#[test]
fn an_agent_that_only_the_login_shell_finds_is_a_note_and_one_that_nobody_finds_a_problem() {
    let world = world_without_timer(3600.0);
    let fake = FakeAgent::new(&world);
    world.inhabit(1);
    world.wait_quiet();
    fake.bind("s0", &fake.id("one"));
    assert_eq!(ills(&world), levels(&[("server_path", "note")]));
    std::fs::remove_file(world.work().join("fake bin/fake")).unwrap();
    assert_eq!(ills(&world), levels(&[("server_path", "problem")]));
    // What the user's own entry calls inherited is looked for, too.
    world.tmux(["set-environment", "-g", "FAKE_INHERITED", "1"]).ok();
    assert_eq!(ills(&world)["inherited_variables"], "problem");
}

#[test]
fn records_of_another_server_that_wait_are_told_with_the_command_for_them() {
    let world = world_without_timer(0.3);
    world.tmux(["-L", "other", "new-session", "-d", "-s", "there"]).ok();
    let pid: i32 = world.tmux(["-L", "other", "display-message", "-p", "#{pid}"]).ok().trim().parse().unwrap();
    let listed = || world.sidecar(["-L", "other", "shell", "list", "--all"]).out;
    wait_or_tell(|| format!("the record of the other server: {}", listed()), || listed().contains("there").then_some(()));
    assert_eq!(ills(&world), Levels::new(), "it lives");
    world.signal(pid, "KILL");
    world.wait_gone(pid);
    let said = world.sidecar(["doctor", "--json"]);
    assert_eq!(ills_of(&said), levels(&[("other_servers", "note")]));
    assert_eq!(finding(&said, "other_servers")["fix"], "sidecar -L 'other' session restore");
    assert_eq!(ills_of(&world.sidecar(["-L", "other", "doctor", "--json"])), levels(&[("stale_socket", "note")]));
}

#[test]
fn a_timer_or_a_boot_unit_that_nothing_starts_or_that_was_edited_is_told() {
    let world = world_without_timer(3600.0);
    // No manager can be asked here, so the files alone tell.
    world.inhabit(1);
    world.sidecar(["snapshot", "timer", "install"]).ok();
    world.sidecar(["boot", "install"]).ok();
    // Whether this machine's user lingers is not this world's.
    assert!(!ills(&world).contains_key("snapshot_timer"));
    let units = folder(&world);
    std::fs::remove_file(units.join("timers.target.wants/sidecar-snapshot.timer")).unwrap();
    let service = units.join("sidecar-boot.service");
    let text = std::fs::read_to_string(&service).unwrap();
    std::fs::write(&service, text + "\n# mine\n").unwrap();
    let said = world.sidecar(["doctor", "--json"]);
    assert_eq!(ills_of(&said), levels(&[("boot_unit", "note"), ("snapshot_timer", "problem")]));
    assert!(finding(&said, "boot_unit")["what"].as_str().unwrap().contains("edited"));
    assert_eq!(finding(&said, "snapshot_timer")["fix"], "sidecar snapshot timer install");
}

#[test]
fn an_older_server_behind_a_newer_client_is_told() {
    let versions = supported_versions();
    let ((old, first), (new, last)) = (&versions[0], &versions[versions.len() - 1]);
    if old == new {
        return;
    }
    let mut world = World::with_tmux(first, 3600.0);
    world.inhabit(1);
    world.switch_tmux(last);
    let said = run(&mut world.sidecar_command(["doctor", "--json"]));
    let found = ills_of(&said);
    // Not every pair of versions understands each other.
    let is_told =
        found.get("tmux_version").is_some_and(|level| level == "note") || found.get("server").is_some_and(|level| level == "problem");
    assert!(is_told, "{new} asks {old}: {said:?}");
}
