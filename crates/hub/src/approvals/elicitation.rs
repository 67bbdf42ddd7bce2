//! Approval prompts in the calling client, as MCP elicitations.

use pegboard_model::ApprovalDecision;
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;

use super::prompt::ApprovalPrompt;
use crate::calls::CallRequest;

const METHOD: &str = "elicitation/create";
const FIELD: &str = "decision";

const ONCE: &str = "allow once";
const SESSION: &str = "allow for this session";
const REFUSE: &str = "refuse";

/// Whether the calling client declared the elicitation capability.
pub(super) fn can_ask(request: &CallRequest) -> bool {
    let caller = request.caller.as_ref();
    caller.is_some_and(|caller| caller.capabilities().supports(METHOD, None))
}

/// The result of an elicitation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reply {
    /// The user decided.
    Decided(ApprovalDecision),
    /// The client cancelled the elicitation. Headless clients do so without showing it, so this is not a refusal.
    Cancelled,
    /// The client does not support elicitation.
    Failed,
}

/// Asks the user in the client.
pub(super) async fn ask(
    request: &CallRequest,
    prompt: &ApprovalPrompt,
    offers_session: bool,
) -> Reply {
    let caller = request.caller.as_ref();
    let (Some(caller), Some(params)) = (caller, params(prompt, offers_session)) else {
        return Reply::Failed;
    };
    match caller.send_request(METHOD, Some(&params)).await {
        Ok(answer) => read(&answer, offers_session),
        Err(_) => Reply::Failed,
    }
}

fn params(prompt: &ApprovalPrompt, offers_session: bool) -> Option<Box<RawValue>> {
    // The response may come from the calling program itself, so it never creates a grant beyond the session.
    let mut choices = vec![ONCE, SESSION, REFUSE];
    choices.retain(|choice| offers_session || *choice != SESSION);
    let params = json!({
        "message": prompt.text(),
        "requestedSchema": {
            "type": "object",
            "properties": {
                FIELD: {
                    "type": "string",
                    "title": "May it run?",
                    "description": "The decision applies to this version of the tool only.",
                    "enum": choices,
                },
            },
            "required": [FIELD],
        },
    });
    serde_json::value::to_raw_value(&params).ok()
}

/// Reads the client's response. Anything but an offered choice or `cancel` is a refusal.
fn read(answer: &RawValue, offers_session: bool) -> Reply {
    #[derive(Deserialize)]
    struct Answer {
        action: String,
        #[serde(default)]
        content: Option<Content>,
    }
    #[derive(Deserialize)]
    struct Content {
        #[serde(default)]
        decision: Option<String>,
    }
    let answer: Option<Answer> = serde_json::from_str(answer.get()).ok();
    if answer
        .as_ref()
        .is_some_and(|answer| answer.action == "cancel")
    {
        return Reply::Cancelled;
    }
    let accepted = answer.filter(|answer| answer.action == "accept");
    let said = accepted.and_then(|answer| answer.content?.decision);
    Reply::Decided(match said.as_deref() {
        Some(ONCE) => ApprovalDecision::Once,
        Some(SESSION) if offers_session => ApprovalDecision::Session,
        _ => ApprovalDecision::Refuse,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(answer: &str, expected: ApprovalDecision) {
        let raw = RawValue::from_string(answer.to_owned()).unwrap();
        assert_eq!(read(&raw, true), Reply::Decided(expected), "{answer}");
    }

    #[test]
    fn r_pol_02_only_an_explicit_approval_counts() {
        use ApprovalDecision::{Once, Refuse, Session};
        let says =
            |word: &str| format!(r#"{{"action":"accept","content":{{"decision":"{word}"}}}}"#);
        check(&says(ONCE), Once);
        check(&says(SESSION), Session);
        check(&says("always allow"), Refuse);
        check(&says(REFUSE), Refuse);
        check(&says("yes"), Refuse);
        check(r#"{"action":"accept"}"#, Refuse);
        check(r#"{"action":"accept","content":{}}"#, Refuse);
        check(r#"{"action":"accept","content":{"decision":7}}"#, Refuse);
        check(
            r#"{"action":"decline","content":{"decision":"allow once"}}"#,
            Refuse,
        );
        check("[]", Refuse);
    }

    #[test]
    fn r_gate_05_a_cancelled_request_is_not_a_refusal() {
        for answer in [
            r#"{"action":"cancel"}"#,
            r#"{"action":"cancel","content":{"decision":"allow once"}}"#,
        ] {
            let raw = RawValue::from_string(answer.to_owned()).unwrap();
            assert_eq!(read(&raw, true), Reply::Cancelled, "{answer}");
        }
    }

    #[test]
    fn r_sec_08_a_session_that_was_not_offered_is_not_granted() {
        let answer = r#"{"action":"accept","content":{"decision":"allow for this session"}}"#;
        let raw = RawValue::from_string(answer.to_owned()).unwrap();
        assert_eq!(read(&raw, false), Reply::Decided(ApprovalDecision::Refuse));
    }
}
