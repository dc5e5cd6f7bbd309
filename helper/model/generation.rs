//! One life of a tmux server.

use serde::{Deserialize, Serialize};

/// One life of a server. Pids, `%1`, `@1` and `$1` repeat from life to life; a generation does not.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Generation {
    /// The kernel's boot id (`/proc/sys/kernel/random/boot_id`); empty where the system has none.
    pub boot: String,
    /// The server's process id, `#{pid}`.
    pub pid: i32,
    /// `#{start_time}`: seconds since the Unix epoch.
    pub start_time: u64,
    /// The process's own start time in clock ticks since boot (field 22 of `/proc/PID/stat`), which tells a reused pid.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process_start: Option<u64>,
}

impl PartialEq for Generation {
    /// The process's start time is evidence about the pid, not part of the identity.
    fn eq(&self, other: &Self) -> bool {
        self.boot == other.boot && self.pid == other.pid && self.start_time == other.start_time
    }
}

impl Eq for Generation {}
