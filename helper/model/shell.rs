//! The durable record of one tmux session.
//!
//! Every struct carries `extra`: fields that this version does not know survive a rewrite.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::binding::{self, Binding};
use super::{EpochMs, Generation, Layout, RawText, Run};

/// A shell: the durable record of one tmux session.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Shell {
    /// Stable id, also on the session as `@sidecar-shell`.
    #[serde(alias = "shell")]
    pub id: String,
    /// The name that people see.
    #[serde(alias = "displayName")]
    pub name: String,
    /// The session's name, as tmux showed it when it was given.
    #[serde(alias = "sessionName", alias = "tmuxSession")]
    pub session: String,
    /// The session name that it was made with; a valid target for its life.
    pub made_as: String,
    /// What the present server makes of `session`, where that differs (tmux up to 3.6 turns `:` into `_`): not a rename.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seen_as: Option<String>,
    /// The session's own directory, `#{session_path}`.
    #[serde(alias = "dir", alias = "cwd")]
    pub work_dir: RawText,
    /// The main checkout of the git repository that `work_dir` lies in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<RawText>,
    /// The linked git worktree that `work_dir` lies in, if it is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worktree: Option<RawText>,
    /// The branch of that worktree, by which it can be brought back.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// The session group that it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// What a restore may do with it.
    pub policy: Policy,
    /// When a client was last attached.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_attached: Option<EpochMs>,
    /// Its windows, by index.
    pub windows: Vec<Window>,
    /// The generation that first held it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub made: Option<Seen>,
    /// The generation that last held it, and its live id there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seen: Option<Seen>,
    /// A look that did not find it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missing: Option<Mark>,
    /// What the `session-closed` hook told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub closing: Option<Closing>,
    /// The user asked to delete it; whatever follows, it becomes a tombstone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deleting: Option<Mark>,
    /// A restore is making it: no look takes windows or panes from the record while this generation lives.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub restoring: Option<Mark>,
    /// When it was made of another tool's save, if it was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub imported: Option<EpochMs>,
    /// From where it was taken over, if it was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub taken: Option<Taken>,
    /// Fields of other versions.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// One window, at one place of a session.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Window {
    /// Stable id. tmux windows carry none; it is found again through the panes.
    pub id: String,
    /// The live id (`@3`) in the generation that last held the shell.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub tmux: String,
    /// Index in the session.
    pub index: u32,
    /// The session's current window.
    #[serde(skip_serializing_if = "is_false")]
    pub active: bool,
    /// The session's last window.
    #[serde(skip_serializing_if = "is_false")]
    pub last: bool,
    /// A further place of a window whose content stands in another shell (a linked window, or a session group).
    #[serde(skip_serializing_if = "is_false")]
    pub linked: bool,
    /// The window's name.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// What the present server makes of `name`, where that differs: not a rename.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seen_as: Option<String>,
    /// Whether tmux renames it after what runs in it.
    #[serde(skip_serializing_if = "is_false")]
    pub automatic_rename: bool,
    /// Where the panes lie.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub layout: Option<Layout>,
    /// Whether the active pane fills the window.
    #[serde(skip_serializing_if = "is_false")]
    pub zoomed: bool,
    /// Width in columns.
    #[serde(skip_serializing_if = "is_zero")]
    pub width: u32,
    /// Height in rows.
    #[serde(skip_serializing_if = "is_zero")]
    pub height: u32,
    /// Its panes, by index.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub panes: Vec<Pane>,
    /// A look that did not find it in a living session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gone: Option<Mark>,
    /// Fields of other versions.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// One pane.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Pane {
    /// Stable id, also on the pane as `@sidecar-pane`.
    pub id: String,
    /// The live id (`%3`) in the generation that last held the shell.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub tmux: String,
    /// Index in the window.
    pub index: u32,
    /// The window's active pane.
    #[serde(skip_serializing_if = "is_false")]
    pub active: bool,
    /// The window's last pane.
    #[serde(skip_serializing_if = "is_false")]
    pub last: bool,
    /// It lay over the others (tmux 3.7 and later); a restore brings it back as a pane beside them.
    #[serde(skip_serializing_if = "is_false")]
    pub floating: bool,
    /// The title that the application or the user set.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub title: String,
    /// The physical directory of the foreground program.
    #[serde(alias = "cwd", alias = "workDir")]
    pub dir: RawText,
    /// The same directory by a path that goes through a symlink, where the user came by one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub logical_dir: Option<RawText>,
    /// The foreground program's argv, where the user named that program in `restore.programs`; its first word tells its name.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub argv: Vec<RawText>,
    /// The command that the pane was started with, where that is not the default one. It stays with the pane: a restore shows
    /// it, and the user may start it again or not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<Run>,
    /// Where that command was started; it may have changed its directory since.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_dir: Option<RawText>,
    /// The agent conversation of this pane.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "binding::one")]
    pub agent: Option<Binding>,
    /// Its conversations before that one, the newest first, at most [`Pane::HISTORY`].
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "binding::many")]
    pub history: Vec<Binding>,
    /// A look that did not find it in a living window.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gone: Option<Mark>,
    /// Fields of other versions.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// What a restore may do with a shell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Policy {
    /// The shell, never its agents.
    Shell,
    /// The shell and its agents, without asking.
    Resume,
    /// Never restored.
    Never,
    /// Follows `restore.resumeAgents`.
    #[default]
    #[serde(other)]
    Inherit,
}

impl Policy {
    /// The word in the records and in `--json`.
    pub fn word(self) -> &'static str {
        match self {
            Self::Inherit => "inherit",
            Self::Shell => "shell",
            Self::Resume => "resume",
            Self::Never => "never",
        }
    }
}

/// A moment of one generation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mark {
    /// When.
    pub at: EpochMs,
    /// In which life of the server.
    pub generation: Generation,
}

/// Where and when a shell was last seen alive.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seen {
    /// When its record last changed.
    pub at: EpochMs,
    /// In which life of the server.
    pub generation: Generation,
    /// Its live session id (`$3`) there.
    #[serde(default)]
    pub session: String,
}

/// What the `session-closed` hook told of a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Closing {
    /// When.
    pub at: EpochMs,
    /// In which life of the server.
    pub generation: Generation,
    /// How many sessions were left.
    pub left: u32,
}

/// The record of another store that this one was taken over from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Taken {
    /// The store's name, `HOST/SERVER`.
    pub from: String,
    /// The shell's id there.
    pub shell: String,
    /// When it was last seen there: tells the record apart from what the same shell became later.
    pub seen: Option<EpochMs>,
}

/// How the life of a shell that can be restored came to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// With its server: a crash, a reboot, an update.
    Died,
    /// It was the last session; its end ended the server. Offered, never restored automatically.
    ClosedWithServer,
}

impl Window {
    /// The highest index that is believed; tmux takes any 31-bit number, and room is left to count on from it.
    pub const LAST_INDEX: u32 = 1 << 30;
}

impl Pane {
    /// How many earlier conversations a pane keeps.
    pub const HISTORY: usize = 8;
}

impl Shell {
    /// Whether a restore in this life of the server has begun to make it and not ended.
    pub fn under_restore(&self, generation: &Generation) -> bool {
        self.restoring.as_ref().is_some_and(|mark| mark.generation == *generation)
    }

    /// Whether the last look at generation `generation` found it.
    pub fn lives_in(&self, generation: &Generation) -> bool {
        self.seen.as_ref().is_some_and(|seen| &seen.generation == generation)
    }

    /// When its record last changed by a look.
    pub fn seen_at(&self) -> Option<EpochMs> {
        self.seen.as_ref().map(|seen| seen.at)
    }

    /// Whether it was taken over from another store, and has not lived here yet.
    pub fn is_newly_taken(&self) -> bool {
        self.taken.as_ref().is_some_and(|taken| taken.seen == self.seen_at())
    }

    /// What its display name is unique in: the main checkout of its git repository, else its directory.
    pub fn home(&self) -> &RawText {
        self.project.as_ref().unwrap_or(&self.work_dir)
    }

    /// The windows whose content stands in this record.
    pub fn own_windows(&self) -> impl Iterator<Item = &Window> {
        self.windows.iter().filter(|window| !window.linked)
    }

    /// Every pane whose record stands here.
    pub fn panes(&self) -> impl Iterator<Item = &Pane> {
        self.own_windows().flat_map(|window| &window.panes)
    }

    /// Whether every one of its panes was started with a command of its own.
    pub fn is_manual(&self) -> bool {
        self.panes().next().is_some() && self.panes().all(|pane| pane.run.is_some())
    }
}

// Serde passes references.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde asks for")]
fn is_false(value: &bool) -> bool {
    !value
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde asks for")]
fn is_zero(value: &u32) -> bool {
    *value == 0
}
