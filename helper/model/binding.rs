//! Which conversation of which agent ran in a pane.

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use super::{EpochMs, Generation, RawText};

/// A pane's conversation: what a resume needs to know of it, and how it was learnt.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Binding {
    /// Which agent, as the catalog names it.
    pub kind: String,
    /// The conversation's id.
    pub id: String,
    /// Its transcript, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transcript: Option<RawText>,
    /// The flags that it was started with and that a resume gives again, without prompts and secrets; `None` where the process's
    /// arguments are gone, which is not the same as none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flags: Option<Vec<RawText>>,
    /// The directory that it works in: that of its process, as last seen, or what Codex told; `None` where that is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dir: Option<RawText>,
    /// The directory that it was started in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub launch_dir: Option<RawText>,
    /// Its configuration directory, where that is not the default one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub config_dir: Option<RawText>,
    /// The executable or the script that ran it, for when its name is not found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub program: Option<RawText>,
    /// The process that ran it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub process: Option<BoundProcess>,
    /// How it was learnt.
    pub source: Source,
    /// When a report of it last came.
    pub reported: EpochMs,
    /// Whether a prompt was seen: without one most agents have nothing to resume.
    #[serde(skip_serializing_if = "is_false")]
    pub prompted: bool,
    /// Since when its process is missing while its pane lives on; it ended if it is still missing a grace later.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missing: Option<EpochMs>,
    /// How it ended, if it did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended: Option<BindingEnd>,
    /// Fields of other versions.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// An agent's process, which tells one life of it from another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BoundProcess {
    /// Its pid.
    pub pid: i32,
    /// Its start time in clock ticks since boot, which tells a reused pid.
    pub start_time: u64,
    /// The life of the tmux server in whose pane it ran.
    pub generation: Generation,
}

/// How a binding was learnt. What an agent says itself is worth more than what is read from outside.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Source {
    /// A hook of the agent reported it.
    Hook,
    /// The agent's own list of its sessions.
    Sessions,
    /// The arguments of its process.
    Argv,
    /// The pane's title.
    Title,
    /// What the agent printed, and a transcript that fits: in snapshots only.
    Screen,
    /// Nobody knows any more.
    #[default]
    #[serde(other)]
    Unknown,
}

/// How an agent's run ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BindingEnd {
    /// Why.
    pub reason: EndReason,
    /// When.
    pub at: EpochMs,
}

/// Why an agent's run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EndReason {
    /// The user ended it: it is not resumed.
    User,
    /// It is gone while its pane's shell lived on, in two looks: the user ended it, as far as can be told.
    Gone,
    /// It died with its pane, its server or by a crash: it is resumed.
    #[serde(other)]
    Died,
}

/// Where fields that are no such field of a binding are kept as they are.
const FORMER: &str = "former";

impl Binding {
    /// Whether both are of one conversation.
    pub fn is_same(&self, other: &Self) -> bool {
        self.kind == other.kind && self.id == other.id
    }

    /// Reads whatever a record holds: a part that can't be read costs no other.
    fn of(value: Value) -> Self {
        let Value::Object(object) = value else { return Self { extra: one_field(FORMER, value), ..Self::default() } };
        if let Ok(binding) = Self::deserialize(&Value::Object(object.clone())) {
            return binding;
        }
        let readable = |key: &str, value: &Value| key != FORMER && Self::deserialize(Value::Object(one_field(key, value.clone()))).is_ok();
        let (good, bad): (Map<_, _>, Map<_, _>) = object.into_iter().partition(|(key, value)| readable(key, value));
        let mut binding = Self::deserialize(Value::Object(good)).unwrap_or_default();
        // An end that can't be read is still one: what the user may have ended is not opened again.
        if bad.contains_key("ended") {
            binding.ended = Some(BindingEnd { reason: EndReason::User, at: 0 });
        }
        binding.extra.insert(FORMER.to_owned(), Value::Object(bad));
        binding
    }
}

fn one_field(key: &str, value: Value) -> Map<String, Value> {
    Map::from_iter([(key.to_owned(), value)])
}

/// For serde: a binding in any form, or none.
pub(super) fn one<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Binding>, D::Error> {
    Ok(Some(Value::deserialize(deserializer)?).filter(|value| !value.is_null()).map(Binding::of))
}

/// For serde: a list of bindings in any form.
pub(super) fn many<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Binding>, D::Error> {
    Ok(match Value::deserialize(deserializer)? {
        Value::Null => Vec::new(),
        Value::Array(values) => values.into_iter().map(Binding::of).collect(),
        value => vec![Binding::of(value)],
    })
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde asks for")]
fn is_false(value: &bool) -> bool {
    !value
}
