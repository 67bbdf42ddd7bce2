//! A catalog in a file: its tools by server, and their vectors.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::sync::Arc;

use pegboard_catalog::ToolVectors;
use pegboard_hub::{Encoder, EncoderInput};
use pegboard_model::UntrustedText;
use pegboard_search::{
    Index, Segment, SegmentBuilder, ServerText, ToolPosition, ToolText, Vectors, build_segments,
};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::commands::Output;
use crate::failure::Failure;
use crate::format::count;

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

/// The tools of a file.
pub(super) struct Corpus {
    tools: Vec<CorpusTool>,
    /// The tools of each server, as positions in `tools`.
    segments: Vec<Vec<usize>>,
}

impl Corpus {
    pub(super) fn read(path: &Path) -> Result<Self, Failure> {
        let shown = path.display().to_string();
        let remedy = "Each line is one tool: {\"id\": \"a\", \"name\": \"create_issue\", \"description\": \"…\"}.";
        let file = File::open(path).map_err(|error| {
            Failure::usage(
                format!(
                    "the catalog `{}` cannot be opened: {error}",
                    UntrustedText::new(&shown)
                ),
                remedy,
            )
        })?;
        let mut tools: Vec<CorpusTool> = Vec::new();
        for (number, line) in BufReader::new(file).lines().enumerate() {
            let place = format!("line {} of `{}`", number + 1, UntrustedText::new(&shown));
            let line = line.map_err(|error| {
                Failure::usage(format!("{place} cannot be read: {error}"), remedy)
            })?;
            if line.trim().is_empty() {
                continue;
            }
            let tool = serde_json::from_str(&line);
            tools.push(tool.map_err(|error| {
                Failure::usage(format!("{place} is not a tool: {error}"), remedy)
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

    pub(super) fn id(&self, position: usize) -> Option<&str> {
        Some(&self.tools.get(position)?.id)
    }

    pub(super) fn position(&self, at: ToolPosition) -> Option<usize> {
        self.segments.get(at.segment)?.get(at.tool).copied()
    }

    pub(super) fn names_and_descriptions(&self) -> impl Iterator<Item = (&str, &str)> {
        let tools = self.tools.iter();
        tools.map(|tool| {
            (
                tool.name.as_str(),
                tool.description.as_deref().unwrap_or_default(),
            )
        })
    }

    pub(super) fn index(&self) -> Index {
        Index::new(build_segments(&self.segments, |segment, reader| {
            Arc::new(self.segment(segment, reader))
        }))
    }

    /// The name of a server's tools, and what is said about it.
    fn described(&self, positions: &[usize]) -> Option<(&str, &str)> {
        let tool = self.tools.get(*positions.first()?)?;
        let name = tool.server.as_deref().filter(|name| !name.is_empty())?;
        Some((name, tool.server_description.as_deref().unwrap_or_default()))
    }

    fn segment(&self, positions: &[usize], reader: &mut SegmentBuilder) -> Segment {
        let tools: Vec<&CorpusTool> = positions
            .iter()
            .filter_map(|at| self.tools.get(*at))
            .collect();
        let server = self.described(positions);
        let server = server.map(|(name, description)| ServerText { name, description });
        let exposed: Vec<String> = tools
            .iter()
            .map(|tool| match &tool.server {
                Some(server) if !server.is_empty() => format!("{server}__{}", tool.name),
                _ => tool.name.clone(),
            })
            .collect();
        let texts = tools.iter().zip(&exposed).map(|(tool, exposed)| ToolText {
            name: &tool.name,
            exposed,
            description: tool.description.as_deref().unwrap_or_default().into(),
            input_schema: tool.input_schema.as_deref().map_or("{}", RawValue::get),
            aliases: &[],
        });
        reader.segment(server, texts)
    }
}

/// The vectors of a catalog in a file, and the encoder of queries.
pub(super) struct CorpusVectors {
    encoder: Arc<dyn Encoder>,
    segments: Vec<Arc<dyn ToolVectors>>,
    /// Which segments are a server's.
    of_servers: Vec<bool>,
}

impl CorpusVectors {
    /// Reads every tool for its meaning, on all processors; `None` in a program without an encoder.
    pub(super) fn of(corpus: &Corpus, output: &Output) -> Option<Self> {
        let Some(encoder) = pegboard::encoder() else {
            output
                .note("This program was built without search by meaning; ranking by words alone.");
            return None;
        };
        output.note(&format!(
            "Reading {} for their meaning …",
            count(corpus.tools.len(), "tool")
        ));
        let threads = std::thread::available_parallelism().map_or(1, |number| number.get());
        let each = corpus.tools.len().div_ceil(threads).max(1);
        let encoder_of = &encoder;
        let read: Vec<Vec<u8>> = std::thread::scope(|scope| {
            let work = corpus.tools.chunks(each).map(|tools| {
                scope.spawn(move || {
                    tools
                        .iter()
                        .map(|tool| encoder_of.tool(&words(tool)))
                        .collect::<Vec<_>>()
                })
            });
            let work: Vec<_> = work.collect();
            let done = work
                .into_iter()
                .map(|thread| thread.join().unwrap_or_default());
            done.flatten().collect()
        });
        let segments = corpus.segments.iter().map(|segment| {
            let vectors = segment.iter().filter_map(|at| read.get(*at));
            let server = corpus.described(segment);
            let server = server.and_then(|(name, description)| encoder.server(name, description));
            encoder.similarity(vectors.flatten().copied().collect(), server.as_deref())
        });
        Some(Self {
            segments: segments.collect(),
            of_servers: corpus
                .segments
                .iter()
                .map(|segment| corpus.described(segment).is_some())
                .collect(),
            encoder: encoder.clone(),
        })
    }

    pub(super) fn query(&self, text: &str) -> Vec<f32> {
        self.encoder.query(text)
    }
}

impl Vectors for CorpusVectors {
    fn similarity(&self, segment: usize, query: &[f32], document: &mut [f32], short: &mut [f32]) {
        if let Some(vectors) = self.segments.get(segment) {
            vectors.similarity(query, document, short);
        }
    }

    fn server_similarity(&self, segment: usize, query: &[f32]) -> Option<f32> {
        let is_servers = *self.of_servers.get(segment)?;
        is_servers
            .then(|| self.segments.get(segment)?.server_similarity(query))
            .flatten()
    }
}

fn words(tool: &CorpusTool) -> EncoderInput {
    EncoderInput {
        server: tool.server.clone().unwrap_or_default(),
        name: tool.name.clone(),
        description: tool.description.clone().unwrap_or_default(),
    }
}
