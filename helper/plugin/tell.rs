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
        let told = match self.last_used_client() {
            Some(client) => self.server.show_message(&client.name, text, MESSAGE_TIME),
            None => {
                let show = message_command(None, text, Duration::ZERO);
                let once = format!("if-shell -F \"#{{client_control_mode}}\" \"\" {{ set-hook -gu {MESSAGE_HOOK} ; {show} }}");
                self.server.source(&format!("set-hook -g {MESSAGE_HOOK} {}\n", arg(once.as_bytes())), LIMIT)
            }
        };
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
