//! Each finding from both sides: a whole that is well, and the one fact that makes it ill.

use std::path::PathBuf;

use super::facts::{Facts, Helper, Hook, Job, Live, Logind, Other, Program, Read, Records};
use super::{Level, Mend, examine};
use crate::agents::integration::{State, Status};
use crate::model::{Generation, ServerReport, ServerState};
use crate::plugin::{Does, KeyStanding, Standing};
use crate::units::{JobState, JobStatus};

const NOW: u64 = 1_800_000_000_000;

fn key(does: Does) -> KeyStanding {
    KeyStanding { key: "R".into(), option: "@sidecar-restore-key", verb: "restores", does }
}

fn status(state: State) -> Status {
    Status { state, file: "/home/me/.claude/settings.json".into(), detail: String::new(), hint: "do it".into() }
}

fn job(id: &'static str, state: JobState, runs: Option<bool>) -> Job {
    let (files, drop_ins) = (Vec::new(), Vec::new());
    let status = JobStatus { state, runs, files, drop_ins, detail: "so it stands".into(), hint: "do it".into() };
    Job { id, title: "a job", status, must_run: id == "snapshot_timer", lingers: None }
}

/// All is well.
fn well() -> Facts {
    Facts {
        now: NOW,
        tmux: "tmux ".into(),
        client: Some("3.5a".into()),
        server: ServerReport {
            socket: "/tmp/s".into(),
            state: ServerState::Running,
            pid: Some(7),
            version: Some("3.5a".into()),
            detail: None,
            last_seen: Some(NOW),
        },
        socket_exists: true,
        without_socket: None,
        live: Some(Live {
            plugin: Some(Standing {
                loaded: true,
                timer_runs: true,
                missing_hooks: Vec::new(),
                helper: Some("/p/sidecar".into()),
                keys: vec![key(Does::Ours)],
            }),
            helper_is_own: true,
            helper_runs: Some(true),
            is_current: Some(true),
            chosen_helper: Some(("/p/sidecar".into(), true)),
            agent_programs: vec!["claude".into(), "codex".into()],
            started: NOW - 5000,
            process_started: Some(NOW - 5400),
            interval: 15.0,
            ..Live::default()
        }),
        own: Helper { path: "/p/sidecar".into(), version: Some("1.0.0".into()) },
        on_path: Some(Helper { path: "/q/sidecar".into(), version: Some("1.0.0".into()) }),
        records: Records {
            dir: "/s".into(),
            read: Ok(Read { shells: 3, forgotten: 1, notices: Vec::new(), writable: true, latest: Some(NOW) }),
            unwritable: None,
            bytes: 5000,
            last_look: Some(NOW - 3000),
            trouble: None,
            errors: Vec::new(),
            aside: Vec::new(),
            failed_automatics: 0,
        },
        warnings: Vec::new(),
        hooks: vec![Hook { kind: "claude".into(), title: "Claude Code".into(), is_found: true, status: status(State::Installed) }],
        programs: vec![Program { name: "claude".into(), on_path: true, by_login_shell: None }],
        logind: Some(Logind { kills: false, lingers: false, group: Some("/user.slice/user-1.slice/session-2.scope".into()) }),
        jobs: vec![job("snapshot_timer", JobState::Installed, Some(true)), job("boot_unit", JobState::NotInstalled, Some(false))],
        others: vec![Other { name: "work".into(), options: Some("-L work".into()), shells: 2, lives: true }],
    }
}

fn live(facts: &mut Facts) -> &mut Live {
    facts.live.as_mut().unwrap()
}

fn plugin(facts: &mut Facts) -> &mut Standing {
    live(facts).plugin.as_mut().unwrap()
}

fn stuck(facts: &mut Facts) {
    facts.server.state = ServerState::Stuck;
    facts.server.detail = Some("it lives without its socket".into());
    facts.live = None;
}

#[test]
fn all_is_well_and_every_word_is_given_once() {
    let found = examine(&well());
    assert!(found.iter().all(|finding| finding.level == Level::Ok && finding.why.is_empty() && finding.mend.is_none()), "{found:#?}");
    let mut ids: Vec<&str> = found.iter().map(|finding| finding.id.as_str()).collect();
    ids.sort_unstable();
    let number = ids.len();
    ids.dedup();
    assert_eq!(ids.len(), number);
    assert!(ids.iter().all(|id| id.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_')), "{ids:?}");
}

#[test]
fn without_a_server_or_records_nothing_is_a_problem() {
    let mut facts = well();
    facts.server = ServerReport { state: ServerState::Gone, pid: None, version: None, ..facts.server };
    facts.live = None;
    facts.socket_exists = false;
    facts.records.last_look = None;
    facts.records.read = Ok(Read { writable: true, ..Read::default() });
    assert!(examine(&facts).iter().all(|finding| finding.level == Level::Ok));
    facts.socket_exists = true;
    let found = examine(&facts);
    let ill: Vec<_> = found.iter().filter(|finding| finding.level != Level::Ok).collect();
    assert_eq!((ill.len(), ill[0].id.as_str(), ill[0].level), (1, "stale_socket", Level::Note));
}

type Change = fn(&mut Facts);

#[test]
fn each_ill_has_its_finding_and_no_other() {
    use Level::{Note, Problem};
    let table: &[(&str, Level, Option<Mend>, Change)] = &[
        ("tmux_version", Problem, None, |facts| facts.client = None),
        ("tmux_version", Note, None, |facts| facts.client = Some("3.8".into())),
        ("tmux_version", Problem, None, |facts| {
            facts.server.version = Some("3.1c".into());
            facts.live = None;
        }),
        ("server", Problem, None, stuck),
        ("server", Problem, Some(Mend::Socket), |facts| {
            stuck(facts);
            facts.without_socket = Some(Generation { boot: "b".into(), pid: 7, start_time: 1, process_start: Some(1) });
        }),
        ("server", Problem, None, |facts| {
            facts.server.state = ServerState::Unknown;
            facts.server.detail = Some("no permission".into());
            facts.live = None;
        }),
        ("inherited_variables", Problem, Some(Mend::Unset(vec!["CLAUDECODE".into()])), |facts| {
            live(facts).inherited = vec!["CLAUDECODE".into()];
        }),
        ("continuum_restore", Problem, None, |facts| live(facts).continuum_restore = "on".into()),
        ("resurrect_processes", Problem, None, |facts| live(facts).resurrect_processes = "vim claude".into()),
        ("clock", Problem, None, |facts| facts.records.read.as_mut().unwrap().latest = Some(NOW + 120_000)),
        ("clock", Problem, None, |facts| facts.records.last_look = Some(NOW + 120_000)),
        ("clock", Note, None, |facts| live(facts).process_started = Some(NOW - 7_200_000)),
        ("helper", Problem, Some(Mend::Load), |facts| live(facts).helper_runs = Some(false)),
        ("helper", Note, None, |facts| live(facts).helper_is_own = false),
        ("helper_on_path", Note, None, |facts| facts.on_path.as_mut().unwrap().version = Some("0.9.0".into())),
        ("helper_on_path", Note, None, |facts| facts.on_path.as_mut().unwrap().version = None),
        ("helper_option", Problem, None, |facts| live(facts).chosen_helper = Some(("/gone".into(), false))),
        ("helper_build", Note, None, |facts| live(facts).is_current = Some(false)),
        ("plugin", Problem, None, |facts| live(facts).plugin = None),
        ("plugin", Problem, Some(Mend::Load), |facts| plugin(facts).loaded = false),
        ("hooks", Problem, Some(Mend::Load), |facts| plugin(facts).missing_hooks = vec!["session-closed"]),
        ("timer", Problem, Some(Mend::Load), |facts| plugin(facts).timer_runs = false),
        ("key_restores", Problem, Some(Mend::Load), |facts| plugin(facts).keys = vec![key(Does::Nothing)]),
        ("key_restores", Note, None, |facts| plugin(facts).keys = vec![key(Does::Other("source-file x".into()))]),
        ("config", Problem, None, |facts| facts.warnings = vec!["restore.x is not known".into()]),
        ("records", Problem, None, |facts| facts.records.read = Err(("cannot read".into(), "give it back".into()))),
        ("records", Problem, None, |facts| {
            facts.records.read = Ok(Read { writable: false, notices: vec!["newer".into()], ..Read::default() });
        }),
        ("records", Note, None, |facts| facts.records.read.as_mut().unwrap().notices = vec!["it is empty".into()]),
        ("records_writable", Problem, None, |facts| facts.records.unwritable = Some("the disk is full".into())),
        ("recording", Problem, None, |facts| facts.records.trouble = Some("no room".into())),
        ("recording", Problem, None, |facts| facts.records.last_look = Some(NOW - 106_000)),
        ("recording", Note, None, |facts| facts.records.last_look = None),
        ("log", Note, None, |facts| facts.records.errors = vec![(NOW - 1000, "no room".into())]),
        ("records_aside", Note, None, |facts| facts.records.aside = vec![PathBuf::from("/s/shells.json.corrupt-1")]),
        ("automatic_restore", Problem, None, |facts| facts.records.failed_automatics = 3),
        ("other_servers", Note, None, |facts| facts.others[0].lives = false),
        ("integration_claude", Note, None, |facts| facts.hooks[0].status = status(State::NotInstalled)),
        ("integration_claude", Note, None, |facts| facts.hooks[0].status.detail = "it calls /elsewhere".into()),
        ("integration_claude", Problem, Some(Mend::Repair("claude".into())), |facts| {
            facts.hooks[0].status = status(State::NeedsRepair);
        }),
        ("integration_claude", Problem, None, |facts| facts.hooks[0].status = status(State::NotTrusted)),
        ("integration_claude", Problem, None, |facts| facts.hooks[0].status = status(State::Disabled)),
        ("integration_claude", Problem, None, |facts| facts.hooks[0].status = status(State::Unreadable)),
        ("server_path", Note, None, |facts| {
            facts.programs[0].on_path = false;
            facts.programs[0].by_login_shell = Some(true);
        }),
        ("server_path", Problem, None, |facts| {
            facts.programs[0].on_path = false;
            facts.programs[0].by_login_shell = Some(false);
        }),
        ("server_path", Problem, None, |facts| facts.programs[0].on_path = false),
        ("logout", Problem, None, |facts| facts.logind.as_mut().unwrap().kills = true),
        ("logout", Note, None, |facts| facts.logind.as_mut().unwrap().group = Some("/user.slice/user@1.service/tmux".into())),
        ("snapshot_timer", Problem, None, |facts| facts.jobs[0].status.runs = Some(false)),
        ("snapshot_timer", Problem, None, |facts| facts.jobs[0].status.state = JobState::Disabled),
        ("boot_unit", Note, None, |facts| facts.jobs[1].status.state = JobState::Outdated),
        ("boot_unit", Note, None, |facts| facts.jobs[1].status.state = JobState::Edited),
        ("boot_unit", Note, None, |facts| {
            facts.jobs[1].status.state = JobState::Installed;
            facts.jobs[1].lingers = Some(false);
        }),
    ];
    for (number, (id, level, mend, change)) in table.iter().enumerate() {
        let mut facts = well();
        change(&mut facts);
        let found = examine(&facts);
        let ill: Vec<_> = found.iter().filter(|finding| finding.level != Level::Ok).collect();
        assert_eq!(ill.len(), 1, "{number} {id}: {ill:#?}");
        assert_eq!((ill[0].id.as_str(), ill[0].level, &ill[0].mend), (*id, *level, mend), "{number}");
        assert!(!ill[0].what.is_empty() && !ill[0].why.is_empty(), "{number} {id}");
    }
}

#[test]
fn what_is_so_of_several_is_one_finding_and_what_is_wrong_in_several_places_is_one_for_each() {
    let mut facts = well();
    let lacking = |name: &str, found| Program { name: name.into(), on_path: false, by_login_shell: Some(found) };
    facts.programs = vec![lacking("claude", true), lacking("codex", false), lacking("gemini", true)];
    facts.warnings = vec!["one".into(), "another".into()];
    facts.own.path = "/a/link/to/sidecar".into();
    let found = examine(&facts);
    let ill: Vec<_> = found.iter().filter(|finding| finding.level != Level::Ok).map(|finding| finding.what.as_str()).collect();
    assert_eq!(
        ill,
        [
            "one",
            "another",
            "the server's PATH does not have claude, gemini, and your login shell's does",
            "neither the server's PATH nor your login shell's has codex, whose conversations are recorded"
        ]
    );
}

#[test]
fn what_does_not_concern_the_user_is_no_finding() {
    for (id, change) in [
        (
            "integration_claude",
            (|facts| facts.hooks[0] = Hook { is_found: false, status: status(State::NotInstalled), ..facts.hooks[0].clone() }) as Change,
        ),
        ("helper_on_path", |facts| facts.on_path = None),
        ("helper_build", |facts| live(facts).is_current = None),
        ("server_path", |facts| facts.programs.clear()),
        ("logout", |facts| facts.logind = None),
        ("boot_unit", |facts| facts.jobs[1].status.state = JobState::NotInstalled),
        ("recording", |facts| facts.records.unwritable = Some("full".into())),
    ] {
        let mut facts = well();
        change(&mut facts);
        assert!(examine(&facts).iter().all(|finding| finding.id != id), "{id}");
    }
    // A boot unit is not to run where tmux was started by hand, and a manager that can't be asked may run the timer.
    let mut facts = well();
    facts.jobs[1].status.state = JobState::Installed;
    facts.jobs[0].status.runs = None;
    assert!(examine(&facts).iter().all(|finding| finding.level == Level::Ok));
    // A server of the user's manager that lingers, and records that wait for nobody.
    let mut facts = well();
    facts.logind = Some(Logind { kills: true, lingers: true, group: Some("/user.slice/user@1.service/tmux".into()) });
    facts.others = vec![Other { name: "work".into(), options: Some("-L work".into()), shells: 0, lives: false }];
    assert!(examine(&facts).iter().all(|finding| finding.level == Level::Ok));
}
