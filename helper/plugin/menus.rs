//! The menus, and what is chosen in them. A menu holds no lock: it shows what was, and each choice looks again.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::time::{Duration, Instant};

use super::hook::Plugin;
use super::hooks::background;
use super::menu_view::View;
use super::tell::MESSAGE_TIME;
use crate::error::{Error, Exit, Result};
use crate::model::{Action, AgentStep, Outcome, OutcomeStatus, Policy, Step, Verdict, count, in_one_line, is_id, went_well};
use crate::record::now;
use crate::restore::{Asked, Consent, Order, Situation, restore, retire_bootstrap, situation};
use crate::shells::{Done, Row, Shells, Status};
use crate::tmux::{Drawn, Failure, Menu, Prompt, Purpose, SeenClient, Version, name_from_shown};

const LIMIT: Duration = Duration::from_secs(5);

/// The menus tell of agents too.
const WITH_AGENTS: Asked = Asked { agents: true, as_of: None };

/// A menu that people ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ask {
    /// What can be restored.
    Restore,
    /// The tombstones.
    Forgotten,
    /// A new name for the client's session.
    Rename,
}

impl Plugin<'_> {
    /// Shows a menu to this client, else to the one that is meant here.
    ///
    /// # Errors
    /// No such client, or none at all (exit 3); one that no menu can be shown to; the server does not answer.
    pub fn ask(&self, what: Ask, client: Option<&str>) -> Result<()> {
        let menus = self.menus(self.client(client)?);
        menus.or_say(|| match what {
            Ask::Restore => menus.restore(0).map(|drawn| menus.tell_if_not(drawn)),
            Ask::Forgotten => menus.forgotten(0),
            Ask::Rename => menus.rename(),
        })
    }

    /// Does what an entry of a menu says.
    ///
    /// # Errors
    /// The client is gone; the words are none of ours. What else goes wrong the client is shown.
    pub fn go(&self, client: &str, words: &[String]) -> Result<()> {
        let menus = self.menus(self.client(Some(client))?);
        menus.or_say(|| menus.choose(words))
    }

    pub(super) fn menus(&self, client: SeenClient) -> Menus<'_> {
        Menus { plugin: self, client }
    }

    /// The client of this name, else the one of our own session, else the one that was used last.
    fn client(&self, name: Option<&str>) -> Result<SeenClient> {
        let clients = self.server.clients(LIMIT).map_err(|failure| match failure {
            Failure::NoServer => nobody(),
            failure => self.unanswered(&failure),
        })?;
        if let Some(name) = name {
            let found = clients.into_iter().find(|client| client.name == name);
            return found.ok_or_else(|| {
                Error::failed("no_client", format!("no client named '{name}' on this server"))
                    .exit(Exit::NoTarget)
                    .hint("`tmux list-clients` shows them")
            });
        }
        let here = self.server.own_session(LIMIT);
        clients
            .into_iter()
            .max_by_key(|client| (client.is_interactive(), Some(&client.session) == here.as_ref(), client.activity))
            .ok_or_else(nobody)
    }
}

fn nobody() -> Error {
    Error::failed("no_client", "cannot show a menu: no client is attached to this server")
        .exit(Exit::NoTarget)
        .hint("`sidecar session status` shows the same")
}

/// The menus of one client.
pub(super) struct Menus<'a> {
    plugin: &'a Plugin<'a>,
    client: SeenClient,
}

impl Menus<'_> {
    /// What goes wrong is shown to the client, who has no other place to read it.
    fn or_say(&self, action: impl FnOnce() -> Result<()>) -> Result<()> {
        let result = if self.client.read_only {
            Err(Error::failed("read_only", "cannot show a menu: this client is read-only").exit(Exit::Refused))
        } else if self.client.control {
            Err(Error::failed("control_mode", "cannot show a menu: this client is a program in control mode").exit(Exit::Refused))
        } else {
            action()
        };
        if let Err(error) = &result {
            self.say(&error.message);
        }
        result
    }

    /// Says so if a menu could not be drawn.
    fn tell_if_not(&self, drawn: Drawn) {
        if drawn == Drawn::No {
            self.say("another menu or a popup is open here: close it, and press the key again");
        }
    }

    pub(super) fn say(&self, text: &str) {
        self.plugin.store.log(crate::store::Level::Info, "menu", &format!("{}: {}", self.client.name, crate::display::shown(text)));
        self.show(text);
    }

    /// Says it, and leaves no trace of it.
    fn show(&self, text: &str) {
        let text = format!("sidecar: {}", crate::display::shown(text));
        if let Err(failure) = self.plugin.server.show_message(&self.client.name, &text, MESSAGE_TIME) {
            self.plugin.store.log(crate::store::Level::Warn, "menu", &failure.to_string());
        }
    }

    fn view(&self) -> View<'_> {
        View { client: &self.client, helper: self.plugin.helper, now: now() }
    }

    /// Whether a menu can be drawn in this client at all.
    pub(super) fn fit(&self) -> bool {
        self.view().fits()
    }

    fn shells(&self) -> Shells<'_> {
        Shells { server: self.plugin.server, store: self.plugin.store, config: self.plugin.config }
    }

    fn draw(&self, menu: &Menu) -> Result<Drawn> {
        self.plugin.server.show_menu(&self.client, menu, LIMIT).map_err(|failure| self.plugin.unanswered(&failure))
    }

    fn situation(&self) -> Result<Situation> {
        situation(self.plugin.server, self.plugin.store, self.plugin.config)
    }

    /// The plan as a menu.
    pub(super) fn restore(&self, page: usize) -> Result<Drawn> {
        let situation = self.situation()?;
        let plan = situation.plan_for(WITH_AGENTS);
        // What runs is no matter of a restore, but for an agent that could come back in it.
        let could = |step: &Step| step.action != Action::Reattach || step.agents.iter().any(|agent| agent.verdict != Verdict::No);
        let steps: Vec<&Step> = plan.steps.iter().filter(|step| could(step)).collect();
        let pending = steps.iter().filter(|step| step.action.makes()).count();
        let forgotten = situation.state.tombstones.len();
        if steps.is_empty() && forgotten == 0 {
            self.say("nothing to restore");
            return Ok(Drawn::Yes);
        }
        if !self.view().fits() {
            // Too small for a menu.
            self.say(&format!("{} to restore: sidecar session status (too small for a menu)", count(pending, "shell")));
            return Ok(Drawn::Yes);
        }
        let last_active = |id: &str| {
            let shell = situation.state.shells.iter().find(|shell| shell.id == id);
            shell.map_or(0, |shell| shell.seen.as_ref().map_or(0, |seen| seen.at).max(shell.last_attached.unwrap_or(0)))
        };
        self.draw(&self.view().restore(&steps, &last_active, forgotten, page))
    }

    fn tombstones(&self) -> Result<Vec<Row>> {
        let rows = self.shells().list(None)?.rows;
        Ok(rows.into_iter().filter(|row| row.status == Status::Forgotten).collect())
    }

    /// The tombstones as a menu.
    fn forgotten(&self, page: usize) -> Result<()> {
        let rows = self.tombstones()?;
        if rows.is_empty() {
            self.say("no shell is forgotten");
            return Ok(());
        }
        if !self.view().fits() {
            self.say(&format!("{} forgotten: sidecar shell list --all (too small for a menu)", count(rows.len(), "shell")));
            return Ok(());
        }
        self.draw(&self.view().forgotten(&rows.iter().collect::<Vec<_>>(), page)).map(|drawn| self.tell_if_not(drawn))
    }

    /// A line for the new name of the session that the client shows.
    fn rename(&self) -> Result<()> {
        let recorded = is_id(&self.client.shell).then(|| self.plugin.store.load()).transpose()?;
        let shell = recorded.and_then(|loaded| loaded.state.shells.into_iter().find(|shell| shell.id == self.client.shell));
        let present = shell.map_or_else(|| name_from_shown(&self.client.session_name), |shell| shell.name.into_bytes());
        let token = format!("{:016x}", getrandom::u64().unwrap_or_else(|_| now()));
        let target = if is_id(&self.client.shell) { &self.client.shell } else { &self.client.session };
        let then = background(self.plugin.helper, &["menu", "go", "--client", &self.client.name, "named", &token, target]);
        let (_, version) = self.plugin.server.pid_and_version(LIMIT).map_err(|failure| self.plugin.unanswered(&failure))?;
        let prompt = Prompt { label: "New name:", present: &String::from_utf8_lossy(&present), token: &token, then: &then };
        self.plugin
            .server
            .prompt(&self.client.name, &prompt, Version::parse(&version), LIMIT)
            .map_err(|failure| self.plugin.unanswered(&failure))
    }

    fn choose(&self, words: &[String]) -> Result<()> {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let page = |word: &str| word.parse().unwrap_or(0);
        match *words.as_slice() {
            ["restore", at] => self.restore(page(at)).map(|drawn| self.tell_if_not(drawn)),
            ["forgotten", at] => self.forgotten(page(at)),
            ["make-all"] => self.make(None, false, Consent::Unasked),
            ["make", id] => self.make(Some(id), false, Consent::Unasked),
            ["reopen", id, pane] => self.carry_out(Some(id), Order { also: Some(pane), ..Order::default() }),
            ["resume-all"] => self.resume(None),
            ["resume", id] => self.resume(Some(id)),
            ["resume-all", "agreed"] => self.make(None, true, Consent::Given),
            ["resume", id, "agreed"] => self.make(Some(id), true, Consent::Given),
            ["resume-all", "without"] => self.make(None, true, Consent::Unasked),
            ["resume", id, "without"] => self.make(Some(id), true, Consent::Unasked),
            ["shell", id] => self.with_step(id, |step| self.view().shell(step)),
            ["policies", id] => self.with_step(id, |step| self.view().policies(step)),
            ["policy", id, word] => {
                let all = [Policy::Inherit, Policy::Shell, Policy::Resume, Policy::Never];
                let policy = all.into_iter().find(|policy| policy.word() == word).ok_or_else(|| unknown(&words))?;
                self.then_restore(&self.shells().set_policy(Some(OsStr::new(id)), policy)?)
            }
            ["forget", id] => self.then_restore(&self.shells().forget(OsStr::new(id))?),
            ["tombstone", id] => self.with_tombstone(id, |row| self.view().tombstone(row)),
            ["ask-purge", id] => self.with_tombstone(id, |row| self.view().ask_purge(row)),
            ["bring-back", id] => self.then_restore(&self.shells().restore(OsStr::new(id))?),
            ["purge", id] => {
                let done = self.shells().purge(OsStr::new(id))?;
                if !self.tombstones()?.is_empty() {
                    self.forgotten(0)?;
                }
                self.say(&done.said);
                Ok(())
            }
            ["named", token, target] if token.bytes().all(|byte| byte.is_ascii_hexdigit()) => self.named(token, target),
            _ => Err(unknown(&words)),
        }
    }

    /// Tells what was done, above what is there now.
    fn then_restore(&self, done: &Done) -> Result<()> {
        self.plugin.coalesced_look()?;
        self.restore(0)?;
        self.say(&done.said);
        Ok(())
    }

    fn with_step(&self, id: &str, menu: impl FnOnce(&Step) -> Menu) -> Result<()> {
        let plan = self.situation()?.plan_for(WITH_AGENTS);
        let step = plan.steps.iter().find(|step| step.shell == id).ok_or_else(|| vanished(id))?;
        self.draw(&menu(step)).map(|drawn| self.tell_if_not(drawn))
    }

    fn with_tombstone(&self, id: &str, menu: impl FnOnce(&Row) -> Menu) -> Result<()> {
        let rows = self.tombstones()?;
        let row = rows.iter().find(|row| row.shell.id == id).ok_or_else(|| vanished(id))?;
        self.draw(&menu(row)).map(|drawn| self.tell_if_not(drawn))
    }

    /// Restores all, or one shell and goes there; with its agents, as far as the user has agreed.
    fn make(&self, id: Option<&str>, agents: bool, consent: Consent) -> Result<()> {
        self.carry_out(id, Order { asked: Asked { agents, as_of: None }, consent, ..Order::default() })
    }

    fn carry_out(&self, id: Option<&str>, order: Order) -> Result<()> {
        let plugin = self.plugin;
        if let Some(id) = id {
            if !self.situation()?.plan().steps.iter().any(|step| step.shell == id) {
                return Err(vanished(id));
            }
        }
        let wanted = id.map(|id| vec![id.to_owned()]);
        let (began, mut told) = (Instant::now(), Instant::now());
        let order = Order { selected: wanted.as_deref(), ..order };
        let report = restore(plugin.server, plugin.store, plugin.config, plugin.helper, order, &mut |progress| {
            if began.elapsed() > Duration::from_secs(1) && told.elapsed() > Duration::from_millis(500) {
                self.show(&progress.to_string());
                told = Instant::now();
            }
        })?;
        if went_well(&report.outcomes) {
            plugin.store.restore_went_well();
        }
        let one = id.and_then(|id| report.outcomes.iter().find(|outcome| outcome.shell == id));
        let said = match one {
            Some(one) if !is_there(one) => format!("{}: {}", one.name, one.detail),
            _ => in_one_line(&report.outcomes, false),
        };
        if let Some(one) = one.filter(|one| is_there(one)) {
            self.go_to(&one.shell);
        }
        if let Some(retiring) = &report.retiring {
            retire_bootstrap(plugin.server, plugin.store, retiring, &format!("sidecar: {said}"));
        }
        self.say(&said);
        plugin.coalesced_look()
    }

    /// Restores with the agents, once the user has agreed to those that ask first.
    fn resume(&self, id: Option<&str>) -> Result<()> {
        let plan = self.situation()?.plan_for(WITH_AGENTS);
        let steps: Vec<&Step> = plan.steps.iter().filter(|step| id.is_none_or(|id| step.shell == id)).collect();
        if let (Some(id), true) = (id, steps.is_empty()) {
            return Err(vanished(id));
        }
        let asking: Vec<&AgentStep> = steps.iter().flat_map(|step| &step.agents).filter(|agent| agent.verdict == Verdict::Ask).collect();
        if asking.is_empty() {
            return self.make(id, true, Consent::Unasked);
        }
        self.draw(&self.view().ask_resume(id, &asking)).map(|drawn| self.tell_if_not(drawn))
    }

    /// Takes the client to a shell's session.
    fn go_to(&self, id: &str) {
        let server = self.plugin.server;
        let live = server.look(Purpose::Find, LIMIT).ok().and_then(|seen| seen.sessions.into_iter().find(|session| session.tag == id));
        if let Some(session) = live {
            let _ = server.call(&["switch-client", "-c", &self.client.name, "-t", &session.id], None, LIMIT);
        }
    }

    /// What was typed at the prompt becomes the name.
    fn named(&self, token: &str, target: &str) -> Result<()> {
        let server = self.plugin.server;
        let typed = server.typed(token, LIMIT).map_err(|failure| self.plugin.unanswered(&failure))?;
        if is_id(target) {
            let done = self.shells().rename(Some(OsStr::new(target)), OsStr::from_bytes(&typed))?;
            self.say(&done.said);
        } else {
            // A session that is not recorded has no name but its own.
            let seen = server.look(Purpose::Find, LIMIT).map_err(|failure| self.plugin.unanswered(&failure))?;
            if !seen.sessions.iter().any(|session| session.id == target) {
                return Err(vanished(target));
            }
            let refused =
                server.rename_session(&seen.generation, target, &typed, LIMIT).map_err(|failure| self.plugin.unanswered(&failure))?;
            if let Some(why) = refused {
                return Err(Error::failed("tmux", format!("tmux takes no such name ({why})")));
            }
        }
        self.plugin.coalesced_look()
    }
}

/// Whether a client can go to its session.
fn is_there(outcome: &Outcome) -> bool {
    !matches!(outcome.status, OutcomeStatus::Refused | OutcomeStatus::Failed | OutcomeStatus::Skipped)
}

fn vanished(id: &str) -> Error {
    Error::failed("ended", format!("{id} is no longer there: open the menu again")).exit(Exit::NoTarget)
}

fn unknown(words: &[&str]) -> Error {
    Error::failed("usage", format!("no menu knows the words '{}'", words.join(" "))).exit(Exit::Usage)
}
