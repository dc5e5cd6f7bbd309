//! Answers agents that wait at the question whether to go on with the full conversation or with a summary, in every pane.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use super::Shells;
use super::agents::running_agent;
use crate::agents::catalog::Agent;
use crate::agents::dialogs::{SUMMARY, question};
use crate::error::{Error, Result};
use crate::model::{Answer, LivePanes, Shell};
use crate::restore::{NotAnswered, press, situation, visible, wished};
use crate::store::Level;

/// How long an agent may take to take its answer.
const TAKEN: Duration = Duration::from_secs(5);

/// What was done with a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnswerStatus {
    /// It was answered, and is gone.
    Answered,
    /// It is left to the user.
    Waiting,
    /// It would be answered.
    WouldAnswer,
    /// It could not be answered.
    Failed,
}

impl AnswerStatus {
    /// The word in `--json`.
    pub fn word(self) -> &'static str {
        match self {
            Self::Answered => "answered",
            Self::Waiting => "waiting",
            Self::WouldAnswer => "would_answer",
            Self::Failed => "failed",
        }
    }
}

/// An agent that stood at a question.
#[derive(Clone, Debug)]
pub struct AnswerRow {
    /// `NAME:WINDOW.PANE`, for people.
    pub place: String,
    /// The pane's id in the records.
    pub pane: Option<String>,
    /// The pane's live id.
    pub tmux: String,
    /// Which agent.
    pub kind: String,
    /// Its name for people.
    pub title: String,
    /// The question, as a stable `snake_case` word.
    pub dialog: String,
    /// What was done.
    pub status: AnswerStatus,
    /// The number of the choice that was made.
    pub choice: Option<u8>,
    /// Why, as a stable `snake_case` word.
    pub reason: String,
    /// Why, in words.
    pub detail: String,
}

/// What `agent answer` did.
pub struct Answers {
    /// A row for each agent that stood at a question.
    pub rows: Vec<AnswerRow>,
    /// What a person should know of the records and the configuration.
    pub notices: Vec<String>,
}

impl Shells<'_> {
    /// Answers in each pane in which somebody would sit at an agent, and tells of the questions that are none of ours. A dry run
    /// presses no key.
    ///
    /// # Errors
    /// The server does not answer, or the records can't be read at all.
    pub fn answer(&self, answer: Answer, dry_run: bool) -> Result<Answers> {
        let situation = situation(self.server, self.store, self.config)?;
        if let (None, Some(why)) = (&situation.seen, &situation.server.detail) {
            return Err(Error::failed("no_answer", format!("cannot look at the panes: {why}")));
        }
        let panes = LivePanes::of(situation.seen.as_ref());
        let recorded: HashMap<&str, (&Shell, &str)> = situation
            .state
            .shells
            .iter()
            .flat_map(|shell| Shell::own_windows(shell).map(move |window| (shell, window)))
            .flat_map(|(shell, window)| window.panes.iter().map(move |pane| (shell, pane)))
            .filter_map(|(shell, pane)| Some((panes.find(shell, pane)?.id.as_str(), (shell, pane.id.as_str()))))
            .collect();
        let mut rows = Vec::new();
        let mut looked_at: HashSet<&str> = HashSet::new();
        for session in situation.seen.iter().flat_map(|seen| &seen.sessions) {
            for (window, pane) in session.windows.iter().flat_map(|window| window.panes.iter().map(move |pane| (window, pane))) {
                // A window may stand in several sessions.
                if !looked_at.insert(&pane.id) {
                    continue;
                }
                let Some((agent, ..)) = running_agent(situation.catalog(), pane) else { continue };
                let known = recorded.get(pane.id.as_str());
                let name = known.map_or(&session.name, |(shell, _)| &shell.name);
                let Some(done) = self.answer_in(agent, &pane.id, answer, dry_run) else { continue };
                rows.push(AnswerRow {
                    place: format!("{name}:{}.{}", window.index, pane.index),
                    pane: known.map(|&(_, id)| id.to_owned()),
                    tmux: pane.id.clone(),
                    kind: agent.kind.clone(),
                    title: agent.title.clone(),
                    ..done
                });
            }
        }
        let notices = situation.notices.iter().chain(&self.config.warnings).cloned().collect();
        Ok(Answers { rows, notices })
    }

    /// In one pane; `None` if nothing is asked there. The place is still to be told.
    fn answer_in(&self, agent: &Agent, pane: &str, answer: Answer, dry_run: bool) -> Option<AnswerRow> {
        let row = |dialog: &str, status, choice, reason: &str, detail: String| AnswerRow {
            place: String::new(),
            pane: None,
            tmux: String::new(),
            kind: String::new(),
            title: String::new(),
            dialog: dialog.to_owned(),
            status,
            choice,
            reason: reason.to_owned(),
            detail,
        };
        // A pane that is gone asks nothing.
        let shown = visible(self.server, pane).ok()?;
        let question = question(agent, &shown.screen)?;
        if question.name != SUMMARY {
            return Some(row(&question.name, AnswerStatus::Waiting, None, "left_to_you", question.title));
        }
        let (status, answered) = if dry_run {
            let refused = shown.refuses.map(|why| NotAnswered("pane_busy", why.to_owned()));
            (AnswerStatus::WouldAnswer, refused.map_or_else(|| wished(&question, answer).cloned(), Err).map(Some))
        } else {
            (AnswerStatus::Answered, press(self.server, self.store, agent, pane, answer, TAKEN))
        };
        Some(match answered {
            // Somebody else has answered it meanwhile.
            Ok(None) => return None,
            Ok(Some(choice)) => {
                if !dry_run {
                    self.store.log(Level::Info, "answer", &format!("{pane}: {SUMMARY} with {}", choice.number));
                }
                row(SUMMARY, status, Some(choice.number), status.word(), choice.text)
            }
            Err(NotAnswered(reason, why)) => row(SUMMARY, AnswerStatus::Failed, None, reason, why),
        })
    }
}
