//! The agents among processes and their ancestors.

use super::catalog::Catalog;
use super::flags::{self, Run};
use super::process;
use super::recognize::{Process, recognize, without_deleted};
use crate::model::RawText;

/// More generations than this has no process that means anything here.
const LONGEST: usize = 64;

/// An agent's process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentProcess {
    /// Its pid.
    pub pid: i32,
    /// Its start time in clock ticks since boot.
    pub start_time: u64,
    /// Which agent, as the catalog names it.
    pub kind: String,
    /// What kind of run it is; where its arguments are lost, a conversation.
    pub run: Run,
    /// The flags that a resume is given again; `None` where its arguments are lost.
    pub kept: Option<Vec<RawText>>,
    /// Its arguments, if they are known.
    pub args: Option<Vec<RawText>>,
    /// Its executable, or the script that an interpreter runs.
    pub program: Option<RawText>,
    /// It only waits for the agent itself, its child.
    pub wrapper: bool,
}

/// A process among the ancestors of another one.
#[derive(Clone, Debug)]
pub struct Ancestor {
    /// Its pid.
    pub pid: i32,
    /// The agent that it is, if it is one.
    pub agent: Option<AgentProcess>,
}

/// The agent that this process is.
pub fn agent_at(catalog: &Catalog, pid: i32) -> Option<AgentProcess> {
    let (argv, exe, comm) = (process::argv(pid), process::exe(pid), process::comm(pid));
    let found = recognize(catalog, Process { argv: argv.as_deref(), exe: exe.as_deref(), comm: comm.as_deref() })?;
    let program = match (found.script, found.args) {
        (Some(script), _) => Some(script.clone()),
        // A script that has overwritten its words leaves no path but its interpreter's.
        (None, None) => None,
        (None, Some(_)) => exe.as_deref().map(|exe| RawText::from(without_deleted(exe).into_owned())),
    };
    let reading = found.args.map(|args| flags::read(found.agent, args));
    Some(AgentProcess {
        pid,
        start_time: process::start_time(pid)?,
        kind: found.agent.kind.clone(),
        run: reading.as_ref().map_or(Run::Conversation(None), |reading| reading.run.clone()),
        kept: reading.map(|reading| reading.kept),
        args: found.args.map(<[RawText]>::to_vec),
        program: program.filter(|path| path.as_path().is_absolute()),
        wrapper: found.wrapper,
    })
}

/// The ancestors of a process, the nearest first.
pub fn above(catalog: &Catalog, pid: i32) -> Vec<Ancestor> {
    pids_above(pid).into_iter().map(|pid| Ancestor { pid, agent: agent_at(catalog, pid) }).collect()
}

/// The pids of its ancestors, the nearest first.
pub fn pids_above(pid: i32) -> Vec<i32> {
    std::iter::successors(process::parent(pid), |&pid| process::parent(pid)).take(LONGEST).collect()
}

/// The processes of one agent in which somebody may sit at a conversation; of a wrapper and its child the wrapper.
pub fn conversations(catalog: &Catalog, kind: &str) -> Vec<AgentProcess> {
    let all = process::all().into_iter().filter_map(|pid| agent_at(catalog, pid));
    let mut found: Vec<AgentProcess> = all.filter(|agent| agent.kind == kind && matches!(agent.run, Run::Conversation(_))).collect();
    let wrappers: Vec<i32> = found.iter().filter(|agent| agent.wrapper).map(|agent| agent.pid).collect();
    found.retain(|agent| process::parent(agent.pid).is_none_or(|parent| !wrappers.contains(&parent)));
    found
}
