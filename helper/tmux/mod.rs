//! The one place that runs tmux: which server is meant, whether it lives, what it holds, and how text is handed to it.

mod act;
mod client;
mod clients;
mod frame;
mod health;
mod inspect;
mod keys;
mod look;
mod menu;
mod panes;
mod quote;
mod scrollback;
mod server;
mod start_command;
mod typing;
mod version;

pub use act::{BOOT, HOOK_INDEX, KEYS, LOOK_COMES, OFFER, Rearm, TIMER, announce_look, keep_unattached, only_in};
pub use client::{Failure, Held, Reply};
pub use clients::SeenClient;
pub use inspect::session as inspect_again;
pub use keys::Visible;
pub use look::{Purpose, look_argv};
pub use menu::{Drawn, Item, MENU_FRAME, Menu, Prompt, menu_length, message_command};
pub use panes::LivePane;
pub use quote::{arg, double_hash, format_arg, name_from_shown, shell_line, shell_word, shown_from_name};
pub use scrollback::PaneMark;
pub use server::Server;
pub use start_command::{OWN_SHELL, is_launching, is_starting, own_command};
pub use typing::{NotRun, PaneNow, Typing, is_shell};
pub use version::Version;
