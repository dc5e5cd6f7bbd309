//! What one complete look at a server saw.

use std::collections::HashMap;

use super::{Generation, Layout, Pane, RawText, Run, Shell};

/// A complete answer of one server.
#[derive(Clone, Debug)]
pub struct Observation {
    /// Which life of it.
    pub generation: Generation,
    /// `#{version}` of the server, not of the client.
    pub version: String,
    /// Every session.
    pub sessions: Vec<SeenSession>,
    /// The options that matter here.
    pub settings: TmuxSettings,
}

/// Options of the server, as it gave them; empty where unset.
#[derive(Clone, Debug, Default)]
pub struct TmuxSettings {
    /// `@sidecar-interval`: seconds from one look of the timer to the next.
    pub interval: String,
    /// `@sidecar-grace`: seconds.
    pub grace: String,
    /// The timer's present token: `<due, epoch ms>.<random>`.
    pub timer: String,
    /// `@sidecar-offer`: `on`, `off` or `auto`.
    pub offer: String,
    /// How far the start-up offer is in this life of the server.
    pub offered: Offer,
    /// `@sidecar_restorable` as it stands.
    pub restorable: String,
    /// `@sidecar_status` as it stands.
    pub status: String,
}

/// How far the start-up offer is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Offer {
    /// Nobody has looked whether there is something to offer.
    #[default]
    Undecided,
    /// It waits for a client.
    Pending,
    /// A restore without asking is on its way.
    Restoring,
    /// It was made, or there was nothing to offer.
    Done,
}

impl Offer {
    /// Its word in the variable.
    pub fn word(self) -> &'static str {
        match self {
            Self::Undecided => "",
            Self::Pending => "pending",
            Self::Restoring => "restoring",
            Self::Done => "done",
        }
    }

    /// What the variable tells.
    pub fn of(word: &str) -> Self {
        [Self::Pending, Self::Restoring, Self::Done].into_iter().find(|offer| offer.word() == word).unwrap_or_default()
    }
}

/// A session.
#[derive(Clone, Debug, Default)]
pub struct SeenSession {
    /// `$3`.
    pub id: String,
    /// Its name as tmux shows it.
    pub name: String,
    /// `#{session_path}`.
    pub path: RawText,
    /// `#{session_group}`, empty for none.
    pub group: String,
    /// Clients attached.
    pub attached: u32,
    /// Seconds since the Unix epoch; 0 for never.
    pub last_attached: u64,
    /// When it was made, seconds since the Unix epoch.
    pub created: u64,
    /// When a client last attached or typed, seconds since the Unix epoch.
    pub activity: u64,
    /// Its `destroy-unattached` was switched off by a restore, until a client has come.
    pub kept: bool,
    /// `@sidecar-shell`.
    pub tag: String,
    /// The main checkout of its directory's git repository.
    pub project: Option<RawText>,
    /// Its directory's linked git worktree.
    pub worktree: Option<RawText>,
    /// The branch of that worktree.
    pub branch: Option<String>,
    /// Its windows, by index.
    pub windows: Vec<SeenWindow>,
}

/// A window at one place of a session; a linked window is seen once for each place.
#[derive(Clone, Debug, Default)]
pub struct SeenWindow {
    /// `@3`.
    pub id: String,
    /// Index in the session.
    pub index: u32,
    /// The session's current window.
    pub active: bool,
    /// The session's last window.
    pub last: bool,
    /// Whether the active pane fills it.
    pub zoomed: bool,
    /// Whether tmux renames it.
    pub automatic_rename: bool,
    /// Its name.
    pub name: String,
    /// Its layout; `None` where this version can't read it.
    pub layout: Option<Layout>,
    /// Columns.
    pub width: u32,
    /// Rows.
    pub height: u32,
    /// A restore made it only since a session can't be without a window.
    pub blank: bool,
    /// Its panes, by index.
    pub panes: Vec<SeenPane>,
}

/// A pane.
#[derive(Clone, Debug, Default)]
pub struct SeenPane {
    /// `%3`.
    pub id: String,
    /// Index in the window.
    pub index: u32,
    /// The window's active pane.
    pub active: bool,
    /// The window's last pane.
    pub last: bool,
    /// It lies over the others (tmux 3.7 and later).
    pub floating: bool,
    /// Its program has ended (`remain-on-exit`).
    pub dead: bool,
    /// The process that tmux started in it.
    pub pid: i32,
    /// `#{pane_title}`.
    pub title: String,
    /// `@sidecar-pane`.
    pub tag: String,
    /// The directory it was started in, by the path that was given.
    pub start_dir: RawText,
    /// The command it was started with; `None` for the default one, and for what counts as none.
    pub run: Option<Run>,
    /// Its own process is one that Sidecar started: it is still to come to the program, or waits for that one's end.
    pub launching: bool,
    /// The foreground program's directory; `None` where it can't be read.
    pub dir: Option<RawText>,
    /// The path by which the user came to `dir`, where it is another one.
    pub logical_dir: Option<RawText>,
    /// The foreground program's argv; empty at a prompt.
    pub argv: Vec<RawText>,
    /// The foreground program, where it was asked for and its argv tells all of it.
    pub program: Option<Program>,
    /// The process in the foreground, where that may be a program of the user's: not what tmux started by itself.
    pub foreground: i32,
    /// What tmux started, or the shell that `default-command` started, is in the foreground; in a session that may be the unused first
    /// one, it also has no child.
    pub idle: bool,
}

/// A program that could be started again from what is known of it: it is a job of its pane's own shell, of the same user, and reads
/// from and writes to the pane.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// Its words.
    pub argv: Vec<RawText>,
    /// Its executable.
    pub executable: RawText,
}

/// The lines that a pane shows, without trailing spaces and empty lines at the end, history counted as lines above.
pub type Screen = Vec<String>;

/// The living panes, to be found by their records.
pub struct LivePanes<'a> {
    seen: Option<&'a Observation>,
    tagged: HashMap<&'a str, &'a SeenPane>,
    by_id: HashMap<&'a str, &'a SeenPane>,
}

impl<'a> LivePanes<'a> {
    /// Those of a look; none without one.
    pub fn of(seen: Option<&'a Observation>) -> Self {
        let windows = seen.into_iter().flat_map(|seen| &seen.sessions).flat_map(|session| &session.windows);
        let panes: Vec<&SeenPane> = windows.flat_map(|window| &window.panes).collect();
        Self {
            seen,
            tagged: panes.iter().filter(|pane| !pane.tag.is_empty()).map(|&pane| (pane.tag.as_str(), pane)).collect(),
            by_id: panes.iter().filter(|pane| pane.tag.is_empty()).map(|&pane| (pane.id.as_str(), pane)).collect(),
        }
    }

    /// The one that is recorded as this pane of this shell. Where nothing carries stable ids, the live one serves as long as its
    /// server lives.
    pub fn find(&self, shell: &Shell, pane: &Pane) -> Option<&'a SeenPane> {
        let here = self.seen.is_some_and(|seen| shell.lives_in(&seen.generation));
        self.tagged.get(pane.id.as_str()).or_else(|| self.by_id.get(pane.tmux.as_str()).filter(|_| here)).copied()
    }
}
