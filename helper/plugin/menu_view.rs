//! What the menus show: plain functions from records to lines that fit the client.

use super::hooks::background;
use crate::display::{age, cut, cut_start, directory, left, pad, shown, widest};
use crate::model::{Action, AgentStep, EpochMs, Policy, Step, Verdict, count};
use crate::shells::{Row, policy_words};
use crate::tmux::{Item, MENU_FRAME, Menu, SeenClient, menu_length};

/// Columns that ` (1)` takes behind the texts.
const KEY: usize = 4;
/// Wider lines are hard to read.
const WIDEST: usize = 96;
/// No line is cut to fewer columns.
const NARROWEST: usize = 16;
/// Lines that every list has besides its entries: one above, and three below.
const FIXED: usize = 4;

/// Whom it is shown to.
pub(super) struct View<'a> {
    pub(super) client: &'a SeenClient,
    pub(super) helper: &'a str,
    pub(super) now: EpochMs,
}

impl View<'_> {
    /// Columns for a text, or none if no menu is of use.
    pub(super) fn columns(&self) -> usize {
        self.client.width.saturating_sub(MENU_FRAME + KEY).min(WIDEST)
    }

    /// Lines between the frame's, with one left for the status line.
    fn rows(&self) -> usize {
        self.client.height.saturating_sub(3)
    }

    /// Whether a list of at least one entry fits.
    pub(super) fn fits(&self) -> bool {
        self.columns() >= 20 && self.rows() > FIXED
    }

    fn ellipsis(&self) -> &'static str {
        if self.client.utf8 { "…" } else { "..." }
    }

    fn dot(&self) -> &'static str {
        if self.client.utf8 { "·" } else { "-" }
    }

    /// What is restored, what can't be, what is not to be.
    fn glyph(&self, step: &Step) -> &'static str {
        match (step.action, self.client.utf8) {
            (Action::RecreateShell | Action::ResumeAgent | Action::Manual, true) => "●",
            (Action::RecreateShell | Action::ResumeAgent | Action::Manual, false) => "*",
            (Action::Refuse, true) => "✗",
            (Action::Refuse, false) => "x",
            _ => self.idle_glyph(),
        }
    }

    fn idle_glyph(&self) -> &'static str {
        if self.client.utf8 { "○" } else { "o" }
    }

    fn cut(&self, text: &str) -> String {
        let most = self.client.width.saturating_sub(MENU_FRAME + KEY);
        let shorter = (NARROWEST..=self.columns()).rev().map(|room| cut(text, room, self.ellipsis()));
        shorter.into_iter().find(|text| menu_length(text) <= most).unwrap_or_else(|| cut(text, NARROWEST, self.ellipsis()))
    }

    /// An entry that calls `sidecar menu go WORD…`.
    fn choice(&self, text: &str, key: char, words: &[&str]) -> Item {
        let words: Vec<&str> = ["menu", "go", "--client", &self.client.name].into_iter().chain(words.iter().copied()).collect();
        Item::Choice { text: self.cut(text), key: Some(key), commands: background(self.helper, &words) }
    }

    fn nothing(&self, text: &str, key: char) -> Item {
        Item::Choice { text: self.cut(text), key: Some(key), commands: String::new() }
    }

    fn inert(&self, text: &str) -> Item {
        Item::Inert(self.cut(text))
    }

    fn menu(&self, title: &str, items: Vec<Item>) -> Menu {
        Menu { title: self.cut(title), items }
    }

    /// Columns of one line: the first keeps its start, the second, a directory, its end.
    ///
    /// tmux takes a line for too wide by its bytes, and then cuts off its start: lines of many bytes get fewer columns.
    fn table(&self, rows: &[[String; 3]]) -> Vec<String> {
        let most = self.client.width.saturating_sub(MENU_FRAME + KEY);
        let mut room = self.columns();
        loop {
            let lines = self.table_in(rows, room);
            let fits = lines.iter().all(|line| menu_length(line) <= most);
            if fits || room <= NARROWEST {
                return lines;
            }
            room -= 1;
        }
    }

    fn table_in(&self, rows: &[[String; 3]], room: usize) -> Vec<String> {
        let first = widest(rows.iter().map(|row| row[0].as_str())).min((room * 2 / 5).max(12));
        let in_three = || rows.iter().filter(|row| !row[1].is_empty());
        let last = widest(in_three().map(|row| row[2].as_str()));
        let middle = widest(in_three().map(|row| row[1].as_str())).min(room.saturating_sub(first + last + 4).max(12));
        let line = |row: &[String; 3]| {
            let name = pad(&cut(&row[0], first, self.ellipsis()), first);
            if row[1].is_empty() {
                return cut(&format!("{name}  {}", row[2]), room, self.ellipsis());
            }
            let dir = cut_start(&row[1], middle, self.ellipsis());
            cut(format!("{name}  {}  {}", pad(&dir, middle), row[2]).trim_end(), room, self.ellipsis())
        };
        rows.iter().map(line).collect()
    }

    /// The entries of a page, with the number of pages.
    fn page<'b, T>(&self, all: &'b [T], page: usize, fixed: usize) -> (&'b [T], usize) {
        let room = self.rows().saturating_sub(fixed).max(1);
        let pages = all.len().div_ceil(room).max(1);
        let from = (page % pages) * room;
        (all.get(from..all.len().min(from + room)).unwrap_or_default(), pages)
    }

    /// Rules are left out where entries need the room.
    fn with_rule(&self, items: &mut Vec<Item>) {
        if self.has_rules() {
            items.push(Item::Rule);
        }
    }

    fn has_rules(&self) -> bool {
        self.rows() >= 12
    }

    fn fixed(&self) -> usize {
        if self.has_rules() { FIXED + 2 } else { FIXED }
    }

    /// The plan. `last_active` is for each step's shell; `forgotten` how many tombstones there are.
    pub(super) fn restore(&self, steps: &[&Step], last_active: &dyn Fn(&str) -> EpochMs, forgotten: usize, page: usize) -> Menu {
        let pending = steps.iter().filter(|step| step.action.makes()).count();
        let agents = steps.iter().flat_map(|step| &step.agents).filter(|agent| agent.verdict != Verdict::No).count();
        let mut items = match pending {
            0 if agents > 0 => Vec::new(),
            0 => vec![self.inert("Nothing to restore")],
            1 => vec![self.choice("Restore it", 'a', &["make-all"])],
            _ => vec![self.choice("Restore all shells", 'a', &["make-all"])],
        };
        if agents > 0 {
            let text = match pending {
                0 => format!("Resume {}", count(agents, "agent")),
                1 => format!("Restore it, resume {}", count(agents, "agent")),
                _ => format!("Restore all, resume {}", count(agents, "agent")),
            };
            items.push(self.choice(&text, 'r', &["resume-all"]));
        }
        let (shown_steps, pages) = self.page(steps, page, self.fixed());
        if !steps.is_empty() {
            self.with_rule(&mut items);
        }
        let rows: Vec<[String; 3]> = shown_steps
            .iter()
            .map(|step| {
                let name = format!("{} {}", self.glyph(step), shown(&step.name));
                let age = age(last_active(&step.shell), self.now);
                match step.action {
                    Action::Refuse | Action::Skip if step.policy != Policy::Never => {
                        [name, String::new(), with_tilde(&shown(step.note.as_deref().unwrap_or(&step.detail)))]
                    }
                    _ => [name, directory(&step.work_dir), format!("{} {} {age}", what(step), self.dot())],
                }
            })
            .collect();
        let mut keys = '1'..='9';
        for (step, line) in shown_steps.iter().zip(self.table(&rows)) {
            let inert = !step.action.makes() && step.policy != Policy::Never && !has_agents(step);
            items.push(match if inert { None } else { keys.next() } {
                _ if inert => Item::Inert(line),
                Some(key) => self.choice(&line, key, &["shell", &step.shell]),
                None => keyless(self.choice(&line, ' ', &["shell", &step.shell])),
            });
        }
        self.with_rule(&mut items);
        if pages > 1 {
            items.push(self.choice(
                &format!("More{} {} of {pages}", self.ellipsis(), page % pages + 1),
                'm',
                &["restore", &(page + 1).to_string()],
            ));
        }
        if forgotten > 0 {
            items.push(self.choice(&format!("Forgotten shells ({forgotten})"), 'f', &["forgotten", "0"]));
        }
        items.push(self.nothing("Not now", 'x'));
        let title = match (pending, agents) {
            (0, 1..) => format!("Resume {} {}", self.dot(), count(agents, "agent")),
            _ => format!("Restore {} {}", self.dot(), count(pending, "shell")),
        };
        self.menu(&title, items)
    }

    /// One shell of the plan.
    pub(super) fn shell(&self, step: &Step) -> Menu {
        let id = step.shell.as_str();
        let mut items = Vec::new();
        items.push(if step.action.makes() {
            self.choice("Restore it, and go there", 'r', &["make", id])
        } else {
            self.inert(&format!("Restore: {}", shown(&step.detail)))
        });
        if has_agents(step) {
            let names = agents(step).join(", ");
            let text = if step.action.makes() { format!("Restore it, and resume {names}") } else { format!("Resume {names}") };
            items.push(self.choice(&text, 'a', &["resume", id]));
        }
        // What had ended stays where it is unless it is asked for.
        let ended = step.agents.iter().filter(|agent| agent.reason == "ended_by_user" && agent.obstacle.is_none());
        for (agent, key) in ended.zip(['1', '2', '3']) {
            let text = format!("Resume {} in {}, which had ended", shown(&agent.title), shown(&agent.place));
            items.push(self.choice(&text, key, &["reopen", id, &agent.pane]));
        }
        items.push(self.choice(&format!("Policy: {}{}", step.policy.word(), self.ellipsis()), 'p', &["policies", id]));
        items.push(self.choice("Forget it", 'f', &["forget", id]));
        items.push(self.choice("Back", 'b', &["restore", "0"]));
        self.menu(&format!("{} {} {}", shown(&step.name), self.dot(), directory(&step.work_dir)), items)
    }

    /// The question before agents come back that ask first; `id` is the shell's, `None` for all.
    pub(super) fn ask_resume(&self, id: Option<&str>, asking: &[&AgentStep]) -> Menu {
        let words = |last| -> Vec<&str> {
            match id {
                Some(id) => vec!["resume", id, last],
                None => vec!["resume-all", last],
            }
        };
        // Above: the title; below: the rule and three entries.
        let room = self.rows().saturating_sub(FIXED + 1).max(1);
        let mut items: Vec<Item> = Vec::new();
        for agent in asking.iter().take(room) {
            let dir = agent.work_dir.as_deref().map(|dir| format!(" {} {}", self.dot(), directory(dir))).unwrap_or_default();
            items.push(self.inert(&format!("{} in {}{dir}", shown(&agent.title), shown(&agent.place))));
        }
        if asking.len() > room {
            items.push(self.inert(&format!("and {} more", asking.len() - room)));
        }
        self.with_rule(&mut items);
        items.push(self.choice("Yes, resume", 'y', &words("agreed")));
        items.push(self.choice("Restore without", 'n', &words("without")));
        items.push(self.choice("Back", 'b', &["restore", "0"]));
        self.menu(&format!("Resume {}?", count(asking.len(), "agent")), items)
    }

    /// The policies of a shell.
    pub(super) fn policies(&self, step: &Step) -> Menu {
        let all = [(Policy::Inherit, 'i'), (Policy::Shell, 's'), (Policy::Resume, 'r'), (Policy::Never, 'n')];
        let mut items: Vec<Item> = all
            .into_iter()
            .map(|(policy, key)| {
                let mark = if policy == step.policy { "*" } else { " " };
                let text = format!("{mark} {}  {}", pad(policy.word(), 7), policy_words(policy));
                self.choice(&text, key, &["policy", &step.shell, policy.word()])
            })
            .collect();
        items.push(self.choice("  Back", 'b', &["shell", &step.shell]));
        self.menu(&format!("Policy of {}", shown(&step.name)), items)
    }

    /// The tombstones.
    pub(super) fn forgotten(&self, rows: &[&Row], page: usize) -> Menu {
        let (on_page, pages) = self.page(rows, page, self.fixed());
        let lines: Vec<[String; 3]> = on_page
            .iter()
            .map(|row| {
                [format!("{} {}", self.idle_glyph(), shown(&row.shell.name)), directory(&row.shell.work_dir.display()), self.fate(row)]
            })
            .collect();
        let mut items = Vec::new();
        let mut keys = '1'..='9';
        for (row, line) in on_page.iter().zip(self.table(&lines)) {
            let choice = |key| self.choice(&line, key, &["tombstone", &row.shell.id]);
            items.push(keys.next().map_or_else(|| keyless(choice(' ')), choice));
        }
        if rows.is_empty() {
            items.push(self.inert("No shell is forgotten"));
        }
        self.with_rule(&mut items);
        if pages > 1 {
            items.push(self.choice(
                &format!("More{} {} of {pages}", self.ellipsis(), page % pages + 1),
                'm',
                &["forgotten", &(page + 1).to_string()],
            ));
        }
        items.push(self.choice("Back", 'b', &["restore", "0"]));
        items.push(self.nothing("Close", 'x'));
        self.menu(&format!("Forgotten {} {}", self.dot(), count(rows.len(), "shell")), items)
    }

    fn fate(&self, row: &Row) -> String {
        let ago = row.deleted_at.map(|at| format!(" {} ago", age(at, self.now))).unwrap_or_default();
        let kept = match row.expires_at {
            _ if row.running => "running".to_owned(),
            Some(at) => format!("kept {}", left(self.now, at)),
            None => "kept".to_owned(),
        };
        format!("{}{ago}, {kept}", row.reason)
    }

    /// One tombstone.
    pub(super) fn tombstone(&self, row: &Row) -> Menu {
        let id = row.shell.id.as_str();
        let back = if row.running { "Record it again" } else { "Bring its record back" };
        let mut items = vec![self.choice(back, 'r', &["bring-back", id])];
        items.push(if row.running {
            self.inert("Remove for good: its session runs")
        } else {
            self.choice(&format!("Remove for good{}", self.ellipsis()), 'p', &["ask-purge", id])
        });
        items.push(self.choice("Back", 'b', &["forgotten", "0"]));
        self.menu(&format!("{} {} {}", shown(&row.shell.name), self.dot(), self.fate(row)), items)
    }

    /// The question before a record is gone for good.
    pub(super) fn ask_purge(&self, row: &Row) -> Menu {
        let items = vec![
            self.inert(&format!("{} can't be brought back then", shown(&row.shell.name))),
            self.choice("Yes, remove its record", 'y', &["purge", &row.shell.id]),
            self.choice("No", 'n', &["tombstone", &row.shell.id]),
        ];
        self.menu("Remove for good?", items)
    }
}

/// The agents that could come back with a shell, by name; those that ask first are marked.
fn agents(step: &Step) -> Vec<String> {
    let could = step.agents.iter().filter(|agent| agent.verdict != Verdict::No);
    could.map(|agent| format!("{}{}", shown(&agent.title), if agent.verdict == Verdict::Ask { "?" } else { "" })).collect()
}

fn has_agents(step: &Step) -> bool {
    step.agents.iter().any(|agent| agent.verdict != Verdict::No)
}

/// What comes back of it.
fn what(step: &Step) -> String {
    let agents = agents(step);
    let shell = shell_of(step);
    if agents.is_empty() || step.policy == Policy::Never { shell } else { format!("{shell}, {}", agents.join(", ")) }
}

/// What comes back of it, but for agents.
fn shell_of(step: &Step) -> String {
    if step.policy == Policy::Never {
        return "never restored".to_owned();
    }
    let size = if step.windows > 1 { count(step.windows, "window") } else { count(step.panes, "pane") };
    match step.reason {
        "closed_with_server" => format!("{size}, closed with its server"),
        "run_command" => format!("{size}, waits with a command"),
        "pane_directory_missing" => format!("{size}, a directory is missing"),
        "cut_short" => format!("{size}, cut short"),
        _ => size,
    }
}

/// A sentence that ends in a path, with `~` for the home.
fn with_tilde(sentence: &str) -> String {
    match sentence.split_once(": /") {
        Some((words, path)) => format!("{words}: {}", directory(&format!("/{path}"))),
        None => sentence.to_owned(),
    }
}

fn keyless(item: Item) -> Item {
    match item {
        Item::Choice { text, commands, .. } => Item::Choice { text, key: None, commands },
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use unicode_width::UnicodeWidthStr;

    use super::*;

    fn client(width: usize, height: usize) -> SeenClient {
        SeenClient { name: "/dev/pts/1".into(), width, height, utf8: true, ..SeenClient::default() }
    }

    fn step(number: usize, action: Action) -> Step {
        Step {
            shell: format!("sh-{number:04}"),
            session: format!("s{number}"),
            name: format!("日本語 name that is long enough to be cut {number}"),
            project: None,
            work_dir: "/a/very/long/directory/that/does/not/fit/into/a/line/of/a/small/terminal".into(),
            action,
            reason: "died_with_server",
            detail: "it died with its server".into(),
            note: None,
            policy: Policy::Inherit,
            windows: 3,
            panes: 5,
            agents: Vec::new(),
        }
    }

    #[test]
    fn every_menu_fits_its_client_and_pages_lose_nothing() {
        for (width, height) in [(80, 10), (28, 8), (80, 24), (200, 60), (40, 12)] {
            for number in [0, 1, 5, 40, 1000] {
                let client = client(width, height);
                let view = View { client: &client, helper: "/p/sidecar", now: 0 };
                assert!(view.fits(), "{width}×{height}");
                let actions = [Action::RecreateShell, Action::Refuse, Action::Manual];
                let steps: Vec<Step> = (0..number).map(|at| step(at, actions[at % 3])).collect();
                let steps: Vec<&Step> = steps.iter().collect();
                let mut entries = 0;
                let mut page = 0;
                loop {
                    let menu = view.restore(&steps, &|_| 0, 3, page);
                    assert!(menu.items.len() + 2 < height, "{width}×{height}: {} lines", menu.items.len());
                    for item in &menu.items {
                        let (Item::Inert(text) | Item::Choice { text, .. }) = item else { continue };
                        assert!(text.width() + KEY + MENU_FRAME <= width, "{text:?}");
                        assert!(menu_length(text) + KEY + MENU_FRAME <= width || text.width() <= NARROWEST, "{text:?}");
                    }
                    entries += menu
                        .items
                        .iter()
                        .filter(|item| matches!(item, Item::Inert(text) | Item::Choice { text, .. } if text.contains("日本語")))
                        .count();
                    page += 1;
                    let more = menu.items.iter().any(|item| matches!(item, Item::Choice { key: Some('m'), .. }));
                    if !more || page == view.page(&steps, 0, view.fixed()).1 {
                        break;
                    }
                }
                assert_eq!(entries, number, "{width}×{height}");
            }
        }
        assert!(!View { client: &client(80, 6), helper: "", now: 0 }.fits());
        assert!(!View { client: &client(20, 40), helper: "", now: 0 }.fits());
    }

    #[test]
    fn keys_leave_those_that_move_and_close_alone_and_are_unique() {
        let client = client(100, 60);
        let view = View { client: &client, helper: "/p/sidecar", now: 0 };
        let steps: Vec<Step> = (0..100).map(|number| step(number, Action::RecreateShell)).collect();
        let steps: Vec<&Step> = steps.iter().collect();
        for menu in [view.restore(&steps, &|_| 0, 3, 0), view.shell(steps[0]), view.policies(steps[0])] {
            let keys: Vec<char> =
                menu.items.iter().filter_map(|item| if let Item::Choice { key, .. } = item { *key } else { None }).collect();
            for (at, key) in keys.iter().enumerate() {
                assert!(!"qjkgG".contains(*key) && !keys[..at].contains(key), "{keys:?}");
            }
        }
    }

    #[test]
    fn a_client_without_utf_8_gets_plain_characters() {
        let client = SeenClient { utf8: false, ..client(60, 20) };
        let view = View { client: &client, helper: "/p/sidecar", now: 0 };
        let mut plain = step(0, Action::RecreateShell);
        plain.name = "plain".into();
        let menu = view.restore(&[&plain, &step(1, Action::Refuse)], &|_| 0, 0, 0);
        assert!(menu.title.is_ascii());
        let Item::Choice { text, .. } = &menu.items[2] else { panic!("{menu:?}") };
        assert!(text.is_ascii() && text.starts_with("* plain"), "{text}");
    }
}
