//! Whether a pane's conversation is opened again: pure, the first rule that fits decides.

use crate::model::{EndReason, Policy, Verdict};

use super::cutoff::Chosen;

/// `restore.resumeAgents`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Setting {
    /// No conversation is opened again, unless the shell's policy says so.
    Off,
    /// The user is asked.
    Ask,
    /// Without asking.
    Auto,
}

impl Setting {
    /// What the configuration's word says.
    pub fn of(word: &str) -> Self {
        match word {
            "off" => Self::Off,
            "auto" => Self::Auto,
            _ => Self::Ask,
        }
    }
}

/// What stands in a pane now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PaneNow {
    /// It does not live: it is made again.
    Absent,
    /// A shell at its prompt.
    Idle,
    /// Something else runs, or its program has ended.
    Busy,
}

/// All that is known of one pane's conversation.
#[derive(Clone, Copy, Debug)]
pub struct Case<'a> {
    /// The conversation, if one is known.
    pub chosen: Option<&'a Chosen>,
    /// Whether the catalog knows its agent.
    pub known_agent: bool,
    /// Whether its id can be one of that agent's.
    pub good_id: bool,
    /// Whether its transcript is there.
    pub transcript: bool,
    /// Who else has it, with a newer report.
    pub elsewhere: Option<&'a str>,
    /// The live process that has it open.
    pub open: Option<i32>,
    /// Whether that one's server is gone.
    pub orphan: bool,
    /// What stands in the pane.
    pub pane: PaneNow,
    /// The directory that it would go on in, if that is gone.
    pub missing_dir: Option<&'a str>,
    /// The policy of its shell.
    pub policy: Policy,
    /// Whether its shell is made again, or lives.
    pub shell_comes_back: bool,
    /// `restore.resumeAgents`.
    pub setting: Setting,
    /// Whether agents are asked for.
    pub asked: bool,
}

/// What keeps a conversation from being opened, whoever asks: a stable `snake_case` word, and words that follow the agent's name.
pub fn obstacle(case: &Case) -> Option<(&'static str, String)> {
    let is = |reason, detail: &str| Some((reason, detail.to_owned()));
    let Some(Chosen { binding, .. }) = case.chosen else {
        return is("no_binding", "its conversation is not known, comes back as a shell");
    };
    if !case.known_agent {
        return is("unknown_agent", "no such agent is in the catalog, comes back as a shell");
    }
    if !case.good_id {
        return is("no_binding", "its conversation has no id that could be one, comes back as a shell");
    }
    if !case.transcript {
        // The first prompt writes it.
        let detail = if binding.prompted { "its transcript is missing" } else { "no conversation yet, comes back as a shell" };
        return is("transcript_missing", detail);
    }
    if let Some(place) = case.elsewhere {
        return Some(("duplicate", format!("the same conversation was seen later in {place}")));
    }
    if let Some(pid) = case.open {
        let detail = if case.orphan {
            format!("still open in process {pid}, which has lost its terminal: kill {pid} ends it")
        } else {
            format!("already open in process {pid}")
        };
        return Some(("already_open", detail));
    }
    case.missing_dir.map(|dir| ("agent_directory_missing", format!("its directory is missing: {dir}")))
}

/// The verdict, its reason as a stable `snake_case` word, and words that follow the agent's name.
pub fn judge(case: &Case) -> (Verdict, &'static str, String) {
    let no = |reason, detail: &str| (Verdict::No, reason, detail.to_owned());
    let obstacle = obstacle(case);
    let ended = case.chosen.filter(|_| case.known_agent).and_then(|chosen| chosen.binding.ended.as_ref()).map(|end| end.reason);
    match (ended, obstacle) {
        (Some(EndReason::User), _) => return no("ended_by_user", "you ended it"),
        (Some(EndReason::Gone), _) => return no("ended_by_user", "it had ended while its pane lived on"),
        (_, Some((reason, detail))) => return (Verdict::No, reason, detail),
        (Some(EndReason::Died) | None, None) => (),
    }
    if case.pane == PaneNow::Busy {
        return no("pane_busy", "its pane runs something else");
    }
    match case.policy {
        Policy::Shell => return no("policy_shell", "its shell's policy is shell only"),
        Policy::Never => return no("policy_never", "its shell's policy is never"),
        Policy::Inherit if case.setting == Setting::Off => return no("resume_off", "restore.resumeAgents is off"),
        Policy::Inherit | Policy::Resume => (),
    }
    if !case.shell_comes_back {
        return no("shell_not_restored", "its shell is not restored");
    }
    if !case.asked {
        return no("not_requested", "agents were not asked for");
    }
    if case.policy == Policy::Inherit && case.setting == Setting::Ask {
        return (Verdict::Ask, "needs_confirmation", "asks first".into());
    }
    (Verdict::Resume, "resume", "is resumed".into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Binding, BindingEnd, Since};

    fn chosen(ended: Option<EndReason>, prompted: bool) -> Chosen {
        let ended = ended.map(|reason| BindingEnd { reason, at: 1 });
        Chosen { binding: Binding { prompted, ended, ..Binding::default() }, at: 1, since: Since::Newest }
    }

    /// A change to a case, and the reason and verdict that it leads to.
    type Row = (&'static str, Verdict, fn(&mut Case));

    #[test]
    fn each_verdict_has_its_cause_and_none_comes_without_it() {
        let (died, user, gone, fresh) = (
            chosen(Some(EndReason::Died), true),
            chosen(Some(EndReason::User), true),
            chosen(Some(EndReason::Gone), true),
            chosen(None, false),
        );
        let base = Case {
            chosen: Some(&died),
            known_agent: true,
            good_id: true,
            transcript: true,
            elsewhere: None,
            open: None,
            orphan: false,
            pane: PaneNow::Absent,
            missing_dir: None,
            policy: Policy::Inherit,
            shell_comes_back: true,
            setting: Setting::Auto,
            asked: true,
        };
        let of = |case: &Case| {
            let (verdict, reason, detail) = judge(case);
            assert!(!detail.is_empty());
            (verdict, reason)
        };
        assert_eq!(of(&base), (Verdict::Resume, "resume"));
        // In the order of the rules: each outranks those behind it.
        let rows: [Row; 13] = [
            ("no_binding", Verdict::No, |case| case.chosen = None),
            ("unknown_agent", Verdict::No, |case| case.known_agent = false),
            ("no_binding", Verdict::No, |case| case.good_id = false),
            ("transcript_missing", Verdict::No, |case| case.transcript = false),
            ("duplicate", Verdict::No, |case| case.elsewhere = Some("api, pane 1.0")),
            ("already_open", Verdict::No, |case| case.open = Some(7)),
            ("agent_directory_missing", Verdict::No, |case| case.missing_dir = Some("/gone")),
            ("pane_busy", Verdict::No, |case| case.pane = PaneNow::Busy),
            ("policy_shell", Verdict::No, |case| case.policy = Policy::Shell),
            ("resume_off", Verdict::No, |case| case.setting = Setting::Off),
            ("shell_not_restored", Verdict::No, |case| case.shell_comes_back = false),
            ("not_requested", Verdict::No, |case| case.asked = false),
            ("needs_confirmation", Verdict::Ask, |case| case.setting = Setting::Ask),
        ];
        for (at, (reason, verdict, change)) in rows.iter().enumerate() {
            let mut case = base;
            change(&mut case);
            assert_eq!(of(&case), (*verdict, *reason));
            for (later, _, change) in &rows[at + 1..] {
                let mut both = case;
                change(&mut both);
                let (_, first) = of(&both);
                // What sets the same field anew is no second cause.
                assert!(first == *reason || (*reason == "resume_off" && *later == "needs_confirmation"), "{reason} and {later}: {first}");
            }
        }
        for (ended, reason) in [(&user, "ended_by_user"), (&gone, "ended_by_user")] {
            let case = Case { chosen: Some(ended), transcript: false, ..base };
            assert_eq!(of(&case), (Verdict::No, reason));
            // Who asks for it all the same may have it, but for what can't be had.
            assert_eq!(obstacle(&case).unwrap().0, "transcript_missing");
            assert_eq!(obstacle(&Case { transcript: true, policy: Policy::Never, pane: PaneNow::Busy, ..case }), None);
        }
        assert_eq!(judge(&Case { chosen: Some(&fresh), transcript: false, ..base }).2, "no conversation yet, comes back as a shell");
        // The shell's policy outranks the setting, and never what was not asked for.
        let resume = Case { policy: Policy::Resume, ..base };
        for setting in [Setting::Off, Setting::Ask, Setting::Auto] {
            assert_eq!(of(&Case { setting, ..resume }), (Verdict::Resume, "resume"));
            assert_eq!(of(&Case { setting, asked: false, ..resume }), (Verdict::No, "not_requested"));
            assert_eq!(of(&Case { policy: Policy::Never, setting, ..base }), (Verdict::No, "policy_never"));
        }
        assert_eq!(of(&Case { pane: PaneNow::Idle, ..base }), (Verdict::Resume, "resume"));
    }
}
