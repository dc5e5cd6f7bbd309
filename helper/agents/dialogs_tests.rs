use super::*;
use crate::agents::catalog::Catalog;

const TRUST: &str = include_str!("../../tests/screens/claude-trust.txt");
const SUMMARY_OLD: &str = include_str!("../../tests/screens/claude-summary.txt");
const SUMMARY_NEW: &str = include_str!("../../tests/screens/claude-summary-newer.txt");
const DIRECTORY: &str = include_str!("../../tests/screens/claude-directory.txt");
const MCP: &str = include_str!("../../tests/screens/claude-mcp-server.txt");
const BYPASS: &str = include_str!("../../tests/screens/claude-bypass.txt");
const API_KEY: &str = include_str!("../../tests/screens/claude-api-key.txt");
const PERMISSION: &str = include_str!("../../tests/screens/claude-permission.txt");
const CODEX_TRUST: &str = include_str!("../../tests/screens/codex-trust.txt");
const CODEX_DIRECTORY: &str = include_str!("../../tests/screens/codex-directory.txt");
const CODEX_LOCKED: &str = include_str!("../../tests/screens/codex-open-elsewhere.txt");
const CODEX_LOCKED_171: &str = include_str!("../../tests/screens/codex-open-elsewhere-0.171.txt");
const CODEX_LOCKED_171_NARROW: &str = include_str!("../../tests/screens/codex-open-elsewhere-0.171-narrow.txt");
const CODEX_HOOKS: &str = include_str!("../../tests/screens/codex-hooks.txt");
const MCPS: &str = include_str!("../../tests/screens/claude-mcp-servers.txt");
const LOG_IN: &str = include_str!("../../tests/screens/claude-log-in.txt");
const CODEX_LOG_IN: &str = include_str!("../../tests/screens/codex-log-in.txt");

/// Each with the agent that asks it.
const ALL: [(&str, &str, &str); 17] = [
    ("claude", "mcp_servers", MCPS),
    ("claude", "log_in", LOG_IN),
    ("codex", "log_in", CODEX_LOG_IN),
    ("claude", "trust_folder", TRUST),
    ("claude", "resume_summary", SUMMARY_OLD),
    ("claude", "resume_summary", SUMMARY_NEW),
    ("claude", "new_directory", DIRECTORY),
    ("claude", "mcp_server", MCP),
    ("claude", "bypass_permissions", BYPASS),
    ("claude", "api_key", API_KEY),
    ("claude", "unknown_question", PERMISSION),
    ("codex", "trust_folder", CODEX_TRUST),
    ("codex", "choose_directory", CODEX_DIRECTORY),
    ("codex", "open_elsewhere", CODEX_LOCKED),
    ("codex", "open_elsewhere", CODEX_LOCKED_171),
    ("codex", "open_elsewhere", CODEX_LOCKED_171_NARROW),
    ("codex", "hooks_review", CODEX_HOOKS),
];

fn asked(kind: &str, screen: &str) -> Option<Question> {
    let lines: Vec<String> = screen.lines().map(|line| line.trim_end().to_owned()).collect();
    question(Catalog::built_in().get(kind).unwrap(), &lines)
}

fn name(kind: &str, screen: &str) -> Option<String> {
    asked(kind, screen).map(|question| question.name)
}

/// As an agent wraps it for a pane of so many columns: at spaces, and goes on under the words of the line.
fn wrapped(screen: &str, width: usize) -> String {
    let mut out = String::new();
    for line in screen.lines() {
        if line.starts_with('─') {
            out.push_str(&format!("{}\n", "─".repeat(width)));
            continue;
        }
        let words = line.trim_start_matches(|c: char| c.is_whitespace() || "❯›".contains(c));
        let words = words.split_once(". ").filter(|(number, _)| number.parse::<u8>().is_ok()).map_or(words, |(_, words)| words);
        let (head, indent) = (line.strip_suffix(words).unwrap(), line.chars().count() - words.chars().count());
        let mut row = head.to_owned();
        for (at, word) in words.split(' ').enumerate() {
            if at > 0 && row.chars().count() + 1 + word.chars().count() > width {
                out.push_str(&format!("{}\n", row.trim_end()));
                row = " ".repeat(indent);
            } else if at > 0 {
                row.push(' ');
            }
            row.push_str(word);
        }
        out.push_str(&format!("{row}\n"));
    }
    out
}

/// The same, but what goes on stands at the left edge.
fn to_the_edge(wrapped: &str) -> String {
    wrapped.replace("\n     Business,", "\nBusiness,").replace("\n     one-time", "\none-time")
}

#[test]
fn each_is_known_where_it_stands_last_whatever_stands_above_and_however_wide_the_pane() {
    for (kind, wanted, screen) in ALL {
        let narrow = screen.lines().all(|line| line.chars().count() <= 40);
        let above = format!("$ claude --resume x\n{PERMISSION}\n⏺ Here it is:\n{TRUST}\n❯ 1. one\n  2. two\n\n{screen}");
        for (how, screen) in [
            ("as it is", screen.to_owned()),
            ("with blank lines below", format!("{screen}\n   \n\n")),
            ("with things above", if narrow { wrapped(&above, 40) } else { above }),
            ("without blank lines", screen.lines().filter(|line| !line.is_empty()).map(|line| format!("{line}\n")).collect()),
            ("60 columns", wrapped(screen, 60)),
            ("40 columns", wrapped(screen, 40)),
            ("40 columns to the left edge", to_the_edge(&wrapped(screen, 40))),
        ] {
            assert_eq!(name(kind, &screen).as_deref(), Some(wanted), "{how}:\n{screen}");
        }
    }
}

#[test]
fn one_with_anything_but_keys_below_it_is_none() {
    let rule = "─".repeat(100);
    let input = format!("\n{rule}\n❯ \n{rule}\n  ? for shortcuts");
    let typed = format!("\n{rule}\n❯ and now?\n{rule}\n  ? for shortcuts");
    let working = format!("\n✻ Thinking… (esc to interrupt)\n{input}");
    let composer = "\n› Ask Codex to do anything\n\n  ? for shortcuts                    100% context left";
    for (kind, wanted, screen) in ALL {
        for below in
            [&input, &typed, &working, composer, "$", "$ ls", "❯", "❯ ls", "~ ❯ ls", "● Done.", "(END)", ":", "dialogs.txt", "more", "> "]
        {
            for gap in ["", "\n"] {
                let screen = format!("{screen}{gap}{below}\n");
                assert_eq!(name(kind, &screen), None, "{wanted}:\n{screen}");
            }
        }
    }
}

#[test]
fn one_that_is_quoted_or_typed_is_none() {
    for (kind, wanted, screen) in ALL {
        for before in ["> ", "| ", "    │ ", "12  ", "+ ", "// "] {
            let quoted: String = screen.lines().map(|line| format!("{before}{line}\n")).collect();
            assert_eq!(name(kind, &quoted), None, "{wanted}:\n{quoted}");
        }
        // In the agent's own input.
        let rule = "─".repeat(100);
        let typed = format!("{rule}\n❯ what is this?\n{screen}{rule}\n  ? for shortcuts\n");
        assert_eq!(name(kind, &typed), None, "{wanted}:\n{typed}");
    }
    for screen in ["", "\n\n", "this is a-1", "❯", "❯ ", "❯ hello\n  world", "› 1. one", "  1. one\n  2. two", "$ echo '❯ 1. a'\n❯ 1. a"]
    {
        assert_eq!(name("claude", screen), None, "{screen}");
    }
}

#[test]
fn one_that_quotes_another_is_the_one_that_waits() {
    let writes =
        format!(" Create file\n{SUMMARY_OLD}\n Do you want to create notes.md?\n ❯ 1. Yes\n   2. No\n\n Esc to cancel · Tab to amend\n");
    assert_eq!(name("claude", &writes).as_deref(), Some(UNKNOWN));
    // What the model asks is none that is answered, however it reads.
    let asks = SUMMARY_OLD.replace("\n\n  Enter", "\n    4. Type something.\n\n  Enter");
    assert_eq!(name("claude", &asks).as_deref(), Some(UNKNOWN));
    let bare = SUMMARY_OLD.replace("This session is", "Your session was");
    assert_eq!(name("claude", &bare).as_deref(), Some(UNKNOWN));
    // Each agent has its own.
    assert_eq!(name("codex", SUMMARY_OLD).as_deref(), Some(UNKNOWN));
}

#[test]
fn the_choices_of_the_summary_are_told_by_their_numbers_and_words() {
    for screen in [SUMMARY_OLD.to_owned(), SUMMARY_NEW.to_owned(), wrapped(SUMMARY_OLD, 30), wrapped(SUMMARY_NEW, 30)] {
        let question = asked("claude", &screen).unwrap();
        assert_eq!(question.choices.iter().map(|choice| choice.number).collect::<Vec<_>>(), [1, 2, 3], "{screen}");
        let full = question.full().unwrap();
        assert_eq!((full.number, full.text.as_str()), (2, "Resume full session as-is"), "{screen}");
        assert!(full.shown.starts_with("2. Resume full"), "{full:?}");
        assert!(question.choice(1).unwrap().text.starts_with("Resume from summary ("));
        assert_eq!(question.choice(4), None);
    }
    let other = SUMMARY_OLD
        .replace("1. Resume from summary (recommended)", "1. Resume full session as-is")
        .replace("2. Resume full session as-is", "2. Resume from summary");
    assert_eq!(asked("claude", &other).unwrap().full().unwrap().number, 1, "by its words, not its place");
    let without = SUMMARY_OLD.replace("❯ 1. ", "❯ ").replace("2. ", "").replace("3. ", "");
    let question = asked("claude", &without).unwrap();
    assert_eq!((question.name.as_str(), question.choices.len()), (SUMMARY, 0), "no key is known");
    assert!(asked("claude", TRUST).unwrap().choices.is_empty());
}

#[test]
fn in_a_frame_only_what_is_known_counts_and_nothing_that_is_answered() {
    let framed = |lines: &[&str]| {
        let top = std::iter::once("● ACK 1: the first\n╭────╮\n".to_owned());
        let lines = top.chain(lines.iter().map(|line| format!("│ {line}  │\n"))).collect::<String>();
        format!("{lines}╰────╯\n").lines().map(str::to_owned).collect::<Vec<_>>()
    };
    let catalog = Catalog::built_in();
    let of = |kind: &str, lines: &[&str]| question(catalog.get(kind).unwrap(), &framed(lines)).map(|question| question.name);
    let ask = "Do you trust the files in this folder?";
    let copilot = [ask, "", "❯ 1. Yes", "  2. Yes, and remember this folder for future sessions", "  3. No (Esc)", "", "enter to select"];
    assert_eq!(of("copilot", &copilot).as_deref(), Some("trust_folder"));
    let gemini = [ask, "", "● 1. Trust folder (web)", "  2. Trust parent folder (code)", "  3. Don't trust"];
    assert_eq!(of("gemini", &gemini).as_deref(), Some("trust_folder"));
    // What a user types into a prompt that stands in a frame.
    for lines in [&["> 1. one", "  2. two"][..], &["> hello"], &["❯ 1. Yes", "  2. No"]] {
        assert_eq!(of("copilot", lines), None, "{lines:?}");
    }
    let summary: Vec<&str> = SUMMARY_OLD.lines().collect();
    assert_eq!(of("claude", &summary), None);
}
