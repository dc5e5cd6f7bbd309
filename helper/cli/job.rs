//! Printing for jobs of the user's service manager.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::output::{directory, for_this_server, print, print_json, shown};
use crate::units::{JobChange, JobState, JobStatus};

fn paths(paths: &[PathBuf]) -> Vec<String> {
    paths.iter().map(|path| path.display().to_string()).collect()
}

/// Prints what was done. `note` is what is to be said besides, and `extra` what goes into the document.
pub(super) fn answer(done: &JobChange, said: &str, note: Option<&str>, extra: Value, json: bool) {
    let (why, hint) = done.pending.clone().unwrap_or_default();
    let details: Vec<&str> = [said, &why].into_iter().chain(note).filter(|part| !part.is_empty()).collect();
    if json {
        print_json(&with(
            json!({
                "schemaVersion": 1,
                "changed": paths(&done.changed),
                "dropIns": paths(&done.drop_ins),
                "followed": done.pending.is_none(),
                "detail": details.join("; "),
                "hint": hint,
            }),
            extra,
        ));
        return;
    }
    let mut out = format!("{}\n", shown(said));
    out.extend(done.changed.iter().map(|path| format!("  {}\n", directory(&path.display().to_string()))));
    out.extend(done.drop_ins.iter().map(|path| format!("  yours, and left as it is: {}\n", directory(&path.display().to_string()))));
    out.extend(details[1..].iter().map(|part| format!("{}\n", shown(part))));
    if !hint.is_empty() {
        out.push_str(&format!("  to do: {}\n", shown(&hint)));
    }
    print(&out);
}

/// Prints how a job stands; `words` follow its state.
pub(super) fn status(status: &JobStatus, words: &str, extra: Value, json: bool) {
    if json {
        print_json(&with(
            json!({
                "schemaVersion": 1,
                "state": status.state.word(),
                "running": status.runs,
                "files": paths(&status.files),
                "dropIns": paths(&status.drop_ins),
                "detail": status.detail,
                "hint": status.hint,
            }),
            extra,
        ));
        return;
    }
    let runs = match status.runs {
        _ if status.state == JobState::NotInstalled => "",
        Some(true) => ", and runs",
        Some(false) => ", and does not run",
        None => "",
    };
    let mut out = format!("{}{words}{runs}\n", status.state.word().replace('_', " "));
    out.extend(status.files.iter().chain(&status.drop_ins).map(|path| format!("  {}\n", directory(&path.display().to_string()))));
    if !status.detail.is_empty() {
        out.push_str(&format!("  {}\n", shown(&status.detail)));
    }
    if !status.hint.is_empty() {
        out.push_str(&format!("  to do: {}\n", shown(&for_this_server(&status.hint))));
    }
    print(&out);
}

fn with(mut document: Value, extra: Value) -> Value {
    if let (Value::Object(own), Value::Object(extra)) = (&mut document, extra) {
        own.extend(extra);
    }
    document
}
