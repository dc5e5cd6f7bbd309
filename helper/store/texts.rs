//! What panes showed, a compressed file each: `scrollback/PANE.gz`. Its comment tells when it was taken, of which state of the pane, and what
//! was seen then ([`TextMark`]); its time when the pane was last asked.

use std::io::{BufReader, Read, Write};
use std::path::{Path, PathBuf};

use flate2::bufread::GzDecoder;
use flate2::{Compression, GzBuilder};

use super::files::{Disk, read_plain, replace};
use super::lock::{Lock, lock_named};
use super::save;
use crate::error::{Error, Result};
use crate::model::{EpochMs, is_id};

const FOLDER: &str = "scrollback";

/// Most that all texts of a server may take on the disk, in bytes; the oldest go first.
pub(super) const MOST: u64 = 50 * 1024 * 1024;

/// Most that is read of one text, in bytes: twice what is written.
const LONGEST: u64 = 8 * 1024 * 1024;

/// What a pane showed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptText {
    /// The text, with its colours.
    pub text: String,
    /// When it was taken.
    pub taken: EpochMs,
    /// What was seen when the pane was last asked.
    pub mark: TextMark,
}

/// What was seen of a pane when it was last asked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TextMark {
    /// The pane's state; without spaces.
    pub state: String,
    /// How many lines it showed.
    pub lines: usize,
    /// How many lines below what was shown again to it are a prompt, and no more.
    pub prompt: usize,
}

fn file(dir: &Path, pane: &str) -> Option<PathBuf> {
    is_id(pane).then(|| dir.join(FOLDER).join(format!("{pane}.gz")))
}

pub(super) fn lock(dir: &Path) -> Result<Lock> {
    lock_named(&dir.join(FOLDER), "lock", std::time::Duration::ZERO)
}

/// When it was taken, and what was seen then.
fn comment(decoder: &GzDecoder<impl std::io::BufRead>) -> Option<(EpochMs, TextMark)> {
    let comment = std::str::from_utf8(decoder.header()?.comment()?).ok()?;
    let mut words = comment.split(' ');
    let (taken, state) = (words.next()?.parse().ok()?, words.next()?.to_owned());
    let mut number = || words.next().and_then(|word| word.parse().ok()).unwrap_or_default();
    Some((taken, TextMark { state, lines: number(), prompt: number() }))
}

/// When the pane was last asked, and what was seen then.
pub(super) fn mark(dir: &Path, pane: &str) -> Option<(EpochMs, TextMark)> {
    let path = file(dir, pane)?;
    // Anything else in its place, such as a pipe, might never open.
    let data = fs_err::metadata(&path).ok().filter(std::fs::Metadata::is_file)?;
    let file = fs_err::File::open(path).ok()?;
    let asked = data.modified().ok()?.duration_since(std::time::UNIX_EPOCH).ok()?.as_millis();
    let (_, mark) = comment(&GzDecoder::new(BufReader::new(file)))?;
    Some((EpochMs::try_from(asked).ok()?, mark))
}

pub(super) fn read(dir: &Path, pane: &str) -> Option<KeptText> {
    let path = file(dir, pane)?;
    let bytes = fs_err::metadata(&path).is_ok_and(|data| data.len() <= LONGEST).then(|| read_plain(&path).ok())??;
    let mut decoder = GzDecoder::new(bytes.as_slice());
    let (taken, mark) = comment(&decoder)?;
    let mut text = Vec::new();
    decoder.by_ref().take(LONGEST).read_to_end(&mut text).ok()?;
    Some(KeptText { text: String::from_utf8_lossy(&text).into_owned(), taken, mark })
}

/// Writes it; the oldest texts make room for it.
pub(super) fn write(dir: &Path, pane: &str, kept: &KeptText, most: u64) -> Result<()> {
    let path = file(dir, pane).ok_or_else(|| Error::failed("no_such_pane", format!("'{pane}' is no id of a pane")))?;
    let TextMark { state, lines, prompt } = &kept.mark;
    let comment = format!("{} {state} {lines} {prompt}", kept.taken);
    let mut encoder = GzBuilder::new().comment(comment).write(Vec::new(), Compression::fast());
    encoder.write_all(kept.text.as_bytes())?;
    let bytes = encoder.finish()?;
    make_room(dir, &path, most.saturating_sub(bytes.len() as u64));
    replace(&Disk, &path, &bytes, |_| Ok(()))
        .map_err(|error| Error::failed("state_unwritable", format!("cannot write {}: {error}", path.display())))
}

/// Removes the oldest texts but this one until the others take no more than `most`.
fn make_room(dir: &Path, but: &Path, most: u64) {
    let data = |path: PathBuf| fs_err::metadata(&path).ok().and_then(|data| Some((data.modified().ok()?, data.len(), path)));
    let mut others: Vec<_> = all(dir).into_iter().map(|(_, path)| path).filter(|path| path != but).filter_map(data).collect();
    others.sort_unstable();
    let mut total: u64 = others.iter().map(|(_, size, _)| size).sum();
    for (_, size, path) in others {
        if total <= most {
            return;
        }
        total -= size;
        let _ = fs_err::remove_file(path);
    }
}

/// Each text, by its pane's id.
fn all(dir: &Path) -> Vec<(String, PathBuf)> {
    let entries = fs_err::read_dir(dir.join(FOLDER)).into_iter().flatten().filter_map(std::result::Result::ok);
    entries.filter_map(|entry| Some((entry.file_name().to_str()?.strip_suffix(".gz")?.to_owned(), entry.path()))).collect()
}

/// Drops what writers left behind that were killed; nobody may be writing.
pub(super) fn sweep(dir: &Path) {
    save::sweep(&Disk, &dir.join(FOLDER));
}

/// Drops those of panes that are no longer known.
pub(super) fn keep_only(dir: &Path, known: &dyn Fn(&str) -> bool) {
    for (pane, path) in all(dir) {
        if !known(&pane) {
            let _ = fs_err::remove_file(path);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn text(text: &str) -> KeptText {
        KeptText { text: text.into(), taken: 7, mark: TextMark { state: "1.2".into(), lines: 3, prompt: 1 } }
    }

    #[test]
    fn a_text_comes_back_as_it_was_and_is_for_its_owner_alone() {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path();
        assert!(read(dir, "pn-0001").is_none() && mark(dir, "pn-0001").is_none());
        let held = lock(dir).unwrap();
        assert!(lock(dir).is_err(), "one at a time");
        drop(held);
        write(dir, "pn-0001", &text("é\x1b[1m漢\n"), MOST).unwrap();
        assert_eq!(read(dir, "pn-0001"), Some(text("é\x1b[1m漢\n")));
        let (asked, known) = mark(dir, "pn-0001").unwrap();
        assert!(known == text("").mark && asked > 1_600_000_000_000);
        let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&dir.join("scrollback")), mode(&dir.join("scrollback/pn-0001.gz"))), (0o700, 0o600));
        assert_eq!(write(dir, "../x", &text(""), MOST).unwrap_err().code, "no_such_pane");
        for damage in [&b""[..], b"no gzip", &std::fs::read(dir.join("scrollback/pn-0001.gz")).unwrap()[..20]] {
            std::fs::write(dir.join("scrollback/pn-0002.gz"), damage).unwrap();
            assert_eq!(read(dir, "pn-0002"), None);
        }
        // What a writer that was killed has left holds what stood on a screen, too.
        std::fs::write(dir.join("scrollback/.pn-0001.gz.0123456789abcdef.tmp"), "secret").unwrap();
        sweep(dir);
        keep_only(dir, &|pane| pane == "pn-0001");
        let left: Vec<_> = std::fs::read_dir(dir.join("scrollback")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert!(left.len() == 2 && left.iter().all(|name| name == "lock" || name == "pn-0001.gz"), "{left:?}");
        // Opening a pipe would wait for one who writes.
        nix::unistd::mkfifo(&dir.join("scrollback/pn-0003.gz"), nix::sys::stat::Mode::S_IRWXU).unwrap();
        assert!(mark(dir, "pn-0003").is_none() && read(dir, "pn-0003").is_none());
    }

    #[test]
    fn the_oldest_make_room_and_what_is_read_is_bounded() {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path();
        drop(lock(dir).unwrap());
        let noise = |seed: u64| {
            let mut state = seed;
            let mut next = || {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                char::from(b' ' + u8::try_from((state >> 33) % 90).unwrap())
            };
            (0..20_000).map(|_| next()).collect::<String>()
        };
        for (at, pane) in ["pn-0001", "pn-0002", "pn-0003"].iter().enumerate() {
            write(dir, pane, &text(&noise(at as u64 + 1)), MOST).unwrap();
            let age = std::time::Duration::from_secs(100 - at as u64);
            let file = fs_err::OpenOptions::new().append(true).open(file(dir, pane).unwrap()).unwrap();
            file.file().set_modified(std::time::SystemTime::now() - age).unwrap();
        }
        let size = |pane: &str| file(dir, pane).unwrap().metadata().unwrap().len();
        let most = size("pn-0001") + size("pn-0002") + size("pn-0003") + 100;
        write(dir, "pn-0004", &text(&noise(9)), most).unwrap();
        let mut left: Vec<String> = all(dir).into_iter().map(|(pane, _)| pane).collect();
        left.sort();
        assert_eq!(left, ["pn-0002", "pn-0003", "pn-0004"]);
        write(dir, "pn-0002", &text(&" ".repeat(20 << 20)), MOST).unwrap();
        assert_eq!(read(dir, "pn-0002").unwrap().text.len() as u64, LONGEST);
    }
}
