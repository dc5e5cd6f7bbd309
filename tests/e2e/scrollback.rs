//! What panes showed comes back above their prompts, once, and drives no terminal.

use serde_json::{Value, json};
use sidecar::store::{KeptText, Store, TextMark};

use super::records::options;
use super::stranger::supported_versions;
use super::support::{World, wait_or_tell};

const LINE: &str = "--- sidecar: above, what this pane showed until ";

fn configure(world: &World, document: &Value) {
    let folder = world.home().parent().unwrap().join("config/sidecar");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("config.json"), document.to_string()).unwrap();
}

/// A world that keeps so many lines of each pane, and looks only when it is asked.
fn world_that_keeps(lines: u32) -> World {
    let world = World::bare();
    world.configure(&format!("set -g history-limit 20000\n{}", options(0.2, 3600.0)));
    configure(&world, &json!({ "restore": { "scrollback": lines } }));
    world
}

impl World {
    fn store_at(&self) -> Store {
        Store::at(self.store().expect("a store"))
    }

    /// The id of the record of a session's only pane.
    fn pane_of(&self, session: &str) -> String {
        self.shell(session)["windows"][0]["panes"][0]["id"].as_str().unwrap().to_owned()
    }

    /// What is kept of it.
    fn kept(&self, session: &str) -> Option<KeptText> {
        self.store_at().text(&self.pane_of(session))
    }

    /// One round of the timer, as if a minute had passed since the last one.
    fn round(&self) {
        let folder = self.store().unwrap().join("scrollback");
        for entry in std::fs::read_dir(folder).into_iter().flatten() {
            let file = std::fs::OpenOptions::new().append(true).open(entry.unwrap().path()).unwrap();
            file.set_modified(std::time::SystemTime::now() - std::time::Duration::from_secs(61)).unwrap();
        }
        self.look();
    }

    /// Makes the session `work`, which shows this word, and looks.
    fn work_shows(&self, word: &str) {
        self.tmux(["new-session", "-d", "-s", "work"]).ok();
        self.wait_recorded(&["work"]);
        // The line that prints it does not hold it.
        let (start, end) = word.split_at(2);
        self.run_in("work", &format!("echo {start}''{end}"));
        self.wait_shown("work", word);
        self.look_anew();
    }

    fn run_in(&self, session: &str, line: &str) {
        self.tmux(["send-keys", "-t", session, "-l", line]).ok();
        self.press(session, &["Enter"]);
    }

    /// The lines of a pane with their colours, the empty ones at the end left out.
    fn coloured(&self, session: &str) -> String {
        self.tmux(["capture-pane", "-p", "-e", "-J", "-S", "-", "-t", session]).ok().trim_end().to_owned()
    }

    fn times_shown(&self, session: &str, text: &str) -> usize {
        self.screen(session).lines().filter(|line| line.contains(text)).count()
    }
}

#[test]
fn ten_thousand_lines_with_colours_and_wide_characters_come_back_bounded_and_once() {
    for (version, folder) in supported_versions() {
        let mut world = world_that_keeps(3000);
        world.switch_tmux(&folder);
        world.tmux(["new-session", "-d", "-x", "100", "-y", "30", "-s", "work"]).ok();
        world.wait_recorded(&["work"]);
        world.run_in("work", "seq 1 10000; printf '\\033[1;31mred\\033[0m 漢字 é\\n'; echo do''ne");
        world.wait_shown("work", "done");
        world.look_anew();
        let kept = world.kept("work").unwrap_or_else(|| panic!("{version}: {}", world.log()));
        let lines: Vec<&str> = kept.text.lines().collect();
        assert_eq!(lines.len(), 3000, "{version}");
        assert!(lines.contains(&"9999") && !lines.contains(&"7000"), "{version}");
        let red = lines.iter().find(|line| line.contains("漢字 é") && !line.contains("printf")).unwrap();
        assert!(red.contains("\x1b[1m\x1b[31mred") || red.contains("\x1b[1;31mred"), "{version}: {red:?}");

        // The second restore comes without a single key having been pressed, the third one after some work.
        for round in 0..3 {
            world.crash_and_restore();
            world.wait_shown("work", LINE);
            wait_or_tell(|| world.screen("work"), || world.screen("work").trim_end().ends_with(['$', '#']).then_some(()));
            let screen = world.coloured("work");
            assert!(screen.contains(red.trim_end()), "{version} {round}: {:?}", screen.lines().rev().take(5).collect::<Vec<_>>());
            assert_eq!((world.times_shown("work", LINE), world.times_shown("work", "done")), (1, 1), "{version} {round}");
            assert!(world.screen("work").lines().any(|line| line == "9999") && !world.screen("work").lines().any(|line| line == "7000"));
            if round < 2 {
                world.round();
                assert_eq!(world.kept("work").unwrap().text, kept.text, "{version} {round}: nothing new");
            }
        }
        world.run_in("work", "for x in a b c d e f; do echo new-$x; done");
        world.wait_shown("work", "new-f");
        world.round();
        let second = world.kept("work").unwrap().text;
        assert!(second.contains("new-f") && second.contains("\n9999\n") && !second.contains(LINE), "{version}");
        world.crash_and_restore();
        world.wait_shown("work", LINE);
        for once in [LINE, "new-f", "漢字 é"] {
            // The line that printed it shows it as well.
            let times = world.screen("work").lines().filter(|line| line.contains(once) && !line.contains("printf")).count();
            assert_eq!(times, 1, "{version}: {once}");
        }
    }
}

#[test]
fn a_pane_rests_the_longer_the_more_it_showed_and_is_asked_only_if_something_was_printed() {
    let world = world_that_keeps(100);
    world.work_shows("first");
    let first = world.kept("work").unwrap();
    world.round();
    assert_eq!(world.kept("work"), Some(first.clone()), "nothing was printed");
    let store = world.store_at();
    let (asked, mark) = store.text_mark(&world.pane_of("work")).unwrap();
    // With so many lines it rests for a minute.
    let many = KeptText { mark: TextMark { lines: 10_000, ..mark }, ..first.clone() };
    store.save_text(&store.lock_texts().unwrap(), &world.pane_of("work"), &many).unwrap();
    world.run_in("work", "echo sec''ond");
    world.wait_shown("work", "second");
    world.look();
    assert_eq!(world.kept("work"), Some(many));
    world.round();
    let second = world.kept("work").unwrap();
    assert!(second.text.contains("second") && store.text_mark(&world.pane_of("work")).unwrap().0 > asked);
    // Of a few lines there is nothing to wait for.
    world.run_in("work", "echo thi''rd");
    world.wait_shown("work", "third");
    wait_or_tell(
        || world.kept("work").unwrap().text,
        || {
            world.look();
            world.kept("work").unwrap().text.contains("third").then_some(())
        },
    );
}

#[test]
fn a_single_command_after_a_restore_is_kept_at_once_and_an_unused_prompt_is_not() {
    let world = world_that_keeps(100);
    world.tmux(["new-session", "-d", "-s", "work"]).ok();
    world.wait_recorded(&["work"]);
    world.run_in("work", "echo be''fore");
    world.wait_shown("work", "before");
    world.look_anew();
    for round in ["one", "two"] {
        let old = world.kept("work").unwrap().text;
        world.crash_and_restore();
        world.wait_shown("work", LINE);
        wait_or_tell(|| world.screen("work"), || world.screen("work").trim_end().ends_with(['$', '#']).then_some(()));
        // No time has passed since it was last asked: another life of the server is another pane.
        world.look();
        let kept = world.kept("work").unwrap();
        assert_eq!((kept.text.as_str(), kept.mark.prompt), (old.as_str(), 1), "{round}");
        world.run_in("work", &format!("echo aft''er-{round}"));
        world.wait_shown("work", &format!("after-{round}"));
        world.round();
        assert_eq!(world.kept("work").unwrap().text.matches("before\n").count(), 1, "{round}");
        assert!(world.kept("work").unwrap().text.contains(&format!("after-{round}")), "{round}");
    }
}

#[test]
fn a_full_screen_program_leaves_what_was_there_before_it() {
    let world = world_that_keeps(100);
    world.work_shows("normal");
    world.run_in("work", "printf '\\033[?1049hfull''screen'; read x");
    world.wait_shown("work", "fullscreen");
    assert_eq!(world.show("#{alternate_on}"), "1");
    world.round();
    let kept = world.kept("work").unwrap().text;
    assert!(kept.contains("normal") && !kept.contains("fullscreen"), "{kept}");
}

#[test]
fn nothing_is_kept_of_ignored_sessions_of_records_that_are_gone_and_without_the_users_word() {
    let world = world_that_keeps(100);
    configure(&world, &json!({ "restore": { "scrollback": 100 }, "shells": { "ignore": ["secret*"] } }));
    let files = || {
        let entries = std::fs::read_dir(world.store().unwrap().join("scrollback")).into_iter().flatten();
        entries.filter(|entry| entry.as_ref().unwrap().path().extension().is_some()).count()
    };
    for name in ["work", "other", "secret-1"] {
        world.tmux(["new-session", "-d", "-s", name]).ok();
        world.tmux(["send-keys", "-t", name, "echo he''re", "Enter"]).ok();
    }
    world.wait_recorded(&["other", "work"]);
    for name in ["work", "other", "secret-1"] {
        world.wait_shown(name, "here");
    }
    world.look_anew();
    assert_eq!(files(), 2);
    assert!(world.kept("work").is_some() && world.kept("other").is_some());
    // One that shows nothing is no reason to ask again and again, nor for another start.
    world.tmux(["new-session", "-d", "-s", "blank", "exec sleep 1000"]).ok();
    world.look_anew();
    assert_eq!((files(), world.kept("blank").unwrap().text.as_str()), (3, ""));
    assert!(!world.store_at().has_text(&world.pane_of("blank")) && world.store_at().has_text(&world.pane_of("work")));
    world.sidecar(["shell", "delete", "--target", "blank"]).ok();
    world.sidecar(["shell", "purge", "--target", "blank", "--yes"]).ok();
    // A forgotten one keeps its text until its record goes.
    world.sidecar(["shell", "delete", "--target", "other"]).ok();
    world.round();
    assert_eq!(files(), 2);
    world.sidecar(["shell", "purge", "--target", "other", "--yes"]).ok();
    assert_eq!(files(), 1, "gone with the record");
    configure(&world, &json!({}));
    world.look();
    assert_eq!(files(), 0);
}

#[test]
fn what_a_kept_text_holds_drives_no_terminal_and_a_command_waits_below_it() {
    let world = world_that_keeps(100);
    world.tmux(["new-session", "-d", "-s", "work"]).ok();
    world.tmux(["new-session", "-d", "-s", "waits", "echo r''an; sleep 1000"]).ok();
    world.wait_recorded(&["waits", "work"]);
    world.wait_quiet();
    let canary = world.work().join("canary");
    let evil = format!(
        "old\x1b]2;EVIL\x07\x1bktitle\x1b\\\x1b]52;c;ZXZpbA==\x07\x1b[5n\x1b[6n\x1b[c\x1b[21t\x1b[?1049h\x1b[2J\x1bPtmux;\x1b\x1b]2;EVIL\x07\x1b\\touch {}\rnew\n",
        canary.display()
    );
    let store = world.store_at();
    for session in ["work", "waits"] {
        let kept = KeptText { text: evil.clone(), taken: 1_700_000_000_000, mark: TextMark::default() };
        store.save_text(&store.lock_texts().unwrap(), &world.pane_of(session), &kept).unwrap();
    }
    world.crash_and_restore();
    for session in ["work", "waits"] {
        world.wait_shown(session, LINE);
        let state = world.tmux(["display-message", "-p", "-t", session, "#{pane_title}#{window_name}#{alternate_on}"]).ok();
        assert!(!state.contains("EVIL") && !state.contains("title") && state.trim_end().ends_with('0'), "{state}");
        let first = world.screen(session).lines().next().unwrap_or_default().to_owned();
        assert!(first.starts_with("old") && first.contains("new"), "{first}");
    }
    world.wait_shown("waits", "Enter runs it");
    assert_eq!(world.times_shown("waits", "ran"), 0);
    world.round();
    assert_eq!(world.kept("waits").unwrap().text, evil, "a question is nothing that the pane showed");
    world.press("waits", &["Enter"]);
    world.wait_shown("waits", "ran");
    assert!(!canary.exists());
    // What answers of the terminal would look like typed text.
    world.run_in("work", "echo qui''et");
    world.wait_shown("work", "quiet");
    let typed = |line: &str| line == "$ echo qui''et" || line == "# echo qui''et";
    assert!(world.screen("work").lines().any(typed), "{}", world.screen("work"));
}

#[test]
fn off_is_the_default_and_a_plain_pane_is_then_tmuxs_own() {
    let world = World::bare();
    world.configure(&options(0.2, 3600.0));
    world.work_shows("first");
    assert!(!world.store().unwrap().join("scrollback").exists());
    world.crash_and_restore();
    assert_eq!(world.show("#{pane_start_command}"), "");
    assert_eq!(world.times_shown("work", LINE), 0);
}

#[test]
fn settings_that_can_not_be_read_remove_nothing_of_what_is_kept() {
    let world = world_that_keeps(100);
    world.work_shows("first");
    let kept = world.kept("work").unwrap();
    let file = world.home().parent().unwrap().join("config/sidecar/config.json");
    for half in ["", r#"{ "restore": { "scrollback": 100, } }"#, r#"{ "restore": { "scrollback": "100" } }"#] {
        std::fs::write(&file, half).unwrap();
        world.round();
        assert_eq!(world.kept("work").as_ref(), Some(&kept), "{half}");
    }
    world.crash_and_restore();
    world.wait_shown("work", LINE);
    std::fs::remove_file(&file).unwrap();
    world.round();
    assert_eq!(world.kept("work"), None);
}
