//! The vectors of a catalog, kept in a file between runs on request.

use std::error::Error;
use std::path::Path;
use std::slice;

use pegboard_encoder::{
    DIMENSIONS, Encoder, PackedVector, TextKind, Vector, document_text, score_each, score_pairs,
    server_text, short_text,
};
use pegboard_search::Vectors;

use super::corpus::{Corpus, CorpusTool};
use super::vector_file::VectorFile;

/// The encoder, and the vectors that it computed before.
pub struct CachedEncoder {
    encoder: Encoder,
    file: VectorFile,
}

impl CachedEncoder {
    /// Loads the encoder and, if a file is given, the vectors of earlier runs.
    ///
    /// # Errors
    /// If the encoder is damaged or the file cannot be read.
    pub fn new(file: Option<&Path>) -> Result<Self, Box<dyn Error>> {
        Ok(Self {
            encoder: Encoder::embedded()?,
            file: VectorFile::open(file, Encoder::fingerprint())?,
        })
    }

    /// The vector of a query.
    pub fn query(&self, text: &str) -> Vector {
        self.encode(text, TextKind::Query)
    }

    fn encode(&self, text: &str, kind: TextKind) -> Vector {
        let limit = match kind {
            TextKind::Short => "short",
            TextKind::Query | TextKind::Document => "long",
        };
        let compute = || self.encoder.encode(text, kind);
        self.file.get_or_compute(limit, text, compute)
    }

    fn packed(&self, text: &str, kind: TextKind) -> PackedVector {
        PackedVector::from(&self.encode(text, kind))
    }
}

/// The vectors of the tools and servers of a catalog.
pub(super) struct CorpusVectors {
    segments: Vec<SegmentVectors>,
}

struct SegmentVectors {
    /// The document vector and the short vector of each tool.
    tools: Vec<[PackedVector; 2]>,
    /// `None` for tools without a server.
    server: Option<PackedVector>,
}

impl CorpusVectors {
    /// Encodes all tools on all CPUs.
    pub(super) fn new(corpus: &Corpus, encoder: &CachedEncoder) -> Self {
        let encoded = encode_tools(encoder, &corpus.tools);
        let segments = corpus.segments.iter().map(|positions| {
            let tools = positions.iter().filter_map(|at| encoded.get(*at).cloned());
            let tools: Vec<_> = tools.collect();
            let server = corpus.server(positions);
            let server = server.and_then(|(name, description)| match description.trim() {
                "" => mean(&tools),
                text => Some(encoder.packed(&server_text(name, text), TextKind::Document)),
            });
            SegmentVectors { tools, server }
        });
        let segments = segments.collect();
        Self { segments }
    }
}

fn encode_tools(encoder: &CachedEncoder, tools: &[CorpusTool]) -> Vec<[PackedVector; 2]> {
    let threads = std::thread::available_parallelism().map_or(1, |number| number.get());
    let each = tools.len().div_ceil(threads).max(1);
    std::thread::scope(|scope| {
        let encode_chunk = |tools: &[CorpusTool]| {
            let pairs = tools.iter().map(|tool| {
                let document = document_text(&tool.name, tool.description());
                let short = short_text(tool.server(), &tool.name);
                [
                    encoder.packed(&document, TextKind::Document),
                    encoder.packed(&short, TextKind::Short),
                ]
            });
            pairs.collect::<Vec<_>>()
        };
        let chunks = tools.chunks(each);
        let threads: Vec<_> = chunks
            .map(|tools| scope.spawn(move || encode_chunk(tools)))
            .collect();
        let encoded = threads.into_iter().map(|thread| thread.join());
        encoded.flat_map(Result::unwrap_or_default).collect()
    })
}

/// The mean of the document vectors, as a direction. It represents a server without a description.
fn mean(tools: &[[PackedVector; 2]]) -> Option<PackedVector> {
    let mut sum = vec![0.0; DIMENSIONS];
    for [document, _] in tools {
        let pairs = sum.iter_mut().zip(document.numbers());
        pairs.for_each(|(sum, number)| *sum += number);
    }
    let mean = Vector::from_slice(&sum).filter(|_| !tools.is_empty())?;
    Some(PackedVector::from(&mean))
}

impl Vectors for CorpusVectors {
    fn similarity(&self, segment: usize, query: &[f32], document: &mut [f32], short: &mut [f32]) {
        if let Some(vectors) = self.segments.get(segment) {
            score_pairs(&vectors.tools, query, document, short);
        }
    }

    fn server_similarity(&self, segment: usize, query: &[f32]) -> Option<f32> {
        let server = self.segments.get(segment)?.server.as_ref()?;
        let mut cosine = f32::NAN;
        score_each(slice::from_ref(server), query, slice::from_mut(&mut cosine));
        (!cosine.is_nan()).then_some(cosine)
    }
}
