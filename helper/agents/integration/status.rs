//! Where an integration stands, and what to do about it.

use std::path::{Path, PathBuf};

use super::command::CODEX;
use super::file::File;
use super::found::Found;
use super::{Form, Integration, trust};

/// Where an integration stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Nothing of it is there.
    NotInstalled,
    /// It works.
    Installed,
    /// Part of it is missing, doubled, or calls a helper that is gone.
    NeedsRepair,
    /// It is whole, and the agent waits for the user's trust.
    NotTrusted,
    /// It is whole, and the agent's configuration switches all hooks off.
    Disabled,
    /// The configuration can't be read.
    Unreadable,
}

impl State {
    /// The word in `--json`.
    pub fn word(self) -> &'static str {
        match self {
            Self::NotInstalled => "not_installed",
            Self::Installed => "installed",
            Self::NeedsRepair => "needs_repair",
            Self::NotTrusted => "not_trusted",
            Self::Disabled => "disabled",
            Self::Unreadable => "unreadable",
        }
    }
}

/// What there is to say of an integration.
#[derive(Clone, Debug)]
pub struct Status {
    /// Where it stands.
    pub state: State,
    /// The file that it lies in, or would.
    pub file: PathBuf,
    /// Why, or what else matters; may be empty.
    pub detail: String,
    /// What to do; empty for nothing.
    pub hint: String,
}

/// What a user of Codex has to do once.
pub const TRUST_HINT: &str =
    "Codex asks at its next start whether to trust the hook; or have it trusted now: sidecar agent integration install codex --trust";

/// Whether two paths lead to one program, as the user's link and the plugin's own do.
pub fn is_same_program(one: &str, other: &str) -> bool {
    one == other || fs_err::canonicalize(one).is_ok_and(|one| fs_err::canonicalize(other).is_ok_and(|other| one == other))
}

impl Integration<'_> {
    /// Where it stands. `program` is the agent's, if it was found, and `helper` ours.
    pub fn status(&self, helper: &str, program: Option<&Path>) -> Status {
        let kind = &self.agent.kind;
        let status = |state, file: &Path, detail: String, hint: String| Status { state, file: file.to_owned(), detail, hint };
        let (files, chosen) = match self.read().and_then(|files| Ok((self.chosen(&files)?, files))) {
            Ok((chosen, files)) => (files, chosen),
            Err(error) => return status(State::Unreadable, &self.folder, error.message, "mend the file".to_owned()),
        };
        let path = files[chosen].1.path.clone();
        // They were read by `chosen` already.
        let look = |(form, file): &(Form, File)| form.look(file.text.as_deref().unwrap_or_default(), &self.hook).unwrap_or_default();
        let found: Vec<Found> = files.iter().map(look).collect();
        let entries: Vec<_> = found.iter().flat_map(|found| &found.entries).collect();
        let Some(first) = entries.first() else {
            return status(State::NotInstalled, &path, String::new(), format!("sidecar agent integration install {kind}"));
        };
        let repair = |why: String| status(State::NeedsRepair, &path, why, format!("sidecar agent integration repair {kind}"));
        for event in self.hook.events {
            match entries.iter().filter(|entry| entry.event == *event).count() {
                1 => (),
                0 => return repair(format!("the entry for {event} is missing")),
                number => return repair(format!("there are {number} entries for {event}")),
            }
        }
        if let Some(entry) = entries.iter().find(|entry| !self.hook.events.contains(&entry.event.as_str())) {
            return repair(format!("there is an entry for {}, which is not needed", entry.event));
        }
        let Some(called) = self.hook.helper_of(&first.line).filter(|_| entries.iter().all(|entry| entry.line == first.line)) else {
            return repair("an entry was changed".to_owned());
        };
        if nix::unistd::access(called.as_str(), nix::unistd::AccessFlags::X_OK).is_err() {
            return repair(format!("it calls {called}, which is gone"));
        }
        if found.iter().any(|found| found.disabled) {
            let (what, mend) = match self.hook.off {
                _ if self.hook == CODEX => ("hooks = false in [features]".to_owned(), "config.toml"),
                (keys, true) => (keys.join("."), "settings.json"),
                (keys, false) => (format!("{} = false", keys.join(".")), "settings.json"),
            };
            return status(State::Disabled, &path, format!("{what} switches all hooks off"), format!("take it out of {mend}"));
        }
        let mut notes = Vec::new();
        if !is_same_program(&called, helper) {
            notes.push(format!("it calls {called}"));
        }
        if found.iter().filter(|found| found.any).count() > 1 {
            notes.push("there are hooks in hooks.json and in config.toml: Codex warns of that".to_owned());
        }
        if self.hook == CODEX {
            match program.map(|program| trust::is_trusted(program, &self.folder, &first.line)) {
                Some(Ok(true)) => (),
                Some(Ok(false)) => return status(State::NotTrusted, &path, notes.join("; "), TRUST_HINT.to_owned()),
                Some(Err(why)) => notes.push(format!("whether it is trusted is unknown: Codex cannot be asked: {why}")),
                None => notes.push("whether it is trusted is unknown: codex is not on PATH".to_owned()),
            }
        }
        status(State::Installed, &path, notes.join("; "), String::new())
    }
}
