//! A tool that was looked at and accepted.

use std::borrow::Cow;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::{ExposedName, Fingerprint};

/// A tool of a server. The definition is kept as the server wrote it; what listings need is beside it,
/// so that reading the catalog parses no JSON.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tool {
    /// The server's own name for it.
    pub name: String,
    /// The name models see.
    pub exposed: ExposedName,
    /// The definition, byte for byte.
    pub definition: Arc<str>,
    /// The definition as one hash.
    pub fingerprint: Fingerprint,
    /// One line of at most 80 characters, derived from the description.
    pub summary: String,
    /// The server's hints; never a reason to allow more.
    pub annotations: Annotations,
    /// The server's own word that it should no longer be used.
    pub deprecated: bool,
    /// About how many tokens the definition costs a model.
    pub tokens: u32,
}

/// A server's hints about a tool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Annotations {
    /// It changes nothing.
    pub read_only: Option<bool>,
    /// It may destroy something.
    pub destructive: Option<bool>,
    /// Calling it twice is like calling it once.
    pub idempotent: Option<bool>,
    /// It reaches beyond this machine.
    pub open_world: Option<bool>,
}

impl Annotations {
    /// Whether the server marks the tool as read-only and does not contradict itself by also marking it as
    /// destructive. This is the server's claim, not a guarantee.
    pub fn claims_read_only(self) -> bool {
        self.read_only == Some(true) && self.destructive != Some(true)
    }
}

/// The parts of a definition that views look into, borrowed from its bytes.
#[derive(Debug, Deserialize)]
pub struct DefinitionParts<'a> {
    /// The name.
    #[serde(borrow)]
    pub name: Cow<'a, str>,
    /// The title.
    #[serde(borrow, default)]
    pub title: Option<Cow<'a, str>>,
    /// The description.
    #[serde(borrow, default)]
    pub description: Option<Cow<'a, str>>,
    /// The schema of the arguments.
    #[serde(borrow, default, rename = "inputSchema")]
    pub input_schema: Option<&'a RawValue>,
    /// The schema of the structured result.
    #[serde(borrow, default, rename = "outputSchema")]
    pub output_schema: Option<&'a RawValue>,
    /// The hints.
    #[serde(borrow, default)]
    pub annotations: Option<&'a RawValue>,
}

impl Tool {
    /// Looks into the definition. It was parsed when it was admitted, so this fails only for a record
    /// that was damaged since.
    pub fn parts(&self) -> Result<DefinitionParts<'_>, serde_json::Error> {
        serde_json::from_str(&self.definition)
    }

    /// The schema of the arguments as text; a tool without one takes any object.
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
