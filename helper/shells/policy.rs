//! What a restore may do with a shell.

use std::ffi::OsStr;

use super::open::Found;
use super::target::First;
use super::{Done, Shells, policy_words, quoted};
use crate::error::Result;
use crate::model::{Policy, Shell};

impl Shells<'_> {
    /// Reads a shell's policy, of the current one if there is no target; changes nothing.
    ///
    /// # Errors
    /// No such shell (exit 3); the records can't be read.
    pub fn policy(&self, target: Option<&OsStr>) -> Result<Done> {
        let (situation, found) = self.peek(target, First::Recorded)?;
        let said = words(found.shell(), found.shell().policy);
        let done = Done::of(&found.shell().id, &situation.state, situation.seen.as_ref(), said)?;
        Ok(Done { changed: false, notices: situation.notices, ..done })
    }

    /// Sets a shell's policy, of the current one if there is no target.
    ///
    /// # Errors
    /// No such shell (exit 3); the records can't be read or written.
    pub fn set_policy(&self, target: Option<&OsStr>, policy: Policy) -> Result<Done> {
        let (open, found) = self.open_for(target, First::Recorded)?;
        let (shell, forgotten) = (found.shell(), matches!(found, Found::Forgotten(_)));
        let done = self.finish(open, &shell.id, words(shell, policy), |state, _| {
            let records = state.shells.iter_mut().filter(|_| !forgotten);
            let tombstones = state.tombstones.iter_mut().filter(|_| forgotten).map(|tombstone| &mut tombstone.shell);
            if let Some(shell) = records.chain(tombstones).find(|other| other.id == shell.id) {
                shell.policy = policy;
            }
        })?;
        Ok(Done { changed: policy != shell.policy, ..done })
    }
}

fn words(shell: &Shell, policy: Policy) -> String {
    format!("{}: {} ({})", quoted(shell), policy.word(), policy_words(policy))
}
