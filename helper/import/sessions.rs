//! The rows of a save become shells.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;

use super::rows::{PaneRow, Place, Problem, Save, WindowFacts, WindowRow};
use crate::model::{Ids, Layout, Pane, RawText, Shell, Window, count};
use crate::tmux::shown_from_name;

/// What must be known of this machine's directories.
#[derive(Clone, Copy)]
pub struct Places<'a> {
    /// Whether a directory is there.
    pub is_dir: &'a dyn Fn(&Path) -> bool,
    /// Where a session opens of which no directory is known.
    pub home: &'a Path,
}

/// A session of a save, as the record that it would be.
#[derive(Clone, Debug)]
pub struct Draft {
    /// The record.
    pub shell: Shell,
    /// The id of the shell whose windows it shares.
    pub original: Option<String>,
    /// How many panes it shows.
    pub panes: usize,
}

/// A window's rows.
#[derive(Default)]
struct Rows<'s> {
    panes: BTreeMap<u32, &'s PaneRow<'s>>,
    window: Option<&'s WindowRow<'s>>,
}

/// Makes a record of each session, in the order of the save, and adds to `problems` what of its rows had to be left out.
pub fn drafts(save: &Save, places: Places, ids: &mut dyn Ids, problems: &mut Vec<Problem>) -> Vec<Draft> {
    let mut sessions: Vec<(&[u8], BTreeMap<u32, Rows>)> = Vec::new();
    let mut known: HashMap<&[u8], usize> = HashMap::new();
    for row in &save.panes {
        let Place { session, window } = row.place;
        let at = *known.entry(session).or_insert_with(|| {
            sessions.push((session, BTreeMap::new()));
            sessions.len() - 1
        });
        let first = *sessions[at].1.entry(window).or_default().panes.entry(row.index).or_insert(row);
        // A save may hold a row twice.
        if (PaneRow { line: row.line, ..*first }) != *row {
            problems.push(Problem::at(row.line, format!("its pane stands in line {} already; left out", first.line)));
        }
    }
    for row in &save.windows {
        let rows = known.get(row.place.session).and_then(|&at| sessions[at].1.get_mut(&row.place.window));
        match rows {
            None => problems.push(Problem::at(row.line, "no pane of its window can be read; left out")),
            Some(rows) => {
                let first = *rows.window.get_or_insert(row);
                if (WindowRow { line: row.line, ..*first }) != *row {
                    problems.push(Problem::at(row.line, format!("its window stands in line {} already; left out", first.line)));
                }
            }
        }
    }
    let mut drafts: Vec<Draft> = sessions.iter().map(|(name, windows)| draft(name, windows, places, ids, problems)).collect();
    add_groups(save, &mut drafts, known, ids, problems);
    problems.sort_by_key(|problem| problem.line);
    drafts
}

fn draft(name: &[u8], windows: &BTreeMap<u32, Rows>, places: Places, ids: &mut dyn Ids, problems: &mut Vec<Problem>) -> Draft {
    let mut shell = named(name, ids);
    for (&index, rows) in windows {
        shell.windows.push(window(index, rows, places, ids, problems));
    }
    keep_first(shell.windows.iter_mut().map(|window| &mut window.active));
    keep_first(shell.windows.iter_mut().filter(|window| !window.active).map(|window| &mut window.last));
    // tmux-resurrect does not save the session's own directory: it opens a session in that of its first pane.
    let dirs = || shell.panes().map(|pane| &pane.dir).filter(|dir| !dir.is_empty());
    let dir = dirs().find(|dir| (places.is_dir)(dir.as_path())).or_else(|| dirs().next());
    shell.work_dir = dir.cloned().unwrap_or_else(|| places.home.into());
    for pane in shell.windows.iter_mut().flat_map(|window| &mut window.panes).filter(|pane| pane.dir.is_empty()) {
        pane.dir.clone_from(&shell.work_dir);
    }
    let panes = shell.panes().count();
    Draft { shell, original: None, panes }
}

/// Of several flags, of which one can be set, the first.
fn keep_first<'a>(flags: impl Iterator<Item = &'a mut bool>) {
    flags.filter(|flag| **flag).skip(1).for_each(|flag| *flag = false);
}

fn named(name: &[u8], ids: &mut dyn Ids) -> Shell {
    // The script's `read` takes one of each two backslashes that tmux shows, so that the plain name is left.
    let name = shown_from_name(name);
    Shell { id: ids.fresh("sh"), name: name.clone(), session: name.clone(), made_as: name, ..Shell::default() }
}

fn window(index: u32, rows: &Rows, places: Places, ids: &mut dyn Ids, problems: &mut Vec<Problem>) -> Window {
    let mut panes: Vec<Pane> = rows.panes.values().map(|row| pane(row, places, ids)).collect();
    keep_first(panes.iter_mut().map(|pane| &mut pane.active));
    let own = rows.window.map(|row| row.window);
    let of_panes = rows.panes.values().next().map(|row| row.window);
    let facts = |fact: fn(WindowFacts) -> Option<&[u8]>| own.and_then(fact).or_else(|| of_panes.and_then(fact));
    let name = facts(|facts| facts.name);
    let automatic = [own, of_panes].into_iter().flatten().find_map(|facts| facts.automatic_rename);
    let flags = own.or(of_panes).map(|facts| facts.flags).unwrap_or_default();
    let layout = rows.window.and_then(|row| {
        let layout = Layout::parse(std::str::from_utf8(row.layout).ok()?).filter(|layout| layout.pane_count() == panes.len());
        if layout.is_none() && !row.layout.is_empty() {
            problems.push(Problem::at(
                row.line,
                format!("its layout can't be read, or is not one of {}; left out", count(panes.len(), "pane")),
            ));
        }
        layout
    });
    Window {
        id: ids.fresh("wn"),
        index,
        active: flags.contains(&b'*') || own.or(of_panes).is_some_and(|facts| facts.active),
        last: flags.contains(&b'-') && !flags.contains(&b'*'),
        zoomed: flags.contains(&b'Z'),
        automatic_rename: automatic.unwrap_or(name.is_none()),
        name: name.map(shown_from_name).unwrap_or_default(),
        width: layout.as_ref().map_or(0, |layout| layout.0.w),
        height: layout.as_ref().map_or(0, |layout| layout.0.h),
        layout,
        panes,
        ..Window::default()
    }
}

fn pane(row: &PaneRow, places: Places, ids: &mut dyn Ids) -> Pane {
    Pane {
        id: ids.fresh("pn"),
        index: row.index,
        active: row.active,
        title: String::from_utf8_lossy(row.title).into_owned(),
        dir: directory(row.dir, places.is_dir),
        argv: words(row.command),
        ..Pane::default()
    }
}

/// The directory that was meant. The script escapes the first space of a path; before, it escaped none. `/proc` adds ` (deleted)`.
fn directory(saved: &[u8], is_dir: &dyn Fn(&Path) -> bool) -> RawText {
    let unescaped = match saved.windows(2).position(|pair| pair == b"\\ ") {
        Some(at) => [&saved[..at], &saved[at + 1..]].concat(),
        None => saved.to_vec(),
    };
    let readings = [RawText::from(unescaped), RawText::from(saved)];
    if let Some(there) = readings.iter().find(|reading| is_dir(reading.as_path())) {
        return there.clone();
    }
    let first = readings[0].as_bytes();
    RawText::from(first.strip_suffix(b" (deleted)").unwrap_or(first))
}

/// The words of a command line, as the shell would read them that tmux-resurrect types it into. Nothing in them is expanded.
fn words(command: &[u8]) -> Vec<RawText> {
    let mut shell = shlex::bytes::Shlex::new(command);
    let words: Vec<RawText> = shell.by_ref().map(RawText::from).collect();
    let has_comment = command.windows(2).any(|pair| pair == b" #");
    if !shell.had_error && !has_comment {
        return words;
    }
    // Most of the ways in which it finds a command line quote nothing: `less it's` is two words.
    command.split(|&byte| byte == b' ').filter(|word| !word.is_empty()).map(RawText::from).collect()
}

/// The sessions that share the windows of another one.
fn add_groups<'a>(
    save: &Save<'a>,
    drafts: &mut Vec<Draft>,
    mut known: HashMap<&'a [u8], usize>,
    ids: &mut dyn Ids,
    problems: &mut Vec<Problem>,
) {
    let mut members: HashSet<&[u8]> = HashSet::new();
    for row in &save.groups {
        let original = known.get(row.original).filter(|_| !members.contains(row.original));
        let Some(&at) = original else {
            problems.push(Problem::at(row.line, "the session whose windows it shares is not in the save; left out"));
            continue;
        };
        if known.contains_key(row.session) {
            problems.push(Problem::at(row.line, "its session stands in the save already; left out"));
            continue;
        }
        let group = drafts[at].shell.session.clone();
        drafts[at].shell.group = Some(group.clone());
        let original = &drafts[at];
        let mut shell = Shell { group: Some(group), work_dir: original.shell.work_dir.clone(), ..named(row.session, ids) };
        for window in &original.shell.windows {
            let (active, last) = (row.active == Some(window.index), row.last == Some(window.index));
            let last = last && !active;
            shell.windows.push(Window { id: window.id.clone(), index: window.index, active, last, linked: true, ..Window::default() });
        }
        members.insert(row.session);
        known.insert(row.session, drafts.len());
        drafts.push(Draft { original: Some(original.shell.id.clone()), panes: original.panes, shell });
    }
}
