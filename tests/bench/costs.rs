//! What the helper costs, as ratios to tmux's own cost of the same thing, measured in turns within one run.
//!
//! Absolute times differ from machine to machine and from hour to hour; how much is added to what tmux itself takes does not.
#![allow(clippy::disallowed_methods, missing_docs, reason = "a measurement runs tmux and makes files by itself")]

#[path = "../e2e/support.rs"]
#[allow(dead_code, unreachable_pub, clippy::all, clippy::pedantic, reason = "the end-to-end tests judge it")]
mod support;
#[path = "../e2e/terminal.rs"]
#[allow(dead_code, unreachable_pub, clippy::all, clippy::pedantic, reason = "the end-to-end tests judge it")]
mod terminal;

mod measure;
mod worlds;

use std::fmt::Write as _;
use std::process::Command;
use std::time::{Duration, Instant};

use measure::{alternate, median, report, report_beside, time};
use serde_json::json;
use support::{World, sidecar_path};
use worlds::{built_plugin, calm, live_panes, look_command, multiply, script_file, sessions, settle, written_at};

/// A timer that never comes during a run.
const QUIET: &str = "set -g @sidecar-interval 86400\n";

/// All of it, or what the words behind `--` name.
fn main() {
    let asked: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    let is_asked = |what: &str| asked.is_empty() || asked.iter().any(|word| word == what);
    println!("{:<44} {:>6} {:>13} {:>12} {:>8}   aim", "what", "panes", "tmux alone ms", "sidecar ms", "ratio");
    if is_asked("looks") {
        for (sessions, rounds) in [(2, 200), (20, 100), (100, 40)] {
            looks(sessions, rounds);
        }
    }
    if is_asked("load") {
        loading(40);
    }
    if is_asked("restore") {
        restores(20, 9);
    }
    if is_asked("agents") {
        agents(20, 9);
    }
    if is_asked("status") {
        status(1000, 60);
    }
    if is_asked("menu") {
        for records in [10, 100, 1000] {
            menus(records, 30);
        }
    }
    if is_asked("report") {
        for records in [1, 100, 1000] {
            reports(records, 60);
        }
    }
}

/// A report of an agent's prompt as a whole process, beside the one call of tmux that it can't do without. A script that is called as
/// Claude Code is stands for the agent: it reports, and tells how long that took.
fn reports(records: usize, rounds: usize) {
    let world = World::bare();
    std::fs::write(world.home().join(".tmux.conf"), QUIET).unwrap();
    let folder = world.folder("@anthropic-ai/claude-code");
    let (script, log) = (folder.join("cli.js"), world.home().join("times"));
    let payload = r#"{"hook_event_name":"UserPromptSubmit","session_id":"01a228e7-fac2-7180-b353-a6ead433a7ba","cwd":"/"}"#;
    let text = format!(
        "const {{ spawnSync: run }} = require('child_process');\nconst time = (program, words) => {{ const began = process.hrtime.bigint(); \
         run(program, words, {{ input: '{payload}' }}); return Number(process.hrtime.bigint() - began); }};\n\
         const all = []; for (let n = 0; n < {rounds}; n++) all.push([time('tmux', ['list-panes', '-a']), \
         time('{sidecar}', ['agent', 'report-session', '--kind', 'claude', '--hook-stdin'])]);\n\
         require('fs').writeFileSync('{log}.new', JSON.stringify(all)); require('fs').renameSync('{log}.new', '{log}');\n\
         setInterval(() => {{}}, 1000);\n",
        sidecar = sidecar_path(),
        log = log.display()
    );
    std::fs::write(&script, text).unwrap();
    world.tmux(["new-session", "-d", "-s", "first"]).ok();
    world.look();
    multiply(&world, records);
    world.tmux(["new-session", "-d", "-s", "agent", "node", script.to_str().unwrap()]).ok();
    let times = support::wait_for("the reports", || std::fs::read_to_string(&log).ok());
    let times: Vec<(u64, u64)> = serde_json::from_str(&times).unwrap();
    let bound = world.state().to_string().contains("01a228e7-fac2-7180-b353-a6ead433a7ba");
    assert!(bound, "it was recorded: {}", world.log());
    let (alone, ours): (Vec<Duration>, Vec<Duration>) =
        times.into_iter().map(|(alone, ours)| (Duration::from_nanos(alone), Duration::from_nanos(ours))).unzip();
    report(&format!("an agent's report, {records} records"), 2, (median(alone), median(ours)), None);
}

/// A hook's work against the one call of tmux that it can't do without.
fn looks(count: usize, rounds: usize) {
    let world = World::bare();
    // No hooks: each measured look must find what the one before left.
    std::fs::write(world.home().join(".tmux.conf"), QUIET).unwrap();
    let script = script_file(&world, &sessions(&world, count));
    world.tmux(["start-server", ";", "source-file", &script]).ok();
    // As in a server with the plugin, whose timer comes in a day.
    let day = 86_400_000;
    let token = format!("{}.{day}.0a", sidecar::record::now() + day);
    world.tmux(["set-environment", "-gh", "SIDECAR_TIMER", &token]).ok();
    world.look();
    settle(&world);
    let panes = count * 5;
    let mut ask = look_command(&world);
    let mut tick = world.command(sidecar_path());
    tick.args(["hook", "tick"]);

    let written = written_at(&world);
    let pair = alternate(rounds, |_| time(&mut ask), |_| time(&mut tick));
    assert_eq!(written, written_at(&world), "no change, no write");
    report("a look, nothing changed", panes, pair, Some(2.0));

    let names = ["s0", "renamed"];
    let mut ask = look_command(&world);
    let pair = alternate(
        rounds,
        |_| time(&mut ask),
        |round| {
            world.tmux(["rename-session", "-t", &format!("={}", names[round % 2]), names[(round + 1) % 2]]).ok();
            time(&mut tick)
        },
    );
    assert!(world.recorded().contains(&names[rounds % 2].to_owned()));
    report("a look, a session renamed", panes, pair, Some(3.0));

    let mut ask = look_command(&world);
    let pair = alternate(
        rounds,
        |_| time(&mut ask),
        |_| {
            let token = world.tmux(["show-environment", "-gh", "SIDECAR_TIMER"]).ok();
            let token = token.trim().split_once('=').unwrap().1.to_owned();
            time(world.command(sidecar_path()).args(["hook", "tick", &token]))
        },
    );
    report("the timer's look, which arms the next", panes, pair, None);
}

/// tmux's own start, with an empty tmux.conf and with one that loads the plugin by a helper that it built.
fn loading(rounds: usize) {
    let bare = World::bare();
    std::fs::write(bare.home().join(".tmux.conf"), "").unwrap();
    let world = World::bare();
    let plugin = built_plugin(&world);
    std::fs::write(world.home().join(".tmux.conf"), format!("run-shell '{}'\n", plugin.join("sidecar.tmux").display())).unwrap();
    let start = |world: &World| {
        let took = time(world.command("tmux").args(["new-session", "-d"]));
        calm(world);
        world.crash();
        took
    };
    let pair = alternate(rounds, |_| start(&bare), |_| start(&world));
    report_beside("tmux's start, with the plugin", 1, pair, 50.0);
}

/// A restore into a running server against the bare commands that made the sessions.
fn restores(count: usize, rounds: usize) {
    let bare = World::bare();
    let script = script_file(&bare, &sessions(&bare, count));
    let world = World::bare();
    world.configure(QUIET);
    let first = script_file(&world, &sessions(&world, count));
    world.tmux(["start-server", ";", "source-file", &first]).ok();
    // The sessions that carry the plugin's hooks, made by the same bare commands.
    let hooked = World::bare();
    hooked.configure(QUIET);
    let hooked_script = script_file(&hooked, &sessions(&hooked, count));

    let panes = count * 5;
    let source = |world: &World, script: &str| {
        world.tmux(["new-session", "-d"]).ok();
        calm(world);
        let took = time(world.command("tmux").args(["source-file", script]));
        calm(world);
        assert_eq!(live_panes(world), panes + 1);
        world.crash();
        took
    };
    let restore = || {
        calm(&world);
        world.crash();
        world.tmux(["new-session", "-d"]).ok();
        calm(&world);
        let took = time(world.command(sidecar_path()).args(["session", "restore"]));
        assert!(live_panes(&world) >= panes);
        took
    };
    let pair = alternate(rounds, |_| source(&bare, &script), |_| restore());
    report("restore", panes, pair, Some(1.3));
    let pair = alternate(rounds, |_| source(&hooked, &hooked_script), |_| restore());
    report("restore, against bare commands with our hooks", panes, pair, None);
}

/// The words that start a stand-in for an agent, which notes that it runs: a copy of bash by another name, with a script.
const AGENT: &str = "echo started >>\"$1/starts\"; read -r line";

/// A restore of agents, until the last one runs, against bare commands that start the same program in as many sessions. All of them may
/// start at once, with no time between them.
fn agents(count: usize, rounds: usize) {
    let (bare, world) = (World::bare(), World::bare());
    let program = |world: &World| {
        let folder = world.folder("bin");
        std::fs::copy("/bin/bash", folder.join("agent")).unwrap();
        std::fs::write(folder.join("script"), AGENT).unwrap();
        folder
    };
    let bare_folder = program(&bare);
    let mut script = String::new();
    for number in 0..count {
        let folder = bare_folder.display();
        let _ = writeln!(script, "new-session -d -s s{number} -x 120 -y 40 \"'{folder}/agent' '{folder}/script' '{folder}'\"");
    }
    let script = script_file(&bare, &script);

    let folder = program(&world);
    let agent = json!({
        "programs": ["agent"], "resume": [folder.join("script"), folder, "{flags}", "--resume", "{id}"],
        "home": { "variable": "AGENT_HOME", "folder": ".agent" }, "transcripts": "{id}.jsonl", "flags": { "id": ["--resume <id>"] },
    });
    let config = world.home().parent().unwrap().join("config/sidecar");
    std::fs::create_dir_all(&config).unwrap();
    let settings = json!({ "restore": { "resumeConcurrency": 64, "resumeStagger": 0 }, "agents": { "agent": agent } });
    std::fs::write(config.join("config.json"), settings.to_string()).unwrap();
    world.configure(QUIET);
    let names: String = (0..count).fold(String::new(), |all, number| all + &format!("new-session -d -s s{number} -x 120 -y 40\n"));
    world.tmux(["start-server", ";", "source-file", &script_file(&world, &names)]).ok();
    world.look();
    world.crash();
    let mut state = world.state();
    for (number, shell) in state["shells"].as_array_mut().unwrap().iter_mut().enumerate() {
        let id = format!("talk-{number}-{}", std::process::id());
        std::fs::create_dir_all(world.home().join(".agent")).unwrap();
        std::fs::write(world.home().join(format!(".agent/{id}.jsonl")), "{}\n").unwrap();
        shell["windows"][0]["panes"][0]["agent"] =
            json!({ "kind": "agent", "id": id, "reported": 1, "prompted": true, "program": folder.join("agent") });
    }
    let records = world.store().unwrap().join("shells.json");
    let run = |world: &World, folder: &std::path::Path, command: &mut Command| {
        world.tmux(["new-session", "-d"]).ok();
        calm(world);
        let starts = folder.join("starts");
        let _ = std::fs::remove_file(&starts);
        let began = Instant::now();
        let mut child = command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null()).spawn().unwrap();
        support::wait_for("the agents", || (std::fs::read_to_string(&starts).ok()?.lines().count() == count).then_some(()));
        let took = began.elapsed();
        assert!(child.wait().unwrap().success());
        world.crash();
        took
    };
    let pair = alternate(
        rounds,
        |_| run(&bare, &bare_folder, bare.command("tmux").args(["source-file", &script])),
        |_| {
            std::fs::write(&records, state.to_string()).unwrap();
            run(&world, &folder, world.command(sidecar_path()).args(["session", "restore", "--agents", "--yes"]))
        },
    );
    report("a restore of agents, until all run", count, pair, None);
}

/// The plan for many records, beside tmux's own answer.
fn status(records: usize, rounds: usize) {
    let world = World::bare();
    std::fs::write(world.home().join(".tmux.conf"), QUIET).unwrap();
    let script = script_file(&world, &sessions(&world, 20));
    world.tmux(["start-server", ";", "source-file", &script]).ok();
    world.look();
    settle(&world);
    multiply(&world, records);
    let plan = world.sidecar(["session", "status", "--json"]).json();
    assert_eq!(plan["steps"].as_array().unwrap().len(), records);
    let mut ask = look_command(&world);
    let mut status = world.command(sidecar_path());
    status.args(["session", "status"]);
    let pair = alternate(rounds, |_| time(&mut ask), |_| time(&mut status));
    report_beside(&format!("status, {records} records"), 100, pair, 20.0);
}

/// From the key to the menu, for many records, beside a bare menu of the same page. The helper's time holds the 10 ms in which it
/// sees whether the menu was drawn.
fn menus(records: usize, rounds: usize) {
    let world = World::bare();
    std::fs::write(world.home().join(".tmux.conf"), QUIET).unwrap();
    let script = script_file(&world, &sessions(&world, 10));
    world.tmux(["start-server", ";", "source-file", &script]).ok();
    world.look();
    settle(&world);
    multiply(&world, records + 10);
    let client = terminal::Terminal::attach(&world, "attach -t =s0");
    client.wait_text("[s0]");
    let name = world.tmux(["list-clients", "-F", "#{client_name}"]).ok().trim().to_owned();
    let items: String =
        (0..30).map(|number| format!(" 'an entry {number} of the page, as long as one of ours is' '' 'run-shell -b true'")).collect();
    let bare = world.home().join("menu.tmux");
    std::fs::write(&bare, format!("display-message -p begun ; display-menu -c '{name}' -t '=s0:' -T BARE -x C -y C{items}\n")).unwrap();
    let close = |shown: &str| {
        client.wait_text(shown);
        client.press(&["q"]);
        client.wait_no_text(shown);
    };
    let pair = alternate(
        rounds,
        |_| {
            let began = Instant::now();
            let mut menu =
                world.command("tmux").args(["source-file", bare.to_str().unwrap()]).stdout(std::process::Stdio::piped()).spawn().unwrap();
            let mut line = String::new();
            std::io::BufRead::read_line(&mut std::io::BufReader::new(menu.stdout.take().unwrap()), &mut line).unwrap();
            let took = began.elapsed();
            assert_eq!(line, "begun\n");
            close("BARE");
            menu.wait().unwrap();
            took
        },
        |_| {
            let took = time(world.command(sidecar_path()).args(["menu", "restore", "--client", &name]));
            close("Restore all shells");
            took
        },
    );
    report(&format!("menu, {records} records"), 50, pair, None);
}
