//! A catalog in a file: its tools, grouped by server.

use std::collections::HashMap;
use std::error::Error;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::sync::Arc;

use pegboard_model::UntrustedText;
use pegboard_search::{
    Index, Segment, SegmentBuilder, ServerText, ToolPosition, ToolText, build_segments,
};
use serde::Deserialize;
use serde_json::value::RawValue;

/// A tool of a catalog file.
#[derive(Deserialize)]
pub(super) struct CorpusTool {
    id: String,
    pub(super) name: String,
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
    pub(super) fn server(&self) -> Option<&str> {
        self.server.as_deref().filter(|name| !name.is_empty())
    }

    pub(super) fn description(&self) -> &str {
        self.description.as_deref().unwrap_or_default()
    }
}

/// The tools of a catalog file.
pub struct Corpus {
    pub(super) tools: Vec<CorpusTool>,
    /// The tools of each server, as positions in `tools`.
    pub(super) segments: Vec<Vec<usize>>,
}

impl Corpus {
    /// Reads a catalog.
    ///
    /// # Errors
    /// If the file cannot be read or a line is not a tool.
    pub fn read(path: &Path) -> Result<Self, Box<dyn Error>> {
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
        Ok(Self::of_tools(tools))
    }

    fn of_tools(tools: Vec<CorpusTool>) -> Self {
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
        Self { tools, segments }
    }

    /// The position of a tool in the index, by its id.
    pub fn find(&self, id: &str) -> Option<ToolPosition> {
        let tools = self.segments.iter().enumerate();
        let is_same = |at: &usize| self.tools.get(*at).is_some_and(|tool| tool.id == id);
        tools
            .filter_map(|(segment, tools)| {
                let tool = tools.iter().position(is_same)?;
                Some(ToolPosition { segment, tool })
            })
            .next()
    }

    /// The number of tools.
    pub fn len(&self) -> usize {
        self.tools.len()
    }

    /// Whether the catalog has no tools.
    pub fn is_empty(&self) -> bool {
        self.tools.is_empty()
    }

    /// The id of a tool, by its position in the file.
    pub fn id(&self, position: usize) -> Option<&str> {
        Some(&self.tools.get(position)?.id)
    }

    /// The position in the file of a tool of the index.
    pub fn position(&self, at: ToolPosition) -> Option<usize> {
        self.segments.get(at.segment)?.get(at.tool).copied()
    }

    /// Name and description of every tool, in the order of the file.
    pub fn names_and_descriptions(&self) -> impl Iterator<Item = (&str, &str)> {
        let tools = self.tools.iter();
        tools.map(|tool| (tool.name.as_str(), tool.description()))
    }

    /// Indexes the tools.
    pub fn index(&self) -> Index {
        Index::new(build_segments(&self.segments, |segment, builder| {
            Arc::new(self.segment(segment, builder))
        }))
    }

    /// Name and description of the server of some tools; `None` for tools without a server.
    pub(super) fn server(&self, positions: &[usize]) -> Option<(&str, &str)> {
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
