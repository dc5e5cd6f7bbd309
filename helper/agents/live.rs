//! Which conversations live processes have open.

use std::collections::HashMap;

use super::catalog::Catalog;
use super::flags::{self, Run};
use super::process;
use super::recognize::{Process, recognize};

/// The process that has each of these conversations open, by kind and id, as far as its arguments tell. Resuming one of them a
/// second time would be two that write one transcript.
pub fn open(catalog: &Catalog, wanted: &[&str]) -> HashMap<(String, String), i32> {
    let mut found = HashMap::new();
    if wanted.is_empty() {
        return found;
    }
    for pid in process::all() {
        let Some(argv) = process::argv(pid) else { continue };
        // Nearly all are none, told by their words alone.
        let named = argv.iter().skip(1).filter_map(|word| std::str::from_utf8(word.as_bytes()).ok());
        let ids: Vec<&str> = named.filter_map(|word| wanted.iter().copied().find(|id| !id.is_empty() && word.ends_with(id))).collect();
        if ids.is_empty() {
            continue;
        }
        let (exe, comm) = (process::exe(pid), process::comm(pid));
        let Some(agent) = recognize(catalog, Process { argv: Some(&argv), exe: exe.as_deref(), comm: comm.as_deref() }) else { continue };
        let Some(args) = agent.args else { continue };
        let kind = &agent.agent.kind;
        match flags::read(agent.agent, args).run {
            Run::Conversation(Some(id)) => {
                found.insert((kind.clone(), id), pid);
            }
            // It writes to it as well, though nobody sits at it.
            Run::Headless => found.extend(ids.iter().map(|&id| ((kind.clone(), id.to_owned()), pid))),
            _ => (),
        }
    }
    found
}
