//! Conversion of catalog tools to provider formats.

use pegboard_catalog::ToolView;
use pegboard_formats::{ConvertedTool, Format, SourceTool, convert};
use pegboard_model::ServerName;

/// The definition of a tool in a provider's format, with the losses of the conversion.
pub(crate) fn convert_tool(view: &ToolView<'_>, format: Format) -> ConvertedTool {
    let description = view.description();
    let server = view.entry().map(|entry| entry.description());
    let examples = view.user_override().map(|user| user.examples.iter());
    let examples = examples.into_iter().flatten();
    let source = SourceTool {
        name: view.exposed().as_str(),
        server: view.server().map(ServerName::as_str),
        server_description: server.as_deref().filter(|text| !text.is_empty()),
        description: Some(&description),
        input_schema: view.input_schema(),
        examples: examples.map(|example| example.arguments.clone()).collect(),
    };
    convert(&source, format)
}
