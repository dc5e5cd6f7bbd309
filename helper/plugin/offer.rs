//! The start-up offer: a new server with something to restore shows the menu once, or restores by itself; and what the status line
//! is told.

use std::collections::HashSet;
use std::path::Path;
use std::time::Duration;

use super::hook::Plugin;
use crate::error::Result;
use crate::model::{Generation, Observation, Offer, Plan, Policy, Shell, State, count, in_one_line, waiting_words, went_well};
use crate::restore::{Asked, Consent, Order, look_at_waiting, restore, retire_bootstrap, situation, waiting};
use crate::store::{Config, Level, Recreate};
use crate::tmux::{Drawn, SeenClient, arg};

const LIMIT: Duration = Duration::from_secs(5);

/// After this many failures in a row nothing is restored automatically any more.
pub const MOST_FAILURES: u32 = 3;

/// What a look leaves to be done, when no lock is held any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// Nothing.
    Nothing,
    /// There is nothing to offer in this life of the server.
    Close,
    /// Show the menu to the first client.
    Offer,
    /// Restore.
    Restore,
}

/// Decides it: once in each life of a server that has the plugin.
pub(super) fn next(seen: &Observation, config: &Config, restorable: usize) -> Next {
    let settings = &seen.settings;
    if settings.timer.is_empty() || settings.offered != Offer::Undecided {
        return Next::Nothing;
    }
    wanted(seen, config, restorable)
}

/// What the user wants of a new server.
pub(super) fn wanted(seen: &Observation, config: &Config, restorable: usize) -> Next {
    match Recreate::of_option(&seen.settings.offer).unwrap_or(config.recreate_shells) {
        _ if restorable == 0 => Next::Close,
        Recreate::Off => Next::Close,
        Recreate::Ask => Next::Offer,
        Recreate::Auto => Next::Restore,
    }
}

/// How many shells of earlier lives wait to be restored. A directory that is missing makes a restore refuse, and so does a name that another
/// shell's session has.
pub(super) fn restorable(state: &State, present: &Generation, is_dir: &dyn Fn(&Path) -> bool) -> usize {
    let (here, earlier): (Vec<&Shell>, Vec<&Shell>) = state.shells.iter().partition(|shell| shell.lives_in(present));
    let held: HashSet<&str> = here.into_iter().map(|shell| shell.session.as_str()).collect();
    let waits =
        |shell: &&Shell| shell.policy != Policy::Never && !held.contains(shell.session.as_str()) && is_dir(shell.work_dir.as_path());
    earlier.into_iter().filter(waits).count()
}

impl Plugin<'_> {
    /// Keeps `@sidecar_restorable` and `@sidecar_status` true. Setting an option draws every client, so only a change is set.
    pub(super) fn show_status(&self, seen: &Observation, state: &State, restorable: usize) {
        let restore = (restorable > 0).then(|| format!("{restorable} to restore"));
        look_at_waiting(self.server, self.store, self.config, seen, state);
        let waiting = waiting(self.store, state);
        let waiting = waiting_words(&waiting.iter().map(|(place, what)| (place.as_str(), what.as_str())).collect::<Vec<_>>());
        let status = restore.into_iter().chain(waiting).collect::<Vec<_>>().join(", ");
        if seen.settings.timer.is_empty() || (seen.settings.restorable == restorable.to_string() && seen.settings.status == status) {
            return;
        }
        self.set_status(Some(restorable), &status);
    }

    fn set_status(&self, restorable: Option<usize>, status: &str) {
        let number = restorable.map(|number| format!("set-option -g @sidecar_restorable {number}\n")).unwrap_or_default();
        let script = format!("{number}set-option -g @sidecar_status {}\n", arg(status.as_bytes()));
        if let Err(failure) = self.server.source_ours(&script, LIMIT) {
            self.store.log(Level::Warn, "status", &failure.to_string());
        }
    }

    /// Does what a look has left.
    pub(super) fn go_on(&self, next: Next) -> Result<()> {
        match next {
            Next::Nothing => Ok(()),
            Next::Close => self.move_offer(Offer::Undecided, Offer::Done).map(drop),
            // From here on each client that comes is asked; one may be there already.
            Next::Offer if self.move_offer(Offer::Undecided, Offer::Pending)? => self.offer(None),
            Next::Restore if self.move_offer(Offer::Undecided, Offer::Restoring)? => {
                let done = self.restore_automatically();
                if let Err(error) = &done {
                    self.tell(&format!("sidecar: the automatic restore failed: {}: sidecar session restore", error.message));
                }
                self.move_offer(Offer::Restoring, Offer::Done)?;
                done
            }
            Next::Offer | Next::Restore => Ok(()),
        }
    }

    /// Of several that move it at once one succeeds. The lock sees to that: 3.8 lets another client's command in between an `if-shell`
    /// and what it runs.
    fn move_offer(&self, from: Offer, to: Offer) -> Result<bool> {
        let _held = self.store.lock(LIMIT)?;
        self.server.move_offer(from, to, LIMIT).map_err(|failure| self.unanswered(&failure))
    }

    /// Shows the menu to this client, else to the first one; only one of several that come gets it.
    pub(super) fn offer(&self, client: Option<&str>) -> Result<()> {
        let clients = self.server.clients(LIMIT).map_err(|failure| self.unanswered(&failure))?;
        let fits = |seen: &&SeenClient| seen.is_interactive() && client.is_none_or(|name| seen.name == name);
        let Some(client) = clients.iter().find(fits) else { return Ok(()) };
        let waiting = to_restore(&situation(self.server, self.store, self.config)?.plan()).len();
        let menus = self.menus(client.clone());
        if waiting > 0 && !menus.fit() {
            // A larger one may come.
            menus.say(&format!("{} to restore: sidecar session status (too small for a menu)", count(waiting, "shell")));
            return Ok(());
        }
        if !self.move_offer(Offer::Pending, Offer::Done)? || waiting == 0 {
            return Ok(());
        }
        let shown = menus.restore(0);
        match shown {
            // A key that was typed ahead looks the same as a popup: the offer is not made twice, and a message is not missed.
            Ok(Drawn::No) => menus.say(&format!("{} to restore: sidecar menu restore", count(waiting, "shell"))),
            Ok(_) => {}
            // It left before it was shown anything: whoever comes next is asked.
            Err(_) => {
                self.move_offer(Offer::Done, Offer::Pending)?;
            }
        }
        shown.map(drop)
    }

    /// Restores without asking: not what the user closed, even if the server ended with it.
    fn restore_automatically(&self) -> Result<()> {
        if self.store.failed_automatics() >= MOST_FAILURES {
            self.tell(&format!(
                "sidecar: the automatic restore failed {MOST_FAILURES} times in a row and is off until a restore succeeds: sidecar session restore"
            ));
            return Ok(());
        }
        let plan = situation(self.server, self.store, self.config)?.plan();
        let wanted: Vec<String> =
            to_restore(&plan).into_iter().filter(|(_, reason)| *reason != "closed_with_server").map(|(id, _)| id).collect();
        if wanted.is_empty() {
            return Ok(());
        }
        self.store.begin_automatic(&self.store.lock(LIMIT)?)?;
        let order =
            Order { selected: Some(&wanted), asked: Asked { agents: true, as_of: None }, consent: Consent::Automatic, ..Order::default() };
        let report = restore(self.server, self.store, self.config, self.helper, order, &mut |progress| {
            self.set_status(None, &format!("restoring {progress}"));
        })?;
        let well = went_well(&report.outcomes);
        if well {
            self.store.automatic_seems_well();
        }
        let said = format!("sidecar: {}", in_one_line(&report.outcomes, false));
        if let Some(retiring) = &report.retiring {
            retire_bootstrap(self.server, self.store, retiring, &said);
        }
        self.tell(&if well { said } else { format!("{said}: sidecar session status") });
        self.coalesced_look()
    }
}

/// What a restore would make, with the reason.
fn to_restore(plan: &Plan) -> Vec<(String, &'static str)> {
    let steps = plan.steps.iter().filter(|step| step.action.makes());
    steps.map(|step| (step.shell.clone(), step.reason)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Seen, TmuxSettings};

    fn seen(timer: &str, offer: &str, offered: Offer) -> Observation {
        let settings = TmuxSettings { timer: timer.into(), offer: offer.into(), offered, ..TmuxSettings::default() };
        Observation {
            generation: Generation { boot: "boot".into(), pid: 1, start_time: 1, process_start: None },
            version: "3.3a".into(),
            sessions: Vec::new(),
            settings,
        }
    }

    #[test]
    fn what_a_restore_would_refuse_does_not_wait() {
        let life = |pid| Generation { boot: "boot".into(), pid, start_time: 1, process_start: None };
        let shell = |id: &str, session: &str, pid| Shell {
            id: id.into(),
            session: session.into(),
            seen: Some(Seen { at: 1, generation: life(pid), session: "$1".into() }),
            ..Shell::default()
        };
        let shells = vec![shell("sh-1", "web", 2), shell("sh-2", "web", 1), shell("sh-3", "api", 1), shell("sh-4", "api", 1)];
        let state = State { shells, ..State::default() };
        assert_eq!(restorable(&state, &life(2), &|_| true), 2);
        assert_eq!(restorable(&state, &life(3), &|_| true), 4);
        assert_eq!(restorable(&state, &life(2), &|_| false), 0);
    }

    #[test]
    fn it_is_decided_once_in_a_server_that_has_the_plugin() {
        let ask = Config::default();
        let auto = Config { recreate_shells: Recreate::Auto, ..Config::default() };
        for (timer, option, offered, config, restorable, wanted) in [
            ("1.2.3", "", Offer::Undecided, &ask, 2, Next::Offer),
            ("1.2.3", "", Offer::Undecided, &ask, 0, Next::Close),
            ("1.2.3", "", Offer::Pending, &ask, 2, Next::Nothing),
            ("1.2.3", "", Offer::Done, &ask, 2, Next::Nothing),
            ("", "", Offer::Undecided, &ask, 2, Next::Nothing),
            ("1.2.3", "off", Offer::Undecided, &auto, 2, Next::Close),
            ("1.2.3", "on", Offer::Undecided, &auto, 2, Next::Offer),
            ("1.2.3", "auto", Offer::Undecided, &ask, 2, Next::Restore),
            ("1.2.3", "", Offer::Undecided, &auto, 2, Next::Restore),
            // What makes no sense is as if it were not set.
            ("1.2.3", "maybe", Offer::Undecided, &ask, 2, Next::Offer),
        ] {
            assert_eq!(next(&seen(timer, option, offered), config, restorable), wanted, "{timer} {option} {offered:?}");
        }
    }
}
