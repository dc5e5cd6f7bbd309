//! The hook in agents' settings: put in without touching anything else, mended, and taken out to the byte.

use std::io::Write;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde_json::{Value, json};

use super::durability::bound_by_modes;
use super::support::{Said, World, sidecar_path};

const EVENTS: [&str; 3] = ["SessionEnd", "SessionStart", "UserPromptSubmit"];

/// Runs `sidecar agent integration WORDS` with these variables.
fn integration(world: &World, variables: &[(&str, &Path)], words: &[&str]) -> Said {
    let mut command = world.command(sidecar_path());
    command.args(["agent", "integration"]).args(words).envs(variables.iter().copied());
    Said::of(&command.output().unwrap())
}

fn run(world: &World, words: &[&str]) -> Said {
    integration(world, &[], words)
}

/// The state of an agent's integration, and what is said of it.
fn state(world: &World, kind: &str) -> (String, String) {
    let status = run(world, &["status", kind, "--json"]).json();
    let row = &status["integrations"][0];
    (row["state"].as_str().unwrap().to_owned(), row["detail"].as_str().unwrap().to_owned())
}

fn settings(world: &World) -> PathBuf {
    let folder = world.home().join(".claude");
    std::fs::create_dir_all(&folder).unwrap();
    folder.join("settings.json")
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap()
}

fn set_mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

/// The names in a folder, sorted.
fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// The events that our line stands under, once for each entry.
fn events_of_ours(text: &str) -> Vec<String> {
    let value: Value = serde_json::from_str(text.trim_start_matches('\u{feff}')).unwrap();
    let groups = value["hooks"].as_object().unwrap().iter().flat_map(|(event, groups)| {
        groups.as_array().unwrap().iter().map(move |group| (event, group["hooks"][0]["command"].as_str().unwrap_or_default().to_owned()))
    });
    let mut events: Vec<String> =
        groups.filter(|(_, command)| command.contains("report-session")).map(|(event, _)| event.clone()).collect();
    events.sort();
    events
}

#[test]
fn settings_of_every_kind_get_the_hook_and_lose_it_to_the_byte() {
    let huge = format!("{{\n  \"a\": [{}\"end\"]\n}}\n", "\"a word, and another\", ".repeat(100_000));
    for (name, text) in [
        ("empty", ""),
        ("blank", " \n\n"),
        ("an empty object", "{}"),
        ("one line", r#"{"model":"opus","permissions":{"allow":["Bash"]}}"#),
        ("lines of Windows", "{\r\n\t\"model\": \"opus\"\r\n}\r\n"),
        ("a byte order mark", "\u{feff}{\n  \"model\": \"opus\"\n}\n"),
        ("no line end at the end", "{\n    \"z\": 1,\n    \"a\": {\"b\":[ ]}\n}"),
        ("keys in odd order, twice the same", "{\n  \"z\": 1, \"a\": 2,\n\n  \"m\": [],   \"z\": 3\n}\n"),
        (
            "hooks of others",
            "{\n  \"hooks\": {\n    \"SessionEnd\": [ {\"hooks\": [{\"type\":\"command\",\"command\":\"true\"}]} ]\n  },\n  \"x\": 1\n}\n",
        ),
        ("empty hooks", "{\n  \"hooks\": { }, \"x\": 1\n}\n"),
        ("all hooks off", "{\"disableAllHooks\": true}\n"),
        ("huge", huge.as_str()),
    ] {
        let world = World::bare();
        let path = settings(&world);
        std::fs::write(&path, text).unwrap();
        set_mode(&path, 0o640);
        run(&world, &["install", "claude"]).ok();
        let installed = read(&path);
        assert_eq!(events_of_ours(&installed), EVENTS, "{name}");
        assert_eq!(std::fs::metadata(&path).unwrap().mode() & 0o7777, 0o640, "{name}");

        let before = std::fs::metadata(&path).unwrap();
        assert!(run(&world, &["install", "claude"]).ok().starts_with("Claude Code: nothing to change\n"), "{name}");
        assert_eq!(std::fs::metadata(&path).unwrap().ino(), before.ino(), "{name}: not even written");

        run(&world, &["uninstall", "claude"]).ok();
        assert!(read(&path) == text, "{name}: {}", read(&path));
        assert_eq!(names(path.parent().unwrap()), ["settings.json"], "{name}: the copy goes when it says the same");
    }
}

#[test]
fn a_missing_file_or_folder_is_made_and_goes_again() {
    let world = World::bare();
    let path = world.home().join(".claude/settings.json");
    run(&world, &["install", "claude"]).ok();
    assert_eq!(events_of_ours(&read(&path)), EVENTS);
    let mode = |path: &Path| std::fs::metadata(path).unwrap().mode() & 0o777;
    assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700));
    assert_eq!(state(&world, "claude"), ("installed".to_owned(), String::new()));
    run(&world, &["uninstall", "claude"]).ok();
    assert!(names(path.parent().unwrap()).is_empty());
    assert_eq!(state(&world, "claude").0, "not_installed");
}

#[test]
fn links_stay_and_the_file_behind_them_is_changed() {
    let world = World::bare();
    let (path, dotfiles) = (settings(&world), world.folder("dotfiles"));
    symlink(dotfiles.join("middle"), &path).unwrap();
    symlink("claude.json", dotfiles.join("middle")).unwrap();
    // It dangles first.
    run(&world, &["install", "claude"]).ok();
    assert_eq!(events_of_ours(&read(&dotfiles.join("claude.json"))), EVENTS);
    run(&world, &["uninstall", "claude"]).ok();
    assert_eq!(names(&dotfiles), ["middle"]);
    std::fs::write(dotfiles.join("claude.json"), "{ \"x\": 1 }").unwrap();
    run(&world, &["install", "claude"]).ok();
    assert!(std::fs::symlink_metadata(&path).unwrap().is_symlink());
    assert_eq!(names(&dotfiles), ["claude.json", "middle"], "the copy lies in the agent's folder");
    assert_eq!(read(&path.with_extension("json.before-sidecar")), "{ \"x\": 1 }");
    run(&world, &["uninstall", "claude"]).ok();
    assert_eq!(read(&dotfiles.join("claude.json")), "{ \"x\": 1 }");
    std::fs::remove_file(dotfiles.join("middle")).unwrap();
    symlink("nowhere/claude.json", dotfiles.join("middle")).unwrap();
    let said = run(&world, &["install", "claude"]);
    assert_eq!(said.code, 5);
    assert!(said.err.contains("whose folder is missing"), "{said:?}");
}

#[test]
fn what_cannot_be_edited_is_refused_with_its_place_and_left_alone() {
    for (text, place, what) in [
        ("{\n  // mine\n}", ":2:3: ", "not JSON"),
        ("{\"a\": 1,}", ":1:8: ", "not JSON"),
        ("[]", ":1:1: ", "no JSON object"),
        ("{\"hooks\": []}", ":1:11: ", "\"hooks\" is no JSON object"),
        ("{\"hooks\": {\"SessionEnd\": 1}}", ":1:26: ", "\"SessionEnd\" is no list"),
        ("{\"hooks\": {}, \"hooks\": {}}", ":1:15: ", "for the second time"),
    ] {
        let world = World::bare();
        let path = settings(&world);
        std::fs::write(&path, text).unwrap();
        for words in [&["install", "claude"][..], &["install", "claude", "--dry-run"], &["uninstall", "claude"], &["repair", "claude"]] {
            let said = run(&world, words);
            assert_eq!((said.code, said.out.as_str()), (5, ""), "{text} {said:?}");
            assert!(said.err.contains(&format!("settings.json{place}")) && said.err.contains(what), "{text} {said:?}");
        }
        let said = run(&world, &["install", "claude", "--json"]);
        assert_eq!(said.code, 5);
        assert_eq!(said.json()["integrations"][0]["error"]["code"], "settings_refused");
        assert_eq!(state(&world, "claude").0, "unreadable");
        assert_eq!(read(&path), text);
        assert_eq!(names(path.parent().unwrap()), ["settings.json"]);
    }
    let world = World::bare();
    let path = settings(&world);
    std::fs::write(&path, "{}").unwrap();
    set_mode(&path, 0o444);
    let said = run(&world, &["install", "claude"]);
    assert_eq!(said.code, 5);
    assert!(said.err.contains("it is read-only"), "{said:?}");
    assert_eq!(names(path.parent().unwrap()), ["settings.json"]);
}

#[test]
fn a_folder_that_cannot_be_written_is_told_and_the_owner_of_a_file_stays() {
    let world = World::bare();
    let path = settings(&world);
    std::fs::write(&path, "{}").unwrap();
    set_mode(path.parent().unwrap(), 0o500);
    let said = Said::of(&bound_by_modes(&world, &["agent", "integration", "install", "claude"]).output().unwrap());
    assert_eq!(said.code, 1, "{said:?}");
    assert!(said.err.contains("Permission denied") && said.err.contains("settings.json"), "{said:?}");
    assert_eq!((read(&path).as_str(), names(path.parent().unwrap())), ("{}", vec!["settings.json".to_owned()]));
    set_mode(path.parent().unwrap(), 0o700);
    // Only root may give a file to somebody else; for others the owner is theirs before and after.
    let nobody = nix::unistd::getuid().is_root().then_some(65534);
    std::os::unix::fs::chown(&path, nobody, nobody).unwrap();
    let before = std::fs::metadata(&path).unwrap();
    run(&world, &["install", "claude"]).ok();
    let after = std::fs::metadata(&path).unwrap();
    assert_ne!(after.ino(), before.ino());
    assert_eq!((after.uid(), after.gid()), (before.uid(), before.gid()));
}

#[test]
fn a_dry_run_shows_exactly_what_is_then_changed() {
    let world = World::bare();
    let path = settings(&world);
    let text = "{\n  \"model\": \"opus\",\n  \"hooks\": {\n    \"Stop\": []\n  }\n}";
    std::fs::write(&path, text).unwrap();
    let patched = world.folder("patched").join("settings.json");
    for words in [["install", "claude"], ["uninstall", "claude"]] {
        std::fs::copy(&path, &patched).unwrap();
        let before = read(&path);
        let shown = run(&world, &[words[0], words[1], "--dry-run"]).ok();
        assert_eq!(read(&path), before, "a dry run writes nothing");
        let told = run(&world, &[words[0], words[1], "--dry-run", "--json"]).json();
        let diff = told["integrations"][0]["files"][0]["diff"].as_str().unwrap().to_owned();
        assert!(shown.contains(&diff), "{shown}");
        let patch = patched.with_file_name("diff");
        std::fs::write(&patch, diff.replace(path.to_str().unwrap(), "settings.json")).unwrap();
        let mut apply = world.command("git");
        apply.args(["apply", "-p0", "--unsafe-paths", patch.to_str().unwrap()]).current_dir(patched.parent().unwrap());
        Said::of(&apply.output().unwrap()).ok();
        run(&world, &words).ok();
        assert_eq!(read(&patched), read(&path));
    }
    assert_eq!(read(&path), text);
}

#[test]
fn a_half_removed_hook_and_one_of_a_moved_helper_are_told_and_mended() {
    let world = World::bare();
    let path = settings(&world);
    std::fs::write(&path, "{ \"x\": 1 }").unwrap();
    assert_eq!(run(&world, &["repair", "claude"]).ok(), "Claude Code: nothing to change\n", "nothing is there to mend");
    run(&world, &["install", "claude"]).ok();
    let whole = read(&path);

    let moved = whole.replace(sidecar_path(), "/gone/sidecar");
    assert_ne!(moved, whole);
    std::fs::write(&path, &moved).unwrap();
    assert_eq!(state(&world, "claude"), ("needs_repair".to_owned(), "it calls /gone/sidecar, which is gone".to_owned()));
    run(&world, &["repair"]).ok();
    assert_eq!(read(&path), whole);

    std::fs::write(&path, whole.replace("SessionStart", "Stop")).unwrap();
    assert_eq!(state(&world, "claude"), ("needs_repair".to_owned(), "the entry for SessionStart is missing".to_owned()));
    run(&world, &["repair", "claude"]).ok();
    assert_eq!(events_of_ours(&read(&path)), EVENTS);

    std::fs::write(&path, whole.replace(" || true", "")).unwrap();
    assert_eq!(state(&world, "claude"), ("needs_repair".to_owned(), "an entry was changed".to_owned()));
    run(&world, &["repair", "claude"]).ok();
    assert_eq!(read(&path), whole);

    // Another helper that runs is no fault, but told.
    let other = world.folder("other").join("sidecar");
    std::fs::copy(sidecar_path(), &other).unwrap();
    std::fs::write(&path, whole.replace(sidecar_path(), other.to_str().unwrap())).unwrap();
    assert_eq!(state(&world, "claude"), ("installed".to_owned(), format!("it calls {}", other.display())));

    std::fs::write(&path, whole.replace("\"x\": 1", "\"disableAllHooks\": true")).unwrap();
    assert_eq!(state(&world, "claude").0, "disabled");
    let said = run(&world, &["install", "claude"]).ok();
    assert!(said.contains("disableAllHooks switches all hooks off: take it out of settings.json"), "{said}");
}

#[test]
fn what_others_write_meanwhile_stays() {
    let world = World::bare();
    let path = settings(&world);
    std::fs::write(&path, "{\n  \"model\": \"opus\"\n}\n").unwrap();
    run(&world, &["install", "claude"]).ok();
    // The agent itself writes its settings anew, in its own form.
    let mut value: Value = serde_json::from_str(&read(&path)).unwrap();
    value["theme"] = json!("dark");
    value["hooks"]["Stop"] = json!([{ "hooks": [{ "type": "command", "command": "mine" }] }]);
    std::fs::write(&path, serde_json::to_string(&value).unwrap()).unwrap();
    run(&world, &["uninstall", "claude"]).ok();
    let left: Value = serde_json::from_str(&read(&path)).unwrap();
    assert_eq!(left, json!({ "model": "opus", "theme": "dark", "hooks": { "Stop": value["hooks"]["Stop"] } }));
    // The copy says no longer what is there: it is kept, and a later installation makes its own.
    assert_eq!(names(path.parent().unwrap()), ["settings.json", "settings.json.before-sidecar.1"]);
    let now = read(&path);
    run(&world, &["install", "claude"]).ok();
    run(&world, &["uninstall", "claude"]).ok();
    assert_eq!(read(&path), now);
}

#[test]
fn the_folders_that_the_agents_variables_name_are_used() {
    let world = World::bare();
    let (claude, codex) = (world.folder("claude conf"), world.folder("codex conf"));
    let variables = [("CLAUDE_CONFIG_DIR", claude.as_path()), ("CODEX_HOME", codex.as_path())];
    for kind in ["claude", "codex"] {
        integration(&world, &variables, &["install", kind]).ok();
    }
    assert_eq!((names(&claude), names(&codex)), (vec!["settings.json".to_owned()], vec!["hooks.json".to_owned()]));
    assert!(!world.home().join(".claude").exists() && !world.home().join(".codex").exists());
    let said = integration(&world, &[("CODEX_HOME", Path::new("here"))], &["status", "codex"]);
    assert_eq!(said.code, 2);
    assert!(said.err.contains("CODEX_HOME is no absolute path"), "{said:?}");
}

#[test]
fn codex_gets_its_hook_where_the_user_keeps_hooks() {
    let world = World::bare();
    let folder = world.home().join(".codex");
    std::fs::create_dir(&folder).unwrap();
    let (hooks, config) = (folder.join("hooks.json"), folder.join("config.toml"));
    let own = "model = \"o3\" # mine\n\n[[hooks.Stop]]\nhooks = [{ type = \"command\", command = \"true\" }]\n\n[projects.\"/w\"]\ntrust_level = \"trusted\"";
    std::fs::write(&config, own).unwrap();
    let said = run(&world, &["install", "codex"]).ok();
    assert!(said.contains("config.toml") && said.contains("--trust"), "{said}");
    assert!(!hooks.exists());
    assert!(read(&config).starts_with(&format!("{own}\n\n[[hooks.UserPromptSubmit]]\n")), "{}", read(&config));
    let (state_, detail) = state(&world, "codex");
    assert_eq!(state_, "installed");
    assert!(detail.contains("codex is not on PATH"), "{detail}");

    // The title, and hooks in both files.
    run(&world, &["install", "codex", "--titles"]).ok();
    assert!(read(&config).contains("\"thread-id\""));
    std::fs::write(&hooks, "{\"hooks\": {\"Stop\": [{\"hooks\": []}]}}").unwrap();
    assert!(state(&world, "codex").1.contains("Codex warns of that"));
    run(&world, &["uninstall", "codex"]).ok();
    assert_eq!(read(&config), own);
    assert_eq!(read(&hooks), "{\"hooks\": {\"Stop\": [{\"hooks\": []}]}}");

    // Both hold ours: it stays in one.
    run(&world, &["install", "codex"]).ok();
    let entry: Value = serde_json::from_str(&read(&hooks)).unwrap();
    let line = entry["hooks"]["UserPromptSubmit"][0]["hooks"][0]["command"].to_string();
    std::fs::write(&config, format!("[[hooks.UserPromptSubmit]]\nhooks = [{{ type = \"command\", command = {line} }}]\n")).unwrap();
    assert_eq!(state(&world, "codex"), ("needs_repair".to_owned(), "there are 2 entries for UserPromptSubmit".to_owned()));
    run(&world, &["repair", "codex"]).ok();
    assert!(!config.exists() || !read(&config).contains("report-session"));
}

#[test]
fn codex_files_that_cannot_be_read_are_refused() {
    let world = World::bare();
    let folder = world.home().join(".codex");
    std::fs::create_dir(&folder).unwrap();
    std::fs::write(folder.join("config.toml"), "a = 1\nb = [\n").unwrap();
    let said = run(&world, &["install", "codex"]);
    assert_eq!(said.code, 5);
    assert!(said.err.contains("config.toml:2:6: it is not TOML"), "{said:?}");
    assert_eq!(names(&folder), ["config.toml"]);
}

#[test]
fn arguments_that_make_no_sense_are_told() {
    let world = World::bare();
    for (words, code, told) in [
        (&["install"][..], 3, "is on PATH"),
        (&["install", "nope"], 3, "these are: amp, claude, codex"),
        (&["status", "nope"], 3, "no agent is known as 'nope'"),
        (&["install", "claude", "--trust"], 2, "--trust is for codex alone"),
        (&["install", "claude", "--titles"], 2, "--titles is for codex alone"),
        (&["mend"], 2, "unrecognized subcommand"),
    ] {
        let said = run(&world, words);
        assert_eq!(said.code, code, "{said:?}");
        assert!(said.err.contains(told), "{said:?}");
    }
    let said = run(&world, &["install", "codex", "--trust"]);
    assert_eq!(said.code, 1, "without Codex nobody can trust: {said:?}");
    assert!(said.err.contains("codex is not on PATH") && said.err.contains("hint: start codex once"), "{said:?}");
}

#[test]
fn known_agents_are_listed_with_those_of_the_user() {
    let world = World::bare();
    let config = world.work().parent().unwrap().join("config/sidecar");
    std::fs::create_dir_all(&config).unwrap();
    std::fs::write(config.join("config.json"), r#"{"agents": {"mine": {"programs": ["sh"], "resume": ["{id}"]}, "bad": {"programs": 1}}}"#)
        .unwrap();
    let said = run(&world, &["list", "--json"]);
    assert!(said.err.contains("config.json: agents.bad.programs is no list of words"), "{said:?}");
    let rows = said.json();
    let kinds: Vec<&str> = rows["agents"].as_array().unwrap().iter().map(|row| row["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["amp", "claude", "codex", "copilot", "crush", "cursor", "droid", "gemini", "goose", "opencode", "qwen", "mine"]);
    assert_eq!(rows["agents"][11]["integration"], false);
    assert_eq!(rows["agents"][11]["program"].as_str().map(|path| path.ends_with("/sh")), Some(true));
    assert_eq!(run(&world, &["install", "mine"]).code, 3);
}

#[test]
fn a_report_is_read_and_nothing_is_ever_said() {
    let world = World::bare();
    let large = vec![b'x'; 3 * 1024 * 1024];
    for (words, input) in [
        (&["--kind", "claude", "--hook-stdin"][..], &b"{}"[..]),
        (&["--kind", "codex", "--hook-stdin"], &large),
        (&["--kind", "claude", "--hook-stdin"], &b"\xff\0"[..]),
        (&["--nonsense"], &b""[..]),
        (&[], &b""[..]),
    ] {
        let mut child = world
            .command(sidecar_path())
            .args(["agent", "report-session"])
            .args(words)
            .env_remove("HOME")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // What is longer than is read breaks the pipe.
        let _ = child.stdin.take().unwrap().write_all(input);
        let said = Said::of(&child.wait_with_output().unwrap());
        assert_eq!((said.code, said.out.as_str(), said.err.as_str()), (0, "", ""), "{words:?}");
    }
}
