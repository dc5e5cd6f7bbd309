//! Takes everything of ours out of a living server. The records stay, and know their sessions by their live ids.

use std::time::Duration;

use super::hook::Plugin;
use super::{hooks, keys};
use crate::error::Result;
use crate::tmux::{BOOT, Failure, KEYS, OFFER, arg};

const LIMIT: Duration = Duration::from_secs(5);

impl Plugin<'_> {
    /// Removes every hook, key binding, option and variable that is ours, and ends the timer.
    ///
    /// # Errors
    /// Another server answers, or none; or a look or a restore is at work for longer than its time.
    pub fn unload(&self) -> Result<()> {
        let (pid, _) = self.server.pid_and_version(LIMIT).map_err(|failure| self.unanswered(&failure))?;
        self.server.check_is_ours(pid)?;
        // A restore or a look would set ids again. Where nothing was ever recorded there is no folder to lock.
        let _held = if self.store.exists() { Some((self.store.lock_restore(LIMIT)?, self.store.lock(LIMIT)?)) } else { None };
        self.remove_all().map_err(|failure| self.unanswered(&failure))
    }

    fn remove_all(&self) -> std::result::Result<(), Failure> {
        let ask = |words: &[&str]| -> std::result::Result<Vec<String>, Failure> {
            let reply = self.server.call(words, None, LIMIT)?;
            if !reply.ok {
                return Err(Failure::Other(reply.stderr));
            }
            Ok(String::from_utf8_lossy(&reply.stdout).lines().map(str::to_owned).collect())
        };
        let mut script = hooks::unset();
        let ours = ask(&["display-message", "-p", &format!("#{{{KEYS}}}")])?.join(" ");
        let bound = ask(&["list-keys", "-T", "prefix"])?;
        script.push_str(&keys::unbind(&ours, &bound.iter().map(String::as_str).collect::<Vec<_>>()));
        // All of ours are hidden, and named alike. That the start-up offer was made, and who started the server, is true of this life of
        // the server for good.
        let variables = ask(&["show-environment", "-gh"])?;
        let goes = |name: &&str| name.starts_with("SIDECAR_") && ![OFFER, BOOT].contains(name);
        for name in variables.iter().filter_map(|line| line.split('=').next()).filter(goes) {
            script.push_str(&format!("set-environment -gu {}\n", arg(name.as_bytes())));
        }
        script.push_str("set-option -gqu @sidecar_restorable\nset-option -gqu @sidecar_status\n");
        for (listing, format, flags, options) in [
            (&["list-sessions"][..], "#{session_id}", "", &["@sidecar-shell", "@sidecar-kept"][..]),
            // Given back to a session without a client, it would end that session.
            (&["list-sessions"], "#{?#{&&:#{@sidecar-kept},#{session_attached}},#{session_id},}", "", &["destroy-unattached"]),
            (&["list-windows", "-a"], "#{window_id}", "-w", &["@sidecar-blank"]),
            (&["list-panes", "-a"], "#{pane_id}", "-p", &["@sidecar-pane"]),
        ] {
            for id in ask(&[listing, &["-F", format]].concat())?.iter().filter(|id| !id.is_empty()) {
                for option in options {
                    script.push_str(&format!("set-option -q -u {flags} -t {} {option}\n", arg(id.as_bytes())));
                }
            }
        }
        self.server.source(&script, LIMIT)
    }
}
