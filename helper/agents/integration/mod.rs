//! The hook in an agent's own configuration: what is there, what a change would write, and the change itself.

mod command;
mod file;
mod found;
mod json;
mod plugin;
mod status;
mod toml;
mod trust;

use std::path::{Path, PathBuf};

use self::command::{CLAUDE, CODEX, COPILOT, GEMINI, Hook, OPENCODE};
use self::file::{File, NotWritten, refused};
use self::found::{Found, Wrong};
pub use self::status::{State, Status, TRUST_HINT, is_same_program};
use super::catalog::{Agent, Catalog};
use crate::error::{Error, Exit, Result};
use crate::store::home;

const HOOKS: [Hook; 5] = [CLAUDE, CODEX, GEMINI, COPILOT, OPENCODE];

/// How often a file that changes under the work is read anew.
const TRIES: usize = 3;

/// The integration of one agent.
#[derive(Clone, Debug)]
pub struct Integration<'a> {
    /// The agent.
    pub agent: &'a Agent,
    hook: Hook,
    folder: PathBuf,
}

/// A change of one file.
#[derive(Clone, Debug)]
pub struct Edit {
    file: File,
    after: Option<String>,
    copy: Copy,
    /// Our hook in it is another one than before.
    new_hook: bool,
}

/// What becomes of the file's copy from before the first change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Copy {
    /// It is made.
    Make,
    /// It stays.
    Leave,
    /// It goes, for the file is as it was.
    Drop,
    /// It gets another name, for it says no longer what an uninstallation would leave.
    Retire,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Json,
    Toml,
    /// A file that is ours as a whole.
    Plugin,
}

impl Edit {
    /// The file, by the name that the agent knows it by.
    pub fn path(&self) -> &Path {
        &self.file.path
    }

    /// What it holds; `None` if it is missing.
    pub fn before(&self) -> Option<&str> {
        self.file.text.as_deref()
    }

    /// What it will hold; `None` if it goes.
    pub fn after(&self) -> Option<&str> {
        self.after.as_deref()
    }

    /// Whether our hook in it is another one than before, so that an agent which wants the user's trust asks for it.
    pub fn has_new_hook(&self) -> bool {
        self.new_hook
    }

    /// The copy that is made of it, if one is.
    pub fn copy(&self) -> Option<PathBuf> {
        (self.copy == Copy::Make).then(|| self.file.copy_path())
    }

    fn carry_out(&self) -> std::result::Result<(), NotWritten> {
        self.file.writable()?;
        if self.copy == Copy::Make {
            self.file.keep_copy()?;
        }
        if let Err(why) = self.file.write(self.after()) {
            if self.copy == Copy::Make {
                self.file.drop_copy()?;
            }
            return Err(why);
        }
        match self.copy {
            Copy::Drop => self.file.drop_copy()?,
            Copy::Retire => self.file.retire_copy()?,
            Copy::Make | Copy::Leave => (),
        }
        Ok(())
    }
}

/// Carries out what `plan` says; plans anew if a file changed meanwhile.
///
/// # Errors
/// Those of `plan`; a file that can't be written, or that changes again and again.
pub fn carry_out(mut plan: impl FnMut() -> Result<Vec<Edit>>) -> Result<Vec<Edit>> {
    let mut changed = PathBuf::new();
    let mut done = Vec::new();
    'again: for _ in 0..TRIES {
        for edit in plan()? {
            match edit.carry_out() {
                Ok(()) => done.push(edit),
                Err(NotWritten::Error(error)) => return Err(error),
                Err(NotWritten::Changed) => {
                    edit.path().clone_into(&mut changed);
                    continue 'again;
                }
            }
        }
        return Ok(done);
    }
    Err(Error::failed(
        "settings_changing",
        format!("{} was changed by somebody else each time that it was to be written", changed.display()),
    )
    .exit(Exit::Refused)
    .hint("end what writes it, and run this again"))
}

impl<'a> Integration<'a> {
    /// The integration of this agent; `None` if there is none for it.
    ///
    /// # Errors
    /// The folder of its configuration is unknown.
    pub fn of(agent: &'a Agent) -> Result<Option<Self>> {
        let Some(hook) = HOOKS.into_iter().find(|hook| hook.kind == agent.kind) else { return Ok(None) };
        Ok(Some(Self { agent, hook, folder: folder(agent)? }))
    }

    /// Whether there is one for this agent.
    pub fn exists(agent: &Agent) -> bool {
        HOOKS.iter().any(|hook| hook.kind == agent.kind)
    }

    /// Whether an agent of this kind, with our hook, tells when the user ends it.
    pub fn tells_end(kind: &str) -> bool {
        HOOKS.iter().any(|hook| hook.kind == kind && hook.events.contains(&"SessionEnd"))
    }

    /// Every one that there is.
    ///
    /// # Errors
    /// As for [`Integration::of`].
    pub fn all(catalog: &'a Catalog) -> Result<Vec<Self>> {
        catalog.agents().iter().filter_map(|agent| Self::of(agent).transpose()).collect()
    }

    /// What installing would change: every event has one entry, which calls `helper`. Nothing, if that is so.
    ///
    /// # Errors
    /// A file that can't be read or edited.
    pub fn install(&self, helper: &str, titles: bool) -> Result<Vec<Edit>> {
        let line = self.hook.line(helper);
        let files = self.read()?;
        let chosen = self.chosen(&files)?;
        let mut edits = Vec::new();
        for (at, (form, file)) in files.into_iter().enumerate() {
            let copy = file.copy();
            let text = file.text.as_deref().unwrap_or_default();
            let wrong = |wrong: Wrong| refused(&file.path, &wrong);
            let found = form.look(text, &self.hook).map_err(wrong)?;
            let mut after = file.text.clone();
            if at == chosen {
                after = Some(form.install(text, &self.hook, &line).map_err(wrong)?);
            } else if !found.entries.is_empty() {
                after = form.uninstall(text, &self.hook, copy.as_deref()).map_err(wrong)?;
            }
            let new_hook = after.is_some() && after != file.text;
            if titles && form == Form::Toml {
                after = Some(toml::install_titles(after.as_deref().unwrap_or_default()).map_err(wrong)?);
            }
            let has_ours = !found.entries.is_empty() || (form == Form::Toml && toml::has_our_titles(text, copy.as_deref()));
            let copy = if has_ours || file.text.is_none() { Copy::Leave } else { Copy::Make };
            edits.push(Edit { file, after, copy, new_hook });
        }
        edits.retain(|edit| edit.before() != edit.after());
        Ok(edits)
    }

    /// What a repair would change: as installing, but nothing where nothing of ours is.
    ///
    /// # Errors
    /// As for [`Integration::install`].
    pub fn repair(&self, helper: &str) -> Result<Vec<Edit>> {
        for (form, file) in self.read()? {
            let found = form.look(file.text.as_deref().unwrap_or_default(), &self.hook).map_err(|wrong| refused(&file.path, &wrong))?;
            if !found.entries.is_empty() {
                return self.install(helper, false);
            }
        }
        Ok(Vec::new())
    }

    /// What uninstalling would change.
    ///
    /// # Errors
    /// As for [`Integration::install`].
    pub fn uninstall(&self) -> Result<Vec<Edit>> {
        let mut edits = Vec::new();
        for (form, file) in self.read()? {
            let Some(text) = &file.text else { continue };
            let copy = file.copy();
            let wrong = |wrong: Wrong| refused(&file.path, &wrong);
            let mut after = form.uninstall(text, &self.hook, copy.as_deref()).map_err(wrong)?;
            if let (Form::Toml, Some(text)) = (form, &after) {
                after = toml::uninstall_titles(text, copy.as_deref()).map_err(wrong)?;
            }
            let same = after == copy;
            edits.push(Edit { file, after, copy: if same { Copy::Drop } else { Copy::Retire }, new_hook: false });
        }
        edits.retain(|edit| edit.before() != edit.after());
        Ok(edits)
    }

    /// Whether the agent runs a hook only once the user trusts it.
    pub fn wants_trust(&self) -> bool {
        self.hook == CODEX
    }

    /// Whether the agent's title can tell its conversation.
    pub fn has_titles(&self) -> bool {
        self.hook == CODEX
    }

    /// Has the agent trust our hook, which calls `helper`, and no other.
    ///
    /// # Errors
    /// The agent can't be asked, or does not do it.
    pub fn trust(&self, program: Option<&Path>, helper: &str) -> Result<()> {
        let asked = match program {
            Some(program) => trust::trust(program, &self.folder, &self.hook.line(helper)),
            None => Err(format!("{} is not on PATH", self.agent.programs[0])),
        };
        asked.map_err(|why| {
            let hint = format!("start {} once and trust the hook there", self.agent.programs[0]);
            Error::failed("not_trusted", format!("the hook is installed, and {} does not trust it: {why}", self.agent.title)).hint(hint)
        })
    }

    /// The files that may hold it.
    fn read(&self) -> Result<Vec<(Form, File)>> {
        self.hook.files.iter().map(|(form, name)| Ok((*form, File::read(&self.folder.join(name))?))).collect()
    }

    /// Which of them is to hold it: that which does, else the one where the user keeps hooks, else the first. For Codex warns of hooks
    /// in two files.
    fn chosen(&self, files: &[(Form, File)]) -> Result<usize> {
        let mut found = Vec::new();
        for (form, file) in files {
            let look = form.look(file.text.as_deref().unwrap_or_default(), &self.hook);
            found.push(look.map_err(|wrong| refused(&file.path, &wrong))?);
        }
        let ours = found.iter().position(|found| !found.entries.is_empty());
        Ok(ours.or_else(|| found.iter().position(|found| found.any)).unwrap_or(0))
    }
}

impl Form {
    fn look(self, text: &str, hook: &Hook) -> std::result::Result<Found, Wrong> {
        match self {
            Self::Json => json::look(text, hook),
            Self::Toml => toml::look(text, hook),
            Self::Plugin => Ok(plugin::look(text, hook)),
        }
    }

    fn install(self, text: &str, hook: &Hook, line: &str) -> std::result::Result<String, Wrong> {
        match self {
            Self::Json => json::install(text, hook, line),
            Self::Toml => toml::install(text, hook, line),
            Self::Plugin => plugin::install(text, hook, line),
        }
    }

    fn uninstall(self, text: &str, hook: &Hook, original: Option<&str>) -> std::result::Result<Option<String>, Wrong> {
        match self {
            Self::Json => json::uninstall(text, hook, original),
            Self::Toml => toml::uninstall(text, hook, original),
            Self::Plugin => Ok(plugin::uninstall(text, hook)),
        }
    }
}

/// The folder of the agent's configuration.
fn folder(agent: &Agent) -> Result<PathBuf> {
    let variable = &agent.home.variable;
    if let Some(set) = std::env::var_os(variable).filter(|value| !value.is_empty()) {
        let folder = PathBuf::from(set);
        if folder.is_absolute() {
            return Ok(agent.home.of(&folder));
        }
        return Err(Error::failed("relative_folder", format!("{variable} is no absolute path: {}", folder.display()))
            .exit(Exit::Usage)
            .hint(format!("{} would look in another folder from each directory; set it to an absolute path", agent.title)));
    }
    Ok(home()?.join(&agent.home.folder))
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a test writes settings as others do")]
mod tests {
    use super::*;

    const HELPER: &str = "/usr/bin/sidecar";

    #[test]
    fn a_file_that_changes_under_the_work_is_read_anew_and_refused_if_it_goes_on() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("settings.json");
        let catalog = Catalog::built_in();
        let one = Integration { agent: catalog.get("claude").unwrap(), hook: CLAUDE, folder: dir.path().to_owned() };
        std::fs::write(&path, "{\"n\": 0}").unwrap();
        let mut number = 0;
        let mut plan = |times: u32| {
            let edits = one.install(HELPER, false)?;
            number += 1;
            if number <= times {
                std::fs::write(&path, format!("{{\"n\": {number}}}")).unwrap();
            }
            Ok(edits)
        };
        assert_eq!(carry_out(|| plan(1)).unwrap().len(), 1);
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.starts_with("{\"n\": 1,") && text.contains("report-session"), "{text}");
        assert_eq!(std::fs::read_to_string(dir.path().join("settings.json.before-sidecar")).unwrap(), "{\"n\": 1}");

        std::fs::write(&path, "{}").unwrap();
        let error = carry_out(|| plan(u32::MAX)).unwrap_err();
        assert_eq!((error.code, error.exit), ("settings_changing", Exit::Refused));
        assert!(!std::fs::read_to_string(&path).unwrap().contains("report-session"));
    }
}
