//! Gemini CLI, Copilot CLI and opencode themselves: what their hooks tell, what a crash of the server costs, and what their help says.

use std::time::{Duration, Instant};

use serde_json::Value;

use super::agents::{flag_of_help, words_of_help};
use super::agents_world::{Agents, programs};
use super::support::{Said, World, sidecar_path, wait_or_tell, wait_within};
use sidecar::agents::catalog::Arity;

impl Agents {
    /// A recorded world in which the start-up files of the user's shell find this agent, whose hook is installed.
    fn of(kind: &str) -> Self {
        let agents = Self::recorded(&[kind]);
        let exports: String = agents.own_variables(kind).iter().map(|(name, value)| format!("export {name}='{value}'\n")).collect();
        std::fs::write(agents.world.home().join(".profile"), format!("{exports}PS1='$ '\n")).unwrap();
        agents
    }

    /// Gemini CLI and opencode take a proxy for the loopback too.
    fn own_variables(&self, kind: &str) -> Vec<(&'static str, String)> {
        let proxy = |name: &str| kind != "copilot" && name.ends_with("_PROXY");
        self.variables().into_iter().map(|(name, value)| (name, if proxy(name) { String::new() } else { value })).collect()
    }

    /// Runs a line of this agent's in the shell of a new session.
    fn run_of(&self, kind: &str, session: &str, line: &str) {
        let proxies = if kind == "copilot" { "" } else { "unset HTTP_PROXY HTTPS_PROXY; " };
        self.run(session, &format!("{proxies}{line}"));
    }

    /// Starts it with a first prompt; gives the conversation's id.
    #[track_caller]
    fn talk_to(&self, kind: &str, session: &str, flags: &str, prompt: &str) -> String {
        self.run_of(kind, session, &format!("{kind} {flags} {} '{prompt}'", if kind == "opencode" { "--prompt" } else { "-i" }));
        self.wait_ready(kind, session);
        self.see(session, &format!("ACK 1: {prompt}"));
        let bound = self.wait_bound(session, "a prompted conversation", |agent| agent["prompted"] == true);
        bound["id"].as_str().unwrap().to_owned()
    }

    /// Waits until it takes a prompt; what is typed before is lost, or waits in a queue.
    #[track_caller]
    fn wait_ready(&self, kind: &str, session: &str) {
        let shown = match kind {
            "copilot" => "/ commands",
            "opencode" => "ctrl+p commands",
            _ => "Type your message",
        };
        self.see(session, shown);
    }

    /// Waits for a text on the screen: on a busy machine these take half a minute to start.
    #[track_caller]
    fn see(&self, session: &str, text: &str) {
        let told = || format!("'{text}' on the screen:\n{}", self.screen(session));
        wait_within(Duration::from_secs(120), told, || self.screen(session).contains(text).then_some(()));
    }

    /// Types a line once it takes one, until it is seen, and sends it.
    #[track_caller]
    fn tell(&self, kind: &str, session: &str, line: &str) {
        self.wait_ready(kind, session);
        let mut typed: Option<Instant> = None;
        let seen = || self.screen(session).lines().any(|shown| shown.trim_start_matches([' ', '>', '❯', '┃']).starts_with(line));
        wait_or_tell(
            || format!("'{line}' on the screen:\n{}", self.screen(session)),
            || {
                if typed.is_none_or(|at| at.elapsed() > Duration::from_secs(4)) {
                    self.world.tmux(["send-keys", "-t", &format!("={session}:"), "C-u"]);
                    self.world.tmux(["send-keys", "-t", &format!("={session}:"), "-l", line]);
                    typed = Some(Instant::now());
                }
                seen().then_some(())
            },
        );
    }

    /// Sends a prompt and waits for its answer.
    #[track_caller]
    fn ask(&self, kind: &str, session: &str, prompt: &str, answer: &str) {
        self.tell(kind, session, prompt);
        let taken = || self.api.prompts().iter().any(|said| said.contains(prompt)).then_some(());
        self.press_until(session, "Enter", "a prompt that is sent", taken);
        self.see(session, answer);
    }

    /// Whether an agent came back, or is still on its way: the model's side tells in the end.
    #[track_caller]
    fn assert_comes_back(&self, told: &[Value], session: &str) {
        let (status, reason) = Self::told(told, session, &self.world);
        assert!(matches!(status, "resumed" | "starting"), "{session}: {status} {reason}\n{}\n{}", self.screen(session), self.world.log());
    }
}

/// Two conversations in one directory through a crash or two; one that the user ended, one without a prompt, and one without a user.
fn comes_back(kind: &str, flags: &str, kept: &[&str], quit: &str, rounds: usize) {
    let (headless, resume) = if kind == "opencode" { ("run", "--session") } else { ("-p", "--resume") };
    let agents = Agents::of(kind);
    let ids = [("flags", agents.talk_to(kind, "flags", flags, "the first")), ("plain", agents.talk_to(kind, "plain", "", "the second"))];
    assert_ne!(ids[0].1, ids[1].1);
    agents.talk_to(kind, "ended", "", "the third");
    agents.tell(kind, "ended", quit);
    let ended = || (!agents.pane("ended")["agent"]["ended"].is_null()).then(|| agents.pane("ended")["agent"]["ended"]["reason"].clone());
    assert_eq!(agents.press_until("ended", "Enter", "the end", ended), "gone");
    agents.run_of(kind, "nobody", &format!("{kind} {headless} 'of nobody'; echo done-$?"));
    agents.see("nobody", "done-0");
    // opencode takes a pipe for its first prompt, and the terminal for the others.
    let pipe = if kind == "opencode" { format!("{kind} {headless} 'of a pipe' | cat") } else { format!("echo 'of a pipe' | {kind}") };
    agents.run_of(kind, "piped", &format!("{pipe}; echo done-$?"));
    agents.see("piped", "done-0");
    agents.world.look();
    for session in ["nobody", "piped"] {
        assert!(agents.pane(session)["agent"].is_null(), "{:#}", agents.pane(session));
    }
    let refused = agents.world.log().matches("nobody sits at it").count();
    assert!(refused >= 2, "{}", agents.world.log());
    let sent = || agents.api.prompts().iter().filter(|said| said.as_str() == "the first").count();
    let before = sent();

    let mut words: Vec<Vec<String>> = Vec::new();
    for round in 1..=rounds {
        let told = agents.crash_and_resume();
        if round == 1 {
            assert_eq!(Agents::told(&told, "ended", &agents.world), ("skipped", "ended_by_user"));
        }
        for (session, id) in &ids {
            agents.assert_comes_back(&told, session);
            // The model's side is given all that was said before.
            let prompt = format!("again {round} in {session}");
            agents.wait_ready(kind, session);
            agents.see(session, if round == 1 { "ACK 1: " } else { "ACK 2: " });
            agents.ask(kind, session, &prompt, &format!("ACK {}: {prompt}", round + 1));
            let bound = agents.wait_bound(session, "the same conversation", |agent| agent["id"] == id.as_str() && agent["ended"].is_null());
            assert_eq!(bound["dir"].as_str(), agents.work.to_str(), "{session}");
        }
        let now: Vec<Vec<String>> = ids.iter().map(|(session, _)| agents.words(session)).collect();
        let from = now[0].len() - kept.len() - 2;
        let own: Vec<&str> = now[0][from..].iter().map(String::as_str).collect();
        assert_eq!(own, [kept, &[resume, &ids[0].1]].concat());
        assert!(round == 1 || now == words, "the second round gives the same words");
        words = now;
    }
    assert_eq!(sent(), before, "no prompt is sent again");
}

#[test]
fn gemini_goes_on_with_its_own_conversation_its_flags_and_its_directory() {
    let kept = ["--model=gemini-2.5-pro", "--include-directories=..", "--approval-mode=auto_edit"];
    comes_back("gemini", "-m gemini-2.5-pro --include-directories .. --approval-mode auto_edit", &kept, "/quit", 1);
}

#[test]
fn copilot_goes_on_with_its_own_conversation_its_flags_and_its_directory() {
    let kept = ["--model=claude-sonnet-4", "--add-dir=..", "--allow-tool=write", "--allow-tool=read"];
    comes_back("copilot", "--model claude-sonnet-4 --add-dir .. --allow-tool write read", &kept, "/exit", 2);
}

#[test]
fn opencode_goes_on_with_its_own_conversation_its_flags_and_its_directory() {
    let kept = ["--model=anthropic/claude-sonnet-4-5", "--log-level=WARN"];
    comes_back("opencode", "-m anthropic/claude-sonnet-4-5 --log-level WARN", &kept, "/exit", 1);
}

#[test]
fn gemini_follows_to_another_conversation_and_one_without_a_prompt_is_not_gone_on_with() {
    let agents = Agents::of("gemini");
    let first = agents.talk_to("gemini", "one", "", "the first");
    agents.tell("gemini", "one", "/clear");
    let cleared = || Some(agents.pane("one")["agent"].clone()).filter(|agent| agent["id"].is_string() && agent["id"] != first.as_str());
    let second = agents.press_until("one", "Enter", "another conversation", cleared);
    assert!(second["prompted"].is_null(), "{second}");
    assert_eq!(agents.pane("one")["history"][0]["id"], first);
    agents.run_of("gemini", "blank", "gemini");
    let blank = agents.wait_bound("blank", "a conversation without a prompt", |agent| agent["prompted"].is_null());
    let id = blank["id"].as_str().unwrap();
    wait_or_tell(|| format!("a file of {id}"), || (!agents.transcripts("gemini", id).is_empty()).then_some(()));

    let told = agents.crash_and_resume();
    assert_eq!(Agents::told(&told, "blank", &agents.world), ("skipped", "transcript_missing"));
    // Nothing was said since then: the conversation from before has something to go on with.
    agents.assert_comes_back(&told, "one");
    agents.see("one", "ACK 1: the first");
    agents.ask("gemini", "one", "again", "ACK 2: again");
    agents.wait_bound("one", "the first conversation", |agent| agent["id"] == first.as_str());
}

#[test]
fn one_that_asks_whether_a_folder_is_trusted_waits_for_its_user() {
    for kind in ["copilot", "gemini"] {
        let agents = Agents::of(kind);
        agents.talk_to(kind, "one", "", "the first");
        // It is trusted no more.
        let home = agents.world.home();
        if kind == "copilot" {
            std::fs::write(home.join(".copilot/config.json"), "{}").unwrap();
        } else {
            let path = home.join(".gemini/settings.json");
            let text = std::fs::read_to_string(&path).unwrap();
            std::fs::write(&path, text.replace(r#""folderTrust":{"enabled":false}"#, r#""folderTrust":{"enabled":true}"#)).unwrap();
        }
        agents.crash_and_resume();
        // It may take longer to start than the restore waits for it.
        let file = agents.world.store().unwrap().join(format!("resumes/{}.json", agents.world.pane_id("one")));
        let resume = || std::fs::read_to_string(&file).unwrap_or_default();
        let shown = || format!("{}\n{}", resume(), agents.screen("one"));
        let waits = || (resume().contains(r#""waiting""#) && resume().contains(r#""trust_folder""#)).then_some(());
        wait_within(Duration::from_secs(120), shown, waits);
    }
}

#[test]
fn every_flag_and_word_in_the_help_of_the_others_is_in_the_catalog() {
    let agents = Agents::new();
    let help = |kind: &str| {
        let mut command = agents.world.command(programs().join(kind));
        command.arg("--help").envs(agents.own_variables(kind));
        let said = Said::of(&command.output().unwrap());
        assert_eq!(said.code, 0, "{said:?}");
        // opencode writes it where errors go.
        said.out + &said.err
    };
    let text = help("copilot");
    let (flags, words): (Vec<_>, _) = (text.lines().filter_map(flag_of_help).collect(), words_of_help(&text));
    assert!(flags.len() > 50 && words.len() > 10, "{text}");
    let agent = agents.agent("copilot");
    for (names, arity) in flags {
        let known = agent.flag(&names[0]).unwrap_or_else(|| panic!("copilot has a new flag: {names:?}"));
        assert_eq!((known.arity, &known.names), (arity, &names));
    }
    assert!(words.iter().all(|word| agent.word(word).is_some()), "{words:?}");

    for (kind, number_of_flags, number_of_words) in [("gemini", 25, 6), ("opencode", 18, 18)] {
        let text = help(kind);
        let (flags, words) = (flags_of_yargs(&text), words_of_yargs(&text, kind));
        assert!(flags.len() > number_of_flags && words.len() > number_of_words, "{text}");
        let agent = agents.agent(kind);
        for (names, is_switch) in flags {
            let known = agent.flag(&names[0]).unwrap_or_else(|| panic!("{kind} has a new flag: {names:?}"));
            // How many words one with a value takes is not told.
            assert_eq!((known.arity == Arity::None, &known.names), (is_switch, &names));
        }
        assert!(words.iter().all(|word| agent.word(word).is_some()), "{words:?}");
    }
}

/// The flags in a help text that yargs wrote, and whether each has no value. What is too long for a line goes on in the next.
fn flags_of_yargs(help: &str) -> Vec<(Vec<String>, bool)> {
    let mut flags: Vec<(Vec<String>, bool)> = Vec::new();
    for line in help.lines().skip_while(|line| *line != "Options:") {
        let indent = line.len() - line.trim_start().len();
        let line = line.trim_start();
        if indent <= 6 && line.starts_with('-') {
            flags.push((line.split("  ").next().unwrap().split(", ").map(str::to_owned).collect(), false));
        }
        if let Some((_, is_switch)) = flags.last_mut() {
            *is_switch |= line.contains("[boolean]");
        }
    }
    flags
}

/// The subcommands in such a text, with their other names.
fn words_of_yargs(help: &str, program: &str) -> Vec<String> {
    let rows = help.lines().filter_map(|line| line.strip_prefix(&format!("  {program} ")));
    rows.filter(|line| !line.starts_with('['))
        .flat_map(|line| {
            let aliases = line.split_once("[aliases: ").map_or("", |(_, rest)| rest.trim_end_matches(']'));
            line.split(' ').take(1).chain(aliases.split(", ")).filter(|word| !word.is_empty()).map(str::to_owned).collect::<Vec<_>>()
        })
        .collect()
}

#[test]
fn the_plugin_of_opencode_is_a_file_of_its_own() {
    let world = World::bare();
    let run = |words: &[&str]| {
        let mut command = world.command(sidecar_path());
        Said::of(&command.args(["agent", "integration"]).args(words).output().unwrap())
    };
    let status = || run(&["status", "opencode", "--json"]).json()["integrations"][0].clone();
    let path = world.home().parent().unwrap().join("config/opencode/plugins/sidecar.js");
    assert_eq!((status()["state"].as_str(), status()["file"].as_str()), (Some("not_installed"), path.to_str()));
    run(&["install", "opencode"]).ok();
    let plugin = std::fs::read_to_string(&path).unwrap();
    assert_eq!(status()["state"], "installed");
    assert!(run(&["install", "opencode"]).ok().contains("nothing to change"));
    std::fs::write(&path, plugin.replace("chat.message", "chat.changed")).unwrap();
    assert_eq!(status()["state"], "needs_repair");
    run(&["repair", "opencode"]).ok();
    assert_eq!(std::fs::read_to_string(&path).unwrap(), plugin);
    run(&["uninstall", "opencode"]).ok();
    assert!(!path.exists());
    // One of somebody else's stays what it is.
    std::fs::write(&path, "export const Mine = async () => ({})\n").unwrap();
    let said = run(&["install", "opencode"]);
    assert_eq!(said.code, 5, "{said:?}");
    assert!(said.err.contains("not sidecar's"), "{said:?}");
    assert!(run(&["uninstall", "opencode"]).ok().contains("nothing to change"));
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "export const Mine = async () => ({})\n");
}

#[test]
fn settings_with_comments_get_the_hook_of_agents_that_read_them_and_lose_it_to_the_byte() {
    let text =
        "// mine\n{\n  \"ui\": { \"theme\": \"x\" }, // as it was\n  \"hooks\": {\n    // another one\n    \"AfterAgent\": []\n  }\n}\n";
    for (kind, folder, events) in [("gemini", ".gemini", 2), ("copilot", ".copilot", 1)] {
        let world = World::bare();
        let path = world.home().join(folder).join("settings.json");
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        let run = |words: &[&str]| {
            let mut command = world.command(sidecar_path());
            Said::of(&command.args(["agent", "integration"]).args(words).output().unwrap())
        };
        let state = || run(&["status", kind, "--json"]).json()["integrations"][0]["state"].as_str().unwrap().to_owned();
        assert_eq!(state(), "not_installed");
        run(&["install", kind]).ok();
        let installed = std::fs::read_to_string(&path).unwrap();
        assert_eq!(installed.matches(&format!("--kind {kind} ")).count(), events, "{installed}");
        assert!(["// mine", "// as it was", "// another one"].iter().all(|comment| installed.contains(comment)), "{installed}");
        assert_eq!(state(), "installed");
        std::fs::write(&path, installed.replacen(&format!("--kind {kind} "), "--kind other ", 1)).unwrap();
        run(&["repair", kind]).ok();
        std::fs::write(&path, &installed).unwrap();
        run(&["uninstall", kind]).ok();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
    }
}
