//! The records: whether they can be read and written, and what waits in them.

use super::Finding;
use super::facts::{Facts, Other};
use crate::display::{age, directory};
use crate::model::{EpochMs, count};
use crate::plugin::MOST_FAILURES;

pub(super) fn findings(facts: &Facts) -> Vec<Finding> {
    let mut found = vec![readable(facts), writable(facts)];
    found.extend(recording(facts));
    found.push(errors(facts));
    found.extend(aside(facts));
    found.extend(automatic(facts));
    found.extend(others(&facts.others));
    found
}

fn readable(facts: &Facts) -> Finding {
    const ID: &str = "records";
    let records = &facts.records;
    let dir = directory(&records.dir.display().to_string());
    match &records.read {
        Err((why, hint)) => Finding::problem(ID, why.clone(), "nothing is recorded or restored, so that nothing is lost", hint.clone()),
        Ok(read) if !read.writable => Finding::problem(ID, read.notices.join("; "), "nothing is recorded", "update sidecar"),
        Ok(read) if !read.notices.is_empty() => Finding::note(
            ID,
            read.notices.join("; "),
            "what that file held last may be missing",
            format!("look into {dir} before the earlier states there are gone"),
        ),
        Ok(read) => {
            Finding::ok(ID, format!("{}, {} forgotten, {} in {dir}", count(read.shells, "shell"), read.forgotten, kilobytes(records.bytes)))
        }
    }
}

fn kilobytes(bytes: u64) -> String {
    format!("{} KB", bytes.div_ceil(1024))
}

fn writable(facts: &Facts) -> Finding {
    const ID: &str = "records_writable";
    match &facts.records.unwritable {
        None => Finding::ok(ID, "the records can be written"),
        Some(why) => Finding::problem(
            ID,
            format!("the records can't be written: {why}"),
            "nothing is recorded",
            "make room, or give the folder back to your user",
        ),
    }
}

/// Whether what happens is written down.
fn recording(facts: &Facts) -> Option<Finding> {
    const ID: &str = "recording";
    let live = facts.live.as_ref()?;
    live.plugin.as_ref().filter(|plugin| plugin.loaded)?;
    let records = &facts.records;
    if records.unwritable.is_some() {
        return None;
    }
    if let Some(trouble) = &records.trouble {
        return Some(Finding::problem(ID, format!("the last look failed: {trouble}"), "nothing is recorded", "mend what it names"));
    }
    let Some(last) = records.last_look else {
        return Some(Finding::note(
            ID,
            "no look has been recorded yet",
            "the first one follows the load within seconds",
            "sidecar hook tick",
        ));
    };
    let late = std::time::Duration::from_secs_f64(live.interval * 3.0 + 60.0).as_millis();
    let since = facts.now.saturating_sub(last);
    Some(if u128::from(since) > late {
        Finding::problem(
            ID,
            format!("the last look was {} ago", age(last, facts.now)),
            "what changed since is not recorded",
            "sidecar hook tick",
        )
    } else {
        Finding::ok(ID, format!("the last look was {} ago", seconds(since)))
    })
}

fn seconds(ms: EpochMs) -> String {
    if ms < 60_000 { format!("{} s", ms / 1000) } else { age(0, ms) }
}

fn errors(facts: &Facts) -> Finding {
    const ID: &str = "log";
    let errors = &facts.records.errors;
    if errors.is_empty() {
        return Finding::ok(ID, "no error in the log of the last day");
    }
    let said = errors.iter().map(|(at, what)| format!("{} ago: {what}", age(*at, facts.now))).collect::<Vec<_>>().join("; ");
    let log = directory(&facts.records.dir.join("log").display().to_string());
    Finding::note(ID, format!("the log's last errors: {said}"), "what a hook could not do stands only there", format!("less {log}"))
}

fn aside(facts: &Facts) -> Option<Finding> {
    let newest = facts.records.aside.last()?;
    let newest = directory(&newest.display().to_string());
    Some(Finding::note(
        "records_aside",
        format!("{} of the records could not be read and was moved aside: {newest}", count(facts.records.aside.len(), "file")),
        "the newest good state has taken its place",
        "look into it, then remove it",
    ))
}

fn automatic(facts: &Facts) -> Option<Finding> {
    let failed = facts.records.failed_automatics;
    (failed >= MOST_FAILURES).then(|| {
        Finding::problem(
            "automatic_restore",
            format!("{failed} automatic restores in a row have failed"),
            "there is none any more until a restore has succeeded",
            "sidecar session restore",
        )
    })
}

fn others(others: &[Other]) -> Vec<Finding> {
    let waiting = others.iter().filter(|other| other.shells > 0 && !other.lives);
    let told = waiting.map(|other| {
        Finding::note(
            "other_servers",
            format!("{} of another server, '{}', which is gone", count(other.shells, "shell"), other.name),
            "they wait there until that server is started again",
            match &other.options {
                Some(options) => format!("sidecar {options} session restore"),
                None => "sidecar session status --all-servers".to_owned(),
            },
        )
    });
    told.collect()
}
