//! A user who accepts every form with its defaults.

use std::sync::LazyLock;

use async_trait::async_trait;
use pegboard_model::RpcError;
use pegboard_upstream::{Caller, ClientCapabilities};
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value, json};

pub(crate) struct AutoAcceptUser;

#[async_trait]
impl Caller for AutoAcceptUser {
    fn session(&self) -> &str {
        "conformance"
    }

    fn capabilities(&self) -> &ClientCapabilities {
        static DECLARED: LazyLock<ClientCapabilities> = LazyLock::new(|| {
            ClientCapabilities::parse(r#"{"elicitation":{"form":{}},"sampling":{},"roots":{}}"#)
        });
        &DECLARED
    }

    fn wants_progress(&self) -> bool {
        true
    }

    fn progress(&self, params: &RawValue) {
        eprintln!("progress: {params}");
    }

    fn message(&self, params: &RawValue) {
        eprintln!("message: {params}");
    }

    async fn send_request(
        &self,
        method: &str,
        params: Option<&RawValue>,
    ) -> Result<Box<RawValue>, RpcError> {
        let params: Value = params
            .and_then(|params| serde_json::from_str(params.get()).ok())
            .unwrap_or_default();
        let response = match method {
            "elicitation/create" => json!({ "action": "accept", "content": filled_in(&params) }),
            "sampling/createMessage" => json!({
                "role": "assistant",
                "model": "none",
                "content": { "type": "text", "text": "yes" },
            }),
            _ => json!({ "roots": [] }),
        };
        Ok(to_raw_value(&response).unwrap_or_default())
    }
}

/// The defaults of a form, and sample values for other fields.
fn filled_in(params: &Value) -> Map<String, Value> {
    let fields = params["requestedSchema"]["properties"].as_object();
    let fill = |field: &Value| match (field.get("default"), field["type"].as_str()) {
        (Some(default), _) => default.clone(),
        (None, Some("boolean")) => json!(true),
        (None, Some("number" | "integer")) => json!(1),
        _ => json!("text"),
    };
    fields
        .into_iter()
        .flatten()
        .map(|(name, field)| (name.clone(), fill(field)))
        .collect()
}
