//! Which conversation a pane is bound to: what a report and a look make of it. Pure.

use crate::agents::evidence::SeenAgent;
use crate::model::{Binding, BindingEnd, BoundProcess, EndReason, EpochMs, Generation, Pane, SeenPane, Source};

/// What an agent tells itself is worth more than what is seen of it, unless that is later by this much, in ms: a title or a file may
/// follow a moment later.
const SLACK: EpochMs = 2_000;

/// What a look knows about processes.
pub struct Processes {
    /// The agents in the panes, by the panes' live ids.
    pub agents: std::collections::HashMap<String, SeenAgent>,
    /// Whether a process lives.
    pub alive: Box<dyn Fn(&BoundProcess) -> bool>,
    /// When the process of this pid was started, by the kernel's clock.
    pub began: Box<dyn Fn(i32) -> Option<u64>>,
    /// Whether the process of a binding, which is gone, is known to have been killed.
    pub was_killed: Box<dyn Fn(&Binding) -> bool>,
    /// Whether an agent of this kind tells why it ends.
    pub tells_end: Box<dyn Fn(&str) -> bool>,
}

impl Default for Processes {
    fn default() -> Self {
        Self {
            agents: std::collections::HashMap::new(),
            alive: Box::new(|_| true),
            began: Box::new(|_| None),
            was_killed: Box::new(|_| false),
            tells_end: Box::new(|_| false),
        }
    }
}

/// Binds a pane to a conversation. The one before that held a prompt, or of which that is unknown, goes into the pane's history.
pub fn bind(pane: &mut Pane, mut new: Binding) {
    let earlier = pane.history.iter().position(|known| known.is_same(&new)).map(|at| pane.history.remove(at));
    let old = match pane.agent.take() {
        Some(old) if old.is_same(&new) => Some(old),
        Some(old) => {
            if old.prompted || !matches!(old.source, Source::Hook | Source::Sessions) {
                pane.history.insert(0, old);
                pane.history.truncate(Pane::HISTORY);
            }
            earlier
        }
        None => earlier,
    };
    if let Some(old) = old {
        new.prompted |= old.prompted;
        new.flags = new.flags.or(old.flags);
        new.transcript = new.transcript.or(old.transcript);
        new.program = new.program.or(old.program);
        new.dir = new.dir.or(old.dir);
        // Where it was started is where this process was, not an earlier one.
        if new.launch_dir.is_none() || (old.process == new.process && old.launch_dir.is_some()) {
            new.launch_dir = old.launch_dir;
        }
        new.extra = old.extra.into_iter().chain(new.extra).collect();
    }
    pane.agent = Some(new);
}

/// Ends the conversation `id` of this process. Another one is not concerned.
pub(super) fn end(pane: &mut Pane, id: &str, process: &BoundProcess, at: EpochMs) -> bool {
    match &mut pane.agent {
        Some(bound) if bound.id == id && bound.process.as_ref().is_none_or(|own| own == process) => {
            bound.ended = Some(BindingEnd { reason: EndReason::User, at });
            bound.missing = None;
            true
        }
        _ => false,
    }
}

/// What a look makes of a pane's binding.
pub(super) fn look_at(pane: &mut Pane, seen: &SeenPane, processes: &Processes, generation: &Generation, now: EpochMs, grace: EpochMs) {
    if let Some(agent) = processes.agents.get(&seen.id) {
        learn(pane, agent, generation);
    }
    let Some(bound) = &mut pane.agent else { return };
    let here = bound.process.as_ref().filter(|process| process.generation == *generation);
    // What is younger than the agent never held it: that one went with an earlier pane, as a closed session that came back had it.
    let is_younger = |process: &BoundProcess| (processes.began)(seen.pid).is_some_and(|began| began > process.start_time);
    if bound.ended.is_some() || seen.dead || here.is_none_or(|process| (processes.alive)(process) || is_younger(process)) {
        bound.missing = None;
        return;
    }
    if (processes.was_killed)(bound) {
        bound.ended = Some(BindingEnd { reason: EndReason::Died, at: now });
        bound.missing = None;
        return;
    }
    match bound.missing {
        Some(since) if since <= now && now - since >= grace => {
            // An agent that tells why it ends, and told nothing, was killed.
            let killed = bound.source == Source::Hook && (processes.tells_end)(&bound.kind);
            bound.ended = Some(BindingEnd { reason: if killed { EndReason::Died } else { EndReason::Gone }, at: since });
            bound.missing = None;
        }
        Some(since) if since <= now => {}
        _ => bound.missing = Some(now),
    }
}

/// What is seen may be a moment behind what a hook told, but not behind what was seen before.
fn slack(source: Source) -> EpochMs {
    if source == Source::Hook { SLACK } else { 0 }
}

fn learn(pane: &mut Pane, seen: &SeenAgent, generation: &Generation) {
    let Some(told) = &seen.told else { return };
    let process = BoundProcess { pid: seen.agent.pid, start_time: seen.agent.start_time, generation: generation.clone() };
    let new = Binding {
        kind: seen.agent.kind.clone(),
        id: told.id.clone(),
        transcript: told.transcript.clone(),
        flags: seen.agent.kept.clone(),
        dir: seen.dir.clone().filter(|_| seen.works_here),
        launch_dir: seen.dir.clone(),
        config_dir: seen.config_dir.clone(),
        program: seen.agent.program.clone(),
        process: Some(process),
        source: told.source,
        reported: told.at,
        prompted: told.prompted,
        ..Binding::default()
    };
    match &mut pane.agent {
        Some(old) if old.process == new.process && old.is_same(&new) => {
            // It is known; only what was unknown, or moves, is learnt.
            old.prompted |= new.prompted;
            if new.transcript.is_some() {
                old.transcript = new.transcript;
            }
            if old.flags.is_none() {
                old.flags = new.flags;
            }
            if old.program.is_none() {
                old.program = new.program;
            }
            if new.dir.is_some() {
                old.dir = new.dir;
            }
        }
        Some(old) if old.process == new.process && told.at <= old.reported.saturating_add(slack(old.source)) => {}
        _ => bind(pane, new),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::agents::evidence::Told;
    use crate::agents::flags::Run;
    use crate::agents::lineage::AgentProcess;

    const GRACE: EpochMs = 10_000;

    fn generation(life: i32) -> Generation {
        Generation { boot: "b".into(), pid: life, start_time: 1, process_start: None }
    }

    fn process(pid: i32) -> BoundProcess {
        BoundProcess { pid, start_time: 1, generation: generation(1) }
    }

    fn binding(id: &str, pid: i32, prompted: bool) -> Binding {
        Binding {
            kind: "claude".into(),
            id: id.into(),
            process: Some(process(pid)),
            source: Source::Hook,
            reported: 1000,
            prompted,
            ..Binding::default()
        }
    }

    fn pane(agent: Option<Binding>) -> Pane {
        Pane { id: "pn-0001".into(), agent, ..Pane::default() }
    }

    fn seen_pane() -> SeenPane {
        SeenPane { id: "%1".into(), ..SeenPane::default() }
    }

    fn seen(id: &str, pid: i32, source: Source, at: EpochMs) -> SeenAgent {
        SeenAgent {
            agent: AgentProcess {
                pid,
                start_time: 1,
                kind: "claude".into(),
                run: Run::Conversation(None),
                kept: Some(vec!["--verbose".into()]),
                args: Some(Vec::new()),
                program: None,
                wrapper: false,
            },
            dir: Some("/w".into()),
            works_here: true,
            config_dir: None,
            told: Some(Told { id: id.into(), source, at, transcript: None, prompted: false }),
        }
    }

    fn processes(agents: Option<SeenAgent>, living: &'static [i32]) -> Processes {
        Processes {
            agents: agents.map(|agent| ("%1".to_owned(), agent)).into_iter().collect(),
            began: Box::new(|_| None),
            alive: Box::new(|process| living.contains(&process.pid)),
            was_killed: Box::new(|_| false),
            tells_end: Box::new(|kind| kind == "claude"),
        }
    }

    fn ids(pane: &Pane) -> Vec<&str> {
        pane.agent.iter().chain(&pane.history).map(|binding| binding.id.as_str()).collect()
    }

    #[test]
    fn a_fresh_start_moves_the_last_good_one_into_the_history_and_back() {
        let mut pane = pane(Some(binding("good", 1, true)));
        bind(&mut pane, binding("fresh", 2, false));
        assert_eq!(ids(&pane), ["fresh", "good"]);
        // What never had a prompt has nothing to come back to.
        bind(&mut pane, binding("fresher", 3, false));
        assert_eq!(ids(&pane), ["fresher", "good"]);
        // Opened again, it is what it was.
        bind(&mut pane, Binding { flags: Some(Vec::new()), ..binding("good", 4, false) });
        assert_eq!(ids(&pane), ["good"]);
        let bound = pane.agent.unwrap();
        assert!(bound.prompted && bound.ended.is_none());
        assert_eq!(bound.process, Some(process(4)));
    }

    #[test]
    fn a_resume_begins_anew_and_keeps_what_it_does_not_tell() {
        let mut old = binding("a", 1, true);
        old.flags = Some(vec!["--verbose".into()]);
        (old.launch_dir, old.dir) = (Some("/old".into()), Some("/works".into()));
        old.ended = Some(BindingEnd { reason: EndReason::User, at: 5 });
        old.extra.insert("mood".into(), 7.into());
        let mut pane = pane(Some(old.clone()));
        bind(&mut pane, Binding { launch_dir: Some("/new".into()), ..binding("a", 2, false) });
        let bound = pane.agent.clone().unwrap();
        assert_eq!((bound.ended, bound.flags, bound.prompted), (None, old.flags, true));
        assert_eq!((bound.launch_dir, bound.dir, bound.extra["mood"].clone()), (Some("/new".into()), Some("/works".into()), 7.into()));
        // In the same process the first place stays.
        bind(&mut pane, Binding { launch_dir: Some("/moved".into()), ..binding("a", 2, false) });
        assert_eq!(pane.agent.unwrap().launch_dir, Some("/new".into()));
    }

    #[test]
    fn an_end_concerns_the_conversation_and_the_process_that_it_names() {
        for (id, pid, ends) in [("a", 1, true), ("b", 1, false), ("a", 2, false)] {
            let mut pane = pane(Some(binding("a", 1, true)));
            assert_eq!(end(&mut pane, id, &process(pid), 9), ends);
            let wanted = ends.then_some(BindingEnd { reason: EndReason::User, at: 9 });
            assert_eq!(pane.agent.unwrap().ended, wanted, "{id} {pid}");
        }
        assert!(!end(&mut pane(None), "a", &process(1), 9));
    }

    #[test]
    fn a_look_learns_what_no_hook_told_and_believes_a_hook_unless_it_sees_something_later() {
        for (why, old, agent, wanted) in [
            ("nothing was known", None, seen("a", 1, Source::Sessions, 5), "a"),
            ("another process runs there now", Some(binding("a", 1, true)), seen("b", 2, Source::Argv, 5), "b"),
            ("the arguments are from before", Some(binding("a", 1, true)), seen("b", 1, Source::Argv, 5), "a"),
            ("a file that has not followed yet", Some(binding("a", 1, true)), seen("b", 1, Source::Sessions, 1000 + SLACK), "a"),
            ("a file that tells later", Some(binding("a", 1, true)), seen("b", 1, Source::Sessions, 1001 + SLACK), "b"),
            ("a title that shows another", Some(binding("a", 1, true)), seen("b", 1, Source::Title, 60_000), "b"),
        ] {
            let mut pane = pane(old);
            look_at(&mut pane, &seen_pane(), &processes(Some(agent), &[1, 2]), &generation(1), 60_000, GRACE);
            assert_eq!(ids(&pane)[0], wanted, "{why}");
        }
        // The same again changes nothing but what was unknown.
        let mut pane = pane(Some(binding("a", 1, false)));
        let agent = seen("a", 1, Source::Sessions, 60_000);
        look_at(&mut pane, &seen_pane(), &processes(Some(agent), &[1]), &generation(1), 60_000, GRACE);
        let bound = pane.agent.unwrap();
        assert_eq!((bound.source, bound.reported), (Source::Hook, 1000));
        assert_eq!((bound.flags, bound.dir), (Some(vec!["--verbose".into()]), Some("/w".into())));
    }

    #[test]
    fn a_look_tells_where_an_agent_works_only_if_that_is_where_its_process_is() {
        for (works_here, dir, wanted) in
            [(true, None, "/w"), (true, Some("/told"), "/w"), (false, None, ""), (false, Some("/told"), "/told")]
        {
            let mut pane = pane(Some(Binding { dir: dir.map(Into::into), ..binding("a", 1, true) }));
            let agent = SeenAgent { works_here, ..seen("a", 1, Source::Argv, 5) };
            look_at(&mut pane, &seen_pane(), &processes(Some(agent), &[1]), &generation(1), 60_000, GRACE);
            assert_eq!(pane.agent.unwrap().dir.map_or(String::new(), |dir| dir.display().into_owned()), wanted);
        }
    }

    #[test]
    fn what_was_ended_stays_so_until_it_is_opened_again() {
        let mut pane = pane(Some(binding("a", 1, true)));
        end(&mut pane, "a", &process(1), 9);
        let look = |pane: &mut Pane, pid| {
            let agent = seen("a", pid, Source::Sessions, 60_000);
            look_at(pane, &seen_pane(), &processes(Some(agent), &[1, 2]), &generation(1), 60_000, GRACE);
        };
        look(&mut pane, 1);
        assert!(pane.agent.as_ref().unwrap().ended.is_some(), "the process is about to go");
        look(&mut pane, 2);
        assert!(pane.agent.as_ref().unwrap().ended.is_none());
    }

    #[test]
    fn an_agent_that_is_gone_from_its_living_pane_ended_and_one_that_went_with_its_server_did_not() {
        let none = || processes(None, &[]);
        let codex = Binding { kind: "codex".into(), ..binding("a", 1, true) };
        for (why, bound, reason) in [
            ("it tells no reason", codex.clone(), Some(EndReason::Gone)),
            ("it would have told", binding("a", 1, true), Some(EndReason::Died)),
            ("no hook was there to tell", Binding { source: Source::Sessions, ..binding("a", 1, true) }, Some(EndReason::Gone)),
            ("its process is unknown", Binding { process: None, ..codex.clone() }, None),
            (
                "it went with an earlier server",
                Binding { process: Some(BoundProcess { generation: generation(2), ..process(1) }), ..codex.clone() },
                None,
            ),
        ] {
            let mut pane = pane(Some(bound));
            for (now, ended) in [(20_000, None), (20_000 + GRACE - 1, None), (20_000 + GRACE, reason)] {
                look_at(&mut pane, &seen_pane(), &none(), &generation(1), now, GRACE);
                let end = pane.agent.as_ref().unwrap().ended.clone();
                assert_eq!(end.as_ref().map(|end| end.reason), ended, "{why}");
                assert!(end.is_none_or(|end| end.at == 20_000));
            }
        }
        // One that is younger than the agent is another pane.
        for (began, reason) in [(1, Some(EndReason::Gone)), (2, None)] {
            let known = Processes { began: Box::new(move |_| Some(began)), ..none() };
            let mut pane = pane(Some(codex.clone()));
            for now in [20_000, 20_000 + GRACE] {
                look_at(&mut pane, &seen_pane(), &known, &generation(1), now, GRACE);
            }
            assert_eq!(pane.agent.unwrap().ended.map(|end| end.reason), reason, "{began}");
        }
        // What it left behind shows that it was killed: there is nothing to wait for.
        let killed = Processes { was_killed: Box::new(|_| true), ..none() };
        let mut left = pane(Some(codex.clone()));
        look_at(&mut left, &seen_pane(), &killed, &generation(1), 20_000, GRACE);
        assert_eq!(left.agent.unwrap().ended, Some(BindingEnd { reason: EndReason::Died, at: 20_000 }));
        // Seen again, it was a flap; and a clock that was set back begins anew.
        let mut pane = pane(Some(codex.clone()));
        look_at(&mut pane, &seen_pane(), &none(), &generation(1), 20_000, GRACE);
        look_at(&mut pane, &seen_pane(), &processes(None, &[1]), &generation(1), 21_000, GRACE);
        assert_eq!(pane.agent, Some(codex.clone()));
        look_at(&mut pane, &seen_pane(), &none(), &generation(1), 22_000, GRACE);
        look_at(&mut pane, &seen_pane(), &none(), &generation(1), 5_000, GRACE);
        assert_eq!(pane.agent.as_ref().unwrap().missing, Some(5_000));
        // A pane whose program ended with it.
        let dead = SeenPane { dead: true, ..seen_pane() };
        look_at(&mut pane, &dead, &none(), &generation(1), 60_000, GRACE);
        assert_eq!(pane.agent, Some(codex));
    }

    #[derive(Clone, Debug)]
    enum Step {
        Report(u8, i32, bool),
        Quit(u8, i32),
        Look(Option<(u8, i32)>, bool),
    }

    fn any_step() -> impl Strategy<Value = Step> {
        prop_oneof![
            (0..4_u8, 1..4, any::<bool>()).prop_map(|(id, pid, prompted)| Step::Report(id, pid, prompted)),
            (0..4_u8, 1..4).prop_map(|(id, pid)| Step::Quit(id, pid)),
            (proptest::option::of((0..4_u8, 1..4)), any::<bool>()).prop_map(|(agent, alive)| Step::Look(agent, alive)),
        ]
    }

    proptest! {
        /// No conversation that held a prompt is ever lost, none stands twice, and only a report or a look of another process, or a
        /// later one, opens an ended one again.
        #[test]
        fn no_good_conversation_is_lost(steps in proptest::collection::vec(any_step(), 0..40)) {
            let mut pane = pane(None);
            let mut good: Vec<String> = Vec::new();
            for (number, step) in steps.into_iter().enumerate() {
                let now = 1000 + number as u64 * 4000;
                match step {
                    Step::Report(id, pid, prompted) => {
                        let id = id.to_string();
                        if prompted && !good.contains(&id) {
                            good.push(id.clone());
                        }
                        bind(&mut pane, Binding { reported: now, ..binding(&id, pid, prompted) });
                    }
                    Step::Quit(id, pid) => {
                        end(&mut pane, &id.to_string(), &process(pid), now);
                    }
                    Step::Look(agent, alive) => {
                        let agent = agent.map(|(id, pid)| seen(&id.to_string(), pid, Source::Sessions, now));
                        let living: &[i32] = if alive { &[1, 2, 3] } else { &[] };
                        look_at(&mut pane, &seen_pane(), &processes(agent, living), &generation(1), now, GRACE);
                    }
                }
                let all = ids(&pane);
                for id in &good {
                    prop_assert_eq!(all.iter().filter(|known| *known == id).count(), 1, "{} of {:?}", id, all);
                }
                prop_assert!(pane.history.len() <= Pane::HISTORY);
                let kept = pane.agent.iter().chain(&pane.history);
                prop_assert!(kept.filter(|known| good.contains(&known.id)).all(|known| known.prompted));
            }
        }
    }
}
