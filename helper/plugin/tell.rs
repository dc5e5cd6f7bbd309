//! Words for whoever looks at tmux: now, or when the next client comes.

use std::time::Duration;

use super::hook::Plugin;
use super::hooks::MESSAGE_HOOK;
use crate::store::Level;
use crate::tmux::{SeenClient, arg, message_command};

const LIMIT: Duration = Duration::from_secs(5);

/// How long a message stands; until a key is pressed, if that comes first.
pub(super) const MESSAGE_TIME: Duration = Duration::from_secs(8);

impl Plugin<'_> {
    /// Shows a message to the client that was used last, else once to the next one that comes.
    pub(super) fn tell(&self, text: &str) {
        let show = message_command(None, text, MESSAGE_TIME);
        let once = format!("if-shell -F \"#{{client_control_mode}}\" \"\" {{ set-hook -gu {MESSAGE_HOOK} ; {show} }}");
        // First for the next client: one that comes at this very moment is then shown it one way or the other.
        let told = self.server.source_ours(&format!("set-hook -g {MESSAGE_HOOK} {}\n", arg(once.as_bytes())), LIMIT).and_then(|()| {
            let Some(client) = self.last_used_client() else { return Ok(()) };
            let now = message_command(Some(&client.name), text, MESSAGE_TIME);
            self.server.source_ours(&format!("set-hook -gu {MESSAGE_HOOK}\n{now}\n"), LIMIT)
        });
        if let Err(failure) = told {
            self.store.log(Level::Warn, "message", &format!("{failure}: {text}"));
        }
    }

    /// The client that a person used last.
    pub(super) fn last_used_client(&self) -> Option<SeenClient> {
        let clients = self.server.clients(LIMIT).unwrap_or_default();
        clients.into_iter().filter(SeenClient::is_interactive).max_by_key(|client| client.activity)
    }
}
