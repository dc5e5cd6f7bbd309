//! What an agent's hook tells on its standard input. Pure.

use std::path::{Component, Path};

use serde::de::{IgnoredAny, MapAccess, Visitor};
use serde_json::Value;
use wildmatch::WildMatch;

use super::catalog::Agent;
use crate::model::RawText;

/// A hook's payload, as far as it matters here.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Payload {
    /// `hook_event_name`.
    pub event: String,
    /// `session_id`.
    pub id: String,
    /// `transcript_path`.
    pub transcript: String,
    /// `cwd`.
    pub dir: String,
    /// `source` of a start.
    pub source: String,
    /// `reason` of an end.
    pub reason: String,
    /// `agent_id` is there: a sub-agent speaks.
    pub sub_agent: bool,
}

/// What a payload is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A conversation was begun or opened; whether there was a prompt in it before.
    Start {
        /// Whether it holds a prompt already.
        prompted: bool,
    },
    /// The user sent a prompt.
    Prompt,
    /// The conversation goes on.
    Activity,
    /// The user ended the agent.
    Quit,
}

impl Payload {
    /// Reads as much as there is. What is cut off at its end, as by a very long prompt, costs only what stands there.
    pub fn parse(text: &[u8]) -> Self {
        struct Fields<'a>(&'a mut Payload);
        impl<'de> Visitor<'de> for Fields<'_> {
            type Value = ();

            fn expecting(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
                f.write_str("a JSON object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
                while let Some(key) = map.next_key::<String>()? {
                    let place = match key.as_str() {
                        "hook_event_name" => &mut self.0.event,
                        "session_id" => &mut self.0.id,
                        "transcript_path" => &mut self.0.transcript,
                        "cwd" => &mut self.0.dir,
                        "source" => &mut self.0.source,
                        "reason" => &mut self.0.reason,
                        "agent_id" => {
                            self.0.sub_agent |= map.next_value::<Value>().is_ok_and(|value| !value.is_null());
                            continue;
                        }
                        _ => {
                            map.next_value::<IgnoredAny>()?;
                            continue;
                        }
                    };
                    if let Value::String(text) = map.next_value::<Value>()? {
                        *place = text;
                    }
                }
                Ok(())
            }
        }
        let mut payload = Self::default();
        let _ = serde::Deserializer::deserialize_map(&mut serde_json::Deserializer::from_slice(text), Fields(&mut payload));
        payload
    }

    /// What it is about, of this agent.
    ///
    /// # Errors
    /// It is not worth a record, and why.
    pub fn check(&self, agent: &Agent) -> Result<Event, &'static str> {
        if self.sub_agent || self.event.starts_with("Subagent") {
            return Err("a sub-agent speaks");
        }
        if !agent.is_id(&self.id) {
            return Err("its id has not the form of one");
        }
        let pattern = agent.transcript_of(&self.id);
        let name = pattern.rsplit('/').next().unwrap_or_default();
        let own = Path::new(&self.transcript).file_name().map(|name| name.to_string_lossy().into_owned());
        if !self.transcript.is_empty() && !own.is_some_and(|own| WildMatch::new(name).matches(&own)) {
            return Err("its transcript is another conversation's");
        }
        match (self.event.as_str(), self.source.as_str()) {
            // A fork or a new one has nothing of its own before its first prompt.
            ("SessionStart", source) => Ok(Event::Start { prompted: matches!(source, "resume" | "compact") }),
            // Gemini CLI has a name of its own for it.
            ("UserPromptSubmit" | "BeforeAgent", _) => Ok(Event::Prompt),
            // Of the reasons only this one is the user's word: `other` comes with every death, and after `clear` and `resume` the
            // next conversation follows in the same process.
            ("SessionEnd", _) if self.reason == "prompt_input_exit" => Ok(Event::Quit),
            ("SessionEnd", _) => Err("this end is not the user's word"),
            ("PreToolUse" | "PostToolUse" | "PreCompact" | "PostCompact" | "Stop" | "Notification", _) => Ok(Event::Activity),
            _ => Err("an event that tells nothing"),
        }
    }

    /// The transcript, if its path is one that the agent can have: absolute, normal, and in its own folder `home`.
    pub fn transcript_in(&self, home: &Path) -> Option<RawText> {
        let path = Path::new(&self.transcript);
        let real = fs_err::canonicalize(home).ok();
        let inside = path.starts_with(home) || real.is_some_and(|real| path.starts_with(real));
        (is_normal(&self.transcript) && inside).then(|| path.into())
    }
}

/// Whether this is an absolute path without detours.
pub fn is_normal(text: &str) -> bool {
    let path = Path::new(text);
    let plain = path.components().all(|part| matches!(part, Component::RootDir | Component::Normal(_)));
    // Components step over `//` and `/./`.
    path.is_absolute() && plain && !text.contains("//") && !text.contains("/./") && !text.chars().any(char::is_control)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::agents::catalog::Catalog;

    const ID: &str = "01a228e7-fac2-7180-b353-a6ead433a7ba";

    fn payload(fields: &Value) -> Payload {
        let mut whole = json!({ "session_id": ID, "transcript_path": format!("/h/.claude/projects/-w/{ID}.jsonl"), "cwd": "/w" });
        whole.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        Payload::parse(whole.to_string().as_bytes())
    }

    #[test]
    fn each_event_tells_what_it_is_and_what_tells_nothing_says_why() {
        let catalog = Catalog::built_in();
        let claude = catalog.get("claude").unwrap();
        for (fields, wanted) in [
            (json!({ "hook_event_name": "SessionStart", "source": "startup" }), Ok(Event::Start { prompted: false })),
            (json!({ "hook_event_name": "SessionStart", "source": "clear" }), Ok(Event::Start { prompted: false })),
            (json!({ "hook_event_name": "SessionStart", "source": "fork" }), Ok(Event::Start { prompted: false })),
            (json!({ "hook_event_name": "SessionStart", "source": "resume" }), Ok(Event::Start { prompted: true })),
            (json!({ "hook_event_name": "SessionStart", "source": "compact" }), Ok(Event::Start { prompted: true })),
            (json!({ "hook_event_name": "UserPromptSubmit", "prompt": "x" }), Ok(Event::Prompt)),
            (json!({ "hook_event_name": "UserPromptSubmit", "transcript_path": null }), Ok(Event::Prompt)),
            (json!({ "hook_event_name": "PostToolUse", "agent_id": null }), Ok(Event::Activity)),
            (json!({ "hook_event_name": "Stop" }), Ok(Event::Activity)),
            (json!({ "hook_event_name": "SessionEnd", "reason": "prompt_input_exit" }), Ok(Event::Quit)),
            (json!({ "hook_event_name": "SessionEnd", "reason": "other" }), Err("not the user's word")),
            (json!({ "hook_event_name": "SessionEnd", "reason": "clear" }), Err("not the user's word")),
            (json!({ "hook_event_name": "SessionEnd", "reason": "resume" }), Err("not the user's word")),
            (json!({ "hook_event_name": "SubagentStop" }), Err("sub-agent")),
            (json!({ "hook_event_name": "PreToolUse", "agent_id": "a1" }), Err("sub-agent")),
            (json!({ "hook_event_name": "Dance" }), Err("tells nothing")),
            (json!({}), Err("tells nothing")),
            (json!({ "hook_event_name": "Stop", "session_id": "--help" }), Err("form of one")),
            (json!({ "hook_event_name": "Stop", "session_id": 7 }), Err("form of one")),
            (json!({ "hook_event_name": "Stop", "transcript_path": "/h/agent-7.jsonl" }), Err("another conversation's")),
        ] {
            let got = payload(&fields).check(claude);
            match (got, wanted) {
                (Ok(got), Ok(wanted)) => assert_eq!(got, wanted, "{fields}"),
                (Err(got), Err(wanted)) => assert!(got.contains(wanted), "{fields}: {got}"),
                (got, wanted) => panic!("{fields}: {got:?}, not {wanted:?}"),
            }
        }
        let codex = catalog.get("codex").unwrap();
        let rollout = format!("/h/.codex/sessions/2026/11/29/rollout-2026-11-29T15-10-12-{ID}.jsonl");
        assert_eq!(payload(&json!({ "hook_event_name": "UserPromptSubmit", "transcript_path": rollout })).check(codex), Ok(Event::Prompt));
        let gemini = catalog.get("gemini").unwrap();
        let chat = format!("/h/.gemini/tmp/web/chats/session-2026-11-29T15-10-{}.jsonl", &ID[..8]);
        let of = |event: &str, path: &str| payload(&json!({ "hook_event_name": event, "transcript_path": path })).check(gemini);
        assert_eq!(of("BeforeAgent", &chat), Ok(Event::Prompt));
        assert!(of("BeforeAgent", &chat.replace(&ID[..8], "01a228e8")).is_err());
        assert!(of("SessionEnd", &chat).is_err(), "it says `exit` for every end");
    }

    #[test]
    fn a_transcript_lies_in_the_agents_own_folder_by_a_plain_path() {
        let home = Path::new("/h/.claude");
        let at = |path: &str| Payload { transcript: path.into(), ..Payload::default() }.transcript_in(home);
        assert_eq!(at("/h/.claude/projects/x.jsonl"), Some("/h/.claude/projects/x.jsonl".into()));
        for bad in ["", "x.jsonl", "/h/.claude/../x.jsonl", "/h/.claude//x", "/h/.claude/./x", "/h/.claudex/x", "/etc/x", "/h/.claude/a\nb"]
        {
            assert_eq!(at(bad), None, "{bad}");
        }
    }

    #[test]
    fn a_prompt_of_any_length_costs_only_itself() {
        let text = json!({ "hook_event_name": "UserPromptSubmit", "session_id": ID }).to_string();
        let long = format!("{},\"prompt\":\"{}", text.trim_end_matches('}'), "x".repeat(1000));
        assert_eq!(Payload::parse(long.as_bytes()), Payload::parse(text.as_bytes()));
        assert_eq!(Payload::parse(text.as_bytes()).id, ID);
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let claude = Catalog::built_in().get("claude").unwrap().clone();
            prop_assert!(Payload::parse(&bytes).check(&claude).is_err());
        }
    }
}
