//! What the `session-closed` hook saw.

use serde::{Deserialize, Serialize};

use super::{EpochMs, Generation};

/// One closed session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hint {
    /// When.
    pub at: EpochMs,
    /// The server's pid.
    pub pid: i32,
    /// The server's `#{start_time}`, seconds since the Unix epoch.
    pub start_time: u64,
    /// The live session id, `$3`.
    pub session: String,
    /// How many sessions were left.
    pub left: u32,
}

impl Hint {
    /// Whether it was told in this life of the server.
    pub fn is_of(&self, generation: &Generation) -> bool {
        self.pid == generation.pid && self.start_time == generation.start_time
    }
}
