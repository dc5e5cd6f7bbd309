//! The main job, from end to end: record, SIGKILL, plan, restore.

use super::support::World;

#[test]
fn sessions_come_back_after_the_server_was_killed() {
    let world = World::new(1.0);
    let (a, b) = (world.folder("a"), world.folder("b c"));
    world.tmux(["new-session", "-d", "-s", "web", "-x", "120", "-y", "40", "-c", a.to_str().unwrap()]).ok();
    world.tmux(["split-window", "-h", "-t", "web", "-c", b.to_str().unwrap()]).ok();
    world.tmux(["split-window", "-v", "-t", "web"]).ok();
    world.tmux(["new-window", "-t", "web:5", "-n", "logs", "-c", "/tmp"]).ok();
    world.tmux(["new-session", "-d", "-s", "api", "-c", a.to_str().unwrap()]).ok();
    world.wait_recorded(&["api", "web"]);
    world.look();
    let before = world.tree();
    world.crash();

    let plan = world.sidecar(["session", "status", "--json"]).json();
    assert_eq!(plan["server"]["state"], "gone");
    let actions: Vec<&str> = plan["steps"].as_array().unwrap().iter().map(|step| step["action"].as_str().unwrap()).collect();
    assert_eq!(actions, ["recreate-shell", "recreate-shell"]);

    world.sidecar(["session", "restore"]).ok();
    assert_eq!(world.tree(), before);
    let again = world.sidecar(["session", "restore", "--json"]).json();
    assert_eq!(again["outcomes"][0]["status"], "reattached");
    assert_eq!(world.tree(), before);
}
