//! Classifies the result of a call. The result is kept verbatim, except for unpaired surrogate escapes.

use std::sync::LazyLock;

use memchr::memmem::Finder;
use pegboard_jsonrpc::{paired, present};
use pegboard_model::{Reason, ToolResult};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::contract::{CallOutcome, OutcomeKind};
use crate::errors::{ErrorContext, RequestSubject};

/// Built once, because building one costs more than searching a typical result.
static IS_ERROR: LazyLock<Finder<'_>> = LazyLock::new(|| Finder::new("\"isError\""));
static RESULT_TYPE: LazyLock<Finder<'_>> = LazyLock::new(|| Finder::new("\"resultType\""));

#[derive(Default, Deserialize)]
struct ResultFlags<'a> {
    #[serde(borrow, default, rename = "isError", deserialize_with = "present")]
    is_error: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "resultType", deserialize_with = "present")]
    kind: Option<&'a RawValue>,
}

/// Reads the few members that matter.
///
/// # Errors
/// Fails if the result is not an object or has an unknown `resultType`.
pub(crate) fn outcome(
    subject: RequestSubject<'_>,
    result: Box<RawValue>,
    errors: &ErrorContext,
) -> ToolResult<CallOutcome> {
    let no_result = || {
        let subject = errors.subject(subject);
        let what = format_args!("answered {subject} with something that is not a result");
        errors.error(Reason::FrameInvalid, what)
    };
    let result = paired(result);
    let text = result.get();
    if !text.starts_with('{') {
        return Err(no_result());
    }
    let holds = |key: &Finder<'_>| key.find(text.as_bytes()).is_some();
    // The text is known to be JSON; it is parsed again only if it may contain these members.
    let peek: ResultFlags<'_> = match holds(&RESULT_TYPE) || holds(&IS_ERROR) {
        true => serde_json::from_str(text).map_err(|_| no_result())?,
        false => ResultFlags::default(),
    };
    let is_error = peek.is_error.is_some_and(|flag| flag.get() == "true");
    let kind = match peek.kind.map(RawValue::get) {
        None | Some("\"complete\"") => OutcomeKind::Complete,
        Some("\"input_required\"") => OutcomeKind::InputRequired,
        Some("\"task\"") => OutcomeKind::Task,
        Some(kind) => {
            let kind = errors.preview(kind.as_bytes());
            let what = format_args!("answered with the unknown result type {kind}");
            return Err(errors.error(Reason::FrameInvalid, what));
        }
    };
    Ok(CallOutcome {
        result,
        is_error,
        kind,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::errors;

    fn of(text: &str) -> Option<(bool, OutcomeKind)> {
        let result = RawValue::from_string(text.to_owned()).unwrap();
        let outcome = outcome(RequestSubject::Call("t"), result, &errors()).ok()?;
        assert_eq!(outcome.result.get(), text);
        Some((outcome.is_error, outcome.kind))
    }

    #[test]
    fn r_gate_03_a_result_is_distinguished_from_input_required_and_a_task() {
        use OutcomeKind::{Complete, InputRequired, Task};
        for (text, expected) in [
            ("{}", Some((false, Complete))),
            (r#"{"isError":false}"#, Some((false, Complete))),
            (r#"{"isError" : true}"#, Some((true, Complete))),
            (r#"{"content":[{"isError":true}]}"#, Some((false, Complete))),
            (r#"{"resultType":"complete"}"#, Some((false, Complete))),
            (
                r#"{"resultType":"input_required"}"#,
                Some((false, InputRequired)),
            ),
            (r#"{"resultType":"task"}"#, Some((false, Task))),
            (r#"{"resultType":"surprise"}"#, None),
            (r#"{"resultType":7}"#, None),
            ("[]", None),
            ("null", None),
        ] {
            assert_eq!(of(text), expected, "{text}");
        }
    }
}
