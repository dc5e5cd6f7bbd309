//! The windows and panes of the records: found again by their stable ids, and never dropped by a single look.

use std::collections::{HashMap, HashSet};

use super::binding::look_at;
use super::closing::{Ripeness, ripen};
use super::observe::{Rules, Tags};
use super::programs::{only_starts, recorded_argv};
use crate::model::{Ids, Observation, Pane, SeenPane, SeenSession, SeenWindow, Shell, Window, is_id};

/// Everything that windows and panes are recognised by.
pub(super) struct Known<'a> {
    seen: &'a Observation,
    rules: &'a Rules,
    /// Recorded panes by stable id, with the id of the window that holds each.
    panes: HashMap<&'a str, (&'a Pane, &'a str)>,
    /// Recorded windows (content) by stable id.
    windows: HashMap<&'a str, &'a Window>,
    /// Stable pane ids by live id, of shells alive in this generation.
    live_panes: HashMap<&'a str, &'a str>,
    /// Stable window ids by live id.
    live_windows: HashMap<&'a str, &'a str>,
    /// Pane ids that were given out in this look.
    claimed: HashSet<String>,
    /// Content of the windows of this look, by live id.
    content: HashMap<String, Window>,
}

impl<'a> Known<'a> {
    /// Of all records, as they were before this look.
    pub(super) fn of(shells: impl Iterator<Item = &'a Shell>, seen: &'a Observation, rules: &'a Rules) -> Self {
        let mut known = Self {
            seen,
            rules,
            panes: HashMap::new(),
            windows: HashMap::new(),
            live_panes: HashMap::new(),
            live_windows: HashMap::new(),
            claimed: HashSet::new(),
            content: HashMap::new(),
        };
        for shell in shells {
            let here = shell.lives_in(&seen.generation);
            for window in &shell.windows {
                if here && !window.tmux.is_empty() {
                    known.live_windows.entry(&window.tmux).or_insert(&window.id);
                }
                if window.linked {
                    continue;
                }
                known.windows.entry(&window.id).or_insert(window);
                for pane in &window.panes {
                    known.panes.entry(&pane.id).or_insert((pane, &window.id));
                    if here && !pane.tmux.is_empty() {
                        known.live_panes.entry(&pane.tmux).or_insert(&pane.id);
                    }
                }
            }
        }
        known
    }

    /// Gives each pane and window of the recorded sessions its stable id and its content, once however many places it has.
    /// `adopted` tells, for a session's index, the record whose panes it takes over by their directories.
    pub(super) fn read(&mut self, recorded: &[usize], adopted: &HashMap<usize, &'a Shell>, tags: &mut Tags, ids: &mut dyn Ids) {
        let seen = self.seen;
        let places = || recorded.iter().flat_map(|&at| seen.sessions[at].windows.iter().map(move |window| (at, window)));
        // First the panes that are known for sure, so that none of them is taken for another.
        let mut pane_ids: HashMap<&str, String> = HashMap::new();
        for (at, window) in places() {
            for pane in &window.panes {
                // In an adopted session the tags are those of the young record that gives way.
                let may_be_new = !adopted.contains_key(&at);
                let tagged = (is_id(&pane.tag) && (may_be_new || self.panes.contains_key(pane.tag.as_str()))).then_some(pane.tag.as_str());
                let id = tagged.or_else(|| self.live_panes.get(pane.id.as_str()).copied());
                if let Some(id) = id {
                    if !pane_ids.contains_key(pane.id.as_str()) && self.claimed.insert(id.to_owned()) {
                        pane_ids.insert(&pane.id, id.to_owned());
                    }
                }
            }
        }
        for (at, window) in places() {
            for pane in &window.panes {
                if pane_ids.contains_key(pane.id.as_str()) {
                    continue;
                }
                let by_place = adopted.get(&at).and_then(|shell| self.same_directory(shell, window, pane));
                let id = by_place.unwrap_or_else(|| ids.fresh("pn"));
                self.claimed.insert(id.clone());
                pane_ids.insert(&pane.id, id);
            }
        }
        let mut window_ids: HashSet<String> = HashSet::new();
        // A window that is known by its live id keeps its own; only then do the others ask their panes.
        for sure in [true, false] {
            for (_, window) in places() {
                if self.content.contains_key(&window.id) {
                    continue;
                }
                let known = if sure {
                    self.live_windows.get(window.id.as_str()).map(|&id| id.to_owned())
                } else {
                    let of_panes = window.panes.iter().filter_map(|pane| self.panes.get(pane_ids[pane.id.as_str()].as_str()));
                    let free = of_panes.map(|(_, id)| (*id).to_owned()).find(|id| !window_ids.contains(id));
                    Some(free.unwrap_or_else(|| ids.fresh("wn")))
                };
                if let Some(id) = known.filter(|id| window_ids.insert(id.clone())) {
                    let content = self.merge(id, window, &pane_ids);
                    self.content.insert(window.id.clone(), content);
                }
            }
        }
        // What lies on a pane that another record already had is wrong there: the tag follows the id.
        let mut tagged: HashSet<&str> = HashSet::new();
        for (_, window) in places() {
            for pane in &window.panes {
                let id = &pane_ids[pane.id.as_str()];
                if pane.tag != *id && tagged.insert(&pane.id) {
                    tags.panes.push((pane.id.clone(), id.clone()));
                }
            }
        }
    }

    /// For an adopted session: the recorded pane in the same directory, at the same place if there is one.
    fn same_directory(&self, shell: &Shell, window: &SeenWindow, pane: &SeenPane) -> Option<String> {
        let here = [pane.dir.as_ref(), pane.logical_dir.as_ref()];
        let mut fitting: Vec<(bool, &Pane)> = Vec::new();
        for recorded in shell.own_windows() {
            for other in &recorded.panes {
                if here.contains(&Some(&other.dir)) && !self.claimed.contains(&other.id) {
                    fitting.push((recorded.index == window.index && other.index == pane.index, other));
                }
            }
        }
        fitting.iter().find(|(same_place, _)| *same_place).or_else(|| fitting.first()).map(|(_, pane)| pane.id.clone())
    }

    /// The new content of a window.
    fn merge(&self, id: String, window: &SeenWindow, pane_ids: &HashMap<&str, String>) -> Window {
        let old = self.windows.get(id.as_str()).copied();
        let mut present: Vec<Pane> = window.panes.iter().map(|pane| self.merge_pane(&pane_ids[pane.id.as_str()], pane)).collect();
        let mut missing: Vec<(usize, Pane)> = Vec::new();
        for (at, pane) in old.iter().flat_map(|old| old.panes.iter().enumerate()) {
            // A pane that stands in another window now has moved.
            if self.claimed.contains(&pane.id) {
                continue;
            }
            if let Ripeness::Unripe(mark) = ripen(pane.gone.as_ref(), &self.seen.generation, self.rules) {
                missing.push((at, Pane { gone: Some(mark), active: false, last: false, ..pane.clone() }));
            }
        }
        let keep_shape = !missing.is_empty();
        for (at, pane) in missing {
            present.insert(at.min(present.len()), pane);
        }
        let (name, seen_as) = match old {
            Some(old) if old.seen_as.as_deref().unwrap_or(&old.name) == window.name => (old.name.clone(), old.seen_as.clone()),
            _ => (window.name.clone(), None),
        };
        // While a pane is only missing, the shape that had a place for it stays.
        let shape = old.filter(|_| keep_shape);
        Window {
            id,
            tmux: window.id.clone(),
            name,
            seen_as,
            automatic_rename: window.automatic_rename,
            layout: shape.map_or_else(|| window.layout.clone(), |old| old.layout.clone()),
            zoomed: shape.map_or(window.zoomed, |old| old.zoomed),
            width: shape.map_or(window.width, |old| old.width),
            height: shape.map_or(window.height, |old| old.height),
            panes: present,
            extra: old.map(|old| old.extra.clone()).unwrap_or_default(),
            ..Window::default()
        }
    }

    fn merge_pane(&self, id: &str, pane: &SeenPane) -> Pane {
        let old = self.panes.get(id).map(|&(old, _)| old);
        let named = recorded_argv(pane.program.as_ref(), &self.rules.programs);
        // Until the program that Sidecar is about to start is there, what stands in the record holds.
        let to_come = old.filter(|_| pane.launching && named.is_empty());
        let dir = pane.dir.clone().filter(|_| to_come.is_none());
        let dir = dir.or_else(|| old.map(|old| old.dir.clone())).unwrap_or_else(|| pane.start_dir.clone());
        let logical_dir = pane.logical_dir.clone().filter(|_| to_come.is_none());
        let logical_dir = logical_dir.or_else(|| old.filter(|old| old.dir == dir).and_then(|old| old.logical_dir.clone()));
        // A restore shows the command in a shell's place, and it is still the user's to start again, whatever ran there since.
        let own = pane.run.as_ref().filter(|run| !only_starts(run, &self.rules.agents));
        let (run, run_dir) = match (own, old) {
            (Some(run), _) => (Some(run.clone()), Some(pane.start_dir.clone()).filter(|dir| !dir.is_empty())),
            (None, Some(old)) => (old.run.clone(), old.run_dir.clone()),
            (None, None) => (None, None),
        };
        // What ran in a dead pane is what its record says.
        let argv = match old.filter(|_| pane.dead).or(to_come) {
            _ if run.is_some() => Vec::new(),
            Some(old) => old.argv.clone(),
            None => named,
        };
        let mut merged = Pane {
            id: id.to_owned(),
            tmux: pane.id.clone(),
            index: pane.index,
            active: pane.active,
            last: pane.last,
            floating: pane.floating,
            title: pane.title.clone(),
            dir,
            logical_dir,
            argv,
            run,
            run_dir,
            agent: old.and_then(|old| old.agent.clone()),
            history: old.map(|old| old.history.clone()).unwrap_or_default(),
            gone: None,
            extra: old.map(|old| old.extra.clone()).unwrap_or_default(),
        };
        look_at(&mut merged, pane, &self.rules.processes, &self.seen.generation, self.rules.now, self.rules.grace);
        merged
    }

    /// The session whose record holds the content of the window at live id `window`: the one that held it, if it is still
    /// there, else the first.
    fn home(&self, window: &str, recorded: &[usize], shells: &HashMap<usize, (usize, &'a Shell)>) -> Option<usize> {
        let id = &self.content.get(window)?.id;
        let holders = || recorded.iter().copied().filter(|&at| self.seen.sessions[at].windows.iter().any(|other| other.id == window));
        holders()
            .find(|at| shells.get(at).is_some_and(|(_, shell)| shell.own_windows().any(|own| own.id == *id)))
            .or_else(|| holders().next())
    }

    /// For each window of this look, the session (by index) that holds its content.
    pub(super) fn homes(&self, recorded: &[usize], shells: &HashMap<usize, (usize, &'a Shell)>) -> HashMap<String, usize> {
        self.content.keys().filter_map(|window| Some((window.clone(), self.home(window, recorded, shells)?))).collect()
    }

    /// The windows of one session's record, from its own places and from what the old record holds beyond them.
    pub(super) fn windows(&self, at: usize, session: &SeenSession, old: Option<&Shell>, homes: &HashMap<String, usize>) -> Vec<Window> {
        let mut windows: Vec<Window> = Vec::with_capacity(session.windows.len());
        for place in &session.windows {
            let Some(content) = self.content.get(&place.id) else { continue };
            let at_home = homes.get(&place.id) == Some(&at) && !windows.iter().any(|other| other.id == content.id);
            let base = if at_home {
                content.clone()
            } else {
                Window { id: content.id.clone(), tmux: content.tmux.clone(), linked: true, ..Window::default() }
            };
            windows.push(Window { index: place.index, active: place.active, last: place.last, ..base });
        }
        for window in old.iter().flat_map(|old| &old.windows) {
            if windows.iter().any(|present| present.id == window.id && (present.index == window.index || present.linked == window.linked)) {
                continue;
            }
            let lives = self.content.values().any(|content| content.id == window.id);
            // Its content stands elsewhere now; only a further place of it may still be missing.
            if lives && !window.linked {
                continue;
            }
            if let Ripeness::Unripe(mark) = ripen(window.gone.as_ref(), &self.seen.generation, self.rules) {
                let panes_left = window.panes.iter().filter(|pane| !self.claimed.contains(&pane.id)).cloned().collect::<Vec<_>>();
                if window.linked || !panes_left.is_empty() {
                    windows.push(Window { gone: Some(mark), active: false, last: false, panes: panes_left, ..window.clone() });
                }
            }
        }
        windows.sort_by_key(|window| (window.index, window.gone.is_some()));
        windows
    }

    /// What stands in the records of living sessions now.
    pub(super) fn moved(self) -> Moved {
        Moved { windows: self.content.into_values().map(|window| window.id).collect(), panes: self.claimed }
    }
}

/// Windows and panes that a look found, by stable id.
pub(super) struct Moved {
    windows: HashSet<String>,
    panes: HashSet<String>,
}

impl Moved {
    /// A record that this look did not find, without what stands in other records now.
    pub(super) fn leave(&self, mut shell: Shell, seen: &Observation) -> Shell {
        if shell.under_restore(&seen.generation) || !shell.lives_in(&seen.generation) {
            return shell;
        }
        for window in &mut shell.windows {
            if !window.linked && self.windows.contains(&window.id) {
                *window = Window {
                    id: window.id.clone(),
                    tmux: window.tmux.clone(),
                    index: window.index,
                    active: window.active,
                    last: window.last,
                    linked: true,
                    ..Window::default()
                };
            }
            window.panes.retain(|pane| !self.panes.contains(&pane.id));
        }
        shell
    }
}
