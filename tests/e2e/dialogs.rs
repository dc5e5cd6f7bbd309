//! Questions that agents stand at: one is answered, every other is told and left alone. The agent is a stand-in; at the end are the real
//! ones.

use serde_json::Value;

use super::fake_agent::{FakeAgent, agents};
use super::support::World;
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
        fake.ask(SUMMARY);
        world.crash();
        let agent = restore(&world, words);
        assert!(is(&agent, "resumed", "resumed"), "{agent}\n{}", world.log());
        assert_eq!((fake.keys().as_str(), world.screen("=a:").trim()), (key, format!("this is {a}").as_str()));
    }
}

#[test]
fn a_resume_whose_question_is_not_answered_waits_and_goes_on_once_the_user_has() {
    for (dialog, words, reason, why) in [
        (SUMMARY, &["--no-answer"][..], "resume_summary", "go on with a summary or with the full conversation?"),
        (SUMMARY, &["--answer-choice", "7"], "resume_summary", "Choice 7 is not offered"),
        (TRUST, &[], "trust_folder", "trust this folder?"),
    ] {
        let world = world(&["a"]);
        let fake = FakeAgent::new(&world);
        fake.bind("a", &fake.id("a"));
        fake.ask(dialog);
        world.crash();
        let agent = restore(&world, words);
        assert!(is(&agent, "waiting", reason) && agent["detail"].as_str().unwrap().contains(why), "{agent}\n{}", world.log());
        assert_eq!(fake.keys(), "");
        world.press("=a:", &["2"]);
        fake.wait_state("a", "resumed");
        assert_eq!(fake.keys(), "2");
    }
}

#[test]
fn a_question_that_does_not_take_the_answer_is_told_after_a_few() {
    let world = world(&["a"]);
    let fake = FakeAgent::new(&world);
    fake.bind("a", &fake.id("a"));
    fake.ask(SUMMARY);
    fake.set("dialog-stays");
    world.crash();
    let agent = restore(&world, &[]);
    assert!(is(&agent, "waiting", "resume_summary") || is(&agent, "starting", "starting"), "{agent}");
    let resume = fake.wait_state("a", "waiting");
    assert!(resume["detail"].as_str().unwrap().contains("does not take the answer"), "{resume}");
    assert_eq!(fake.keys(), "222");
}
