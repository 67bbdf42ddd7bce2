//! The stateless era, 2026-07-28: every request says who asks and what it can do.

use serde_json::{Value, json};
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;

use crate::fixtures;
use crate::message::{
    INSTRUCTIONS, INVALID_PARAMS, MISSING_CAPABILITY, Refusal, UNSUPPORTED_VERSION, capabilities,
    identity, notification,
};
use crate::turn::{Inputs, Outcome, Outlet, Turn, send, severity};
use crate::world::{News, World};

pub(crate) const VERSION: &str = "2026-07-28";
pub(crate) const VERSION_KEY: &str = "io.modelcontextprotocol/protocolVersion";
const CAPABILITIES_KEY: &str = "io.modelcontextprotocol/clientCapabilities";
const LOG_LEVEL_KEY: &str = "io.modelcontextprotocol/logLevel";
const SERVER_INFO_KEY: &str = "io.modelcontextprotocol/serverInfo";
const SUBSCRIPTION_KEY: &str = "io.modelcontextprotocol/subscriptionId";

pub(crate) const LISTEN: &str = "subscriptions/listen";
/// Long enough that a client which ignores changes is found out.
const TTL_MS: u64 = 60_000;

/// Whether a message is meant for this era.
pub(crate) fn is_modern(message: &Value) -> bool {
    message["method"] == "server/discover" || !message["params"]["_meta"][VERSION_KEY].is_null()
}

/// Whether a request says what every request has to say.
pub(crate) fn check(params: &Value) -> Result<(), Refusal> {
    let meta = &params["_meta"];
    let Some(version) = meta[VERSION_KEY].as_str() else {
        return Err(Refusal::new(
            INVALID_PARAMS,
            format!("`_meta` has no `{VERSION_KEY}`"),
        ));
    };
    if !meta[CAPABILITIES_KEY].is_object() {
        return Err(Refusal::new(
            INVALID_PARAMS,
            format!("`_meta` has no `{CAPABILITIES_KEY}`"),
        ));
    }
    if version == VERSION {
        Ok(())
    } else {
        Err(unsupported(version))
    }
}

/// The refusal of a revision this era does not speak.
pub(crate) fn unsupported(version: &str) -> Refusal {
    Refusal::new(
        UNSUPPORTED_VERSION,
        format!("revision `{version}` is not spoken here"),
    )
    .with(json!({"supported": [VERSION], "requested": version}))
}

/// Answers a request that was checked.
pub(crate) async fn answer(
    world: &World,
    method: &str,
    params: &Value,
    outlet: Outlet,
) -> Result<Value, Refusal> {
    if method == "server/discover" {
        return Ok(complete(method, discovery()));
    }
    let meta = &params["_meta"];
    let turn = Turn {
        params: params.clone(),
        capabilities: meta[CAPABILITIES_KEY].clone(),
        log_from: meta[LOG_LEVEL_KEY].as_str().and_then(severity),
        inputs: Inputs::read(params)?,
        outlet,
    };
    match fixtures::answer(world, method, &turn).await {
        Outcome::Done(result) => Ok(complete(method, result)),
        Outcome::Refused(refusal) => Err(refusal),
        Outcome::Ask(ask) => {
            let undeclared = ask.undeclared(&turn.capabilities);
            if !undeclared.is_empty() {
                return Err(Refusal::new(
                    MISSING_CAPABILITY,
                    "the client cannot answer what has to be asked",
                )
                .with(json!({"requiredCapabilities": undeclared})));
            }
            let mut result = json!({
                "resultType": "input_required",
                "inputRequests": ask.requests,
                "_meta": {SERVER_INFO_KEY: identity()},
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
    result["_meta"] = json!({SERVER_INFO_KEY: identity()});
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

/// Tells the client what it wants to hear of, until the task is ended.
pub(crate) async fn listen(
    mut news: broadcast::Receiver<News>,
    id: &Value,
    params: &Value,
    outlet: &Outlet,
) {
    let wanted = &params["notifications"];
    let agreed: serde_json::Map<String, Value> = [
        "toolsListChanged",
        "promptsListChanged",
        "resourcesListChanged",
        "resourceSubscriptions",
    ]
    .into_iter()
    .filter_map(|key| Some((key.to_owned(), wanted.get(key)?.clone())))
    .collect();
    tell(
        outlet,
        id,
        "notifications/subscriptions/acknowledged",
        json!({"notifications": agreed}),
    );
    loop {
        match news.recv().await {
            Ok(news) => {
                if let Some(params) = heard(wanted, &news) {
                    tell(outlet, id, news.method(), params);
                }
            }
            Err(RecvError::Lagged(_)) => {}
            Err(RecvError::Closed) => return,
        }
    }
}

/// The `params` of the notification, when the client wants it.
fn heard(wanted: &Value, news: &News) -> Option<Value> {
    let key = match news {
        News::Tools => "toolsListChanged",
        News::Prompts => "promptsListChanged",
        News::Resources => "resourcesListChanged",
        News::Updated(uri) => {
            let watched = wanted["resourceSubscriptions"].as_array()?;
            return watched
                .iter()
                .any(|watched| watched == uri)
                .then(|| json!({"uri": uri}));
        }
    };
    (wanted[key] == true).then(|| json!({}))
}

fn tell(outlet: &Outlet, id: &Value, method: &str, mut params: Value) {
    params["_meta"] = json!({SUBSCRIPTION_KEY: id});
    send(outlet, notification(method, Some(params)));
}
