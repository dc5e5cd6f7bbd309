//! Any tree of sessions: recorded, killed, restored, equal; three rounds.

use std::path::Path;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use super::support::{World, assert_same, tmux_versions};

/// Names that have broken such tools, as a person types them; `#` is doubled where tmux would expand it.
const NAMES: &[&str] = &[
    "plain",
    "two  spaces",
    " lead and trail ",
    "50% off %H",
    "a$b",
    "a\\b",
    "a:c",
    "a.d",
    "=x",
    "@x",
    "-x",
    "~",
    "*",
    "a;b;",
    "quote\"s and 'more' `tick`",
    "##(touch CANARY)",
    "##{pid}",
    "#[fg=red]x",
    "a##",
    "$(touch CANARY)",
    "日本 e\u{301} 🚀 \u{5d0}\u{5d1}",
    "p-1",
    "p-10",
    "2foo",
];

const FOLDERS: &[&str] = &[
    "plain",
    "a b",
    "two  spaces",
    "q'u\"o`te",
    "#(touch CANARY)",
    "#{pid}",
    "#[fg=red]",
    "##[x",
    "a#",
    "$(touch CANARY)",
    "日本",
    "new\nline",
    "tab\there",
    "%H;x",
    "-x",
];

#[derive(Clone, Debug)]
struct AnyWindow {
    gap: u32,
    /// Index into `NAMES`; none for a name that tmux gives.
    name: Option<usize>,
    /// A folder for each pane, and whether it is split sideways.
    panes: Vec<(usize, bool)>,
    active_pane: usize,
    zoomed: bool,
}

#[derive(Clone, Debug)]
struct AnySession {
    name: usize,
    folder: usize,
    windows: Vec<AnyWindow>,
    active_window: usize,
    size: (u32, u32),
}

#[derive(Clone, Debug)]
struct AnyTree {
    base_index: bool,
    pane_base_index: bool,
    renumber: bool,
    sessions: Vec<AnySession>,
    /// The first session's first window also stands in the last session.
    link: bool,
    /// The first session has a second member in its group.
    group: bool,
}

fn any_window() -> impl Strategy<Value = AnyWindow> {
    let panes = proptest::collection::vec((0..FOLDERS.len(), any::<bool>()), 1..4);
    (0..4_u32, proptest::option::of(0..NAMES.len()), panes, 0..3_usize, any::<bool>()).prop_map(
        |(gap, name, panes, active_pane, zoomed)| AnyWindow {
            gap,
            name,
            active_pane: active_pane % panes.len(),
            zoomed: zoomed && panes.len() > 1,
            panes,
        },
    )
}

fn any_tree() -> impl Strategy<Value = AnyTree> {
    let session = (0..FOLDERS.len(), proptest::collection::vec(any_window(), 1..4), 0..3_usize, (80..200_u32, 24..60_u32));
    let names = proptest::sample::subsequence((0..NAMES.len()).collect::<Vec<_>>(), 1..4);
    (any::<[bool; 5]>(), names, proptest::collection::vec(session, 3)).prop_map(|(flags, names, sessions)| AnyTree {
        base_index: flags[0],
        pane_base_index: flags[1],
        renumber: flags[2],
        link: flags[3] && names.len() > 1,
        group: flags[4],
        sessions: names
            .into_iter()
            .zip(sessions)
            .map(|(name, (folder, windows, active_window, size))| AnySession {
                name,
                folder,
                active_window: active_window % windows.len(),
                windows,
                size,
            })
            .collect(),
    })
}

/// A path for `-c`, which tmux expands.
fn path_arg(path: &Path) -> String {
    String::from_utf8(sidecar::tmux::double_hash(path.to_str().unwrap().as_bytes())).unwrap()
}

fn make(world: &World, tree: &AnyTree) {
    let folder = |at: usize| path_arg(&world.folder(FOLDERS[at]));
    for session in &tree.sessions {
        let (width, height) = session.size;
        let id = world
            .tmux([
                "new-session",
                "-d",
                "-P",
                "-F",
                "#{session_id}",
                "-x",
                &width.to_string(),
                "-y",
                &height.to_string(),
                "-c",
                &folder(session.folder),
                "-s",
                NAMES[session.name],
            ])
            .ok();
        let id = id.trim();
        let mut index = u32::from(tree.base_index);
        let mut indexes = Vec::new();
        for (at, window) in session.windows.iter().enumerate() {
            index += window.gap;
            let target = format!("{id}:{index}");
            if at == 0 {
                if window.gap > 0 {
                    world
                        .tmux([
                            "set",
                            "-t",
                            id,
                            "renumber-windows",
                            "off",
                            ";",
                            "move-window",
                            "-s",
                            &format!("{id}:"),
                            "-t",
                            &target,
                            ";",
                            "set",
                            "-u",
                            "-t",
                            id,
                            "renumber-windows",
                        ])
                        .ok();
                }
                world.tmux(["respawn-pane", "-k", "-t", &target, "-c", &folder(window.panes[0].0)]).ok();
            } else {
                world.tmux(["new-window", "-d", "-t", &target, "-c", &folder(window.panes[0].0)]).ok();
            }
            for (dir, sideways) in &window.panes[1..] {
                world.tmux(["split-window", if *sideways { "-h" } else { "-v" }, "-t", &target, "-c", &folder(*dir)]).ok();
            }
            if let Some(name) = window.name {
                world.tmux(["rename-window", "-t", &target, "--", NAMES[name]]).ok();
            }
            let pane = window.active_pane + usize::from(tree.pane_base_index);
            world.tmux(["select-pane", "-t", &format!("{target}.{pane}")]).ok();
            if window.zoomed {
                world.tmux(["resize-pane", "-Z", "-t", &target]).ok();
            }
            indexes.push(index);
            index += 1;
        }
        world.tmux(["select-window", "-t", &format!("{id}:{}", indexes[session.active_window])]).ok();
    }
    if tree.link {
        let last = tree.sessions.len() - 1;
        world.tmux(["link-window", "-d", "-s", "$0:", "-t", &format!("${last}:77")]).ok();
    }
    if tree.group {
        world.tmux(["new-session", "-d", "-t", "$0", "-s", "member"]).ok();
    }
}

fn comes_back(world: &World, tree: &AnyTree) {
    let on = |flag: bool| if flag { "1" } else { "0" };
    world.configure(&format!(
        "set -g @sidecar-interval 3600\nset -g base-index {}\nset -g pane-base-index {}\nset -g renumber-windows {}\n",
        on(tree.base_index),
        on(tree.pane_base_index),
        if tree.renumber { "on" } else { "off" }
    ));
    make(world, tree);
    world.look();
    let before = world.tree();
    for round in 1..=3 {
        world.crash();
        let said = world.sidecar(["session", "restore", "--json"]);
        assert_eq!(said.code, 0, "round {round}: {said:?}\n{}", world.log());
        assert_same(&world.tree(), &before, format!("round {round}, {}", world.log()));
        world.look();
    }
    let canaries = std::process::Command::new("find").arg(world.work()).args(["-name", "CANARY"]).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&canaries.stdout), "", "something that a name contained has run");
}

fn any_tree_comes_back(cases: u32, world: impl Fn() -> World) {
    let mut runner = TestRunner::new(Config { cases, failure_persistence: None, max_shrink_iters: 30, ..Config::default() });
    runner
        .run(&any_tree(), |tree| {
            comes_back(&world(), &tree);
            Ok(())
        })
        .unwrap();
}

#[test]
fn any_tree_comes_back_three_times() {
    any_tree_comes_back(10, World::bare);
}

#[test]
fn any_tree_comes_back_three_times_on_every_tmux() {
    for (version, folder) in tmux_versions() {
        if version != "3.1c" {
            any_tree_comes_back(2, || World::bare_with_tmux(&folder));
        }
    }
}
