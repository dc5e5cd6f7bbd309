//! How far the resume of one pane's conversation is.

use serde::{Deserialize, Serialize};

use super::{BoundProcess, EpochMs, Generation};

/// A resume of a pane's conversation: what was asked, who carries it out, and what became of it. While its holder lives it is also
/// the claim that keeps every other process off that conversation.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Resume {
    /// Which agent.
    pub kind: String,
    /// The conversation.
    pub id: String,
    /// When this was last changed.
    pub at: EpochMs,
    /// The life of the server in which it was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub generation: Option<Generation>,
    /// The time as of which the conversation is chosen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub as_of: Option<EpochMs>,
    /// The snapshot that fills what is not known of it otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub snapshot: Option<String>,
    /// What the question of how to go on is answered with.
    pub answer: Answer,
    /// The process that carries it out: it waits until the agent has ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub holder: Option<BoundProcess>,
    /// How far it is.
    pub state: ResumeState,
    /// Why, as a stable `snake_case` word.
    pub reason: String,
    /// Why, in words.
    pub detail: String,
}

/// What an agent's question is answered with, whether to go on with the full conversation or with a summary.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Answer {
    /// The full conversation.
    #[default]
    Full,
    /// The choice of this number.
    Choice(u8),
    /// Nothing: it is left to the user.
    Leave,
}

/// How far a resume is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ResumeState {
    /// It has yet to begin.
    #[default]
    Asked,
    /// The agent starts.
    Starting,
    /// The agent asks something.
    Waiting,
    /// The agent goes on with its conversation.
    Resumed,
    /// The agent was gone again, or never came.
    Failed,
    /// It was not begun, for the reason told.
    Skipped,
    /// The agent went on, and has ended since.
    #[serde(other)]
    Ended,
}

impl ResumeState {
    /// Whether the agent is on its way or there.
    pub fn holds(self) -> bool {
        matches!(self, Self::Starting | Self::Waiting | Self::Resumed)
    }

    /// Whether more is to be expected at once.
    pub fn is_pending(self) -> bool {
        matches!(self, Self::Asked | Self::Starting)
    }
}
