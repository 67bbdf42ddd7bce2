//! The context of a fixture: the request, the client's inputs, and a sender for messages.

use serde_json::{Map, Value, json};
use tokio::sync::mpsc;

use crate::message::{INVALID_PARAMS, RpcError, notification};

/// From the least to the most severe.
const LEVELS: [&str; 8] = [
    "debug",
    "info",
    "notice",
    "warning",
    "error",
    "critical",
    "alert",
    "emergency",
];

/// The severity of a level; `None` for an unknown level.
pub(crate) fn severity(level: &str) -> Option<usize> {
    LEVELS.iter().position(|known| *known == level)
}

/// Output to the client during a request.
#[derive(Debug)]
pub(crate) enum Emission {
    Message(Value),
    /// The response is sent as a stream even without earlier messages.
    OpenStream,
    /// The stream is closed before the response; the client must reconnect (SEP-1699).
    CutStream,
}

pub(crate) type EmissionSender = mpsc::UnboundedSender<Emission>;

/// Sends a message; ignored if the client disconnected.
pub(crate) fn send(sender: &EmissionSender, message: Value) {
    let _ = sender.send(Emission::Message(message));
}

/// The outcome of a step.
#[derive(Debug)]
pub(crate) enum Outcome {
    Done(Value),
    /// The client must provide input first.
    InputRequired(InputRequired),
    Refused(RpcError),
}

/// Requests for input, by key, with the server's state.
#[derive(Debug, Default)]
pub(crate) struct InputRequired {
    pub(crate) requests: Map<String, Value>,
    pub(crate) state: Option<String>,
}

impl InputRequired {
    /// Required capabilities that the client did not declare.
    pub(crate) fn undeclared(&self, capabilities: &Value) -> Map<String, Value> {
        self.requests
            .values()
            .filter_map(|request| match request["method"].as_str()? {
                "elicitation/create" => Some("elicitation"),
                "sampling/createMessage" => Some("sampling"),
                "roots/list" => Some("roots"),
                _ => None,
            })
            .filter(|needed| !capabilities[*needed].is_object())
            .map(|needed| (needed.to_owned(), json!({})))
            .collect()
    }
}

/// The client's responses to an earlier step.
#[derive(Clone, Debug, Default)]
pub(crate) struct Inputs {
    pub(crate) responses: Map<String, Value>,
    pub(crate) state: Option<String>,
}

impl Inputs {
    /// Parses them from a repeated request.
    pub(crate) fn read(params: &Value) -> Result<Self, RpcError> {
        let responses = match params.get("inputResponses") {
            None => Map::new(),
            Some(Value::Object(map)) => map.clone(),
            Some(_) => {
                return Err(RpcError::new(
                    INVALID_PARAMS,
                    "`inputResponses` is not an object",
                ));
            }
        };
        let state = match params.get("requestState") {
            None => None,
            Some(Value::String(state)) => Some(state.clone()),
            Some(_) => {
                return Err(RpcError::new(
                    INVALID_PARAMS,
                    "`requestState` is not a string",
                ));
            }
        };
        Ok(Self { responses, state })
    }

    /// The content of an accepted elicitation.
    pub(crate) fn accepted(&self, key: &str) -> Option<&Value> {
        let response = self.responses.get(key)?;
        (response["action"] == "accept" && response["content"].is_object())
            .then(|| &response["content"])
    }

    /// Whether the user declined.
    pub(crate) fn declined(&self, key: &str) -> bool {
        matches!(
            self.responses
                .get(key)
                .and_then(|response| response["action"].as_str()),
            Some("decline" | "cancel")
        )
    }

    /// The text of a sampling response.
    pub(crate) fn sampled(&self, key: &str) -> Option<&str> {
        self.responses.get(key)?["content"]["text"].as_str()
    }

    /// The client's roots.
    pub(crate) fn roots(&self, key: &str) -> Option<&Vec<Value>> {
        self.responses.get(key)?["roots"].as_array()
    }
}

/// The context of a request.
pub(crate) struct RequestContext {
    pub(crate) params: Value,
    /// The client's capabilities.
    pub(crate) capabilities: Value,
    /// The lowest severity to send; `None` for no log messages.
    pub(crate) log_from: Option<usize>,
    pub(crate) inputs: Inputs,
    pub(crate) sender: EmissionSender,
}

impl RequestContext {
    /// A string argument of a tool or prompt.
    pub(crate) fn argument(&self, name: &str) -> Option<&str> {
        self.params["arguments"][name].as_str()
    }

    pub(crate) fn log(&self, level: &str, data: &str) {
        if severity(level) >= self.log_from && self.log_from.is_some() {
            let params = json!({"level": level, "logger": "conformance", "data": data});
            send(
                &self.sender,
                notification("notifications/message", Some(params)),
            );
        }
    }

    /// Sends progress, if the client requested it.
    pub(crate) fn progress(&self, progress: u32, total: u32) {
        let token = &self.params["_meta"]["progressToken"];
        if !token.is_null() {
            let params = json!({"progressToken": token, "progress": progress, "total": total});
            send(
                &self.sender,
                notification("notifications/progress", Some(params)),
            );
        }
    }
}
