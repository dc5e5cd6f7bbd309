//! What runs inside a pane: the command that waits for its Enter, the programs that a restore starts, and the shell that is left.
//!
//! Each of them becomes the next one by exec, so that the pane's process is the user's in the end.
#![expect(clippy::disallowed_methods, reason = "this room becomes other programs")]

mod launch;
mod login;
mod prompt;
mod resume;
mod shell;
mod start;

pub use launch::{Launch, widened_path};
pub use login::login_shell;
pub use resume::resume;
pub use shell::{is_panes_own, leave_shell, user_shell};
pub use start::{ended, start};
