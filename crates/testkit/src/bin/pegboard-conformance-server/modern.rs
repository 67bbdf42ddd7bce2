//! The modern era, 2026-07-28: every request contains the client's info and capabilities.

use pegboard_jsonrpc::meta;
pub(crate) use pegboard_jsonrpc::meta::PROTOCOL_VERSION as VERSION_KEY;
pub(crate) use pegboard_jsonrpc::revision::MODERN as VERSION;
use serde_json::{Value, json};
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;

use crate::context::{EmissionSender, Inputs, Outcome, RequestContext, send, severity};
use crate::fixtures;
use crate::message::{
    INSTRUCTIONS, INVALID_PARAMS, MISSING_CAPABILITY, RpcError, UNSUPPORTED_VERSION, capabilities,
    identity, notification,
};
use crate::shared::{ChangeEvent, SharedState};

pub(crate) const LISTEN: &str = "subscriptions/listen";
/// Long enough to detect a client that ignores changes.
const TTL_MS: u64 = 60_000;

/// Whether a message belongs to this era.
pub(crate) fn is_modern(message: &Value) -> bool {
    message["method"] == "server/discover" || !message["params"]["_meta"][VERSION_KEY].is_null()
}

/// Checks the required members of a request.
pub(crate) fn check(params: &Value) -> Result<(), RpcError> {
    let meta = &params["_meta"];
    let Some(version) = meta[VERSION_KEY].as_str() else {
        return Err(RpcError::new(
            INVALID_PARAMS,
            format!("`_meta` has no `{VERSION_KEY}`"),
        ));
    };
    if !meta[meta::CLIENT_CAPABILITIES].is_object() {
        return Err(RpcError::new(
            INVALID_PARAMS,
            format!("`_meta` has no `{}`", meta::CLIENT_CAPABILITIES),
        ));
    }
    if version == VERSION {
        Ok(())
    } else {
        Err(unsupported(version))
    }
}

/// The error for an unsupported revision.
pub(crate) fn unsupported(version: &str) -> RpcError {
    RpcError::new(
        UNSUPPORTED_VERSION,
        format!("unsupported revision `{version}`"),
    )
    .with(json!({"supported": [VERSION], "requested": version}))
}

/// Responds to a checked request.
pub(crate) async fn answer(
    shared: &SharedState,
    method: &str,
    params: &Value,
    sender: EmissionSender,
) -> Result<Value, RpcError> {
    if method == "server/discover" {
        return Ok(complete(method, discovery()));
    }
    let meta = &params["_meta"];
    let context = RequestContext {
        params: params.clone(),
        capabilities: meta[meta::CLIENT_CAPABILITIES].clone(),
        log_from: meta[meta::LOG_LEVEL].as_str().and_then(severity),
        inputs: Inputs::read(params)?,
        sender,
    };
    match fixtures::answer(shared, method, &context).await {
        Outcome::Done(result) => Ok(complete(method, result)),
        Outcome::Refused(rpc_error) => Err(rpc_error),
        Outcome::InputRequired(ask) => {
            let undeclared = ask.undeclared(&context.capabilities);
            if !undeclared.is_empty() {
                return Err(RpcError::new(
                    MISSING_CAPABILITY,
                    "the client does not support the required input",
                )
                .with(json!({"requiredCapabilities": undeclared})));
            }
            let mut result = json!({
                "resultType": "input_required",
                "inputRequests": ask.requests,
                "_meta": {meta::SERVER_INFO: identity()},
            });
            if let Some(state) = ask.state {
                result["requestState"] = state.into();
            }
            Ok(result)
        }
    }
}

fn discovery() -> Value {
    json!({
        "supportedVersions": [VERSION],
        "capabilities": capabilities(),
        "instructions": INSTRUCTIONS,
    })
}

fn complete(method: &str, mut result: Value) -> Value {
    result["resultType"] = "complete".into();
    result["_meta"] = json!({meta::SERVER_INFO: identity()});
    if matches!(
        method,
        "server/discover"
            | "tools/list"
            | "prompts/list"
            | "resources/list"
            | "resources/templates/list"
            | "resources/read"
    ) {
        result["ttlMs"] = TTL_MS.into();
        result["cacheScope"] = "public".into();
    }
    result
}

/// Sends the subscribed notifications until the task is aborted.
pub(crate) async fn listen(
    mut changes: broadcast::Receiver<ChangeEvent>,
    id: &Value,
    params: &Value,
    sender: &EmissionSender,
) {
    let wanted = &params["notifications"];
    let accepted: serde_json::Map<String, Value> = [
        "toolsListChanged",
        "promptsListChanged",
        "resourcesListChanged",
        "resourceSubscriptions",
    ]
    .into_iter()
    .filter_map(|key| Some((key.to_owned(), wanted.get(key)?.clone())))
    .collect();
    notify(
        sender,
        id,
        "notifications/subscriptions/acknowledged",
        json!({"notifications": accepted}),
    );
    loop {
        match changes.recv().await {
            Ok(changes) => {
                if let Some(params) = notification_params(wanted, &changes) {
                    notify(sender, id, changes.method(), params);
                }
            }
            Err(RecvError::Lagged(_)) => {}
            Err(RecvError::Closed) => return,
        }
    }
}

/// The `params` of a notification, if the client subscribed to it.
fn notification_params(wanted: &Value, changes: &ChangeEvent) -> Option<Value> {
    let key = match changes {
        ChangeEvent::Tools => "toolsListChanged",
        ChangeEvent::Prompts => "promptsListChanged",
        ChangeEvent::Resources => "resourcesListChanged",
        ChangeEvent::Updated(uri) => {
            let watched = wanted["resourceSubscriptions"].as_array()?;
            return watched
                .iter()
                .any(|watched| watched == uri)
                .then(|| json!({"uri": uri}));
        }
    };
    (wanted[key] == true).then(|| json!({}))
}

fn notify(sender: &EmissionSender, id: &Value, method: &str, mut params: Value) {
    params["_meta"] = json!({meta::SUBSCRIPTION_ID: id});
    send(sender, notification(method, Some(params)));
}
