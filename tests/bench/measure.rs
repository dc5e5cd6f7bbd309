//! Times of whole processes, in turns, and how they are told.

use std::process::Command;
use std::time::{Duration, Instant};

/// One run of a whole process, its output read through pipes.
pub(super) fn time(command: &mut Command) -> Duration {
    let began = Instant::now();
    let output = command.output().unwrap();
    let took = began.elapsed();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    took
}

/// The medians of both, measured in turns, so that what else the machine does meets both alike.
pub(super) fn alternate(
    rounds: usize,
    mut baseline: impl FnMut(usize) -> Duration,
    mut product: impl FnMut(usize) -> Duration,
) -> (Duration, Duration) {
    let (mut alone, mut ours) = (Vec::new(), Vec::new());
    for round in 0..rounds {
        alone.push(baseline(round));
        ours.push(product(round));
    }
    (median(alone), median(ours))
}

pub(super) fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

pub(super) fn report(what: &str, panes: usize, (alone, ours): (Duration, Duration), aim: Option<f64>) {
    let ratio = ours.as_secs_f64() / alone.as_secs_f64();
    let aim = match aim {
        None => String::new(),
        Some(aim) if ratio <= aim => format!("≤ {aim:.1} ×"),
        Some(aim) => format!("≤ {aim:.1} ×   OVER"),
    };
    println!("{what:<44} {panes:>6} {:>13.2} {:>12.2} {:>8}   {aim}", millis(alone), millis(ours), format!("{ratio:.2} ×"));
}

/// As [`report`], where what it costs beside tmux's own time counts, at most `aim` ms.
pub(super) fn report_beside(what: &str, panes: usize, (alone, ours): (Duration, Duration), aim: f64) {
    let beside = millis(ours) - millis(alone);
    let verdict = if beside <= aim { "" } else { "   OVER" };
    let beside = format!("+{beside:.1} ms");
    println!("{what:<44} {panes:>6} {:>13.2} {:>12.2} {beside:>8}   ≤ {aim} ms beside it{verdict}", millis(alone), millis(ours));
}
