//! The real agents, in panes of a test's own server, talking to a model on the loopback.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use sidecar::agents::catalog::{Agent, Arity, Catalog};
use sidecar::agents::flags::{self, Run};
use sidecar::agents::process;
use sidecar::agents::recognize::{Process, Recognized, recognize};
use sidecar::model::RawText;

use super::model_api::ModelApi;
use super::support::{Said, World, is_alive, sidecar_path, wait_for, wait_or_tell};

const KEY: &str = "sk-ant-none-0000000000000000000000";

/// The version of opencode, as `scripts/agents` fetches it.
const OPENCODE: &str = "1.18.33";

/// The folder of the agents' programs.
pub fn programs() -> PathBuf {
    let fetched = || Path::new(env!("CARGO_MANIFEST_DIR")).join(".agents");
    let folder = std::env::var_os("SIDECAR_AGENTS").map_or_else(fetched, PathBuf::from).join("bin");
    for name in ["claude", "claude-2.1.200", "codex", "copilot", "gemini", "opencode"] {
        assert!(folder.join(name).exists(), "{name} is not there, so this could not be tested: `scripts/agents .agents` fetches it");
    }
    folder
}

/// A world in which the agents are set up: no first questions, a trusted folder to work in, a model on the loopback, and nothing else
/// that they could reach.
pub struct Agents {
    pub world: World,
    pub api: ModelApi,
    catalog: Catalog,
    pub work: PathBuf,
}

impl Agents {
    pub fn new() -> Self {
        Self::in_world(World::bare())
    }

    /// The same in a world of its own settings.
    pub fn in_world(world: World) -> Self {
        let api = ModelApi::start();
        let work = world.folder("project");
        let claude = json!({
            "hasCompletedOnboarding": true, "theme": "dark", "numStartups": 5, "autoUpdates": false,
            "hasSeenAutoDefaultNudge": true, "hasSeenAutoDefaultNotice": true,
            "customApiKeyResponses": { "approved": [&KEY[KEY.len() - 20..]], "rejected": [] },
            "projects": { work.to_str().unwrap(): { "hasTrustDialogAccepted": true } },
        });
        let codex = format!(
            r#"model = "none"
model_provider = "loopback"
approval_policy = "never"
sandbox_mode = "danger-full-access"
check_for_update_on_startup = false

[model_providers.loopback]
name = "loopback"
base_url = "http://127.0.0.1:{}/v1"
wire_api = "responses"
env_key = "NO_KEY"
request_max_retries = 0
stream_max_retries = 0

[analytics]
enabled = false

[features]
enable_request_compression = false

[projects."{}"]
trust_level = "trusted"
"#,
            api.port,
            work.display()
        );
        let gemini = json!({
            "security": { "auth": { "selectedType": "gemini-api-key" }, "folderTrust": { "enabled": false } },
            // Its clean-up takes a conversation that was resumed once for an empty one, and deletes it.
            "general": { "enableAutoUpdate": false, "enableAutoUpdateNotification": false, "sessionRetention": { "enabled": false } },
            "privacy": { "usageStatisticsEnabled": false }, "telemetry": { "enabled": false },
        });
        for (file, text) in [
            (".claude.json", claude.to_string()),
            (".gemini/settings.json", gemini.to_string()),
            (".copilot/config.json", json!({ "trustedFolders": [work] }).to_string()),
            // Its automatic mode would ask a service that is not there.
            (".claude/settings.json", json!({ "permissions": { "defaultMode": "default" } }).to_string()),
            (".codex/config.toml", codex),
        ] {
            let path = world.home().join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let opencode = json!({
            "autoupdate": false, "share": "disabled", "model": "anthropic/claude-sonnet-4-5", "small_model": "anthropic/claude-sonnet-4-5",
            "provider": { "anthropic": { "options": { "baseURL": format!("http://127.0.0.1:{}/v1", api.port), "apiKey": "none" } } },
        });
        let path = world.home().parent().unwrap().join("config/opencode/opencode.json");
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, opencode.to_string()).unwrap();
        // What plugins may need is there, as far as it looks.
        let plugin = path.with_file_name("node_modules/@opencode-ai/plugin");
        std::fs::create_dir_all(&plugin).unwrap();
        for (file, text) in [
            (plugin.join("package.json"), json!({ "name": "@opencode-ai/plugin", "version": OPENCODE })),
            (path.with_file_name("package.json"), json!({ "dependencies": { "@opencode-ai/plugin": OPENCODE } })),
        ] {
            std::fs::write(file, text.to_string()).unwrap();
        }
        // A server must not end with an agent while another one is to start.
        world.tmux(["new-session", "-d", "-s", "keep"]).ok();
        Self { world, api, catalog: Catalog::built_in(), work }
    }

    pub fn agent(&self, kind: &str) -> &Agent {
        self.catalog.get(kind).unwrap()
    }

    /// What an agent needs in its environment besides that of the world.
    pub fn variables(&self) -> Vec<(&'static str, String)> {
        let path = format!("{}:/usr/local/bin:/usr/bin:/bin", programs().display());
        let mut variables = vec![
            ("PATH", path),
            // Codex makes some files only where its home is not below this.
            ("TMPDIR", self.world.work().parent().unwrap().join("tmp").display().to_string()),
            ("ANTHROPIC_BASE_URL", format!("http://127.0.0.1:{}", self.api.port)),
            ("ANTHROPIC_API_KEY", KEY.to_owned()),
            ("NO_KEY", "none".to_owned()),
            ("NO_PROXY", "127.0.0.1".to_owned()),
            ("GEMINI_API_KEY", "none".to_owned()),
            ("GOOGLE_GEMINI_BASE_URL", format!("http://127.0.0.1:{}", self.api.port)),
            ("COPILOT_PROVIDER_BASE_URL", format!("http://127.0.0.1:{}", self.api.port)),
            ("COPILOT_PROVIDER_TYPE", "anthropic".to_owned()),
            ("COPILOT_PROVIDER_API_KEY", "none".to_owned()),
            ("COPILOT_MODEL", "claude-sonnet-4".to_owned()),
            ("COPILOT_OFFLINE", "true".to_owned()),
            ("COPILOT_AUTO_UPDATE", "false".to_owned()),
            // What opencode would fetch besides.
            ("npm_config_registry", "http://127.0.0.1:9".to_owned()),
            ("npm_config_fetch_retries", "0".to_owned()),
            ("OPENCODE_DISABLE_AUTOUPDATE", "1".to_owned()),
            ("OPENCODE_DISABLE_MODELS_FETCH", "1".to_owned()),
        ];
        // Nobody listens there.
        variables.extend(["HTTP_PROXY", "HTTPS_PROXY"].map(|name| (name, "http://127.0.0.1:9".to_owned())));
        let off = ["DISABLE_AUTOUPDATER", "DISABLE_TELEMETRY", "DISABLE_ERROR_REPORTING", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC"];
        variables.extend(off.map(|name| (name, "1".to_owned())));
        variables
    }

    /// Starts an agent with these words in a new session of this name.
    pub fn start(&self, session: &str, program: &str, words: &[&str]) {
        let mut args: Vec<String> = ["new-session", "-d", "-x", "140", "-y", "45", "-s", session, "-c"].map(str::to_owned).to_vec();
        args.push(self.work.display().to_string());
        for (name, value) in self.variables() {
            args.extend(["-e".to_owned(), format!("{name}={value}")]);
        }
        // tmux looks for it on its client's PATH.
        args.extend(["--".to_owned(), programs().join(program).display().to_string()]);
        args.extend(words.iter().map(|&word| word.to_owned()));
        self.world.tmux(args).ok();
    }

    pub fn screen(&self, session: &str) -> String {
        self.world.tmux(["capture-pane", "-p", "-J", "-t", &format!("={session}:")]).out
    }

    #[track_caller]
    pub fn wait_shown(&self, session: &str, text: &str) {
        let told = || format!("'{text}' on the screen:\n{}", self.screen(session));
        wait_or_tell(told, || self.screen(session).contains(text).then_some(()));
    }

    /// Presses a key until this comes true: an agent in the middle of something takes it otherwise, or not at all.
    #[track_caller]
    pub fn press_until<T>(&self, session: &str, key: &str, what: &str, mut done: impl FnMut() -> Option<T>) -> T {
        let told = || format!("{what}; on the screen:\n{}", self.screen(session));
        let mut looks = 0_u32;
        wait_or_tell(told, || {
            let result = done();
            if result.is_none() && looks % 100 == 0 {
                self.world.tmux(["send-keys", "-t", &format!("={session}:"), key]);
            }
            looks += 1;
            result
        })
    }

    /// Types a prompt and waits for its answer.
    #[track_caller]
    pub fn say(&self, session: &str, prompt: &str, answer: &str) {
        self.world.tmux(["send-keys", "-t", &format!("={session}:"), "-l", prompt]).ok();
        self.wait_shown(session, prompt);
        // Codex takes text and Enter that come in one burst for something pasted.
        let taken = || self.api.prompts().iter().any(|said| said.contains(prompt)).then_some(());
        self.press_until(session, "Enter", "a prompt that is sent", taken);
        self.wait_shown(session, answer);
    }

    /// The agent in a pane: its process, and what is known of it.
    #[track_caller]
    fn in_pane(&self, session: &str) -> (i32, Found) {
        let pid: i32 =
            self.world.tmux(["display-message", "-p", "-t", &format!("={session}:"), "#{pane_pid}"]).ok().trim().parse().unwrap();
        let front = process::foreground(pid).map(|(leader, _)| leader).unwrap();
        (front, Found::of(&self.catalog, front).unwrap_or_else(|| panic!("no agent: {:?} {:?}", process::argv(front), process::exe(front))))
    }

    /// Runs `sidecar WORDS`, called by a name in this world that its hooks then call, as the user of the agents would.
    pub fn sidecar(&self, words: &[&str]) -> Said {
        let link = self.helper();
        if !link.exists() {
            std::fs::create_dir_all(link.parent().unwrap()).unwrap();
            std::os::unix::fs::symlink(sidecar_path(), &link).unwrap();
        }
        let mut command = self.world.command(&link);
        command.args(words).envs(self.variables());
        Said::of(&command.output().unwrap())
    }

    pub fn helper(&self) -> PathBuf {
        self.world.work().parent().unwrap().join("bin/sidecar")
    }

    /// Puts a program in the helper's place that writes down what it was called with, and calls the helper.
    pub fn overhear(&self) {
        let log = self.log();
        let script = format!(
            "#!/bin/sh\nreport=$(cat)\nprintf '%s %s\\n' \"$4\" \"$report\" >>'{}'\nprintf %s \"$report\" | exec '{}' \"$@\"\n",
            log.display(),
            sidecar_path()
        );
        // Written by a child: what this process has open for writing, another test's child may hold, and none can run it then.
        let mut write = self.world.command("/bin/sh");
        write.args(["-c", r#"rm "$1" && printf %s "$2" >"$1" && chmod 755 "$1""#, "sh"]).arg(self.helper()).arg(script);
        Said::of(&write.output().unwrap()).ok();
    }

    pub fn log(&self) -> PathBuf {
        self.world.work().parent().unwrap().join("reports")
    }

    /// The reports so far of an agent's event.
    pub fn reports(&self, kind: &str, event: &str) -> Vec<Value> {
        let text = std::fs::read_to_string(self.log()).unwrap_or_default();
        let of_kind = text.lines().filter_map(|line| line.strip_prefix(&format!("{kind} ")));
        let reports = of_kind.map(|report| serde_json::from_str::<Value>(report).unwrap_or_else(|error| panic!("{error}: {report}")));
        reports.filter(|report| report["hook_event_name"] == event).collect()
    }

    #[track_caller]
    pub fn wait_report(&self, kind: &str, event: &str) -> Value {
        let told = || format!("a report of {event}; there are:\n{}", std::fs::read_to_string(self.log()).unwrap_or_default());
        wait_or_tell(told, || self.reports(kind, event).pop())
    }

    /// The transcripts of a conversation, where the catalog says that they lie.
    pub fn transcripts(&self, kind: &str, id: &str) -> Vec<PathBuf> {
        let agent = self.agent(kind);
        let pattern = agent.transcript_of(id);
        let mut found = vec![self.world.home().join(&agent.home.folder)];
        for part in pattern.split('/') {
            let pattern = wildmatch::WildMatch::new(part);
            let entries = found.iter().flat_map(|folder| std::fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok));
            found = entries.filter(|entry| pattern.matches(&entry.file_name().to_string_lossy())).map(|entry| entry.path()).collect();
        }
        found
    }

    /// Goes on with a conversation as its recorded flags say, in a new session.
    pub fn resume(&self, session: &str, kind: &str, kept: &[RawText], id: &str) {
        let agent = self.agent(kind);
        let words: Vec<String> = flags::resume(agent, kept, id).unwrap().iter().map(|word| word.display().into_owned()).collect();
        self.start(session, &agent.programs[0], &words.iter().map(String::as_str).collect::<Vec<_>>());
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
    agents.sidecar(&["agent", "integration", "install", "claude"]).ok();
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
    agents.sidecar(&["agent", "integration", "install", "claude"]).ok();
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
    agents.sidecar(&["agent", "integration", "install", "codex", "--trust"]).ok();
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
    assert!(after.starts_with(before.trim_end()), "{after}");
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
