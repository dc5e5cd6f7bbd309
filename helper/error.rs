//! The one error of the product: what failed, why, what to do, and the exit code.

use std::fmt;

/// Exit codes of the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// Something failed.
    Failed = 1,
    /// The arguments are wrong.
    Usage = 2,
    /// No such target, or an ambiguous one.
    NoTarget = 3,
    /// A selected shell was refused, or a confirmation is needed.
    Refused = 5,
}

impl From<Exit> for std::process::ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// An error for a person: `what failed: for which thing: why`, and a hint.
#[derive(Debug)]
pub struct Error {
    /// A stable word for scripts.
    pub code: &'static str,
    /// The exit code it leads to.
    pub exit: Exit,
    /// What failed, for which thing, and why.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
}

/// The result of anything that can fail with an [`Error`].
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// Something failed.
    pub fn failed(code: &'static str, message: impl Into<String>) -> Self {
        Self { code, exit: Exit::Failed, message: message.into(), hint: None }
    }

    /// The same error with another exit code.
    #[must_use]
    pub fn exit(mut self, exit: Exit) -> Self {
        self.exit = exit;
        self
    }

    /// The same error with a hint.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}

/// An error of the file system; `fs_err` names the file in its text.
impl From<std::io::Error> for Error {
    fn from(error: std::io::Error) -> Self {
        Self::failed("io", error.to_string())
    }
}
