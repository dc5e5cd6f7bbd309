//! Installing with the real TPM, as a stranger would: a bare environment, a home of its own, one `@plugin` line.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::records::run;
use super::stranger::{DEBIAN, Stranger, content, supported_versions};
use super::support::{wait_for, wait_within};
use super::terminal::Terminal;

/// The path from the one line to a helper that works: the real TPM, the real cargo, updates that build and that don't.
#[test]
fn one_line_and_prefix_i_build_the_helper_and_record_without_a_restart() {
    let stranger = Stranger::new();
    let home = || PathBuf::from(std::env::var_os("HOME").unwrap()).join(".cargo");
    let registry = std::env::var_os("CARGO_HOME").map_or_else(home, PathBuf::from);
    stranger.real_cargo("[net]\noffline = true\n");
    std::os::unix::fs::symlink(registry.join("registry"), stranger.home().join(".cargo/registry")).unwrap();

    stranger.tmux(&["new-session", "-d", "-s", "before"]).ok();
    assert!(!stranger.is_loaded() && !stranger.plugin().exists());
    let terminal = stranger.attach();
    terminal.wait_text("before");
    stranger.press_prefix(&terminal, "I");
    terminal.wait_text("sidecar: building the helper (first run, about a minute) ...");
    wait_long(&stranger, "a helper", || stranger.built().exists());
    terminal.wait_text("sidecar: ready. prefix R restores, prefix N renames, bin/sidecar plugin link puts it on PATH");
    keys_work(&stranger, &terminal);
    stranger.wait_loaded();
    stranger.wait_recorded("before");
    assert_eq!(stranger.git(&stranger.plugin(), &["status", "--porcelain"]), "", "nothing that git tracks has changed");

    // A commit to the documents.
    let (first, log) = (content(&stranger.built()), stranger.home().join(".local/state/sidecar/build.log"));
    let built_at = stranger.built().metadata().unwrap().modified().unwrap();
    let logged_at = log.metadata().unwrap().modified().unwrap();
    std::fs::write(stranger.upstream().join("README.md"), "words\n").unwrap();
    stranger.commit("Words");
    update(&stranger, &terminal);
    assert_eq!(stranger.built().metadata().unwrap().modified().unwrap(), built_at);
    assert_eq!(log.metadata().unwrap().modified().unwrap(), logged_at, "nothing was built");

    // Sources that don't compile.
    let main = stranger.upstream().join("helper/main.rs");
    let good = std::fs::read_to_string(&main).unwrap();
    std::fs::write(&main, format!("{good}\nfn broken( {{\n")).unwrap();
    stranger.commit("A mistake");
    update(&stranger, &terminal);
    terminal.wait_text("sidecar: cannot build the helper: ");
    assert_eq!(content(&stranger.built()), first, "the old one stays");
    keys_work(&stranger, &terminal);
    stranger.tmux(&["new-session", "-d", "-s", "meanwhile"]).ok();
    stranger.wait_recorded("meanwhile");
    assert!(std::fs::read_to_string(&log).unwrap().contains("helper/main.rs"), "the log tells where");

    // Sources that do.
    std::fs::write(&main, good).unwrap();
    let said = stranger.upstream().join("helper/cli/plugin.rs");
    let words = std::fs::read_to_string(&said).unwrap();
    assert!(words.contains("{API}"));
    std::fs::write(&said, words.replace("println!(\"{API}\")", "println!(\"{}\", API.to_string())")).unwrap();
    stranger.commit("Other words");
    update(&stranger, &terminal);
    wait_long(&stranger, "another helper", || content(&stranger.built()) != first);
    terminal.wait_text("sidecar: ready. prefix R restores, prefix N renames");
    stranger.wait_no_build();
    assert_eq!(stranger.git(&stranger.plugin(), &["status", "--porcelain"]), "");
    stranger.tmux(&["new-session", "-d", "-s", "after"]).ok();
    stranger.wait_recorded("after");
}

/// The keys open menus, whatever message was shown last.
fn keys_work(stranger: &Stranger, terminal: &Terminal) {
    terminal.press(&["Enter"]);
    stranger.press_prefix(terminal, "R");
    terminal.wait_text("sidecar: nothing to restore");
    terminal.press(&["Enter"]);
    terminal.wait_no_text("sidecar: nothing to restore");
}

/// TPM's own update, by its key.
fn update(stranger: &Stranger, terminal: &Terminal) {
    stranger.press_prefix(terminal, "U");
    terminal.wait_text("plugin update:");
    terminal.type_text("all");
    terminal.press(&["Enter"]);
    terminal.wait_text("TMUX environment reloaded.");
    terminal.press(&["Enter"]);
    let _ = stranger;
}

/// Waits for what a compiler does, on a machine that does other things as well.
#[track_caller]
fn wait_long(stranger: &Stranger, what: &str, condition: impl Fn() -> bool) {
    let told = || format!("{what}\n{}", stranger.told());
    wait_within(std::time::Duration::from_secs(600), told, || condition().then_some(()));
}

/// The same with a checkout of TPM in the user's folder (Debian's files stand for it), on every tmux.
#[test]
fn a_checkout_of_tpm_installs_too_and_a_server_without_a_client_tells_the_next_one() {
    for (version, folder) in supported_versions() {
        let mut stranger = Stranger::with_tpm("~/.tmux/plugins/tpm/tpm");
        stranger.path.push(folder);
        stranger.fake_cargo("1.99.0", "until [ -e \"$HOME/go\" ]; do sleep 0.02; done");
        let tpm = stranger.home().join(".tmux/plugins/tpm");
        std::fs::create_dir_all(tpm.parent().unwrap()).unwrap();
        assert!(Command::new("cp").arg("-r").arg(DEBIAN).arg(&tpm).status().unwrap().success());
        stranger.tmux(&["new-session", "-d", "-s", "work"]).ok();
        // TPM's command for scripts: what `prefix I` does, without a client.
        run(stranger.command(tpm.join("bin/install_plugins").to_str().unwrap()).env("TMUX_PLUGIN_MANAGER_PATH", tpm.parent().unwrap()))
            .ok();
        stranger.reload();
        stranger.wait_message("building the helper");
        assert!(!stranger.is_loaded(), "{version}");

        // Reloads while it builds start nothing.
        for _ in 0..10 {
            stranger.reload();
        }
        let terminal = stranger.attach();
        terminal.wait_text("sidecar: building the helper (first run, about a minute) ...");
        std::fs::write(stranger.home().join("go"), "").unwrap();
        terminal.wait_text("sidecar: ready.");
        stranger.wait_loaded();
        stranger.wait_recorded("work");
        stranger.wait_no_build();
        assert_eq!(stranger.cargo_calls().len(), 1, "{version}: {:?}", stranger.cargo_calls());
        assert!(stranger.cargo_calls()[0].contains("--release --locked"), "{:?}", stranger.cargo_calls());

        // Once it is there, nothing is built and nothing is said.
        stranger.reload();
        stranger.wait_no_build();
        assert_eq!(stranger.cargo_calls().len(), 1);
    }
}

/// A failed start shows its message once, at the next attach, and the keys say the same. `words` must be in it.
fn shows_it_once_and_with_keys(stranger: &Stranger, words: &str) {
    stranger.wait_no_build();
    {
        let terminal = stranger.attach();
        terminal.wait_text(words);
        // Any key takes it away, and does its work.
        terminal.type_text("echo $((6*7))");
        terminal.press(&["Enter"]);
        terminal.wait_text("\n42");
        terminal.wait_no_text(words);
        for key in ["R", "N"] {
            terminal.press(&["C-b"]);
            terminal.type_text(key);
            terminal.wait_text(words);
            terminal.press(&["Enter"]);
            terminal.wait_no_text(words);
        }
    }
    wait_for("the end of the client", || stranger.tmux(&["list-clients"]).ok().is_empty().then_some(()));
    let terminal = stranger.attach();
    terminal.type_text("echo $((7*9))");
    terminal.press(&["Enter"]);
    assert!(!terminal.wait_text("\n63").contains("sidecar:"));
}

#[test]
fn without_rust_one_message_says_what_is_needed_and_a_new_rust_is_found_at_the_next_load() {
    let stranger = Stranger::new();
    stranger.clone();
    stranger.tmux(&["new-session", "-d", "-s", "work"]).ok();
    shows_it_once_and_with_keys(&stranger, "sidecar: cannot build the helper: needs Rust 1.85 or newer, found none");
    assert!(!stranger.is_loaded());
    let log = std::fs::read_to_string(stranger.home().join(".local/state/sidecar/build.log")).unwrap();
    assert!(log.contains("rustup"), "the log tells more: {log}");
    // Debian 12's own.
    stranger.fake_cargo("1.63.0", "exit 1");
    stranger.reload();
    stranger.wait_message("needs Rust 1.85 or newer, found 1.63.0 (");
    stranger.wait_message("Log: ~/.local/state/sidecar/build.log");
    assert_eq!(stranger.cargo_calls(), [""; 0]);
    // rustup came.
    stranger.fake_cargo("1.85.1", ":");
    stranger.wait_no_build();
    stranger.reload();
    stranger.wait_loaded();
    stranger.wait_recorded("work");
    // The keys no longer tell of it, and nothing waits for a client but good news.
    let keys = stranger.tmux(&["list-keys", "-T", "prefix"]).ok();
    assert!(!keys.contains("cannot build"), "{keys}");
    stranger.wait_message("sidecar: ready.");
}

/// The real cargo, with no way out.
#[test]
fn without_a_network_the_first_build_says_so_and_is_not_tried_at_each_reload() {
    let stranger = Stranger::new();
    stranger.real_cargo("[http]\nproxy = \"127.0.0.1:9\"\n[net]\nretry = 0\n");
    stranger.clone();
    stranger.tmux(&["new-session", "-d", "-s", "work"]).ok();
    shows_it_once_and_with_keys(&stranger, "sidecar: cannot build the helper: no network, which the first build needs");
    let log = stranger.home().join(".local/state/sidecar/build.log");
    let first = content(&log);
    for _ in 0..5 {
        stranger.reload();
        stranger.wait_no_build();
    }
    stranger.wait_message("To try again: scripts/build");
    let now = std::fs::read_to_string(&log).unwrap();
    assert!(now.starts_with(std::str::from_utf8(&first).unwrap()), "the log of the one build is kept: {now}");
    assert_eq!(now.matches("cargo failed").count(), 1, "{now}");
}

#[test]
fn a_build_that_fails_is_tried_once_until_something_changes() {
    let stranger = Stranger::new();
    stranger.clone();
    stranger.fake_cargo("1.99.0", "echo 'error: linker `cc` not found' >&2; exit 101");
    stranger.tmux(&["new-session", "-d", "-s", "work"]).ok();
    shows_it_once_and_with_keys(&stranger, "sidecar: cannot build the helper: no C compiler: install gcc");
    for _ in 0..20 {
        stranger.reload();
    }
    stranger.wait_no_build();
    // Another server asks no more often.
    run(stranger.command("tmux").args(["-L", "other", "new-session", "-d", ";", "display-message", "-p", "#{pid}"])).ok();
    let other = |words: &[&str]| run(stranger.command("tmux").args(["-L", "other"]).args(words));
    wait_for("its message", || other(&["show-hooks", "-g"]).ok().contains("no C compiler").then_some(()));
    other(&["kill-server"]).ok();
    assert_eq!(stranger.cargo_calls().len(), 1);
    // By hand it is tried at once.
    let said = run(stranger.command("sh").arg(stranger.plugin().join("scripts/build")));
    assert_eq!((said.code, stranger.cargo_calls().len()), (1, 2), "{said:?}");
    assert!(said.err.contains("error: cannot build the helper: cargo failed"), "{said:?}");
    // Another Rust, or other sources, are worth a new attempt.
    stranger.fake_cargo("1.99.1", "echo 'error: no' >&2; exit 101");
    stranger.reload();
    stranger.wait_message("cannot build the helper: no.");
    stranger.wait_no_build();
    assert_eq!(stranger.cargo_calls().len(), 3);
    std::fs::write(stranger.plugin().join("helper/new.rs"), "").unwrap();
    stranger.fake_cargo("1.99.1", ":");
    stranger.reload();
    stranger.wait_loaded();
    assert_eq!(stranger.cargo_calls().len(), 4);
}

/// Lines run as root of a mount namespace before tmux starts; nobody else sees what they mount.
fn in_a_namespace(stranger: &Stranger, mounts: &str) {
    let script = format!("set -e; {mounts}; exec tmux -u new-session -d -s work");
    let said = run(stranger.command("unshare").args(["--mount", "--map-root-user", "sh", "-c", &script]));
    assert_eq!(said.code, 0, "{said:?}");
    stranger.world.remember_server();
}

#[test]
fn a_plugin_folder_that_cannot_be_written_is_told_and_another_helper_still_works() {
    let stranger = Stranger::new();
    stranger.clone();
    stranger.fake_cargo("1.99.0", ":");
    let plugin = stranger.plugin().display().to_string();
    in_a_namespace(&stranger, &format!("mount --bind '{plugin}' '{plugin}'; mount -o remount,bind,ro '{plugin}'"));
    shows_it_once_and_with_keys(&stranger, "sidecar: cannot build the helper: ");
    stranger.wait_message(".tmux/plugins/sidecar.tmux/bin cannot be written");
    assert_eq!(stranger.cargo_calls(), [""; 0]);
    // As `cargo install` leaves it. The server's PATH does not name that folder.
    stranger.put_helper(&stranger.home().join(".cargo/bin/sidecar"));
    stranger.reload();
    stranger.wait_loaded();
}

#[test]
fn a_full_disk_is_told_wherever_it_is_met() {
    // Under the build: cargo itself would say it so.
    let stranger = Stranger::new();
    stranger.clone();
    stranger.fake_cargo("1.99.0", "head -c 500000 /dev/zero >target/fill || exit 101");
    let target = stranger.plugin().join("target");
    std::fs::create_dir(&target).unwrap();
    in_a_namespace(&stranger, &format!("mount -t tmpfs -o size=64k none '{}'", target.display()));
    shows_it_once_and_with_keys(&stranger, "sidecar: cannot build the helper: the disk is full");
    assert_eq!(stranger.cargo_calls().len(), 1);

    // Under the state folder: then nothing is begun, since nothing could be noted.
    let stranger = Stranger::new();
    stranger.clone();
    stranger.fake_cargo("1.99.0", ":");
    let state = stranger.home().join(".local/state/sidecar");
    std::fs::create_dir_all(&state).unwrap();
    in_a_namespace(
        &stranger,
        &format!("mount -t tmpfs -o size=16k none '{0}'; head -c 500000 /dev/zero >'{0}/fill' 2>/dev/null || :", state.display()),
    );
    shows_it_once_and_with_keys(&stranger, "sidecar: cannot build the helper: cannot write its log, No space left on device");
    for _ in 0..5 {
        stranger.reload();
        stranger.wait_no_build();
    }
    assert_eq!(stranger.cargo_calls(), [""; 0]);
}

#[test]
fn a_lost_run_bit_of_a_script_or_of_the_helper_does_no_harm() {
    use std::os::unix::fs::PermissionsExt;
    let stranger = Stranger::new();
    stranger.clone();
    stranger.fake_cargo("1.99.0", ":");
    for file in std::fs::read_dir(stranger.plugin().join("scripts")).unwrap() {
        std::fs::set_permissions(file.unwrap().path(), std::fs::Permissions::from_mode(0o644)).unwrap();
    }
    stranger.tmux(&["new-session", "-d", "-s", "work"]).ok();
    stranger.wait_loaded();
    stranger.wait_no_build();
    stranger.world.crash();
    std::fs::set_permissions(stranger.built(), std::fs::Permissions::from_mode(0o644)).unwrap();
    stranger.tmux(&["new-session", "-d", "-s", "work"]).ok();
    stranger.wait_loaded();
    stranger.wait_recorded("work");
    assert_eq!(stranger.cargo_calls().len(), 1);
}

#[test]
fn machines_of_two_types_share_a_home_and_each_has_its_helper() {
    let mut stranger = Stranger::new();
    stranger.clone();
    stranger.fake_cargo("1.99.0", ":");
    stranger.tmux(&["new-session", "-d", "-s", "work"]).ok();
    stranger.wait_loaded();
    stranger.wait_no_build();
    let first = content(&stranger.built());

    // The other machine: its `uname` says so.
    stranger.script(
        &stranger.home().join("other/uname"),
        "#!/bin/sh\ncase $1 in -sm) echo 'Plan9 mips' ;; *) exec /usr/bin/uname \"$@\" ;; esac\n",
    );
    stranger.path.push(stranger.home().join("other"));
    let other = |words: &[&str]| run(stranger.command("tmux").args(["-L", "other"]).args(words));
    other(&["new-session", "-d", "-s", "there"]).ok();
    wait_for("its hooks", || other(&["show-hooks", "-g"]).ok().contains("sidecar-Plan9-mips").then_some(()));
    wait_for("its build's end", || (!other(&["show-environment", "-gh"]).ok().contains("SIDECAR_BUILD=")).then_some(()));
    // The command for people chooses by the machine.
    let command = stranger.plugin().join("bin/sidecar");
    let version = run(stranger.command(command.to_str().unwrap()).arg("--version")).ok();
    std::fs::write(stranger.plugin().join("bin/sidecar-Plan9-mips"), "#!/bin/sh\necho \"mips $*\"\n").unwrap();
    assert_eq!(run(stranger.command(command.to_str().unwrap()).arg("--version")).ok(), "mips --version\n");
    stranger.path.clear();
    assert_eq!(run(stranger.command(command.to_str().unwrap()).arg("--version")).ok(), version);

    assert_eq!(content(&stranger.built()), first);
    stranger.reload();
    stranger.wait_no_build();
    assert_eq!(stranger.cargo_calls().len(), 2, "each built once");
    run(stranger.command("tmux").args(["-L", "other", "kill-server"])).ok();
}

#[test]
fn a_default_key_that_somebody_holds_is_left_alone_and_a_chosen_one_is_taken() {
    let stranger = Stranger::new();
    stranger.clone();
    stranger.configure("bind R display-message mine\nset -g @sidecar-rename-key F5\n", &format!("{DEBIAN}/tpm"));
    stranger.tmux(&["new-session", "-d", "-s", "work"]).ok();
    stranger.wait_message("needs Rust");
    stranger.wait_no_build();
    let keys = |key: &str| stranger.tmux(&["list-keys", "-T", "prefix", key]).out;
    assert!(keys("R").contains("display-message mine"), "{}", keys("R"));
    assert!(keys("F5").contains("needs Rust"), "{}", keys("F5"));
    assert_eq!(keys("N"), "");
    // Bound since by the user: it is his.
    stranger.tmux(&["bind-key", "F5", "display-message", "theirs"]).ok();
    stranger.configure("set -g @sidecar-restore-key none\nset -gu @sidecar-rename-key\n", &format!("{DEBIAN}/tpm"));
    stranger.reload();
    stranger.wait_no_build();
    wait_for("the default key", || keys("N").contains("needs Rust").then_some(()));
    assert!(keys("F5").contains("theirs") && keys("R").contains("mine"));
}

/// A program that says of itself which API it has.
fn helper_of_api(stranger: &Stranger, at: &Path, api: &str) {
    stranger.script(at, &format!("#!/bin/sh\n[ \"$2\" = api ] && echo {api} || echo \"$*\" >>\"$HOME/helper.calls\"\n"));
}

#[test]
fn a_helper_elsewhere_is_taken_by_its_api_and_refused_with_words() {
    let stranger = Stranger::new();
    stranger.clone();
    let helper = stranger.home().join("tools/sidecar");
    let chosen =
        |lines: &str| stranger.configure(&format!("set -g @sidecar-helper '{}'\n{lines}", helper.display()), &format!("{DEBIAN}/tpm"));
    chosen("");
    helper_of_api(&stranger, &helper, "0");
    stranger.tmux(&["new-session", "-d", "-s", "work"]).ok();
    stranger.wait_message("tools/sidecar is older than this plugin: update it");
    helper_of_api(&stranger, &helper, "99");
    stranger.reload();
    stranger.wait_message("tools/sidecar is newer than this plugin: update the plugin");
    helper_of_api(&stranger, &helper, "");
    stranger.reload();
    stranger.wait_message("tools/sidecar is older than this plugin, or does not run: update it");
    std::fs::remove_file(&helper).unwrap();
    stranger.reload();
    stranger.wait_message("tools/sidecar is no program that can be run");
    assert!(!stranger.is_loaded() && !stranger.home().join("helper.calls").exists());
    stranger.put_helper(&helper);
    stranger.reload();
    stranger.wait_loaded();
}

#[test]
fn a_helper_on_path_works_and_one_of_another_api_is_told_of_while_the_plugin_builds_its_own() {
    let mut stranger = Stranger::new();
    stranger.clone();
    stranger.path.push(stranger.home().join("tools"));
    let helper = stranger.home().join("tools/sidecar");
    helper_of_api(&stranger, &helper, "0");
    stranger.tmux(&["new-session", "-d", "-s", "work"]).ok();
    stranger.wait_message("needs Rust 1.85 or newer, found none");
    stranger.wait_message("tools/sidecar is older than this plugin: update it");
    stranger.wait_no_build();
    stranger.put_helper(&helper);
    stranger.reload();
    stranger.wait_loaded();
    let hooks = stranger.tmux(&["show-hooks", "-g"]).ok();
    assert!(hooks.contains(helper.to_str().unwrap()), "{hooks}");
    // A newer one: the plugin builds its own, once.
    helper_of_api(&stranger, &helper, "99");
    stranger.fake_cargo("1.99.0", ":");
    stranger.reload();
    wait_for("the plugin's own", || stranger.tmux(&["show-hooks", "-g"]).ok().contains(stranger.built().to_str().unwrap()).then_some(()));
    for _ in 0..3 {
        stranger.reload();
        stranger.wait_no_build();
    }
    assert_eq!(stranger.cargo_calls().len(), 1);
    let calls = std::fs::read_to_string(stranger.home().join("helper.calls")).unwrap_or_default();
    assert!(!calls.contains("load"), "a helper of another API is never asked to load: {calls}");
}

#[test]
fn a_lock_that_a_dead_build_left_holds_up_nothing_and_two_servers_build_once() {
    let stranger = Stranger::new();
    stranger.clone();
    stranger.fake_cargo("1.99.0", "until [ -e \"$HOME/go\" ]; do sleep 0.02; done");
    let lock = stranger.home().join(".local/state/sidecar/build.lock");
    std::fs::create_dir_all(&lock).unwrap();
    let mut gone = Command::new("true").spawn().unwrap();
    gone.wait().unwrap();
    let host = run(Command::new("uname").arg("-n")).ok();
    std::fs::write(lock.join("owner"), format!("{} {}\n", host.trim(), gone.id())).unwrap();
    stranger.tmux(&["new-session", "-d", "-s", "work"]).ok();
    let other = |words: &[&str]| run(stranger.command("tmux").args(["-L", "other"]).args(words));
    other(&["new-session", "-d"]).ok();
    wait_for("one that builds", || (stranger.cargo_calls().len() == 1).then_some(()));
    let tells = || stranger.tmux(&["show-hooks", "-g"]).ok() + &other(&["show-hooks", "-g"]).ok();
    wait_for("one that waits", || tells().contains("another tmux server began it").then_some(()));
    std::fs::write(stranger.home().join("go"), "").unwrap();
    stranger.wait_loaded();
    wait_for("the other's hooks", || other(&["show-hooks", "-g"]).ok().contains("[8420]").then_some(()));
    assert_eq!(stranger.cargo_calls().len(), 1);
    wait_for("no lock", || (!lock.exists()).then_some(()));
    other(&["kill-server"]).ok();
}
