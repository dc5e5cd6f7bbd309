//! The commands that make a shell again: pure text for `source-file -`, which has no 16 KB limit.
//!
//! A session is made under a name of Sidecar's own, so that every target is exact whatever tmux makes of the real name, and
//! carries `@sidecar-shell` from the command list that creates it. It gets its real name last.

use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;

use super::opening::{Opening, Openings};
use crate::model::{Generation, Pane, SeenSession, SeenWindow, Shell, Window};
use crate::record::MOVED_ASIDE;
use crate::tmux::{arg, format_arg, keep_unattached, name_from_shown, only_in};

/// The name that a session has while it is made. Ids are plain, so it is exact in any target.
pub(super) fn working_name(shell: &Shell) -> String {
    format!("sidecar-restore-{}", shell.id)
}

/// The names to ask for, the best first: what tmux shows as the recorded name, that name itself, one that every tmux takes, and one
/// that nobody else has.
fn wanted_names(shell: &Shell) -> Vec<Vec<u8>> {
    let plain: String = shell.session.chars().map(|c| if c.is_alphanumeric() || "-_ ".contains(c) { c } else { '_' }).collect();
    let plain = if plain.trim().is_empty() { shell.id.clone() } else { plain };
    let free = format!("{plain}-{}", shell.id);
    let mut names = vec![name_from_shown(&shell.session), shell.session.clone().into_bytes(), plain.into_bytes(), free.into_bytes()];
    names.dedup();
    names
}

/// Whether a name came of the record's own, rather than being the one that nobody else has.
pub(super) fn is_wanted_name(shell: &Shell, shown: &str) -> bool {
    !shown.ends_with(&shell.id) || shell.session.ends_with(&shell.id)
}

/// Commands that are carried out only as long as no session has the shell's id, in the server of this generation alone.
fn guarded(shell: &Shell, generation: &Generation, commands: &str) -> String {
    let free = format!("#{{==:#{{m:*|{}|*,|#{{S:#{{@sidecar-shell}}|}}}},0}}", shell.id);
    let commands = format!("if-shell -F {} {{\n{commands}}}\n", arg(free.as_bytes()));
    only_in(generation, &commands)
}

/// Hooks with which users split or fill what is new. A session under restore has none of them, or each restore would add to it.
/// (Only those that the user has are switched off: each costs two commands a session.)
pub(super) const QUIET_HOOKS: &[&str] = &[
    "session-created",
    "session-renamed",
    "session-window-changed",
    "window-linked",
    "after-new-window",
    "after-split-window",
    "after-select-pane",
    "after-select-window",
    "after-select-layout",
    "after-rename-window",
    "after-rename-session",
];

/// Makes the session with its windows and panes. Linked windows and what needs live ids come later: see [`finish`].
pub(super) fn create(shell: &Shell, generation: &Generation, openings: &Openings, quiet: &[&str]) -> String {
    let name = working_name(shell);
    let session = format!("={name}:");
    let mut out = String::new();
    let mut own: Vec<&Window> = shell.own_windows().collect();
    // The session's first window is made with it; the others follow in their order.
    own.sort_by_key(|window| window.index);
    let size = own.iter().find(|window| window.active).or(own.first()).filter(|window| window.width > 0 && window.height > 0);
    let (width, height) = size.map_or((80, 24), |window| (window.width, window.height));
    let _ = writeln!(
        out,
        "new-session -d -s {name} -x {width} -y {height} -c {} ; set-option -t {session} destroy-unattached off ; set-option -t {session} @sidecar-shell {} ; set-option -w -t {session} @sidecar-blank 1",
        format_arg(shell.work_dir.as_bytes()),
        shell.id
    );
    if own.is_empty() {
        // All its windows are linked ones; this one goes when they are there, and stands in no one's place until then.
        let free = shell.windows.iter().map(|window| window.index + 1).max().unwrap_or(0);
        let _ = writeln!(out, "{}", move_window(&session, &session, &format!("={name}:{free}")));
    }
    for hook in quiet {
        let _ = writeln!(out, "set-hook -t {session} {hook} \"\"");
    }
    // `after-new-session` ran before that.
    let _ = writeln!(
        out,
        "if-shell -F -t {session} \"#{{==:#{{window_panes}},1}}\" {{ }} {{ kill-pane -a -t {session} ; respawn-pane -k -t {session} -c {} }}",
        format_arg(shell.work_dir.as_bytes())
    );
    let mut taken: Vec<u32> = Vec::new();
    for (at, window) in own.iter().enumerate() {
        let index = free_index(&taken, window.index);
        taken.push(index);
        let target = format!("={name}:{index}");
        if at == 0 {
            // base-index may have put it there already.
            let moved = move_window(&session, &session, &target);
            let _ = writeln!(out, "if-shell -F -t {session} \"#{{!=:#{{window_index}},{index}}}\" {{ {moved} }}");
            let _ = writeln!(out, "set-option -w -u -t {target} @sidecar-blank");
            if let Some(pane) = first_pane(window) {
                // A session's own directory and its first pane's are one option of new-session.
                if openings.get(&pane.id).is_some_and(|opening| !opening.is_plain_in(&shell.work_dir)) {
                    let _ = writeln!(out, "respawn-pane -k -t {target} {}", opening(openings, Some(pane), shell));
                }
            }
        } else {
            let _ = writeln!(out, "new-window -d -t {target} {}", opening(openings, first_pane(window), shell));
        }
        panes(&mut out, shell, window, &target, openings);
    }
    if let Some(name) = wanted_names(shell).first() {
        let _ = writeln!(out, "rename-session -t {session} -- {}", format_arg(name));
    }
    guarded(shell, generation, &out)
}

/// Where a pane opens and with what, behind the command that makes it.
fn opening(openings: &Openings, pane: Option<&Pane>, shell: &Shell) -> String {
    let known = pane.and_then(|pane| openings.get(&pane.id));
    known.map_or_else(|| format!("-c {}", format_arg(shell.work_dir.as_bytes())), Opening::words)
}

/// The pane that a window is made with.
fn first_pane(window: &Window) -> Option<&Pane> {
    window.panes.iter().find(|pane| !pane.floating).or(window.panes.first())
}

/// The panes of a window that has its first one, and what the window looks like.
fn panes(out: &mut String, shell: &Shell, window: &Window, target: &str, openings: &Openings) {
    let mut made = 0_u32;
    let height = if window.height > 0 { window.height } else { 24 };
    let room = format!(" ; select-layout -t {target} tiled\n");
    let mut pane_commands = |out: &mut String, pane: &Pane| {
        if made > 0 {
            let _ = write!(out, "split-window -t {target} {} ; ", opening(openings, Some(pane), shell));
        }
        // The pane just made is the window's active one; where tmux refuses to make it, its list ends there.
        let _ = write!(out, "set-option -p -t {target} @sidecar-pane {}", pane.id);
        let _ = write!(out, " ; select-pane -t {target} -T {}", format_arg(pane.title.as_bytes()));
        // Each split halves the last pane: room for the next one, before there is none.
        out.push_str(if made > 0 && height.checked_shr(made + 1).unwrap_or(0) < 4 { &room } else { "\n" });
        made += 1;
    };
    // A floating pane has no place in the layout: it comes when the others have theirs.
    let (floating, tiled): (Vec<&Pane>, Vec<&Pane>) = window.panes.iter().partition(|pane| pane.floating);
    for pane in &tiled {
        pane_commands(out, pane);
    }
    if let Some(layout) = window.layout.as_ref().filter(|layout| tiled.len() > 1 && layout.pane_count() == tiled.len()) {
        let _ = writeln!(out, "select-layout -t {target} {}", arg(layout.to_tmux().as_bytes()));
    }
    for pane in floating {
        pane_commands(out, pane);
    }
    if !window.automatic_rename {
        let _ = writeln!(out, "rename-window -t {target} -- {}", format_arg(&name_from_shown(&window.name)));
    }
}

/// Moves a window within its session, whose other windows keep their indexes whatever `renumber-windows` says.
fn move_window(session: &str, window: &str, target: &str) -> String {
    format!(
        "set-option -t {session} renumber-windows off ; move-window -s {window} -t {target} ; set-option -u -t {session} renumber-windows"
    )
}

fn free_index(taken: &[u32], wanted: u32) -> u32 {
    let mut index = wanted;
    while taken.contains(&index) {
        index = index.saturating_add(1);
    }
    index
}

/// Makes a session as a member of the group that the session `leader` belongs to. A new group is named after its first
/// session's name, so that one bears the group's name for a moment where its own is another.
pub(super) fn join(shell: &Shell, generation: &Generation, leader: (&str, &str)) -> String {
    let (id, name) = leader;
    let mut out = String::new();
    let id = arg(id.as_bytes());
    let rename = |name: &str| format!("rename-session -t {id} -- {}\n", format_arg(&name_from_shown(name)));
    let group = shell.group.as_deref().filter(|group| *group != name);
    if let Some(group) = group {
        out.push_str(&rename(group));
    }
    let working = working_name(shell);
    let _ = writeln!(
        out,
        "new-session -d -s {working} -t {id} -c {} ; set-option -t ={working}: destroy-unattached off ; set-option -t ={working}: @sidecar-shell {}",
        format_arg(shell.work_dir.as_bytes()),
        shell.id
    );
    if group.is_some() {
        out.push_str(&rename(name));
    }
    guarded(shell, generation, &out)
}

/// What of the record lives, by live ids.
pub(super) struct Live<'a> {
    session: &'a SeenSession,
    /// Live window of each recorded one, by stable id.
    windows: HashMap<&'a str, &'a SeenWindow>,
    /// Live pane ids by stable id.
    panes: HashMap<&'a str, &'a str>,
}

impl<'a> Live<'a> {
    /// Finds the shell's windows and panes in its session.
    pub(super) fn of(shell: &'a Shell, session: &'a SeenSession) -> Self {
        let mut live = Self { session, windows: HashMap::new(), panes: HashMap::new() };
        for window in &session.windows {
            for pane in &window.panes {
                live.panes.entry(&pane.tag).or_insert(&pane.id);
            }
            let recorded = shell.own_windows().find(|own| own.panes.iter().any(|pane| window.panes.iter().any(|seen| seen.tag == pane.id)));
            if let Some(recorded) = recorded {
                live.windows.entry(&recorded.id).or_insert(window);
            }
        }
        live
    }

    /// The recorded panes that do not live.
    pub(super) fn missing(&self, shell: &'a Shell) -> Vec<&'a Pane> {
        shell.panes().filter(|pane| !self.panes.contains_key(pane.id.as_str())).collect()
    }
}

/// What a session under restore lacks still: windows and panes that an earlier run did not come to.
pub(super) fn complete(shell: &Shell, live: &Live, openings: &Openings) -> String {
    let mut out = String::new();
    let session = &live.session.id;
    let mut taken: Vec<u32> = live.session.windows.iter().map(|window| window.index).collect();
    // The one that the session was made with, where the run ended before it became one of the record's.
    let mut blank = live.session.windows.iter().find(|window| window.blank && window.panes.len() == 1);
    for window in shell.own_windows() {
        if let Some(present) = live.windows.get(window.id.as_str()) {
            let lacking: Vec<&Pane> = window.panes.iter().filter(|pane| !live.panes.contains_key(pane.id.as_str())).collect();
            for pane in &lacking {
                let target = arg(present.id.as_bytes());
                let _ = writeln!(
                    out,
                    "split-window -t {target} {} ; set-option -p -t {target} @sidecar-pane {} ; select-layout -t {target} tiled",
                    opening(openings, Some(pane), shell),
                    pane.id
                );
            }
            if let Some(layout) =
                window.layout.as_ref().filter(|layout| layout.pane_count() == window.panes.len() && window.panes.len() > 1)
            {
                let _ = writeln!(out, "select-layout -t {} {}", arg(present.id.as_bytes()), arg(layout.to_tmux().as_bytes()));
            }
            continue;
        }
        let first = first_pane(window);
        let target = if let Some(blank) = blank.take() {
            if first.is_some() {
                let _ = writeln!(out, "respawn-pane -k -t {} {}", arg(blank.id.as_bytes()), opening(openings, first, shell));
            }
            if blank.index != window.index && !taken.contains(&window.index) {
                let (own, id) = (arg(session.as_bytes()), arg(blank.id.as_bytes()));
                let _ = writeln!(out, "{}", move_window(&own, &id, &arg(format!("{session}:{}", window.index).as_bytes())));
            }
            arg(blank.id.as_bytes())
        } else {
            let index = free_index(&taken, window.index);
            taken.push(index);
            let target = arg(format!("{session}:{index}").as_bytes());
            let _ = writeln!(out, "new-window -d -t {target} {}", opening(openings, first, shell));
            target
        };
        panes(&mut out, shell, window, &target, openings);
    }
    out
}

/// What needs live ids: active panes, zoom, links, the current and the last window, the session's own name.
///
/// `owners` gives the live id of a window, by its stable id, wherever it lives. `attempt` chooses among the wanted names.
pub(super) fn finish(shell: &Shell, live: &Live, owners: &HashMap<&str, &str>, promised: &HashSet<String>, attempt: usize) -> String {
    let mut out = String::new();
    let session = &live.session.id;
    for window in &shell.windows {
        if window.linked {
            if let Some(owner) = owners.get(window.id.as_str()).filter(|owner| !has_place(shell, window, live.session, owner)) {
                let target = arg(format!("{session}:{}", window.index).as_bytes());
                let _ = writeln!(out, "link-window -d -s {} -t {target}", arg(owner.as_bytes()));
            }
            continue;
        }
        if !live.windows.contains_key(window.id.as_str()) {
            continue;
        }
        let live_pane = |pane: &Pane| live.panes.get(pane.id.as_str()).map(|id| arg(id.as_bytes()));
        if window.panes.len() > 1 {
            for pane in window.panes.iter().filter(|pane| pane.last).chain(window.panes.iter().filter(|pane| pane.active)) {
                if let Some(id) = live_pane(pane) {
                    let _ = writeln!(out, "select-pane -t {id}");
                }
            }
        }
        if window.zoomed {
            if let Some(id) = window.panes.iter().find(|pane| pane.active).and_then(live_pane) {
                // It toggles, and the selections above may have ended a zoom.
                let _ = writeln!(out, "if-shell -F -t {id} \"#{{window_zoomed_flag}}\" {{ }} {{ resize-pane -Z -t {id} }}");
            }
        }
    }
    for window in shell.windows.iter().filter(|window| window.last).chain(shell.windows.iter().filter(|window| window.active)) {
        let index = live.windows.get(window.id.as_str()).map_or(window.index, |present| present.index);
        let _ = writeln!(out, "select-window -t {}", arg(format!("{session}:{index}").as_bytes()));
    }
    if links_stand(shell, live.session, owners, promised) && live.session.windows.len() > 1 {
        // By its own mark, and only while nobody split it.
        for window in live.session.windows.iter().filter(|window| window.blank && window.panes.len() == 1) {
            let _ = writeln!(out, "kill-window -t {}", arg(window.id.as_bytes()));
        }
    }
    // The user's own value comes back; where that would end a session without a client, after the first one has come.
    let _ = writeln!(out, "{}", keep_unattached(&arg(session.as_bytes())));
    if live.session.name == working_name(shell) {
        if let Some(name) = wanted_names(shell).get(attempt) {
            let _ = writeln!(out, "rename-session -t {} -- {}", arg(session.as_bytes()), format_arg(name));
        }
    }
    out
}

/// Gives a session the user's own hooks back in a moment: what was done to it still has its hooks to come.
pub(super) fn unquiet(session: &str, quiet: &[&str]) -> String {
    if quiet.is_empty() {
        return String::new();
    }
    let unset: Vec<String> = quiet.iter().map(|hook| format!("set-hook -u -t {} {hook}", arg(session.as_bytes()))).collect();
    format!("run-shell -b -d 1 -C {}\n", arg(unset.join(" ; ").as_bytes()))
}

/// Whether each linked window has its place in the session; one whose content neither lives nor is `promised` has none to have.
pub(super) fn links_stand(shell: &Shell, session: &SeenSession, owners: &HashMap<&str, &str>, promised: &HashSet<String>) -> bool {
    shell.windows.iter().filter(|window| window.linked).all(|window| match owners.get(window.id.as_str()) {
        Some(owner) => has_place(shell, window, session, owner),
        None => !promised.contains(&window.id),
    })
}

/// Whether a linked window stands at its index, or, where that was not free, as often as the record has it.
fn has_place(shell: &Shell, window: &Window, session: &SeenSession, live: &str) -> bool {
    let places = || session.windows.iter().filter(|other| other.id == live);
    places().any(|other| other.index == window.index)
        || places().count() >= shell.windows.iter().filter(|other| other.id == window.id).count()
}

/// Makes way for a shell of the same name.
pub(super) fn move_aside(session: &str, generation: &Generation) -> String {
    only_in(generation, &format!("rename-session -t {} {MOVED_ASIDE}\n", arg(session.as_bytes())))
}

/// Moves the clients of a session that nobody used to `goto`, and ends it, if it is still the single pane that it was.
pub(super) fn retire(session: &str, clients: &[String], goto: &str, said: &str, generation: &Generation) -> String {
    let (session, goto) = (arg(session.as_bytes()), arg(goto.as_bytes()));
    // What was printed may go with the pane; the sum of it is shown where the client goes.
    let said = format_arg(said.as_bytes());
    let moves: String = clients
        .iter()
        .map(|client| arg(client.as_bytes()))
        .map(|client| format!("switch-client -c {client} -t {goto}\ndisplay-message -c {client} {said}\n"))
        .collect();
    let attached = if clients.is_empty() { "0" } else { "#{session_attached}" };
    let still_so = format!("#{{==:#{{session_windows}}.#{{window_panes}}.#{{session_attached}},1.1.{attached}}}");
    let still_one = arg(still_so.as_bytes());
    only_in(generation, &format!("if-shell -F -t {session} {still_one} {{\n{moves}kill-session -t {session}\n}}\n"))
}
