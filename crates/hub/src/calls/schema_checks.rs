//! Prepared schemas for checking arguments and results. Preparing a schema costs far more than using it, so prepared
//! ones are cached.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock};

use pegboard_catalog::ToolView;
use pegboard_guard::{
    ArgumentError, ArgumentValidator, check_arguments_with, fingerprint, signature_of,
};
use pegboard_model::{DefinitionParts, Fingerprint, Tool, ToolResult};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::sync::lock;

/// Capacity of the cache in bytes of tool definitions. When it is exceeded, the cache is emptied.
const KEPT_BYTES: usize = 1024 * 1024;
/// The schema keyword for arguments that are also sent as HTTP headers.
const MIRROR_ANNOTATION: &str = "x-mcp-header";
/// The schema of a tool without one: any object.
const ANY_OBJECT: &str = r#"{"type":"object"}"#;

/// The schemas of tools that were called, by the definition's fingerprint.
#[derive(Default)]
pub(crate) struct SchemaChecks {
    kept: Mutex<SchemaCache>,
}

#[derive(Default)]
struct SchemaCache {
    ready: HashMap<Fingerprint, PreparedSchema>,
    bytes: usize,
}

/// A prepared definition.
#[derive(Clone)]
struct PreparedSchema {
    check: Option<Arc<ArgumentValidator>>,
    mirrors: bool,
    /// The check of results; prepared when the first result arrives.
    output: Arc<OnceLock<Option<ArgumentValidator>>>,
}

/// The check of a tool's results.
pub(crate) struct OutputCheck(Arc<OnceLock<Option<ArgumentValidator>>>);

impl OutputCheck {
    /// The first mismatches of a value; `None` if the schema is unusable or checking would take too much effort.
    pub(crate) fn errors(&self, value: &Value) -> Option<Vec<ArgumentError>> {
        self.0.get()?.as_ref()?.errors(value)
    }
}

/// How the arguments of a tool are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HeaderUse {
    /// In the request body only.
    Plain,
    /// The tool may require some of them as headers, too.
    Mirrored,
}

impl SchemaChecks {
    /// Checks arguments against the tool's input schema.
    pub(crate) fn check(&self, tool: &ToolView<'_>, arguments: &Value) -> ToolResult<HeaderUse> {
        let definition = tool.definition();
        let ready = self.ready_for(tool);
        let exposed = tool.exposed().as_str();
        let signature = || signature_of(tool.name(), schema_of(definition));
        check_arguments_with(ready.check.as_deref(), exposed, signature, arguments)?;
        Ok(match ready.mirrors {
            true => HeaderUse::Mirrored,
            false => HeaderUse::Plain,
        })
    }

    /// Returns the check of a tool's results; `None` if the tool declares no usable `outputSchema`.
    pub(crate) fn output_check(&self, tool: &ToolView<'_>) -> Option<OutputCheck> {
        let output = self.ready_for(tool).output;
        let prepare = || output_schema_of(tool.definition()).and_then(ArgumentValidator::new);
        let is_usable = output.get_or_init(prepare).is_some();
        is_usable.then_some(OutputCheck(output))
    }

    fn ready_for(&self, tool: &ToolView<'_>) -> PreparedSchema {
        let definition = tool.definition();
        let name = tool.tool().map(|tool| tool.fingerprint);
        match name.or_else(|| fingerprint(definition)) {
            Some(name) => self.ready(name, definition),
            None => learn(definition),
        }
    }

    /// Whether the tool may require arguments as headers.
    pub(crate) fn is_mirrored(&self, tool: &Tool) -> bool {
        self.ready(tool.fingerprint, &tool.definition).mirrors
    }

    fn ready(&self, name: Fingerprint, definition: &str) -> PreparedSchema {
        if let Some(ready) = lock(&self.kept).ready.get(&name) {
            return ready.clone();
        }
        let ready = learn(definition);
        let mut kept = lock(&self.kept);
        if kept.bytes + definition.len() > KEPT_BYTES {
            *kept = SchemaCache::default();
        }
        let known = kept.ready.insert(name, ready.clone());
        if known.is_none() {
            kept.bytes += definition.len();
        }
        ready
    }
}

fn learn(definition: &str) -> PreparedSchema {
    PreparedSchema {
        check: ArgumentValidator::new(schema_of(definition)).map(Arc::new),
        mirrors: definition.contains(MIRROR_ANNOTATION),
        output: Arc::default(),
    }
}

fn schema_of(definition: &str) -> &str {
    let parts = serde_json::from_str::<DefinitionParts<'_>>(definition).ok();
    let schema = parts.and_then(|parts| parts.input_schema);
    schema
        .map(|schema| schema.get())
        .filter(|schema| *schema != "null")
        .unwrap_or(ANY_OBJECT)
}

fn output_schema_of(definition: &str) -> Option<&str> {
    let parts = serde_json::from_str::<DefinitionParts<'_>>(definition).ok()?;
    parts.output_schema.map(RawValue::get)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schema_is_compiled_once_and_the_cache_is_bounded() {
        let checks = SchemaChecks::default();
        let definition = r#"{"name":"a","inputSchema":{"type":"object","required":["x"]}}"#;
        let ready = |text: &str| checks.ready(fingerprint(text).unwrap(), text);
        let (first, second) = (ready(definition), ready(definition));
        assert!(Arc::ptr_eq(&first.check.unwrap(), &second.check.unwrap()));
        for number in 0..40 {
            let text = "x".repeat(100_000);
            ready(&format!(r#"{{"name":"{number}","description":"{text}"}}"#));
            assert!(lock(&checks.kept).bytes <= KEPT_BYTES);
        }
        assert!(lock(&checks.kept).ready.len() <= KEPT_BYTES / 100_000);
    }
}
