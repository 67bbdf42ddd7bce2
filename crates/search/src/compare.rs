//! Comparison of a query with all tools by meaning.

use std::sync::{LazyLock, Mutex};
use std::thread::{self, available_parallelism};

use crate::index::Index;
use crate::query::SemanticQuery;
use crate::scratch::{Scratch, fill};
use crate::weights::STEP_SHARE;

/// Minimum number of tools that justify the start-up time of a second thread.
const MIN_SPLIT_TOOLS: usize = 4_000;

/// Whether this process can run two threads in parallel.
static HAS_TWO_CPUS: LazyLock<bool> =
    LazyLock::new(|| available_parallelism().is_ok_and(|number| number.get() > 1));

/// The output buffers for some segments.
struct Part<'a> {
    /// The first of the segments.
    segment: usize,
    document: &'a mut [f32],
    short: &'a mut [f32],
    servers: &'a mut [f32],
}

impl Index {
    /// Writes the cosines of all tools and servers; NaN where there is no vector.
    pub(crate) fn compare(&self, meaning: SemanticQuery<'_>, scratch: &mut Scratch) {
        fill(&mut scratch.document, self.len(), f32::NAN);
        fill(&mut scratch.short, self.len(), f32::NAN);
        fill(&mut scratch.servers, self.segments.len(), f32::NAN);
        let all = Part {
            segment: 0,
            document: &mut scratch.document,
            short: &mut scratch.short,
            servers: &mut scratch.servers,
        };
        if self.len() < MIN_SPLIT_TOOLS || !*HAS_TWO_CPUS {
            return self.compare_part(meaning, all);
        }
        let (one, other) = self.halves(all);
        let other = Mutex::new(Some(other));
        let compare_other = || {
            let part = other.lock().ok().and_then(|mut other| other.take());
            if let Some(part) = part {
                self.compare_part(meaning, part);
            }
        };
        thread::scope(|scope| {
            let _ = thread::Builder::new().spawn_scoped(scope, compare_other);
            self.compare_part(meaning, one);
            // If the thread could not be started, this one does its part too.
            compare_other();
        });
    }

    fn compare_part(&self, meaning: SemanticQuery<'_>, part: Part<'_>) {
        let (mut document, mut short) = (part.document, part.short);
        for (segment, place) in (part.segment..).zip(part.servers) {
            let tools = self.range(segment).len();
            let (own_document, own_short);
            (own_document, document) = document.split_at_mut(tools.min(document.len()));
            (own_short, short) = short.split_at_mut(tools.min(short.len()));
            let vectors = meaning.vectors;
            vectors.similarity(segment, meaning.query, own_document, own_short);
            if let Some(server) = vectors.server_similarity(segment, meaning.query) {
                *place = server;
            }
            if !meaning.steps.is_empty() {
                add_steps(meaning, segment, own_document, own_short, place);
            }
        }
    }

    /// Splits the buffers into two parts with about the same number of tools.
    fn halves<'a>(&self, all: Part<'a>) -> (Part<'a>, Part<'a>) {
        let half = self.len() / 2;
        let starts_late = |segment: &usize| self.range(*segment).start >= half;
        let middle = (0..self.segments.len()).find(starts_late);
        let middle = middle.unwrap_or(self.segments.len());
        let tools = self.range(middle).start.min(self.len());
        let (document, other_document) = all.document.split_at_mut(tools);
        let (short, other_short) = all.short.split_at_mut(tools);
        let (servers, other_servers) = all.servers.split_at_mut(middle);
        let one = Part {
            segment: 0,
            document,
            short,
            servers,
        };
        let other = Part {
            segment: middle,
            document: other_document,
            short: other_short,
            servers: other_servers,
        };
        (one, other)
    }
}

/// Mixes the cosines of the whole request with those of the closest step.
fn add_steps(
    meaning: SemanticQuery<'_>,
    segment: usize,
    document: &mut [f32],
    short: &mut [f32],
    server: &mut f32,
) {
    let unknown = || vec![f32::NAN; document.len()];
    let (mut best_document, mut best_short) = (unknown(), unknown());
    let (mut own_document, mut own_short) = (unknown(), unknown());
    let mut best_server = f32::NAN;
    for step in meaning.steps {
        let vectors = meaning.vectors;
        vectors.similarity(segment, step, &mut own_document, &mut own_short);
        // The maximum of NaN and a number is the number.
        let keep_best = |best: &mut [f32], own: &[f32]| {
            let pairs = best.iter_mut().zip(own);
            pairs.for_each(|(best, own)| *best = best.max(*own));
        };
        keep_best(&mut best_document, &own_document);
        keep_best(&mut best_short, &own_short);
        let own_server = vectors.server_similarity(segment, step);
        best_server = best_server.max(own_server.unwrap_or(f32::NAN));
    }
    let mix = |whole: &mut f32, step: f32| *whole += STEP_SHARE * (step - *whole);
    let pairs = document.iter_mut().zip(best_document);
    pairs.for_each(|(whole, step)| mix(whole, step));
    let pairs = short.iter_mut().zip(best_short);
    pairs.for_each(|(whole, step)| mix(whole, step));
    mix(server, best_server);
}
