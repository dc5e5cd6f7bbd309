//! The command line: arguments and printing, no decisions.

mod agent;
mod agent_answer;
mod agent_status;
mod args;
mod boot;
mod completions;
mod doctor;
mod hook;
mod hosts;
mod hosts_table;
mod import;
mod job;
mod list;
mod man;
mod menu;
mod output;
mod pane;
mod plugin;
mod servers;
mod session;
mod shell;
mod snapshot;
mod snapshot_timer;
mod when;

use std::path::Path;
use std::process::ExitCode;

use clap::Parser;

use crate::agents::catalog::Catalog;
use crate::agents::integration::is_same_program;
use crate::error::{Error, Exit, Result};
use crate::plugin::{Plugin, stable_path};
use crate::shells::Shells;
use crate::snapshots::Snapshots;
use crate::store::{Config, Store, home};
use crate::tmux::Server;
use args::{Cli, Command, PluginCommand, SessionCommand, ShellCommand};

/// Parses the arguments, runs the command and gives the process's exit code.
pub fn main() -> ExitCode {
    if let Some(words) = hook::words(std::env::args_os()) {
        return hook::main(&words);
    }
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // A hook never prints, not even of what a newer plugin asks an older helper.
            let mut words = std::env::args_os().skip(1);
            if words
                .next()
                .is_some_and(|word| word == "hook" || (word == "agent" && words.next().is_some_and(|word| word == "report-session")))
            {
                return ExitCode::SUCCESS;
            }
            if std::env::args_os().any(|word| word == "--json") && error.use_stderr() {
                output::print_error(&wrong_usage(&error.render().to_string()), true);
            } else {
                let _ = error.print();
            }
            return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2));
        }
    };
    output::note_server_options(&cli);
    let json = cli.command.wants_json();
    let result = if cli.hosts.is_empty() { run(&cli) } else { hosts::run(&cli) };
    match result {
        Ok(code) => code,
        Err(_) if cli.hosts.is_empty() && cli.command.is_hook() => ExitCode::SUCCESS,
        Err(error) => {
            output::print_error(&error, json);
            error.exit.into()
        }
    }
}

/// What clap says for people, as an error of ours: its first paragraph, then the others.
fn wrong_usage(said: &str) -> Error {
    let one_line = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let (what, rest) = said.split_once("\n\n").unwrap_or((said, ""));
    let what = one_line(what);
    Error::failed("usage", what.strip_prefix("error: ").unwrap_or(&what)).exit(Exit::Usage).hint(one_line(rest))
}

fn run(cli: &Cli) -> Result<ExitCode> {
    let context = || Context::of(cli);
    match &cli.command {
        Command::Agent { command } => agent::run(command, context),
        // These need neither a server nor records.
        Command::Plugin { command: PluginCommand::Api } => Ok(plugin::api()),
        Command::Plugin { command: PluginCommand::Link } => plugin::link(),
        Command::Completions { shell } => Ok(completions::script(*shell)),
        Command::Man { out } => man::man(out.as_deref()),
        Command::Complete { command } => Ok(completions::complete(command)),
        // A pane gets its shell whatever is wrong with the rest.
        Command::Pane { command } => Ok(pane::run(context(), command)),
        Command::Session { command: SessionCommand::Status(options) } if options.all_servers => servers::status(cli, options),
        Command::Session { command: SessionCommand::Status(options) } => session::status(&context()?, options),
        Command::Session { command: SessionCommand::Restore(options) } => session::restore(&context()?, options),
        Command::Session { command: SessionCommand::Policy(options) } => shell::policy(&context()?, options),
        Command::Shell { command } => match command {
            ShellCommand::List(options) => list::list(&context()?, options),
            ShellCommand::New(options) => shell::new(&context()?, options),
            ShellCommand::Rename(options) => shell::rename(&context()?, options),
            ShellCommand::Send(options) => shell::send(&context()?, options),
            ShellCommand::Forget(options) => shell::forget(&context()?, options),
            ShellCommand::Restore(options) => shell::restore(&context()?, options),
            ShellCommand::Delete(options) => shell::delete(&context()?, options),
            ShellCommand::Purge(options) => shell::purge(&context()?, options),
        },
        Command::Import { command } => import::run(&context()?, command),
        Command::Doctor(options) => doctor::doctor(&context()?, options),
        Command::Snapshot { command } => snapshot::run(command, context),
        Command::Boot { command } => boot::run(cli, command, context),
        Command::Menu { command } => menu::run(&context()?, command),
        Command::Plugin { command: PluginCommand::Unload } => plugin::unload(&context()?),
        Command::Plugin { .. } => plugin::load(&context()?),
        Command::Hook { words } => Ok(hook::run(&context()?, words)),
    }
}

/// What the commands for a server work with.
struct Context {
    server: Server,
    store: Store,
    config: Config,
}

impl Context {
    fn of(cli: &Cli) -> Result<Self> {
        Self::of_server(cli.socket_name.as_deref(), cli.socket_path.as_deref())
    }

    fn of_server(name: Option<&str>, path: Option<&Path>) -> Result<Self> {
        let server = Server::resolve(name, path)?;
        let store = Store::of(server.socket())?;
        let mut config = Config::read();
        if !config.agents.is_empty() {
            config.warnings.extend(Catalog::with(&config.agents).1);
        }
        Ok(Self { server, store, config })
    }

    fn shells(&self) -> Shells<'_> {
        Shells { server: &self.server, store: &self.store, config: &self.config }
    }

    fn snapshots(&self) -> Snapshots<'_> {
        Snapshots { server: &self.server, store: &self.store, config: &self.config }
    }

    fn plugin<'a>(&'a self, helper: &'a str) -> Plugin<'a> {
        Plugin { server: &self.server, store: &self.store, config: &self.config, helper }
    }
}

/// This program's path for what runs it long after: the user's own link to it, else the one that an update of the plugin moves along.
fn lasting_path() -> Result<String> {
    let own = own_path()?;
    let link = home()?.join(".local/bin/sidecar");
    let path = if is_same_program(&link.display().to_string(), &own) { link } else { stable_path(Path::new(&own)) };
    Ok(path.into_os_string().into_string().ok().filter(|path| !path.contains(['%', '\n'])).unwrap_or(own))
}

/// This program's own path, for the hooks: as it was called, so that a link which an update moves keeps working.
fn own_path() -> Result<String> {
    let called = std::env::args_os().next().map(std::path::PathBuf::from).filter(|path| path.is_absolute());
    let path = called.or_else(|| std::env::current_exe().ok());
    // tmux's prompts put what is typed in the place of `%1`, in every word of their command.
    path.and_then(|path| path.into_os_string().into_string().ok()).filter(|path| !path.contains(['%', '\n'])).ok_or_else(|| {
        Error::failed("own_path", "this program's own path is no plain text: it must be UTF-8, without '%' and line breaks")
            .hint("install sidecar in a folder with a plain name")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_usage_error_is_one_line_and_what_to_do_another() {
        let said = Cli::try_parse_from(["sidecar", "shell", "send", "--json"]).map(drop).unwrap_err().render().to_string();
        let wrong = wrong_usage(&said);
        assert_eq!(wrong.message, "the following required arguments were not provided: --target <T> <--run <CMD>|--type <TEXT>>");
        assert!(wrong.hint.is_some_and(|hint| hint.starts_with("Usage: sidecar shell send ") && !hint.contains('\n')));
    }
}
