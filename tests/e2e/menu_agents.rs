//! The menus where agents could come back. The agent is a stand-in.

use std::path::Path;

use serde_json::json;

use super::fake_agent::FakeAgent;
use super::menus::{attached, press_prefix};
use super::support::{World, two_versions, wait_for};

/// A new server after a crash in which `api` and `web` had a conversation each, and `done` one that the user had ended.
fn world(folder: &Path) -> World {
    let world = World::bare_with_tmux(folder);
    world.configure("set -g @sidecar-interval 0.5\nset -g @sidecar-grace 0.5\nset -g @sidecar-offer off\n");
    FakeAgent::new(&world);
    for session in ["api", "done", "web"] {
        world.tmux(["new-session", "-d", "-s", session]).ok();
    }
    world.wait_recorded(&["api", "done", "web"]);
    world.crash();
    world
}

fn bind(world: &World) -> FakeAgent<'_> {
    let fake = FakeAgent::new(world);
    fake.bind("api", &fake.id("api"));
    fake.bind("web", &fake.id("web"));
    let mut ended = fake.binding(&fake.id("done"));
    ended["ended"] = json!({ "reason": "user", "at": sidecar::record::now() });
    world.set_pane("done", &json!({ "agent": ended }));
    world.tmux(["new-session", "-d", "-s", "here"]).ok();
    world.wait_recorded(&["api", "done", "here", "web"]);
    fake
}

#[test]
fn all_agents_come_back_once_the_user_has_agreed() {
    for folder in two_versions() {
        let world = world(&folder);
        let fake = bind(&world);
        let terminal = attached(&world);
        press_prefix(&terminal, "R");
        let text = terminal.wait_text("Restore all, resume 2 agents");
        assert!(text.contains("1 pane, Fake?") && text.contains("Restore all shells"), "{text}");
        terminal.press(&["r"]);
        let text = terminal.wait_text("Resume 2 agents?");
        assert!(text.contains("Fake in api:0.0") && text.contains("Fake in web:0.0") && text.contains("Restore without"), "{text}");
        assert_eq!((world.sessions(), fake.ids().len()), (vec!["here".to_owned()], 0));
        terminal.press(&["y"]);
        terminal.wait_text("3 shells restored, 2 agents resumed");
        for session in ["api", "web"] {
            fake.wait_there(session, &fake.id(session));
        }
        let mut ids = fake.ids();
        ids.sort();
        assert_eq!(ids, [fake.id("api"), fake.id("web")]);
    }
}

#[test]
fn a_shell_comes_back_with_its_agent_or_without_and_one_that_had_ended_only_if_it_is_asked_for() {
    for folder in two_versions() {
        let world = world(&folder);
        let fake = bind(&world);
        world.sidecar(["session", "policy", "web", "--resume"]).ok();
        let terminal = attached(&world);
        // With the agent, without being asked: its policy says so.
        press_prefix(&terminal, "R");
        let text = terminal.wait_text("● web");
        assert!(text.contains("1 pane, Fake ·") || text.contains("1 pane, Fake  "), "{text}");
        terminal.press(&["3"]);
        terminal.wait_text("Restore it, and resume Fake");
        terminal.press(&["a"]);
        terminal.wait_text("1 shell restored, 1 agent resumed");
        fake.wait_there("web", &fake.id("web"));
        terminal.press(&["Space"]);
        terminal.wait_text("[web]");

        press_prefix(&terminal, "R");
        terminal.wait_text("● api");
        terminal.press(&["1"]);
        terminal.wait_text("Restore it, and resume Fake?");
        terminal.press(&["a"]);
        terminal.wait_text("Resume 1 agent?");
        terminal.press(&["n"]);
        terminal.wait_text("sidecar: 1 shell restored");
        terminal.press(&["Space"]);
        terminal.wait_text("[api]");
        assert_eq!(fake.ids(), [fake.id("web")]);

        press_prefix(&terminal, "R");
        // The one that was left out can still be resumed where it is.
        let text = terminal.wait_text("● done");
        assert!(text.contains("api"), "{text}");
        terminal.press(&["1"]);
        let text = terminal.wait_text("Resume Fake?");
        assert!(text.contains("already running"), "{text}");
        terminal.press(&["b"]);
        terminal.wait_text("● done");
        terminal.press(&["2"]);
        terminal.wait_text("Resume Fake in done:0.0, which had ended");
        terminal.press(&["1"]);
        fake.wait_there("done", &fake.id("done"));
        wait_for("two of them", || (fake.ids() == [fake.id("web"), fake.id("done")]).then_some(()));
    }
}
