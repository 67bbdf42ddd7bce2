//! A catalog in a file: its tools, grouped by server, and their vectors.

use std::collections::HashMap;
use std::error::Error;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;
use std::slice;
use std::sync::Arc;

use pegboard_encoder::{
    DIMENSIONS, Encoder, PackedVector, TextKind, Vector, document_text, score_each, score_pairs,
    server_text, short_text,
};
use pegboard_model::UntrustedText;
use pegboard_search::{
    Index, Segment, SegmentBuilder, ServerText, ToolPosition, ToolText, Vectors, build_segments,
};
use serde::Deserialize;
use serde_json::value::RawValue;

#[derive(Deserialize)]
struct CorpusTool {
    id: String,
    name: String,
    #[serde(default)]
    server: Option<String>,
    #[serde(default)]
    description: Option<String>,
    #[serde(default)]
    server_description: Option<String>,
    #[serde(default)]
    input_schema: Option<Box<RawValue>>,
}

impl CorpusTool {
    fn server(&self) -> Option<&str> {
        self.server.as_deref().filter(|name| !name.is_empty())
    }

    fn description(&self) -> &str {
        self.description.as_deref().unwrap_or_default()
    }
}

/// The tools of a catalog file.
pub(crate) struct Corpus {
    tools: Vec<CorpusTool>,
    /// The tools of each server, as positions in `tools`.
    segments: Vec<Vec<usize>>,
}

impl Corpus {
    pub(crate) fn read(path: &Path) -> Result<Self, Box<dyn Error>> {
        let path_text = path.display().to_string();
        let shown = UntrustedText::new(&path_text);
        let file = File::open(path)
            .map_err(|error| format!("cannot open the catalog `{shown}`: {error}"))?;
        let mut tools: Vec<CorpusTool> = Vec::new();
        for (number, line) in BufReader::new(file).lines().enumerate() {
            let line = line?;
            if line.trim().is_empty() {
                continue;
            }
            tools.push(serde_json::from_str(&line).map_err(|error| {
                format!("line {} of `{shown}` is not a tool: {error}", number + 1)
            })?);
        }
        let mut numbers: HashMap<&str, usize> = HashMap::new();
        let mut segments: Vec<Vec<usize>> = Vec::new();
        for (at, tool) in tools.iter().enumerate() {
            let server = tool.server.as_deref().unwrap_or_default();
            let segment = *numbers.entry(server).or_insert_with(|| {
                segments.push(Vec::new());
                segments.len() - 1
            });
            if let Some(segment) = segments.get_mut(segment) {
                segment.push(at);
            }
        }
        Ok(Self { tools, segments })
    }

    pub(crate) fn id(&self, position: usize) -> Option<&str> {
        Some(&self.tools.get(position)?.id)
    }

    pub(crate) fn position(&self, at: ToolPosition) -> Option<usize> {
        self.segments.get(at.segment)?.get(at.tool).copied()
    }

    pub(crate) fn names_and_descriptions(&self) -> impl Iterator<Item = (&str, &str)> {
        let tools = self.tools.iter();
        tools.map(|tool| (tool.name.as_str(), tool.description()))
    }

    pub(crate) fn index(&self) -> Index {
        Index::new(build_segments(&self.segments, |segment, builder| {
            Arc::new(self.segment(segment, builder))
        }))
    }

    /// Name and description of the server of some tools; `None` for tools without a server.
    fn server(&self, positions: &[usize]) -> Option<(&str, &str)> {
        let tool = self.tools.get(*positions.first()?)?;
        let description = tool.server_description.as_deref().unwrap_or_default();
        Some((tool.server()?, description))
    }

    fn segment(&self, positions: &[usize], builder: &mut SegmentBuilder) -> Segment {
        let tools = positions.iter().filter_map(|at| self.tools.get(*at));
        let tools: Vec<&CorpusTool> = tools.collect();
        let server = self.server(positions);
        let server = server.map(|(name, description)| ServerText { name, description });
        let exposed = tools.iter().map(|tool| match tool.server() {
            Some(server) => format!("{server}__{}", tool.name),
            None => tool.name.clone(),
        });
        let exposed: Vec<String> = exposed.collect();
        let texts = tools.iter().zip(&exposed).map(|(tool, exposed)| ToolText {
            name: &tool.name,
            exposed,
            description: tool.description().into(),
            input_schema: tool.input_schema.as_deref().map_or("{}", RawValue::get),
            aliases: &[],
        });
        builder.segment(server, texts)
    }
}

/// The vectors of a catalog, and the encoder for queries.
pub(crate) struct CorpusVectors {
    encoder: Encoder,
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
    pub(crate) fn new(corpus: &Corpus, quiet: bool) -> Result<Self, Box<dyn Error>> {
        if !quiet {
            writeln!(io::stderr(), "Encoding {} tools …", corpus.tools.len())?;
        }
        let encoder = Encoder::embedded()?;
        let encoded = encode_tools(&encoder, &corpus.tools);
        let segments = corpus.segments.iter().map(|positions| {
            let tools = positions.iter().filter_map(|at| encoded.get(*at).cloned());
            let tools: Vec<_> = tools.collect();
            let server = corpus.server(positions);
            let server = server.and_then(|(name, description)| match description.trim() {
                "" => mean(&tools),
                text => Some(encode(
                    &encoder,
                    &server_text(name, text),
                    TextKind::Document,
                )),
            });
            SegmentVectors { tools, server }
        });
        let segments = segments.collect();
        Ok(Self { encoder, segments })
    }

    pub(crate) fn query(&self, text: &str) -> Vector {
        self.encoder.encode(text, TextKind::Query)
    }
}

fn encode_tools(encoder: &Encoder, tools: &[CorpusTool]) -> Vec<[PackedVector; 2]> {
    let threads = std::thread::available_parallelism().map_or(1, |number| number.get());
    let each = tools.len().div_ceil(threads).max(1);
    std::thread::scope(|scope| {
        let encode_chunk = |tools: &[CorpusTool]| {
            let pairs = tools.iter().map(|tool| {
                let document = document_text(&tool.name, tool.description());
                let short = short_text(tool.server(), &tool.name);
                [
                    encode(encoder, &document, TextKind::Document),
                    encode(encoder, &short, TextKind::Short),
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

fn encode(encoder: &Encoder, text: &str, kind: TextKind) -> PackedVector {
    PackedVector::from(&encoder.encode(text, kind))
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
