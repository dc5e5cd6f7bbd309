//! Which conversation an agent has, by what it printed. Pure, and never a guess: one id that fits, on one screen, or none.

use std::collections::{HashMap, HashSet};

use crate::agents::catalog::Agent;

/// A pane with an agent whose conversation is not known.
#[derive(Clone, Debug)]
pub(super) struct Candidate {
    /// The pane's id.
    pub(super) pane: String,
    /// Which agent.
    pub(super) kind: String,
    /// The ids on its screen whose transcript is there and was begun in the agent's own directory.
    pub(super) ids: HashSet<String>,
}

/// The words on a screen that may be ids of this agent's conversations.
pub(super) fn ids_on(screen: &[String], agent: &Agent) -> HashSet<String> {
    let part = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
    let words = screen.iter().flat_map(|line| line.split(move |c| !part(c)));
    // A sentence ends behind it.
    words.map(|word| word.trim_end_matches('.')).filter(|word| agent.is_id(word)).map(str::to_owned).collect()
}

/// The conversation of each pane of which that is sure. `is_claimed` tells whether another pane has it, or another process has it open.
pub(super) fn agreed(candidates: &[Candidate], is_claimed: &dyn Fn(&Candidate, &str) -> bool) -> HashMap<String, String> {
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
    candidates.iter().filter_map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agents::catalog::Catalog;

    const ONE: &str = "01a228e7-fac2-7180-b353-a6ead433a7ba";
    const TWO: &str = "01a228e7-fac2-7180-b353-a6ead433a7bb";

    fn candidate(pane: &str, ids: &[&str]) -> Candidate {
        Candidate { pane: pane.into(), kind: "claude".into(), ids: ids.iter().map(|&id| id.to_owned()).collect() }
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
        let of = |candidates: &[Candidate], is_claimed: &dyn Fn(&Candidate, &str) -> bool| {
            let mut found: Vec<_> = agreed(candidates, is_claimed).into_iter().collect();
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
}
