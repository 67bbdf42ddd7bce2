//! Tools that the host program brings itself.

use async_trait::async_trait;
use pegboard_model::ToolResult;
use pegboard_upstream::{CallOutcome, OutcomeKind};
use serde_json::value::RawValue;
use serde_json::{Value, json};

/// Runs a static tool.
#[async_trait]
pub trait ToolHandler: Send + Sync {
    /// Does the work; the arguments fit the tool's schema.
    async fn call(&self, arguments: Value) -> ToolResult<Value>;
}

/// A handler's answer in the form that every tool's result has.
pub(crate) fn as_result(answer: Value) -> ToolResult<CallOutcome> {
    let text = match &answer {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let content = json!([{ "type": "text", "text": text }]);
    let result = match answer {
        Value::Object(_) => {
            json!({ "content": content, "structuredContent": answer, "isError": false })
        }
        _ => json!({ "content": content, "isError": false }),
    };
    let result = RawValue::from_string(result.to_string()).map_err(|error| {
        pegboard_model::ToolError::new(pegboard_model::Reason::Internal, error.to_string())
    })?;
    Ok(CallOutcome {
        result,
        is_error: false,
        kind: OutcomeKind::Complete,
    })
}
