//! Somebody who installs the plugin with the real TPM, in a bare environment and a home of their own.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::records::run;
use super::support::{Said, World, sidecar_path, tmux_versions, wait_or_tell};
use super::terminal::Terminal;

/// Where Debian's package of TPM lies; `scripts/test` installs it.
pub const DEBIAN: &str = "/usr/share/tmux-plugin-manager";

/// Somebody who installs the plugin from a git repository, `<world>/upstream/sidecar.tmux`.
pub struct Stranger {
    pub world: World,
    /// Folders in front of `/usr/bin:/bin`.
    pub path: Vec<PathBuf>,
}

impl Stranger {
    /// With Debian's TPM in tmux.conf, and no Rust.
    pub fn new() -> Self {
        Self::with_tpm(&format!("{DEBIAN}/tpm"))
    }

    pub fn with_tpm(tpm: &str) -> Self {
        assert!(Path::new(DEBIAN).join("tpm").is_file(), "scripts/test installs tmux-plugin-manager");
        let stranger = Self { world: World::bare(), path: Vec::new() };
        let upstream = stranger.upstream();
        std::fs::create_dir_all(&upstream).unwrap();
        let checkout = Path::new(env!("CARGO_MANIFEST_DIR"));
        for name in ["sidecar.tmux", "scripts", "helper", "tests", "Cargo.toml", "Cargo.lock", "README.md", ".gitignore"] {
            assert!(Command::new("cp").arg("-r").arg(checkout.join(name)).arg(&upstream).status().unwrap().success());
        }
        stranger.git(&upstream, &["init", "--quiet"]);
        stranger.commit("The plugin");
        stranger.configure("", tpm);
        stranger
    }

    pub fn configure(&self, lines: &str, tpm: &str) {
        let conf = format!("{lines}set -g @sidecar-interval 0.5\nset -g @plugin '{}'\nrun '{tpm}'\n", self.upstream().display());
        std::fs::write(self.home().join(".tmux.conf"), conf).unwrap();
    }

    pub fn home(&self) -> PathBuf {
        self.world.home()
    }

    pub fn upstream(&self) -> PathBuf {
        self.home().with_file_name("upstream").join("sidecar.tmux")
    }

    pub fn plugin(&self) -> PathBuf {
        self.home().join(".tmux/plugins/sidecar.tmux")
    }

    /// The helper that the plugin built for this machine.
    pub fn built(&self) -> PathBuf {
        self.plugin().join(format!("bin/sidecar-{}", machine()))
    }

    /// Nothing but what a login gives.
    pub fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        let folders: Vec<String> =
            self.path.iter().map(|folder| folder.display().to_string()).chain(["/usr/bin".to_owned(), "/bin".to_owned()]).collect();
        command
            .env_clear()
            .env("PATH", folders.join(":"))
            .env("HOME", self.home())
            .env("TMUX_TMPDIR", self.home().with_file_name("tmp"))
            .env("TERM", "xterm-256color")
            // A build as any other, but for its time beside other tests.
            .envs(
                [("LTO", "off"), ("CODEGEN_UNITS", "16"), ("OPT_LEVEL", "0")]
                    .map(|(key, value)| (format!("CARGO_PROFILE_RELEASE_{key}"), value)),
            )
            .current_dir(self.home())
            .stdin(Stdio::null());
        command
    }

    pub fn tmux(&self, args: &[&str]) -> Said {
        let said = run(self.command("tmux").arg("-u").args(args));
        self.world.remember_server();
        said
    }

    pub fn git(&self, folder: &Path, args: &[&str]) -> String {
        let identity = ["-c", "user.name=them", "-c", "user.email=them@example.org", "-c", "commit.gpgsign=false"];
        run(self.command("git").arg("-C").arg(folder).args(identity).args(args)).ok()
    }

    pub fn commit(&self, message: &str) {
        self.git(&self.upstream(), &["add", "--all"]);
        self.git(&self.upstream(), &["commit", "--quiet", "-m", message]);
    }

    /// As `prefix I` leaves it: a clone in TPM's folder.
    pub fn clone(&self) {
        let plugins = self.home().join(".tmux/plugins");
        std::fs::create_dir_all(&plugins).unwrap();
        self.git(&plugins, &["clone", "--quiet", self.upstream().to_str().unwrap()]);
    }

    pub fn attach(&self) -> Terminal<'_> {
        Terminal::run(&self.world, |program| self.command(program), (160, 40), "tmux -u attach-session")
    }

    /// TPM's own key.
    pub fn press_prefix(&self, terminal: &Terminal, key: &str) {
        let _ = self;
        terminal.press(&["C-b"]);
        terminal.press(&[key]);
    }

    /// The plugin folder's build log, and what is told elsewhere: for messages of failed tests.
    pub fn told(&self) -> String {
        let log = std::fs::read_to_string(self.home().join(".local/state/sidecar/build.log")).unwrap_or_default();
        format!("log:\n{log}\ncargo:\n{}\nmessages:\n{}", self.cargo_calls().join("\n"), self.tmux(&["show-messages"]).out)
    }

    pub fn reload(&self) {
        self.tmux(&["source-file", self.home().join(".tmux.conf").to_str().unwrap()]).ok();
    }

    /// Waits until the plugin's hooks stand in the server.
    #[track_caller]
    pub fn wait_loaded(&self) {
        wait_or_tell(|| self.told(), || self.tmux(&["show-hooks", "-g"]).out.contains("[8420]").then_some(()));
    }

    pub fn is_loaded(&self) -> bool {
        self.tmux(&["show-hooks", "-g"]).ok().contains("[8420]")
    }

    /// Waits until no build runs and none waits.
    #[track_caller]
    pub fn wait_no_build(&self) {
        wait_or_tell(|| self.told(), || (!self.tmux(&["show-environment", "-gh"]).ok().contains("SIDECAR_BUILD=")).then_some(()));
    }

    /// Waits until this session is recorded.
    #[track_caller]
    pub fn wait_recorded(&self, name: &str) {
        let recorded = || {
            let list = run(self.command(self.built().to_str().unwrap()).args(["shell", "list", "--all", "--json"]));
            list.out.contains(&format!("\"session\": \"{name}\"")) || list.out.contains(&format!("\"session\":\"{name}\""))
        };
        wait_or_tell(|| self.told(), || recorded().then_some(()));
    }

    /// A stand-in for cargo at `~/.cargo/bin/cargo`, whose builds are proven elsewhere: its `build` runs `does`, a shell line, and
    /// then hands out the helper under test in place of a built one. It notes each build.
    pub fn fake_cargo(&self, version: &str, does: &str) {
        let text = format!(
            r#"#!/bin/sh
[ "$1" != --version ] || {{ echo 'cargo {version}'; exit 0; }}
echo "$*" >>"$HOME/cargo.calls"
until [ "$#" -eq 0 ] || [ "$1" = --target-dir ]; do shift; done
{does}
mkdir -p "$2/release" && cp '{}' "$2/release/sidecar" || exit 1
echo "{{\"executable\":\"$PWD/$2/release/sidecar\"}}"
"#,
            sidecar_path()
        );
        self.script(&self.home().join(".cargo/bin/cargo"), &text);
    }

    pub fn script(&self, path: &Path, text: &str) {
        use std::os::unix::fs::PermissionsExt;
        let _ = self;
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        // In place by a rename: hooks may be running the one that is there.
        let new = path.with_extension("new");
        std::fs::write(&new, text).unwrap();
        std::fs::set_permissions(&new, std::fs::Permissions::from_mode(0o755)).unwrap();
        std::fs::rename(&new, path).unwrap();
    }

    /// Puts the helper under test there.
    pub fn put_helper(&self, path: &Path) {
        let new = path.with_extension("new");
        std::fs::copy(sidecar_path(), &new).unwrap();
        std::fs::rename(&new, path).unwrap();
        let _ = self;
    }

    /// The builds that the stand-in was asked for.
    pub fn cargo_calls(&self) -> Vec<String> {
        let calls = std::fs::read_to_string(self.home().join("cargo.calls")).unwrap_or_default();
        calls.lines().map(str::to_owned).collect()
    }

    /// The Rust that runs these tests, at `~/.cargo/bin`. Its registry is the one that is filled already.
    pub fn real_cargo(&self, config: &str) {
        let cargo = PathBuf::from(std::env::var_os("CARGO").expect("cargo runs the tests"));
        let home = self.home().join(".cargo");
        std::fs::create_dir_all(&home).unwrap();
        std::os::unix::fs::symlink(cargo.parent().unwrap(), home.join("bin")).unwrap();
        std::fs::write(home.join("config.toml"), config).unwrap();
    }

    /// Waits for the message that waits for a client, or was shown.
    #[track_caller]
    pub fn wait_message(&self, words: &str) {
        let waiting = || self.tmux(&["show-hooks", "-g"]).ok() + &self.tmux(&["list-keys", "-T", "prefix"]).out;
        wait_or_tell(|| format!("{words:?}: {}\n{}", waiting(), self.told()), || waiting().contains(words).then_some(()));
    }
}

/// As `uname -sm` tells it, in one word.
pub fn machine() -> String {
    run(Command::new("uname").arg("-sm")).ok().trim().replace(' ', "-")
}

pub fn content(path: &Path) -> Vec<u8> {
    std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The versions that the plugin loads in.
pub fn supported_versions() -> Vec<(String, PathBuf)> {
    tmux_versions().into_iter().filter(|(version, _)| !version.starts_with("3.1") && !version.starts_with("3.0")).collect()
}
