//! Tools registered by the host program.

use std::sync::Arc;

use pegboard_guard::{estimate_tokens, shorten, summarise};
use pegboard_model::{
    DefinitionParts, ExposedName, Policy, Reason, ToolError, ToolResult, UntrustedText,
};
use serde_json::value::RawValue;
use serde_json::{Value, json};

/// The category of static tools without an explicit one.
pub const STATIC_CATEGORY: &str = "static";

/// A static tool as the catalog knows it. The host program keeps the handler.
#[derive(Clone, Debug, PartialEq)]
pub struct StaticTool {
    /// The name that models see.
    pub name: ExposedName,
    /// The definition as JSON.
    pub definition: Arc<str>,
    /// The full description.
    pub description: String,
    /// A summary in one line of at most 80 characters.
    pub summary: String,
    /// The category.
    pub category: String,
    /// Estimated tokens of the definition.
    pub tokens: u32,
    /// The policy. The catalog sets it from the rules for all tools.
    pub policy: Policy,
    /// Whether the tool is internal to the host program and hidden from session lists.
    pub internal: bool,
}

impl StaticTool {
    /// Creates a static tool.
    ///
    /// # Errors
    ///
    /// Fails if the name is not a valid exposed name or the schema is not a JSON object.
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

    /// Returns the input schema as JSON text.
    pub(crate) fn input_schema(&self) -> &str {
        let parts = serde_json::from_str::<DefinitionParts<'_>>(&self.definition).ok();
        let schema = parts.and_then(|parts| parts.input_schema);
        schema.map_or("{}", RawValue::get)
    }

    /// Marks the tool as internal to the host program and hides it from session lists.
    #[must_use]
    pub fn internal(mut self) -> Self {
        self.internal = true;
        self
    }

    /// Sets the category.
    #[must_use]
    pub fn in_category(mut self, category: impl Into<String>) -> Self {
        self.category = category.into();
        self
    }
}
