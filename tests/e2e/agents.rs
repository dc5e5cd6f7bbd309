//! The real agents, in panes of a test's own server, talking to a model on the loopback.

use serde_json::json;
use sidecar::agents::catalog::{Arity, Catalog};
use sidecar::agents::flags::{self, Run};
use sidecar::agents::process;
use sidecar::agents::recognize::{Process, Recognized, recognize};
use sidecar::model::RawText;

use super::agents_world::{Agents, programs};
use super::support::{Said, is_alive, wait_for, wait_or_tell};

impl Agents {
    /// The agent in a pane: its process, and what is known of it.
    #[track_caller]
    fn in_pane(&self, session: &str) -> (i32, Found) {
        let pid: i32 =
            self.world.tmux(["display-message", "-p", "-t", &format!("={session}:"), "#{pane_pid}"]).ok().trim().parse().unwrap();
        let front = process::foreground(pid).map(|(leader, _)| leader).unwrap();
        (front, Found::of(&self.catalog, front).unwrap_or_else(|| panic!("no agent: {:?} {:?}", process::argv(front), process::exe(front))))
    }
}

/// What is known of an agent's process, for comparisons.
struct Found {
    kind: String,
    args: Option<Vec<RawText>>,
    wrapper: bool,
}

impl Found {
    fn of(catalog: &Catalog, pid: i32) -> Option<Self> {
        let (argv, exe, comm) = (process::argv(pid), process::exe(pid), process::comm(pid));
        let found = recognize(catalog, Process { argv: argv.as_deref(), exe: exe.as_deref(), comm: comm.as_deref() })?;
        let Recognized { agent, args, wrapper, .. } = found;
        Some(Self { kind: agent.kind.clone(), args: args.map(<[RawText]>::to_vec), wrapper })
    }
}

fn texts(words: &[RawText]) -> Vec<String> {
    words.iter().map(|word| word.display().into_owned()).collect()
}

#[test]
fn claude_reports_and_its_conversation_goes_on_with_the_kept_flags() {
    let agents = Agents::new();
    agents.install(&["claude"]);
    assert!(agents.sidecar(&["agent", "integration", "status", "claude"]).ok().contains("installed"));
    agents.overhear();
    agents.start("one", "claude", &["--model", "sonnet", "--append-system-prompt", "two words", "--add-dir", ".", "--", "the first"]);
    agents.wait_shown("one", "ACK 1: the first");

    let (start, prompt) = (agents.wait_report("claude", "SessionStart"), agents.wait_report("claude", "UserPromptSubmit"));
    assert_eq!((&start["source"], &prompt["prompt"]), (&json!("startup"), &json!("the first")));
    let id = prompt["session_id"].as_str().unwrap().to_owned();
    assert_eq!(start["session_id"], id);
    assert!(agents.agent("claude").is_id(&id));
    assert_eq!(agents.transcripts("claude", &id).len(), 1);

    let (_, found) = agents.in_pane("one");
    assert_eq!((found.kind.as_str(), found.wrapper), ("claude", false));
    let reading = flags::read(agents.agent("claude"), &found.args.unwrap());
    assert_eq!(reading.run, Run::Conversation(None));
    assert_eq!(texts(&reading.kept), ["--model=sonnet", "--append-system-prompt=two words", "--add-dir=."]);

    // The first one asks whether that is meant.
    agents.press_until("one", "C-d", "a second question", || agents.screen("one").contains("again to exit").then_some(()));
    let end = agents.press_until("one", "C-d", "the end", || agents.reports("claude", "SessionEnd").pop());
    assert_eq!(end["reason"], "prompt_input_exit");

    agents.resume("two", "claude", &reading.kept, &id);
    let again = wait_for("the report of the resume", || {
        agents.reports("claude", "SessionStart").into_iter().find(|report| report["source"] == "resume")
    });
    assert_eq!(again["session_id"], id);
    agents.say("two", "the second", "ACK 2: the second");
    assert_eq!(agents.api.prompts().iter().filter(|said| said.as_str() == "the first").count(), 1, "no prompt is sent again");
    let (_, found) = agents.in_pane("two");
    let again = flags::read(agents.agent("claude"), &found.args.unwrap());
    assert_eq!((again.run, again.kept), (Run::Conversation(Some(id)), reading.kept));
}

#[test]
fn the_line_that_agent_status_shows_goes_on_with_the_conversation() {
    let agents = Agents::new();
    agents.install(&["claude"]);
    agents.overhear();
    agents.start("one", "claude", &["--model", "sonnet", "--", "the first"]);
    agents.wait_shown("one", "ACK 1: the first");
    let id = agents.wait_report("claude", "UserPromptSubmit")["session_id"].as_str().unwrap().to_owned();
    agents.world.look();
    // What a report of the prompt leads to.
    let (pid, found) = agents.in_pane("one");
    let kept = texts(&flags::read(agents.agent("claude"), &found.args.unwrap()).kept);
    let process = json!({ "pid": pid, "startTime": process::start_time(pid), "generation": agents.world.generation() });
    let now = sidecar::record::now();
    let binding = json!({
        "kind": "claude", "id": id, "flags": kept, "dir": agents.work, "process": process, "source": "hook", "reported": now, "prompted": true,
    });
    agents.world.set_pane("one", &json!({ "agent": binding }));
    let row = |state: &str| {
        let rows = agents.sidecar(&["agent", "status", "--json"]).json();
        let row = rows["agents"].as_array().unwrap().iter().find(|row| row["id"] == id).cloned().unwrap_or_default();
        (row["state"] == state).then(|| row["resume"].as_str().unwrap().to_owned())
    };
    let line = row("captured").expect("it runs, and is known");
    assert_eq!(line, format!("cd {} && claude '--model=sonnet' --resume {id}", agents.work.display()));
    assert_eq!(agents.world.agent_verdict("one"), ("no".to_owned(), "already_open".to_owned()));

    agents.world.crash();
    agents.world.wait_gone(pid);
    assert_eq!(row("resumable"), Some(line.clone()));
    assert_eq!(agents.world.step("one")["action"], "resume-agent");

    // tmux gives a pane its client's PATH.
    agents.start("two", "/bin/sh", &["-c", &format!("PATH='{}':$PATH; {line}", programs().display())]);
    agents.wait_shown("two", "ACK 1: the first");
    agents.say("two", "the second", "ACK 2: the second");
    // The pane that has it now is known by a look.
    assert_eq!(agents.world.agent_verdict("one"), ("no".to_owned(), "duplicate".to_owned()));
}

#[test]
fn codex_reports_and_its_conversation_goes_on_with_the_kept_flags() {
    let agents = Agents::new();
    agents.install(&["codex"]);
    agents.overhear();
    agents.start("one", "codex", &["--no-daemon", "-m", "other", "-c", "tui.animations=false", "--add-dir", ".", "the first"]);
    agents.wait_shown("one", "ACK 1: the first");
    let prompt = agents.wait_report("codex", "UserPromptSubmit");
    assert_eq!(prompt["prompt"], "the first");
    let id = prompt["session_id"].as_str().unwrap().to_owned();
    assert!(agents.agent("codex").is_id(&id));
    assert_eq!(agents.transcripts("codex", &id).len(), 1);

    // The package's script runs the program as its child, or becomes it, by the version of Node.
    let (pid, found) = agents.in_pane("one");
    let children = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap();
    let own: Vec<Found> = children.split_whitespace().filter_map(|pid| Found::of(&agents.catalog, pid.parse().unwrap())).collect();
    match own.as_slice() {
        [] => assert!(!found.wrapper),
        [child] => assert!(found.wrapper && !child.wrapper && child.args == found.args),
        more => panic!("{} agents below the wrapper", more.len()),
    }
    let reading = flags::read(agents.agent("codex"), &found.args.unwrap());
    assert_eq!(reading.run, Run::Conversation(None));
    assert_eq!(texts(&reading.kept), ["--no-daemon", "--model=other", "--config=tui.animations=false", "--add-dir=."]);

    agents.press_until("one", "C-c", "the end", || (!is_alive(pid)).then_some(()));
    agents.resume("two", "codex", &reading.kept, &id);
    agents.wait_shown("two", "ACK 1: the first");
    agents.say("two", "the second", "ACK 2: the second");
    assert_eq!(agents.api.prompts().iter().filter(|said| said.as_str() == "the first").count(), 1, "no prompt is sent again");
    wait_for("the report of the resumed one", || (agents.reports("codex", "UserPromptSubmit").len() == 2).then_some(()));
    assert_eq!(agents.wait_report("codex", "UserPromptSubmit")["session_id"], id);
}

#[test]
fn codex_asks_for_trust_until_it_is_given_and_its_title_tells_the_conversation() {
    let agents = Agents::new();
    let config = agents.world.home().join(".codex/config.toml");
    let before = std::fs::read_to_string(&config).unwrap();
    let said = agents.sidecar(&["agent", "integration", "install", "codex", "--titles"]).ok();
    assert!(said.contains("asks at its next start"), "{said}");
    let status = agents.sidecar(&["agent", "integration", "status", "codex", "--json"]).json();
    assert_eq!(status["integrations"][0]["state"], "not_trusted");
    agents.start("one", "codex", &[]);
    agents.wait_shown("one", "Hooks need review");
    agents.world.tmux(["kill-session", "-t", "=one"]).ok();

    assert!(agents.sidecar(&["agent", "integration", "install", "codex", "--trust"]).ok().contains("Codex trusts the hook"));
    let status = agents.sidecar(&["agent", "integration", "status", "codex", "--json"]).json();
    assert_eq!(status["integrations"][0]["state"], "installed", "{status}");
    agents.overhear();
    agents.start("two", "codex", &[]);
    agents.wait_shown("two", "Ask Codex to do anything");
    assert!(!agents.screen("two").contains("Hooks need review"));
    agents.say("two", "hello", "ACK 1: hello");
    let id = agents.wait_report("codex", "UserPromptSubmit")["session_id"].as_str().unwrap().to_owned();
    let title = || agents.world.tmux(["display-message", "-p", "-t", "=two:", "#{pane_title}"]).ok();
    wait_or_tell(|| format!("{id} in the title: {}", title()), || title().contains(&id[..29]).then_some(()));

    agents.sidecar(&["agent", "integration", "uninstall", "codex"]).ok();
    let after = std::fs::read_to_string(&config).unwrap();
    assert!(!after.contains("terminal_title"), "{after}");
    // What is left besides is what Codex itself wrote.
    let mut lines = after.lines();
    assert!(before.lines().all(|line| lines.any(|other| other == line)), "{after}");
    assert!(!agents.world.home().join(".codex/hooks.json").exists());
}

#[test]
fn a_script_that_overwrites_its_words_is_known_and_its_arguments_are_unknown() {
    let agents = Agents::new();
    let script = agents.world.folder("node").join("claude");
    std::fs::write(&script, "process.title = 'claude'; console.log('ready'); setInterval(() => {}, 1000);\n").unwrap();
    agents.start("one", "/usr/bin/env", &["node", script.to_str().unwrap(), "--model", "sonnet"]);
    agents.wait_shown("one", "ready");
    let (_, found) = agents.in_pane("one");
    assert_eq!((found.kind.as_str(), found.args, found.wrapper), ("claude", None, false));
}

/// A flag in a help text: its names and its arity.
pub fn flag_of_help(line: &str) -> Option<(Vec<String>, Arity)> {
    // Farther to the right stands what flags do.
    let indent = line.len() - line.trim_start().len();
    let line = line.trim_start();
    if indent > 6 || !line.starts_with('-') {
        return None;
    }
    // What the flag does stands two spaces behind it, or on the next line.
    let flag = line.split("  ").next().unwrap();
    let names = flag.split([',', ' ']).filter(|word| word.starts_with('-')).map(str::to_owned);
    let value = flag.find(['<', '[']).map(|at| &flag[at..]);
    let arity = match value {
        None => Arity::None,
        Some(value) if value.contains("...") && value.starts_with('[') => Arity::Any,
        Some(value) if value.contains("...") => Arity::Many,
        Some(value) if value.starts_with('<') => Arity::One,
        Some(_) => Arity::Optional,
    };
    Some((names.collect(), arity))
}

/// A subcommand in a help text, with its other names.
pub fn words_of_help(help: &str) -> Vec<String> {
    let list = help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    let rows = list.filter(|line| line.starts_with("  ") && !line.starts_with("    "));
    rows.flat_map(|line| {
        let aliases = line.split_once("[aliases: ").map_or("", |(_, rest)| rest.trim_end_matches(']'));
        let names = line.split_whitespace().next().unwrap().split('|');
        names.chain(aliases.split(", ").filter(|alias| !alias.is_empty())).map(str::to_owned).collect::<Vec<_>>()
    })
    .collect()
}

#[test]
fn every_flag_and_word_in_the_agents_help_is_in_the_catalog() {
    let agents = Agents::new();
    for (kind, helps) in
        [("claude", vec![vec!["--help"]]), ("codex", vec![vec!["--help"], vec!["resume", "--help"], vec!["fork", "--help"]])]
    {
        let agent = agents.agent(kind);
        for (number, words) in helps.iter().enumerate() {
            let mut command = agents.world.command(programs().join(kind));
            command.args(words).envs(agents.variables());
            let help = Said::of(&command.output().unwrap()).ok();
            let flags: Vec<_> = help.lines().filter_map(flag_of_help).collect();
            assert!(flags.len() > 15, "{help}");
            for (names, arity) in flags {
                for name in &names {
                    let known = agent.flag(name).unwrap_or_else(|| panic!("{kind} has a new flag: {names:?} {arity:?}"));
                    assert_eq!(known.arity, arity, "{kind} {name}");
                    assert!(names.iter().all(|name| known.names.contains(name)), "{kind}: {names:?} are one flag");
                }
            }
            let words = words_of_help(&help);
            assert_eq!(words.len() > 10, number == 0, "{words:?}");
            for word in words {
                assert!(agent.word(&word).is_some(), "{kind} has a new word: {word}");
            }
        }
    }
}
