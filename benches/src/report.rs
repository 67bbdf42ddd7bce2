//! Aggregates runs and prints the table.

use std::fmt;
use std::time::Duration;

/// The median, which ignores outliers caused by other programs.
pub(crate) fn median(mut runs: Vec<f64>) -> f64 {
    runs.sort_by(f64::total_cmp);
    runs.get(runs.len() / 2).copied().unwrap_or_default()
}

/// A measured value with its unit.
#[derive(Clone, Copy)]
pub(crate) enum Figure {
    Millis(f64),
    Micros(f64),
    PerSecond(f64),
    Megabytes(f64),
    Processes(f64),
}

impl Figure {
    /// The median of durations, in milliseconds.
    pub(crate) fn of_times(runs: Vec<Duration>) -> Self {
        let millis = runs.iter().map(|run| run.as_secs_f64() * 1e3).collect();
        Self::Millis(median(millis))
    }

    fn value(self) -> f64 {
        match self {
            Self::Millis(value)
            | Self::Micros(value)
            | Self::PerSecond(value)
            | Self::Megabytes(value)
            | Self::Processes(value) => value,
        }
    }

    fn unit(self) -> &'static str {
        match self {
            Self::Millis(_) => "ms",
            Self::Micros(_) => "µs",
            Self::PerSecond(_) => "/s",
            Self::Megabytes(_) => "MB",
            Self::Processes(_) => "processes",
        }
    }
}

impl fmt::Display for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (value, unit) = (self.value(), self.unit());
        if let Self::Processes(_) = self {
            return write!(f, "{value:.0}");
        }
        match value {
            0.0..10.0 => write!(f, "{value:.2} {unit}"),
            10.0..100.0 => write!(f, "{value:.1} {unit}"),
            _ => write!(f, "{value:.0} {unit}"),
        }
    }
}

/// The goal of a figure.
#[derive(Clone, Copy)]
pub(crate) enum Goal {
    /// At most this many times the floor.
    Times(f64),
    /// At least this share of the floor.
    Share(f64),
    /// At most this value.
    AtMost(f64),
    /// At most this much more than the floor.
    OnTop(f64),
    /// No goal.
    Informational,
}

/// Prints the head of the table.
pub(crate) fn head() {
    println!("| measurement | floor | pegboard | ratio | goal |");
    println!("|---|---|---|---|---|");
}

/// Prints one line of the table.
pub(crate) fn report(what: &str, floor: Figure, ours: Figure, goal: Goal) {
    let ratio = ours.value() / floor.value();
    let unit = ours.unit();
    let (goal, is_met) = match goal {
        Goal::Times(times) => (format!("≤ {times}"), ratio <= times),
        Goal::Share(share) => (format!("≥ {share}"), ratio >= share),
        Goal::AtMost(most) => (format!("≤ {most} {unit}"), ours.value() <= most),
        Goal::OnTop(most) => (
            format!("≤ {most} {unit} on top"),
            ours.value() - floor.value() <= most,
        ),
        Goal::Informational => (String::new(), true),
    };
    let missed = if is_met { "" } else { " (missed)" };
    println!("| {what} | {floor} | {ours} | {ratio:.2} | {goal}{missed} |");
}
