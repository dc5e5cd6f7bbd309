//! Which conversation a pane had: what was reported of it up to a time. Pure.
//!
//! A restore that went wrong reports as well: an agent that was started without its conversation tells of a new one. So as long as
//! no conversation that a pane had before was resumed in this life of the server, only what was reported before its start counts.

use crate::model::{Binding, EpochMs, Generation, Report, Since};

/// Up to when reports count.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cutoff<'a> {
    /// The life of the server that answers.
    pub present: Option<&'a Generation>,
    /// The time that the user asked for.
    pub as_of: Option<EpochMs>,
}

/// A pane's conversation.
#[derive(Clone, Debug, PartialEq)]
pub struct Chosen {
    /// It, as it was last reported within the cutoff.
    pub binding: Binding,
    /// When that was.
    pub at: EpochMs,
    /// What set the cutoff; [`Since::Newest`] where the newest report of all tells of the same conversation.
    pub since: Since,
}

/// Chooses among a pane's reports: the newest life of the server first, and in it the newest report, of a conversation that
/// `has_content` knows to hold something; where none does, the newest report.
pub fn choose(reports: &[Report], cutoff: Cutoff, has_content: &dyn Fn(&Binding) -> bool) -> Option<Chosen> {
    let mut all: Vec<&Report> = reports.iter().collect();
    all.sort_by_key(|report| report.at);
    let newest = pick(&all, EpochMs::MAX, has_content);
    let limit = cutoff.as_of.unwrap_or(EpochMs::MAX);
    all.retain(|report| report.at <= limit);
    let asked = pick(&all, limit, has_content);
    let before = cutoff.present.and_then(|present| {
        let limit = limit.min(end_of_start(present));
        let earlier: Vec<&Report> =
            all.iter().copied().filter(|report| report.generation.as_ref() != Some(present) && report.at <= limit).collect();
        let chosen = pick(&earlier, limit, has_content)?;
        // Whichever of them: the user may have asked for an older one.
        let resumed = all
            .iter()
            .filter(|report| report.generation.as_ref() == Some(present))
            .filter_map(|report| report.binding.as_ref())
            .any(|here| earlier.iter().any(|report| names(report, here)));
        (!resumed).then_some(chosen)
    });
    let ((binding, at), since) = match (before, asked) {
        (Some(before), _) => (before, Since::BeforeThisServer),
        (None, asked) => (asked?, Since::AsOf),
    };
    let is_newest = newest.is_some_and(|(newest, _)| same(&newest, &binding));
    Some(Chosen { binding, at, since: if is_newest { Since::Newest } else { since } })
}

/// tmux tells its start in whole seconds; what an earlier life reported within that second came before it.
fn end_of_start(generation: &Generation) -> EpochMs {
    generation.start_time.saturating_mul(1000).saturating_add(999)
}

fn same(one: &Binding, other: &Binding) -> bool {
    one.kind == other.kind && one.id == other.id
}

fn names(report: &Report, binding: &Binding) -> bool {
    report.binding.as_ref().is_some_and(|own| same(own, binding))
}

/// Among reports in order of time, none of which came after `limit`.
fn pick(reports: &[&Report], limit: EpochMs, has_content: &dyn Fn(&Binding) -> bool) -> Option<(Binding, EpochMs)> {
    let mut lives: Vec<Option<&Generation>> = Vec::new();
    for report in reports.iter().rev() {
        if !lives.contains(&report.generation.as_ref()) {
            lives.push(report.generation.as_ref());
        }
    }
    let mut candidates: Vec<(&Binding, EpochMs)> = Vec::new();
    for life in lives {
        let of_life = reports.iter().rev().filter(|report| report.generation.as_ref() == life);
        // What was taken off the pane counts no more.
        candidates.extend(of_life.map_while(|report| Some((report.binding.as_ref()?, report.at))));
    }
    let full = |wanted: &Binding| candidates.iter().any(|(known, _)| same(known, wanted) && has_content(known));
    let (binding, at) = candidates.iter().find(|(binding, _)| full(binding)).or(candidates.first())?;
    let of_it = || candidates.iter().map(|(known, _)| *known).filter(|known| same(known, binding));
    // An end may have been written without a report of its own.
    let ended = of_it().filter_map(|known| known.ended.clone()).filter(|end| end.at <= limit && end.at >= *at).max_by_key(|end| end.at);
    let own = binding.ended.clone().filter(|end| end.at <= limit);
    let prompted = of_it().any(|known| known.prompted);
    Some((Binding { ended: ended.or(own), prompted, ..(*binding).clone() }, *at))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::model::{BindingEnd, EndReason};

    fn life(number: i32) -> Generation {
        // Each begins 100 s after the last.
        let start_time = u64::try_from(number).unwrap() * 100;
        Generation { boot: "b".into(), pid: number, start_time, process_start: None }
    }

    /// In a life, so many ms after its start.
    fn report(generation: i32, after: u64, id: &str, prompted: bool) -> Report {
        let binding = Binding { kind: "claude".into(), id: id.into(), prompted, ..Binding::default() };
        let at = life(generation).start_time * 1000 + after;
        Report { at, generation: Some(life(generation)), pane: "pn-1".into(), binding: Some(binding) }
    }

    fn chosen(reports: &[Report], present: Option<i32>, as_of: Option<u64>) -> Option<(String, Since)> {
        let present = present.map(life);
        let chosen = choose(reports, Cutoff { present: present.as_ref(), as_of }, &|binding| binding.prompted)?;
        Some((chosen.binding.id, chosen.since))
    }

    #[test]
    fn what_a_broken_restore_wrote_is_stepped_over() {
        let reports = [
            report(1, 1000, "a", true),
            // The restore of life 2 started an agent of its own, and so did that of life 3.
            report(2, 1000, "b", false),
            report(3, 1000, "c", false),
        ];
        let is = |id: &str, since| Some((id.to_owned(), since));
        assert_eq!(chosen(&reports, Some(2), None), is("a", Since::Newest));
        assert_eq!(chosen(&reports, Some(3), None), is("a", Since::Newest));
        assert_eq!(chosen(&reports, None, None), is("a", Since::Newest), "what holds nothing gives way");
        // One that opened another conversation is stepped over as long as its server lives, and after it by a time.
        let wrong = [report(1, 1000, "a", true), report(2, 1000, "z", true)];
        assert_eq!(chosen(&wrong, Some(2), None), is("a", Since::BeforeThisServer));
        assert_eq!(chosen(&wrong, None, None), is("z", Since::Newest));
        assert_eq!(chosen(&wrong, None, Some(150_000)), is("a", Since::AsOf));
        assert_eq!(chosen(&wrong, Some(2), Some(50_000)), None);
    }

    #[test]
    fn once_a_resume_was_seen_here_the_newest_report_counts() {
        let mut reports = vec![report(1, 1000, "a", true), report(2, 1000, "a", false)];
        assert_eq!(chosen(&reports, Some(2), None), Some(("a".into(), Since::Newest)));
        reports.push(report(2, 2000, "b", true));
        assert_eq!(chosen(&reports, Some(2), None), Some(("b".into(), Since::Newest)));
        // As the user asked for an older one, it is the one that is open.
        let older = [report(1, 1000, "a", true), report(1, 2000, "b", true), report(2, 1000, "a", true)];
        assert_eq!(chosen(&older, Some(2), None), Some(("a".into(), Since::Newest)));
        // A pane that was born here has nothing from before.
        assert_eq!(chosen(&[report(2, 2000, "b", true)], Some(2), None), Some(("b".into(), Since::Newest)));
    }

    #[test]
    fn a_report_within_the_second_of_the_start_is_from_before_it() {
        let late = Report { generation: Some(life(1)), ..report(2, 700, "a", true) };
        assert_eq!(chosen(&[late], Some(2), None), Some(("a".into(), Since::Newest)));
    }

    #[test]
    fn an_end_counts_if_it_came_within_the_cutoff_and_nothing_after_it() {
        let ended = |mut report: Report, at: u64| {
            report.binding.as_mut().unwrap().ended = Some(BindingEnd { reason: EndReason::User, at });
            report
        };
        let is_ended = |reports: &[Report], as_of| {
            let chosen = choose(reports, Cutoff { present: None, as_of }, &|binding| binding.prompted).unwrap();
            chosen.binding.ended.is_some()
        };
        let one = [report(1, 1000, "a", true), ended(report(1, 1000, "a", true), 120_000)];
        assert!(is_ended(&one, None));
        assert!(!is_ended(&one, Some(110_000)), "it ended later");
        assert!(!is_ended(&[one[1].clone(), report(1, 30_000, "a", true)], None), "it was opened again");
        let taken_off = Report { binding: None, ..report(1, 2000, "a", true) };
        assert_eq!(chosen(&[report(1, 1000, "a", true), taken_off], None, None), None);
    }

    proptest! {
        #[test]
        fn the_choice_was_reported_before_the_cutoff_and_holds_something_if_any_does(
            mut parts in proptest::collection::vec((1..5_i32, 0..99_999_u64, 0..6_u8, any::<bool>()), 0..30),
            present in proptest::option::of(1..6_i32),
            as_of in proptest::option::of(0..600_000_u64),
        ) {
            // A server that answers is the newest life.
            parts.retain(|(number, ..)| present.is_none_or(|present| *number <= present));
            let reports: Vec<Report> = parts.iter().map(|(number, after, id, prompted)| report(*number, *after, &id.to_string(), *prompted)).collect();
            let own = present.map(life);
            let cutoff = Cutoff { present: own.as_ref(), as_of };
            let chosen = choose(&reports, cutoff, &|binding| binding.prompted);
            let within = |report: &&Report| as_of.is_none_or(|as_of| report.at <= as_of);
            let here = |report: &Report| report.generation == own && own.is_some();
            let before: Vec<&Report> = reports.iter().filter(within).filter(|report| !here(report)).collect();
            let all: Vec<&Report> = reports.iter().filter(within).collect();
            let Some(chosen) = chosen else {
                prop_assert!(all.is_empty());
                return Ok(());
            };
            let id_of = |report: &Report| report.binding.as_ref().unwrap().id.clone();
            let seen_here = |id: &str| all.iter().any(|report| here(report) && id_of(report) == id);
            let from_before = before.iter().any(|report| id_of(report) == chosen.binding.id);
            // Either from before, or something from before was seen running here, or there was nothing before.
            prop_assert!(from_before || before.is_empty() || before.iter().any(|report| seen_here(&id_of(report))));
            prop_assert!(all.iter().any(|report| report.at == chosen.at && id_of(report) == chosen.binding.id));
            let prompted = |list: &[&Report]| list.iter().any(|report| report.binding.as_ref().unwrap().prompted);
            let none_prompted = if before.is_empty() { !prompted(&all) } else { !prompted(&before) };
            prop_assert!(chosen.binding.prompted || none_prompted);
        }
    }
}
