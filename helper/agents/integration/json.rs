//! Our entries in a settings file of JSON: put in and taken out by cutting text, so that every other byte stays.
//!
//! `hooks` in every agent's file has one form: `{"hooks": {EVENT: [{"hooks": [{"type": "command", "command": LINE}]}]}}`.

use std::ops::Range;

use jsonc_parser::ast::{Array, Object, ObjectProp, Value};
use jsonc_parser::common::Ranged;
use jsonc_parser::{CollectOptions, ParseOptions};

use super::command::Hook;
use super::found::{Entry, Found, Wrong};

const MARK: &str = "\u{feff}";

/// What there is of ours, and whether the file keeps all hooks from running.
pub(super) fn look(text: &str, hook: &Hook) -> Result<Found, Wrong> {
    let doc = Doc::parse(split_mark(text, hook)?.1, hook)?;
    let root = doc.root()?;
    let (path, off) = hook.off;
    let switch = path.split_last().and_then(|(key, path)| {
        let object = path.iter().try_fold(root?, |object, key| member(object, key)?.value.as_object())?;
        Some(&member(object, key)?.value)
    });
    let disabled = matches!(switch, Some(Value::BooleanLit(lit)) if lit.value == off);
    let entries = doc.handlers()?.into_iter().map(|found| Entry { event: found.event.to_owned(), line: found.line.to_owned() }).collect();
    Ok(Found { entries, disabled, any: doc.hooks()?.is_some_and(|hooks| !hooks.properties.is_empty()) })
}

/// The text with exactly one entry of ours for each event, calling `line`. The same text if that is so already.
pub(super) fn install(text: &str, hook: &Hook, line: &str) -> Result<String, Wrong> {
    let (mark, text) = split_mark(text, hook)?;
    let mut text = text.to_owned();
    while let Some(next) = Doc::parse(&text, hook)?.nearer(line)? {
        text = next;
    }
    Ok(format!("{mark}{text}"))
}

/// The text without our entries: `original`, byte for byte, if nothing else has changed since. Containers that get empty go too,
/// but for those that the original has. Nothing left at all is `None`, unless there is an original.
pub(super) fn uninstall(text: &str, hook: &Hook, original: Option<&str>) -> Result<Option<String>, Wrong> {
    let line = look(text, hook)?.entries.into_iter().next().map(|entry| entry.line);
    if let (Some(original), Some(line)) = (original, line) {
        if install(original, hook, &line).is_ok_and(|installed| installed == text) {
            return Ok(Some(original.to_owned()));
        }
    }
    let doc = original.and_then(|text| Doc::parse(split_mark(text, hook).ok()?.1, hook).ok());
    let had = |event: Option<&str>| {
        let hooks = doc.as_ref().and_then(|doc| doc.hooks().ok().flatten());
        hooks.is_some_and(|hooks| event.is_none_or(|event| member(hooks, event).is_some()))
    };
    let (mark, text) = split_mark(text, hook)?;
    let mut text = text.to_owned();
    while let Some(next) = Doc::parse(&text, hook)?.without_one(had)? {
        text = next;
    }
    let nothing = matches!(text.replace(is_space, "").as_str(), "" | "{}");
    Ok((!nothing || original.is_some()).then(|| format!("{mark}{text}")))
}

/// The byte order mark, if there is one, and the text behind it.
fn split_mark<'a>(text: &'a str, hook: &Hook) -> Result<(&'static str, &'a str), Wrong> {
    match text.strip_prefix(MARK) {
        None => Ok(("", text)),
        Some(_) if !hook.mark => Err(Wrong::at(text, 0, "it begins with a byte order mark, and its agent reads no such file")),
        Some(body) => Ok((MARK, body)),
    }
}

/// A parsed file.
struct Doc<'a> {
    text: &'a str,
    hook: &'a Hook,
    value: Option<Value<'a>>,
}

/// An entry of ours.
struct Handler<'d> {
    event: &'d str,
    line: &'d str,
    /// The text of the line in the file, with its quotes.
    literal: Range<usize>,
    /// The containers that it lies in, and its place in each of them: the group's `hooks`, the event's groups.
    handlers: &'d Array<'d>,
    at: usize,
    groups: &'d Array<'d>,
    group: usize,
}

impl<'a> Doc<'a> {
    fn parse(text: &'a str, hook: &'a Hook) -> Result<Self, Wrong> {
        let strict = ParseOptions {
            allow_comments: hook.comments,
            allow_loose_object_property_names: false,
            allow_trailing_commas: false,
            allow_missing_commas: false,
            allow_single_quoted_strings: false,
            allow_hexadecimal_numbers: false,
            allow_unary_plus_numbers: false,
            allow_bare_decimal_point_numbers: false,
            allow_non_finite_numbers: false,
            allow_extended_string_escapes: false,
        };
        // Trailing commas too, and comments for some: with one of them the agent leaves the whole file unread.
        let parsed = jsonc_parser::parse_to_ast(text, &CollectOptions::default(), &strict)
            .map_err(|error| Wrong::at(text, error.range().start, format!("it is not JSON: {}", error.kind())))?;
        Ok(Self { text, hook, value: parsed.value })
    }

    fn wrong(&self, value: &impl Ranged, what: impl Into<String>) -> Wrong {
        Wrong::at(self.text, value.range().start, what)
    }

    /// `None` for a file that holds nothing.
    fn root(&self) -> Result<Option<&Object<'a>>, Wrong> {
        match &self.value {
            None => Ok(None),
            Some(Value::Object(root)) => Ok(Some(root)),
            Some(value) => Err(self.wrong(value, "it holds no JSON object")),
        }
    }

    /// The one value of a key; two would make it a guess which one counts.
    fn single<'d>(&self, object: &'d Object<'a>, key: &str) -> Result<Option<&'d ObjectProp<'a>>, Wrong> {
        let mut all = object.properties.iter().filter(|prop| prop.name.as_str() == key);
        let first = all.next();
        match all.next() {
            Some(second) => Err(self.wrong(second, format!("the key \"{key}\" stands here for the second time"))),
            None => Ok(first),
        }
    }

    fn hooks(&self) -> Result<Option<&Object<'a>>, Wrong> {
        let Some(root) = self.root()? else { return Ok(None) };
        match self.single(root, "hooks")?.map(|prop| &prop.value) {
            None => Ok(None),
            Some(Value::Object(hooks)) => Ok(Some(hooks)),
            Some(value) => Err(self.wrong(value, "\"hooks\" is no JSON object")),
        }
    }

    fn groups(&self, event: &str) -> Result<Option<&Array<'a>>, Wrong> {
        let Some(hooks) = self.hooks()? else { return Ok(None) };
        match self.single(hooks, event)?.map(|prop| &prop.value) {
            None => Ok(None),
            Some(Value::Array(groups)) => Ok(Some(groups)),
            Some(value) => Err(self.wrong(value, format!("\"{event}\" is no list"))),
        }
    }

    /// Our entries, in order, whatever event they stand under.
    fn handlers(&self) -> Result<Vec<Handler<'_>>, Wrong> {
        let mut found = Vec::new();
        for prop in self.hooks()?.into_iter().flat_map(|hooks| &hooks.properties) {
            let event = prop.name.as_str();
            if self.hook.events.contains(&event) {
                self.groups(event)?;
            }
            let Value::Array(groups) = &prop.value else { continue };
            for (group, value) in groups.elements.iter().enumerate() {
                let Some(Value::Array(handlers)) = value.as_object().and_then(|group| member(group, "hooks")).map(|prop| &prop.value)
                else {
                    continue;
                };
                for (at, value) in handlers.elements.iter().enumerate() {
                    let line = value.as_object().and_then(|handler| member(handler, "command")).map(|prop| &prop.value);
                    let Some(Value::StringLit(line)) = line else { continue };
                    if self.hook.is_ours(&line.value) {
                        found.push(Handler {
                            event,
                            line: &line.value,
                            literal: line.range.start..line.range.end,
                            handlers,
                            at,
                            groups,
                            group,
                        });
                    }
                }
            }
        }
        Ok(found)
    }

    /// The text one edit nearer to what it is to be; `None` if it is that.
    fn nearer(&self, line: &str) -> Result<Option<String>, Wrong> {
        let handlers = self.handlers()?;
        for (at, found) in handlers.iter().enumerate() {
            let again = handlers[..at].iter().any(|before| before.event == found.event);
            if again || !self.hook.events.contains(&found.event) {
                return Ok(Some(self.cut_entry(found, |_| false)?));
            }
            if found.line != line {
                return Ok(Some(self.splice(found.literal.clone(), &quoted(line))));
            }
        }
        let missing = self.hook.events.iter().copied().find(|event| !handlers.iter().any(|found| found.event == *event));
        let Some(event) = missing else { return Ok(None) };
        let style = self.style()?;
        let groups = Node::List(vec![Node::entry(line, self.hook.timeout)]);
        Ok(Some(match (self.root()?, self.hooks()?, self.groups(event)?) {
            (_, _, Some(groups)) => self.append(groups, &groups.elements, "", &Node::entry(line, self.hook.timeout), &style),
            (_, Some(hooks), None) => self.append(hooks, &hooks.properties, event, &groups, &style),
            (Some(root), None, None) => self.append(root, &root.properties, "hooks", &Node::Object(vec![(event, groups)]), &style),
            // Comments alone stay.
            (None, None, None) => {
                let kept = self.text.trim_end_matches(is_space);
                let end = if kept.is_empty() { "" } else { style.line_end };
                format!("{kept}{end}{{}}{}", style.line_end)
            }
        }))
    }

    /// The text without the first entry of ours; `None` if there is none.
    fn without_one(&self, had: impl Fn(Option<&str>) -> bool) -> Result<Option<String>, Wrong> {
        self.handlers()?.first().map(|found| self.cut_entry(found, had)).transpose()
    }

    /// Cuts an entry out, with the containers that hold nothing else and that `had` (an event's list; `hooks` itself) lacks.
    fn cut_entry(&self, found: &Handler, had: impl Fn(Option<&str>) -> bool) -> Result<String, Wrong> {
        if found.handlers.elements.len() > 1 {
            return self.cut_member(&found.handlers.elements, found.at);
        }
        if found.groups.elements.len() > 1 {
            return self.cut_member(&found.groups.elements, found.group);
        }
        if had(Some(found.event)) {
            return self.empty(found.groups, &found.groups.elements[found.group]);
        }
        let (Some(root), Some(hooks)) = (self.root()?, self.hooks()?) else { return Ok(self.text.to_owned()) };
        let events = &hooks.properties;
        if let Some(at) = events.iter().position(|prop| prop.name.as_str() == found.event).filter(|_| events.len() > 1) {
            return self.cut_member(events, at);
        }
        if had(None) {
            return self.empty(hooks, &events[0]);
        }
        let members = &root.properties;
        match members.iter().position(|prop| prop.name.as_str() == "hooks") {
            Some(at) if members.len() > 1 => self.cut_member(members, at),
            _ => self.empty(root, &members[0]),
        }
    }

    /// Cuts the only member of a container out.
    fn empty(&self, container: &impl Ranged, only: &impl Ranged) -> Result<String, Wrong> {
        self.cut(inside(container), only)
    }

    /// Cuts one of several members, with the comma that joins it to the one before it, else to the one behind it.
    fn cut_member(&self, members: &[impl Ranged], at: usize) -> Result<String, Wrong> {
        let range = members[at].range();
        match at.checked_sub(1) {
            Some(before) => self.cut(members[before].range().end..range.end, &members[at]),
            None => self.cut(range.start..members[1].range().start, &members[at]),
        }
    }

    /// Cuts this out, of which all but spaces and commas is ours.
    fn cut(&self, range: Range<usize>, ours: &impl Ranged) -> Result<String, Wrong> {
        let beside = [&self.text[range.start..ours.range().start], &self.text[ours.range().end..range.end]];
        // Strict JSON, as a value or a member, holds no comment either.
        let own = ours.text(self.text);
        let plain = [own.to_owned(), format!("{{{own}}}")].iter().any(|text| serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok());
        if !plain || beside.iter().any(|text| text.contains(|c| c != ',' && !is_space(c))) {
            return Err(self.wrong(ours, "a comment stands beside our entry: take the entry out by hand, or move the comment away"));
        }
        Ok(self.splice(range, ""))
    }

    /// Adds a member behind the last one, set as that is; into an empty container on a line of its own, if the file has lines.
    fn append(&self, container: &impl Ranged, members: &[impl Ranged], key: &str, value: &Node, style: &Style) -> String {
        let key = if key.is_empty() { String::new() } else { format!("{}:{}", quoted(key), style.after_colon) };
        if let Some(last) = members.last() {
            let before = &self.text[..last.range().start];
            let space = &before[before.trim_end_matches(is_space).len()..];
            let indent = space.rsplit_once('\n').map(|(_, indent)| indent);
            let value = value.write(&Style { lines: indent.is_some(), ..style.clone() }, indent.unwrap_or_default());
            return self.splice(last.range().end..last.range().end, &format!(",{space}{key}{value}"));
        }
        // A comment in it stays behind what is put in.
        let inside = inside(container);
        let place = if self.text[inside.clone()].trim_matches(is_space).is_empty() { inside } else { inside.start..inside.start };
        if !style.lines {
            return self.splice(place, &format!("{key}{}", value.write(style, "")));
        }
        let before = &self.text[..container.range().start];
        let line = &before[before.rfind('\n').map_or(0, |at| at + 1)..];
        let outer = &line[..line.len() - line.trim_start_matches(is_space).len()];
        let indent = format!("{outer}{}", style.indent);
        let (end, value) = (style.line_end, value.write(style, &indent));
        self.splice(place, &format!("{end}{indent}{key}{value}{end}{outer}"))
    }

    fn splice(&self, range: Range<usize>, with: &str) -> String {
        format!("{}{with}{}", &self.text[..range.start], &self.text[range.end..])
    }

    /// How this file is set: as its first member is.
    fn style(&self) -> Result<Style, Wrong> {
        let line_end = if self.text.contains("\r\n") { "\r\n" } else { "\n" };
        let mut style = Style { lines: true, line_end, indent: "  ".to_owned(), after_colon: " " };
        if let Some((root, first)) = self.root()?.and_then(|root| Some((root, root.properties.first()?))) {
            let space = &self.text[root.range.start + 1..first.range.start];
            style.lines = space.contains('\n');
            if let Some((_, indent)) = space.rsplit_once('\n').filter(|(_, indent)| !indent.is_empty() && indent.chars().all(is_space)) {
                indent.clone_into(&mut style.indent);
            }
            let colon = &self.text[first.name.range().end..first.value.range().start];
            style.after_colon = if colon.ends_with(':') { "" } else { " " };
        }
        Ok(style)
    }
}

/// What lies between the brackets of a container.
fn inside(container: &impl Ranged) -> Range<usize> {
    container.range().start + 1..container.range().end - 1
}

fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\r' | '\n')
}

/// The value that counts: the last, as the agents read it.
fn member<'d, 'a>(object: &'d Object<'a>, key: &str) -> Option<&'d ObjectProp<'a>> {
    object.properties.iter().rev().find(|prop| prop.name.as_str() == key)
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// How a file is set.
#[derive(Clone)]
struct Style {
    /// A member has a line of its own.
    lines: bool,
    line_end: &'static str,
    indent: String,
    after_colon: &'static str,
}

/// What is put in.
enum Node {
    Object(Vec<(&'static str, Node)>),
    List(Vec<Node>),
    Text(String),
    Number(u32),
}

impl Node {
    /// An entry for one event.
    fn entry(line: &str, timeout: u32) -> Self {
        let handler =
            vec![("type", Self::Text("command".into())), ("command", Self::Text(line.into())), ("timeout", Self::Number(timeout))];
        Self::Object(vec![("hooks", Self::List(vec![Self::Object(handler)]))])
    }

    fn write(&self, style: &Style, indent: &str) -> String {
        let deeper = format!("{indent}{}", style.indent);
        let (members, [open, close]): (Vec<String>, _) = match self {
            Self::Text(text) => return quoted(text),
            Self::Number(number) => return number.to_string(),
            Self::List(nodes) => (nodes.iter().map(|node| node.write(style, &deeper)).collect(), ['[', ']']),
            Self::Object(members) => {
                let member = |(key, node): &(&str, Self)| format!("{}:{}{}", quoted(key), style.after_colon, node.write(style, &deeper));
                (members.iter().map(member).collect(), ['{', '}'])
            }
        };
        if style.lines {
            let end = style.line_end;
            format!("{open}{end}{deeper}{}{end}{indent}{close}", members.join(&format!(",{end}{deeper}")))
        } else {
            format!("{open}{}{close}", members.join(&format!(",{}", style.after_colon)))
        }
    }
}

#[cfg(test)]
#[path = "json_tests.rs"]
mod tests;
