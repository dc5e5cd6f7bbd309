//! The examination, and the mends that can lose nothing and end nothing.

use std::time::Duration;

use super::{Facts, Finding, Level, Mend, examine};
use crate::agents::catalog::Catalog;
use crate::agents::integration::{Integration, carry_out};
use crate::plugin::{Event, Plugin};
use crate::store::{Config, Store};
use crate::tmux::Server;

const LIMIT: Duration = Duration::from_secs(5);

/// Looks at one server and what belongs to it.
pub struct Doctor<'a> {
    /// The server.
    pub server: &'a Server,
    /// Its records.
    pub store: &'a Store,
    /// The user's choices.
    pub config: &'a Config,
    /// This program's own path.
    pub helper: &'a str,
    /// The one that stays the same over updates.
    pub lasting: &'a str,
}

impl Doctor<'_> {
    /// What there is to say; with `fix`, after what can be mended was mended.
    pub fn findings(&self, fix: bool) -> Vec<Finding> {
        let mut facts = self.gather();
        let mut found = examine(&facts);
        if !fix {
            return found;
        }
        // First the socket: without it the rest can't be seen.
        let mut done: Vec<(String, Mend)> = Vec::new();
        for round in [true, false] {
            let wanted = |finding: &&Finding| matches!(finding.mend, Some(Mend::Socket)) == round;
            let mends = found.iter().filter(wanted).filter_map(|finding| Some((finding.id.clone(), finding.mend.clone()?)));
            let mends: Vec<(String, Mend)> = mends.collect();
            if mends.is_empty() {
                continue;
            }
            let mut once: Vec<&Mend> = mends.iter().map(|(_, mend)| mend).collect();
            once.sort();
            once.dedup();
            let failed: Vec<(&Mend, String)> =
                once.into_iter().filter_map(|mend| Some((mend, self.carry_out(mend, &facts).err()?))).collect();
            facts = self.gather();
            found = examine(&facts);
            for finding in &mut found {
                if let Some((_, why)) = failed.iter().find(|(mend, _)| finding.mend.as_ref() == Some(*mend)) {
                    finding.what = format!("{}; it could not be mended: {why}", finding.what);
                }
            }
            done.extend(mends);
        }
        mark(&mut found, &done);
        found
    }

    pub(super) fn plugin(&self) -> Plugin<'_> {
        Plugin { server: self.server, store: self.store, config: self.config, helper: self.helper }
    }

    fn carry_out(&self, mend: &Mend, facts: &Facts) -> Result<(), String> {
        match mend {
            Mend::Socket => {
                let asked = facts.without_socket.as_ref().is_some_and(|generation| self.server.ask_for_socket(generation, LIMIT));
                if asked { Ok(()) } else { Err("the server does not make its socket".to_owned()) }
            }
            Mend::Load => {
                // The hooks go on calling the helper that they call, if it runs: this one may be there for a moment only.
                let live = facts.live.as_ref();
                let called = live.filter(|live| live.helper_runs == Some(true)).and_then(|live| live.plugin.as_ref()?.helper.as_deref());
                let plugin = Plugin { helper: called.unwrap_or(self.helper), ..self.plugin() };
                plugin.load().map_err(|error| error.message)?;
                plugin.run(&Event::Look);
                Ok(())
            }
            Mend::Unset(names) => self.server.unset_global(names, LIMIT).map_err(|failure| failure.to_string()),
            Mend::Repair(kind) => {
                let (catalog, _) = Catalog::with(&self.config.agents);
                let agent = catalog.get(kind).ok_or("it is not known any more")?;
                let one = Integration::of(agent).map_err(|error| error.message)?.ok_or("there is no integration for it")?;
                carry_out(|| one.repair(self.helper)).map(drop).map_err(|error| error.message)
            }
        }
    }
}

/// Says of what is well now, and was not, that it was mended.
fn mark(found: &mut [Finding], done: &[(String, Mend)]) {
    for finding in found.iter_mut().filter(|finding| finding.level != Level::Problem) {
        finding.fixed = done.iter().any(|(id, _)| *id == finding.id);
    }
}
