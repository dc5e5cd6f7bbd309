//! What the helper does to a server: ids on living objects, the timer, hooks.

use std::ffi::OsStr;
use std::time::Duration;

use super::client::Failure;
use super::quote;
use super::server::Server;
use crate::model::{Generation, Offer, Screen};

/// The hidden environment variable that holds the timer's token. Not an `@option`: setting one redraws every client.
pub const TIMER: &str = "SIDECAR_TIMER";

/// The hidden environment variable that names the keys which the plugin bound in the prefix table, apart by spaces.
pub const KEYS: &str = "SIDECAR_KEYS";

/// The hidden environment variable that tells how far the start-up offer is in this life of the server.
pub const OFFER: &str = "SIDECAR_OFFER";

/// The hidden environment variable that is set while a look is on its way: hooks start no other one.
pub const LOOK_COMES: &str = "SIDECAR_LOOK";

/// The environment variable of a server that a unit started: its socket's path, given to the client that starts it. So it is set in no server
/// that lived already. Hidden once the server lives.
pub const BOOT: &str = "SIDECAR_BOOT";

/// The index of every hook of ours: fixed, so that a reload replaces and never stacks, and high, so that it is nobody else's.
pub const HOOK_INDEX: u32 = 8420;

/// Sets that variable, and has tmux itself take it away again: a look that never comes (a helper that is missing, or that was
/// ended) must not keep others from coming.
pub fn announce_look() -> String {
    format!("set-environment -gh {LOOK_COMES} 1 ; run-shell -b -d 5 -C \"set-environment -gu {LOOK_COMES}\"")
}

/// Commands that only the server of this generation carries out. Live ids repeat from life to life.
pub fn only_in(generation: &Generation, commands: &str) -> String {
    let guard = format!("#{{==:#{{pid}},{}}}", generation.pid);
    format!("if-shell -F {} {{\n{commands}}}\n", quote::arg(guard.as_bytes()))
}

/// Ends the rule that a new session's `destroy-unattached` is off: the user's own value, or, where that would end a session without
/// a client, after the first one has come. `target` is quoted already.
pub fn keep_unattached(target: &str) -> String {
    format!(
        "set-option -u -t {target} destroy-unattached ; if-shell -F -t {target} \"#{{||:#{{==:#{{destroy-unattached}},0}},#{{==:#{{destroy-unattached}},off}}}}\" {{ set-option -q -u -t {target} @sidecar-kept }} {{ set-option -t {target} destroy-unattached off ; set-option -t {target} @sidecar-kept 1 }}"
    )
}

/// The timer's next round.
#[derive(Clone, Debug)]
pub struct Rearm {
    /// Arm only while the server's token is this one; any if `None`.
    pub only_if: Option<String>,
    /// The new token.
    pub token: String,
    /// Seconds from now.
    pub delay: f64,
    /// What tmux's `run-shell` runs then.
    pub command: String,
}

impl Rearm {
    /// The commands that arm it, whatever timer there is.
    pub fn commands(&self) -> String {
        let command = quote::arg(&quote::double_hash(self.command.as_bytes()));
        format!("set-environment -gh {TIMER} {} ; run-shell -b -d {:.3} {command}", self.token, self.delay)
    }
}

impl Server {
    /// A user option of the whole server, such as another plugin's; `None` where it is unset or the server does not answer.
    pub fn user_option(&self, name: &str, limit: Duration) -> Option<Vec<u8>> {
        let reply = self.call(&["show-options", "-gqv", name], None, limit).ok().filter(|reply| reply.ok)?;
        let value = reply.stdout.strip_suffix(b"\n").unwrap_or(&reply.stdout);
        (!value.is_empty()).then(|| value.to_vec())
    }

    /// The lines that a pane shows, with at most 200 of its history.
    ///
    /// # Errors
    /// As for any call.
    pub fn screen(&self, pane: &str, limit: Duration) -> Result<Screen, Failure> {
        let reply = self.call(&["capture-pane", "-p", "-J", "-S", "-200", "-t", pane], None, limit)?;
        if !reply.ok {
            return Err(Failure::Other(reply.stderr));
        }
        let text = String::from_utf8_lossy(&reply.stdout);
        let mut lines: Screen = text.lines().map(|line| line.trim_end().to_owned()).collect();
        while lines.last().is_some_and(String::is_empty) {
            lines.pop();
        }
        Ok(lines)
    }

    /// Puts the stable ids on the living objects. Each pair is a live id and a stable one.
    ///
    /// # Errors
    /// As for any call; an object that ended meanwhile is none.
    pub fn tag(
        &self,
        generation: &Generation,
        shells: &[(String, String)],
        panes: &[(String, String)],
        limit: Duration,
    ) -> Result<(), Failure> {
        let mut script = String::new();
        for (flag, option, pairs) in [("", "@sidecar-shell", shells), ("-p", "@sidecar-pane", panes)] {
            for (live, stable) in pairs {
                script.push_str(&format!("set-option -q {flag} -t {} {option} {stable}\n", quote::arg(live.as_bytes())));
            }
        }
        // Of an object that ended meanwhile there is nothing to say.
        self.call(&["source-file", "-"], Some(only_in(generation, &script).as_bytes()), limit).map(drop)
    }

    /// Gives restored sessions, which a client has come to, the user's own `destroy-unattached` back.
    ///
    /// # Errors
    /// As for any call.
    pub fn restore_destroy_unattached(&self, generation: &Generation, sessions: &[String], limit: Duration) -> Result<(), Failure> {
        let mut script = String::new();
        for session in sessions {
            let target = quote::arg(session.as_bytes());
            script.push_str(&format!("set-option -q -u -t {target} destroy-unattached ; set-option -q -u -t {target} @sidecar-kept\n"));
        }
        self.source(&only_in(generation, &script), limit)
    }

    /// Gives a session this name; `Some` is why tmux would not.
    ///
    /// # Errors
    /// As for any call.
    pub fn rename_session(&self, generation: &Generation, session: &str, name: &[u8], limit: Duration) -> Result<Option<String>, Failure> {
        let rename = format!("rename-session -t {} -- {}\n", quote::arg(session.as_bytes()), quote::format_arg(name));
        self.refusal(&only_in(generation, &rename), limit)
    }

    /// Closes this session and no other; `Some` is why tmux would not.
    ///
    /// # Errors
    /// As for any call.
    pub fn close_session(&self, generation: &Generation, session: &str, limit: Duration) -> Result<Option<String>, Failure> {
        self.refusal(&only_in(generation, &format!("kill-session -t {}\n", quote::arg(session.as_bytes()))), limit)
    }

    fn refusal(&self, script: &str, limit: Duration) -> Result<Option<String>, Failure> {
        match self.source(script, limit) {
            Err(Failure::Other(said)) if !Failure::Other(said.clone()).is_of_an_ending_server() => Ok(Some(said)),
            done => done.map(|()| None),
        }
    }

    /// Makes a detached session of this name in this directory, with `shell` as its id from the start. Gives the live ids of the
    /// session, its window and its pane; `Err` of them is why tmux would not.
    ///
    /// # Errors
    /// As for any call.
    pub fn new_session(
        &self,
        generation: &Generation,
        shell: &str,
        name: &str,
        dir: &[u8],
        limit: Duration,
    ) -> Result<Result<[String; 3], String>, Failure> {
        let target = quote::arg(format!("={name}:").as_bytes());
        let script = format!(
            "new-session -d -P -F \"#{{session_id}} #{{window_id}} #{{pane_id}}\" -s {} -c {} ; set-option -t {target} destroy-unattached off ; set-option -t {target} @sidecar-shell {shell} ; {}\n",
            quote::arg(name.as_bytes()),
            quote::format_arg(dir),
            keep_unattached(&target)
        );
        let reply = self.call(&["source-file", "-"], Some(only_in(generation, &script).as_bytes()), limit)?;
        let said = text(&reply.stdout);
        let ids: Vec<String> = said.split_whitespace().map(str::to_owned).collect();
        match <[String; 3]>::try_from(ids) {
            Ok(ids) => Ok(Ok(ids)),
            Err(_) if Failure::Other(reply.stderr.clone()).is_of_an_ending_server() => Err(Failure::Other(reply.stderr)),
            Err(_) => Ok(Err(if reply.stderr.is_empty() { format!("it said {said:?}") } else { reply.stderr })),
        }
    }

    /// The server's own pid and version; the client's version may differ after an upgrade.
    ///
    /// # Errors
    /// As for any call.
    pub fn pid_and_version(&self, limit: Duration) -> Result<(i32, String), Failure> {
        let reply = self.call(&["display-message", "-p", "#{pid} #{version}"], None, limit)?;
        let said = text(&reply.stdout);
        match said.split_once(' ').map(|(pid, version)| (pid.parse(), version)) {
            Some((Ok(pid), version)) if reply.ok => Ok((pid, version.to_owned())),
            _ => Err(Failure::Other(if reply.ok { format!("an answer that can't be read: {said:?}") } else { reply.stderr })),
        }
    }

    /// The server's pid, and what [`BOOT`] holds there.
    ///
    /// # Errors
    /// As for any call.
    pub fn booted(&self, limit: Duration) -> Result<(i32, Vec<u8>), Failure> {
        let reply = self.call(&["display-message", "-p", &format!("#{{pid}} #{{{BOOT}}}")], None, limit)?;
        let line = reply.stdout.strip_suffix(b"\n").unwrap_or(&reply.stdout);
        let (pid, by) = line.split_at(line.iter().position(|&byte| byte == b' ').unwrap_or(line.len()));
        match text(pid).parse() {
            Ok(pid) if reply.ok => Ok((pid, by.get(1..).unwrap_or_default().to_vec())),
            _ => Err(Failure::Other(reply.stderr)),
        }
    }

    /// Hides [`BOOT`] from the panes of a server that has it.
    ///
    /// # Errors
    /// As for any call.
    pub fn keep_boot(&self, limit: Duration) -> Result<(), Failure> {
        self.source(&format!("set-environment -gh {BOOT} {}\n", quote::arg(self.socket().as_os_str().as_encoded_bytes())), limit)
    }

    /// Makes the session that starting tmux makes, if there is none.
    ///
    /// # Errors
    /// As for any call.
    pub fn add_first_session(&self, dir: &OsStr, limit: Duration) -> Result<(), Failure> {
        let sessions = self.call(&["list-sessions", "-F", "x"], None, limit)?;
        if !sessions.stdout.is_empty() {
            return Ok(());
        }
        let script = format!(
            "new-session -d -s 0 -c {} ; set-option -t =0: destroy-unattached off ; {}\n",
            quote::format_arg(dir.as_encoded_bytes()),
            keep_unattached("=0:")
        );
        self.refusal(&script, limit).map(drop)
    }

    /// Ends the server after these commands, if it is the one of this pid.
    ///
    /// # Errors
    /// As for any call.
    pub fn end(&self, pid: i32, before: &str, limit: Duration) -> Result<(), Failure> {
        match self.source(&format!("if-shell -F \"#{{==:#{{pid}},{pid}}}\" {{\n{before}kill-server\n}}\n"), limit) {
            Err(failure) if failure != Failure::NoServer && !failure.is_of_an_ending_server() => Err(failure),
            _ => Ok(()),
        }
    }

    /// Arms the timer; gives the token that holds now, which is another one where `only_if` did not fit.
    ///
    /// # Errors
    /// As for any call.
    pub fn arm(&self, rearm: &Rearm, limit: Duration) -> Result<String, Failure> {
        let token = rearm.only_if.as_ref().map_or_else(|| "1".to_owned(), |token| format!("#{{==:#{{{TIMER}}},{token}}}"));
        let guard = format!("#{{&&:{},{token}}}", self.is_ours_format());
        let reply =
            self.call(&["if-shell", "-F", &guard, &rearm.commands(), ";", "display-message", "-p", &format!("#{{{TIMER}}}")], None, limit)?;
        if reply.ok { Ok(text(&reply.stdout)) } else { Err(Failure::Other(reply.stderr)) }
    }

    /// Takes the start-up offer from one state to another; gives whether it was in the first.
    ///
    /// # Errors
    /// As for any call.
    pub fn move_offer(&self, from: Offer, to: Offer, limit: Duration) -> Result<bool, Failure> {
        let guard = format!("#{{&&:{},#{{==:#{{{OFFER}}},{}}}}}", self.is_ours_format(), from.word());
        let set = format!("set-environment -gh {OFFER} \"{}\" ; display-message -p moved", to.word());
        let reply = self.call(&["if-shell", "-F", &guard, &set], None, limit)?;
        if reply.ok { Ok(text(&reply.stdout) == "moved") } else { Err(Failure::Other(reply.stderr)) }
    }

    /// Runs commands of Sidecar's own in the server that this process speaks of, and in no other.
    ///
    /// # Errors
    /// As for any call, and what tmux says of a command that it refuses.
    pub fn source_ours(&self, commands: &str, limit: Duration) -> Result<(), Failure> {
        self.source(&format!("if-shell -F {} {{\n{commands}}}\n", quote::arg(self.is_ours_format().as_bytes())), limit)
    }

    /// Runs commands of Sidecar's own, such as hooks.
    ///
    /// # Errors
    /// As for any call, and what tmux says of a command that it refuses.
    pub fn source(&self, script: &str, limit: Duration) -> Result<(), Failure> {
        let reply = self.call(&["source-file", "-"], Some(script.as_bytes()), limit)?;
        if reply.ok { Ok(()) } else { Err(Failure::Other(reply.stderr)) }
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).trim().to_owned()
}
