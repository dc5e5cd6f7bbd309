use proptest::prelude::*;

use super::super::catalog::Catalog;
use super::*;

const ID: &str = "01a228e7-fac2-7180-b353-a6ead433a7ba";

fn agent(kind: &str) -> Agent {
    Catalog::built_in().get(kind).unwrap().clone()
}

fn words(words: &[&str]) -> Vec<RawText> {
    words.iter().map(|&word| RawText::from(word)).collect()
}

fn kept(kind: &str, args: &[&str]) -> Vec<String> {
    texts(&read(&agent(kind), &words(args)).kept)
}

fn texts(words: &[RawText]) -> Vec<String> {
    words.iter().map(|word| word.display().into_owned()).collect()
}

#[test]
fn flags_are_kept_and_prompts_ids_and_one_shots_are_dropped() {
    for (kind, args, wanted) in [
        ("claude", &[][..], &[][..]),
        ("claude", &["fix the build"], &[]),
        ("claude", &["--model", "sonnet", "fix it"], &["--model=sonnet"]),
        ("claude", &["--model=sonnet", "--", "--verbose"], &["--model=sonnet"]),
        ("claude", &["--append-system-prompt", "two words", "--tools", ""], &["--append-system-prompt=two words", "--tools="]),
        ("claude", &["--append-system-prompt", "--verbose", "go"], &["--append-system-prompt=--verbose"]),
        ("claude", &["--add-dir", "/a", "/b", "--verbose", "go"], &["--add-dir=/a", "--add-dir=/b", "--verbose"]),
        ("claude", &["--add-dir=/a", "go on"], &["--add-dir=/a"]),
        ("claude", &["--allowed-tools", "Bash(git *)", "Edit"], &["--allowedTools=Bash(git *)", "--allowedTools=Edit"]),
        ("claude", &["-d", "hooks", "-n", "name"], &["--debug=hooks", "--name=name"]),
        ("claude", &["-d", "--verbose"], &["--debug", "--verbose"]),
        ("claude", &["-cdhooks"], &["--debug=hooks"]),
        ("claude", &["-rc"], &[]),
        ("claude", &["--rc", "--verbose"], &["--remote-control", "--verbose"]),
        ("claude", &["--continue", "--fork-session", "--worktree", "feat", "--tmux=classic", "--ide"], &["--ide"]),
        ("claude", &["--resume", ID, "--permission-mode", "plan"], &["--permission-mode=plan"]),
        ("claude", &["--file", "a:b", "c:d", "--prefill", "text", "--ide"], &["--ide"]),
        ("claude", &["--dangerously-skip-permissions", "-", "x"], &["--dangerously-skip-permissions"]),
        ("claude", &["--model"], &[]),
        (
            "codex",
            &["-m", "o3", "-C/w", "-c", "model_reasoning_effort=high"],
            &["--model=o3", "--cd=/w", "--config=model_reasoning_effort=high"],
        ),
        ("codex", &["-m=o3", "-s=read-only"], &["--model=o3", "--sandbox=read-only"]),
        ("codex", &["--yolo", "-i", "a.png", "b.png", "--search", "look"], &["--dangerously-bypass-approvals-and-sandbox", "--search"]),
        ("codex", &["resume", "--last", "--no-daemon"], &["--no-daemon"]),
        ("codex", &["--add-dir", "/a", "resume", ID, "--add-dir", "/b", "more"], &["--add-dir=/a", "--add-dir=/b"]),
        ("codex", &["resume", "--no-daemon", "--", ID], &["--no-daemon"]),
        ("codex", &["exec", "--model", "o3", "task"], &[]),
    ] {
        assert_eq!(kept(kind, args), wanted, "{kind} {args:?}");
    }
}

#[test]
fn an_unknown_flag_is_kept_only_where_no_word_stands_behind_it() {
    let claude = agent("claude");
    for (args, wanted, left_out) in [
        (&["--brand-new"][..], &["--brand-new"][..], None),
        (&["--brand-new", "--verbose"], &["--brand-new", "--verbose"], None),
        (&["--brand-new=x", "prompt"], &["--brand-new=x"], None),
        (&["--brand-new", "x", "--verbose"], &["--verbose"], Some("--brand-new")),
        (&["--verbose", "--brand-new", "--", "prompt"], &["--verbose", "--brand-new"], None),
        (&["-q", "prompt"], &[], Some("-q")),
        (&["-qx", "prompt"], &[], Some("-q")),
        (&["-q", "--ide"], &["-q", "--ide"], None),
        (&["-cq"], &[], Some("-q")),
    ] {
        let reading = read(&claude, &words(args));
        assert_eq!(texts(&reading.kept), wanted, "{args:?}");
        let names: Vec<(String, LeftOut)> = left_out.iter().map(|&name: &&str| (name.to_owned(), LeftOut::Ambiguous)).collect();
        assert_eq!(reading.left_out, names, "{args:?}");
        assert_eq!(reading.run, Run::Conversation(None), "{args:?}");
    }
    // What may be its value is read as a word of the agent's only if it is one.
    let codex = agent("codex");
    assert_eq!(read(&codex, &words(&["--brand-new", "exec", "task"])).run, Run::Headless);
    assert_eq!(read(&codex, &words(&["--brand-new", "x", "resume", ID])).run, Run::Conversation(Some(ID.to_owned())));
}

#[test]
fn what_may_be_a_secret_is_left_out() {
    let data = r#"{"env":{"ANTHROPIC_AUTH_TOKEN":"hunter2"}}"#;
    for (kind, args, flag) in [
        ("claude", &["--settings", data][..], "--settings"),
        ("claude", &["--mcp-config", "/m.json", r#"{"headers":{"Authorization":"hunter2"}}"#], "--mcp-config"),
        ("claude", &["--plugin-url", "https://me:hunter2@host/x.zip"], "--plugin-url"),
        ("claude", &["--plugin-url", "https://host/x.zip?token=hunter2"], "--plugin-url"),
        ("claude", &["--api-key", "hunter2", "prompt"], "--api-key"),
        ("claude", &["--session-token=hunter2"], "--session-token"),
        ("claude", &["--append-system-prompt", "use sk-ant-hunter2-0000000000"], "--append-system-prompt"),
        ("codex", &["-c", "model_providers.x.experimental_bearer_token=hunter2"], "--config"),
        ("codex", &["--remote", "wss://me:hunter2@host"], "--remote"),
    ] {
        let reading = read(&agent(kind), &words(args));
        assert!(reading.kept.is_empty(), "{args:?}");
        assert_eq!(reading.left_out, [(flag.to_owned(), LeftOut::Secret)], "{args:?}");
    }
    for args in [
        &["--settings", "/home/me/secret/settings.json"][..],
        &["--settings", r#"{"model":"opus"}"#],
        &["--append-system-prompt", "Never print a password."],
        &["--mcp-config", "token.json"],
    ] {
        assert_eq!(kept("claude", args), [args.join("=")], "a path and a text are no secrets");
    }
}

#[test]
fn the_run_is_told_from_its_arguments() {
    let id = || Some(ID.to_owned());
    for (kind, args, run) in [
        ("claude", &[][..], Run::Conversation(None)),
        ("claude", &["what does exec do"], Run::Conversation(None)),
        ("claude", &["--", "mcp"], Run::Conversation(None)),
        ("claude", &["-r", ID], Run::Conversation(id())),
        ("claude", &[&format!("-r{ID}")], Run::Conversation(id())),
        ("claude", &["--resume=nonsense"], Run::Conversation(None)),
        ("claude", &["--resume"], Run::Conversation(None)),
        ("claude", &["--session-id", ID], Run::Conversation(id())),
        ("claude", &["--resume", ID, "--fork-session"], Run::Conversation(None)),
        ("claude", &["-p", "x"], Run::Headless),
        ("claude", &["-cp", "x"], Run::Headless),
        ("claude", &["--verbose", "--output-format", "json"], Run::Headless),
        ("claude", &["--bg", "x"], Run::Headless),
        ("claude", &["--model", "-p", "x"], Run::Conversation(None)),
        ("claude", &["--version"], Run::Other),
        ("claude", &["--model", "opus", "mcp", "list"], Run::Other),
        ("claude", &["bg-pty-host", "--x"], Run::Background),
        ("claude", &["daemon", "run"], Run::Daemon),
        ("claude", &["attach", "66734df0"], Run::Attached(Some("66734df0".to_owned()))),
        ("claude", &["attach"], Run::Attached(None)),
        ("codex", &["resume", ID], Run::Conversation(id())),
        ("codex", &["resume", "--search", ID, "and a prompt"], Run::Conversation(id())),
        ("codex", &["--search", "resume", "--", ID], Run::Conversation(id())),
        ("codex", &["resume", "--last"], Run::Conversation(None)),
        ("codex", &["fork", ID], Run::Conversation(None)),
        ("codex", &["-i", "a.png", "resume", ID], Run::Conversation(None)),
        ("codex", &["-m", "exec"], Run::Conversation(None)),
        ("codex", &["e", "task"], Run::Headless),
        ("codex", &["-C", "/w", "review"], Run::Headless),
        ("codex", &["app-server", "--listen", "unix://"], Run::Daemon),
        ("codex", &["login"], Run::Other),
        ("codex", &["-p", "work"], Run::Conversation(None)),
    ] {
        assert_eq!(read(&agent(kind), &words(args)).run, run, "{kind} {args:?}");
    }
}

#[test]
fn agents_without_a_hook_go_on_with_the_conversation_that_their_words_name() {
    let thread = format!("T-{ID}");
    for (kind, args, id, wanted) in [
        (
            "qwen",
            &["-m=x", "-r", ID, "--fallback-model", "a", "b", "--worktree"][..],
            ID,
            &["--model=x", "--fallback-model=a", "--fallback-model=b", "--resume", ID][..],
        ),
        ("qwen", &["--session-id", ID, "-i", "go", "--openai-api-key", "k"], ID, &["--resume", ID]),
        ("amp", &["--no-ide", "t", "c", "-m", "low", &thread], &thread, &["--no-ide", "--mode=low", "threads", "continue", &thread]),
        ("amp", &["threads", "continue", &thread, "--last"], &thread, &["threads", "continue", &thread]),
        ("droid", &["--auto", "low", "-r", "abc"], "abc", &["--auto=low", "--resume", "abc"]),
        ("droid", &["resume", "--use-spec", "abc"], "abc", &["--use-spec", "--resume", "abc"]),
        ("crush", &["-y", "-s", ID, "-c", "/w"], ID, &["--yolo", "--session", ID]),
        ("cursor", &["--resume=abc", "--model", "x", "--api-key", "k"], "abc", &["--model=x", "--resume", "abc"]),
        (
            "goose",
            &["session", "-r", "--session-id", "20251108_1", "--max-turns", "9", "--history"],
            "20251108_1",
            &["session", "--max-turns=9", "--resume", "--session-id", "20251108_1"],
        ),
    ] {
        let agent = agent(kind);
        let reading = read(&agent, &words(args));
        assert_eq!(reading.run, Run::Conversation(Some(id.to_owned())), "{kind} {args:?}");
        let again = resume(&agent, &reading.kept, id).unwrap();
        assert_eq!(texts(&again), wanted, "{kind}");
        let second = read(&agent, &again);
        assert_eq!((second.run, second.kept), (reading.run, reading.kept), "{kind}: what it resumes with tells the same");
    }
}

#[test]
fn runs_of_agents_without_a_hook_that_name_no_conversation_are_told() {
    for (kind, args, wanted) in [
        ("qwen", &[][..], Run::Conversation(None)),
        ("qwen", &["--resume"], Run::Conversation(None)),
        ("qwen", &["-r", ID, "--fork-session"], Run::Conversation(None)),
        ("qwen", &["-r", ID, "a question"], Run::Headless),
        ("qwen", &["-r", ID, "--", "a question"], Run::Headless),
        ("qwen", &["serve"], Run::Daemon),
        ("qwen", &["sessions", "list"], Run::Other),
        ("amp", &["threads"], Run::Other),
        ("amp", &["threads", "list"], Run::Other),
        ("amp", &["threads", "delete", "T-1"], Run::Other),
        ("amp", &["threads", "continue"], Run::Conversation(None)),
        ("amp", &["threads", "continue", "--last"], Run::Conversation(None)),
        ("amp", &["threads", "continue", "https://ampcode.com/threads/T-1"], Run::Conversation(None)),
        ("amp", &["threads", "continue", "T-1", "-ox", "go"], Run::Headless),
        ("amp", &["threads continue", "T-1"], Run::Conversation(None)),
        ("amp", &["-x", "go"], Run::Headless),
        ("droid", &["exec", "-s", "abc", "go"], Run::Headless),
        ("droid", &["--fork", "abc"], Run::Conversation(None)),
        ("droid", &["resume", "--last"], Run::Conversation(None)),
        ("droid", &["--resume", "abc", "--cwd", "/w"], Run::Other),
        ("crush", &["--session", "0123abc"], Run::Conversation(None)),
        ("crush", &["run", "-s", ID, "go"], Run::Headless),
        ("crush", &["session", "list"], Run::Other),
        ("cursor", &["resume"], Run::Conversation(None)),
        ("cursor", &["-p", "--resume", "abc", "go"], Run::Headless),
        ("goose", &["session"], Run::Conversation(None)),
        ("goose", &["session", "--resume", "--name", "web"], Run::Conversation(None)),
        ("goose", &["session", "--resume", "--session-id", "1", "--fork"], Run::Conversation(None)),
        ("goose", &["session", "remove", "--session-id", "1"], Run::Other),
        ("goose", &["run", "-t", "go"], Run::Headless),
    ] {
        assert_eq!(read(&agent(kind), &words(args)).run, wanted, "{kind} {args:?}");
    }
}

#[test]
fn a_resume_ends_with_the_id_and_refuses_what_is_none() {
    let kept = words(&["--model=x", "--add-dir=/a"]);
    assert_eq!(texts(&resume(&agent("claude"), &kept, ID).unwrap()), ["--model=x", "--add-dir=/a", "--resume", ID]);
    assert_eq!(texts(&resume(&agent("codex"), &kept, ID).unwrap()), ["resume", "--model=x", "--add-dir=/a", "--", ID]);
    for bad in ["", "--last", "-x", "nonsense", "..", "$(id)", &format!("{ID} ")] {
        assert_eq!(resume(&agent("claude"), &kept, bad), None, "{bad}");
    }
}

#[test]
fn words_that_are_no_text_are_kept_as_they_are() {
    let args = [RawText::from("--add-dir"), RawText::from(&b"/\xff"[..]), RawText::from(&b"-\xff"[..])];
    let reading = read(&agent("claude"), &args);
    assert_eq!(reading.kept, [RawText::from(&b"--add-dir=/\xff"[..]), RawText::from(&b"-\xff"[..])]);
}

/// One flag as somebody might write it, with what must become of it.
#[derive(Clone, Debug)]
struct Written {
    words: Vec<String>,
    /// The words that are kept, if it is.
    kept: Vec<String>,
}

fn a_value() -> impl Strategy<Value = String> {
    "[A-Za-z/. *]{0,12}".prop_map(|text| format!("VALUE{text}"))
}

fn written(agent: &Agent) -> impl Strategy<Value = Written> + use<> {
    let known =
        (proptest::sample::select(agent.flags.clone()), any::<prop::sample::Index>(), proptest::collection::vec(a_value(), 1..4), 0..3)
            .prop_map(|(flag, name, values, form)| {
                let name = name.get(&flag.names).clone();
                let keeps = matches!(flag.class, Class::Keep | Class::Data);
                let values = match flag.arity {
                    Arity::None => vec![],
                    Arity::Many | Arity::Any => values,
                    Arity::One | Arity::Optional => values[..1].to_vec(),
                };
                let joins = form == 0 && values.len() == 1;
                let words = match values.as_slice() {
                    [value] if joins && name.starts_with("--") => vec![format!("{name}={value}")],
                    [value] if joins => vec![format!("{name}{value}")],
                    values => std::iter::once(name).chain(values.iter().cloned()).collect(),
                };
                let long = flag.name();
                let kept =
                    if values.is_empty() { vec![long.to_owned()] } else { values.iter().map(|value| format!("{long}={value}")).collect() };
                Written { words, kept: if keeps { kept } else { vec![] } }
            });
    let data: Vec<Flag> = agent.flags.iter().filter(|flag| matches!(flag.class, Class::Data)).cloned().collect();
    let secret = (proptest::sample::select(data), 0..5).prop_map(|(flag, form)| {
        let words = match form {
            0 => vec!["--some-api-key".to_owned(), "HUNTER2".to_owned()],
            1 => vec!["--password=HUNTER2".to_owned()],
            2 => vec![flag.name().to_owned(), r#"{"accessToken":"HUNTER2"}"#.to_owned()],
            3 => vec![format!("{}=x.api_key=HUNTER2", flag.name())],
            _ => vec!["--add-dir".to_owned(), "sk-ant-HUNTER2-0123456789".to_owned()],
        };
        Written { words, kept: vec![] }
    });
    let unknown = (0..3, a_value()).prop_map(|(form, value)| match form {
        0 => Written { words: vec![format!("--unheard={value}")], kept: vec![format!("--unheard={value}")] },
        1 => Written { words: vec!["--unheard".to_owned(), "PROMPT".to_owned()], kept: vec![] },
        _ => Written {
            words: vec!["--unheard".to_owned(), "--unheard=".to_owned()],
            kept: vec!["--unheard".to_owned(), "--unheard=".to_owned()],
        },
    });
    prop_oneof![6 => known, 1 => secret, 1 => unknown]
}

/// Arguments, and the kept words that must come of them.
fn arguments(kind: &'static str) -> impl Strategy<Value = (Vec<String>, Vec<String>)> {
    let prompt = prop_oneof![
        Just(vec![]),
        "[a-z -]{0,20}".prop_map(|text| vec![
            "--".to_owned(),
            format!("-{text}PROMPT"),
            "--model=PROMPT".to_owned(),
            "-pPROMPT".to_owned()
        ]),
    ];
    (proptest::collection::vec(written(&agent(kind)), 0..8), any::<bool>(), prompt).prop_map(|(all, first, last)| {
        let mut words: Vec<String> = if first { vec!["a PROMPT".to_owned()] } else { vec![] };
        words.extend(all.iter().flat_map(|written| written.words.clone()));
        words.extend(last);
        (words, all.iter().flat_map(|written| written.kept.clone()).collect())
    })
}

fn check(kind: &'static str, args: &[String], wanted: &[String]) -> Result<(), TestCaseError> {
    let agent = agent(kind);
    let mut reading = read(&agent, &args.iter().map(|word| RawText::from(word.as_str())).collect::<Vec<_>>());
    if !matches!(reading.run, Run::Conversation(_)) {
        prop_assert!(reading.kept.is_empty());
        return Ok(());
    }
    prop_assert_eq!(texts(&reading.kept), wanted);
    for _ in 0..3 {
        let argv = resume(&agent, &reading.kept, ID).unwrap();
        let shown = texts(&argv).join("\n");
        prop_assert!(!shown.contains("PROMPT") && !shown.contains("HUNTER2"), "{}", shown);
        let again = read(&agent, &argv);
        prop_assert_eq!(&again.kept, &reading.kept);
        prop_assert_eq!(&again.run, &Run::Conversation(Some(ID.to_owned())));
        prop_assert!(again.left_out.is_empty());
        reading = again;
    }
    Ok(())
}

proptest! {
    #[test]
    fn any_flags_and_prompt_of_claude_are_a_fixed_point((args, wanted) in arguments("claude")) {
        check("claude", &args, &wanted)?;
    }

    #[test]
    fn any_flags_and_prompt_of_codex_are_a_fixed_point((args, wanted) in arguments("codex")) {
        check("codex", &args, &wanted)?;
    }

    #[test]
    fn any_bytes_are_read_without_a_panic_and_settle(args in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..6), 0..8)) {
        let args: Vec<RawText> = args.into_iter().map(RawText::from).collect();
        for kind in ["claude", "codex"] {
            let agent = agent(kind);
            let first = read(&agent, &args);
            let argv = resume(&agent, &first.kept, ID).unwrap();
            prop_assert_eq!(read(&agent, &argv).kept, first.kept);
        }
    }
}
