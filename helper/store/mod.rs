//! The durable files of one server. Nothing else in the product writes them.
#![expect(clippy::disallowed_methods, reason = "this room owns the files")]

mod auto;
mod config;
mod files;
mod hints;
mod journal;
mod load;
mod lock;
mod log;
mod paths;
mod resumes;
mod save;
mod snapshots;
mod texts;
mod told;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

pub use config::{Config, Recreate};
use files::Disk;
pub use load::{Loaded, Source};
pub use lock::{Lock, Turn};
pub use paths::fnv1a;
pub use snapshots::{is_snapshot_name, superfluous};
pub use texts::{KeptText, TextMark};

use crate::error::Result;
use crate::model::{EpochMs, Hint, Reason, Report, Resume, Snapshot, State};

/// The user's home.
///
/// # Errors
/// `HOME` is no absolute path, and the user database knows none.
pub fn home() -> Result<PathBuf> {
    paths::home()
}

/// Writes a file so that a crash at any point leaves the old one or the new one. `before_rename` gets the temporary file, mode
/// 0600, beside it; where that fails, nothing has changed.
///
/// # Errors
/// Those of the disk, and of `before_rename`.
pub fn replace_file(path: &Path, content: &[u8], before_rename: impl FnOnce(&Path) -> std::io::Result<()>) -> std::io::Result<()> {
    files::replace(&Disk, path, content, before_rename)
}

/// The store of one server of one host.
#[derive(Clone, Debug)]
pub struct Store {
    dir: PathBuf,
    /// The server's socket, where that is how the store was found.
    socket: Option<PathBuf>,
}

impl Store {
    /// The store of the server at `socket`; nothing is made yet.
    ///
    /// # Errors
    /// Neither `XDG_STATE_HOME` nor `HOME` is set.
    pub fn of(socket: &Path) -> Result<Self> {
        Ok(Self { dir: paths::store_dir(socket)?, socket: Some(socket.to_owned()) })
    }

    /// The store in this very folder.
    pub fn at(dir: PathBuf) -> Self {
        Self { dir, socket: None }
    }

    /// Every store of this user that anything was written to, this host's first, then by name. One that a link gives a second name is one.
    ///
    /// # Errors
    /// As for [`Store::of`].
    pub fn all() -> Result<Vec<Self>> {
        let folders = |dir: &Path| {
            let entries = fs_err::read_dir(dir).into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path()));
            entries.filter(|path| path.is_dir() && path.to_str().is_some()).collect::<Vec<PathBuf>>()
        };
        let mut all: Vec<Self> = folders(&paths::state_root()?).iter().flat_map(|host| folders(host)).map(Self::at).collect();
        all.retain(|store| !store.load().is_ok_and(|loaded| loaded.source == Source::Nothing));
        all.sort_by_key(|store| (!store.is_of_this_host(), store.dir.is_symlink(), store.name()));
        let mut known = BTreeSet::new();
        all.retain(|store| fs_err::canonicalize(&store.dir).map_or(true, |dir| known.insert(dir)));
        all.sort_by_key(|store| (!store.is_of_this_host(), store.name()));
        Ok(all)
    }

    /// `HOST/SERVER`, its name among all stores.
    pub fn name(&self) -> String {
        format!("{}/{}", self.host_key(), self.dir.file_name().unwrap_or_default().to_string_lossy())
    }

    /// The key of the host that its server runs on.
    pub fn host_key(&self) -> String {
        self.host().file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    /// Whether its server runs on this host.
    pub fn is_of_this_host(&self) -> bool {
        self.host_key() == paths::host_key()
    }

    /// Whether anything was ever recorded here.
    pub fn exists(&self) -> bool {
        self.dir.is_dir()
    }

    /// Its folder.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Reads the records; migrates and falls back in memory only.
    ///
    /// # Errors
    /// The file is there and can't be read, and neither can any earlier generation of it.
    pub fn load(&self) -> Result<Loaded> {
        load::load(&self.dir)
    }

    /// Writes the records, if they differ from what was loaded.
    ///
    /// # Errors
    /// A newer version's file; a full disk; a folder that can't be written. The old state is intact then.
    pub fn save(&self, held: &Lock, loaded: &Loaded, state: &State, now: u64) -> Result<bool> {
        // Before the records, so that a crash between the two leaves them in the tombstone, and the next write tries again.
        if let Err(error) = self.drop_from_snapshots(held, &gone_for_good(&loaded.state, state)) {
            self.log(Level::Warn, "snapshots", &error.message);
        }
        // Whose records they are goes along with a change, and makes none of its own.
        let owned = self.socket.as_ref().filter(|_| loaded.state != *state).map(|socket| State {
            socket: Some(socket.as_path().into()),
            host_name: Some(paths::host_name()),
            ..state.clone()
        });
        save::save(&Disk, &self.dir, loaded, owned.as_ref().unwrap_or(state), now)
    }

    /// Takes the lock for a read-modify-write, for at most `limit`.
    ///
    /// # Errors
    /// Another holder kept it for all that time, or the folder can't be made or written.
    pub fn lock(&self, limit: Duration) -> Result<Lock> {
        lock::lock(&self.dir, limit)
    }

    /// Keeps other restores out for as long as it is held; hooks don't take it, so it may be held while a server starts.
    ///
    /// # Errors
    /// As for [`Store::lock`].
    pub fn lock_restore(&self, limit: Duration) -> Result<Lock> {
        lock::lock_named(&self.dir, "restore.lock", limit)
    }

    /// Takes the lock unless somebody already waits for it, who will then see what we came for.
    ///
    /// # Errors
    /// As for [`Store::lock`].
    pub fn turn(&self, limit: Duration) -> Result<Turn> {
        lock::turn(&self.dir, limit)
    }

    /// Notes what the `session-closed` hook told; it holds no other lock and takes microseconds.
    ///
    /// # Errors
    /// The folder can't be written.
    pub fn add_hint(&self, hint: &Hint) -> Result<()> {
        hints::add(&self.dir, hint)
    }

    /// What hooks noted and no look has read yet.
    pub fn hints(&self) -> Vec<Hint> {
        hints::read(&self.dir)
    }

    /// Forgets the hints that a look has written into the records; `read` is what [`Store::hints`] gave it.
    pub fn drop_hints(&self, _held: &Lock, read: &[Hint]) {
        hints::forget(&self.dir, read);
    }

    /// Adds to the journal, which gives up its older half when it grows too long.
    ///
    /// # Errors
    /// The folder can't be written.
    pub fn add_to_journal(&self, _held: &Lock, entries: &[impl serde::Serialize]) -> Result<()> {
        journal::add(&self.dir, entries)
    }

    /// What the journal keeps of the panes' conversations, the oldest first; what can't be read is stepped over.
    pub fn reports(&self) -> Vec<Report> {
        journal::reports(&self.dir)
    }

    /// The names of the snapshots, the oldest first.
    pub fn snapshots(&self) -> Vec<String> {
        snapshots::names(&self.dir)
    }

    /// The snapshot of this name.
    ///
    /// # Errors
    /// There is none (exit 3), or it can't be read, or is of a newer version.
    pub fn snapshot(&self, name: &str) -> Result<Snapshot> {
        snapshots::read(&self.dir, name)
    }

    /// Writes a new snapshot; gives its name.
    ///
    /// # Errors
    /// A full disk; a folder that can't be written.
    pub fn add_snapshot(&self, _held: &Lock, snapshot: &Snapshot) -> Result<String> {
        snapshots::add(&self.dir, snapshot)
    }

    /// Removes a snapshot.
    ///
    /// # Errors
    /// Those of the disk.
    pub fn remove_snapshot(&self, _held: &Lock, name: &str) -> Result<()> {
        snapshots::remove(&self.dir, name)
    }

    /// Takes shells whose records are removed for good out of every snapshot.
    ///
    /// # Errors
    /// Those of the disk.
    pub fn drop_from_snapshots(&self, _held: &Lock, ids: &BTreeSet<&str>) -> Result<()> {
        if ids.is_empty() { Ok(()) } else { snapshots::drop_shells(&self.dir, ids) }
    }

    /// The stores of this host's servers.
    ///
    /// # Errors
    /// Neither `XDG_STATE_HOME` nor `HOME` is set.
    pub fn all_of_host() -> Result<Vec<Self>> {
        // No store has this name: all of them are others.
        Ok(Self::at(paths::host_dir()?.join("none")).others_of_host())
    }

    /// The stores of this host's other servers.
    pub fn others_of_host(&self) -> Vec<Self> {
        let folders = self.dir.parent().and_then(|host| fs_err::read_dir(host).ok()).into_iter().flatten();
        let folders = folders.filter_map(|entry| Some(entry.ok()?.path())).filter(|dir| *dir != self.dir && dir.is_dir());
        folders.map(Self::at).collect()
    }

    /// The resume of a pane, if there ever was one.
    pub fn resume(&self, pane: &str) -> Option<Resume> {
        resumes::read(&self.dir, pane)
    }

    /// Every pane's resume, by the panes' ids.
    pub fn resumes(&self) -> Vec<(String, Resume)> {
        resumes::all(&self.dir)
    }

    /// Makes of a pane's resume what `change` says; `None` from it changes nothing. Gives what stands then.
    ///
    /// # Errors
    /// It is no id of a pane, or the folder can't be written.
    pub fn change_resume(&self, pane: &str, change: impl FnOnce(Option<Resume>) -> Option<Resume>) -> Result<Option<Resume>> {
        resumes::change(&self.dir, pane, change)
    }

    /// Drops the resumes of panes that are no longer known.
    pub fn keep_resumes(&self, known: &dyn Fn(&str) -> bool) {
        resumes::keep_only(&self.dir, known);
    }

    /// The turn to keep what panes show.
    ///
    /// # Errors
    /// Somebody else has it, or the folder can't be made.
    pub fn lock_texts(&self) -> Result<Lock> {
        texts::lock(&self.dir)
    }

    /// What a pane showed, if it was kept.
    pub fn text(&self, pane: &str) -> Option<KeptText> {
        texts::read(&self.dir, pane)
    }

    /// Whether anything is kept that a pane showed.
    pub fn has_text(&self, pane: &str) -> bool {
        self.text(pane).is_some_and(|kept| !kept.text.is_empty())
    }

    /// When a pane was last asked what it shows, and in which state it was.
    pub fn text_mark(&self, pane: &str) -> Option<(EpochMs, TextMark)> {
        texts::mark(&self.dir, pane)
    }

    /// Keeps what a pane showed; the oldest of all texts make room where there are too many.
    ///
    /// # Errors
    /// It is no id of a pane, or the folder can't be written.
    pub fn save_text(&self, _held: &Lock, pane: &str, kept: &KeptText) -> Result<()> {
        texts::write(&self.dir, pane, kept, texts::MOST)
    }

    /// Keeps also what panes of another store showed, by their ids there and here. One that can't be had is none.
    pub fn take_texts(&self, there: &Self, panes: &[(String, String)]) {
        // A round would drop what no record has yet.
        let held = self.lock_texts();
        for (theirs, ours) in panes {
            let copied = there.text(theirs).map(|kept| texts::write(&self.dir, ours, &kept, texts::MOST));
            if let Some(Err(error)) = copied {
                self.log(Level::Warn, "takeover", &format!("what {ours} showed is not kept: {error}"));
            }
        }
        drop(held);
    }

    /// Drops what is left of texts whose writers were killed. Whoever calls this is the only writer.
    pub fn sweep_texts(&self) {
        texts::sweep(&self.dir);
    }

    /// Drops what was kept of panes that are no longer known.
    pub fn keep_texts(&self, known: &dyn Fn(&str) -> bool) {
        texts::keep_only(&self.dir, known);
    }

    /// Keeps every other process of this host from beginning a resume for as long as it is held.
    ///
    /// # Errors
    /// As for [`Store::lock`].
    pub fn lock_resumes(&self, limit: Duration) -> Result<Lock> {
        lock::lock_named(self.host(), "resume.lock", limit)
    }

    /// A place among the resumes of this host that start at the same time, held until it is dropped; `None` if all are taken.
    pub fn resume_place(&self, places: usize) -> Option<Lock> {
        resumes::place(self.host(), places)
    }

    /// The turn to take a place; whoever has it keeps the next one waiting.
    ///
    /// # Errors
    /// Somebody else has it.
    pub fn lock_resume_turn(&self) -> Result<Lock> {
        lock::lock_named(self.host(), "resume.turn", Duration::ZERO)
    }

    /// Keeps everybody else from answering questions of agents for as long as it is held.
    ///
    /// # Errors
    /// As for [`Store::lock`].
    pub fn lock_answers(&self, limit: Duration) -> Result<Lock> {
        lock::lock_named(&self.dir, "answer.lock", limit)
    }

    fn host(&self) -> &Path {
        self.dir.parent().unwrap_or(&self.dir)
    }

    /// The name of its server's socket, for people.
    pub fn server_name(&self) -> String {
        let name = self.dir.file_name().unwrap_or_default().to_string_lossy();
        name.rsplit_once('-').map_or(name.as_ref(), |(name, _)| name).to_owned()
    }

    /// Adds a line to the bounded log. Where even that fails there is nobody to tell.
    pub fn log(&self, level: Level, event: &str, message: &str) {
        log::add(&self.dir, level, event, message);
    }

    /// Why records are not being written, as far as the log or the folder tell; `None` if all is well.
    pub fn trouble(&self) -> Option<String> {
        log::last_error(&self.dir, self.last_look()).or_else(|| self.unwritable())
    }

    /// Notes that an automatic restore begins; gives how many in a row have failed before it. One that never ends counts as failed.
    ///
    /// # Errors
    /// The folder can't be written: then none should begin.
    pub fn begin_automatic(&self, _held: &Lock) -> Result<u32> {
        auto::begin(&self.dir)
    }

    /// How many automatic restores in a row have failed.
    pub fn failed_automatics(&self) -> u32 {
        auto::failed(&self.dir)
    }

    /// Notes that an automatic restore went well, as far as can be told while the server may still fall over it.
    pub fn automatic_seems_well(&self) {
        auto::seems_well(&self.dir);
    }

    /// Notes that the server lived on after an automatic restore that went well.
    pub fn confirm_automatic(&self) {
        auto::confirm(&self.dir);
    }

    /// Notes that a restore went well: the automatic ones begin anew.
    pub fn restore_went_well(&self) {
        auto::forget(&self.dir);
    }

    /// Whether this was not told before; from now on it was. Where that can't be kept it is no news: better silent than told at each
    /// start.
    pub fn is_news(&self, what: &str) -> bool {
        self.lock(Duration::from_secs(1)).is_ok_and(|_held| told::is_news(&self.dir, what))
    }

    /// The last errors of the log that came after `since`, epoch ms: when, and what; at most `most`, the newest last.
    pub fn errors_since(&self, since: EpochMs, most: usize) -> Vec<(EpochMs, String)> {
        log::errors_since(&self.dir, since, most)
    }

    /// What its files take, in bytes.
    pub fn size(&self) -> u64 {
        files::size(&self.dir)
    }

    /// The files that could not be read and were moved aside.
    pub fn moved_aside(&self) -> Vec<PathBuf> {
        save::moved_aside(&self.dir)
    }

    /// Why the folder can't be written, told without writing.
    pub fn unwritable(&self) -> Option<String> {
        paths::unwritable(&self.dir)
    }

    /// Notes, for people, that a complete look took place now: the lock file's time, which is not content.
    pub fn touch(&self, held: &Lock) {
        held.touch();
    }

    /// When the last complete look took place.
    pub fn last_look(&self) -> Option<u64> {
        lock::last_look(&self.dir)
    }
}

/// What leaves the tombstones and was not brought back, of what the user forgot, deleted or ignored. What was only closed may come back
/// from a snapshot.
fn gone_for_good<'a>(before: &'a State, after: &State) -> BTreeSet<&'a str> {
    if before.tombstones.is_empty() {
        return BTreeSet::new();
    }
    let kept = after.shells.iter().chain(after.tombstones.iter().map(|tombstone| &tombstone.shell));
    let kept: BTreeSet<&str> = kept.map(|shell| shell.id.as_str()).collect();
    let wished = before.tombstones.iter().filter(|tombstone| tombstone.reason != Reason::Closed);
    wished.map(|tombstone| tombstone.shell.id.as_str()).filter(|id| !kept.contains(id)).collect()
}

/// How much a line of the log matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// What was done, and why.
    Info,
    /// Something is odd, and was stepped over.
    Warn,
    /// Something was not recorded.
    Error,
}
