//! What each form of a save, and each of its known flaws, becomes.

use std::path::Path;

use proptest::prelude::*;

use super::*;
use crate::model::{Bootstrap, Generation, Ids, Observation, RawText, SeenSession, Shell, State, TmuxSettings, Tombstone, Window, is_id};
use crate::store::Store;

struct Counted(u32);

impl Ids for Counted {
    fn fresh(&mut self, prefix: &str) -> String {
        self.0 += 1;
        format!("{prefix}-{:04}", self.0)
    }
}

fn read_with(save: &[u8], dirs: &[&str]) -> (Vec<Draft>, Vec<String>) {
    let parsed = parse(save);
    let mut problems = parsed.problems.clone();
    let is_dir = |path: &Path| dirs.iter().any(|dir| path == Path::new(dir));
    let drafts = drafts(&parsed, Places { is_dir: &is_dir, home: Path::new("/home/me") }, &mut Counted(0), &mut problems);
    (drafts, problems.into_iter().map(|problem| format!("{}: {}", problem.line, problem.message)).collect())
}

fn read(save: &str) -> (Vec<Draft>, Vec<String>) {
    read_with(save.as_bytes(), &[])
}

/// A save of one session that can be read whole.
#[track_caller]
fn one(save: &str) -> Shell {
    let (drafts, problems) = read(save);
    assert_eq!((drafts.len(), problems), (1, Vec::new()));
    drafts[0].shell.clone()
}

/// Everything of a shell, on a line for each window and pane.
fn told(shell: &Shell) -> String {
    let mut out = format!("{} in {}\n", shell.session, shell.work_dir.display());
    for window in &shell.windows {
        let flags = [(window.active, "active"), (window.last, "last"), (window.zoomed, "zoomed"), (window.automatic_rename, "auto")];
        let flags: String = flags.iter().filter(|(set, _)| *set).map(|(_, word)| format!(" {word}")).collect();
        let layout = window.layout.as_ref().map_or("no layout".to_owned(), |layout| layout.to_tmux()[5..].to_owned());
        out.push_str(&format!(" {} '{}'{flags}, {layout}\n", window.index, window.name));
        for pane in &window.panes {
            let active = if pane.active { " active" } else { "" };
            let argv: Vec<_> = pane.argv.iter().map(RawText::display).collect();
            out.push_str(&format!("  {} '{}' {}{active} {argv:?}\n", pane.index, pane.title, pane.dir.display()));
            assert_eq!((&pane.agent, &pane.run), (&None, &None));
        }
    }
    out
}

#[test]
fn the_first_form_has_the_windows_name_in_the_panes_row() {
    let (drafts, problems) = read(
        "pane\tblue\t0\t:vim\t0\t:!\t0\t:/tmp\t1\tvim\t:vim foo.txt\n\
         pane\tblue\t1\t:man\t0\t:!-\t0\t:/tmp\t0\tbash\t:\n\
         pane\tblue\t1\t:man\t0\t:!-\t1\t:/usr/share/man\t1\tman\t:man echo\n\
         pane\tblue\t2\t:\t1\t:*\t0\t:/tmp\t1\tbash\t:\n\
         window\tblue\t0\t0\t:!\tcea4,200x49,0,0,7\n\
         window\tblue\t1\t0\t:!-\t9797,200x49,0,0{100x49,0,0,8,99x49,101,0,9}\n\
         window\tblue\t2\t1\t:*\t677f,200x49,0,0,10\n\
         state\tyellow\tblue\n",
    );
    assert_eq!(problems, [""; 0]);
    assert_eq!(
        told(&drafts[0].shell).lines().collect::<Vec<_>>(),
        [
            "blue in /tmp",
            " 0 'vim', 200x49,0,0,0",
            "  0 '' /tmp active [\"vim\", \"foo.txt\"]",
            " 1 'man' last, 200x49,0,0{100x49,0,0,0,99x49,101,0,1}",
            "  0 '' /tmp []",
            "  1 '' /usr/share/man active [\"man\", \"echo\"]",
            " 2 '' active, 200x49,0,0,0",
            "  0 '' /tmp active []",
        ]
    );
    assert_eq!((drafts[0].shell.windows[1].width, drafts[0].shell.windows[1].height), (200, 49));
}

/// Written by tmux-resurrect itself.
const REAL: &str = include_str!("../../tests/e2e/resurrect_save.txt");

#[test]
fn the_present_form_is_read_whole_with_a_group_a_zoom_and_an_empty_title() {
    let (drafts, problems) = read(REAL);
    assert_eq!(problems, [""; 0]);
    let names: Vec<_> = drafts.iter().map(|draft| (draft.shell.session.as_str(), draft.panes)).collect();
    assert_eq!(names, [("2foo", 1), ("my notes", 2), ("web", 3), ("grp", 3)]);
    let notes = told(&drafts[1].shell);
    assert!(notes.contains(" 0 'bash' active auto, 80x24"), "{notes}");
    // The empty title left its column out; the two spaces stand as they were.
    assert!(notes.contains("  0 '' /srv/code/two  spaces []\n  1 'a title' /srv/code/it's active []\n"), "{notes}");
    let web = told(&drafts[2].shell);
    assert!(web.contains(" 0 'editor' last zoomed, ") && web.contains(" 1 'logs β' active, "), "{web}");
    let (web, grp) = (&drafts[2].shell, &drafts[3].shell);
    assert_eq!((&web.group, &grp.group, drafts[3].original.as_ref()), (&Some("web".into()), &Some("web".into()), Some(&web.id)));
    let places = |shell: &Shell| shell.windows.iter().map(|window| (window.id.clone(), window.index)).collect::<Vec<_>>();
    assert_eq!(places(web), places(grp));
    assert!(grp.windows.iter().all(|window| window.linked && window.panes.is_empty()));
    assert_eq!(grp.windows.iter().map(|window| (window.active, window.last)).collect::<Vec<_>>(), [(true, false), (false, false)]);
}

#[test]
fn columns_that_have_moved_up_are_told_and_bring_no_strangers_command() {
    // As the script writes them: the title is empty, the command is, both are; and as another writer leaves the title out.
    for (columns, title, argv) in [
        ("\t:/d\t1\tvim\t4242\t:init of somebody", "", &[][..]),
        ("\tt\t:/d\t1\t4242\t:init of somebody", "t", &[]),
        ("\t:/d\t1\t4242\t17\t:init of somebody", "", &[]),
        ("\t:/d\t1\tvim\t:vim x", "", &["vim", "x"]),
        ("\t\t:/d\t1\tvim\t:vim x", "", &["vim", "x"]),
        ("\t:/d\t:/d\t1\tvim\t:vim x", ":/d", &["vim", "x"]),
        ("\t1\t:/d\t1\tvim\t:vim x\ty", "1", &["vim", "x", "y"]),
    ] {
        let shell = one(&format!("pane\tweb\t0\t1\t:*\t0{columns}\n"));
        let pane = shell.panes().next().unwrap();
        assert_eq!((pane.title.as_str(), pane.dir.clone(), pane.active), (title, RawText::from("/d"), true), "{columns}");
        assert_eq!(pane.argv.iter().map(RawText::display).collect::<Vec<_>>(), argv, "{columns}");
    }
    // The same in the first form.
    let shell = one("pane\tweb\t0\t:x\t1\t:*\t0\t:/d\t1\t4242\t:init of somebody\n");
    assert!(shell.panes().next().unwrap().argv.is_empty());
}

#[test]
fn automatic_rename_is_told_by_either_row_or_by_what_that_version_did() {
    let window = |pane: &str, window: &str| {
        let save = format!("pane\tweb\t0\t{pane}\t:/d\t1\tsh\t:\n{window}");
        let window = one(&save).windows[0].clone();
        (window.name, window.automatic_rename)
    };
    let layout = "b25d,80x24,0,0,0";
    let new = |last: &str| window("1\t:*\t0\tt", &format!("window\tweb\t0\t:n\t1\t:*\t{layout}{last}\n"));
    assert_eq!(new("\ton"), ("n".into(), true));
    assert_eq!(new("\t:"), ("n".into(), true));
    assert_eq!(new("\toff"), ("n".into(), false));
    assert_eq!(new(""), ("n".into(), false));
    // A save that was cut short before its windows: tmux names them.
    assert_eq!(window("1\t:*\t0\tt", ""), (String::new(), true));
    assert_eq!(window(":n\t1\t:*\t0", ""), ("n".into(), false));
    assert_eq!(window(":n\t3\t:*\t0", ""), ("n".into(), true));
    assert_eq!(window("n\t1\t*\t0", ""), ("n".into(), false));
}

#[test]
fn of_a_row_that_stands_twice_the_first_counts() {
    let (drafts, problems) = read(
        "pane\tweb\t0\t1\t:*\t0\tt\t:/a\t1\tsh\t:\n\
         pane\tweb\t0\t1\t:*\t0\tt\t:/a\t1\tsh\t:\n\
         pane\tweb\t0\t1\t:*\t0\tt\t:/b\t1\tsh\t:\n\
         window\tweb\t0\t:n\t1\t:*\tb25d,80x24,0,0,0\toff\n\
         window\tweb\t0\t:n\t1\t:*\tb25d,80x24,0,0,0\toff\n\
         window\tweb\t0\t:m\t1\t:*\tb25d,80x24,0,0,0\toff\n\
         window\tweb\t7\t:m\t0\t:\tb25d,80x24,0,0,0\toff\n",
    );
    assert_eq!(told(&drafts[0].shell).lines().skip(2).collect::<Vec<_>>(), ["  0 't' /a active []"]);
    assert_eq!(drafts[0].shell.windows[0].name, "n");
    assert_eq!(
        problems,
        [
            "3: its pane stands in line 1 already; left out",
            "6: its window stands in line 4 already; left out",
            "7: no pane of its window can be read; left out",
        ]
    );
}

#[test]
fn of_several_current_windows_and_panes_one_is_kept() {
    let shell = one("pane\tweb\t0\t1\t:*-\t0\tt\t:/a\t1\tsh\t:\npane\tweb\t0\t1\t:*-\t1\tt\t:/a\t1\tsh\t:\n\
                     pane\tweb\t1\t1\t:*\t0\tt\t:/a\t1\tsh\t:\npane\tweb\t2\t0\t:-\t0\tt\t:/a\t1\tsh\t:\n\
                     pane\tweb\t3\t0\t:-\t0\tt\t:/a\t1\tsh\t:\n");
    let windows: Vec<_> = shell.windows.iter().map(|window| (window.active, window.last)).collect();
    assert_eq!(windows, [(true, false), (false, false), (false, true), (false, false)]);
    assert_eq!(shell.windows[0].panes.iter().map(|pane| pane.active).collect::<Vec<_>>(), [true, false]);
}

#[test]
fn a_directory_is_read_as_the_one_that_is_there() {
    let dir = |saved: &str, there: &[&str]| {
        let save = format!("pane\tweb\t0\t1\t:*\t0\tt\t:{saved}\t1\tsh\t:\n");
        read_with(save.as_bytes(), there).0[0].shell.panes().next().unwrap().dir.display().into_owned()
    };
    // The first space is escaped, later ones are not; older versions escape none.
    assert_eq!(dir(r"/my\ own code", &[]), "/my own code");
    assert_eq!(dir("/my own code", &[]), "/my own code");
    assert_eq!(dir("/two  spaces", &[]), "/two  spaces");
    assert_eq!(dir(r"/a\ b", &[r"/a\ b"]), r"/a\ b");
    assert_eq!(dir(r"/a\ b", &["/a b"]), "/a b");
    assert_eq!(dir(r"/a\b", &[]), r"/a\b");
    assert_eq!(dir(r"/gone\ (deleted)", &[]), "/gone");
    assert_eq!(dir("/x (deleted)", &["/x (deleted)"]), "/x (deleted)");
    assert_eq!(dir("/#{pid} $(x) `y`", &[]), "/#{pid} $(x) `y`");
}

#[test]
fn a_session_opens_in_the_first_directory_that_is_there_and_a_pane_without_one_in_the_sessions() {
    let save = b"pane\tweb\t0\t1\t:*\t0\tt\t:\t1\tsh\t:\npane\tweb\t0\t1\t:*\t1\tt\t:/gone\t0\tsh\t:\n\
                 pane\tweb\t1\t0\t:\t0\tt\t:/there\t1\tsh\t:\npane\tapi\t0\t1\t:*\t0\tt\t:\t1\tsh\t:\n\
                 pane\told\t0\t1\t:*\t0\tt\t:/gone\t1\tsh\t:\n";
    let (drafts, problems) = read_with(save, &["/there"]);
    assert_eq!(problems, [""; 0]);
    let work: Vec<_> = drafts.iter().map(|draft| draft.shell.work_dir.display()).collect();
    assert_eq!(work, ["/there", "/home/me", "/gone"]);
    let dirs: Vec<_> = drafts[0].shell.panes().map(|pane| pane.dir.display()).collect();
    assert_eq!(dirs, ["/there", "/gone", "/there"]);
}

#[test]
fn a_layout_that_is_none_or_not_that_of_these_panes_is_left_out() {
    let pane = "pane\tweb\t0\t1\t:*\t0\tt\t:/a\t1\tsh\t:\n";
    for layout in ["tiled", "", "b25d,80x24,0,0[80x12,0,0,0,80x11,0,13,1]", "0000,4000000000x24,0,0,0", "0000,80x24,0,0{", "é"] {
        let (drafts, problems) = read(&format!("{pane}window\tweb\t0\t:n\t1\t:*Z\t{layout}\toff\n"));
        let window = &drafts[0].shell.windows[0];
        assert_eq!((&window.layout, window.width, window.zoomed, window.name.as_str()), (&None, 0, true, "n"), "{layout}");
        assert_eq!(problems.len(), usize::from(!layout.is_empty()), "{layout}");
    }
    // tmux 3.8 writes JSON.
    let json = r#"{"V":2,"L":{"t":"p","w":80,"h":24,"x":0,"y":0,"a":true,"i":0,"I":"%0"}}"#;
    assert!(one(&format!("{pane}window\tweb\t0\t:n\t1\t:*\t{json}\toff\n")).windows[0].layout.is_some());
}

#[test]
fn a_command_becomes_the_words_that_a_shell_would_read_and_nothing_is_expanded() {
    let argv = |command: &str| {
        let shell = one(&format!("pane\tweb\t0\t1\t:*\t0\tt\t:/a\t1\tx\t:{command}\n"));
        shell.panes().next().unwrap().argv.iter().map(|word| word.display().into_owned()).collect::<Vec<_>>()
    };
    assert_eq!(argv("vim my file"), ["vim", "my", "file"]);
    assert_eq!(argv(r"vim my\ file ''"), ["vim", "my file", ""]);
    assert_eq!(argv("less it's"), ["less", "it's"]);
    assert_eq!(argv("vim #x # y"), ["vim", "#x", "#", "y"]);
    assert_eq!(argv("sh -c $(touch CANARY);`x`|*~"), ["sh", "-c", "$(touch", "CANARY);`x`|*~"]);
    assert_eq!(argv("claude --resume 01a228e7-fac2-7180-b353-a6ead433a7ba").len(), 3);
    assert_eq!(argv(""), [""; 0]);
}

#[test]
fn line_ends_of_windows_a_byte_order_mark_and_empty_lines_cost_nothing() {
    let changed = format!("\u{feff}{}\r\n\r\n", REAL.trim_end().replace('\n', "\r\n"));
    let all = |save: &str| read(save).0.iter().map(|draft| told(&draft.shell)).collect::<Vec<_>>();
    assert_eq!(all(&changed), all(REAL));
    assert_eq!(read(&changed).1, [""; 0]);
}

#[test]
fn a_save_that_ends_anywhere_keeps_every_row_before() {
    let whole = read(REAL).0.iter().map(|draft| draft.shell.panes().count()).sum::<usize>();
    for end in 0..REAL.len() {
        let (drafts, problems) = read_with(&REAL.as_bytes()[..end], &[]);
        let rows = REAL.as_bytes()[..end].split(|&byte| byte == b'\n').rev().skip(1).filter(|line| line.starts_with(b"pane")).count();
        let panes = drafts.iter().map(|draft| draft.shell.panes().count()).sum::<usize>();
        assert!(panes == rows || panes == rows + 1 && panes <= whole, "{end}: {panes} of {rows}");
        assert!(problems.iter().all(|problem| !problem.contains("already")), "{problems:?}");
    }
    // What may have lost its end is not taken for whole.
    let (drafts, problems) = read("pane\tweb\t0\t1\t:*\t0\tt\t:/a\t1\trm\t:rm -r /tmp/x");
    assert!(drafts[0].shell.panes().next().unwrap().argv.is_empty());
    assert_eq!(problems, ["1: the file ends within this line: it was cut short"]);
    assert_eq!(read("pane\tweb\t0\t1\t:*\t0\tt\t:/a").1.len(), 1);
    assert_eq!(read("").0.len(), 0);
    let (drafts, problems) = read(&"\0".repeat(4096));
    assert_eq!((drafts.len(), problems), (0, vec!["1: it holds a zero byte, as a damaged file does; left out".to_owned()]));
}

#[test]
fn a_row_that_cannot_be_read_costs_itself_alone_and_is_told_with_its_line() {
    let good = "pane\tweb\t0\t1\t:*\t0\tt\t:/a\t1\tsh\t:\n";
    let long = "x".repeat(1 << 20);
    for bad in [
        "nonsense",
        "pane",
        "pane\t",
        "pane\tweb",
        "pane\tweb\t1",
        "pane\tweb\tx\t1\t:*\t0\tt\t:/a\t1\tsh\t:",
        "pane\tweb\t-1\t1\t:*\t0\tt\t:/a\t1\tsh\t:",
        "pane\tweb\t99999999999\t1\t:*\t0\tt\t:/a\t1\tsh\t:",
        "pane\t\t1\t1\t:*\t0\tt\t:/a\t1\tsh\t:",
        "pane\tweb\t1\t1\t:*\t\tt\t:/a\t1\tsh\t:",
        "pane\tweb\t1\t7\t:*\t0\tt\t:/a\tx\tsh\t:",
        "window\tweb\t0",
        "window\tweb\t0\t:n\tx\t:*\tb25d,80x24,0,0,0\toff",
        "grouped_session",
        "grouped_session\tgrp",
        "grouped_session\tgrp\tother\t:\t:0",
        "grouped_session\tweb\tweb\t:\t:0",
        &format!("pane\t{long}\t1\t1\t:*\t0\tt\t:/a\t1\tsh\t:"),
        &format!("pane\tweb\t1\t1\t:*\t0\tt\t:/{long}\t1\tsh\t:"),
        &long,
    ] {
        let (drafts, problems) = read(&format!("{bad}\n{good}"));
        let name: String = bad.chars().take(60).collect();
        assert_eq!((drafts.len(), drafts[0].panes), (1, 1), "{name}");
        assert!(problems.len() == 1 && problems[0].starts_with("1: ") && problems[0].len() < 200, "{name}: {problems:?}");
    }
    // Of these the pane stays, without what can't be used.
    for (title, dir, command) in [(long.as_str(), "/a", "x"), ("t", "relative", "x"), ("t", "/a", long.as_str())] {
        let (drafts, problems) = read(&format!("{good}pane\tweb\t1\t1\t:*\t0\t{title}\t:{dir}\t1\tsh\t:{command}\n"));
        assert_eq!((drafts[0].panes, problems.len()), (2, 1), "{problems:?}");
        assert_eq!(drafts[0].shell.windows[1].panes[0].dir, RawText::from("/a"));
    }
}

#[test]
fn names_of_any_bytes_are_kept_as_tmux_shows_them() {
    let save = b"pane\ta\xff\\b #(touch CANARY)\t0\t1\t:*\t0\tt\xff\t:/d\xff\t1\tsh\t:\nwindow\ta\xff\\b #(touch CANARY)\t0\t:n\xff\\\t1\t:*\tx\toff\n";
    let (drafts, _) = read_with(save, &[]);
    let shell = &drafts[0].shell;
    assert_eq!(shell.session, r"a\377\\b #(touch CANARY)");
    assert_eq!(crate::tmux::name_from_shown(&shell.session), b"a\xff\\b #(touch CANARY)");
    assert_eq!(crate::tmux::name_from_shown(&shell.windows[0].name), b"n\xff\\");
    assert_eq!(shell.panes().next().unwrap().dir.as_bytes(), b"/d\xff");
}

fn shell(id: &str, session: &str) -> Shell {
    Shell { id: id.into(), name: session.into(), session: session.into(), made_as: session.into(), ..Shell::default() }
}

#[test]
fn no_name_that_anything_has_is_taken() {
    let names = ["free", "running", "unused", "recorded", "display", "made", "forgotten", "ignored", "again", "buried", r"a\b"];
    let save: String = names.iter().map(|name| format!("pane\t{name}\t0\t1\t:*\t0\tt\t:/d\t1\tsh\t:\n")).collect();
    let save = format!("grouped_session\tmember\tfree\t:\t:0\ngrouped_session\torphan\trunning\t:\t:0\n{save}");
    let generation = Generation { boot: "b".into(), pid: 1, start_time: 1, process_start: None };
    let tombstone = |shell| Tombstone { reason: crate::model::Reason::Closed, deleted_at: 1, shell, extra: serde_json::Map::new() };
    let state = State {
        shells: vec![
            shell("sh-r", "recorded"),
            Shell { name: "display".into(), ..shell("sh-d", "x") },
            Shell { made_as: "made".into(), ..shell("sh-m", "y") },
            Shell { made_as: "again".into(), imported: Some(1), ..shell("sh-a", "renamed") },
        ],
        tombstones: vec![tombstone(shell("sh-f", "forgotten")), tombstone(Shell { imported: Some(1), ..shell("sh-b", "buried") })],
        bootstrap: Some(Bootstrap { generation: generation.clone(), session: "$0".into(), screen: Vec::new() }),
        ..State::default()
    };
    let session = |id: &str, name: &str| SeenSession { id: id.into(), name: name.into(), ..SeenSession::default() };
    // A session that nobody used gives way to a restore.
    let sessions = vec![session("$0", "unused"), session("$1", "running"), session("$2", r"a\\b")];
    let seen = Observation { generation, version: "3.3a".into(), sessions, settings: TmuxSettings::default() };
    let chosen = choose(read(&save).0, &state, Some(&seen), &|name| name == "ignored");
    let fates: Vec<_> = chosen.iter().map(|candidate| (candidate.draft.shell.session.as_str(), candidate.fate)).collect();
    let skipped = Fate::Skipped;
    assert_eq!(
        fates,
        [
            ("free", Fate::Imported),
            ("running", skipped(Reason::SessionRunning)),
            ("unused", Fate::Imported),
            ("recorded", skipped(Reason::ShellRecorded)),
            ("display", skipped(Reason::ShellRecorded)),
            ("made", skipped(Reason::ShellRecorded)),
            ("forgotten", skipped(Reason::ShellForgotten)),
            ("ignored", skipped(Reason::NameIgnored)),
            ("again", skipped(Reason::AlreadyImported)),
            ("buried", skipped(Reason::AlreadyImported)),
            (r"a\\b", skipped(Reason::SessionRunning)),
            ("member", Fate::Imported),
            ("orphan", skipped(Reason::OriginalSkipped)),
        ]
    );
}

/// Bytes like those of a save: its words, its separators, and anything else.
fn like_a_save() -> impl Strategy<Value = Vec<u8>> {
    let words: &[&[u8]] = &[
        b"pane",
        b"window",
        b"grouped_session",
        b"state",
        b"web",
        b"0",
        b"1",
        b"2",
        b":",
        b":*Z",
        b":-",
        b":/d",
        b":\\ (deleted)",
        b"4242",
        b"on",
        b"off",
        b"\xff",
        b"\0",
        b"'",
        b"b25d,80x24,0,0,0",
        b"b25d,80x24,0,0[80x12,0,0,0,80x11,0,13,1]",
        b"\r",
    ];
    let word =
        prop_oneof![8 => proptest::sample::select(words).prop_map(<[u8]>::to_vec), 1 => proptest::collection::vec(any::<u8>(), 0..8)];
    let line = proptest::collection::vec(word, 0..14).prop_map(|words| words.join(&b'\t'));
    proptest::collection::vec(line, 0..12).prop_map(|lines| lines.join(&b'\n'))
}

/// Rows of the present form, with whatever values.
fn rows() -> impl Strategy<Value = Vec<u8>> {
    let name = || proptest::collection::vec(any::<u8>().prop_filter("no separator", |byte| !b"\t\n\0".contains(byte)), 1..6);
    let row = (name(), 0..4_u32, 0..3_u32, name(), name(), name(), any::<bool>()).prop_map(
        |(session, window, pane, title, dir, command, active)| {
            let numbers = |number: u32| number.to_string().into_bytes();
            [
                &b"pane"[..],
                &session,
                &numbers(window),
                b"1",
                b":*",
                &numbers(pane),
                &title,
                &[b":/", &dir[..]].concat(),
                if active { b"1" } else { b"0" },
                b"x",
                &[b":", &command[..]].concat(),
            ]
            .join(&b'\t')
        },
    );
    proptest::collection::vec(row, 0..12).prop_map(|rows| rows.iter().flat_map(|row| [&row[..], b"\n"].concat()).collect())
}

proptest! {
    #[test]
    fn any_bytes_become_records_that_the_store_gives_back(
        save in prop_oneof![proptest::collection::vec(any::<u8>(), 0..256), like_a_save(), rows()],
    ) {
        let (drafts, _) = read_with(&save, &["/d"]);
        let shells: Vec<Shell> = drafts.into_iter().map(|draft| Shell { imported: Some(1), ..draft.shell }).collect();
        for shell in &shells {
            prop_assert!(is_id(&shell.id) && !shell.session.is_empty() && !shell.windows.is_empty() && !shell.work_dir.is_empty());
            prop_assert!(shell.own_windows().all(|window: &Window| !window.panes.is_empty()));
            prop_assert!(shell.windows.iter().filter(|window| window.active).count() <= 1);
        }
        let folder = tempfile::tempdir().unwrap();
        let store = Store::at(folder.path().join("store"));
        let held = store.lock(std::time::Duration::from_secs(5)).unwrap();
        let state = State { shells, ..State::default() };
        store.save(&held, &store.load().unwrap(), &state, 1).unwrap();
        prop_assert_eq!(store.load().unwrap().state, state);
    }
}
