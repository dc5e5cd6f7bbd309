//! What tells whether a server is well: its client's version, its global environment, options of other plugins.

use std::ffi::OsStr;
use std::time::Duration;

use super::client::Failure;
use super::quote;
use super::server::Server;

impl Server {
    /// The version of the client on PATH; `None` if there is none that runs.
    pub fn client_version(&self, limit: Duration) -> Option<String> {
        let reply = self.run(&[OsStr::new("-V")], None, limit).ok().filter(|reply| reply.ok)?;
        let text = String::from_utf8_lossy(&reply.stdout).trim().to_owned();
        Some(text.strip_prefix("tmux ").map_or(text.clone(), str::to_owned))
    }

    /// The variables of the server's global environment, which every new pane gets: name and value. What a value with line breaks holds
    /// may look like another variable.
    ///
    /// # Errors
    /// As for any call.
    pub fn global_environment(&self, limit: Duration) -> Result<Vec<(String, String)>, Failure> {
        let reply = self.call(&["show-environment", "-g"], None, limit)?;
        if !reply.ok {
            return Err(Failure::Other(reply.stderr));
        }
        let text = String::from_utf8_lossy(&reply.stdout);
        Ok(text.lines().filter_map(|line| line.split_once('=')).map(|(name, value)| (name.to_owned(), value.to_owned())).collect())
    }

    /// Takes these variables out of the global environment.
    ///
    /// # Errors
    /// As for any call.
    pub fn unset_global(&self, names: &[String], limit: Duration) -> Result<(), Failure> {
        let lines = names.iter().map(|name| format!("set-environment -gu {}\n", quote::arg(name.as_bytes())));
        self.source_ours(&lines.collect::<String>(), limit)
    }

    /// The values of global options, one for each name; empty where unset.
    ///
    /// # Errors
    /// As for any call.
    pub fn global_options<const N: usize>(&self, names: [&str; N], limit: Duration) -> Result<[String; N], Failure> {
        let mut values = [const { String::new() }; N];
        for (value, name) in values.iter_mut().zip(names) {
            let reply = self.call(&["show-options", "-gqv", name], None, limit)?;
            String::from_utf8_lossy(&reply.stdout).trim_end_matches('\n').clone_into(value);
        }
        Ok(values)
    }
}
