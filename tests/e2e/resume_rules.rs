//! What a resume may do and what it may not: how many at once, never two of one, whose word counts, and what a name may hold.

use serde_json::{Value, json};

use super::crash::disturbed_with;
use super::fake_agent::{FakeAgent, agents};
use super::support::{World, sidecar_path, wait_for};

/// A world with the stand-in and these sessions, each bound to a conversation of its name, and the server gone.
fn crashed<'a>(world: &'a World, sessions: &[&str], restore: &Value) -> FakeAgent<'a> {
    let fake = FakeAgent::with(world, restore);
    world.open(sessions);
    for session in sessions {
        fake.bind(session, &fake.id(session));
    }
    world.crash();
    fake
}

fn restore(world: &World, more: &[&str]) -> Vec<Value> {
    let said = world.sidecar([&["session", "restore", "--agents", "--yes", "--json"], more].concat());
    assert!(said.code == 0 || said.code == 1, "{said:?}");
    agents(&said.json())
}

fn told(agents: &[Value]) -> Vec<(&str, &str)> {
    agents.iter().map(|agent| (agent["status"].as_str().unwrap(), agent["reason"].as_str().unwrap())).collect()
}

#[test]
fn no_more_than_so_many_start_at_once() {
    let world = World::bare();
    let sessions = ["a", "b", "c", "d", "e"];
    let fake = crashed(&world, &sessions, &json!({ "resumeConcurrency": 2, "resumeStagger": 0 }));
    fake.set("slow");
    let mut running = world.command(sidecar_path()).args(["session", "restore", "--agents", "--yes"]).spawn().unwrap();
    wait_for("two of them", || (fake.ids().len() == 2).then_some(()));
    // The others wait behind them: nothing is typed into them, and a Ctrl-C there gives a shell.
    let waits = |session: &&&str| !fake.ids().contains(&fake.id(session));
    let waiting: Vec<&str> = sessions.iter().filter(waits).copied().collect();
    assert_eq!(waiting.len(), 3);
    world.press(&format!("={}:", waiting[0]), &["lost", "Enter", "C-c"]);
    fake.wait_state(waiting[0], "skipped");
    world.press(&format!("={}:", waiting[0]), &["echo in a $((41 + 1)) shell", "Enter"]);
    world.wait_shown(&format!("={}:", waiting[0]), "in a 42 shell");
    assert_eq!(fake.ids().len(), 2);
    fake.unset("slow");
    for session in sessions.iter().filter(|session| **session != waiting[0]) {
        fake.wait_there(session, &fake.id(session));
    }
    assert!(running.wait().unwrap().success());
    assert_eq!((fake.ids().len(), fake.was_twice()), (4, false));
    assert!(!world.screen(&format!("={}:", waiting[1])).contains("lost"));
}

#[test]
fn killed_at_any_tmux_call_and_run_again_each_conversation_is_there_once() {
    for when in ["before", "after"] {
        for n in 1.. {
            let world = World::bare();
            let fake = crashed(&world, &["a", "b"], &json!({ "resumeStagger": 0 }));
            let code = disturbed_with(&world, when, n, &["--agents", "--yes"]);
            let again = world.sidecar(["session", "restore", "--agents", "--yes", "--json"]);
            assert_eq!(again.code, 0, "killed {when} call {n}: {again:?}\n{}", world.log());
            for session in ["a", "b"] {
                fake.wait_there(session, &fake.id(session));
            }
            let mut ids = fake.ids();
            ids.sort();
            assert_eq!((ids, fake.was_twice()), (vec![fake.id("a"), fake.id("b")], false), "killed {when} call {n}\n{}", world.log());
            if code.is_some() && n > 5 {
                break;
            }
        }
    }
}

#[test]
fn a_conversation_that_is_open_elsewhere_or_was_seen_later_elsewhere_is_not_opened() {
    let world = World::bare();
    let fake = crashed(&world, &["a", "b", "c", "d"], &json!({}));
    // `b` has that of `a`, reported later; `c` is open outside tmux; the transcript of `d` was cleaned up.
    let later = sidecar::record::now() + 1000;
    let mut binding = fake.binding(&fake.id("a"));
    binding["reported"] = json!(later);
    world.set_pane("b", &json!({ "agent": binding }));
    let mut outside = world
        .command(world.folder("fake bin").join("fake"))
        .arg(fake.here.join("script"))
        .arg(&fake.here)
        .args(["--resume", &fake.id("c")])
        .stdin(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    wait_for("it", || fake.ids().contains(&fake.id("c")).then_some(()));
    std::fs::remove_file(world.home().join(format!(".fake/talks/{}.jsonl", fake.id("d")))).unwrap();
    let agents = restore(&world, &[]);
    assert_eq!(
        told(&agents),
        [("skipped", "duplicate"), ("resumed", "resumed"), ("skipped", "already_open"), ("skipped", "transcript_missing")]
    );
    assert!(agents[0]["detail"].as_str().unwrap().contains("b:0.0"), "{agents:?}");
    fake.wait_there("b", &fake.id("a"));
    assert_eq!((fake.ids().len(), fake.was_twice()), (2, false));
    // By hand neither, and what is on its way or there already stays what it is.
    let shown = world.pane_id("b");
    let before = std::fs::read_to_string(world.store().unwrap().join(format!("resumes/{shown}.json"))).unwrap();
    world.press("=d:", &[&format!("{} agent resume {shown}", sidecar_path()), "Enter"]);
    world.wait_shown("=d:", "already open in process");
    assert_eq!(std::fs::read_to_string(world.store().unwrap().join(format!("resumes/{shown}.json"))).unwrap(), before);
    let pane = world.pane_id("c");
    world.press("=c:", &[&format!("{} agent resume {pane}", sidecar_path()), "Enter"]);
    world.wait_shown("=c:", "already open in process");
    drop(outside.stdin.take());
    outside.wait().unwrap();
    assert_eq!(told(&restore(&world, &[]))[2], ("resumed", "resumed"));
    fake.wait_there("c", &fake.id("c"));
}

#[test]
fn an_automatic_restore_resumes_what_asks_nobody_and_never_what_failed_before() {
    let world = World::bare();
    world.configure("set -g @sidecar-interval 0.3\nset -g @sidecar-grace 0.3\nset -g @sidecar-offer auto\n");
    let fake = FakeAgent::new(&world);
    let sessions = ["asks", "fails", "never", "resumes"];
    for session in sessions {
        world.tmux(["new-session", "-d", "-s", session]).ok();
    }
    world.wait_recorded(&sessions);
    world.crash();
    for session in sessions {
        fake.bind(session, &fake.id(session));
    }
    for session in ["fails", "resumes"] {
        world.sidecar(["session", "policy", session, "--resume"]).ok();
    }
    world.sidecar(["session", "policy", "never", "--never"]).ok();
    let failed = json!({ "kind": "fake", "id": fake.id("fails"), "at": sidecar::record::now() + 1, "answer": "full", "state": "failed" });
    let folder = world.store().unwrap().join("resumes");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join(format!("{}.json", world.pane_id("fails"))), failed.to_string()).unwrap();
    world.tmux(["new-session", "-d", "-s", "new"]).ok();
    fake.wait_there("resumes", &fake.id("resumes"));
    fake.wait_state("resumes", "resumed");
    assert_eq!(fake.ids(), [fake.id("resumes")]);
    let mut live = world.sessions();
    live.sort();
    assert_eq!(live, ["asks", "fails", "new", "resumes"]);
}

#[test]
fn its_variables_are_its_own_and_an_executable_that_no_path_names_is_found() {
    let world = World::bare();
    let fake = FakeAgent::new(&world);
    let elsewhere = world.folder("con fig");
    world.open(&["a", "b"]);
    std::fs::create_dir_all(elsewhere.join("talks")).unwrap();
    let (a, b) = (fake.id("a"), fake.id("b"));
    std::fs::write(elsewhere.join(format!("talks/{a}.jsonl")), "{}\n").unwrap();
    let mut binding = fake.binding(&a);
    std::fs::remove_file(world.home().join(format!(".fake/talks/{a}.jsonl"))).unwrap();
    binding["configDir"] = json!(elsewhere);
    world.set_pane("a", &json!({ "agent": binding }));
    let mut binding = fake.binding(&b);
    binding["program"] = json!(world.folder("fake bin").join("fake"));
    world.set_pane("b", &json!({ "agent": binding }));
    world.crash();
    // The server was started by an agent, and its shells' start-up files find nothing.
    for file in [".profile", ".bash_profile", ".bashrc"] {
        std::fs::write(world.home().join(file), "PS1='$ '\n").unwrap();
    }
    let mut command = world.command(sidecar_path());
    command.args(["session", "restore", "--agents", "--yes", "--shell", "b", "--json"]);
    command.env("FAKE_INHERITED", "1").env("FAKE_HOME", "/of another");
    let said = command.output().unwrap();
    world.remember_server();
    assert!(said.status.success(), "{said:?}\n{}", world.log());
    fake.wait_there("b", &b);
    std::fs::write(world.home().join(".profile"), format!("PATH='{}':$PATH\n", world.folder("fake bin").display())).unwrap();
    restore(&world, &[]);
    fake.wait_there("a", &a);
    let variables: Vec<String> = fake.starts().into_iter().map(|(_, variables, _)| variables).collect();
    assert_eq!(variables, [String::new(), format!("FAKE_HOME={}", elsewhere.display())]);
    // The shell that is left has them as tmux gave them.
    world.press("=b:", &["bye", "Enter", "echo is $FAKE_HOME", "Enter"]);
    world.wait_shown("=b:", "is /of another");
}

#[test]
fn a_shell_that_a_start_up_file_becomes_gets_the_line_once() {
    let world = World::bare();
    let fake = FakeAgent::new(&world);
    let home = world.home();
    // As users do who can't change their login shell.
    let becomes = "case $- in *i*) [ \"$GONE\" ] || { GONE=1; export GONE; PS1='$ '; export PS1; exec /bin/sh; } ;; esac\n";
    let path = std::fs::read_to_string(home.join(".profile")).unwrap();
    world.open(&["a"]);
    fake.bind("a", &fake.id("a"));
    world.crash();
    std::fs::write(home.join(".profile"), format!("{path}{becomes}")).unwrap();
    assert_eq!(told(&restore(&world, &[])), [("resumed", "resumed")], "{}\n{}", world.log(), world.screen("=a:"));
    fake.wait_there("a", &fake.id("a"));
    assert_eq!(fake.ids().len(), 1);
    assert_eq!(world.screen("=a:").matches("agent resume pn-").count(), 1);
}

#[test]
fn nothing_of_a_record_runs_or_is_typed_whatever_it_holds() {
    let odd = [
        "$(touch CANARY)",
        "`touch CANARY`",
        "; touch CANARY",
        "\ntouch CANARY\n",
        "-x",
        "--",
        "#(touch CANARY)",
        "'\"; touch CANARY",
        "a b",
        "~",
        "*",
    ];
    let world = World::bare();
    let fake = FakeAgent::new(&world);
    world.open(&["a", "b"]);
    let mut binding = fake.binding(&fake.id("a"));
    let flags: Vec<String> = odd.iter().map(|text| format!("--model={text}")).collect();
    let dir = world.folder("$(touch CANARY) '\"; touch CANARY #(touch CANARY)");
    binding["flags"] = json!(flags);
    binding["dir"] = json!(dir);
    world.set_pane("a", &json!({ "agent": binding }));
    world.crash();
    restore(&world, &[]);
    fake.wait_there("a", &fake.id("a"));
    let start = std::fs::read_to_string(fake.here.join("starts")).unwrap();
    let wanted = format!("{} --resume {}\n", flags.join(" "), fake.id("a"));
    assert!(start.contains(&format!(" {}|", dir.display())) && start.ends_with(&wanted), "{start}");
    // No id but a plain one is given to a program.
    for id in odd.iter().copied().filter(|id| *id != "a b").chain(["../../etc/passwd", "a/b", ".x", ""]) {
        let mut binding = fake.binding(&fake.id("b"));
        binding["id"] = json!(id);
        world.set_pane("b", &json!({ "agent": binding }));
        assert_eq!(world.agent_verdict("b").1, "no_binding", "{id}");
        let pane = world.pane_id("b");
        let said = world.command(sidecar_path()).args(["agent", "resume", &pane]).env("TMUX_PANE", "%0").output().unwrap();
        assert!(!said.status.success());
    }
    for pane in odd.iter().copied().chain(["pn-nobody", "../x"]) {
        let said = world.command(sidecar_path()).args(["agent", "resume", "--", pane]).env("TMUX_PANE", "%0").output().unwrap();
        assert!(!said.status.success(), "{pane}");
    }
    assert_eq!(fake.ids().len(), 1);
    let kept: Vec<_> = std::fs::read_dir(world.store().unwrap().join("resumes")).unwrap().map(|file| file.unwrap().file_name()).collect();
    assert!(kept.iter().all(|name| name == "lock" || *name == *format!("{}.json", world.pane_id("a")).as_str()), "{kept:?}");
    let found = world.command("find").arg(world.work().parent().unwrap()).args(["-name", "CANARY"]).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&found.stdout), "");
}

#[test]
fn at_a_prompt_in_vis_command_mode_or_behind_a_nested_shell_nothing_is_run_and_nothing_is_left() {
    let world = World::bare();
    let fake = FakeAgent::new(&world);
    world.tmux(["start-server", ";", "set-option", "-g", "exit-empty", "off"]).ok();
    let shells = [
        ("bash", "bash --norc -i", "set -o vi", "no_prompt"),
        ("zsh", "zsh -f -i", "bindkey -v; PS1='$ '", "no_prompt"),
        ("nested", "bash --norc -i", "sh", "pane_busy"),
    ];
    for (session, _, _, _) in shells {
        world.tmux(["new-session", "-d", "-x", "100", "-y", "30", "-s", session]).ok();
    }
    for (session, program, set, _) in shells {
        let target = format!("={session}:");
        world.press(&target, &[&format!("exec env PS1='$ ' {program}"), "Enter"]);
        wait_for("it", || {
            let words = world.processes(&target)?[0].clone();
            words.starts_with(program.split(' ').next()?.as_bytes()).then_some(())
        });
        world.press(&target, &[&format!("echo s''et; {set}"), "Enter"]);
        world.wait_shown(&target, "\nset");
        if session == "nested" {
            wait_for("the shell inside", || world.processes(&target).is_some_and(|[own, front]| own != front).then_some(()));
        } else {
            world.press(&target, &["one two", "Escape", "0", "D"]);
        }
    }
    world.look();
    world.wait_recorded(&["bash", "nested", "zsh"]);
    for (session, ..) in shells {
        fake.bind(session, &fake.id(session));
    }
    let told_all = restore(&world, &[]);
    for (session, _, _, reason) in shells {
        let pane = world.pane_id(session);
        let one: Vec<Value> = told_all.iter().filter(|agent| agent["pane"] == pane.as_str()).cloned().collect();
        assert_eq!(told(&one), [("skipped", reason)], "{session}: {}", world.screen(&format!("={session}:")));
        let last = world.screen(&format!("={session}:")).trim_end().lines().last().unwrap().to_owned();
        assert!(!last.contains("resume") && !last.contains("pn-"), "{session}: {last}");
    }
    assert_eq!(fake.ids().len(), 0);
    // Its line was given up, and what is left is a prompt in vi's insert mode, as good as any other.
    assert_eq!(told(&restore(&world, &["--shell", "bash"])), [("resumed", "resumed")], "{}", world.screen("=bash:"));
    fake.wait_there("bash", &fake.id("bash"));
}
