//! Questions that agents stand at: one is answered, every other is told and left alone. The agent is a stand-in; at the end are the real
//! ones.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::agents_world::{Agents, programs};
use super::fake_agent::{FakeAgent, agents};
use super::support::{Said, World, tmux_versions, wait_for, wait_or_tell};
use super::verdicts::world;

pub const SUMMARY: &str = include_str!("../screens/claude-summary.txt");
const TRUST: &str = include_str!("../screens/claude-trust.txt");

/// Restores with the agents and these words; gives what became of the only one.
#[track_caller]
fn restore(world: &World, words: &[&str]) -> Value {
    let done = world.sidecar([&["session", "restore", "--agents", "--yes", "--json"][..], words].concat());
    assert_eq!(done.code, 0, "{done:?}\n{}", world.log());
    agents(&done.json())[0].clone()
}

fn is(agent: &Value, status: &str, reason: &str) -> bool {
    agent["status"] == status && agent["reason"] == reason
}

#[test]
fn a_resume_that_is_asked_how_to_go_on_answers_once_and_goes_on() {
    for (words, key) in [(&[][..], "2"), (&["--answer-choice", "1"], "1")] {
        let world = world(&["a"]);
        let fake = FakeAgent::new(&world);
        let a = fake.id("a");
        fake.bind("a", &a);
        fake.ask(&a, SUMMARY);
        world.crash();
        let agent = restore(&world, words);
        assert!(is(&agent, "resumed", "resumed"), "{agent}\n{}", world.log());
        assert_eq!((fake.keys(&a).as_str(), world.screen("=a:").trim()), (key, format!("this is {a}").as_str()));
    }
}

#[test]
fn a_resume_whose_question_is_not_answered_waits_and_goes_on_once_the_user_has() {
    for (dialog, words, reason, why) in [
        (SUMMARY, &["--no-answer"][..], "resume_summary", "go on with a summary or with the full conversation?"),
        (
            SUMMARY,
            &["--answer-choice", "7"],
            "resume_summary",
            "choice 7 is not offered; these are: 1 (Resume from summary (recommended)), 2 (Resume full session as-is), 3",
        ),
        (TRUST, &[], "trust_folder", "trust this folder?"),
    ] {
        let world = world(&["a"]);
        let fake = FakeAgent::new(&world);
        let a = fake.id("a");
        fake.bind("a", &a);
        fake.ask(&a, dialog);
        world.crash();
        let agent = restore(&world, words);
        assert!(is(&agent, "waiting", reason) && agent["detail"].as_str().unwrap().contains(why), "{agent}\n{}", world.log());
        assert_eq!(fake.keys(&a), "");
        world.press("=a:", &["2"]);
        fake.wait_state("a", "resumed");
        assert_eq!(fake.keys(&a), "2");
    }
}

#[test]
fn the_status_line_tells_who_waits_where_until_somebody_has_answered() {
    let world = World::bare();
    world.configure("set -g @sidecar-interval 0.3\nset -g @sidecar-offer off\n");
    let fake = FakeAgent::new(&world);
    let a = fake.id("a");
    world.tmux(["new-session", "-d", "-s", "a"]).ok();
    world.wait_recorded(&["a"]);
    world.crash();
    fake.bind("a", &a);
    fake.ask(&a, TRUST);
    let said = world.sidecar(["session", "restore", "--agents", "--yes"]).ok();
    let words = "1 agent waits for you in a:0.0 (trust this folder?)";
    assert!(said.contains(&format!("1 shell restored, {words}\n")), "{said}");
    let status = || world.tmux(["show-options", "-gqv", "@sidecar_status"]).ok().trim().to_owned();
    wait_for("the status", || (status() == words).then_some(()));
    // Whoever watched it is gone, and the user answers much later.
    let pane = world.pane_id("a");
    let watches = |pid: &i32| {
        let argv = sidecar::agents::process::argv(*pid).unwrap_or_default();
        let words: Vec<&[u8]> = argv.iter().map(sidecar::model::RawText::as_bytes).collect();
        words.len() == 5 && words[1..4] == [&b"pane"[..], b"watch", pane.as_bytes()]
    };
    let watcher = sidecar::agents::process::all().into_iter().find(watches).expect("somebody watches");
    world.signal(watcher, "KILL");
    world.wait_gone(watcher);
    let file = world.store().unwrap().join(format!("resumes/{pane}.json"));
    let mut resume: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
    resume["at"] = serde_json::json!(resume["at"].as_u64().unwrap() - 300_000);
    std::fs::write(&file, resume.to_string()).unwrap();
    world.look();
    assert_eq!(status(), words, "it still asks");
    world.press("=a:", &["2"]);
    wait_for("another status", || status().is_empty().then_some(()));
    fake.wait_state("a", "resumed");
}

#[test]
fn a_question_that_does_not_take_the_answer_is_told_after_a_few() {
    let world = world(&["a"]);
    let fake = FakeAgent::new(&world);
    let a = fake.id("a");
    fake.bind("a", &a);
    fake.ask(&a, SUMMARY);
    fake.set("dialog-stays");
    world.crash();
    let agent = restore(&world, &[]);
    assert!(is(&agent, "waiting", "resume_summary") || is(&agent, "starting", "starting"), "{agent}");
    let resume = fake.wait_state("a", "waiting");
    assert!(resume["detail"].as_str().unwrap().contains("does not take the answer"), "{resume}");
    assert_eq!(fake.keys(&a), "222");
}

/// Agents in panes of their own, without a restore.
struct Panes<'a> {
    fake: FakeAgent<'a>,
}

impl<'a> Panes<'a> {
    fn new(world: &'a World) -> Self {
        Self { fake: FakeAgent::new(world) }
    }

    /// A session of this name, in which an agent stands at this.
    fn ask(&self, name: &str, dialog: &str) {
        let id = self.fake.id(name);
        self.fake.ask(&id, dialog);
        let words = self.fake.words(&id);
        self.fake.world.tmux(["new-session", "-d", "-x", "100", "-y", "30", "-s", name, "--"].map(str::to_owned).iter().chain(&words)).ok();
        self.wait_drawn(&format!("={name}:"), dialog);
    }

    #[track_caller]
    fn wait_drawn(&self, target: &str, dialog: &str) {
        self.fake.world.wait_shown(target, dialog.trim().lines().last().unwrap());
    }

    /// A session whose program is a shell or a pager.
    fn show(&self, name: &str, script: &str) {
        self.fake.world.tmux(["new-session", "-d", "-x", "100", "-y", "30", "-s", name, "--", "/bin/sh", "-c", script]).ok();
        self.wait_drawn(&format!("={name}:"), SUMMARY);
    }

    fn answer(&self, words: &[&str]) -> Said {
        self.fake.world.sidecar([&["agent", "answer", "--json"][..], words].concat())
    }

    fn keys(&self, name: &str) -> String {
        self.fake.keys(&self.fake.id(name))
    }
}

/// Status, dialog, reason and choice by place.
fn rows(said: &Said) -> Vec<String> {
    let document = said.json();
    assert_eq!(document["schemaVersion"], 1);
    let word = |row: &Value, key: &str| row[key].as_str().unwrap().to_owned();
    let row = |row: &Value| {
        let [place, dialog, status, reason] = ["place", "dialog", "status", "reason"].map(|key| word(row, key));
        assert!(word(row, "tmux").starts_with('%') && word(row, "kind") == "fake", "{row}");
        format!("{place} {dialog} {status} {reason} {}", row["choice"])
    };
    document["panes"].as_array().unwrap().iter().map(row).collect()
}

#[test]
fn the_summary_is_answered_once_in_every_pane_and_nothing_else_is() {
    let world = World::bare();
    let panes = Panes::new(&world);
    let said = world.sidecar(["agent", "answer"]);
    assert_eq!((said.code, said.out.as_str()), (0, "Nothing to answer: no agent waits at a question.\n"), "{said:?}");

    let rule = "─".repeat(100);
    panes.ask("a", SUMMARY);
    panes.ask("b", TRUST);
    panes.ask("quoted", &format!("{SUMMARY}\n{rule}\n❯ \n{rule}\n  ? for shortcuts\n"));
    let file = world.work().join("summary");
    std::fs::write(&file, SUMMARY).unwrap();
    panes.show("pager", &format!("less -X '{}'", file.display()));
    panes.show("shell", &format!("cat '{}'; read -r key && echo \"$key\" >'{}'", file.display(), world.work().join("shell-key").display()));
    panes.ask("z", SUMMARY);

    let dry = panes.answer(&["--dry-run"]);
    let trust = "b:0.0 trust_folder waiting left_to_you null";
    assert_eq!((dry.code, dry.json()["dryRun"].as_bool()), (0, Some(true)));
    let would = |name: &str| format!("{name}:0.0 resume_summary would_answer would_answer 2");
    assert_eq!(rows(&dry), [would("a"), trust.to_owned(), would("z")]);
    assert_eq!(panes.keys("a"), "");

    let said = panes.answer(&[]);
    let answered = |name: &str| format!("{name}:0.0 resume_summary answered answered 2");
    assert_eq!((said.code, rows(&said)), (0, vec![answered("a"), trust.to_owned(), answered("z")]), "{said:?}");
    assert_eq!(said.json()["panes"][0]["detail"], "Resume full session as-is");
    for name in ["a", "z"] {
        panes.fake.wait_there(name, &panes.fake.id(name));
        assert_eq!(
            (panes.keys(name).as_str(), world.screen(&format!("={name}:")).trim()),
            ("2", format!("this is {}", panes.fake.id(name)).as_str())
        );
    }
    let again = world.sidecar(["agent", "answer"]);
    assert_eq!((again.code, again.out.as_str()), (0, "b:0.0   Fake   trust folder   waiting: trust this folder?\n"));
    assert_eq!((panes.keys("b"), panes.keys("quoted")), (String::new(), String::new()));
    assert!(!world.work().join("shell-key").exists());
    assert!(world.screen("=pager:").contains("Resume full session as-is"));
}

#[test]
fn another_choice_is_made_if_it_is_offered_and_one_that_is_not_taken_failed() {
    let world = World::bare();
    let panes = Panes::new(&world);
    panes.ask("a", SUMMARY);
    let said = panes.answer(&["--choice", "7"]);
    assert_eq!((said.code, rows(&said)), (1, vec!["a:0.0 resume_summary failed choice_not_offered null".to_owned()]));
    assert_eq!(world.sidecar(["agent", "answer", "--choice", "0"]).code, 2);
    assert_eq!(panes.keys("a"), "");
    let said = panes.answer(&["--choice", "1"]);
    assert_eq!((said.code, rows(&said)), (0, vec!["a:0.0 resume_summary answered answered 1".to_owned()]));
    assert_eq!(panes.keys("a"), "1");

    panes.fake.set("dialog-stays");
    panes.ask("b", SUMMARY);
    let said = panes.answer(&[]);
    assert_eq!((said.code, rows(&said)), (1, vec!["b:0.0 resume_summary failed not_taken null".to_owned()]));
    assert_eq!(panes.keys("b"), "2");
}

#[test]
fn a_key_reaches_the_pane_that_asks_alone_and_none_in_copy_mode() {
    for (version, folder) in tmux_versions() {
        let world = World::bare_with_tmux(&folder);
        let panes = Panes::new(&world);
        panes.ask("a", SUMMARY);
        let other = panes.fake.id("other");
        panes.fake.ask(&other, "any key goes on");
        world.tmux(["split-window", "-d", "-t", "=a:", "--"].map(str::to_owned).iter().chain(&panes.fake.words(&other))).ok();
        world.wait_shown("=a:.1", "any key goes on");
        world.tmux(["set-option", "-w", "-t", "=a:", "synchronize-panes", "on"]).ok();

        world.tmux(["copy-mode", "-t", "=a:.0"]).ok();
        let said = panes.answer(&[]);
        assert_eq!((said.code, rows(&said)), (1, vec!["a:0.0 resume_summary failed pane_busy null".to_owned()]), "{version}");
        world.tmux(["send-keys", "-t", "=a:.0", "-X", "cancel"]).ok();
        assert_eq!(panes.keys("a"), "");

        let said = panes.answer(&[]);
        assert_eq!((said.code, rows(&said)), (0, vec!["a:0.0 resume_summary answered answered 2".to_owned()]), "{version}");
        let told = || format!("{version}: {}", world.screen("=a:.1"));
        assert_eq!((panes.keys("a").as_str(), panes.fake.keys(&other).as_str()), ("2", ""), "{}", told());
        // That it was to be reached by keys at all.
        world.press("=a:.1", &["x"]);
        wait_or_tell(told, || (panes.fake.keys(&other) == "x").then_some(()));
        // No buffer is left behind.
        assert_eq!(world.tmux(["list-buffers"]).ok(), "", "{version}");
    }
}

impl Agents {
    /// What `agent answer` told, a line a pane.
    #[track_caller]
    fn answer(&self, code: i32) -> Vec<String> {
        let said = self.sidecar(&["agent", "answer"]);
        assert_eq!(said.code, code, "{said:?}");
        said.out.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
    }

    fn close(&self, session: &str) {
        let pid = self.world.tmux(["display-message", "-p", "-t", &format!("={session}:"), "#{pane_pid}"]).ok().trim().parse().unwrap();
        self.world.tmux(["kill-session", "-t", &format!("={session}")]).ok();
        self.world.wait_gone(pid);
    }

    /// Changes a file in the home of the agents.
    fn edit(&self, file: &str, change: impl FnOnce(String) -> String) {
        let path = self.world.home().join(file);
        std::fs::write(&path, change(std::fs::read_to_string(&path).unwrap())).unwrap();
    }

    /// The transcripts below a folder of the agents' home.
    fn talks(&self, folder: &str) -> Vec<PathBuf> {
        let found = self.world.command("find").arg(self.world.home().join(folder)).args(["-name", "*.jsonl"]).output().unwrap();
        String::from_utf8(found.stdout).unwrap().lines().map(PathBuf::from).collect()
    }
}

#[test]
fn the_real_agents_questions_are_told_and_left_alone() {
    let mut agents = Agents::new();
    // Settings that forbid nothing keep Codex from asking.
    agents.edit(".codex/config.toml", |text| {
        text.lines().filter(|line| !line.starts_with("approval_policy") && !line.starts_with("sandbox_mode")).collect::<Vec<_>>().join("\n")
    });
    agents.start("talk", "codex", &["--no-daemon", "the first"]);
    agents.wait_shown("talk", "ACK 1: the first");
    let id = wait_for("a transcript of Codex", || {
        let name = agents.talks(".codex/sessions").first()?.file_stem()?.to_str()?.to_owned();
        Some(name[name.len() - 36..].to_owned())
    });
    agents.close("talk");

    agents.work = agents.world.folder("elsewhere");
    agents.start("directory", "codex", &["--no-daemon", "resume", &id]);
    agents.start("claude", "claude", &["--verbose"]);
    agents.work = agents.world.folder("repository");
    assert!(agents.world.command("git").args(["init", "-q"]).current_dir(&agents.work).status().unwrap().success());
    agents.start("codex", "codex", &["--no-daemon"]);
    for (session, last) in [("directory", "esc use session"), ("claude", "Enter to confirm"), ("codex", "enter continue")] {
        agents.wait_shown(session, last);
    }
    let before = ["directory", "claude", "codex"].map(|session| agents.screen(session));
    let rows = agents.answer(0);
    assert_eq!(
        rows,
        [
            "claude:0.0 Claude Code trust folder waiting: trust this folder?",
            "codex:0.0 Codex trust folder waiting: trust this folder?",
            "directory:0.0 Codex choose directory waiting: in which directory?",
        ]
    );
    for (session, before) in ["directory", "claude", "codex"].into_iter().zip(before) {
        assert_eq!(agents.screen(session), before);
    }
}

#[test]
fn the_real_question_of_how_to_go_on_is_answered_and_the_whole_conversation_goes_on() {
    let agents = Agents::new();
    // It asks if its service says that it may; that word is kept from the last time.
    agents.edit(".claude.json", |text| {
        let mut settings: Value = serde_json::from_str(&text).unwrap();
        settings["cachedGrowthBookFeatures"] = json!({ "tengu_gleaming_fair": true });
        settings.to_string()
    });
    // A program is known by the name that it is called by.
    let older = agents.world.folder("older").join("claude");
    std::os::unix::fs::symlink(programs().join("claude-2.1.200").canonicalize().unwrap(), &older).unwrap();
    let older = older.display().to_string();
    let off = ["DISABLE_TELEMETRY", "DISABLE_ERROR_REPORTING", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC"];
    let start = |session: &str, words: &[&str]| {
        let unset: Vec<&str> = off.into_iter().flat_map(|name| ["-u", name]).collect();
        agents.start(session, "/usr/bin/env", &[&unset[..], &[&older], words].concat());
    };
    start("one", &["the first"]);
    agents.wait_shown("one", "ACK 1: the first");
    agents.close("one");

    let [talk] = &agents.talks(".claude/projects")[..] else { panic!("one transcript") };
    let text = std::fs::read_to_string(talk).unwrap();
    std::fs::write(talk, text.lines().map(|line| format!("{}\n", aged(line))).collect::<String>()).unwrap();
    start("two", &["--resume", talk.file_stem().unwrap().to_str().unwrap()]);
    agents.wait_shown("two", "Enter to confirm");
    agents.world.tmux(["resize-window", "-t", "=two:", "-x", "40", "-y", "45"]).ok();
    agents.wait_shown("two", "Resuming the full session will\n");
    agents.wait_shown("two", "Enter to confirm");
    let full = "two:0.0 Claude Code resume summary answered: 2, Resume full session as-is";
    assert_eq!(agents.answer(0), [full], "{}", agents.screen("two"));
    agents.say("two", "the second", "ACK 2: the second");
    assert_eq!(agents.answer(0), ["Nothing to answer: no agent waits at a question."]);
}

/// A line of a transcript as it would be had the conversation been three hours ago, and long.
fn aged(line: &str) -> Value {
    let mut entry: Value = serde_json::from_str(line).unwrap();
    if let Some(time) = entry["timestamp"].as_str() {
        let before = time.parse::<jiff::Timestamp>().unwrap() - jiff::Span::new().minutes(185);
        entry["timestamp"] = json!(format!("{before:.3}"));
    }
    if entry["message"]["usage"].is_object() {
        entry["message"]["usage"]["input_tokens"] = json!(150_000);
    }
    entry
}
