//! The line that an agent's hook runs, and how it is known again.

use super::{Form, plugin};
use crate::tmux::shell_word;

/// What a hook of one agent looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Hook {
    /// Which agent.
    pub(super) kind: &'static str,
    /// The events that it is for: the fewest that prove what a record needs, as each costs the user's turn a few milliseconds.
    pub(super) events: &'static [&'static str],
    /// The files in the agent's folder that may hold it.
    pub(super) files: &'static [(Form, &'static str)],
    /// How long the agent waits for it, in the agent's own unit; the helper itself takes milliseconds.
    pub(super) timeout: u32,
    /// The key of its JSON that switches all hooks off, and by which value.
    pub(super) off: (&'static [&'static str], bool),
    /// Whether it reads comments in JSON.
    pub(super) comments: bool,
    /// Whether it reads JSON behind a byte order mark.
    pub(super) mark: bool,
}

/// `SessionStart` tells the id, and which id follows which (`/clear`, a resume, a fork). `UserPromptSubmit` proves that there is a
/// conversation to come back to: the transcript begins with it. `SessionEnd` alone tells an exit that the user chose from a death.
pub(super) const CLAUDE: Hook = Hook {
    kind: "claude",
    events: &["SessionStart", "UserPromptSubmit", "SessionEnd"],
    files: &[(Form::Json, "settings.json")],
    timeout: 5,
    off: (&["disableAllHooks"], true),
    comments: false,
    mark: true,
};

/// Codex sends nothing before the first prompt, and its `SessionEnd` gives the same reason for every end, if it comes at all. So the
/// prompt tells all that there is to know.
pub(super) const CODEX: Hook = Hook {
    kind: "codex",
    events: &["UserPromptSubmit"],
    files: &[(Form::Json, "hooks.json"), (Form::Toml, "config.toml")],
    mark: false,
    ..CLAUDE
};

/// `BeforeAgent` is Gemini CLI's word for a prompt. Its `SessionEnd` says `exit` for every end, also for that with its terminal.
pub(super) const GEMINI: Hook = Hook {
    kind: "gemini",
    events: &["SessionStart", "BeforeAgent"],
    timeout: 5000,
    off: (&["hooksConfig", "enabled"], false),
    comments: true,
    mark: false,
    ..CLAUDE
};

/// Copilot CLI sends nothing before the first prompt either, and ends with `user_exit` for SIGTERM too. Under this name of the event it
/// speaks as Claude Code does.
pub(super) const COPILOT: Hook = Hook { kind: "copilot", events: &["UserPromptSubmit"], comments: true, mark: false, ..CLAUDE };

/// opencode has no hooks but plugins, which run in its own process.
pub(super) const OPENCODE: Hook =
    Hook { kind: "opencode", events: &["chat.message"], files: &[(Form::Plugin, "plugins/sidecar.js")], off: (&[], true), ..CODEX };

/// Codex runs hooks by the user's login shell, which may be any; all of them understand plain words in single quotes.
const BY_SH: &str = r#"/bin/sh -c '"$0" "$@" >/dev/null 2>&1; exit 0' "#;
/// Claude Code runs them by `/bin/sh`, Gemini CLI and Copilot CLI by bash.
const SILENTLY: &str = " >/dev/null 2>&1 || true";

impl Hook {
    /// The line that calls this helper, or the whole plugin. Silent, exit 0, even when the helper is gone.
    pub(super) fn line(&self, helper: &str) -> String {
        if *self == OPENCODE {
            return plugin::text(helper, &self.call());
        }
        let call = format!("{} {}", shell_word(helper), self.call());
        if self.kind == CODEX.kind { format!("{BY_SH}{call}") } else { format!("{call}{SILENTLY}") }
    }

    fn call(&self) -> String {
        format!("agent report-session --kind {} --hook-stdin", self.kind)
    }

    /// Whether this line is ours, for whatever helper.
    pub(super) fn is_ours(&self, line: &str) -> bool {
        line.contains(&format!(" {}", self.call()))
    }

    /// The helper that a line of ours calls; `None` if somebody has changed the line.
    pub(super) fn helper_of(&self, line: &str) -> Option<String> {
        if *self == OPENCODE {
            return plugin::helper_of(line).filter(|helper| self.line(helper) == line);
        }
        let before = line.split_once(&format!(" {}", self.call()))?.0;
        let quoted = before.strip_prefix(BY_SH).unwrap_or(before).strip_prefix('\'')?.strip_suffix('\'')?;
        let helper = quoted.replace(r"'\''", "'");
        (self.line(&helper) == line).then_some(helper)
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a test runs the line as the agents do")]
mod tests {
    use std::io::Write;
    use std::process::{Command, Stdio};

    use super::*;

    /// Runs the line with a minimal environment, and gives the exit code and all that was printed.
    fn run(shell: &str, line: &str) -> (Option<i32>, String) {
        let mut child = Command::new(shell)
            .args(["-c", line])
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // A helper that is gone reads nothing.
        let _ = child.stdin.take().unwrap().write_all(b"{}");
        let output = child.wait_with_output().unwrap();
        (output.status.code(), String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned())
    }

    #[test]
    fn a_line_is_known_again_and_names_its_helper() {
        for hook in [CLAUDE, CODEX, GEMINI, COPILOT, OPENCODE] {
            for helper in ["/usr/bin/sidecar", "/home/a b/it's $(id) `id` \\ \"q\"/sidecar"] {
                let line = hook.line(helper);
                assert!(hook.is_ours(&line));
                assert_eq!(hook.helper_of(&line).as_deref(), Some(helper));
                assert!(hook.is_ours(&format!("nice {line}")), "one that somebody has changed is ours still");
                assert_eq!(hook.helper_of(&format!("nice {line}")), None, "{line}");
            }
        }
        assert!(!CLAUDE.is_ours(&CODEX.line("/x")) && !CODEX.is_ours(&CLAUDE.line("/x")));
        assert!(!CLAUDE.is_ours("/usr/bin/notify claude"));
    }

    #[test]
    fn the_line_calls_the_helper_and_stays_silent_whatever_becomes_of_it() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("it's a $HOME \"folder\"");
        std::fs::create_dir(&folder).unwrap();
        let (helper, log) = (folder.join("sidecar"), dir.path().join("log"));
        let shells = ["/bin/sh", "bash", "dash"].map(|shell| (shell, [CLAUDE, CODEX]));
        for (shell, hooks) in shells {
            for hook in hooks {
                let line = hook.line(helper.to_str().unwrap());
                let _ = std::fs::remove_file(&helper);
                assert_eq!(run(shell, &line), (Some(0), String::new()), "{shell}: the helper is gone");
                std::fs::write(&helper, "no program\n").unwrap();
                assert_eq!(run(shell, &line), (Some(0), String::new()), "{shell}: not to be run");
                let script = format!("#!/bin/sh\ncat >{0}\necho \" $*\" >>{0}\necho out\necho err >&2\nexit 7\n", log.display());
                // Written by a child: what this process has open for writing, another test's child may hold, and none can run it then.
                let written = Command::new("/bin/sh")
                    .args(["-c", r#"printf %s "$2" >"$1" && chmod 755 "$1""#, "sh"])
                    .arg(&helper)
                    .arg(&script)
                    .status();
                assert!(written.unwrap().success());
                assert_eq!(run(shell, &line), (Some(0), String::new()), "{shell}: it fails");
                assert_eq!(std::fs::read_to_string(&log).unwrap(), format!("{{}} {}\n", hook.call()));
            }
        }
    }
}
