//! The jobs of the user's service manager: the snapshots' timer and the boot unit.

use super::Finding;
use super::facts::{Facts, Job};
use crate::units::JobState;

pub(super) fn findings(facts: &Facts) -> Vec<Finding> {
    facts.jobs.iter().filter_map(finding).collect()
}

/// Nothing is said of one that nobody installed.
fn finding(job: &Job) -> Option<Finding> {
    let Job { id, title, status, must_run, .. } = job;
    let fix = || status.hint.clone();
    let what = |what: &str| format!("{title}: {what}");
    Some(match status.state {
        JobState::NotInstalled => return None,
        JobState::Edited => Finding::note(*id, what(&status.detail), "what an update of sidecar would change there stays as it is", fix()),
        JobState::Outdated => {
            Finding::note(*id, what(&status.detail), "it may run another sidecar than this one, or one that is gone", fix())
        }
        JobState::Disabled => Finding::problem(*id, what(&status.detail), "it never runs", fix()),
        JobState::Installed if *must_run && status.runs == Some(false) => {
            Finding::problem(*id, what("it does not run"), "nothing is done at its times", fix())
        }
        JobState::Installed if job.lingers == Some(false) => Finding::note(
            *id,
            what("lingering is off, so it starts at your first login, and not at boot"),
            "until then nothing is restored, and what it started ends after your last logout",
            "loginctl enable-linger",
        ),
        JobState::Installed => Finding::ok(*id, what("it is installed")),
    })
}
