//! `sidecar --host H COMMAND`.

use std::io::IsTerminal;
use std::process::ExitCode;
use std::time::Duration;

use serde_json::{Value, json};

use super::args::Cli;
use super::hosts_table::Table;
use super::output::{error_json, pad, print, print_error, print_json, shown, widest};
use crate::error::{Error, Exit, Result};
use crate::hosts::{Answer, attached, is_host, remote_line, remote_words, together};
use crate::record::now;

pub(super) fn run(cli: &Cli) -> Result<ExitCode> {
    let usage = |message: String| Error::failed("usage", message).exit(Exit::Usage);
    if let Some(what) = cli.command.is_bound_to_this_host() {
        return Err(usage(format!("--host can't be used with {what}: it is for the tmux that calls it")));
    }
    if let Some(bad) = cli.hosts.iter().find(|host| !is_host(host)) {
        return Err(
            usage(format!("--host '{bad}': no name of a host")).hint("write it as for ssh: HOST, USER@HOST, or a name of ~/.ssh/config")
        );
    }
    let mut hosts: Vec<String> = Vec::new();
    for host in &cli.hosts {
        if !hosts.contains(host) {
            hosts.push(host.clone());
        }
    }
    let json = cli.command.wants_json();
    let mut words = remote_words(std::env::args_os().skip(1));
    if let [host] = hosts.as_slice() {
        let terminal = !json && std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
        let code = attached(host, &remote_line(&words), terminal)?;
        // Whatever went wrong has been said, but for what ssh and shells leave to their codes.
        return match exit_of(code) {
            Some(code) => Ok(ExitCode::from(code)),
            None => Err(failure(host, code, false, "")),
        };
    }
    // The columns of one table can be made only of documents.
    let table = Table::of(&cli.command);
    words.extend(table.map(|_| "--json".into()));
    let answers = together(&hosts, &remote_line(&words), Duration::from_secs(cli.host_timeout))?;
    if let Some(table) = table {
        print_table(table, &answers);
    } else if json {
        let rows: Vec<Value> = answers.iter().map(row_json).collect();
        print_json(&json!({ "schemaVersion": 1, "hosts": rows }));
    } else {
        print(&text(&answers));
        for answer in &answers {
            tell_errors(answer);
        }
    }
    let code = if json || table.is_some() { code_with_document } else { code_of };
    Ok(ExitCode::from(answers.iter().map(code).fold(0, worse)))
}

/// Prints the table, and what is to be said of each host besides.
fn print_table(table: Table, answers: &[Answer]) {
    let mut documents = Vec::new();
    for answer in answers {
        match document(answer) {
            Some(document) => documents.push((answer.host.as_str(), document)),
            None if exit_of(answer.code) == Some(0) => print_error(&no_document(answer), false),
            None => tell_errors(answer),
        }
    }
    print(&table.text(&documents, now()));
    for (host, document) in &documents {
        let notices = document["notices"].as_array().into_iter().flatten().chain([&document["server"]["detail"]]);
        for notice in notices.filter_map(Value::as_str) {
            eprintln!("{host}: {}", shown(notice));
        }
    }
}

/// The exit code of a command of ours; `None` for those of ssh (255) and of shells.
fn exit_of(code: Option<i32>) -> Option<u8> {
    code.and_then(|code| u8::try_from(code).ok()).filter(|code| matches!(code, 0 | 1 | 2 | 3 | 5))
}

fn code_of(answer: &Answer) -> u8 {
    exit_of(answer.code).unwrap_or(Exit::Failed as u8)
}

/// Of two exit codes the worse: 1 outranks all, 0 none.
fn worse(one: u8, other: u8) -> u8 {
    if one == 0 || other == 0 { one.max(other) } else { one.min(other) }
}

/// What kept a host from running the command.
fn failure(host: &str, code: Option<i32>, late: bool, said: &str) -> Error {
    let said = said.lines().map(str::trim).rfind(|line| !line.is_empty()).map(|line| format!(": {line}")).unwrap_or_default();
    match code {
        None if late => Error::failed("timeout", format!("{host} did not answer in time{said}"))
            .hint("what was begun there may go on; --host-timeout SECONDS waits longer"),
        Some(126 | 127) => Error::failed("no_helper", format!("sidecar can't be run on {host}{said}"))
            .hint("install the plugin there, and have `sidecar plugin link` put it into ~/.local/bin"),
        Some(code) => Error::failed("ssh", format!("ssh to {host} ended with {code}{said}")),
        None => Error::failed("ssh", format!("ssh to {host} was ended by a signal{said}")),
    }
}

/// The document of a command that ran: a line of its own, since start-up files there may print as well.
fn document(answer: &Answer) -> Option<Value> {
    exit_of(answer.code)?;
    let lines = answer.out.split(|&byte| byte == b'\n').rev();
    lines.filter_map(|line| serde_json::from_slice(line).ok()).find(Value::is_object)
}

/// The exit code where a document is wanted: without one nothing went well.
fn code_with_document(answer: &Answer) -> u8 {
    if document(answer).is_some() { code_of(answer) } else { code_of(answer).max(Exit::Failed as u8) }
}

fn row_json(answer: &Answer) -> Value {
    let exit = code_with_document(answer);
    match document(answer) {
        Some(document) => json!({ "host": answer.host, "exit": exit, "document": document }),
        None => json!({ "host": answer.host, "exit": exit, "error": error_of(answer) }),
    }
}

fn no_document(answer: &Answer) -> Error {
    Error::failed("no_document", format!("{} answered with no document: {}", answer.host, answer.err.trim()))
}

/// The command's own error, else what kept it from running.
fn error_of(answer: &Answer) -> Value {
    answer.err.lines().rev().find_map(error_in).unwrap_or_else(|| {
        let error = match exit_of(answer.code) {
            Some(_) => no_document(answer),
            None => failure(&answer.host, answer.code, answer.late, &answer.err),
        };
        error_json(&error)
    })
}

/// The error that a line tells, where that is a document.
fn error_in(line: &str) -> Option<Value> {
    Some(serde_json::from_str::<Value>(line).ok()?.get("error")?.clone())
}

/// One table: each line behind its host.
fn text(answers: &[Answer]) -> String {
    let width = widest(answers.iter().map(|answer| answer.host.as_str()));
    let mut out = String::new();
    for answer in answers {
        let said = String::from_utf8_lossy(&answer.out);
        for line in said.lines().filter(|line| !line.trim().is_empty()) {
            out.push_str(&format!("{}   {}\n", pad(&answer.host, width), shown(line)));
        }
    }
    out
}

fn tell_errors(answer: &Answer) {
    if exit_of(answer.code).is_none() {
        return print_error(&failure(&answer.host, answer.code, answer.late, &answer.err), false);
    }
    for line in answer.err.lines().filter(|line| !line.trim().is_empty()) {
        // Who was asked for a document tells errors so, too.
        let Some(error) = error_in(line) else {
            eprintln!("{}: {}", answer.host, shown(line));
            continue;
        };
        for (word, key) in [("error", "message"), ("hint", "hint")] {
            if let Some(said) = error[key].as_str() {
                eprintln!("{}: {word}: {}", answer.host, shown(said));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_exit_code_is_the_first_of_1_2_3_5() {
        for (codes, worst) in [(&[0, 0][..], 0), (&[0, 5], 5), (&[5, 3, 0], 3), (&[2, 5], 2), (&[5, 1, 2], 1), (&[], 0)] {
            assert_eq!(codes.iter().copied().fold(0, worse), worst, "{codes:?}");
        }
        for (code, exit) in [(Some(0), Some(0)), (Some(5), Some(5)), (Some(255), None), (Some(127), None), (Some(4), None), (None, None)] {
            assert_eq!(exit_of(code), exit);
        }
    }
}
