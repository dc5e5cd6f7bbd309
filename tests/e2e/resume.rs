//! Conversations that come back: in the panes of a restore and in living ones, once, with their flags and in their directories. The agent
//! is a stand-in; `crash_resume.rs` has the real ones.

use serde_json::json;

use super::fake_agent::{FakeAgent, agents};
use super::support::{World, assert_same, two_versions, wait_for};
use super::verdicts::world;

#[test]
fn a_conversation_comes_back_in_its_pane_with_its_flags_and_directory_and_leaves_a_shell() {
    for folder in two_versions() {
        let world = World::bare_with_tmux(&folder);
        world.open(&["a", "b"]);
        let fake = FakeAgent::new(&world);
        let a = fake.id("a");
        let deep = world.folder("de ep");
        let mut binding = fake.binding(&a);
        binding["dir"] = json!(deep);
        world.set_pane("a", &json!({ "agent": binding }));
        world.crash();
        let tree = world.recorded();

        // Nobody is there to be asked.
        let said = world.sidecar(["session", "restore", "--agents"]);
        assert_eq!((said.code, said.out.as_str()), (5, ""));
        assert!(said.err.contains("--yes"), "{}", said.err);
        assert!(world.sessions().is_empty());

        let dry = world.sidecar(["session", "restore", "--agents", "--yes", "--dry-run", "--json"]).json();
        assert_eq!((&agents(&dry)[0]["status"], agents(&dry).len()), (&json!("resumed"), 1));
        let done = world.sidecar(["session", "restore", "--agents", "--yes", "--json"]);
        assert_eq!(done.code, 0, "{done:?}\n{}", world.log());
        assert_eq!(agents(&done.json())[0]["status"], "resumed", "{done:?}");
        assert_eq!(world.recorded(), tree);
        fake.wait_there("a", &a);
        let words = |id: &str| format!("--model=a  b --verbose --resume {id}");
        assert_eq!(fake.starts(), [(deep.display().to_string(), String::new(), words(&a))]);
        // Nothing else is printed into the pane, and nothing of it stands in what tmux was told.
        assert_eq!(world.screen("=a:").trim(), format!("this is {a}"));
        let start = world.show_all("list-panes", "#{pane_start_command}").join("\n");
        assert!(start.contains("agent resume pn-") && !start.contains(&a), "{start}");

        // A second restore finds it there.
        let again = world.sidecar(["session", "restore", "--agents", "--yes", "--json"]);
        assert_eq!((again.code, agents(&again.json())[0]["reason"].as_str()), (0, Some("already_open")), "{again:?}");
        assert_eq!(fake.ids(), [a.as_str()]);

        world.press("=a:", &["bye", "Enter"]);
        fake.wait_state("a", "ended");
        world.press("=a:", &["echo in a $((41 + 1)) shell", "Enter"]);
        world.wait_shown("=a:", "in a 42 shell");
        assert!(!world.screen("=a:").contains("sidecar: "), "{}", world.screen("=a:"));
    }
}

#[test]
fn each_shell_finds_the_program_and_a_shell_is_left() {
    for shell in ["/bin/bash", "/usr/bin/zsh", "/usr/bin/fish", "/bin/dash"] {
        let world = World::bare();
        let fake = FakeAgent::new(&world);
        let a = fake.id("a");
        world.tmux(["-f", "/dev/null", "set-option", "-g", "default-shell", shell, ";", "new-session", "-d", "-s", "a"]);
        std::fs::write(world.home().join(".tmux.conf"), format!("set -g default-shell {shell}\n")).unwrap();
        world.tmux(["start-server", ";", "new-session", "-d", "-s", "a"]);
        world.look();
        world.wait_recorded(&["a"]);
        fake.bind("a", &a);
        world.crash();
        let done = world.sidecar(["session", "restore", "--agents", "--yes", "--json"]);
        assert_eq!(agents(&done.json())[0]["status"], "resumed", "{shell}: {done:?}\n{}", world.log());
        fake.wait_there("a", &a);
        world.press("=a:", &["bye", "Enter"]);
        fake.wait_state("a", "ended");
        world.press("=a:", &["echo in a 4''2 shell", "Enter"]);
        world.wait_shown("=a:", "in a 42 shell");
        // There it can be typed, too.
        let again = wait_for("an empty prompt", || {
            let told = agents(&world.sidecar(["session", "restore", "--agents", "--yes", "--json"]).json())[0].clone();
            (told["reason"] != "no_prompt" && told["reason"] != "pane_busy").then_some(told)
        });
        assert_eq!(again["status"], "resumed", "{shell}: {again}\n{}", world.screen("=a:"));
        wait_for("it", || (world.screen("=a:").matches(&format!("this is {a}")).count() == 2).then_some(()));
        assert_eq!(fake.ids().len(), 2);
        world.press("=a:", &["bye", "Enter", "echo in a 4''3 shell", "Enter"]);
        world.wait_shown("=a:", "in a 43 shell");
    }
}

#[test]
fn in_a_living_pane_the_fixed_line_is_typed_at_an_idle_prompt_alone() {
    for folder in two_versions() {
        let world = World::bare_with_tmux(&folder);
        let fake = FakeAgent::new(&world);
        let a = fake.id("a");
        world.open(&["a", "b", "c"]);
        for session in ["a", "b", "c"] {
            fake.bind(session, &fake.id(session));
        }
        // One runs something, and in one something is typed already.
        world.press("=b:", &["cat", "Enter"]);
        wait_for("it", || {
            (world.tmux(["display-message", "-p", "-t", "=b:", "#{pane_current_command}"]).out.trim() == "cat").then_some(())
        });
        world.press("=c:", &["echo half"]);
        world.wait_shown("=c:", "echo half");
        let done = world.sidecar(["session", "restore", "--agents", "--yes", "--json"]);
        let told = agents(&done.json());
        let of = |at: usize| (told[at]["status"].as_str().unwrap().to_owned(), told[at]["reason"].as_str().unwrap().to_owned());
        let is = |status: &str, reason: &str| (status.to_owned(), reason.to_owned());
        assert_eq!([of(0), of(1), of(2)], [is("resumed", "resumed"), is("skipped", "pane_busy"), is("skipped", "no_prompt")], "{done:?}");
        assert_eq!(done.code, 0);
        fake.wait_there("a", &a);
        assert_eq!(fake.ids(), [a.as_str()]);
        assert!(world.screen("=a:").contains(" agent resume pn-"), "{}", world.screen("=a:"));
        assert_eq!(world.screen("=c:").trim(), "$ echo half");
        // The shell that it was typed into goes on.
        world.press("=a:", &["bye", "Enter"]);
        fake.wait_state("a", "ended");
        world.press("=a:", &["echo in a $((41 + 1)) shell", "Enter"]);
        world.wait_shown("=a:", "in a 42 shell");
        let before = world.processes("=a:").unwrap();
        assert_same(&String::from_utf8_lossy(&before[0]), &String::from_utf8_lossy(&before[1]), "the pane's own shell is in front");
    }
}

#[test]
fn one_that_fails_says_why_leaves_a_shell_and_is_not_tried_again_by_itself() {
    let world = world(&["a"]);
    let fake = FakeAgent::new(&world);
    let a = fake.id("a");
    fake.bind("a", &a);
    fake.set("fail");
    world.crash();
    let done = world.sidecar(["session", "restore", "--agents", "--yes", "--json"]);
    assert_eq!(done.code, 1, "{done:?}");
    let agent = &agents(&done.json())[0];
    assert_eq!((agent["status"].as_str(), agent["reason"].as_str()), (Some("failed"), Some("ended_at_once")));
    assert!(agent["detail"].as_str().unwrap().contains("error: no luck today"), "{agent}");
    let shown = world.screen("=a:");
    assert!(shown.contains("error: no luck today") && shown.contains("/sidecar agent resume pn-"), "{shown}");
    assert_eq!(fake.ids(), [a.as_str()]);
    // Looks change nothing in what is kept.
    world.look();
    world.look();
    assert_eq!(world.agent_verdict("a"), ("ask".to_owned(), "needs_confirmation".to_owned()));
    let told = world.sidecar(["agent", "status"]).ok();
    assert!(told.contains("resumable; asks first; the last resume failed: ") && told.contains("no luck today"), "{told}");
    // By hand it comes.
    let pane = world.pane_id("a");
    world.press("=a:", &[&format!("{} agent resume {pane}", super::support::sidecar_path()), "Enter"]);
    fake.wait_there("a", &a);
    assert_eq!(fake.ids(), [a.clone(), a]);
    fake.wait_state("a", "resumed");
    assert!(!fake.was_twice());
}
