//! SchemaChecks a result against the tool's `outputSchema`. A mismatch is reported, and the result is still delivered: a
//! model can often use it, and withholding it would hide what a call did.

use pegboard_catalog::ToolView;
use pegboard_model::{Reason, ToolError, UntrustedText};
use pegboard_upstream::{CallOutcome, OutcomeKind};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::schema_checks::SchemaChecks;

/// Structured content beyond this many bytes is not checked: parsing it would cost a multiple of its size in memory.
const CHECKED_BYTES_MAX: usize = 1024 * 1024;
/// Characters of a field's path in the message.
const FIELD_SHOWN: usize = 160;

#[derive(Deserialize)]
struct StructuredResult<'a> {
    #[serde(borrow, default, rename = "structuredContent")]
    structured: Option<&'a RawValue>,
}

/// Returns the mismatch between a tool's result and its `outputSchema`. Returns `None` if the result fits, if the tool
/// declares no usable schema, if the call failed or continues, or if the result is too large to check.
pub(super) fn output_mismatch(
    checks: &SchemaChecks,
    tool: &ToolView<'_>,
    outcome: &CallOutcome,
) -> Option<ToolError> {
    if outcome.is_error || outcome.kind != OutcomeKind::Complete {
        return None;
    }
    let check = checks.output_check(tool)?;
    let result = serde_json::from_str::<StructuredResult<'_>>(outcome.result.get()).ok()?;
    let mismatch = |problem: String| {
        let exposed = tool.exposed().as_str();
        let message =
            format!("the result of `{exposed}` does not match its output schema: {problem}");
        let error = ToolError::new(Reason::SchemaOutputMismatch, message).at_tool(exposed);
        Some(match tool.server() {
            Some(server) => error.at_server(server),
            None => error,
        })
    };
    let Some(structured) = result.structured else {
        return mismatch("`structuredContent` is missing".to_owned());
    };
    if structured.get().len() > CHECKED_BYTES_MAX {
        return None;
    }
    let value: Value = serde_json::from_str(structured.get()).ok()?;
    let faults = check.errors(&value)?;
    let first = faults.first()?;
    mismatch(match first.field.as_str() {
        "" => format!("it {}", first.problem),
        field => format!(
            "`{}` {}",
            UntrustedText::new(field).shortened(FIELD_SHOWN),
            first.problem
        ),
    })
}
