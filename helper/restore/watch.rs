//! Watches what comes of a resume, from outside its pane: when it is its turn, whether the agent comes and stays, and whether it asks
//! something. Ends by itself.

use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use super::answer::{NotAnswered, press};
use super::resume::settle;
use crate::agents::catalog::{Agent, Catalog};
use crate::agents::dialogs::{self, Question, SUMMARY};
use crate::agents::process;
use crate::error::Result;
use crate::model::{Answer, BoundProcess, EpochMs, Resume, ResumeState, Screen};
use crate::store::{Config, Level, Lock, Store};
use crate::tmux::{NotRun, Server, Version, Visible, is_launching, is_shell, shell_line};

/// How long a place among those that start at the same time is waited for.
const PLACE_LIMIT: Duration = Duration::from_secs(30 * 60);
/// How long the resume may take to begin, once it is its turn.
const BEGIN_LIMIT: Duration = Duration::from_secs(90);
/// How long it is watched.
const WATCH_LIMIT: Duration = Duration::from_secs(240);
/// The same, in ms: later whoever looks at the server sees to it.
pub(super) const WATCHED: EpochMs = 240_000;
/// How long it is watched for questions once it goes on.
const LATE_QUESTIONS: Duration = Duration::from_secs(15);
/// An agent that has drawn something, and stands still for a moment after this time, goes on.
const SETTLED: Duration = Duration::from_millis(1500);
/// One that has drawn nothing goes on after this time.
const SETTLED_BLANK: Duration = Duration::from_secs(8);
/// From one look to the next.
const PAUSE: Duration = Duration::from_millis(200);
/// How long a shell may take to its prompt.
const PROMPT_LIMIT: Duration = Duration::from_secs(10);
/// How long a tmux call may take.
const LIMIT: Duration = Duration::from_secs(2);
/// An answer that is not taken is given again after this time, and so many times.
const AGAIN: Duration = Duration::from_secs(3);
const ANSWERS: u32 = 3;
/// How long an agent may take to take it.
const TAKEN: Duration = Duration::from_secs(1);

/// Waits for the turn of `pane`'s resume, which runs in the live pane `here`, says so on standard output, and watches it. `helper` is
/// this program's own path.
///
/// # Errors
/// The state folder can't be written.
pub fn watch(server: &Server, store: &Store, config: &Config, helper: &str, pane: &str, here: &str) -> Result<()> {
    let Some(place) = turn(store, config)? else { return Ok(()) };
    let Some((resume, holder)) = begun(store, pane) else { return Ok(()) };
    let (catalog, _) = Catalog::with(&config.agents);
    let Some(agent) = catalog.get(&resume.kind) else { return Ok(()) };
    let mut watch =
        Watch { server, store, helper, pane, here, agent, holder, answer: resume.answer, place: Some(place), seen: None, told: None };
    let deadline = Instant::now() + WATCH_LIMIT;
    while Instant::now() < deadline && watch.goes_on() {
        pause(PAUSE);
    }
    Ok(())
}

#[expect(clippy::disallowed_methods, reason = "an agent's screen tells nobody when it changes")]
fn pause(time: Duration) {
    std::thread::sleep(time);
}

/// Takes a place, says so, and keeps the next one from starting for a moment; `None` if nobody waits for it any more.
fn turn(store: &Store, config: &Config) -> Result<Option<Lock>> {
    let deadline = Instant::now() + PLACE_LIMIT;
    let mut in_turn = None;
    loop {
        if is_unwanted() {
            return Ok(None);
        }
        in_turn = in_turn.or_else(|| store.lock_resume_turn().ok());
        if in_turn.is_some() {
            if let Some(place) = store.resume_place(config.resume_concurrency) {
                if nix::unistd::write(std::io::stdout(), b"go\n").is_err() {
                    return Ok(None);
                }
                pause(config.resume_stagger);
                return Ok(Some(place));
            }
        }
        if Instant::now() >= deadline {
            return Ok(None);
        }
        pause(Duration::from_millis(20));
    }
}

/// Whether who waits for the turn is gone: the pipe has no other end.
fn is_unwanted() -> bool {
    let out = std::io::stdout();
    let mut ends = [PollFd::new(out.as_fd(), PollFlags::empty())];
    let said = poll(&mut ends, PollTimeout::ZERO);
    said.is_ok() && ends[0].revents().is_some_and(|events| events.intersects(PollFlags::POLLERR | PollFlags::POLLNVAL))
}

/// Waits until the resume has begun.
fn begun(store: &Store, pane: &str) -> Option<(Resume, BoundProcess)> {
    let deadline = Instant::now() + BEGIN_LIMIT;
    while Instant::now() < deadline {
        match store.resume(pane) {
            Some(resume) if resume.state == ResumeState::Starting => {
                let holder = resume.holder.clone().filter(process::runs)?;
                return Some((resume, holder));
            }
            Some(resume) if !resume.state.is_pending() && resume.state != ResumeState::Ended => return None,
            _ => pause(Duration::from_millis(20)),
        }
    }
    None
}

/// A resume that is watched.
struct Watch<'a> {
    server: &'a Server,
    store: &'a Store,
    helper: &'a str,
    pane: &'a str,
    here: &'a str,
    agent: &'a Agent,
    holder: BoundProcess,
    answer: Answer,
    /// Given back as soon as the agent needs it no more.
    place: Option<Lock>,
    seen: Option<Seen>,
    /// What was noted last: each look says the same.
    told: Option<(ResumeState, String)>,
}

/// What was seen of the agent.
struct Seen {
    /// Since when it asks nothing.
    since: Instant,
    screen: Screen,
    resumed: Option<Instant>,
    /// How often the question was answered, and when last.
    answered: (u32, Option<Instant>),
}

impl Watch<'_> {
    /// Looks once; whether there is more to come.
    fn goes_on(&mut self) -> bool {
        let Some(resume) = self.store.resume(self.pane) else { return false };
        if !resume.state.holds() || resume.holder.as_ref() != Some(&self.holder) {
            return false;
        }
        if !process::runs(&self.holder) {
            self.settle(ResumeState::Skipped, "pane_closed", "its pane was closed");
            return false;
        }
        // One that becomes another program has no words for a moment.
        let Some(argv) = process::argv(self.holder.pid) else { return true };
        if !is_launching(&argv) {
            return self.type_it_once();
        }
        // Its start-up files are still read.
        let is_started = argv.get(1).is_some_and(|word| word.as_bytes() == b"-ic");
        let in_front = process::foreground(self.holder.pid).map_or(self.holder.pid, |(leader, _)| leader);
        if !is_started || in_front == self.holder.pid {
            return true;
        }
        let Ok(Some(shown)) = self.server.visible(self.here, LIMIT) else { return true };
        self.look_at(&shown);
        self.seen.as_ref().and_then(|seen| seen.resumed).is_none_or(|since| since.elapsed() < LATE_QUESTIONS)
    }

    fn look_at(&mut self, shown: &Visible) {
        let new = || Seen { since: Instant::now(), screen: Screen::new(), resumed: None, answered: (0, None) };
        let seen = self.seen.get_or_insert_with(new);
        let still = seen.screen == shown.screen;
        let blank = shown.screen.is_empty();
        seen.screen.clone_from(&shown.screen);
        if let Some(question) = dialogs::question(self.agent, &shown.screen) {
            (seen.since, seen.resumed) = (Instant::now(), None);
            return self.meet(&question);
        }
        let age = seen.since.elapsed();
        if seen.resumed.is_none() && ((still && !blank && age >= SETTLED) || age >= SETTLED_BLANK) {
            seen.resumed = Some(Instant::now());
            self.place = None;
            self.settle(ResumeState::Resumed, "resumed", "goes on with its conversation");
        }
    }

    fn settle(&mut self, state: ResumeState, reason: &str, detail: &str) {
        let now = Some((state, detail.to_owned()));
        if self.told != now {
            settle(self.store, self.pane, state, reason, detail);
            self.told = now;
        }
    }

    /// A start-up file has become another shell, which sits idle where the agent should be: there the fixed line is typed, once.
    fn type_it_once(&mut self) -> bool {
        let is_shell = || {
            let argv = process::argv(self.holder.pid)?;
            Some(is_shell(&argv.first()?.as_path().file_name()?.to_string_lossy()))
        };
        // What leaves the user's own shell says first that the agent has ended.
        if is_shell() != Some(true) || self.store.resume(self.pane).is_none_or(|resume| !resume.state.holds()) {
            return true;
        }
        self.place = None;
        let line = shell_line(&[self.helper, "agent", "resume", self.pane]);
        let ready = self.server.wait_for_prompt(self.here, PROMPT_LIMIT).map_err(NotRun::from);
        let version = self.server.pid_and_version(LIMIT).map_err(NotRun::from);
        let run = ready
            .and(version)
            .and_then(|(_, version)| self.server.run_at_prompt(&self.holder.generation, Version::parse(&version), self.here, &line, LIMIT));
        if let Err(NotRun(reason, why)) = run {
            self.settle(ResumeState::Failed, reason, &format!("another shell stands where it should start: {why}"));
        }
        false
    }

    /// Answers what may be answered, and tells of the rest.
    fn meet(&mut self, question: &Question) {
        let why = if question.name == SUMMARY && self.answer != Answer::Leave {
            let Some(why) = self.answer() else { return };
            format!(" ({why})")
        } else {
            String::new()
        };
        // Until somebody answers it needs no more than any program that runs.
        self.place = None;
        self.settle(ResumeState::Waiting, &question.name, &format!("{}{why}", question.title));
    }

    /// Presses the key of the wished choice, a few times if need be; tells why that came to nothing.
    fn answer(&mut self) -> Option<String> {
        let (times, last) = self.seen.as_ref().map(|seen| seen.answered).unwrap_or_default();
        if last.is_some_and(|last| last.elapsed() < AGAIN) {
            return None;
        }
        if times >= ANSWERS {
            return Some("it does not take the answer".to_owned());
        }
        match press(self.server, self.store, self.agent, self.here, self.answer, TAKEN) {
            Ok(None) => return None,
            Ok(Some(choice)) => {
                self.store.log(Level::Info, "resume", &format!("{}: answered {SUMMARY} with {}", self.pane, choice.number));
            }
            Err(NotAnswered("not_taken" | "no_answer", _)) => {}
            Err(NotAnswered(_, why)) => return Some(why),
        }
        if let Some(seen) = &mut self.seen {
            seen.answered = (times + 1, Some(Instant::now()));
        }
        None
    }
}
