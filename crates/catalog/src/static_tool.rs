//! A tool that the host program registers itself.

use std::sync::Arc;

use pegboard_guard::{estimate_tokens, shorten, summarise};
use pegboard_model::{
    DefinitionParts, ExposedName, Policy, Reason, ToolError, ToolResult, UntrustedText,
};
use serde_json::value::RawValue;
use serde_json::{Value, json};

/// The category of static tools that have none of their own.
pub const STATIC_CATEGORY: &str = "static";

/// What the catalog knows of a static tool; its handler stays with the host program.
#[derive(Clone, Debug, PartialEq)]
pub struct StaticTool {
    /// The name that models see.
    pub name: ExposedName,
    /// The definition as JSON.
    pub definition: Arc<str>,
    /// The full description.
    pub description: String,
    /// One line of at most 80 characters.
    pub summary: String,
    /// The category.
    pub category: String,
    /// About how many tokens the definition costs.
    pub tokens: u32,
    /// What may be done with it; the catalog sets it by the rules for all tools.
    pub policy: Policy,
    /// Whether it is for the host program itself, and left out of what sessions are shown.
    pub internal: bool,
}

impl StaticTool {
    /// A static tool with the schema of its arguments.
    pub fn new(
        name: &str,
        description: impl Into<String>,
        input_schema: Value,
    ) -> ToolResult<Self> {
        let shown = UntrustedText::new(name).shortened(80);
        let Some(exposed) = ExposedName::parse(name) else {
            let message = format!(
                "`{shown}` is not a tool name: 1 to 64 of A-Z, a-z, 0-9, `_` and `-` are allowed"
            );
            return Err(ToolError::new(Reason::ToolNameInvalid, message));
        };
        if !input_schema.is_object() {
            let message = format!("the schema of `{shown}` is not a JSON object");
            return Err(ToolError::new(Reason::SchemaInvalid, message).at_tool(name));
        }
        let description = description.into();
        let definition =
            json!({"name": name, "description": description, "inputSchema": input_schema})
                .to_string();
        Ok(Self {
            summary: summarise(&description)
                .unwrap_or_else(|| shorten(&format!("static tool: {name}"))),
            tokens: estimate_tokens(&definition),
            definition: definition.into(),
            name: exposed,
            description,
            category: STATIC_CATEGORY.to_owned(),
            policy: Policy::Allow,
            internal: false,
        })
    }

    /// The schema of the arguments as text.
    pub(crate) fn input_schema(&self) -> &str {
        let parts = serde_json::from_str::<DefinitionParts<'_>>(&self.definition).ok();
        let schema = parts.and_then(|parts| parts.input_schema);
        schema.map_or("{}", RawValue::get)
    }

    /// The same tool for the host program itself: it is left out of what people are shown of a session.
    #[must_use]
    pub fn internal(mut self) -> Self {
        self.internal = true;
        self
    }

    /// The same tool in another category.
    #[must_use]
    pub fn in_category(mut self, category: impl Into<String>) -> Self {
        self.category = category.into();
        self
    }
}
