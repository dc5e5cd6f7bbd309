//! Questions that agents stand at: one is answered, every other is told and left alone. The agent is a stand-in; at the end are the real
//! ones.

use serde_json::Value;

use super::fake_agent::{FakeAgent, agents};
use super::support::{Said, World, tmux_versions, wait_or_tell};
use super::verdicts::world;

pub const SUMMARY: &str = "
  This session is 3h 5m old and 150k tokens.

  Resuming the full session will consume a substantial portion of your usage limits. We recommend resuming from a summary.

  ❯ 1. Resume from summary (recommended)
    2. Resume full session as-is
    3. Don't ask me again

  Enter to confirm · Esc to cancel
";

const TRUST: &str = "
 Accessing workspace:

 /w/p2

 Quick safety check: Is this a project you created or one you trust?

 ❯ No, exit
   Yes, I trust this folder

 Enter to confirm · Esc to cancel
";

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
