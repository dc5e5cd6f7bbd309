use proptest::prelude::*;

use super::super::command::{CLAUDE, CODEX, GEMINI};
use super::*;

const HELPER: &str = "/usr/bin/sidecar";

fn line() -> String {
    CLAUDE.line(HELPER)
}

fn put_in(text: &str) -> String {
    install(text, &CLAUDE, &line()).unwrap()
}

fn take_out(text: &str, original: Option<&str>) -> Option<String> {
    uninstall(text, &CLAUDE, original).unwrap()
}

/// Our three entries, as the file's other members are set.
fn three(indent: &str, end: &str) -> String {
    let line = quoted(&line());
    let deep = |level: usize| indent.repeat(level);
    let entry = |event: &str| {
        let lines = [
            format!("{}\"{event}\": [", deep(2)),
            format!("{}{{", deep(3)),
            format!("{}\"hooks\": [", deep(4)),
            format!("{}{{", deep(5)),
            format!("{}\"type\": \"command\",", deep(6)),
            format!("{}\"command\": {line},", deep(6)),
            format!("{}\"timeout\": 5", deep(6)),
            format!("{}}}", deep(5)),
            format!("{}]", deep(4)),
            format!("{}}}", deep(3)),
            format!("{}]", deep(2)),
        ];
        lines.join(end)
    };
    CLAUDE.events.iter().map(|event| entry(event)).collect::<Vec<_>>().join(&format!(",{end}"))
}

#[test]
fn entries_are_set_as_the_file_is() {
    let lines = three("  ", "\n");
    for (text, wanted) in [
        ("", format!("{{\n  \"hooks\": {{\n{lines}\n  }}\n}}\n")),
        ("{}", format!("{{\n  \"hooks\": {{\n{lines}\n  }}\n}}")),
        ("{\n  \"a\": 1\n}\n", format!("{{\n  \"a\": 1,\n  \"hooks\": {{\n{lines}\n  }}\n}}\n")),
        ("{\r\n\t\"a\": 1\r\n}", format!("{{\r\n\t\"a\": 1,\r\n\t\"hooks\": {{\r\n{}\r\n\t}}\r\n}}", three("\t", "\r\n"))),
        ("\u{feff}{\n  \"hooks\": {}\n}", format!("\u{feff}{{\n  \"hooks\": {{\n{lines}\n  }}\n}}")),
        ("{\n  \"hooks\": {\n    \"Stop\": []\n  }\n}", format!("{{\n  \"hooks\": {{\n    \"Stop\": [],\n{lines}\n  }}\n}}")),
    ] {
        assert_eq!(put_in(text), wanted, "{text:?}");
    }
    let one_line = put_in(r#"{"a":1,"hooks":{"Stop":[7]}}"#);
    assert!(one_line.starts_with(r#"{"a":1,"hooks":{"Stop":[7],"SessionStart":[{"hooks":[{"type":"command","command":"#), "{one_line}");
    assert!(!one_line.contains('\n'));
}

#[test]
fn what_others_have_there_stays_and_comes_first() {
    let others = r#"{
    "hooks": { "SessionEnd": [ {"matcher": "x", "hooks": [{"type":"command","command":"mine"}]} ] },
    "model":   "opus" , "z": [1,  2]
  }"#;
    let text = put_in(others);
    assert_eq!(put_in(&text), text, "twice is as once");
    let value: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(value["hooks"]["SessionEnd"][0]["hooks"][0]["command"], "mine");
    assert_eq!(value["hooks"]["SessionEnd"][1]["hooks"][0]["command"], line());
    assert!(text.ends_with("\n    \"model\":   \"opus\" , \"z\": [1,  2]\n  }"));
    assert_eq!(take_out(&text, Some(others)).as_deref(), Some(others));
}

#[test]
fn half_an_installation_becomes_a_whole_one_in_place() {
    let text = put_in("{}");
    let (old, gone) = (text.replace(HELPER, "/gone/sidecar"), "/gone/sidecar");
    assert_ne!(old, text);
    assert_eq!(put_in(&old), text, "{gone} is replaced");
    let value: serde_json::Value = serde_json::from_str(&text).unwrap();
    let entry = value["hooks"]["SessionEnd"][0].to_string();
    for (half, what) in [
        (r#"{"hooks": {"SessionEnd": [ENTRY]}}"#, "two are missing"),
        (
            r#"{"hooks": {"SessionEnd": [ENTRY, ENTRY], "Stop": [ENTRY], "SessionStart": [{"hooks": []}]}}"#,
            "doubled, and one of an event that is none of ours",
        ),
    ] {
        let whole = put_in(&half.replace("ENTRY", &entry));
        let found = look(&whole, &CLAUDE).unwrap();
        let mut events: Vec<&str> = found.entries.iter().map(|entry| entry.event.as_str()).collect();
        events.sort_unstable();
        assert_eq!(events, ["SessionEnd", "SessionStart", "UserPromptSubmit"], "{what}");
        assert!(!whole.contains("Stop"), "{what}");
    }
}

#[test]
fn containers_of_the_user_stay_and_ours_go() {
    for (original, left) in [
        (None, None),
        (Some("{}"), Some("{}")),
        (Some(r#"{"hooks":{}}"#), Some(r#"{"hooks":{}}"#)),
        (Some(r#"{"hooks":{"SessionStart":[]}}"#), Some(r#"{"hooks":{"SessionStart":[]}}"#)),
        (Some(r#"{"a":1}"#), Some(r#"{"a":1}"#)),
    ] {
        let text = put_in(original.unwrap_or_default());
        assert_eq!(take_out(&text, original).as_deref(), left, "{original:?}");
    }
    // Whoever adds something to what we made keeps it.
    let text = put_in("").replace("\"hooks\": {", "\"hooks\": {\n    \"Stop\": [ {} ],");
    let left = take_out(&text, None).unwrap();
    assert_eq!(left, "{\n  \"hooks\": {\n    \"Stop\": [ {} ]\n  }\n}\n");
}

#[test]
fn what_cannot_be_read_is_refused_with_its_place() {
    for (text, row, column, what) in [
        ("{\n  // note\n}", 2, 3, "it is not JSON: Comments are not allowed"),
        ("{\"a\": 1,}", 1, 8, "it is not JSON"),
        ("{\"a\": é}", 1, 7, "it is not JSON"),
        ("{\n\"a\": 1", 1, 1, "it is not JSON: Unterminated object"),
        ("[]", 1, 1, "it holds no JSON object"),
        ("null", 1, 1, "it holds no JSON object"),
        ("{\"hooks\": []}", 1, 11, "\"hooks\" is no JSON object"),
        ("{\"hooks\": {\"Stop\": 1, \"SessionEnd\": {}}}", 1, 37, "\"SessionEnd\" is no list"),
        ("{\"hooks\": {},\n \"hooks\": {}}", 2, 2, "the key \"hooks\" stands here for the second time"),
        ("{\"hooks\": {\"SessionEnd\": [], \"SessionEnd\": []}}", 1, 30, "the key \"SessionEnd\" stands here for the second time"),
    ] {
        let wrong = install(text, &CLAUDE, &line()).unwrap_err();
        assert!(wrong.what.starts_with(what), "{text:?}: {wrong:?}");
        assert_eq!((wrong.line, wrong.column), (row, column), "{text:?}: {wrong:?}");
    }
    let deep = "[".repeat(100_000);
    assert!(install(&format!("{{\"a\": {deep}"), &CLAUDE, &line()).is_err());
    assert!(install("\u{feff}{}", &CODEX, &line()).is_err(), "Codex reads no byte order mark");
}

#[test]
fn a_look_tells_what_keeps_hooks_from_running() {
    assert!(look(r#"{"disableAllHooks": true}"#, &CLAUDE).unwrap().disabled);
    assert!(!look(r#"{"disableAllHooks": false}"#, &CLAUDE).unwrap().disabled);
    assert_eq!(look("", &CLAUDE).unwrap(), Found::default());
}

/// A JSON document as somebody may have written it, with hooks of others here and there.
fn document() -> impl Strategy<Value = String> {
    let space = "[ \t\r\n]{0,3}";
    let leaf = prop_oneof![
        Just("null".to_owned()),
        Just("true".to_owned()),
        "-?[1-9][0-9]{0,5}",
        "\"[a-z ,:{}\\[\\]é]{0,8}\"",
        Just("\"\\u00e9\\\"\"".to_owned())
    ];
    let inner = leaf.prop_recursive(4, 24, 4, move |inner| {
        let member =
            (space, "[a-z]{1,4}", space, inner.clone(), space).prop_map(|(a, key, b, value, c)| format!("{a}\"{key}\":{b}{value}{c}"));
        let element = (space, inner, space).prop_map(|(a, value, b)| format!("{a}{value}{b}"));
        prop_oneof![
            (proptest::collection::vec(member, 0..4), space).prop_map(|(members, empty)| around('{', &members, &empty, '}')),
            (proptest::collection::vec(element, 0..4), space).prop_map(|(elements, empty)| around('[', &elements, &empty, ']')),
        ]
    });
    let handler = Just(r#"{"type":"command","command":"theirs"}"#.to_owned());
    let group = (handler, space).prop_map(|(handler, space)| format!(r#"{{"matcher":"m",{space}"hooks":[{handler}{space}]}}"#));
    let event = (proptest::sample::select(vec!["SessionStart", "SessionEnd", "Stop"]), proptest::collection::vec(group, 0..3), space)
        .prop_map(|(name, groups, space)| (name, format!("{space}\"{name}\":{}", around('[', &groups, &space, ']'))));
    let hooks = (proptest::collection::vec(event, 0..3), space).prop_map(|(mut events, space)| {
        events.sort();
        events.dedup_by_key(|(name, _)| *name);
        let events: Vec<String> = events.into_iter().map(|(_, text)| text).collect();
        format!("\"hooks\":{}", around('{', &events, &space, '}'))
    });
    let member = (space, "[a-z]{1,4}", space, inner).prop_map(|(a, key, b, value)| format!("{a}\"{key}\" :{b}{value}"));
    (proptest::collection::vec(member, 0..4), proptest::option::of(hooks), any::<prop::sample::Index>(), space, any::<bool>()).prop_map(
        |(mut members, hooks, place, space, mark)| {
            if let Some(hooks) = hooks {
                members.insert(place.index(members.len() + 1), hooks);
            }
            format!("{}{}{space}", if mark { MARK } else { "" }, around('{', &members, &space, '}'))
        },
    )
}

fn around(open: char, members: &[String], empty: &str, close: char) -> String {
    if members.is_empty() { format!("{open}{empty}{close}") } else { format!("{open}{}{close}", members.join(",")) }
}

proptest! {
    #[test]
    fn installing_only_adds_and_uninstalling_gives_the_same_bytes_back(text in document()) {
        let installed = put_in(&text);
        prop_assert_eq!(put_in(&installed), installed.clone());
        prop_assert_eq!(take_out(&installed, Some(&text)), Some(text.clone()));
        let mut kept = installed.chars();
        prop_assert!(text.chars().filter(|c| !is_space(*c)).all(|c| kept.any(|other| other == c)), "{}", installed);
    }

    #[test]
    fn what_was_changed_meanwhile_stays(text in document()) {
        let edit = |text: &str| {
            let body = text.trim_start_matches(MARK);
            let comma = if serde_json::from_str::<serde_json::Value>(body).unwrap().as_object().unwrap().is_empty() { "" } else { "," };
            text.replacen('{', &format!("{{ \"EDITED\":0{comma}"), 1)
        };
        let value = |text: &str| serde_json::from_str::<serde_json::Value>(text.trim_start_matches(MARK)).unwrap();
        let left = take_out(&edit(&put_in(&text)), Some(&text)).unwrap();
        prop_assert_eq!(value(&left), value(&edit(&text)));
        // White space is lost in containers alone that had nothing else in them.
        let squeezed = |text: &str| text.replace(is_space, "");
        prop_assert_eq!(squeezed(&left), squeezed(&edit(&text)));
    }

    #[test]
    fn a_repair_changes_nothing_but_the_helper(text in document()) {
        let (old, new) = (CLAUDE.line("/old/helper"), line());
        let installed = install(&text, &CLAUDE, &old).unwrap();
        prop_assert_eq!(put_in(&installed), installed.replace(&quoted(&old), &quoted(&new)));
    }
}

#[test]
fn comments_stay_where_an_agent_reads_them() {
    for (text, wanted) in [
        ("{ // mine\n}\n", "// mine"),
        ("// mine alone", "// mine alone"),
        ("// mine\n{\n  \"a\": 1 // of a, the first\n}\n", "// of a, the first"),
        ("{\n  // mine\n  \"hooks\": { /* none yet */ },\n  \"b\": 2\n}\n", "/* none yet */"),
    ] {
        let installed = install(text, &GEMINI, &GEMINI.line(HELPER)).unwrap();
        assert!(installed.contains(wanted) && installed.contains("\"timeout\": 5000"), "{installed}");
        assert_eq!(look(&installed, &GEMINI).unwrap().entries.len(), 2, "{installed}");
        assert_eq!(uninstall(&installed, &GEMINI, Some(text)).unwrap().as_deref(), Some(text));
        // Without the copy our entries alone go, and no comment with them.
        match uninstall(&installed, &GEMINI, None) {
            Ok(left) => assert!(left.unwrap().contains(wanted), "{installed}"),
            Err(wrong) => assert!(wrong.what.contains("comment"), "{installed}"),
        }
        assert!(install(text, &CLAUDE, &line()).is_err(), "Claude Code reads none");
    }
    assert!(look(r#"{"hooksConfig": {"enabled": false}}"#, &GEMINI).unwrap().disabled);
    for on in [r#"{"hooksConfig": {"enabled": true}}"#, r#"{"hooksConfig": 7}"#, r#"{"enabled": false}"#, "{}"] {
        assert!(!look(on, &GEMINI).unwrap().disabled, "{on}");
    }
}
