//! One step of answering a request: what a fixture knows, and what it may send meanwhile.

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

/// How severe a level is; `None` when there is no such level.
pub(crate) fn severity(level: &str) -> Option<usize> {
    LEVELS.iter().position(|known| *known == level)
}

/// What goes to the client while a request is answered.
#[derive(Debug)]
pub(crate) enum Emission {
    Message(Value),
    /// The answer comes as a stream even when nothing else is sent before it.
    OpenStream,
    /// The stream is closed before the answer; the client has to come back for it (SEP-1699).
    CutStream,
}

pub(crate) type EmissionSender = mpsc::UnboundedSender<Emission>;

/// Sends; a client that has gone away misses it.
pub(crate) fn send(sender: &EmissionSender, message: Value) {
    let _ = sender.send(Emission::Message(message));
}

/// How a step ends.
#[derive(Debug)]
pub(crate) enum Outcome {
    Done(Value),
    /// The client has to answer first.
    InputRequired(InputRequired),
    Refused(RpcError),
}

/// Questions to the client, by key, and what the server has to remember until they are answered.
#[derive(Debug, Default)]
pub(crate) struct InputRequired {
    pub(crate) requests: Map<String, Value>,
    pub(crate) state: Option<String>,
}

impl InputRequired {
    /// The capabilities that these questions need and the client did not declare.
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

/// The client's answers to an earlier step.
#[derive(Clone, Debug, Default)]
pub(crate) struct Inputs {
    pub(crate) responses: Map<String, Value>,
    pub(crate) state: Option<String>,
}

impl Inputs {
    /// Reads them from a request that was made again.
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

    /// The content of an elicitation that was accepted.
    pub(crate) fn accepted(&self, key: &str) -> Option<&Value> {
        let response = self.responses.get(key)?;
        (response["action"] == "accept" && response["content"].is_object())
            .then(|| &response["content"])
    }

    /// Whether the user said no.
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

    /// The roots the client told.
    pub(crate) fn roots(&self, key: &str) -> Option<&Vec<Value>> {
        self.responses.get(key)?["roots"].as_array()
    }
}

/// What a fixture knows of the request it answers.
pub(crate) struct RequestContext {
    pub(crate) params: Value,
    /// What the client declared.
    pub(crate) capabilities: Value,
    /// The least severity the client wants to hear of; `None` is silence.
    pub(crate) log_from: Option<usize>,
    pub(crate) inputs: Inputs,
    pub(crate) sender: EmissionSender,
}

impl RequestContext {
    /// A text argument of a tool or prompt.
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

    /// Tells progress, when the client asked for it.
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
