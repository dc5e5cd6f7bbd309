//! A world with the real agents, which talk to a model on the loopback.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use sidecar::agents::catalog::{Agent, Catalog};
use sidecar::agents::flags;
use sidecar::model::RawText;

use super::model_api::ModelApi;
use super::support::{Said, World, sidecar_path, wait_or_tell};

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
    pub catalog: Catalog,
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

# A logo that turns takes a processor.
[tui]
animations = false

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
