//! Our plugin for opencode: a file of its own, so nothing of the user's is edited.

use super::command::Hook;
use super::found::{Entry, Found, Wrong};

const HELPER: &str = "const HELPER = ";

/// The plugin that calls `helper` with these words. It waits for nothing, prints nothing, and fails silently. A sub-agent's session has
/// a parent, and is none that a pane shows.
pub(super) fn text(helper: &str, call: &str) -> String {
    let helper = serde_json::Value::from(helper);
    format!(
        r#"// Tells which conversation runs in a pane: sidecar {call}
// Written by `sidecar agent integration install opencode`; `uninstall` removes it.
import {{ spawn }} from "node:child_process"

{HELPER}{helper}
const CALL = "{call}".split(" ")

const report = (id, cwd) => {{
  const child = spawn(HELPER, CALL, {{ stdio: ["pipe", "ignore", "ignore"] }})
  child.on("error", () => {{}})
  child.stdin.on("error", () => {{}})
  child.stdin.end(JSON.stringify({{ hook_event_name: "UserPromptSubmit", session_id: id, cwd }}))
}}

export const Sidecar = async ({{ client, directory }}) => ({{
  "chat.message": async ({{ sessionID }}) => {{
    const tell = ({{ data }}) => data && !data.parentID && report(sessionID, directory)
    client.session.get({{ path: {{ id: sessionID }} }}).then(tell).catch(() => {{}})
  }},
}})
"#
    )
}

/// The helper that a plugin of ours calls.
pub(super) fn helper_of(text: &str) -> Option<String> {
    let quoted = text.lines().find_map(|line| line.strip_prefix(HELPER))?;
    serde_json::from_str(quoted).ok()
}

/// What there is of ours: the whole file or nothing.
pub(super) fn look(text: &str, hook: &Hook) -> Found {
    let ours = hook.is_ours(text).then(|| Entry { event: hook.events[0].to_owned(), line: text.to_owned() });
    Found { entries: ours.into_iter().collect(), ..Found::default() }
}

/// The plugin in place of nothing, or of an earlier one of ours.
pub(super) fn install(text: &str, hook: &Hook, line: &str) -> Result<String, Wrong> {
    if text.is_empty() || hook.is_ours(text) {
        return Ok(line.to_owned());
    }
    Err(Wrong::at(text, 0, "this plugin is not sidecar's: give it another name"))
}

/// Nothing, in place of ours.
pub(super) fn uninstall(text: &str, hook: &Hook) -> Option<String> {
    (!hook.is_ours(text)).then(|| text.to_owned())
}
