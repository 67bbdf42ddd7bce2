//! `subscriptions/listen`: a request that stays open and delivers change notifications.

use pegboard_model::ServerName;
use serde::Deserialize;

use crate::dispatch::{HandlerResult, RequestContext, RequestError};
use crate::offers::{ResourceWatch, resource};
use crate::subscribers::SubscriptionFilter;

/// Handles `subscriptions/listen`. Runs until the client or the program ends it.
pub(crate) async fn listen(ctx: &RequestContext<'_>) -> HandlerResult {
    #[derive(Default, Deserialize)]
    #[serde(default, rename_all = "camelCase")]
    struct RequestedNotifications {
        tools_list_changed: bool,
        prompts_list_changed: bool,
        resources_list_changed: bool,
        resource_subscriptions: Vec<String>,
    }
    #[derive(Deserialize)]
    struct ListenParams {
        notifications: RequestedNotifications,
    }
    let params: ListenParams = serde_json::from_str(ctx.message.payload())
        .map_err(|error| RequestError::invalid(format!("invalid `notifications`: {error}")))?;
    let requested = params.notifications;
    let shared = &ctx.conversation.shared;
    if requested.resource_subscriptions.len() > shared.limits.subscriptions_per_session {
        let most = shared.limits.subscriptions_per_session;
        let why = format!("at most {most} resources can be watched at once");
        return Err(RequestError::invalid(why));
    }
    let surface = ctx.handshake_surface();
    let mut filter = SubscriptionFilter {
        tools: requested.tools_list_changed && surface.declares("tools"),
        prompts: requested.prompts_list_changed && surface.declares("prompts"),
        resource_list: requested.resources_list_changed && surface.declares("resources"),
        resources: Vec::new(),
    };
    let mut watched = Vec::new();
    for uri in requested.resource_subscriptions {
        // Resources that cannot be watched are left out of the acknowledgement.
        let Ok((server, own)) = resource(ctx, &uri) else {
            continue;
        };
        if let Ok(watch) = ResourceWatch::begin(ctx, server, own).await {
            watched.push(watch);
            filter.resources.push(uri);
        }
    }
    let agreed = acknowledged(ctx, &filter);
    let (profile, sink) = (&ctx.conversation.profile, ctx.sink);
    sink.send(agreed);
    let _listening = shared
        .subscribers
        .add(shared, profile, Some(ctx.id), filter, sink, None);
    // The client ends it by closing the stream or cancelling the request.
    std::future::pending::<()>().await;
    drop(watched);
    Ok(bytes::Bytes::from_static(b"{\"resultType\":\"complete\"}"))
}

fn acknowledged(ctx: &RequestContext<'_>, filter: &SubscriptionFilter) -> String {
    let mut agreed = serde_json::Map::new();
    for (key, is_agreed) in [
        ("toolsListChanged", filter.tools),
        ("promptsListChanged", filter.prompts),
        ("resourcesListChanged", filter.resource_list),
    ] {
        if is_agreed {
            agreed.insert(key.to_owned(), true.into());
        }
    }
    if !filter.resources.is_empty() {
        let resources = filter.resources.clone().into();
        agreed.insert("resourceSubscriptions".to_owned(), resources);
    }
    format!(
        r#"{{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{{"_meta":{{"io.modelcontextprotocol/subscriptionId":{}}},"notifications":{}}}}}"#,
        ctx.id.get(),
        serde_json::Value::Object(agreed)
    )
}

/// A server and its own URI of a resource.
pub(crate) type ResourceLocation = (ServerName, String);
