//! The servers and records that are measured.

use std::fmt::Write as _;
use std::process::Command;
use std::time::Duration;

use serde_json::Value;

use super::support::{self, World, sidecar_path};

/// The commands that make `count` sessions of two windows with two and three panes: 5 panes a session.
pub(super) fn sessions(world: &World, count: usize) -> String {
    let mut script = String::new();
    for number in 0..count {
        let dir = world.folder(format!("project {number}"));
        let (dir, name) = (dir.display(), format!("s{number}"));
        let _ = writeln!(script, "new-session -d -s {name} -x 120 -y 40 -c '{dir}'");
        let _ = writeln!(script, "split-window -h -t ={name}: -c '{dir}'");
        let _ = writeln!(script, "new-window -d -t ={name}:1 -n logs -c '{dir}'");
        let _ = writeln!(script, "split-window -h -t ={name}:1 -c '{dir}'");
        let _ = writeln!(script, "split-window -v -t ={name}:1 -c '{dir}'");
    }
    script
}

/// A file with these commands, for `source-file`.
pub(super) fn script_file(world: &World, script: &str) -> String {
    let file = world.home().join("sessions.tmux");
    std::fs::write(&file, script).unwrap();
    file.display().to_string()
}

/// A checkout of the plugin, with the helper where `scripts/build` puts it.
pub(super) fn built_plugin(world: &World) -> std::path::PathBuf {
    let plugin = world.folder("sidecar.tmux");
    let checkout = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    for name in ["sidecar.tmux", "scripts", "helper", "Cargo.toml", "Cargo.lock"] {
        assert!(Command::new("cp").arg("-r").arg(checkout.join(name)).arg(&plugin).status().unwrap().success());
    }
    let put = r#"root=$1; . "$root/scripts/helper.sh"; mkdir "$root/bin" && cp "$2" "$built" && stamp >"$built.stamp" && is_built"#;
    let status = world.command("sh").args(["-c", put, "sh"]).arg(&plugin).arg(sidecar_path()).status().unwrap();
    assert!(status.success());
    plugin
}

/// Adds copies of the recorded shells, as of another life of the server, until there are `wanted`.
pub(super) fn multiply(world: &World, wanted: usize) {
    let mut state = world.state();
    let shells = state["shells"].as_array_mut().unwrap();
    let originals = shells.clone();
    for number in 0.. {
        for original in &originals {
            if shells.len() == wanted {
                let file = world.store().unwrap().join("shells.json");
                std::fs::write(file, state.to_string()).unwrap();
                return;
            }
            let mut copy = original.clone();
            rename_ids(&mut copy, number);
            for key in ["name", "session", "madeAs"] {
                copy[key] = Value::from(format!("{}-{number}", original[key].as_str().unwrap()));
            }
            for key in ["made", "seen"] {
                copy[key]["generation"]["boot"] = Value::from("an earlier boot");
            }
            shells.push(copy);
        }
    }
}

/// Ids are two letters, a dash and ten characters.
fn rename_ids(value: &mut Value, number: usize) {
    match value {
        Value::Object(object) => {
            if let Some(Value::String(id)) = object.get_mut("id") {
                id.replace_range(id.len() - 3.., &format!("{number:03}"));
            }
            object.values_mut().for_each(|inner| rename_ids(inner, number));
        }
        Value::Array(list) => list.iter_mut().for_each(|inner| rename_ids(inner, number)),
        _ => {}
    }
}

/// What a look asks, asked by tmux alone.
pub(super) fn look_command(world: &World) -> Command {
    let socket = world.show("#{socket_path}");
    let mut command = world.command("tmux");
    command.args(["-u", "-S", &socket]).args(sidecar::tmux::look_argv().unwrap());
    command
}

pub(super) fn live_panes(world: &World) -> usize {
    world.tmux(["list-panes", "-a", "-F", "x"]).ok().lines().count()
}

pub(super) fn written_at(world: &World) -> std::time::SystemTime {
    std::fs::metadata(world.store().unwrap().join("shells.json")).unwrap().modified().unwrap()
}

/// Looks until nothing changes any more: shells that start change their foreground program for a moment.
pub(super) fn settle(world: &World) {
    let mut last = None;
    support::wait_for("records that stand still", || {
        world.look();
        let at = written_at(world);
        let still = last == Some(at);
        last = Some(at);
        std::thread::sleep(Duration::from_millis(100));
        still.then_some(())
    });
}

/// Waits until the processes that the last command started leave the machine alone.
pub(super) fn calm(world: &World) {
    let mut last = 0;
    support::wait_for("a calm machine", || {
        let pid = world.remember_server()?;
        let now: u64 = cpu_ticks(pid);
        let still = now == last;
        last = now;
        std::thread::sleep(Duration::from_millis(150));
        still.then_some(())
    });
}

/// The processor time of a process and of its ended children, in ticks.
fn cpu_ticks(pid: i32) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let fields: Vec<&str> = stat.rsplit(") ").next().unwrap_or_default().split(' ').collect();
    (11..15).filter_map(|at| fields.get(at)?.parse::<u64>().ok()).sum()
}
