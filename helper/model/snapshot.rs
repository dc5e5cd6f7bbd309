//! A frozen copy of the records.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{Binding, EpochMs, State};

/// The form of a snapshot that this program writes; the records in it have a version of their own.
pub const SNAPSHOT_VERSION: u64 = 1;

/// The records of one server as they were at one time, and what else was known of its agents then.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Snapshot {
    /// [`SNAPSHOT_VERSION`]; a newer one is neither used nor changed.
    pub version: u64,
    /// When it was taken.
    pub at: EpochMs,
    /// Agents that ran in panes without being what the pane is bound to: with their flags, and without an id.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub running: Vec<Running>,
    /// The records. There are no tombstones in them.
    pub state: State,
    /// Fields of other versions.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// An agent that ran in a pane, and whose conversation was not known.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Running {
    /// The pane's id.
    pub pane: String,
    /// What was known of it.
    pub agent: Binding,
}

impl Snapshot {
    /// Whether both hold the same, but for what changes all the time and brings nothing else back: when each was taken, when a conversation
    /// was last heard of, when a client was last there, and the names that programs give to themselves.
    pub fn is_same(&self, other: &Self) -> bool {
        let lasting = |snapshot: &Self| {
            let mut snapshot = Self { at: 0, ..snapshot.clone() };
            for shell in &mut snapshot.state.shells {
                shell.last_attached = None;
                if let Some(seen) = &mut shell.seen {
                    seen.at = 0;
                }
                for window in shell.windows.iter_mut().filter(|window| window.automatic_rename) {
                    window.name.clear();
                    window.seen_as = None;
                }
                let panes = shell.windows.iter_mut().flat_map(|window| &mut window.panes);
                let bindings = panes.flat_map(|pane| {
                    pane.title.clear();
                    pane.agent.iter_mut().chain(&mut pane.history)
                });
                for binding in bindings {
                    binding.reported = 0;
                    binding.missing = None;
                }
            }
            for running in &mut snapshot.running {
                running.agent.reported = 0;
            }
            snapshot
        };
        lasting(self) == lasting(other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Pane, Shell, Window};

    #[test]
    fn times_and_the_names_of_programs_are_no_change_and_all_else_is() {
        let binding = Binding { id: "a".into(), reported: 1, ..Binding::default() };
        let pane = Pane { title: "busy".into(), agent: Some(binding), ..Pane::default() };
        let window = Window { name: "vim".into(), automatic_rename: true, panes: vec![pane], ..Window::default() };
        let shell = Shell { last_attached: Some(1), windows: vec![window], ..Shell::default() };
        let state = State { shells: vec![shell], ..State::default() };
        let one = Snapshot { version: SNAPSHOT_VERSION, at: 1, running: Vec::new(), state, extra: Map::new() };
        let changed = |change: &dyn Fn(&mut Snapshot)| {
            let mut other = one.clone();
            change(&mut other);
            !one.is_same(&other)
        };
        let pane = |snapshot: &mut Snapshot, change: &dyn Fn(&mut Pane)| change(&mut snapshot.state.shells[0].windows[0].panes[0]);
        assert!(!changed(&|snapshot| {
            snapshot.at = 9;
            snapshot.state.shells[0].last_attached = None;
            snapshot.state.shells[0].windows[0].name = "sh".into();
            pane(snapshot, &|pane| pane.title = "idle".into());
            pane(snapshot, &|pane| pane.agent.as_mut().unwrap().reported = 9);
        }));
        assert!(changed(&|snapshot| pane(snapshot, &|pane| pane.dir = "/w".into())));
        assert!(changed(&|snapshot| pane(snapshot, &|pane| pane.agent.as_mut().unwrap().id = "b".into())));
        assert!(changed(&|snapshot| pane(snapshot, &|pane| pane.agent = None)));
        assert!(changed(&|snapshot| {
            snapshot.state.shells[0].windows[0].automatic_rename = false;
            snapshot.state.shells[0].windows[0].name = "mine".into();
        }));
        assert!(changed(&|snapshot| snapshot.running.push(Running { pane: "pn-1".into(), agent: Binding::default() })));
        assert!(changed(&|snapshot| snapshot.state.shells.clear()));
    }
}
