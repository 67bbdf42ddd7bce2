//! How often the first hit is right, by its confidence.

use std::io::{self, Write};

use pegboard_search::Ranking;

/// Number of ranges of confidence.
const BINS: usize = 10;

/// The first hits of all queries by confidence.
#[derive(Default)]
pub(crate) struct Reliability {
    bins: [Bin; BINS],
}

#[derive(Clone, Copy, Default)]
struct Bin {
    queries: f64,
    right: f64,
    confidence: f64,
}

impl Reliability {
    pub(crate) fn add(&mut self, ranking: &Ranking, is_right: bool) {
        let Some(first) = ranking.hits.first() else {
            return;
        };
        let confidence = f64::from(first.confidence);
        let bin = (confidence * BINS as f64) as usize;
        if let Some(bin) = self.bins.get_mut(bin.min(BINS - 1)) {
            bin.queries += 1.0;
            bin.right += f64::from(u8::from(is_right));
            bin.confidence += confidence;
        }
    }

    pub(crate) fn print(&self) -> io::Result<()> {
        let mut out = io::stdout().lock();
        writeln!(
            out,
            "\n| confidence | queries | mean confidence | first hit is right |"
        )?;
        writeln!(out, "|---|---:|---:|---:|")?;
        for (at, bin) in self
            .bins
            .iter()
            .enumerate()
            .filter(|(_, bin)| bin.queries > 0.0)
        {
            let (low, high) = (at as f64 / BINS as f64, (at + 1) as f64 / BINS as f64);
            let (mean, right) = (bin.confidence / bin.queries, bin.right / bin.queries);
            writeln!(
                out,
                "| {low:.1} to {high:.1} | {} | {mean:.2} | {right:.2} |",
                bin.queries
            )?;
        }
        Ok(())
    }
}
