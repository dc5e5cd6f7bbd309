//! A terminal that a test can see and type into: a pane of another tmux server, with a client of the world's server in it.

use std::path::PathBuf;
use std::process::Command;

use super::support::{World, path_tmux, wait_or_tell};

fn outer_tmux() -> String {
    path_tmux().join("tmux").display().to_string()
}

pub struct Terminal<'a> {
    world: &'a World,
    socket: PathBuf,
    pid: i32,
}

impl<'a> Terminal<'a> {
    /// Runs `line`, a shell line, in a terminal of this size. `command` makes a command with the environment that it is to have.
    pub fn run(world: &'a World, command: impl Fn(&str) -> Command, (width, height): (u16, u16), line: &str) -> Self {
        static COUNT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
        let number = COUNT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let socket = world.home().with_file_name(format!("outer{number}"));
        // The outer server is the machine's own tmux, with none of the user's settings, and without a status line of its own.
        let status = command(&outer_tmux())
            .args(["-u", "-S"])
            .arg(&socket)
            .args(["-f", "/dev/null", "new-session", "-d", "-x", &width.to_string(), "-y", &height.to_string()])
            .arg(format!("unset TMUX TMUX_PANE; stty cols {width} rows {height}; {line}; echo; echo LEFT; exec cat"))
            .args([
                ";",
                "set-option",
                "-g",
                "status",
                "off",
                ";",
                "set-option",
                "-g",
                "escape-time",
                "0",
                ";",
                "set-option",
                "-g",
                "prefix",
                "None",
            ])
            .status()
            .unwrap();
        assert!(status.success());
        let mut terminal = Self { world, socket, pid: 0 };
        terminal.pid = terminal.outer(&["display-message", "-p", "#{pid}"]).trim().parse().unwrap();
        terminal
    }

    /// A client of the world's server: `tmux ARGS`, in 120 columns and 40 rows.
    pub fn attach(world: &'a World, args: &str) -> Self {
        Self::attach_sized(world, args, (120, 40))
    }

    pub fn attach_sized(world: &'a World, args: &str, size: (u16, u16)) -> Self {
        let line = format!("'{}' -u {args}", world.tmux_program().display());
        Self::run(world, |program| world.command(program), size, &line)
    }

    fn outer(&self, args: &[&str]) -> String {
        let output = self.world.command(outer_tmux()).args(["-u", "-S"]).arg(&self.socket).args(args).output().unwrap();
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// What the terminal shows.
    pub fn text(&self) -> String {
        self.outer(&["capture-pane", "-p"])
    }

    /// Presses keys, in tmux's names of them.
    pub fn press(&self, keys: &[&str]) {
        self.outer(&[&["send-keys"], keys].concat());
    }

    /// Types text, each character as it is.
    pub fn type_text(&self, text: &str) {
        // tmux takes a `;` at the end of a word for its own.
        let text = text.strip_suffix(';').map_or_else(|| text.to_owned(), |rest| format!("{rest}\\;"));
        self.outer(&["send-keys", "-l", "--", &text]);
    }

    /// Waits until this text is shown, and gives the whole screen.
    #[track_caller]
    pub fn wait_text(&self, wanted: &str) -> String {
        wait_or_tell(|| format!("{wanted:?} on the screen:\n{}", self.text()), || Some(self.text()).filter(|text| text.contains(wanted)))
    }

    /// Waits until this text is gone.
    #[track_caller]
    pub fn wait_no_text(&self, gone: &str) -> String {
        wait_or_tell(|| format!("no {gone:?} on the screen:\n{}", self.text()), || Some(self.text()).filter(|text| !text.contains(gone)))
    }
}

impl Drop for Terminal<'_> {
    fn drop(&mut self) {
        if self.pid > 0 {
            self.world.signal(self.pid, "KILL");
        }
    }
}
