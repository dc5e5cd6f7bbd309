use super::super::command::CODEX;
use super::*;

fn line() -> String {
    CODEX.line("/usr/bin/sidecar")
}

fn table() -> String {
    format!("[[hooks.UserPromptSubmit]]\nhooks = [{{ type = \"command\", command = {}, timeout = 5 }}]\n", quoted(&line()))
}

/// Files of every kind that Codex reads.
const FILES: &[&str] = &[
    "",
    "\n",
    "model = \"o3\"",
    "model = \"o3\" # mine\r\n\r\n[features]\r\nx = true\r\n",
    "\u{feff}model = \"o3\"\n",
    "[hooks.state.\"/h/hooks.json:stop:0:0\"]\ntrusted_hash = \"sha256:0\"\n\n[projects.\"/w\"]\ntrust_level = \"trusted\"\n",
    "[[hooks.Stop]]\n[[hooks.Stop.hooks]]\ntype = \"command\"\ncommand = \"mine\"\n# the end",
    "[[hooks.UserPromptSubmit]]\nhooks = [{ type = \"command\", command = \"mine\" }]\n\n[tui]\ntheme = 'dark'",
    "[hooks]\nStop = [{ hooks = [] }]\n\n[tui] # x\n",
    "[tui.deeper]\nx = 1\n",
    "\u{feff}[tui]\ntheme = 'dark'\n",
];

#[test]
fn hooks_are_added_at_the_end_and_taken_out_to_the_byte() {
    for text in FILES {
        let installed = install(text, &CODEX, &line()).unwrap();
        assert!(installed.starts_with(text), "{text:?}");
        assert!(installed.replace("\r\n", "\n").ends_with(&table()), "{text:?}");
        assert_eq!(install(&installed, &CODEX, &line()).unwrap(), installed, "twice is as once");
        assert_eq!(look(&installed, &CODEX).unwrap().entries.len(), 1);
        assert_eq!(uninstall(&installed, &CODEX, Some(text)).unwrap().as_deref(), Some(*text));
        // What came meanwhile stays: Codex itself writes here.
        let later = format!("{installed}\n[projects.\"/later\"]\ntrust_level = \"trusted\"\n");
        let left = uninstall(&later, &CODEX, Some(text)).unwrap().unwrap();
        let end = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
        assert_eq!(left, format!("{text}{end}\n[projects.\"/later\"]\ntrust_level = \"trusted\"\n"), "{text:?}");
    }
    assert_eq!(uninstall(&install("", &CODEX, &line()).unwrap(), &CODEX, None).unwrap(), None, "a file that we made goes");
}

#[test]
fn a_repair_mends_in_place() {
    let installed = install("a = 1\n", &CODEX, &line()).unwrap();
    let moved = install("a = 1\n", &CODEX, &CODEX.line("/gone")).unwrap();
    assert_eq!(install(&moved, &CODEX, &line()).unwrap(), installed);
    let doubled = format!("{installed}\n{}", table());
    assert_eq!(install(&doubled, &CODEX, &line()).unwrap(), installed);
    let marked = format!("\u{feff}{moved}");
    assert_eq!(install(&marked, &CODEX, &line()).unwrap(), format!("\u{feff}{installed}"));
    let elsewhere = installed.replace("[[hooks.UserPromptSubmit]]", "[[hooks.Stop]]");
    assert_eq!(install(&elsewhere, &CODEX, &line()).unwrap(), installed);
}

#[test]
fn what_cannot_be_edited_is_refused_with_its_place() {
    for (text, row, column, what) in [
        ("a = 1\nb = [1,\nc=2\n", 3, 2, "it is not TOML"),
        ("hooks = { Stop = [] }\n", 1, 9, "hooks stand here in a form"),
        ("[hooks]\nUserPromptSubmit = []\n", 2, 20, "hooks stand here in a form"),
    ] {
        let wrong = install(text, &CODEX, &line()).unwrap_err();
        assert!(wrong.what.starts_with(what), "{wrong:?}");
        assert_eq!((wrong.line, wrong.column), (row, column), "{text:?}");
    }
    let among = format!("[hooks]\nUserPromptSubmit = [{{ hooks = [{{ type = \"command\", command = {} }}] }}]\n", quoted(&line()));
    assert_eq!(look(&among, &CODEX).unwrap().entries.len(), 1);
    assert!(uninstall(&among, &CODEX, None).unwrap_err().what.contains("by hand"));
}

#[test]
fn a_look_tells_hooks_of_others_and_hooks_that_are_off() {
    let is = |text: &str| (look(text, &CODEX).unwrap().any, look(text, &CODEX).unwrap().disabled);
    assert_eq!(is(FILES[5]), (false, false), "what Codex noted of trust is no hook");
    assert_eq!(is(FILES[6]), (true, false));
    assert_eq!(is("[features]\nhooks = false\n"), (false, true));
}

#[test]
fn the_title_gets_the_id_and_loses_it_to_the_byte() {
    for text in FILES {
        let installed = install_titles(text).unwrap();
        assert!(has_titles(&installed).unwrap(), "{text:?}");
        assert_eq!(install_titles(&installed).unwrap(), installed);
        assert_eq!(uninstall_titles(&installed, Some(text)).unwrap().as_deref(), Some(*text));
        let later = format!("{installed}{}[later]\n", if installed.ends_with('\n') { "" } else { "\n" });
        let left = uninstall_titles(&later, Some(text)).unwrap().unwrap();
        assert_eq!(
            left.replace("\r\n", "\n").trim_start(),
            format!("{}\n[later]\n", text.trim_end()).replace("\r\n", "\n").trim_start(),
            "{text:?}"
        );
        assert!(!has_titles(&left).unwrap());
    }
    assert_eq!(uninstall_titles(&install_titles("").unwrap(), None).unwrap(), None);
}

#[test]
fn a_title_of_the_user_keeps_its_items() {
    for (text, wanted) in [
        ("[tui]\nterminal_title = [ \"project-name\" ] # mine\n", "[tui]\nterminal_title = [ \"project-name\", \"thread-id\" ] # mine\n"),
        ("tui = { terminal_title = [\n  'a',\n] }\n", "tui = { terminal_title = [\n  'a', \"thread-id\",\n] }\n"),
        ("tui.terminal_title = []\n", "tui.terminal_title = [\"thread-id\"]\n"),
    ] {
        let installed = install_titles(text).unwrap();
        assert_eq!(installed, wanted);
        let edited = format!("# later\n{installed}");
        assert_eq!(uninstall_titles(&edited, Some(text)).unwrap(), Some(format!("# later\n{text}")));
        assert_eq!(uninstall_titles(&edited, None).unwrap(), Some(edited), "without a copy nobody knows whose it is");
    }
    let own = "[tui]\nterminal_title = [\"thread-id\"]\n";
    assert_eq!(install_titles(own).unwrap(), own);
    assert_eq!(uninstall_titles(own, Some(own)).unwrap().as_deref(), Some(own));
    assert!(install_titles("[tui]\nterminal_title = 3\n").unwrap_err().what.contains("by hand"));
    assert!(install_titles("tui.theme = 'x'\n").unwrap_err().what.contains("by hand"));
}
