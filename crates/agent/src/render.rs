//! Renders tools of a catalog in provider formats.

use std::borrow::Cow;

use pegboard_catalog::ToolView;
use pegboard_formats::{ConvertOptions, Format, RenderedTools, SourceTool, definitions_with};
use pegboard_metatools::READ_RESULT;
use pegboard_model::ServerName;
use serde_json::{Value, json};

/// Renders tools in a provider's format, and reports what was lost.
pub fn render_tools<'a>(
    tools: impl Iterator<Item = ToolView<'a>>,
    format: Format,
    options: &ConvertOptions,
) -> RenderedTools {
    let texts: Vec<Texts<'a>> = tools.map(Texts::of).collect();
    let sources: Vec<SourceTool<'_>> = texts.iter().map(Texts::source).collect();
    definitions_with(&sources, format, options)
}

/// Renders meta tools in a provider's format.
pub(crate) fn render_own_tools(
    own: &[Value],
    format: Format,
    options: &ConvertOptions,
) -> RenderedTools {
    let schemas: Vec<String> = own
        .iter()
        .map(|tool| {
            tool.get("inputSchema")
                .map_or("{}".to_owned(), Value::to_string)
        })
        .collect();
    let text = |tool: &'static str, value: &Value| {
        value.get(tool).and_then(Value::as_str).map(str::to_owned)
    };
    let names: Vec<String> = own.iter().filter_map(|tool| text("name", tool)).collect();
    let descriptions: Vec<String> = own
        .iter()
        .map(|tool| text("description", tool).unwrap_or_default())
        .collect();
    let sources: Vec<SourceTool<'_>> = names
        .iter()
        .zip(&descriptions)
        .zip(&schemas)
        .map(|((name, description), schema)| SourceTool {
            name,
            description: Some(description),
            input_schema: schema,
            ..SourceTool::default()
        })
        .collect();
    definitions_with(&sources, format, options)
}

/// Returns the definition of `read_result`, for models without `call_tool`.
pub(crate) fn read_result() -> Value {
    json!({
        "name": READ_RESULT,
        "description": "Read on in a result that was too large to be shown at once; its first part says how.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "id": {"type": "string"},
                "offset": {"type": "integer"},
                "grep": {"type": "string"},
                "pointer": {"type": "string"},
            },
            "required": ["id"],
        },
    })
}

/// Owned texts of a tool, from which a `Source` borrows.
struct Texts<'a> {
    view: ToolView<'a>,
    description: Cow<'a, str>,
    about_server: Cow<'a, str>,
}

impl<'a> Texts<'a> {
    fn of(view: ToolView<'a>) -> Self {
        let about_server = view.entry().map(|entry| entry.description());
        Self {
            view,
            description: view.description(),
            about_server: about_server.unwrap_or_default(),
        }
    }

    fn source(&self) -> SourceTool<'_> {
        let view = &self.view;
        let examples = view.user_override().map(|own| own.examples.as_slice());
        let examples = examples.unwrap_or_default().iter();
        SourceTool {
            name: view.exposed().as_str(),
            server: view.server().map(ServerName::as_str),
            server_description: Some(&*self.about_server).filter(|text| !text.is_empty()),
            description: Some(&self.description),
            input_schema: view.input_schema(),
            examples: examples.map(|example| example.arguments.clone()).collect(),
        }
    }
}
