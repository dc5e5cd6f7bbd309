//! What is wrong with the whole, and how to mend it.
//!
//! `gather` asks every room for its facts; the findings are made of them by pure functions; `mend` does what can cost nobody anything.

mod agents;
mod ask;
mod facts;
mod gather;
mod jobs;
mod logind;
mod mend;
mod plugin;
mod records;
mod server;
#[cfg(test)]
mod tests;

pub use facts::Facts;
pub use mend::Doctor;

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// All is well.
    Ok,
    /// Worth knowing.
    Note,
    /// Something does not work.
    Problem,
}

impl Level {
    /// The word in `--json`.
    pub fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Note => "note",
            Self::Problem => "problem",
        }
    }
}

/// What one look at one thing gave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// A stable word for what was looked at.
    pub id: String,
    /// How bad it is.
    pub level: Level,
    /// What is so.
    pub what: String,
    /// Why it matters; empty if all is well.
    pub why: String,
    /// What mends it, a command if there is one; may be empty.
    pub fix: String,
    /// How `--fix` would mend it.
    pub mend: Option<Mend>,
    /// Whether it was mended just now.
    pub fixed: bool,
}

/// What `--fix` does.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mend {
    /// Have a server whose socket is gone make it again.
    Socket,
    /// Load the plugin: hooks, keys, timer.
    Load,
    /// Take these variables out of the server's global environment.
    Unset(Vec<String>),
    /// Repair the hook of this agent.
    Repair(String),
}

impl Finding {
    fn ok(id: impl Into<String>, what: impl Into<String>) -> Self {
        Self { id: id.into(), level: Level::Ok, what: what.into(), why: String::new(), fix: String::new(), mend: None, fixed: false }
    }

    fn note(id: impl Into<String>, what: impl Into<String>, why: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { level: Level::Note, why: why.into(), fix: fix.into(), ..Self::ok(id, what) }
    }

    fn problem(id: impl Into<String>, what: impl Into<String>, why: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { level: Level::Problem, ..Self::note(id, what, why, fix) }
    }

    fn mended_by(self, mend: Mend) -> Self {
        Self { mend: Some(mend), ..self }
    }
}

/// Everything that there is to say of these facts.
pub fn examine(facts: &Facts) -> Vec<Finding> {
    [
        server::findings(facts),
        plugin::findings(facts),
        records::findings(facts),
        agents::findings(facts),
        logind::findings(facts),
        jobs::findings(facts),
    ]
    .concat()
}
