//! `--host`: the same command on other hosts. A stand-in for ssh notes its words and runs the line by a login shell of our choice, as
//! another host; the last test has a real sshd, of its own configuration, keys and port.

use std::ffi::{OsStr, OsString};
use std::net::{TcpListener, TcpStream};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::json;

use super::support::{Said, World, sidecar_path, wait_or_tell};
use super::verdicts::world;

/// `ssh [-t] -- HOST LINE`, and nothing else.
const SSH: &str = r#"#!/bin/sh
printf '%s\0' "$@" >"$NOTES/$(date +%s%N).$$"
[ "$1" != -t ] || shift
[ $# -eq 3 ] && [ "$1" = -- ] || { echo 'usage: ssh' >&2; exit 255; }
case $2 in
  down) echo 'ssh: connect to host down port 22: Connection refused' >&2; exit 255 ;;
  slow) exec sleep 60 ;;
  mute) exec sleep 60 >/dev/null 2>&1 ;;
  endless) exec yes ;;
  rubbish) echo 'Welcome!'; echo '{"no'; exit 0 ;;
  banner) echo 'Welcome!' ;;
  refuses) echo '{"error":{"code":"c","message":"not now","hint":"later"}}' >&2; exit 5 ;;
esac
[ -z "$REMOTE_HOME" ] || HOME=$REMOTE_HOME
PATH=${REMOTE_PATH-$PATH} SIDECAR_HOST_ID=$2 exec "${REMOTE_SHELL:-/bin/sh}" -c "$3"
"#;

/// A helper that notes its words.
const HELPER: &str = "#!/bin/sh\nprintf '%s\\0' \"$@\" >\"$NOTES/words\"\nexit ${EXIT:-0}\n";

struct Ssh<'a> {
    world: &'a World,
    notes: PathBuf,
    bin: PathBuf,
}

fn program(path: &Path, text: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

fn words(path: &Path) -> Vec<OsString> {
    let bytes = std::fs::read(path).unwrap_or_default();
    let text = bytes.strip_suffix(b"\0").unwrap_or(&bytes);
    text.split(|&byte| byte == 0).map(|word| OsString::from_vec(word.to_vec())).collect()
}

impl<'a> Ssh<'a> {
    fn new(world: &'a World) -> Self {
        let (bin, notes) = (world.folder("ssh bin"), world.folder("notes"));
        program(&bin.join("ssh"), SSH);
        // What is on PATH there.
        std::os::unix::fs::symlink(sidecar_path(), bin.join("sidecar")).unwrap();
        Self { world, notes, bin }
    }

    fn command(&self) -> Command {
        let mut command = self.world.command(sidecar_path());
        command.env("PATH", format!("{}:/usr/local/bin:/usr/bin:/bin", self.bin.display())).env("NOTES", &self.notes);
        command
    }

    fn run(&self, args: &[&str]) -> Said {
        Said::of(&self.command().args(args).output().unwrap())
    }

    /// The words of ssh's calls, the oldest first; forgotten with that.
    fn calls(&self) -> Vec<Vec<OsString>> {
        let mut files: Vec<PathBuf> = std::fs::read_dir(&self.notes).unwrap().map(|entry| entry.unwrap().path()).collect();
        files.sort();
        let calls = files.iter().map(|file| words(file)).collect();
        for file in &files {
            std::fs::remove_file(file).unwrap();
        }
        calls
    }
}

#[test]
fn every_word_arrives_as_it_was_whatever_the_login_shell_is() {
    let world = World::bare();
    let ssh = Ssh::new(&world);
    let there = world.folder("there");
    program(&there.join("sidecar"), HELPER);
    let long = "x".repeat(200);
    let nasty: Vec<&[u8]> = vec![
        b"",
        b" ",
        b"  two  ",
        b"tab\there",
        b"new\nline",
        b"end\n",
        b"a\n' ; exit 7 #",
        b"'",
        b"''",
        b"\"",
        b"`id`",
        b"$(id)",
        b"#(id)",
        b"#S",
        b"#{x}",
        b"%1",
        b";",
        b"a;b",
        b":",
        b".",
        b"=x",
        b"@x",
        b"-x",
        b"--host",
        b"~",
        b"*",
        b"?",
        b"[a]",
        b"\\",
        b"\\\\",
        b"\\'",
        b"'\\",
        b"a\\nb",
        b"!",
        b"!!",
        b"$HOME",
        b"${HOME}",
        b"{a,b}",
        b"&",
        b"|",
        b"<>",
        b"^",
        b"\xff\xfe",
        "é 日本 👩‍🚀 \u{5d0}".as_bytes(),
        long.as_bytes(),
        b"\x01\x1b[31m",
        b"\r",
    ];
    for shell in ["/bin/sh", "/bin/bash", "/bin/dash", "/usr/bin/zsh", "/usr/bin/fish", "/usr/bin/tcsh"] {
        for pair in nasty.windows(2) {
            let [one, two] = [pair[0], pair[1]].map(OsStr::from_bytes);
            let mut command = ssh.command();
            command.env("REMOTE_SHELL", shell).env("REMOTE_PATH", format!("{}:/usr/bin:/bin", there.display()));
            let all = [OsStr::new("shell"), OsStr::new("rename"), OsStr::new("--target"), one, OsStr::new("--"), two];
            let said = Said::of(&command.args(["--host", "web", "-L", "a b"]).args(all).output().unwrap());
            assert_eq!(said.code, 0, "{shell} {pair:?} {said:?}");
            let wanted: Vec<OsString> = ["-L", "a b"].iter().map(OsStr::new).chain(all).map(OsStr::to_owned).collect();
            assert_eq!(words(&ssh.notes.join("words")), wanted, "{shell}");
        }
    }
    std::fs::remove_file(ssh.notes.join("words")).unwrap();
    let calls = ssh.calls();
    assert!(calls.iter().all(|call| call.len() == 3 && call[0] == "--" && call[1] == "web"));
}

#[test]
fn one_host_answers_as_if_it_were_here_with_its_exit_code() {
    let world = world(&["a"]);
    let ssh = Ssh::new(&world);
    let there =
        Said::of(&world.command(sidecar_path()).env("SIDECAR_HOST_ID", "web").args(["session", "status", "--json"]).output().unwrap());
    let said = ssh.run(&["--host", "web", "session", "status", "--json"]);
    assert_eq!((said.code, said.json()), (0, there.json()));
    let missing = ssh.run(&["--host", "web", "shell", "forget", "nobody", "--json"]);
    assert_eq!(missing.code, 3, "{missing:?}");
    assert!(missing.err.contains("no_such_shell"), "{missing:?}");
    let down = ssh.run(&["--host", "down", "session", "status"]);
    assert_eq!((down.code, down.out.as_str()), (1, ""));
    assert!(down.err.contains("Connection refused") && down.err.contains("ssh to down ended with 255"), "{down:?}");
    ssh.calls();

    // On a terminal it has one there too, but not for a document.
    for (more, first) in [("", "-t"), (" --json", "--")] {
        let line = format!("'{}' --host web session status{more}", sidecar_path());
        let mut command = world.command("script");
        command.env("PATH", format!("{}:/usr/bin:/bin", ssh.bin.display())).env("NOTES", &ssh.notes);
        let said = Said::of(&command.args(["-qec", &line, "/dev/null"]).output().unwrap());
        assert_eq!(said.code, 0, "{said:?}");
        assert_eq!(ssh.calls()[0][0], first, "{said:?}");
    }
}

#[test]
fn the_helper_is_found_on_path_then_in_local_bin_then_with_the_plugin() {
    let world = World::bare();
    let ssh = Ssh::new(&world);
    let home = world.folder("their home");
    let run = |more: &str| {
        let mut command = ssh.command();
        command.env("REMOTE_HOME", &home).env("REMOTE_PATH", format!("{more}/usr/bin:/bin")).env_remove("XDG_CONFIG_HOME");
        Said::of(&command.args(["--host", "web", "session", "status"]).output().unwrap())
    };
    let none = run("");
    assert_eq!(none.code, 1, "{none:?}");
    assert!(none.err.contains("not installed there") && none.err.contains("sidecar plugin link"), "{none:?}");
    let here = world.folder("bin");
    for (number, folder) in [
        home.join(".config/tmux/plugins/sidecar.tmux/bin"),
        home.join(".tmux/plugins/sidecar.tmux/bin"),
        home.join(".local/bin"),
        here.clone(),
    ]
    .iter()
    .enumerate()
    {
        program(&folder.join("sidecar"), &format!("#!/bin/sh\necho {number}\n"));
        let said = run(&format!("{}:", here.display()));
        assert_eq!((said.code, said.out.trim()), (0, number.to_string().as_str()), "{said:?}");
    }
    assert_eq!(run("").out.trim(), "2");
}

#[test]
fn several_hosts_are_asked_at_once_and_those_that_fail_keep_no_other_from_being_shown() {
    let world = world(&["a"]);
    let ssh = Ssh::new(&world);
    let status = ["session", "status", "--json"];
    let began = Instant::now();
    let said = ssh.run(
        &[&["--host", "web", "--host", "down", "--host", "slow", "--host=api", "--host", "web", "--host-timeout", "8"][..], &status]
            .concat(),
    );
    assert!(began.elapsed() < Duration::from_secs(40), "slow is waited for for its 8 seconds and no more: {:?}", began.elapsed());
    assert_eq!(said.code, 1, "{said:?}");
    let document = said.json();
    assert_eq!(document["schemaVersion"], 1);
    let hosts = document["hosts"].as_array().unwrap();
    let summary: Vec<_> =
        hosts.iter().map(|row| (row["host"].as_str().unwrap(), row["exit"].as_u64().unwrap(), row["error"]["code"].as_str())).collect();
    assert_eq!(summary, [("web", 0, None), ("down", 1, Some("ssh")), ("slow", 1, Some("timeout")), ("api", 0, None)]);
    assert_eq!(hosts[0]["document"]["schemaVersion"], 1);
    assert!(hosts[1]["error"]["message"].as_str().unwrap().contains("Connection refused"), "{document}");

    // One table: what has columns is aligned over all hosts.
    world.tmux(["new-session", "-d", "-s", "a long name"]).ok();
    Said::of(&world.command(sidecar_path()).env("SIDECAR_HOST_ID", "web").args(["hook", "tick"]).output().unwrap()).ok();
    for (words, state) in [(&["session", "status"][..], "reattach"), (&["shell", "list", "--all"], "live")] {
        let said = ssh.run(&[&["--host", "web", "--host", "down", "--host", "elsewhere"], words].concat());
        assert_eq!(said.code, 1);
        let lines: Vec<&str> = said.out.lines().collect();
        assert_eq!((lines.len(), lines[2]), (3, "elsewhere   (no shells)"), "{said:?}");
        assert!(lines[..2].iter().all(|line| line.starts_with("web         a") && line.find(state) == lines[0].find(state)), "{said:?}");
        assert!(said.err.contains("Connection refused") && said.err.contains("ssh to down"), "{said:?}");
    }
    // Other answers come line by line, each behind its host.
    let said = ssh.run(&["--host", "web", "--host", "elsewhere", "snapshot", "list"]);
    assert_eq!(said.code, 0);
    assert_eq!(said.out.lines().map(|line| &line[..12]).collect::<Vec<_>>(), ["web         ", "elsewhere   "], "{said:?}");

    // What a command itself refuses: the worst of the codes, and its own error.
    let said = ssh.run(&["--host", "web", "--host", "api", "shell", "forget", "nobody", "--json"]);
    assert_eq!((said.code, &said.json()["hosts"][1]["error"]["code"]), (3, &json!("no_such_shell")), "{said:?}");
}

#[test]
fn a_host_that_prints_rubbish_or_without_end_has_failed_and_a_greeting_hides_no_document() {
    let world = world(&["a"]);
    let ssh = Ssh::new(&world);
    let hosts = ["mute", "endless", "rubbish", "banner"].map(|host| format!("--host={host}"));
    let began = Instant::now();
    let words: Vec<&str> = hosts.iter().map(String::as_str).chain(["--host-timeout", "5", "session", "status", "--json"]).collect();
    let said = ssh.run(&words);
    assert!(began.elapsed() < Duration::from_secs(40), "it takes its 5 seconds: {:?}", began.elapsed());
    let document = said.json();
    let rows = document["hosts"].as_array().unwrap();
    let summary: Vec<_> = rows.iter().map(|row| (row["exit"].as_u64().unwrap(), row["error"]["code"].as_str())).collect();
    assert_eq!(summary, [(1, Some("timeout")), (1, Some("timeout")), (1, Some("no_document")), (0, None)]);
    assert_eq!(rows[3]["document"]["schemaVersion"], 1);
    assert_eq!(ssh.run(&["--host=banner", "--host=rubbish", "session", "status", "--json"]).code, 1);
    // A table is made of documents, and so are its errors; people read words.
    let said = ssh.run(&["--host=banner", "--host=refuses", "session", "status"]);
    assert_eq!((said.code, said.err.as_str()), (5, "refuses: error: not now\nrefuses: hint: later\n"), "{said:?}");
}

#[test]
fn what_is_for_this_tmux_and_what_is_no_host_is_refused() {
    let world = World::bare();
    let ssh = Ssh::new(&world);
    for words in [
        &["hook", "tick"][..],
        &["menu", "restore"],
        &["pane", "start", "pn-0001"],
        &["agent", "resume", "pn-0001"],
        &["agent", "report-session", "--kind", "claude", "--hook-stdin"],
    ] {
        let said = ssh.run(&[&["--host", "web"], words].concat());
        assert_eq!(said.code, 2, "{words:?} {said:?}");
        assert!(said.err.contains("--host"), "{said:?}");
    }
    for bad in ["--host=-oProxyCommand=id", "--host=", "--host=a b", "--host=$(id)"] {
        assert_eq!(ssh.run(&[bad, "session", "status"]).code, 2, "{bad}");
    }
    assert_eq!(ssh.run(&["--host", "-oProxyCommand=id", "session", "status"]).code, 2);
    assert_eq!(ssh.run(&["session", "status", "--host", "web"]).code, 2, "it stands before the command");
    assert!(ssh.calls().is_empty());
    std::fs::remove_file(ssh.bin.join("ssh")).unwrap();
    let mut command = ssh.command();
    let said = Said::of(&command.env("PATH", &ssh.bin).args(["--host", "web", "session", "status"]).output().unwrap());
    assert!(said.code == 1 && said.err.contains("ssh is not on PATH"), "{said:?}");
}

/// An sshd of this test's own, which ends with it.
struct Sshd {
    child: Child,
}

impl Drop for Sshd {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Starts it, with the world's environment for what it runs, and puts an ssh into `bin` that reaches it as the host `there`. Neither
/// the user's `~/.ssh` nor `/etc/ssh` is read or written: ssh itself finds the former without `HOME`.
fn real_sshd(world: &World, bin: &Path) -> Sshd {
    let folder = world.folder("sshd");
    let path = |name: &str| folder.join(name).display().to_string();
    for key in ["host", "user"] {
        let made = world.command("ssh-keygen").args(["-q", "-t", "ed25519", "-N", "", "-f", &path(key)]).status();
        assert!(made.expect("ssh-keygen is installed by scripts/test").success());
    }
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = free.local_addr().unwrap().port();
    drop(free);
    let environment: Vec<String> =
        world.command("true").get_envs().filter_map(|(name, value)| Some(format!("\"{}={}\"", name.to_str()?, value?.to_str()?))).collect();
    let config = format!(
        "Port {port}\nListenAddress 127.0.0.1\nHostKey {}\nAuthorizedKeysFile {}\nPidFile none\nStrictModes no\nUsePAM no\n\
         PermitUserRC no\nPermitRootLogin yes\nPasswordAuthentication no\nKbdInteractiveAuthentication no\nSetEnv {}\n",
        path("host"),
        path("user.pub"),
        environment.join(" ")
    );
    std::fs::write(folder.join("sshd_config"), config).unwrap();
    // As root it separates its privileges in this empty folder, which starting the service makes.
    if nix::unistd::getuid().is_root() {
        std::fs::create_dir_all("/run/sshd").unwrap();
    }
    let client = format!(
        "Host there\nHostName 127.0.0.1\nPort {port}\nIdentityFile {}\nIdentitiesOnly yes\nUserKnownHostsFile {}\n\
         GlobalKnownHostsFile /dev/null\nStrictHostKeyChecking no\nLogLevel ERROR\nBatchMode yes\n",
        path("user"),
        path("known_hosts")
    );
    std::fs::write(folder.join("ssh_config"), client).unwrap();
    program(&bin.join("ssh"), &format!("#!/bin/sh\nexec /usr/bin/ssh -F '{}' \"$@\"\n", path("ssh_config")));
    let log = std::fs::File::create(folder.join("log")).unwrap();
    let mut command = world.command("/usr/sbin/sshd");
    let child = command.args(["-D", "-e", "-f", &path("sshd_config")]).stderr(log).stdout(Stdio::null()).spawn();
    let sshd = Sshd { child: child.expect("sshd is installed by scripts/test") };
    let told = || format!("sshd listens: {}", std::fs::read_to_string(folder.join("log")).unwrap_or_default());
    wait_or_tell(told, || TcpStream::connect(("127.0.0.1", port)).ok());
    sshd
}

#[test]
fn a_real_sshd_runs_the_same_commands() {
    let world = world(&["a"]);
    let bin = world.folder("real bin");
    let _sshd = real_sshd(&world, &bin);
    let local = world.home().join(".local/bin");
    std::fs::create_dir_all(&local).unwrap();
    std::os::unix::fs::symlink(sidecar_path(), local.join("sidecar")).unwrap();
    let run = |args: &[&str]| {
        let mut command = world.command(sidecar_path());
        Said::of(&command.env("PATH", format!("{}:/usr/bin:/bin", bin.display())).args(args).output().unwrap())
    };
    let here = world.sidecar(["session", "status", "--json"]).json();
    let there = run(&["--host", "there", "session", "status", "--json"]);
    assert_eq!((there.code, there.json()["steps"].clone()), (0, here["steps"].clone()), "{there:?}");
    let name = "it's a \"$(id)\" `x` \\ #(y) 日本";
    let said = run(&["--host", "there", "shell", "rename", "--target", "a", name]);
    assert_eq!(said.code, 0, "{said:?}");
    assert_eq!(world.state()["shells"][0]["name"], name);
    let said = run(&["--host", "there", "--host", "nowhere.invalid", "session", "status", "--json"]);
    let document = said.json();
    assert_eq!(
        (said.code, &document["hosts"][0]["exit"], &document["hosts"][1]["error"]["code"]),
        (1, &json!(0), &json!("ssh")),
        "{said:?}"
    );
    assert_eq!(run(&["--host", "there", "shell", "forget", "nobody"]).code, 3);
}
