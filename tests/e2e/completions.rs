//! Completions in real shells: what a Tab makes of a shell's name, read by the program that is called then.

use std::path::PathBuf;

use super::support::{World, wait_for, wait_or_tell};

/// Each is the only one that begins with its first two letters; none may be run, expanded or cut.
const NAMES: &[&str] = &[
    "ab my  notes END",
    "ac it's \"q\" END",
    "ad $(touch CANARY) `touch CANARY`END",
    "ae ;touch CANARY|& #{pid} #(touch CANARY)END",
    "af ~ *?[x] {a,b} !! !x <>END",
    "ag \\x\\END",
    "ah naïve 日本 é:b=c@dEND",
    "ai-%s%END",
];

/// A world with these sessions and a `sidecar` that completes, and else writes down its arguments.
struct Typing {
    world: World,
    said: PathBuf,
}

impl Typing {
    fn new() -> Self {
        let world = World::new(10.0);
        for name in NAMES {
            world.tmux(["new-session", "-d", "-s", &name.replace('#', "##")]).ok();
        }
        wait_for("all sessions in the records", || (world.recorded().len() == NAMES.len()).then_some(()));
        // tmux up to 3.6 keeps no colon in a session's name; the shell's own name does.
        let colon = world.recorded().into_iter().find(|name| name.starts_with("ah")).unwrap();
        world.sidecar(["shell", "rename", "--target", &colon, "ah a:b c:dEND"]).ok();
        let said = world.work().join("said");
        let script = format!(
            "#!/bin/sh\nif [ \"$1\" = complete ]; then exec '{}' \"$@\"; fi\nprintf '%s\\n' \"$@\" end > '{}.new' && mv '{1}.new' '{1}'\n",
            super::support::sidecar_path(),
            said.display()
        );
        let program = world.folder("bin").join("sidecar");
        std::fs::write(&program, script).unwrap();
        assert!(world.command("chmod").arg("+x").arg(&program).status().unwrap().success());
        for shell in ["bash", "zsh", "fish"] {
            std::fs::write(world.folder("completions").join(shell), world.sidecar(["completions", shell]).ok()).unwrap();
        }
        let rc = "PS1='ready> '\nautoload -U compinit && compinit -u -D\nsource \"$COMPLETIONS/zsh\"\n";
        std::fs::write(world.folder("completions").join(".zshrc"), rc).unwrap();
        std::fs::write(world.folder("completions").join("bashrc"), "PS1='ready> '\nsource \"$COMPLETIONS/bash\"\n").unwrap();
        Self { world, said }
    }

    /// Starts a shell in a window of its own.
    fn open(&self, shell: &str) -> String {
        let folder = self.world.work().join("completions").display().to_string();
        let line = match shell {
            "bash" => format!("exec bash --noprofile --rcfile {folder}/bashrc -i"),
            "zsh" => format!("ZDOTDIR={folder} exec zsh -i"),
            _ => format!("exec fish -C 'function fish_prompt; echo \"ready> \"; end; source {folder}/fish'"),
        };
        let bin = self.world.work().join("bin").display().to_string();
        let line = format!("COMPLETIONS={folder} PATH={bin}:$PATH; export COMPLETIONS PATH; {line}");
        let pane = self.world.tmux(["new-session", "-d", "-x", "200", "-y", "50", "-P", "-F", "#{pane_id}", "-s", shell, &line]).ok();
        let pane = pane.trim().to_owned();
        self.world.wait_shown(&pane, "ready>");
        pane
    }

    /// Types a line, a Tab behind it, and gives the arguments that the program was called with.
    #[track_caller]
    fn tab(&self, pane: &str, line: &str) -> Vec<String> {
        let _ = std::fs::remove_file(&self.said);
        self.world.tmux(["send-keys", "-t", pane, "-l", line]).ok();
        self.world.press(pane, &["Tab"]);
        let visible = || self.world.tmux(["capture-pane", "-p", "-J", "-t", pane]).ok();
        wait_or_tell(|| format!("a word after {line}:\n{}", visible()), || visible().contains("END").then_some(()));
        let said = self.enter(pane);
        self.world.press(pane, &["C-l"]);
        wait_for("a clean screen", || (!visible().contains("END")).then_some(()));
        said
    }

    /// Presses Enter, and gives the arguments that the program was called with.
    #[track_caller]
    fn enter(&self, pane: &str) -> Vec<String> {
        self.world.press(pane, &["Enter"]);
        let said = wait_or_tell(|| format!("a call:\n{}", self.world.screen(pane)), || std::fs::read_to_string(&self.said).ok());
        said.lines().map(str::to_owned).collect()
    }
}

#[track_caller]
fn any_name_is_completed_to_exactly_that_word(shell: &str) {
    let typing = Typing::new();
    let listed = typing.world.sidecar(["shell", "list", "--all", "--json"]).json();
    let names = listed["shells"].as_array().unwrap().iter().map(|shell| shell["name"].as_str().unwrap().to_owned());
    let names: Vec<String> = names.collect();
    assert!(names.contains(&"ah a:b c:dEND".to_owned()) && names.len() == NAMES.len(), "{names:?}");
    let pane = typing.open(shell);
    // Where no shell is wanted the commands are completed, and where one is nothing else.
    typing.world.press(&pane, &["sidecar sessi", "Tab", "statu", "Tab"]);
    assert_eq!(typing.enter(&pane), ["session", "status", "end"]);
    std::fs::remove_file(&typing.said).unwrap();
    std::fs::write(typing.world.work().join("zz-file"), "").unwrap();
    typing.world.press(&pane, &["sidecar shell forget zz", "Tab"]);
    assert_eq!(typing.enter(&pane), ["shell", "forget", "zz", "end"]);
    for name in &names {
        let start = &name[..2];
        for (line, words) in [
            (format!("sidecar shell forget {start}"), vec!["shell", "forget", name]),
            (format!("sidecar shell forget '{start}"), vec!["shell", "forget", name]),
            (format!("sidecar shell forget \"{start}"), vec!["shell", "forget", name]),
            (format!("sidecar shell delete --target {start}"), vec!["shell", "delete", "--target", name]),
            (format!("sidecar session restore --shell={start}"), vec!["session", "restore", &format!("--shell={name}")]),
        ] {
            assert_eq!(typing.tab(&pane, &line), [&words[..], &["end"]].concat(), "{line}");
            for folder in [typing.world.work(), typing.world.home()] {
                assert!(!folder.join("CANARY").exists(), "{line}");
            }
        }
    }
}

#[test]
fn in_bash_any_name_is_completed_to_exactly_that_word_and_nothing_runs() {
    any_name_is_completed_to_exactly_that_word("bash");
}

#[test]
fn in_zsh_any_name_is_completed_to_exactly_that_word_and_nothing_runs() {
    any_name_is_completed_to_exactly_that_word("zsh");
}

#[test]
fn in_fish_any_name_is_completed_to_exactly_that_word_and_nothing_runs() {
    any_name_is_completed_to_exactly_that_word("fish");
}

#[test]
fn each_shell_is_offered_by_a_word_that_means_it_where_it_can_stand() {
    let world = World::new(10.0);
    let offered = |line: &[&str]| {
        let said = world.sidecar([&["complete", "targets", "--", "sidecar"][..], line].concat());
        assert_eq!(said.err, "", "{line:?}");
        (said.code == 0).then(|| said.out.lines().map(str::to_owned).collect::<Vec<_>>())
    };
    assert_eq!(offered(&["shell", "forget", ""]), Some(vec![]));
    assert!(world.store().is_none());
    for name in ["web", "-x", "old"] {
        world.tmux(["new-session", "-d", "-s", name]).ok();
    }
    world.wait_recorded(&["web", "-x", "old"]);
    world.sidecar(["shell", "forget", "old"]).ok();
    let id = world.shell("-x")["id"].as_str().unwrap().to_owned();
    // Alone it would be taken for an option.
    assert_eq!(offered(&["shell", "forget", ""]), Some(vec![id, "web".to_owned()]));
    let both = Some(vec!["-x".to_owned(), "web".to_owned()]);
    assert_eq!(offered(&["shell", "forget", "--", ""]), both);
    assert_eq!(offered(&["session", "restore", "--shell", ""]), both);
    assert_eq!(offered(&["shell", "restore", ""]), Some(vec!["old".to_owned()]));
    assert_eq!(offered(&["-L", "other", "shell", "forget", ""]), Some(vec![]));
    assert_eq!(offered(&["-S", world.socket().to_str().unwrap(), "session", "policy", ""]).map(|words| words.len()), Some(2));
    assert_eq!(offered(&["shell", "rename", ""]), None);
    // Where one name means several, by that of the session.
    world.sidecar(["shell", "restore", "old"]).ok();
    world.edit_state(|state| state["shells"].as_array_mut().unwrap().iter_mut().for_each(|shell| shell["name"] = "same".into()));
    let words = offered(&["shell", "delete", "--target", ""]).unwrap();
    assert_eq!(words, ["-x", "old", "web"]);
}

#[test]
fn fish_offers_what_can_stand_behind_commands_of_three_words() {
    let world = World::bare();
    let bin = world.folder("bin");
    std::os::unix::fs::symlink(super::support::sidecar_path(), bin.join("sidecar")).unwrap();
    let script = bin.join("script");
    std::fs::write(&script, world.sidecar(["completions", "fish"]).ok()).unwrap();
    let offered = |line: &str| {
        let mut fish = world.command("fish");
        fish.args(["--no-config", "-c", &format!("source {}; complete -C '{line}'", script.display())]);
        fish.env("PATH", format!("{}:/usr/local/bin:/usr/bin:/bin", bin.display()));
        let out = String::from_utf8(fish.output().unwrap().stdout).unwrap();
        out.lines().map(|line| line.split('\t').next().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(offered("sidecar snapshot timer "), ["install", "status", "uninstall"]);
    assert_eq!(offered("sidecar snapshot timer install --"), ["--every", "--help", "--json"]);
    assert_eq!(offered("sidecar agent integration install "), ["claude", "codex", "copilot", "gemini", "opencode"]);
    assert!(offered("sidecar agent integration install --t").contains(&"--trust".to_owned()));
}

#[test]
fn snapshots_and_other_servers_are_offered_where_they_can_be_named() {
    let world = World::new(10.0);
    let offered = |line: &[&str]| {
        let said = world.sidecar([&["complete", "targets", "--", "sidecar"][..], line].concat());
        assert_eq!((said.code, said.err.as_str()), (0, ""), "{line:?}");
        said.out.lines().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(offered(&["snapshot", "show", ""]), [""; 0]);
    let mut names = Vec::new();
    for session in ["web", "api"] {
        world.tmux(["new-session", "-d", "-s", session]).ok();
        let saved = world.sidecar(["snapshot", "save", "--json"]).json();
        names.insert(0, saved["name"].as_str().unwrap().to_owned());
    }
    for line in [["snapshot", "show", ""], ["session", "status", "--as-of="], ["session", "restore", "--as-of="]] {
        let before = line[2];
        assert_eq!(offered(&line), names, "{before}");
    }
    assert_eq!(offered(&["session", "restore", "--from", ""]), [""; 0], "there is no other server");
    let own = world.store().unwrap();
    let name = |dir: &std::path::Path| dir.file_name().unwrap().to_str().unwrap().to_owned();
    let other = offered(&["-L", "other", "session", "restore", "--from", ""]);
    assert_eq!(other, [format!("{}/{}", name(own.parent().unwrap()), name(&own))]);
}

#[test]
fn the_manual_has_a_page_for_each_command_that_is_shown() {
    let world = World::bare();
    let page = world.sidecar(["man"]).ok();
    assert!(page.contains(".TH sidecar 1") && page.contains("sidecar\\-shell(1)"), "{page}");
    let folder = world.work().join("man/man1");
    world.sidecar(["man", "--out", folder.to_str().unwrap()]).ok();
    let pages: Vec<String> = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    for page in ["sidecar.1", "sidecar-import-resurrect.1", "sidecar-agent-integration-install.1"] {
        assert!(pages.contains(&page.to_owned()), "{pages:?}");
    }
    assert!(!pages.iter().any(|page| page.contains("hook") || page.contains("complete.") || page.contains("report")), "{pages:?}");
    std::fs::write(world.work().join("file"), "").unwrap();
    let refused = world.sidecar(["man", "--out", world.work().join("file/man1").to_str().unwrap()]);
    assert!(refused.code == 1 && refused.err.starts_with("error: cannot write the manual to "), "{refused:?}");
}
