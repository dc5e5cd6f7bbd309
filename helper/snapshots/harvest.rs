//! Which conversation an agent has, by what it printed. Pure, and never a guess: one id that fits, on one screen, and nothing else there
//! that it could be, or none.

use std::collections::{HashMap, HashSet};

use crate::agents::catalog::Agent;
use crate::model::RawText;

/// A pane with an agent whose conversation is not known.
#[derive(Clone, Debug)]
pub(super) struct Candidate {
    /// The pane's id.
    pub(super) pane: String,
    /// Which agent.
    pub(super) kind: String,
    /// The directory that it is in.
    pub(super) dir: Option<RawText>,
    /// The ids on its screen; of an agent whose ids may be any words, those that have a transcript.
    pub(super) shown: HashSet<String>,
    /// Those of them whose transcript is there and was begun in the agent's own directory.
    pub(super) ids: HashSet<String>,
}

/// The words on a screen that may be ids of this agent's conversations.
pub(super) fn ids_on(screen: &[String], agent: &Agent) -> HashSet<String> {
    let part = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
    let words = screen.iter().flat_map(|line| line.split(move |c| !part(c)));
    // A sentence ends behind it.
    words.map(|word| word.trim_end_matches('.')).filter(|word| agent.is_id(word)).map(str::to_owned).collect()
}

/// What is in a candidate's directory of its kind, wherever it runs: an agent that prints no id may have the conversation that another
/// one quotes, and what a screen shows may be the conversation before the present one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Around {
    /// Agents whose conversation is not known.
    pub(super) agents: usize,
    /// Conversations that nobody has, written to since the candidate runs.
    pub(super) conversations: usize,
}

/// The conversation of each pane of which that is sure: none where another agent in the same directory may have it, since that shows no id,
/// or this one. `is_claimed` tells whether another pane has it, or another process has it open.
pub(super) fn agreed(
    candidates: &[Candidate],
    is_claimed: &dyn Fn(&Candidate, &str) -> bool,
    around: &dyn Fn(&Candidate) -> Around,
) -> HashMap<String, String> {
    let mut shown: HashMap<(&str, &str), usize> = HashMap::new();
    for candidate in candidates {
        for id in &candidate.ids {
            *shown.entry((&candidate.kind, id)).or_default() += 1;
        }
    }
    let one = |candidate: &Candidate| {
        let mut ids = candidate.ids.iter();
        let only = ids.next().filter(|_| ids.next().is_none())?;
        let alone = shown.get(&(candidate.kind.as_str(), only.as_str())) == Some(&1);
        (alone && !is_claimed(candidate, only)).then(|| (candidate.pane.clone(), only.clone()))
    };
    let is_its_own = |candidate: &Candidate, id: &String| {
        let there = || candidates.iter().filter(|other| other.kind == candidate.kind && other.dir == candidate.dir);
        let has_another = |other: &Candidate| !other.shown.is_empty() && !other.shown.contains(id);
        there().all(|other| other.pane == candidate.pane || has_another(other)) && {
            let (around, most) = (around(candidate), there().count());
            around.agents <= most && around.conversations <= most
        }
    };
    let told = candidates.iter().filter_map(|candidate| Some((candidate, one(candidate)?)));
    told.filter(|(candidate, (_, id))| is_its_own(candidate, id)).map(|(_, found)| found).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agents::catalog::Catalog;

    const ONE: &str = "01a228e7-fac2-7180-b353-a6ead433a7ba";
    const TWO: &str = "01a228e7-fac2-7180-b353-a6ead433a7bb";

    fn candidate(pane: &str, ids: &[&str]) -> Candidate {
        let ids: HashSet<String> = ids.iter().map(|&id| id.to_owned()).collect();
        Candidate { pane: pane.into(), kind: "claude".into(), dir: Some(pane.into()), shown: ids.clone(), ids }
    }

    #[test]
    fn an_id_is_a_word_of_its_form() {
        let catalog = Catalog::built_in();
        let claude = catalog.get("claude").unwrap();
        let ids = |text: &str| ids_on(&text.lines().map(str::to_owned).collect::<Vec<_>>(), claude);
        assert_eq!(ids(&format!("resume with: claude --resume {ONE}.\n│ {TWO} │")), HashSet::from([ONE.to_owned(), TWO.to_owned()]));
        for none in [String::new(), format!("{ONE}0"), format!("x{ONE}"), ONE[..35].to_owned(), format!("{ONE}-x")] {
            assert_eq!(ids(&none), HashSet::new(), "{none}");
        }
        assert_eq!(ids(&format!("(session:{ONE})")), HashSet::from([ONE.to_owned()]));
    }

    #[test]
    fn it_is_taken_only_where_there_is_one_and_nobody_else_has_it() {
        let nobody = |_: &Candidate, _: &str| false;
        let none_else = |_: &Candidate| Around { agents: 1, conversations: 1 };
        let of = |candidates: &[Candidate], is_claimed: &dyn Fn(&Candidate, &str) -> bool| {
            let mut found: Vec<_> = agreed(candidates, is_claimed, &none_else).into_iter().collect();
            found.sort();
            found
        };
        let is = |pane: &str, id: &str| (pane.to_owned(), id.to_owned());
        assert_eq!(of(&[candidate("a", &[ONE]), candidate("b", &[TWO])], &nobody), [is("a", ONE), is("b", TWO)]);
        assert_eq!(of(&[candidate("a", &[])], &nobody), []);
        assert_eq!(of(&[candidate("a", &[ONE, TWO])], &nobody), [], "two on one screen");
        assert_eq!(of(&[candidate("a", &[ONE]), candidate("b", &[ONE])], &nobody), [], "one on two screens");
        assert_eq!(of(&[candidate("a", &[ONE]), candidate("b", &[ONE, TWO])], &nobody), [], "a screen that shows another's too");
        assert_eq!(of(&[candidate("a", &[ONE])], &|_, id| id == ONE), [], "another pane has it");
        let mut other = candidate("b", &[ONE]);
        other.kind = "codex".into();
        assert_eq!(of(&[candidate("a", &[ONE]), other], &nobody).len(), 2, "ids of two agents are two things");
    }

    #[test]
    fn where_another_agent_in_the_directory_may_have_it_none_is_taken() {
        let of = |candidates: &[Candidate], agents, conversations| {
            let here: Vec<Candidate> = candidates.iter().map(|one| Candidate { dir: Some("/w".into()), ..one.clone() }).collect();
            agreed(&here, &|_, _| false, &|_| Around { agents, conversations }).len()
        };
        let (one, two) = (candidate("a", &[ONE]), candidate("b", &[TWO]));
        assert_eq!(of(&[one.clone(), two.clone()], 2, 2), 2);
        assert_eq!(of(std::slice::from_ref(&one), 1, 1), 1);
        assert_eq!(of(&[one.clone(), candidate("b", &[])], 2, 1), 0, "the other one may have it, and this one quote it");
        assert_eq!(of(std::slice::from_ref(&one), 2, 1), 0, "one that runs elsewhere may have it");
        assert_eq!(of(std::slice::from_ref(&one), 1, 2), 0, "it may be at a later one by now");
        let without_transcript = Candidate { ids: HashSet::new(), ..two };
        assert_eq!(of(&[one.clone(), without_transcript], 2, 1), 1, "the other one has another");
        assert_eq!(of(&[one, candidate("b", &[ONE, TWO])], 2, 2), 0);
    }
}
