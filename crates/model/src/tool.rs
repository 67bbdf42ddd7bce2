//! An admitted tool of a server.

use std::borrow::Cow;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::{ExposedName, Fingerprint};

/// A tool of a server. The definition is stored verbatim; the other fields hold what listings need, so that reading the
/// catalog parses no JSON.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tool {
    /// The name that the server uses.
    pub name: String,
    /// The name that models see.
    pub exposed: ExposedName,
    /// The definition, byte for byte as the server sent it.
    pub definition: Arc<str>,
    /// Hash of the canonical definition.
    pub fingerprint: Fingerprint,
    /// One line of at most 80 characters, derived from the description.
    pub summary: String,
    /// The server's hints. They never make a policy more permissive.
    pub annotations: Annotations,
    /// Whether the server marks the tool as deprecated.
    pub deprecated: bool,
    /// Estimated number of tokens of the definition.
    pub tokens: u32,
}

/// A server's hints about a tool; `None` where the server gives no hint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Annotations {
    /// The tool changes nothing (`readOnlyHint`).
    pub read_only: Option<bool>,
    /// The tool may delete or overwrite something (`destructiveHint`).
    pub destructive: Option<bool>,
    /// Repeated calls have the same effect as one (`idempotentHint`).
    pub idempotent: Option<bool>,
    /// The tool interacts with external systems (`openWorldHint`).
    pub open_world: Option<bool>,
}

impl Annotations {
    /// Whether the server marks the tool as read-only and does not contradict itself by also marking it as
    /// destructive. This is the server's claim, not a guarantee.
    pub fn claims_read_only(self) -> bool {
        self.read_only == Some(true) && self.destructive != Some(true)
    }
}

/// The members of a definition that views need, borrowed from its bytes.
#[derive(Debug, Deserialize)]
pub struct DefinitionParts<'a> {
    /// `name`.
    #[serde(borrow)]
    pub name: Cow<'a, str>,
    /// `title`.
    #[serde(borrow, default)]
    pub title: Option<Cow<'a, str>>,
    /// `description`.
    #[serde(borrow, default)]
    pub description: Option<Cow<'a, str>>,
    /// `inputSchema`: the schema of the arguments.
    #[serde(borrow, default, rename = "inputSchema")]
    pub input_schema: Option<&'a RawValue>,
    /// `outputSchema`: the schema of the structured result.
    #[serde(borrow, default, rename = "outputSchema")]
    pub output_schema: Option<&'a RawValue>,
    /// `annotations`: the hints.
    #[serde(borrow, default)]
    pub annotations: Option<&'a RawValue>,
}

impl Tool {
    /// Parses the definition.
    ///
    /// # Errors
    ///
    /// Fails only if the record was damaged after the tool was admitted.
    pub fn parts(&self) -> Result<DefinitionParts<'_>, serde_json::Error> {
        serde_json::from_str(&self.definition)
    }

    /// The input schema as JSON text; `{"type":"object"}` if the tool has none.
    pub fn input_schema(&self) -> &str {
        match self.parts() {
            Ok(DefinitionParts {
                input_schema: Some(schema),
                ..
            }) if schema.get() != "null" => schema.get(),
            _ => r#"{"type":"object"}"#,
        }
    }
}
