//! The unit that starts a server at login or boot: its file, what its lines do in a poor environment, and a manager that really runs it.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};
use sidecar::store::{KeptText, Store, TextMark};

use super::offer::dead;
use super::records::{options, run};
use super::stranger::supported_versions;
use super::support::{Said, World, path_tmux, sidecar_path, two_versions, wait_for, wait_or_tell};
use super::terminal::Terminal;
use super::units::{below, folder, settings, words};

const UNIT: &str = "sidecar-boot.service";

/// A line of the installed unit, as a manager runs it that knows next to nothing.
fn unit_line(world: &World, name: &str, shell: &str) -> Command {
    let text = std::fs::read_to_string(folder(world).join(UNIT)).unwrap();
    let [line] = settings(&text, name)[..] else { panic!("{text}") };
    let mut command = Command::new("/usr/bin/env");
    command.arg("-i").args(settings(&text, "Environment").iter().flat_map(|setting| words(setting, false)));
    command.args([format!("SHELL={shell}"), "INVOCATION_ID=1".to_owned(), "JOURNAL_STREAM=1:2".to_owned()]);
    let words = words(line, true);
    command.args(words).current_dir("/");
    command
}

fn run_line(world: &World, name: &str, shell: &str) -> Said {
    let said = run(&mut unit_line(world, name, shell));
    world.remember_server();
    said
}

fn install(world: &World) {
    let said = world.sidecar(["boot", "install", "--json"]);
    assert_eq!(said.code, 0, "{said:?}");
}

/// Lets start-up files of every shell set what only they know.
fn start_up_files(world: &World) {
    let home = world.home();
    let posix = "echo Welcome\nexport MINE='a  $b'\nPATH=/mine:$PATH\n[ -z \"$TMUX\" ] && exec tmux new-session -A -s stolen\n";
    for name in [".bash_profile", ".zshrc", ".profile"] {
        std::fs::write(home.join(name), posix).unwrap();
    }
    let fish = world.root().join("config/fish");
    std::fs::create_dir_all(&fish).unwrap();
    let text =
        "echo Welcome\nset -gx MINE 'a  $b'\nset -gx PATH /mine $PATH\nif not set -q TMUX; exec tmux new-session -A -s stolen; end\n";
    std::fs::write(fish.join("config.fish"), text).unwrap();
}

fn variables(world: &World) -> Vec<String> {
    world.tmux(["show-environment", "-g"]).ok().lines().map(str::to_owned).collect()
}

#[test]
fn what_died_comes_back_headless_once_with_the_environment_of_the_users_shell_and_again_after_a_stop() {
    for (round, shell) in ["/bin/bash", "/usr/bin/zsh", "/usr/bin/fish", "/bin/dash"].into_iter().enumerate() {
        let versions = two_versions();
        let world = dead(&versions[round % versions.len()], &["api", "web"], "set -g @sidecar-offer auto\n");
        start_up_files(&world);
        install(&world);
        let started = run_line(&world, "ExecStart", shell);
        assert_eq!((started.code, started.err.as_str()), (0, ""), "{shell}: {started:?}\n{}", world.log());
        assert!(started.out.contains("was started"), "{started:?}");
        // All is there when the line comes back.
        assert_eq!(world.sessions(), ["api", "web"], "{shell}:\n{}", world.log());
        let known = variables(&world);
        assert!(known.contains(&"MINE=a  $b".to_owned()), "{shell}: {known:?}");
        assert!(known.iter().any(|line| line.starts_with("PATH=") && line.contains("/mine:")), "{shell}: {known:?}");
        for gone in ["SIDECAR_BOOT", "INVOCATION_ID", "JOURNAL_STREAM", "TMUX="] {
            assert!(!known.iter().any(|line| line.starts_with(gone)), "{shell}: {known:?}");
        }
        world.wait_quiet();
        assert_eq!(world.log().matches("restored (restored)").count(), 2, "each once:\n{}", world.log());
        // What the plugin had not seen yet is seen by the last look.
        world.tmux(["split-window", "-d", "-t", "=web:"]).ok();
        let pid = world.remember_server().unwrap();
        let stopped = run_line(&world, "ExecStop", shell);
        assert!(stopped.code == 0 && stopped.out.contains(&format!("pid {pid}, was ended")), "{stopped:?}");
        world.wait_gone(pid);
        assert_eq!((world.recorded(), world.tombstones()), (vec!["api".to_owned(), "web".to_owned()], Vec::new()));
        run_line(&world, "ExecStart", shell).ok();
        assert_eq!(world.sessions(), ["api", "web"], "{shell}:\n{}", world.log());
        assert_eq!(world.sizes()["web"], world.live_sizes()["web"]);
        assert_eq!(world.show_all("list-panes", "#{session_name}").len(), 3);
    }
}

#[test]
fn what_panes_show_at_the_stop_is_kept_however_short_ago_they_were_asked() {
    let world = dead(&path_tmux(), &["api"], "set -g @sidecar-offer auto\n");
    let folder = world.root().join("config/sidecar");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("config.json"), json!({ "restore": { "scrollback": 100 } }).to_string()).unwrap();
    install(&world);
    run_line(&world, "ExecStart", "/bin/sh").ok();
    let pane = world.shell("api")["windows"][0]["panes"][0]["id"].as_str().unwrap().to_owned();
    let store = Store::at(world.store().unwrap());
    world.tmux(["send-keys", "-t", "=api:", "echo be''fore", "Enter"]).ok();
    world.wait_shown("=api:", "before");
    world.look();
    // It rests for a minute now.
    let text = wait_for("a text", || store.text(&pane));
    let resting = KeptText { mark: TextMark { lines: 10_000, ..text.mark }, ..text };
    store.save_text(&wait_for("the turn", || store.lock_texts().ok()), &pane, &resting).unwrap();
    world.tmux(["send-keys", "-t", "=api:", "echo la''st", "Enter"]).ok();
    world.wait_shown("=api:", "last");
    run_line(&world, "ExecStop", "/bin/sh").ok();
    let kept = store.text(&pane).unwrap().text;
    assert!(kept.contains("before\n") && kept.contains("last\n"), "{kept}");
}

#[test]
fn without_the_plugin_all_comes_back_all_the_same() {
    let world = dead(&path_tmux(), &["api"], "");
    std::fs::write(world.home().join(".tmux.conf"), "set -g @sidecar-offer auto\n").unwrap();
    install(&world);
    run_line(&world, "ExecStart", "/bin/sh").ok();
    assert_eq!(world.sessions(), ["api"], "{}", world.log());
}

#[test]
fn a_shell_that_gives_no_environment_keeps_nobody_from_starting() {
    let world = dead(&path_tmux(), &["api"], "set -g @sidecar-offer auto\n");
    install(&world);
    let bin = world.home().join(".local/bin");
    std::fs::create_dir_all(&bin).unwrap();
    std::fs::write(world.home().join(".bash_profile"), "[ \"$TMUX_PANE\" ] || exec true\n").unwrap();
    // One that is swallowed by its start-up files, and one that nobody knows.
    let odd = world.work().join("oddsh");
    std::fs::write(&odd, "#!/bin/sh\nexec /bin/sh \"$@\"\n").unwrap();
    std::fs::set_permissions(&odd, PermissionsExt::from_mode(0o755)).unwrap();
    for (shell, noted) in [("/bin/bash", true), (odd.to_str().unwrap(), false)] {
        let said = run_line(&world, "ExecStart", shell);
        assert_eq!((said.code, said.err.contains("gave no environment")), (0, noted), "{said:?}");
        assert_eq!(world.sessions(), ["api"], "{}", world.log());
        let path = variables(&world).into_iter().find(|line| line.starts_with("PATH=")).unwrap();
        assert!(path.contains(bin.to_str().unwrap()), "{path}");
        run_line(&world, "ExecStop", shell).ok();
    }
}

#[test]
fn with_an_offer_that_asks_the_first_client_is_asked_and_the_unused_session_goes() {
    for (_, tmux) in supported_versions() {
        let world = dead(&tmux, &["api", "web"], "");
        install(&world);
        run_line(&world, "ExecStart", "/bin/sh").ok();
        assert_eq!(world.sessions(), ["0"], "nothing was restored, and the server lives");
        let terminal = Terminal::attach(&world, "attach");
        terminal.wait_text("Restore · 2 shells");
        terminal.press(&["a"]);
        world.wait_sessions(&["api", "web"]);
        assert_eq!(world.tombstones(), [""; 0]);
    }
}

#[test]
fn with_the_offer_off_there_is_just_the_server_and_nothing_is_lost() {
    let world = dead(&path_tmux(), &["api"], "");
    world.configure(&format!("{}set -g @sidecar-offer off\nset -g destroy-unattached on\n", options(3600.0, 0.3)));
    install(&world);
    for _ in 0..2 {
        run_line(&world, "ExecStart", "/bin/sh").ok();
        assert_eq!(world.sessions(), ["0"]);
        run_line(&world, "ExecStop", "/bin/sh").ok();
    }
    assert_eq!(
        (world.verdicts().into_values().collect::<Vec<_>>(), world.tombstones()),
        (vec!["recreate-shell died_with_server".to_owned()], Vec::new())
    );
}

#[test]
fn a_server_that_lives_is_left_alone_by_start_and_stop() {
    let world = World::new(0.5);
    world.open(&["mine"]);
    install(&world);
    let pid = world.remember_server().unwrap();
    let started = run_line(&world, "ExecStart", "/bin/sh").ok();
    assert!(started.contains(&format!("pid {pid}, lives already")), "{started}");
    let stopped = run_line(&world, "ExecStop", "/bin/sh").ok();
    assert!(stopped.contains("nothing was ended"), "{stopped}");
    assert_eq!((world.remember_server(), world.sessions()), (Some(pid), vec!["mine".to_owned()]));
}

#[test]
fn beside_a_stuck_server_no_second_one_is_started() {
    let world = World::new(3600.0);
    world.open(&["mine"]);
    world.wait_recorded(&["mine"]);
    install(&world);
    let pid = world.remember_server().unwrap();
    std::fs::remove_file(world.socket()).unwrap();
    let said = run(&mut unit_line(&world, "ExecStart", "/bin/sh"));
    assert!(said.code == 5 && said.err.contains(&format!("kill -USR1 {pid}")), "{said:?}");
    assert!(!world.socket().exists());
    world.signal(pid, "USR1");
    wait_for("the socket", || world.socket().exists().then_some(()));
    assert_eq!(world.remember_server(), Some(pid));
}

#[test]
fn two_starts_at_once_make_one_server_and_one_restore() {
    let world = dead(&path_tmux(), &["api", "web"], "set -g @sidecar-offer auto\n");
    install(&world);
    std::thread::scope(|scope| {
        for command in [unit_line(&world, "ExecStart", "/bin/sh"), unit_line(&world, "ExecStart", "/bin/sh")] {
            scope.spawn(move || {
                let mut command = command;
                assert_eq!(run(&mut command).code, 0);
            });
        }
    });
    world.remember_server();
    world.wait_sessions(&["api", "web"]);
    world.wait_quiet();
    assert_eq!(world.log().matches("restored (restored)").count(), 2, "{}", world.log());
}

/// A `systemctl` and a `loginctl` that note how they were called.
fn fake_manager(world: &World, linger: &str) -> String {
    let bin = world.folder("bin");
    for (name, text) in [
        (
            "systemctl",
            format!("#!/bin/sh\necho \"$*\" >>'{}'\ncase $2 in is-active) exit 3 ;; esac\n", world.work().join("calls").display()),
        ),
        ("loginctl", format!("#!/bin/sh\n{linger}\n")),
    ] {
        std::fs::write(bin.join(name), text).unwrap();
        std::fs::set_permissions(bin.join(name), PermissionsExt::from_mode(0o755)).unwrap();
    }
    format!("{}:/usr/bin:/bin", bin.display())
}

#[test]
fn the_unit_is_known_to_systemd_edits_are_kept_and_nothing_stays() {
    let world = World::bare();
    let path = fake_manager(&world, "echo no");
    let boot = |words: &[&str]| run(world.command(sidecar_path()).args(words).env("PATH", &path));
    for (options, unit) in [(&[][..], UNIT), (&["-L", "work"][..], "sidecar-boot@work.service")] {
        let boot = |words: &[&str]| boot(&[options, &["boot"], words].concat());
        let file = folder(&world).join(unit);
        let said = boot(&["install", "--json"]);
        let document = said.json();
        assert_eq!((&document["unit"], &document["followed"], &document["lingering"]), (&json!(unit), &json!(true), &json!(false)));
        assert!(document["detail"].as_str().unwrap().contains("loginctl enable-linger"), "{document}");
        let link = format!("default.target.wants/{unit} {}", file.display());
        assert_eq!(below(&folder(&world)), ["default.target.wants", link.as_str(), unit]);
        let text = std::fs::read_to_string(&file).unwrap();
        assert_eq!(words(settings(&text, "ExecStart")[0], true), [&[sidecar_path()], options, &["boot", "start"]].concat());
        let mut verify = world.command("systemd-analyze");
        verify.args(["verify", "--user", "--man=no"]).arg(&file).env("XDG_RUNTIME_DIR", world.folder("run"));
        let verified = Said::of(&verify.output().unwrap());
        assert_eq!((verified.code, verified.err.as_str(), verified.out.as_str()), (0, "", ""));
        let status = boot(&["status", "--json"]).json();
        assert_eq!((&status["state"], &status["running"], &status["lingering"]), (&json!("installed"), &json!(false), &json!(false)));
        assert_eq!(boot(&["install", "--json"]).json()["changed"], json!([]));
        // Neither installing nor uninstalling begins or ends anything: a server may live.
        let edited = text.replace("TimeoutStopSec=60", "TimeoutStopSec=5");
        std::fs::write(&file, &edited).unwrap();
        for words in [&["install"][..], &["uninstall"]] {
            let said = boot(words);
            assert!(said.code == 5 && said.err.contains(unit), "{said:?}");
        }
        assert_eq!(std::fs::read_to_string(&file).unwrap(), edited);
        assert_eq!(boot(&["status", "--json"]).json()["state"], json!("edited"));
        std::fs::write(&file, &text).unwrap();
        boot(&["uninstall"]).ok();
        assert!(!folder(&world).exists(), "{:?}", below(&folder(&world)));
        assert_eq!(boot(&["uninstall"]).ok(), "there is no unit\n");
        let calls = std::fs::read_to_string(world.work().join("calls")).unwrap();
        assert!(
            !calls.lines().any(|call| ["start", "stop", "restart"].iter().any(|verb| call.contains(&format!("--user {verb}")))),
            "{calls}"
        );
    }
    // Only a name can be one of a unit's.
    for options in [&["-L", "a b"][..], &["-S", "/elsewhere/x"]] {
        assert_eq!(boot(&[options, &["boot", "install"]].concat()).code, 2, "{options:?}");
    }
    for (linger, told) in [
        ("echo yes", json!(true)),
        ("echo 'Failed: User ID 0 is not logged in or lingering' >&2; exit 1", json!(false)),
        ("exit 1", Value::Null),
    ] {
        fake_manager(&world, linger);
        assert_eq!(boot(&["boot", "status", "--json"]).json()["lingering"], told, "{linger}");
    }
}

/// A user's manager of this world's own: in a mount namespace, where `/run` tells it that systemd is there. Gives what the script said, or `None`
/// where the machine lets nobody make one.
fn with_manager(world: &World, script: &str) -> Option<Said> {
    let manager = ["/usr/lib/systemd/systemd", "/lib/systemd/systemd"].into_iter().find(|path| Path::new(path).exists())?;
    let text = format!(
        "mount -t tmpfs none /run && mkdir -p /run/systemd/system || exit 99\n\
         {manager} --user >'{log}' 2>&1 &\nmanager=$!\n\
         tries=0; until systemctl --user is-system-running >/dev/null 2>&1; do\n\
           tries=$((tries + 1)); [ $tries -lt 100 ] && kill -0 $manager 2>/dev/null || exit 99; sleep 0.1\n\
         done\n{script}\ncode=$?\nkill $manager; wait $manager; exit $code\n",
        log = world.work().join("manager.log").display()
    );
    let run_dir = world.folder("run");
    std::fs::set_permissions(&run_dir, PermissionsExt::from_mode(0o700)).unwrap();
    let mut command = world.command("unshare");
    command.args(["--mount", "sh", "-c", &text]).env("XDG_RUNTIME_DIR", run_dir).env("SYSTEMD_LOG_TARGET", "console");
    let said = run(&mut command);
    (said.code != 99 && !said.err.contains("unshare failed")).then_some(said)
}

#[test]
fn a_real_manager_starts_it_stops_it_and_starts_it_again() {
    let world = dead(&path_tmux(), &["api", "web"], "set -g @sidecar-offer auto\n");
    install(&world);
    let Some(said) = with_manager(&world, "systemctl --user start sidecar-boot.service && systemctl --user is-active sidecar-boot.service")
    else {
        eprintln!("no manager of one's own can be run here");
        return;
    };
    // It ends with its manager, as at the last logout: what it started is restorable.
    let told = || format!("{said:?}\n{}\n{}", std::fs::read_to_string(world.work().join("manager.log")).unwrap_or_default(), world.log());
    assert_eq!((said.code, said.out.as_str()), (0, "active\n"), "{}", told());
    wait_or_tell(told, || (world.tmux(["list-sessions"]).code != 0).then_some(()));
    assert_eq!((world.recorded(), world.tombstones()), (vec!["api".to_owned(), "web".to_owned()], Vec::new()));
    let script = "systemctl --user start sidecar-boot && tmux list-sessions -F '#{session_name}' && systemctl --user stop sidecar-boot && \
                  ! tmux list-sessions 2>/dev/null && systemctl --user start sidecar-boot && tmux list-sessions -F '#{session_name}'";
    let said = with_manager(&world, script).unwrap();
    assert_eq!((said.code, said.out.as_str()), (0, "api\nweb\napi\nweb\n"), "{said:?}\n{}", world.log());
    assert_eq!(world.tombstones(), [""; 0]);
}
