//! The legacy era, up to 2025-11-25: sessions that request input during a call.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use pegboard_jsonrpc::revision;
use serde_json::{Map, Value, json};
use tokio::sync::oneshot;

use crate::context::{
    EmissionSender, InputRequired, Inputs, Outcome, RequestContext, send, severity,
};
use crate::fixtures;
use crate::message::{
    INSTRUCTIONS, INTERNAL_ERROR, INVALID_PARAMS, RpcError, capabilities, identity, notification,
};
use crate::shared::{ChangeEvent, SharedState};

/// Largest number of input rounds in one call.
const MAX_ROUNDS: usize = 5;
/// Timeout of a request to the client.
const INPUT_TIMEOUT: Duration = Duration::from_secs(60);

pub(crate) fn is_legacy_version(version: &str) -> bool {
    revision::LEGACY_REVISIONS.contains(&version)
}

/// The state of one client.
pub(crate) struct Session {
    version: &'static str,
    capabilities: Value,
    log_from: Mutex<usize>,
    watched: Mutex<HashSet<String>>,
    /// Pending requests to the client, by id.
    waiting: Mutex<HashMap<String, oneshot::Sender<Value>>>,
    asked: AtomicU64,
}

impl Session {
    /// Creates a session from the `params` of `initialize`.
    pub(crate) fn open(params: &Value) -> Self {
        let wanted = params["protocolVersion"].as_str().unwrap_or_default();
        let version = revision::LEGACY_REVISIONS
            .iter()
            .copied()
            .find(|version| *version == wanted)
            .unwrap_or(revision::LATEST_LEGACY);
        Self {
            version,
            capabilities: params["capabilities"].clone(),
            log_from: Mutex::new(severity("info").unwrap_or_default()),
            watched: Mutex::default(),
            waiting: Mutex::default(),
            asked: AtomicU64::new(1),
        }
    }

    /// The result of `initialize`.
    pub(crate) fn greeting(&self) -> Value {
        json!({
            "protocolVersion": self.version,
            "capabilities": capabilities(),
            "serverInfo": identity(),
            "instructions": INSTRUCTIONS,
        })
    }

    /// Whether streams begin with an event that contains only an id, which older clients do not expect.
    pub(crate) fn is_primed(&self) -> bool {
        self.version == "2025-11-25"
    }

    /// Responds to a request; requests to the client use the same sender.
    pub(crate) async fn answer(
        &self,
        shared: &SharedState,
        method: &str,
        params: &Value,
        sender: EmissionSender,
    ) -> Result<Value, RpcError> {
        match method {
            "ping" => Ok(json!({})),
            "logging/setLevel" => self.set_level(params),
            "resources/subscribe" => self.watch(params, true),
            "resources/unsubscribe" => self.watch(params, false),
            _ => self.drive(shared, method, params, sender).await,
        }
    }

    /// Repeats a step until it needs no more input.
    async fn drive(
        &self,
        shared: &SharedState,
        method: &str,
        params: &Value,
        sender: EmissionSender,
    ) -> Result<Value, RpcError> {
        let mut context = RequestContext {
            params: params.clone(),
            capabilities: self.capabilities.clone(),
            log_from: Some(*lock(&self.log_from)),
            inputs: Inputs::default(),
            sender,
        };
        for _ in 0..MAX_ROUNDS {
            match fixtures::answer(shared, method, &context).await {
                Outcome::Done(result) => return Ok(result),
                Outcome::Refused(rpc_error) => return Err(rpc_error),
                Outcome::InputRequired(ask) => match self.ask_all(ask, &context.sender).await {
                    Ok(inputs) => context.inputs = inputs,
                    Err(problem) if method == "tools/call" => return Ok(failure(&problem)),
                    Err(problem) => return Err(RpcError::new(INTERNAL_ERROR, problem)),
                },
            }
        }
        Ok(failure("the client did not provide the requested input"))
    }

    async fn ask_all(&self, ask: InputRequired, sender: &EmissionSender) -> Result<Inputs, String> {
        let undeclared = ask.undeclared(&self.capabilities);
        if !undeclared.is_empty() {
            let names: Vec<String> = undeclared.into_iter().map(|(name, _)| name).collect();
            return Err(format!("the client does not support {}", names.join(", ")));
        }
        let mut responses = Map::new();
        for (key, request) in ask.requests {
            responses.insert(key, self.ask(request, sender).await?);
        }
        Ok(Inputs {
            responses,
            state: ask.state,
        })
    }

    async fn ask(&self, mut request: Value, sender: &EmissionSender) -> Result<Value, String> {
        let id = format!("request-{}", self.asked.fetch_add(1, Ordering::SeqCst));
        let (answered, response) = oneshot::channel();
        lock(&self.waiting).insert(id.clone(), answered);
        request["jsonrpc"] = "2.0".into();
        request["id"] = id.clone().into();
        send(sender, request);
        let reply = tokio::time::timeout(INPUT_TIMEOUT, response).await;
        lock(&self.waiting).remove(&id);
        match reply {
            Ok(Ok(mut reply)) if reply.get("result").is_some() => Ok(reply["result"].take()),
            Ok(Ok(reply)) => Err(format!("the client refused: {}", reply["error"]["message"])),
            _ => Err("the client did not respond".to_owned()),
        }
    }

    /// Passes a client's reply to the pending request.
    pub(crate) fn take_reply(&self, reply: Value) {
        let waiting = reply["id"]
            .as_str()
            .and_then(|id| lock(&self.waiting).remove(id));
        if let Some(waiting) = waiting {
            // The call may have been cancelled.
            let _ = waiting.send(reply);
        }
    }

    /// The notification for a change, if this client subscribed to it.
    pub(crate) fn notification_for(&self, changes: &ChangeEvent) -> Option<Value> {
        let params = match changes {
            ChangeEvent::Updated(uri) if lock(&self.watched).contains(*uri) => {
                Some(json!({"uri": uri}))
            }
            ChangeEvent::Updated(_) => return None,
            _ => None,
        };
        Some(notification(changes.method(), params))
    }

    fn set_level(&self, params: &Value) -> Result<Value, RpcError> {
        let level = params["level"].as_str().unwrap_or_default();
        let Some(from) = severity(level) else {
            return Err(RpcError::new(
                INVALID_PARAMS,
                format!("unknown level `{level}`"),
            ));
        };
        *lock(&self.log_from) = from;
        Ok(json!({}))
    }

    fn watch(&self, params: &Value, watch: bool) -> Result<Value, RpcError> {
        let Some(uri) = params["uri"].as_str() else {
            return Err(RpcError::new(INVALID_PARAMS, "`uri` is missing"));
        };
        if watch {
            lock(&self.watched).insert(uri.to_owned());
        } else {
            lock(&self.watched).remove(uri);
        }
        Ok(json!({}))
    }
}

fn failure(problem: &str) -> Value {
    json!({"content": [{"type": "text", "text": problem}], "isError": true})
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
