//! Everything that `shells.json` holds.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{EpochMs, Generation, RawText, Shell};

/// The schema version that this program writes.
pub const SCHEMA_VERSION: u64 = 3;

/// The content of `shells.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct State {
    /// [`SCHEMA_VERSION`]; a newer one is read and never written.
    pub version: u64,
    /// The path of the server's socket; the files of earlier versions lack it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub socket: Option<RawText>,
    /// The name that the server's host had, for people.
    #[serde(default, rename = "hostName", skip_serializing_if = "Option::is_none")]
    pub host_name: Option<String>,
    /// The last generation that answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generation: Option<Generation>,
    /// The session that starting tmux made by itself, as long as nobody used it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bootstrap: Option<Bootstrap>,
    /// The records.
    #[serde(default)]
    pub shells: Vec<Shell>,
    /// What the user forgot, deleted or closed.
    #[serde(default)]
    pub tombstones: Vec<Tombstone>,
    /// Records that this version cannot read; kept as they are.
    #[serde(default, rename = "unreadableShells", skip_serializing_if = "Vec::is_empty")]
    pub unreadable: Vec<Value>,
    /// Fields of other versions.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

impl Default for State {
    fn default() -> Self {
        Self {
            version: SCHEMA_VERSION,
            socket: None,
            host_name: None,
            generation: None,
            bootstrap: None,
            shells: Vec::new(),
            tombstones: Vec::new(),
            unreadable: Vec::new(),
            extra: Map::new(),
        }
    }
}

impl State {
    /// How many panes the windows of a shell hold, those that stand in another record counted too.
    pub fn pane_count(&self) -> impl Fn(&Shell) -> usize + use<'_> {
        let panes_in: HashMap<&str, usize> =
            self.shells.iter().flat_map(Shell::own_windows).map(|window| (window.id.as_str(), window.panes.len())).collect();
        move |shell| shell.windows.iter().filter_map(|window| panes_in.get(window.id.as_str())).sum()
    }
}

/// A shell that the user forgot, deleted or closed; restorable until the retention runs out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Tombstone {
    /// Why.
    #[serde(default)]
    pub reason: Reason,
    /// When.
    #[serde(default, alias = "at", alias = "forgottenAt")]
    pub deleted_at: EpochMs,
    /// The record as it was.
    pub shell: Shell,
    /// Fields of other versions.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// Why a tombstone stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Reason {
    /// `sidecar shell delete`.
    Deleted,
    /// `sidecar shell forget`.
    Forgotten,
    /// Its name matched `shells.ignore`; a record again as soon as it does not.
    Ignored,
    /// `sidecar session restore --from`: another store has it now.
    Taken,
    /// The user closed the session in tmux.
    #[default]
    #[serde(other)]
    Closed,
}

impl Reason {
    /// The word in the records and in `--json`.
    pub fn word(self) -> &'static str {
        match self {
            Self::Closed => "closed",
            Self::Deleted => "deleted",
            Self::Forgotten => "forgotten",
            Self::Ignored => "ignored",
            Self::Taken => "taken",
        }
    }
}

/// The session that starting tmux made by itself: not recorded while it is pristine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bootstrap {
    /// In which life of the server.
    pub generation: Generation,
    /// Its live id, `$0`.
    pub session: String,
    /// The screen when it first showed anything, without trailing spaces and empty lines.
    #[serde(default)]
    pub screen: Vec<String>,
}
