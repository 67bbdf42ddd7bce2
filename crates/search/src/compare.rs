//! Comparison of a query with all tools by meaning.

use std::sync::{LazyLock, Mutex};
use std::thread::{self, available_parallelism};

use crate::index::Index;
use crate::query::SemanticQuery;
use crate::scratch::{Scratch, fill};

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
