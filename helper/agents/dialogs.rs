//! Which question an agent waits at, read from what its pane shows. Pure: how each one reads is data of the catalog.
//!
//! An agent may show anything above its own input, a copy of such a question too. So one counts only where it stands last on the
//! screen, with nothing below it but the keys that it takes.

use super::catalog::{Agent, Dialog};

/// The question whether to go on with the full conversation or with a summary: the only one that is ever answered.
pub const SUMMARY: &str = "resume_summary";

/// A question that is none of the catalog's.
pub const UNKNOWN: &str = "unknown_question";

/// A question that an agent waits at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// A stable `snake_case` word.
    pub name: String,
    /// What is asked, for people.
    pub title: String,
    /// The choices that have a number; of [`SUMMARY`] alone.
    pub choices: Vec<Choice>,
}

/// A choice that its number chooses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// The key.
    pub number: u8,
    /// Its words.
    pub text: String,
    /// Its first line as it is shown, with the number.
    pub shown: String,
}

impl Question {
    /// The choice of this number.
    pub fn choice(&self, number: u8) -> Option<&Choice> {
        self.choices.iter().find(|choice| choice.number == number)
    }

    /// The choice that goes on with the full conversation.
    pub fn full(&self) -> Option<&Choice> {
        let mut full = self.choices.iter().filter(|choice| squeezed(&choice.text).contains("fullsession"));
        full.next().filter(|_| full.next().is_none())
    }
}

/// The question that stands at the live end of a screen, if any does. `screen` is what the pane shows now, without its history.
pub fn question(agent: &Agent, screen: &[String]) -> Option<Question> {
    let end = screen.iter().rposition(|line| !line.trim().is_empty())? + 1;
    if let Some(inner) = in_frame(&screen[..end]) {
        // A prompt may stand in a frame too, with anything in it: only what is known counts there, and nothing is answered.
        let known = |question: &Question| question.name != UNKNOWN && question.name != SUMMARY;
        return ended(agent, &inner).filter(known);
    }
    ended(agent, &screen[..end])
}

/// What stands in the frame that a screen ends with, and above it; a selection there is shown by `●` too.
fn in_frame(screen: &[String]) -> Option<Vec<String>> {
    let (last, above) = screen.split_last()?;
    let is_frame = last.trim().starts_with('╰') && last.trim().ends_with('╯');
    let inner = |line: &String| {
        let own = line.trim().strip_prefix('│').and_then(|line| line.strip_suffix('│')).unwrap_or(line).trim_end();
        if own.trim_start().starts_with("● ") { own.replacen('●', "›", 1) } else { own.to_owned() }
    };
    is_frame.then(|| above.iter().map(inner).collect())
}

fn ended(agent: &Agent, screen: &[String]) -> Option<Question> {
    let end = screen.iter().rposition(|line| !line.trim().is_empty())? + 1;
    let lines: Vec<Line> = screen[..end].iter().map(|line| Line::of(line)).collect();
    match List::of(&lines) {
        Some(list) => Some(list.question(agent, &lines)),
        None => agent.dialogs.iter().find(|dialog| ends_with_keys(dialog, &lines)).map(named),
    }
}

fn named(dialog: &Dialog) -> Question {
    Question { name: dialog.name.clone(), title: dialog.title.clone(), choices: Vec::new() }
}

/// How many lines above a question can belong to it, in a narrow pane too.
const REACH: usize = 40;

/// Most lines of keys below a question.
const KEY_LINES: usize = 3;

/// Of a question without a list of choices: its texts, and last on the screen its keys, letters among them.
fn ends_with_keys(dialog: &Dialog, lines: &[Line]) -> bool {
    let width = width(lines);
    let letter = |part: &str| part.split(' ').next().is_some_and(|word| word.len() == 1 && word.as_bytes()[0].is_ascii_alphabetic());
    let is_key = |part: &str| is_key(part) || letter(part);
    let keys = (lines.len().saturating_sub(KEY_LINES)..lines.len()).map(|at| &lines[at..]).find(|below| are_keys(below, width, is_key));
    let shown = squeezed_lines(&lines[lines.len().saturating_sub(REACH)..]);
    dialog.choices.is_empty()
        && keys.is_some_and(|keys| squeezed_lines(keys).contains(&squeezed(&dialog.keys)))
        && dialog.texts.iter().all(|text| shown.contains(&squeezed(text)))
}

/// A line: where its text begins, and the text.
#[derive(Clone, Copy)]
struct Line<'a> {
    column: usize,
    text: &'a str,
    /// Whether the selection stands here.
    chosen: bool,
}

impl<'a> Line<'a> {
    fn of(line: &'a str) -> Self {
        let text = line.trim();
        let column = line.chars().take_while(|c| c.is_whitespace()).count();
        let plain = Self { column, text, chosen: false };
        let behind = |cursor: char| text.strip_prefix(cursor).filter(|rest| rest.starts_with(char::is_whitespace)).map(str::trim_start);
        // `>` begins what is quoted, too.
        let chosen = behind('❯').or_else(|| behind('›')).or_else(|| behind('>').filter(|rest| numbered(rest).is_some()));
        match chosen {
            Some(rest) => Self { column: column + text.chars().count() - rest.chars().count(), text: rest, chosen: true },
            None => plain,
        }
    }

    fn is_blank(&self) -> bool {
        self.text.is_empty()
    }

    /// Whether keys are told here.
    fn is_keys(&self) -> bool {
        self.text.split('·').next().is_some_and(is_key)
    }

    fn end(&self) -> usize {
        self.column + self.text.chars().count()
    }

    /// Whether it begins with a word that had no room in the line above, on a screen whose widest line is so wide.
    fn goes_on(&self, above: &Line, width: usize) -> bool {
        let first_word = self.text.split(' ').next().unwrap_or_default().chars().count();
        self.text.starts_with(char::is_alphabetic) && above.end() + 1 + first_word > width
    }

    fn number(&self) -> Option<u8> {
        numbered(self.text).map(|(number, _)| number)
    }
}

/// `2. Text`.
fn numbered(text: &str) -> Option<(u8, &str)> {
    let (number, rest) = text.split_once(". ")?;
    let digits = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()) && !number.starts_with('0');
    Some((number.parse().ok().filter(|_| digits)?, rest.trim()))
}

/// Choices, one of them selected, last on the screen.
struct List {
    /// Where the list begins.
    begin: usize,
    choices: Vec<Item>,
}

struct Item {
    number: Option<u8>,
    /// Its first line.
    shown: String,
    /// All its words.
    words: String,
}

impl List {
    fn of(lines: &[Line]) -> Option<Self> {
        let cursor = lines.iter().rposition(|line| line.chosen)?;
        let column = lines[cursor].column;
        let width = width(lines);
        let begin = match lines[cursor].number() {
            Some(number) => begin_of_numbers(lines, cursor, number, width)?,
            None => {
                let own = |line: &Line| !line.is_blank() && !line.chosen && line.column >= column;
                cursor - lines[..cursor].iter().rev().take_while(|line| own(line)).count()
            }
        };
        let is_numbered = lines[cursor].number().is_some();
        let mut choices: Vec<Item> = Vec::new();
        let mut end = begin;
        for (at, line) in lines.iter().enumerate().skip(begin) {
            if line.is_blank() && is_numbered {
                continue;
            }
            // Some wrap to the left edge.
            let goes_on = at == end
                && at > begin
                && (line.column > column || (is_numbered && line.goes_on(&lines[at - 1], width) && !line.is_keys()));
            if line.is_blank() || (line.column < column && !goes_on) {
                break;
            }
            let next = choices.last().map_or(line.number(), |last| last.number.and_then(|number| number.checked_add(1)));
            match (is_numbered, line.column == column) {
                (true, true) if line.number() == next => {
                    let words = numbered(line.text).map_or(line.text, |(_, words)| words);
                    choices.push(Item { number: next, shown: line.text.to_owned(), words: words.to_owned() });
                }
                (false, true) => choices.push(Item { number: None, shown: line.text.to_owned(), words: line.text.to_owned() }),
                // It goes on, where the pane is narrow.
                (_, false) if goes_on => {
                    let words = &mut choices.last_mut()?.words;
                    words.push(' ');
                    words.push_str(line.text);
                }
                _ => break,
            }
            end = at + 1;
        }
        let below = &lines[end..];
        // Without numbers and keys it may be a prompt, and what stands around it; at the left edge anything.
        let waits = !below.is_empty() || (is_numbered && lines[end - 1].column >= column);
        (end > cursor && choices.len() > 1 && waits && are_keys(below, width, is_key)).then_some(Self { begin, choices })
    }

    fn question(&self, agent: &Agent, lines: &[Line]) -> Question {
        let above = squeezed_lines(&lines[self.begin.saturating_sub(REACH)..self.begin]);
        let choices: Vec<String> = self.choices.iter().map(|item| squeezed(&item.words)).collect();
        let all = choices.concat();
        let fits = |dialog: &&Dialog| {
            // What is answered holds nothing but what is known: an agent may be led to ask something that looks like it.
            let known = |choice: &String| dialog.choices.iter().any(|text| choice.contains(&squeezed(text)));
            let whole = dialog.name != SUMMARY || choices.iter().all(known);
            !dialog.choices.is_empty()
                && whole
                && dialog.choices.iter().all(|text| all.contains(&squeezed(text)))
                && dialog.texts.iter().all(|text| above.contains(&squeezed(text)))
        };
        let Some(dialog) = agent.dialogs.iter().find(fits) else {
            return Question { name: UNKNOWN.to_owned(), title: "a question that Sidecar does not know".to_owned(), choices: Vec::new() };
        };
        let mut question = named(dialog);
        if dialog.name == SUMMARY {
            // Above 9 there is no key.
            let key = |item: &Item| item.number.filter(|number| *number < 10);
            let choice = |item: &Item| Some(Choice { number: key(item)?, text: item.words.clone(), shown: item.shown.clone() });
            question.choices = self.choices.iter().filter_map(choice).collect();
        }
        question
    }
}

/// Where the choices begin of which this line is the one of that number: at 1, or at the top of the screen.
fn begin_of_numbers(lines: &[Line], cursor: usize, number: u8, width: usize) -> Option<usize> {
    let (mut begin, mut number) = (cursor, number);
    for at in (0..cursor).rev() {
        if number == 1 {
            break;
        }
        let line = &lines[at];
        if line.column == lines[cursor].column && line.number() == Some(number - 1) && !line.chosen {
            (begin, number) = (at, number - 1);
        } else if !line.is_blank() && line.column <= lines[cursor].column && !(at > 0 && line.goes_on(&lines[at - 1], width)) {
            return None;
        }
    }
    Some(begin)
}

fn width(lines: &[Line]) -> usize {
    lines.iter().map(Line::end).max().unwrap_or_default()
}

/// Whether nothing stands there but keys and what they do: `Enter to confirm · Esc to cancel`. `width` is that of the widest line of
/// the screen: only what had no room above goes on below.
fn are_keys(lines: &[Line], width: usize, is_key: impl Fn(&str) -> bool) -> bool {
    let filled = lines.iter().filter(|line| !line.is_blank()).count();
    let mut above: Option<&Line> = None;
    filled <= KEY_LINES
        && !lines.iter().any(|line| line.chosen)
        && lines.iter().all(|line| {
            let before = if line.is_blank() { above.take() } else { above.replace(line) };
            let beneath = |above: &Line| line.column == above.column || (line.column > 0 && line.column + 1 == above.column);
            let had_no_room = before.is_some_and(|above| beneath(above) && line.goes_on(above, width));
            let mut parts = line.text.split('·').flat_map(|part| part.split("   ")).map(str::trim).filter(|part| !part.is_empty());
            parts.next().is_none_or(|part| had_no_room || is_key(part)) && parts.all(&is_key)
        })
}

/// Whether this begins with a key, and tells in a few words what it does.
fn is_key(part: &str) -> bool {
    const KEYS: &[&str] = &["enter", "return", "esc", "escape", "tab", "space", "ctrl", "shift", "alt"];
    let words: Vec<String> = part.split_whitespace().map(str::to_lowercase).collect();
    let first = words.iter().find(|word| !["press", "use", "or"].contains(&word.as_str()));
    let key = |word: &String| {
        word.starts_with(['↑', '↓', '←', '→', '↵', '⏎', '^']) || KEYS.contains(&word.split(['/', '+', '-']).next().unwrap_or_default())
    };
    words.len() <= 8 && first.is_some_and(key)
}

/// Without what differs between a wide pane and a narrow one, and without capitals.
fn squeezed(text: &str) -> String {
    let plain = |c: char| !c.is_whitespace() && !('\u{2500}'..='\u{257f}').contains(&c);
    text.chars().filter(|&c| plain(c)).map(|c| if c == '’' { '\'' } else { c }).flat_map(char::to_lowercase).collect()
}

fn squeezed_lines(lines: &[Line]) -> String {
    lines.iter().map(|line| squeezed(line.text)).collect()
}

#[cfg(test)]
#[path = "dialogs_tests.rs"]
mod tests;
