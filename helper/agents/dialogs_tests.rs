use super::*;
use crate::agents::catalog::Catalog;

const TRUST: &str = "
────────────────────────────────────────────────────────────────────────────────────────────────────
 Accessing workspace:

 /w/p2

 Quick safety check: Is this a project you created or one you trust? (Like your own code, a
 well-known open source project, or work from your team). If not, take a moment to review what's in
 this folder first.

 Claude Code'll be able to read, edit, and execute files here.

 Security guide

 ❯ No, exit
   Yes, I trust this folder

 Enter to confirm · Esc to cancel
";

const SUMMARY_OLD: &str = "
  This session is 3h 5m old and 150k tokens.

  Resuming the full session will consume a substantial portion of your usage limits. We recommend resuming from a summary.

  ❯ 1. Resume from summary (recommended)
    2. Resume full session as-is
    3. Don't ask me again

  Enter to confirm · Esc to cancel
";

const SUMMARY_NEW: &str = "
  This session is 2d 4h old and 98.1k tokens.
  Resuming the full session uses a lot of your usage limits. Resuming from a summary uses less.
    1. Resume from summary (instant, recommended)
  ❯ 2. Resume full session as-is
    3. Don't ask again
  Enter to confirm · Esc to cancel
";

const DIRECTORY: &str = "
 Adding a new directory:

 /tmp

 This session hasn't worked here before. Is this a directory you created or one you trust?

 ❯ No, exit
   Yes, add it

 Enter to confirm · Esc to cancel
";

const MCP: &str = "
 New MCP server found in this project: foo

 MCP servers may execute code or access system resources. All tool calls require approval.

   Use this MCP server
   Use this and all future MCP servers in this project
 ❯ Continue without using this MCP server

 Enter to confirm · Esc to cancel
";

const BYPASS: &str = "
 WARNING: Claude Code running in Bypass Permissions mode

 In Bypass Permissions mode, Claude Code will not ask for your approval.

 ❯ No, exit
   Yes, I accept

 Enter to confirm · Esc to cancel
";

const API_KEY: &str = "
────────────────────────────────────────────────────────────────────────────────────────────────────
  Detected a custom API key in your environment

  ANTHROPIC_API_KEY: sk-ant-...00000000000000000000

  Do you want to use this API key?

    Yes
  ❯ No (recommended)

  Enter to confirm · Esc to cancel
";

const PERMISSION: &str = "
 Bash command
   rm -r build
 Do you want to proceed?
 ❯ 1. Yes
   2. No, and tell Claude what to do differently

 Esc to cancel · Tab to amend · ctrl+e to explain
";

const CODEX_TRUST: &str = "
  Folder access
  /w/g2

  Trust this folder? Codex can read, edit, and run files here, subject to your permission settings. Folder settings can run code
  automatically, even without a model request. Continue only if you trust these files. Your trust decision will be saved.

› 1. Trust and continue
  2. Back to Agent Command Center

  enter continue · esc back
";

const CODEX_DIRECTORY: &str = "
  Working directory · resume
  Session = latest cwd recorded in the resumed session
  Current = your current working directory

› 1. Use session directory (/w/q1)
  2. Use current directory (/w/q2)
  3. Always use session directory
  4. Always use current directory

  enter continue · esc use session · ^c quit
";

const CODEX_LOCKED: &str = "
  🔒  This conversation is open in another app

  Close it there and press R to continue here.

  r retry   f fork   ←/esc command center   ^c/q exit
";

const CODEX_LOCKED_171: &str = "
  🔒  This conversation is open in another app            r to retry
      Close it there and press R to continue here.

   r retry   f fork   ←/esc command center   ^c/q exit   ^t transcript
";

const CODEX_LOCKED_171_NARROW: &str = "
  Worked for <1s • 00:14

  🔒  This conversation is open in
  another app
  r to retry
      Close it there and press R to
      continue here.

   r retry   f fork   ←/esc command
  center   ^c/q exit   ^t transcript
";

const CODEX_HOOKS: &str = "
  Hooks need review
  12 hooks are new or changed.
  Hooks can run outside the sandbox after you trust them.
› 1. Review hooks
  2. Trust all and continue
  3. Continue without trusting (hooks won't run)

  enter confirm · esc skip
";

const MCPS: &str = "
────────────────────────────────────────────────────────────────────────────────────────────────────
  2 new MCP servers found in this project
  Select any you wish to enable.

  MCP servers may execute code or access system resources. All tool calls require approval.

  ❯ [✔] foo
    [✔] bar
       Enable selected

 Space to select · Esc to reject all
";

const LOG_IN: &str = "
  Claude Code can be used with your Claude subscription or billed based on API usage through your Console account.

  Select login method:

  ❯ 1. Claude account with subscription · Individual, Team, or Enterprise

    2. Anthropic Console account · API usage billing

    3. 3rd-party platform · Bedrock, Microsoft Foundry, Google Vertex AI

  Esc to cancel
";

const CODEX_LOG_IN: &str = "
  Welcome to Codex, OpenAI's command-line coding agent

  Choose how you want to use Codex.

> 1. Sign in with ChatGPT
     Usage included with Plus, Pro, Business, and Enterprise plans

  2. Sign in with Device Code
     Sign in from another device with a one-time code

  3. Sign in another way
     Use an API key or another provider

  Press enter to continue
";

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
