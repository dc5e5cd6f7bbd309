//! What becomes of the agents in the panes of a plan. Pure, as the plan is.

use std::collections::HashMap;
use std::path::Path;

use super::thaw::{fill, frozen_conversation};
use crate::agents::catalog::{Agent, Catalog};
use crate::agents::cutoff::{Chosen, Cutoff, choose};
use crate::agents::flags::{self, Run};
use crate::agents::recognize::by_words;
use crate::agents::verdict::{Case, PaneNow, Setting, judge, obstacle};
use crate::model::{
    Action, AgentStep, Binding, BoundProcess, EpochMs, LivePanes, Observation, Pane, RawText, Report, ResumeLine, SeenPane, Shell, Since,
    State, Step, Verdict,
};
use crate::tmux::is_shell;

/// What the agents' part of a plan is made from.
#[derive(Clone, Copy)]
pub struct AgentFacts<'a> {
    /// Every agent that is known.
    pub catalog: &'a Catalog,
    /// What the journal kept of the panes' conversations.
    pub reports: &'a [Report],
    /// What other servers of this host hold.
    pub others: &'a [Claim],
    /// What the panes had in the snapshot that is asked for, by their ids.
    pub frozen: &'a HashMap<&'a str, &'a Pane>,
    /// Whether a conversation has a transcript.
    pub has_transcript: &'a dyn Fn(&Agent, &Binding) -> bool,
    /// The live process that has this conversation, of this kind and id, open.
    pub open: &'a dyn Fn(&str, &str) -> Option<Open>,
    /// `restore.resumeAgents`.
    pub setting: Setting,
    /// What is asked for.
    pub asked: Asked,
}

/// A live process that has a conversation open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Open {
    /// Its pid.
    pub pid: i32,
    /// Whether the server in which it was started is gone.
    pub orphan: bool,
}

/// What is asked of a plan.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Asked {
    /// Whether the agents are to come back too.
    pub agents: bool,
    /// The time as of which their conversations are chosen, in place of the newest reports.
    pub as_of: Option<EpochMs>,
}

/// A pane that had a conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// Which agent.
    pub kind: String,
    /// The conversation.
    pub id: String,
    /// When it was last reported there.
    pub at: EpochMs,
    /// The pane's id.
    pub pane: String,
    /// Where that is, for people.
    pub place: String,
    /// The process that has it open.
    pub process: Option<i32>,
}

/// What the records of another server claim, without its journal. `runs` knows which processes live.
pub(super) fn claims(state: &State, server: &str, runs: &dyn Fn(&BoundProcess) -> bool) -> Vec<Claim> {
    let claim = |place: Place| {
        let (pane, binding) = (place.pane, place.pane.agent.as_ref()?);
        let process = binding.process.as_ref().filter(|process| binding.ended.is_none() && runs(process)).map(|process| process.pid);
        let (kind, id, place) = (binding.kind.clone(), binding.id.clone(), format!("{place} of the server '{server}'"));
        Some(Claim { kind, id, at: binding.reported, pane: pane.id.clone(), place, process })
    };
    state.shells.iter().flat_map(places).filter_map(claim).collect()
}

/// A recorded pane where it stands; for people it is `NAME:WINDOW.PANE`.
#[derive(Clone, Copy)]
pub(super) struct Place<'a> {
    shell: &'a Shell,
    window: u32,
    pub(super) pane: &'a Pane,
}

impl std::fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}.{}", self.shell.name, self.window, self.pane.index)
    }
}

/// The panes of a shell.
pub(super) fn places(shell: &Shell) -> impl Iterator<Item = Place<'_>> {
    shell.own_windows().flat_map(move |window| window.panes.iter().map(move |pane| Place { shell, window: window.index, pane }))
}

/// Gives each step its agents, and its action where they come back.
pub(super) fn add_agents(
    steps: &mut [Step],
    state: &State,
    seen: Option<&Observation>,
    is_dir: &dyn Fn(&Path) -> bool,
    facts: &AgentFacts,
) {
    let panes = Panes::of(state, seen, facts);
    let shells: HashMap<&str, &Shell> = state.shells.iter().map(|shell| (shell.id.as_str(), shell)).collect();
    for step in steps {
        let Some(shell) = shells.get(step.shell.as_str()) else { continue };
        let comes_back = step.action == Action::Reattach || step.action.makes();
        step.agents = places(shell).filter_map(|place| panes.step(place, comes_back, is_dir, facts)).collect();
        let any = step.agents.iter().any(|agent| agent.verdict != Verdict::No);
        if step.action == Action::RecreateShell && any {
            step.action = Action::ResumeAgent;
        }
    }
}

/// The agents of a shell that no plan has a step for, as one that was forgotten: as if it came back.
pub(super) fn agents_of(shell: &Shell, state: &State, is_dir: &dyn Fn(&Path) -> bool, facts: &AgentFacts) -> Vec<AgentStep> {
    let alone = State { shells: state.shells.iter().chain([shell]).cloned().collect(), ..State::default() };
    let panes = Panes::of(&alone, None, facts);
    places(shell).filter_map(|place| panes.step(place, true, is_dir, facts)).collect()
}

/// What is known of every pane before the first verdict.
struct Panes<'a> {
    chosen: HashMap<&'a str, Chosen>,
    /// Who had a conversation last.
    holders: HashMap<(String, String), Claim>,
    live: LivePanes<'a>,
}

impl<'a> Panes<'a> {
    fn of(state: &'a State, seen: Option<&'a Observation>, facts: &AgentFacts) -> Self {
        let present = seen.map(|seen| &seen.generation);
        let mut reports: HashMap<&str, Vec<Report>> = HashMap::new();
        for report in facts.reports {
            reports.entry(&report.pane).or_default().push(report.clone());
        }
        let has_transcript =
            |binding: &Binding| facts.catalog.get(&binding.kind).is_some_and(|agent| (facts.has_transcript)(agent, binding));
        let full = |binding: &Binding| binding.prompted || has_transcript(binding);
        let cutoff = Cutoff { present, as_of: facts.asked.as_of };
        let mut chosen = HashMap::new();
        let mut holders: HashMap<(String, String), Claim> = HashMap::new();
        let mut claim = |claim: Claim| {
            let newest = |a: &Claim, b: &Claim| (a.at, &a.pane) >= (b.at, &b.pane);
            let key = (claim.kind.clone(), claim.id.clone());
            if holders.get(&key).is_none_or(|holder| newest(&claim, holder)) {
                holders.insert(key, claim);
            }
        };
        facts.others.iter().cloned().for_each(&mut claim);
        for place in state.shells.iter().flat_map(places) {
            let pane = place.pane;
            let mut of_pane = reports.remove(pane.id.as_str()).unwrap_or_default();
            of_pane.extend(recorded(pane));
            let known = choose(&of_pane, cutoff, &full);
            let frozen = facts.frozen.get(pane.id.as_str()).and_then(|frozen| frozen_conversation(frozen, &full));
            let Some(own) = fill(known, frozen, &of_pane, &has_transcript) else { continue };
            let binding = &own.binding;
            let (kind, id, place) = (binding.kind.clone(), binding.id.clone(), place.to_string());
            claim(Claim { kind, id, at: own.at, pane: pane.id.clone(), place, process: None });
            chosen.insert(pane.id.as_str(), own);
        }
        Self { chosen, holders, live: LivePanes::of(seen) }
    }

    /// `None` for a pane without an agent.
    fn step(&self, place: Place, comes_back: bool, is_dir: &dyn Fn(&Path) -> bool, facts: &AgentFacts) -> Option<AgentStep> {
        let Place { shell, pane, .. } = place;
        let chosen = self.chosen.get(pane.id.as_str());
        let agent = match chosen {
            Some(chosen) => facts.catalog.get(&chosen.binding.kind),
            None => Some(agent_of(facts.catalog, &pane.argv)?),
        };
        let kind = chosen.map_or_else(|| agent.map(|agent| agent.kind.clone()).unwrap_or_default(), |chosen| chosen.binding.kind.clone());
        let id = chosen.map(|chosen| chosen.binding.id.clone()).filter(|id| !id.is_empty());
        let dir = chosen.map(|chosen| work_dir(&chosen.binding, pane));
        let shown_dir = dir.map(|dir| dir.display().into_owned());
        let holder = id.as_ref().and_then(|id| self.holders.get(&(kind.clone(), id.clone()))).filter(|holder| holder.pane != pane.id);
        let open = id.as_ref().and_then(|id| (facts.open)(&kind, id));
        let case = Case {
            chosen,
            known_agent: agent.is_some(),
            good_id: agent.zip(id.as_ref()).is_some_and(|(agent, id)| agent.is_id(id)),
            transcript: agent.zip(chosen).is_some_and(|(agent, chosen)| (facts.has_transcript)(agent, &chosen.binding)),
            elsewhere: holder.map(|holder| holder.place.as_str()),
            open: open.map(|open| open.pid),
            orphan: open.is_some_and(|open| open.orphan),
            pane: self.live.find(shell, pane).map_or(PaneNow::Absent, now),
            missing_dir: dir.filter(|dir| !is_dir(dir.as_path())).and(shown_dir.as_deref()),
            policy: shell.policy,
            shell_comes_back: comes_back,
            setting: facts.setting,
            asked: facts.asked.agents,
        };
        let (verdict, reason, mut detail) = judge(&case);
        let obstacle = obstacle(&case);
        let since = chosen.map_or(Since::Newest, |chosen| chosen.since);
        match since {
            Since::Newest => (),
            Since::BeforeThisServer => detail.push_str(", as it was before this server; what was started since is stepped over"),
            Since::Snapshot => detail.push_str(", as the snapshot has it"),
            Since::AsOf => detail.push_str(", as it was at the time that was asked for"),
        }
        Some(AgentStep {
            pane: pane.id.clone(),
            place: place.to_string(),
            title: agent.map_or_else(|| kind.clone(), |agent| agent.title.clone()),
            kind,
            id,
            verdict,
            reason,
            detail,
            work_dir: shown_dir,
            since,
            reported: chosen.map(|chosen| chosen.at).filter(|&at| at > 0),
            obstacle,
            line: agent.zip(chosen).and_then(|(agent, chosen)| resume_line(facts.catalog, agent, &chosen.binding, pane)),
        })
    }
}

/// What the record itself holds, which outlives the journal.
pub(super) fn recorded(pane: &Pane) -> impl Iterator<Item = Report> {
    pane.history.iter().rev().chain(&pane.agent).map(|binding| Report {
        at: binding.reported,
        generation: binding.process.as_ref().map(|process| process.generation.clone()),
        pane: pane.id.clone(),
        binding: Some(binding.clone()),
    })
}

/// The directory that a conversation goes on in: its process's own, else that which it was started in.
fn work_dir<'a>(binding: &'a Binding, pane: &'a Pane) -> &'a RawText {
    binding.dir.as_ref().or(binding.launch_dir.as_ref()).unwrap_or(&pane.dir)
}

fn now(pane: &SeenPane) -> PaneNow {
    // A program that is the pane's own command stands where an idle shell does.
    let is_shell = |word: &RawText| is_shell(&word.as_path().file_name().unwrap_or_default().to_string_lossy());
    // Not `idle`, which asks more of a session that may be the unused first one.
    let in_front = pane.foreground == 0 || pane.foreground == pane.pid;
    if in_front && !pane.dead && !pane.launching && pane.argv.first().is_none_or(is_shell) { PaneNow::Idle } else { PaneNow::Busy }
}

/// The agent that somebody sits at, by the words that a record holds.
fn agent_of<'a>(catalog: &'a Catalog, argv: &'a [RawText]) -> Option<&'a Agent> {
    let found = by_words(catalog, argv)?;
    let run = found.args.map(|args| flags::read(found.agent, args).run);
    run.is_none_or(|run| matches!(run, Run::Conversation(_) | Run::Attached(_))).then_some(found.agent)
}

/// What a resume of this conversation runs, and where; `None` if its id can be none.
pub fn resume_line(catalog: &Catalog, agent: &Agent, binding: &Binding, pane: &Pane) -> Option<ResumeLine> {
    // Read once more: by what is known now of flags and secrets, whoever wrote the record.
    let kept = flags::read(agent, binding.flags.as_deref().unwrap_or_default()).kept;
    let mut words = vec![RawText::from(agent.programs.first()?.as_str())];
    words.extend(flags::resume(agent, &kept, &binding.id)?);
    let home = Some(&agent.home.variable).filter(|name| !name.is_empty());
    let variable = home.and_then(|name| Some((name.clone(), binding.config_dir.clone()?)));
    let mut without: Vec<String> = catalog.scrub().map(str::to_owned).collect();
    // Where its process had none, a server that was started with one must not give it one.
    without.extend(home.filter(|_| variable.is_none()).cloned());
    Some(ResumeLine { dir: work_dir(binding, pane).clone(), variable, without, program: binding.program.clone(), words })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_resume_line_holds_nothing_that_is_a_secret_or_a_prompt_whoever_wrote_the_record() {
        let catalog = Catalog::built_in();
        let flags = ["--model=x", "--settings={\"apiKey\":\"k\"}", "--resume=other", "--print", "do it"].map(RawText::from);
        let id = "01a228e7-fac2-7180-b353-a6ead433a7ba";
        let mut binding = Binding { id: id.into(), flags: Some(flags.to_vec()), launch_dir: Some("/l".into()), ..Binding::default() };
        let words = |binding: &Binding| {
            let line = resume_line(&catalog, catalog.get("claude").unwrap(), binding, &Pane::default())?;
            assert_eq!(line.dir, "/l".into());
            Some(line.words.iter().map(|word| word.display().into_owned()).collect::<Vec<_>>().join(" "))
        };
        // Of a run that nobody sat at nothing is kept.
        assert_eq!(words(&binding).unwrap(), format!("claude --resume {id}"));
        binding.flags.as_mut().unwrap().remove(3);
        assert_eq!(words(&binding).unwrap(), format!("claude --model=x --resume {id}"));
        binding.id = "-x".into();
        assert_eq!(words(&binding), None);
    }
}
