//! Our parts of Codex's `config.toml`: put in and taken out by cutting text, so that every other byte stays.
//!
//! Hooks go here only where the user keeps hooks here: Codex warns of hooks in both files.

use std::ops::Range;

use toml_edit::{Document, Item, Table, TableLike};

use super::command::Hook;
use super::found::{Entry, Found, Wrong};

/// Codex's own title (a spinner, the thread, the project), and the id of the conversation.
const TITLE: &str = r#"["activity", "thread-title", "project-name", "thread-id"]"#;
/// What tells the id; Codex cuts it to 29 characters.
const TITLE_ITEM: &str = "thread-id";
/// How a line of ours is known again.
const MARK: &str = "# set by sidecar";

/// What there is of ours, whether there are other hooks, and whether the file keeps all from running.
pub(super) fn look(text: &str, hook: &Hook) -> Result<Found, Wrong> {
    let doc = parse(text)?;
    let hooks = doc.get("hooks").and_then(Item::as_table_like);
    let any = hooks.is_some_and(|hooks| hooks.iter().any(|(event, item)| event != "state" && !item.is_none()));
    let off = |name| doc.get("features").and_then(|features| features.get(name)).and_then(Item::as_bool) == Some(false);
    let entries = entries(&doc, hook).into_iter().map(|found| Entry { event: found.event.to_owned(), line: found.line.to_owned() });
    Ok(Found { entries: entries.collect(), disabled: off("hooks") || off("codex_hooks"), any })
}

/// The text with exactly one entry of ours for each event, calling `line`.
pub(super) fn install(text: &str, hook: &Hook, line: &str) -> Result<String, Wrong> {
    let mut text = text.to_owned();
    while let Some(next) = nearer(&text, hook, line)? {
        text = next;
    }
    Ok(text)
}

/// The text one edit nearer to what it is to be; `None` if it is that.
fn nearer(text: &str, hook: &Hook, line: &str) -> Result<Option<String>, Wrong> {
    let doc = parse(text)?;
    let found = entries(&doc, hook);
    for (at, entry) in found.iter().enumerate() {
        if !hook.events.contains(&entry.event) || found[..at].iter().any(|before| before.event == entry.event) {
            return cut_table(text, entry).map(Some);
        }
        if entry.line != line {
            return Ok(Some(spliced(text, entry.literal.clone(), &quoted(line))));
        }
    }
    let missing = hook.events.iter().find(|event| !found.iter().any(|entry| entry.event == **event));
    let Some(event) = missing else { return Ok(None) };
    let end = line_end(text);
    let table =
        format!("[[hooks.{event}]]{end}hooks = [{{ type = \"command\", command = {}, timeout = {} }}]{end}", quoted(line), hook.timeout);
    let longer = append(text, &table);
    if parse(&longer).is_err() {
        let place = place_of(&doc, &["hooks", event]).or_else(|| place_of(&doc, &["hooks"])).unwrap_or(0);
        return Err(Wrong::at(
            text,
            place,
            format!("hooks stand here in a form that nothing can be added to: make them [[hooks.{event}]] tables"),
        ));
    }
    Ok(Some(longer))
}

/// The text without our entries: `original`, byte for byte, if nothing else has changed since. Nothing left is `None`, unless there
/// is an original.
pub(super) fn uninstall(text: &str, hook: &Hook, original: Option<&str>) -> Result<Option<String>, Wrong> {
    let line = look(text, hook)?.entries.into_iter().next().map(|entry| entry.line);
    if let (Some(original), Some(line)) = (original, line) {
        if install(original, hook, &line).is_ok_and(|installed| installed == text) {
            return Ok(Some(original.to_owned()));
        }
    }
    let mut text = text.to_owned();
    loop {
        let shorter = match entries(&parse(&text)?, hook).first() {
            Some(entry) => cut_table(&text, entry)?,
            None => return Ok(kept(&text, original)),
        };
        text = shorter;
    }
}

/// Whether the title that Codex gives its terminal tells the conversation.
pub(super) fn has_titles(text: &str) -> Result<bool, Wrong> {
    let doc = parse(text)?;
    let items = doc.get("tui").and_then(|tui| tui.get("terminal_title")).and_then(Item::as_array);
    Ok(items.is_some_and(|items| items.iter().any(|item| item.as_str() == Some(TITLE_ITEM))))
}

/// Whether that is our doing: the line is marked, or `original` had none.
pub(super) fn has_our_titles(text: &str, original: Option<&str>) -> bool {
    let had = original.is_none_or(|original| has_titles(original).unwrap_or(true));
    text.contains(MARK) || (!had && has_titles(text).unwrap_or(false))
}

/// The text with a terminal title that tells the conversation: the user's with the id behind it, else Codex's own with it.
pub(super) fn install_titles(text: &str) -> Result<String, Wrong> {
    if has_titles(text)? {
        return Ok(text.to_owned());
    }
    let doc = parse(text)?;
    let tui = doc.get("tui");
    if let Some(title) = tui.and_then(|tui| tui.get("terminal_title")) {
        let place = title.span().unwrap_or_default();
        let Some(items) = title.as_array() else {
            return Err(Wrong::at(text, place.start, format!("tui.terminal_title is no list: add \"{TITLE_ITEM}\" to it by hand")));
        };
        let (at, item) = match items.iter().last().and_then(toml_edit::Value::span) {
            Some(last) => (last.end, format!(", \"{TITLE_ITEM}\"")),
            None => (place.start + 1, format!("\"{TITLE_ITEM}\"")),
        };
        return Ok(spliced(text, at..at, &item));
    }
    let end = line_end(text);
    let line = format!("terminal_title = {TITLE} {MARK}{end}");
    if let Some(header) = tui.and_then(header) {
        let at = whole_lines(text, header).end;
        let gap = if text[..at].ends_with('\n') { "" } else { end };
        return Ok(spliced(text, at..at, &format!("{gap}{line}")));
    }
    let longer = append(text, &format!("[tui]{end}{line}"));
    if parse(&longer).is_err() {
        let place = place_of(&doc, &["tui"]).unwrap_or(0);
        return Err(Wrong::at(
            text,
            place,
            format!("\"tui\" stands here in a form that nothing can be added to: set terminal_title = {TITLE} by hand"),
        ));
    }
    Ok(longer)
}

/// The text with the title that was there before, as `original` tells.
pub(super) fn uninstall_titles(text: &str, original: Option<&str>) -> Result<Option<String>, Wrong> {
    if original.is_some_and(|original| install_titles(original).is_ok_and(|installed| installed == text)) {
        return Ok(original.map(str::to_owned));
    }
    let doc = parse(text)?;
    let tui = doc.get("tui").and_then(Item::as_table_like);
    let title = tui.and_then(|tui| tui.get("terminal_title"));
    let (Some(tui), Some(title), Some(place)) = (tui, title, title.and_then(Item::span)) else { return Ok(kept(text, original)) };
    let line = whole_lines(text, place);
    if text[line.clone()].trim_end().ends_with(MARK) {
        let had_header = original.is_some_and(|original| parse(original).is_ok_and(|doc| doc.get("tui").and_then(header).is_some()));
        let in_it = tui.iter().filter(|(_, item)| item.as_table().is_none_or(Table::is_dotted)).count();
        let header = doc.get("tui").and_then(header).filter(|_| in_it == 1 && !had_header);
        return Ok(kept(
            &header.map_or_else(|| spliced(text, line.clone(), ""), |header| cut_block(text, header.start..line.end)),
            original,
        ));
    }
    // An item in the user's own list is ours if the list had none.
    let items: Vec<&toml_edit::Value> = title.as_array().into_iter().flatten().collect();
    let ours = items.iter().position(|item| item.as_str() == Some(TITLE_ITEM)).filter(|_| has_our_titles(text, original));
    let span = |at: usize| items.get(at).and_then(|item| item.span());
    let range = ours.and_then(|at| match at.checked_sub(1) {
        Some(before) => Some(span(before)?.end..span(at)?.end),
        None => Some(span(at)?.start..span(at + 1).map_or(span(at)?.end, |next| next.start)),
    });
    Ok(Some(range.map_or_else(|| text.to_owned(), |range| spliced(text, range, ""))))
}

fn parse(text: &str) -> Result<Document<&str>, Wrong> {
    Document::parse(text).map_err(|error| {
        let what = error.message().lines().next().unwrap_or_default();
        Wrong::at(text, error.span().unwrap_or_default().start, format!("it is not TOML: {what}"))
    })
}

/// An entry of ours.
struct Handler<'d> {
    event: &'d str,
    line: &'d str,
    /// The text of the line in the file, with its quotes.
    literal: Range<usize>,
    /// The table that holds it and nothing else, from its header on.
    table: Option<Range<usize>>,
}

fn entries<'d>(doc: &'d Document<&str>, hook: &Hook) -> Vec<Handler<'d>> {
    let mut found = Vec::new();
    for (event, item) in doc.get("hooks").and_then(Item::as_table_like).into_iter().flat_map(|hooks| hooks.iter()) {
        for (group, header) in tables(item) {
            let Some(handlers) = group.get("hooks") else { continue };
            let alone = group.len() == 1 && handlers.as_array().is_some_and(|list| list.len() == 1);
            let table = header.zip(handlers.span()).filter(|_| alone).map(|(header, value)| header.start..value.end);
            for (handler, _) in tables(handlers) {
                let command = handler.get("command").and_then(|command| command.as_str().zip(command.span()));
                if let Some((line, literal)) = command.filter(|(line, _)| hook.is_ours(line)) {
                    found.push(Handler { event, line, literal, table: table.clone() });
                }
            }
        }
    }
    found
}

/// The tables of a list, in either form, with their headers where they have one.
fn tables(item: &Item) -> Vec<(&dyn TableLike, Option<Range<usize>>)> {
    let inline = item.as_array().into_iter().flatten().filter_map(|value| Some((value.as_inline_table()? as &dyn TableLike, None)));
    let headed = item.as_array_of_tables().into_iter().flatten().map(|table| (table as &dyn TableLike, table.span()));
    inline.chain(headed).collect()
}

/// The text of a table's own header.
fn header(item: &Item) -> Option<Range<usize>> {
    item.as_table().filter(|table| !table.is_implicit() && !table.is_dotted()).and_then(Table::span)
}

fn cut_table(text: &str, entry: &Handler) -> Result<String, Wrong> {
    match &entry.table {
        Some(table) => Ok(cut_block(text, whole_lines(text, table.clone()))),
        None => Err(Wrong::at(text, entry.literal.start, "Sidecar's hook stands here among others: take it out by hand")),
    }
}

/// Puts lines at the end, with an empty one before them.
fn append(text: &str, lines: &str) -> String {
    let end = line_end(text);
    let gap = match text {
        "" => String::new(),
        text if text.ends_with('\n') => end.to_owned(),
        _ => end.repeat(2),
    };
    format!("{text}{gap}{lines}")
}

/// Takes lines out, with the empty one before them.
fn cut_block(text: &str, lines: Range<usize>) -> String {
    let before = &text[..lines.start];
    let before = match before.strip_suffix("\r\n").or_else(|| before.strip_suffix('\n')) {
        Some(shorter) if shorter.is_empty() || shorter.ends_with('\n') => shorter,
        _ => before,
    };
    format!("{before}{}", &text[lines.end..])
}

/// From the start of the first line to the end of the last.
fn whole_lines(text: &str, range: Range<usize>) -> Range<usize> {
    let start = text[..range.start].rfind('\n').map_or(0, |at| at + 1);
    let end = text[range.end..].find('\n').map_or(text.len(), |at| range.end + at + 1);
    start..end
}

fn spliced(text: &str, range: Range<usize>, with: &str) -> String {
    format!("{}{with}{}", &text[..range.start], &text[range.end..])
}

/// A file that we made goes with what we put in.
fn kept(text: &str, original: Option<&str>) -> Option<String> {
    (original.is_some() || !text.trim().is_empty()).then(|| text.to_owned())
}

fn place_of(doc: &Document<&str>, path: &[&str]) -> Option<usize> {
    let (first, rest) = path.split_first()?;
    let item = rest.iter().try_fold(doc.get(first)?, |item, key| item.get(key))?;
    Some(item.span()?.start)
}

fn line_end(text: &str) -> &'static str {
    if text.contains("\r\n") { "\r\n" } else { "\n" }
}

/// A basic string; what JSON escapes is escaped so in TOML too.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string().replace('\u{7f}', "\\u007f")
}

#[cfg(test)]
#[path = "toml_tests.rs"]
mod tests;
