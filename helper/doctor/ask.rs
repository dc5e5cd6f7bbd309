//! What other programs say of themselves: another helper, the user's login shell, the plugin's own scripts.
#![expect(clippy::disallowed_methods, reason = "this file runs what the user's PATH and shell hold, to see whether it runs")]

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::child::{self, Kept};
use crate::pane::login_shell;

/// Start-up files may take seconds.
const LIMIT: Duration = Duration::from_secs(10);

/// The version that a helper tells.
pub(super) fn version_of(helper: &Path) -> Option<String> {
    let said = child::run(Command::new(helper).arg("--version"), None, Kept { out: 1000, err: 0 }, LIMIT).ok()?;
    let text = said.well().then(|| String::from_utf8(said.out).ok())??;
    Some(text.trim().strip_prefix("sidecar ")?.to_owned())
}

/// Whether the user's login shell finds a program; `None` if it can't be asked.
pub(super) fn login_shell_finds(name: &str) -> Option<bool> {
    // As a resume looks for it.
    ended_well(&mut login_shell(&["/bin/sh", "-c", "command -v -- \"$1\"", "sh", name])?)
}

/// Whether a helper that the plugin built is of the present sources; `None` where there are none beside it.
pub(super) fn is_current(helper: &Path) -> Option<bool> {
    let root = helper.parent()?.parent()?;
    let scripts = root.join("scripts/helper.sh");
    if !helper.file_name()?.to_str()?.starts_with("sidecar") || helper.parent()?.file_name()? != "bin" || !scripts.is_file() {
        return None;
    }
    let line = ". \"$root/scripts/helper.sh\" && [ \"$(cat \"$built.stamp\")\" = \"$(stamp)\" ]";
    ended_well(Command::new("/bin/sh").arg("-c").arg(line).env("root", root))
}

/// Whether it ended with 0; `None` if it did not end in its time.
fn ended_well(command: &mut Command) -> Option<bool> {
    let ended = child::run(command, None, Kept { out: 0, err: 0 }, LIMIT).ok()?;
    ended.status.map(|status| status.success())
}
