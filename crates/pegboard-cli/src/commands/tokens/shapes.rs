//! The shapes in which clients and providers send a tool to a model.

use std::borrow::Cow;

use pegboard_catalog::ToolView;
use pegboard_model::DefinitionParts;
use serde_json::Value;

/// The parts of a tool's definition.
pub(super) struct ToolParts<'a> {
    /// The server; for meta tools, the name under which Pegboard is configured.
    pub(super) server: &'a str,
    /// The server's own name of the tool.
    pub(super) tool: Cow<'a, str>,
    /// The name without a client's prefix.
    pub(super) exposed: &'a str,
    description: Cow<'a, str>,
    schema: &'a str,
    /// The whole definition.
    definition: &'a str,
}

impl<'a> ToolParts<'a> {
    pub(super) fn of_tool(view: &ToolView<'a>) -> Option<Self> {
        let mut piece = Self::of_definition(
            view.definition(),
            view.server().map_or("static", |name| name.as_str()),
        )?;
        piece.exposed = view.exposed().as_str();
        piece.description = view.description();
        Some(piece)
    }

    /// Parses a definition; the exposed name is the tool's own name.
    pub(super) fn of_definition(definition: &'a str, server: &'a str) -> Option<Self> {
        let parts: DefinitionParts<'a> = serde_json::from_str(definition).ok()?;
        Some(Self {
            server,
            tool: parts.name,
            exposed: "",
            description: parts.description.unwrap_or_default(),
            schema: parts
                .input_schema
                .map_or(r#"{"type":"object"}"#, |schema| schema.get()),
            definition,
        })
    }
}

/// The JSON that is sent for each tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// The server's definition, verbatim.
    Listed,
    /// `{name, description, input_schema}`.
    Anthropic,
    /// `{type: "function", name, description, parameters}`.
    OpenAi,
    /// `{name, description, parametersJsonSchema}`.
    Gemini,
    /// The name alone.
    Name,
}

/// How a client names a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Naming {
    /// `server__tool`.
    Plain,
    /// `mcp__server__tool`.
    DoubleUnderscore,
    /// `mcp_server_tool`, at most 63 characters.
    Underscore,
}

/// Renders a tool in a client's shape and naming.
pub(super) fn render_tool(piece: &ToolParts<'_>, shape: Shape, naming: Naming) -> String {
    let own = || {
        if piece.exposed.is_empty() {
            piece.tool.as_ref()
        } else {
            piece.exposed
        }
    };
    let name = match naming {
        Naming::Plain => own().to_owned(),
        Naming::DoubleUnderscore => format!("mcp__{}__{}", piece.server, piece.tool),
        Naming::Underscore => format!("mcp_{}_{}", piece.server, piece.tool)
            .chars()
            .take(63)
            .collect(),
    };
    let (name, description) = (json(&name), json(&piece.description));
    let schema = piece.schema;
    match shape {
        Shape::Listed => piece.definition.to_owned(),
        Shape::Anthropic => {
            format!("{{\"name\":{name},\"description\":{description},\"input_schema\":{schema}}}")
        }
        Shape::OpenAi => format!(
            "{{\"type\":\"function\",\"name\":{name},\"description\":{description},\"parameters\":{schema}}}"
        ),
        Shape::Gemini => {
            format!(
                "{{\"name\":{name},\"description\":{description},\"parametersJsonSchema\":{schema}}}"
            )
        }
        Shape::Name => name,
    }
}

fn json(text: &str) -> String {
    Value::from(text).to_string()
}
