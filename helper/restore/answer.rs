//! Answers the question whether to go on with the full conversation or with a summary, in one pane.

use std::time::{Duration, Instant};

use crate::agents::catalog::Agent;
use crate::agents::dialogs::{Choice, Question, SUMMARY, question};
use crate::model::Answer;
use crate::store::Store;
use crate::tmux::{Server, Visible};

/// How long a tmux call may take.
const CALL_LIMIT: Duration = Duration::from_secs(2);
/// From one look to the next.
const PAUSE: Duration = Duration::from_millis(50);
/// Each one before takes as long as its question stands.
const LOCK_LIMIT: Duration = Duration::from_secs(10);

/// Why a question was not answered: a stable `snake_case` word, and words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotAnswered(pub &'static str, pub String);

/// The choice that is wished.
///
/// # Errors
/// It is not offered.
pub fn wished(question: &Question, answer: Answer) -> Result<&Choice, NotAnswered> {
    let (choice, none) = match answer {
        Answer::Choice(number) => (question.choice(number), format!("choice {number} is not offered")),
        Answer::Full | Answer::Leave => (question.full(), "no choice says 'full session'".to_owned()),
    };
    choice.ok_or_else(|| {
        let offered: Vec<String> = question.choices.iter().map(|choice| format!("{} ({})", choice.number, choice.text)).collect();
        let offered = if offered.is_empty() { "none by a number".to_owned() } else { offered.join(", ") };
        NotAnswered("choice_not_offered", format!("{none}; these are: {offered}"))
    })
}

/// What a pane shows; that it is gone is a reason like any other.
///
/// # Errors
/// It is gone, or tmux does not answer.
pub fn visible(server: &Server, pane: &str) -> Result<Visible, NotAnswered> {
    match server.visible(pane, CALL_LIMIT) {
        Ok(Some(shown)) => Ok(shown),
        Ok(None) => Err(NotAnswered("pane_gone", "its pane is gone".to_owned())),
        Err(failure) => Err(NotAnswered("no_answer", failure.to_string())),
    }
}

/// Presses the key of the wished choice where that question stands in a pane of `agent`, and waits until it is gone. Nobody else presses
/// one meanwhile. Gives the choice; `None` if the question stood there no more.
///
/// # Errors
/// It was not answered, or stands there still after `limit`.
#[expect(clippy::disallowed_methods, reason = "an agent's screen tells nobody when it changes")]
pub fn press(
    server: &Server,
    store: &Store,
    agent: &Agent,
    pane: &str,
    answer: Answer,
    limit: Duration,
) -> Result<Option<Choice>, NotAnswered> {
    let _alone = store.lock_answers(LOCK_LIMIT).map_err(|error| NotAnswered(error.code, error.message))?;
    let asked = |shown: &Visible| question(agent, &shown.screen).filter(|question| question.name == SUMMARY);
    let shown = visible(server, pane)?;
    let Some(question) = asked(&shown) else { return Ok(None) };
    let choice = wished(&question, answer)?;
    let busy = |why: &str| NotAnswered("pane_busy", why.to_owned());
    if let Some(why) = shown.refuses {
        return Err(busy(why));
    }
    match server.press_digit(pane, &shown, choice.number, &choice.shown, CALL_LIMIT) {
        Ok(true) => {}
        Ok(false) => return Err(busy("it changed while it was answered")),
        Err(failure) => return Err(NotAnswered("no_answer", failure.to_string())),
    }
    let deadline = Instant::now() + limit;
    let mut gone = 0;
    // One look may come while the agent draws the same again.
    while gone < 2 {
        if Instant::now() >= deadline {
            return Err(NotAnswered("not_taken", format!("the question still stands there after the key {}", choice.number)));
        }
        std::thread::sleep(PAUSE);
        gone = if asked(&visible(server, pane)?).is_some() { 0 } else { gone + 1 };
    }
    Ok(Some(choice.clone()))
}
