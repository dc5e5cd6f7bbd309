//! The rows of a tmux-resurrect save, in every form that it ever had. What can't be read costs that row alone.
//!
//! The columns are apart by tabs. At first a pane's row held its window's name; later the window's row does, with `automatic-rename`,
//! and the pane's row holds the pane's title. The script reads tmux's answer with tabs as white space, so that an empty title (or
//! command) leaves its column out, and every later one moves up: the process id then stands where the command should, and the
//! command line is that of some other process.

use crate::model::Window;

/// The longest name or title, in bytes.
const LONGEST_NAME: usize = 1000;
/// The longest path that Linux takes, in bytes.
const LONGEST_PATH: usize = 4096;
/// The longest command line that is kept, in bytes.
const LONGEST_COMMAND: usize = 64 * 1024;
/// The columns of a pane's row: the last one, a command line, may hold tabs.
const COLUMNS: usize = 11;

/// What a save holds, in its own order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Save<'a> {
    pub(super) panes: Vec<PaneRow<'a>>,
    pub(super) windows: Vec<WindowRow<'a>>,
    pub(super) groups: Vec<GroupRow<'a>>,
    /// What could not be read.
    pub problems: Vec<Problem>,
}

/// What is wrong with a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Its number, from 1.
    pub line: usize,
    /// What is wrong, and what that costs.
    pub message: String,
}

impl Problem {
    pub(super) fn at(line: usize, message: impl Into<String>) -> Self {
        Self { line, message: message.into() }
    }
}

/// A window of a session, as both kinds of row name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Place<'a> {
    pub(super) session: &'a [u8],
    pub(super) window: u32,
}

/// What a row tells of its window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct WindowFacts<'a> {
    /// `None` where the row does not tell it.
    pub(super) name: Option<&'a [u8]>,
    pub(super) active: bool,
    pub(super) flags: &'a [u8],
    /// `None` where the row does not tell it.
    pub(super) automatic_rename: Option<bool>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PaneRow<'a> {
    pub(super) line: usize,
    pub(super) place: Place<'a>,
    pub(super) window: WindowFacts<'a>,
    pub(super) index: u32,
    pub(super) title: &'a [u8],
    /// As it was saved; empty where it is unknown.
    pub(super) dir: &'a [u8],
    pub(super) active: bool,
    /// The command line of the program in front; empty at a prompt, and where it is unknown.
    pub(super) command: &'a [u8],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct WindowRow<'a> {
    pub(super) line: usize,
    pub(super) place: Place<'a>,
    pub(super) window: WindowFacts<'a>,
    pub(super) layout: &'a [u8],
}

/// A session that shares the windows of another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct GroupRow<'a> {
    pub(super) line: usize,
    pub(super) session: &'a [u8],
    pub(super) original: &'a [u8],
    pub(super) last: Option<u32>,
    pub(super) active: Option<u32>,
}

/// Reads a save. Any bytes are one, if need be with nothing but problems.
pub fn parse(bytes: &[u8]) -> Save<'_> {
    let mut save = Save::default();
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    for (at, line) in bytes.split(|&byte| byte == b'\n').enumerate() {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if let Err(message) = save.add(at + 1, line) {
            save.problems.push(Problem::at(at + 1, message));
        }
    }
    save.cut_short(bytes);
    save
}

impl<'a> Save<'a> {
    fn add(&mut self, line: usize, text: &'a [u8]) -> Result<(), String> {
        if text.contains(&0) {
            return Err("it holds a zero byte, as a damaged file does; left out".to_owned());
        }
        let fields: Vec<&[u8]> = text.splitn(COLUMNS, |&byte| byte == b'\t').collect();
        match fields[0] {
            b"pane" => {
                let row = self.pane(line, &fields)?;
                self.panes.push(row);
            }
            b"window" => {
                let row = self.window(line, &fields)?;
                self.windows.push(row);
            }
            b"grouped_session" => self.groups.push(group(line, &fields)?),
            b"" if fields.len() == 1 => {}
            // Which session the client showed: a restore shows none by itself.
            b"state" => {}
            // A pane with several programs has a line for each of them.
            _ => return Err("it is no row of a save; left out".to_owned()),
        }
        Ok(())
    }

    fn pane(&mut self, line: usize, fields: &[&'a [u8]]) -> Result<PaneRow<'a>, String> {
        let place = place(fields)?;
        let at = |column: usize| fields.get(column).copied().unwrap_or_default();
        // Which column is which: a flag or a number where another form has a text behind a colon.
        let titled = at(4).starts_with(b":") && number(at(5)).is_some();
        let (window, index, rest) = if titled {
            let (active, automatic_rename) = window_active(at(3))?;
            (WindowFacts { name: None, active, flags: plain(at(4)), automatic_rename }, at(5), 6)
        } else {
            let (active, automatic_rename) = window_active(at(4))?;
            let name = self.bounded(line, "the window's name", plain(at(3)), LONGEST_NAME);
            (WindowFacts { name, active, flags: plain(at(5)), automatic_rename }, at(6), 7)
        };
        let index = number(index).ok_or("its pane has no index; left out")?;
        let untitled = titled && at(6).starts_with(b":") && flag(at(7)).is_some();
        let (title, rest) = if titled && !untitled { (at(6), rest + 1) } else { (&b""[..], rest) };
        let active = flag(at(rest + 1)).ok_or("it is cut short, or its columns are not those of a pane; left out")?;
        // Digits where the program's name should be are a process id: a column was left out, and the command line is a stranger's.
        let program = at(rest + 2);
        let moved_up = !program.is_empty() && program.iter().all(u8::is_ascii_digit);
        let command = at(rest + 3).strip_prefix(b":").filter(|_| !moved_up).unwrap_or_default();
        let command = self.bounded(line, "its command", command, LONGEST_COMMAND).unwrap_or_default();
        let dir = match plain(at(rest)) {
            dir if dir.len() > LONGEST_PATH => return Err(format!("its directory has {} bytes; left out", dir.len())),
            dir if dir.is_empty() || dir.starts_with(b"/") => dir,
            _ => {
                self.problems.push(Problem::at(line, "its directory is no full path; the pane opens in the session's"));
                b""
            }
        };
        let title = self.bounded(line, "its title", title, LONGEST_NAME).unwrap_or_default();
        Ok(PaneRow { line, place, window, index, title, dir, active, command })
    }

    fn window(&mut self, line: usize, fields: &[&'a [u8]]) -> Result<WindowRow<'a>, String> {
        let place = place(fields)?;
        let at = |column: usize| fields.get(column).copied().unwrap_or_default();
        let named = at(3).starts_with(b":");
        let first = if named { 4 } else { 3 };
        let (active, _) = window_active(at(first))?;
        let name = if named { self.bounded(line, "the window's name", plain(at(3)), LONGEST_NAME) } else { None };
        let automatic_rename = match at(first + 3) {
            b"on" => Some(true),
            b"off" => Some(false),
            // Not set for this window: tmux's own default.
            b":" => Some(true),
            _ => None,
        };
        let window = WindowFacts { name, active, flags: plain(at(first + 1)), automatic_rename };
        Ok(WindowRow { line, place, window, layout: at(first + 2) })
    }

    /// A text, unless it is too long.
    fn bounded(&mut self, line: usize, what: &str, text: &'a [u8], most: usize) -> Option<&'a [u8]> {
        if text.len() <= most {
            return Some(text);
        }
        self.problems.push(Problem::at(line, format!("{what} has {} bytes, {most} are the most; left out", text.len())));
        None
    }

    /// Every save ends with a line break: a last line without one may lack its end.
    fn cut_short(&mut self, bytes: &[u8]) {
        if bytes.is_empty() || bytes.ends_with(b"\n") {
            return;
        }
        let last = bytes.split(|&byte| byte == b'\n').count();
        if let Some(row) = self.panes.last_mut().filter(|row| row.line == last) {
            row.command = b"";
        } else if let Some(row) = self.windows.last_mut().filter(|row| row.line == last) {
            row.layout = b"";
        } else if self.groups.last().is_some_and(|row| row.line == last) {
            self.groups.pop();
        } else {
            return;
        }
        self.problems.push(Problem::at(last, "the file ends within this line: it was cut short"));
    }
}

fn group<'a>(line: usize, fields: &[&'a [u8]]) -> Result<GroupRow<'a>, String> {
    let session = session(fields.get(1).copied())?;
    let original = fields.get(2).copied().filter(|name| !name.is_empty()).ok_or("it does not tell whose windows it shares; left out")?;
    let index = |column: usize| fields.get(column).and_then(|field| number(plain(field)));
    Ok(GroupRow { line, session, original, last: index(3), active: index(4) })
}

fn place<'a>(fields: &[&'a [u8]]) -> Result<Place<'a>, String> {
    let session = session(fields.get(1).copied())?;
    let window = fields.get(2).and_then(|field| number(field)).ok_or("its window has no index that tmux could give; left out")?;
    Ok(Place { session, window })
}

fn session(name: Option<&[u8]>) -> Result<&[u8], String> {
    let name = name.filter(|name| !name.is_empty()).ok_or("it names no session; left out")?;
    if name.len() > LONGEST_NAME {
        return Err(format!("its session's name has {} bytes, {LONGEST_NAME} are the most; left out", name.len()));
    }
    Ok(name)
}

/// A column without the colon that keeps it from being empty. The first versions had none.
fn plain(field: &[u8]) -> &[u8] {
    field.strip_prefix(b":").unwrap_or(field)
}

fn number(field: &[u8]) -> Option<u32> {
    let text = std::str::from_utf8(field).ok().filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()))?;
    text.parse().ok().filter(|&number| number <= Window::LAST_INDEX)
}

fn flag(field: &[u8]) -> Option<bool> {
    match field {
        b"0" => Some(false),
        b"1" => Some(true),
        _ => None,
    }
}

/// Whether the window is its session's current one, and, in saves of one version, whether tmux renames it: the second bit.
fn window_active(field: &[u8]) -> Result<(bool, Option<bool>), String> {
    match field {
        b"0" | b"1" => Ok((field == b"1", None)),
        b"2" | b"3" => Ok((field == b"3", Some(true))),
        _ => Err("it is cut short, or its columns are of no version that is known; left out".to_owned()),
    }
}
