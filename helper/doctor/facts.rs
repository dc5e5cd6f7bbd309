//! What the findings are made of.

use std::path::PathBuf;

use crate::agents::integration::Status;
use crate::model::{EpochMs, Generation, ServerReport};
use crate::plugin::Standing;
use crate::units::JobStatus;

/// Everything that was asked.
#[derive(Clone, Debug)]
pub struct Facts {
    /// When.
    pub now: EpochMs,
    /// How a command line for the server begins.
    pub tmux: String,
    /// The version of the tmux client; `None` if there is none that runs.
    pub client: Option<String>,
    /// What is known of the server.
    pub server: ServerReport,
    /// Whether a socket lies there.
    pub socket_exists: bool,
    /// The server that could make its socket again, if nobody answers there.
    pub without_socket: Option<Generation>,
    /// What the server says, if it answers, is the one that is meant, and is new enough.
    pub live: Option<Live>,
    /// This program.
    pub own: Helper,
    /// The `sidecar` on PATH, if that is another one.
    pub on_path: Option<Helper>,
    /// The records.
    pub records: Records,
    /// What is wrong with `config.json` and with our options in tmux.
    pub warnings: Vec<String>,
    /// The hooks in agents' settings.
    pub hooks: Vec<Hook>,
    /// The programs of the agents that are recorded.
    pub programs: Vec<Program>,
    /// What systemd does to the user's processes, where it runs.
    pub logind: Option<Logind>,
    /// The jobs of the user's service manager.
    pub jobs: Vec<Job>,
    /// The records of this machine's other servers.
    pub others: Vec<Other>,
}

/// Our hook in an agent's settings.
#[derive(Clone, Debug)]
pub struct Hook {
    /// Which agent.
    pub kind: String,
    /// What that is called.
    pub title: String,
    /// Whether its program is found.
    pub is_found: bool,
    /// How the hook stands.
    pub status: Status,
}

/// A job of the user's service manager.
#[derive(Clone, Debug)]
pub struct Job {
    /// The finding's word.
    pub id: &'static str,
    /// What it is, for people.
    pub title: &'static str,
    /// How it stands.
    pub status: JobStatus,
    /// Whether it is to run all the time.
    pub must_run: bool,
    /// Whether the manager runs without a login, where that matters and can be told.
    pub lingers: Option<bool>,
}

/// A helper.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Helper {
    /// Where it lies.
    pub path: String,
    /// Its version; `None` if it does not run.
    pub version: Option<String>,
}

/// What a living server says.
#[derive(Clone, Debug, Default)]
pub struct Live {
    /// How the plugin stands; `None` if that could not be asked.
    pub plugin: Option<Standing>,
    /// Whether the helper that the hooks call can be run; `None` if it is not known which it is.
    pub helper_runs: Option<bool>,
    /// Whether it is this program, by whatever path.
    pub helper_is_own: bool,
    /// Whether that helper is of the sources beside it; `None` if it is none that the plugin built.
    pub is_current: Option<bool>,
    /// `@sidecar-helper`, and whether it can be run.
    pub chosen_helper: Option<(String, bool)>,
    /// Variables of agents in the global environment.
    pub inherited: Vec<String>,
    /// tmux-continuum's `@continuum-restore`.
    pub continuum_restore: String,
    /// tmux-resurrect's `@resurrect-processes`.
    pub resurrect_processes: String,
    /// The names of all agents' programs.
    pub agent_programs: Vec<String>,
    /// When the server started, by its own clock, in epoch ms.
    pub started: EpochMs,
    /// When its process started, by the kernel's, in epoch ms.
    pub process_started: Option<EpochMs>,
    /// The seconds from one look of the timer to the next.
    pub interval: f64,
}

/// The records.
#[derive(Clone, Debug)]
pub struct Records {
    /// Their folder.
    pub dir: PathBuf,
    /// What was read; `Err` is why nothing could be, and what to do.
    pub read: Result<Read, (String, String)>,
    /// Why they can't be written.
    pub unwritable: Option<String>,
    /// What their files take, in bytes.
    pub bytes: u64,
    /// When the last complete look took place.
    pub last_look: Option<EpochMs>,
    /// Why nothing has been recorded since.
    pub trouble: Option<String>,
    /// The last errors of the log, a day back.
    pub errors: Vec<(EpochMs, String)>,
    /// Files that could not be read and were moved aside.
    pub aside: Vec<PathBuf>,
    /// How many automatic restores in a row have failed.
    pub failed_automatics: u32,
}

/// What was read.
#[derive(Clone, Debug, Default)]
pub struct Read {
    /// How many shells there are.
    pub shells: usize,
    /// How many are forgotten.
    pub forgotten: usize,
    /// What a person should know of the file.
    pub notices: Vec<String>,
    /// Whether this version may write it.
    pub writable: bool,
    /// The latest time in it.
    pub latest: Option<EpochMs>,
}

/// The program of an agent whose conversation is recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// Its name.
    pub name: String,
    /// Whether the server's PATH has it; this process's, if no server runs.
    pub on_path: bool,
    /// Whether the user's login shell finds it; `None` if it was not asked, or did not answer.
    pub by_login_shell: Option<bool>,
}

/// What systemd's logind does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Logind {
    /// Whether a logout ends what its session started.
    pub kills: bool,
    /// Whether the user's own service manager outlives the last logout.
    pub lingers: bool,
    /// The server's control group.
    pub group: Option<String>,
}

/// The records of another server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Other {
    /// The name of its socket.
    pub name: String,
    /// The options by which it is meant, where they are known.
    pub options: Option<String>,
    /// How many shells are recorded.
    pub shells: usize,
    /// Whether it lives.
    pub lives: bool,
}
