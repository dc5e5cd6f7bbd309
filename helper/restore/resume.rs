//! A resume, from the wish to the end of the agent. Who may resume is decided here, under one lock of the whole host; how far it is
//! stands in the store, where whoever waits for it reads it.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use super::agents::places;
use super::answer::visible;
use super::situation::{Besides, situation, situation_with};
use crate::agents::catalog::Catalog;
use crate::agents::dialogs::question;
use crate::agents::process;
use crate::error::{Error, Exit, Result};
use crate::model::{
    AgentOutcome, AgentStatus, AgentStep, Answer, BoundProcess, EndReason, EpochMs, Generation, LivePanes, Observation, Resume, ResumeLine,
    ResumeState, SeenPane, Shell, State, Verdict,
};
use crate::record::now;
use crate::store::{Config, Level, Store};
use crate::tmux::{NotRun, Server, Version, shell_line};

/// Each one before takes a look at the server and the records.
const LOCK_LIMIT: Duration = Duration::from_secs(60);
/// How long a tmux call may take while a line is typed.
const TYPE_LIMIT: Duration = Duration::from_secs(5);
/// Exit codes of a shell for a program that was hung up, interrupted, quit or terminated, which is somebody's wish.
const WISHED: [i32; 4] = [129, 130, 131, 143];

/// What a resume is asked for with.
#[derive(Clone, Copy, Debug, Default)]
pub struct Wish<'a> {
    /// The time as of which the conversation is chosen.
    pub as_of: Option<EpochMs>,
    /// The snapshot that fills what is not known otherwise.
    pub snapshot: Option<&'a str>,
    /// What the agent's question is answered with.
    pub answer: Answer,
}

/// Who has agreed that conversations are opened again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Consent {
    /// Nobody was asked: only those that ask nobody.
    #[default]
    Unasked,
    /// The user.
    Given,
    /// Nobody is there: as `Unasked`, and what failed the last time is not tried again.
    Automatic,
}

/// The last resume of this conversation in its pane, if it failed and nothing was reported of it since.
pub fn last_failure(store: &Store, agent: &AgentStep) -> Option<Resume> {
    let last = store.resume(&agent.pane).filter(|last| last.state == ResumeState::Failed)?;
    let is_of_it = Some(&last.id) == agent.id.as_ref() && agent.reported.is_none_or(|reported| reported <= last.at);
    is_of_it.then_some(last)
}

/// Whether a restore opens this conversation.
pub(super) fn is_resumed(store: &Store, agent: &AgentStep, consent: Consent) -> bool {
    match agent.verdict {
        Verdict::Resume => consent != Consent::Automatic || last_failure(store, agent).is_none(),
        Verdict::Ask => consent == Consent::Given,
        Verdict::No => false,
    }
}

/// Whether this is the pane, and its conversation can be opened although the user had ended it.
pub(super) fn is_reopened(agent: &AgentStep, pane: &str) -> bool {
    agent.pane == pane && agent.reason == "ended_by_user" && agent.obstacle.is_none()
}

/// Asks for the resume of these panes, in this life of the server.
pub(super) fn ask<'a>(store: &Store, panes: impl Iterator<Item = &'a str>, wish: Wish, generation: &Generation) -> Result<()> {
    for pane in panes {
        store.change_resume(pane, |_| {
            let Wish { as_of, snapshot, answer } = wish;
            let snapshot = snapshot.map(str::to_owned);
            Some(Resume {
                at: now(),
                generation: Some(generation.clone()),
                as_of,
                snapshot,
                answer,
                reason: "asked".into(),
                ..Resume::default()
            })
        })?;
    }
    Ok(())
}

/// Resumes in living panes: the fixed line is run at their prompts. What stands in the way is noted.
pub(super) fn type_into(server: &Server, store: &Store, helper: &str, seen: &Observation, panes: &[(&str, &str)]) {
    let version = Version::parse(&seen.version);
    for (pane, live) in panes {
        let line = shell_line(&[helper, "agent", "resume", pane]);
        if let Err(NotRun(reason, why)) = server.run_at_prompt(&seen.generation, version, live, &line, TYPE_LIMIT) {
            settle(store, pane, ResumeState::Skipped, reason, &why);
        }
    }
}

/// Waits until these resumes are settled, or the time is over; tells how many are not, as that changes.
#[expect(clippy::disallowed_methods, reason = "files tell nobody when they change")]
pub(super) fn wait(store: &Store, panes: &[&str], limit: Duration, tell: &mut dyn FnMut(usize)) -> HashMap<String, Resume> {
    let deadline = Instant::now() + limit;
    loop {
        let all: HashMap<String, Resume> = panes.iter().filter_map(|&pane| Some((pane.to_owned(), store.resume(pane)?))).collect();
        let pending = all.values().filter(|resume| resume.state.is_pending()).count();
        if pending == 0 || Instant::now() >= deadline {
            return all;
        }
        tell(pending);
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Sees, for resumes that are no longer watched, whether the question that they waited at still stands there.
pub fn look_at_waiting(server: &Server, store: &Store, config: &Config, seen: &Observation, state: &State) {
    let old = |resume: &Resume| {
        let late = resume.state == ResumeState::Waiting && resume.at + super::watch::WATCHED < now();
        late && resume.holder.as_ref().is_some_and(process::runs)
    };
    let waiting: Vec<(String, Resume)> = store.resumes().into_iter().filter(|(_, resume)| old(resume)).collect();
    if waiting.is_empty() {
        return;
    }
    let (catalog, _) = Catalog::with(&config.agents);
    let live = LivePanes::of(Some(seen));
    let places: HashMap<&str, &SeenPane> = state
        .shells
        .iter()
        .flat_map(|shell| shell.panes().map(move |pane| (shell, pane)))
        .filter_map(|(shell, pane)| Some((pane.id.as_str(), live.find(shell, pane)?)))
        .collect();
    for (pane, resume) in waiting {
        let asks = places.get(pane.as_str()).zip(catalog.get(&resume.kind)).is_some_and(|(live, agent)| {
            // What can't be seen is left as it is.
            visible(server, &live.id).map_or(true, |shown| question(agent, &shown.screen).is_some())
        });
        if !asks {
            settle(store, &pane, ResumeState::Resumed, "resumed", "goes on with its conversation");
        }
    }
}

/// Who waits where for the user, by place and question.
pub fn waiting(store: &Store, state: &State) -> Vec<(String, String)> {
    let is_waiting = |resume: &Resume| resume.state == ResumeState::Waiting && resume.holder.as_ref().is_some_and(process::runs);
    let waiting: HashMap<String, Resume> = store.resumes().into_iter().filter(|(_, resume)| is_waiting(resume)).collect();
    if waiting.is_empty() {
        return Vec::new();
    }
    let places = state.shells.iter().flat_map(places);
    places.filter_map(|place| Some((place.to_string(), waiting.get(&place.pane.id)?.detail.clone()))).collect()
}

/// What became of an agent that was to be resumed, as far as that is known.
pub(super) fn outcome(step: &AgentStep, resume: Option<&Resume>) -> AgentOutcome {
    let status = match resume.map(|resume| resume.state) {
        Some(ResumeState::Resumed) => AgentStatus::Resumed,
        Some(ResumeState::Waiting) => AgentStatus::Waiting,
        Some(ResumeState::Asked | ResumeState::Starting) => AgentStatus::Starting,
        Some(ResumeState::Failed) => AgentStatus::Failed,
        Some(ResumeState::Skipped | ResumeState::Ended) | None => AgentStatus::Skipped,
    };
    let (reason, detail) = resume.map_or(("not_begun", "was not begun"), |resume| (&resume.reason, &resume.detail));
    let (pane, place, kind) = (step.pane.clone(), step.place.clone(), step.kind.clone());
    AgentOutcome { pane, place, kind, status, reason: reason.to_owned(), detail: detail.to_owned() }
}

/// What a pane's resume runs.
pub struct Claimed {
    /// The agent's name for people.
    pub title: String,
    /// Its words, and where.
    pub line: ResumeLine,
}

/// Makes this process the one that resumes a pane's conversation, and nobody else on this host as long as it lives.
///
/// # Errors
/// There is no such pane (exit 3); its conversation can't be opened, or is open already (exit 5); the server does not answer.
pub fn claim(server: &Server, store: &Store, config: &Config, pane: &str) -> Result<Claimed> {
    let _alone = store.lock_resumes(LOCK_LIMIT)?;
    let mut situation = situation(server, store, config)?;
    let last =
        store.resume(pane).filter(|last| situation.seen.as_ref().is_some_and(|seen| last.generation.as_ref() == Some(&seen.generation)));
    // Also when it is tried again by hand, as long as that snapshot is there.
    let snapshot =
        last.as_ref().and_then(|last| last.snapshot.as_deref()).filter(|name| store.snapshots().iter().any(|known| known == name));
    if snapshot.is_some() {
        situation = situation_with(server, store, config, Besides { snapshot, coming: None })?;
    }
    let Some(seen) = &situation.seen else {
        let why = situation.server.detail.as_deref().unwrap_or("it does not answer");
        return Err(Error::failed("no_answer", format!("cannot resume {pane}: the tmux server: {why}")));
    };
    let wished = last.as_ref().filter(|wished| wished.state.is_pending());
    let wish = wished.map(|wished| Wish { as_of: wished.as_of, snapshot, answer: wished.answer }).unwrap_or_default();
    let step = situation.agent_of(pane, wish.as_of).ok_or_else(|| {
        Error::failed("no_such_pane", format!("no conversation is recorded of a pane '{pane}'"))
            .exit(Exit::NoTarget)
            .hint("`sidecar agent status` shows which could come back, and `--json` their panes")
    })?;
    let cannot = |reason, detail: &str| Error::failed(reason, format!("{} is not resumed: {detail}", step.title)).exit(Exit::Refused);
    if let Some((reason, detail)) = &step.obstacle {
        return Err(cannot(reason, detail));
    }
    let (Some(id), Some(line)) = (&step.id, &step.line) else { return Err(cannot("no_binding", "its conversation is not known")) };
    let pid = i32::try_from(std::process::id()).unwrap_or_default();
    let holder = BoundProcess { pid, start_time: process::start_time(pid).unwrap_or_default(), generation: seen.generation.clone() };
    store.change_resume(pane, |_| {
        Some(Resume {
            kind: step.kind.clone(),
            id: id.clone(),
            at: now(),
            generation: Some(seen.generation.clone()),
            as_of: wish.as_of,
            snapshot: snapshot.map(str::to_owned),
            answer: wish.answer,
            holder: Some(holder),
            state: ResumeState::Starting,
            reason: "starting".into(),
            detail: "starts".into(),
        })
    })?;
    store.log(Level::Info, "resume", &format!("{pane}: {} {id} starts", step.kind));
    Ok(Claimed { title: step.title.clone(), line: line.clone() })
}

/// Notes that this process did not begin the resume that was asked for, and why. One that another process carries out is left alone.
pub fn not_begun(store: &Store, pane: &str, error: &Error) {
    if store.resume(pane).is_some_and(|resume| resume.holder.as_ref().is_none_or(is_own)) {
        let state = if error.exit == Exit::Refused { ResumeState::Skipped } else { ResumeState::Failed };
        settle(store, pane, state, error.code, &error.message);
    }
}

fn is_own(holder: &BoundProcess) -> bool {
    u32::try_from(holder.pid) == Ok(std::process::id())
}

/// Notes how far a resume is, unless it is over.
pub(super) fn settle(store: &Store, pane: &str, state: ResumeState, reason: &str, detail: &str) {
    let changed = store.change_resume(pane, |old| {
        let old = old?;
        let over = matches!(old.state, ResumeState::Failed | ResumeState::Skipped | ResumeState::Ended);
        let same = (old.state, old.reason.as_str(), old.detail.as_str()) == (state, reason, detail);
        (!over && !same).then(|| Resume { at: now(), state, reason: reason.to_owned(), detail: detail.to_owned(), ..old })
    });
    match changed {
        Ok(_) => store.log(Level::Info, "resume", &format!("{pane}: {reason}: {detail}")),
        Err(error) => store.log(Level::Warn, "resume", &error.message),
    }
}

/// What is to be told in the pane of an agent that has ended; `None` if nothing failed. `said` are the last lines of its pane.
pub fn ended(server: &Server, store: &Store, config: &Config, pane: &str, code: i32, said: &[String]) -> Option<String> {
    let before = store.resume(pane).filter(|before| before.holder.as_ref().is_some_and(is_own))?;
    let title = Catalog::with(&config.agents).0.get(&before.kind).map_or(before.kind.clone(), |agent| agent.title.clone());
    // Once it has gone on with its conversation, or stood at a question, its end is the user's or its own; unless it only seemed to.
    let seemed = before.state == ResumeState::Resumed && code != 0 && now().saturating_sub(before.at) < SEEMING;
    if !(before.state == ResumeState::Starting || seemed) || WISHED.contains(&code) {
        settle(store, pane, ResumeState::Ended, "ended", "it has ended since");
        return None;
    }
    let what = match code {
        127 => format!("{title} was not found"),
        128.. => format!("{title} was ended by signal {}", code - 128),
        _ => format!("{title} ended at once, with exit code {code}"),
    };
    let reason = if code == 127 { "not_found" } else { "ended_at_once" };
    let last = said.iter().rev().take(LINES_TOLD).rev().map(|line| line.trim()).collect::<Vec<_>>().join(" / ");
    let detail = if last.is_empty() { what.clone() } else { format!("{what}: {last}") };
    settle(store, pane, ResumeState::Failed, reason, &detail);
    keep_binding(server, store, pane, &before.id);
    Some(format!("{what}; its conversation is kept"))
}

/// One that fails so soon, in ms, after it seemed to go on has not gone on.
const SEEMING: EpochMs = 5_000;
/// How many of a pane's last lines are told.
const LINES_TOLD: usize = 3;

/// An agent that was gone again at once was not ended by the user, whatever a look has seen of it.
fn keep_binding(server: &Server, store: &Store, pane: &str, id: &str) {
    let kept = || -> Result<()> {
        let held = store.lock(Duration::from_secs(5))?;
        let loaded = store.load()?;
        let mut state = loaded.state.clone();
        let panes = state.shells.iter_mut().flat_map(|shell: &mut Shell| &mut shell.windows).flat_map(|window| &mut window.panes);
        for binding in panes.filter(|own| own.id == pane).filter_map(|own| own.agent.as_mut()).filter(|binding| binding.id == id) {
            binding.missing = None;
            binding.process = binding.process.take().filter(process::runs);
            binding.ended = binding.ended.take().filter(|end| end.reason == EndReason::User);
        }
        store.save(&held, &loaded, &state, now()).map(drop)
    };
    if let Err(error) = kept() {
        store.log(Level::Warn, "resume", &format!("{}: {}", server.display_name(), error.message));
    }
}
