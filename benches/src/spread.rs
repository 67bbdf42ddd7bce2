//! Several runs as one figure.

use std::time::Duration;

/// The median of some durations; it shrugs off the odd run that another program disturbed.
pub(crate) fn median(mut runs: Vec<Duration>) -> Duration {
    runs.sort();
    runs.get(runs.len() / 2).copied().unwrap_or_default()
}

/// Prints one line of the table.
pub(crate) fn report(what: &str, floor: Duration, ours: Duration, goal: f64) {
    let ratio = ours.as_secs_f64() / floor.as_secs_f64();
    println!(
        "| {what} | {:.2} ms | {:.2} ms | {ratio:.2} | ≤ {goal} |",
        ms(floor),
        ms(ours)
    );
}

fn ms(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1000.0
}
