//! `subscriptions/listen`: a request that stays open and carries what changes.

use pegboard_model::ServerName;
use serde::Deserialize;

use crate::dispatch::{Answered, Asked, Fault};
use crate::listeners::Wants;
use crate::offers::{Watched, resource};

/// Listens until the client or we go away.
pub(crate) async fn listen(asked: &Asked<'_>) -> Answered {
    #[derive(Default, Deserialize)]
    #[serde(default, rename_all = "camelCase")]
    struct Filter {
        tools_list_changed: bool,
        prompts_list_changed: bool,
        resources_list_changed: bool,
        resource_subscriptions: Vec<String>,
    }
    #[derive(Deserialize)]
    struct Wish {
        notifications: Filter,
    }
    let wish: Wish = serde_json::from_str(asked.message.payload())
        .map_err(|error| Fault::invalid(format!("`notifications` cannot be read: {error}")))?;
    let filter = wish.notifications;
    let shared = &asked.conversation.shared;
    if filter.resource_subscriptions.len() > shared.limits.subscriptions_per_session {
        let most = shared.limits.subscriptions_per_session;
        let why = format!("at most {most} resources can be watched at once");
        return Err(Fault::invalid(why));
    }
    let surface = asked.outline();
    let mut wants = Wants {
        tools: filter.tools_list_changed && surface.declares("tools"),
        prompts: filter.prompts_list_changed && surface.declares("prompts"),
        resource_list: filter.resources_list_changed && surface.declares("resources"),
        resources: Vec::new(),
    };
    let mut watched = Vec::new();
    for uri in filter.resource_subscriptions {
        // What cannot be watched is left out of what is agreed to.
        let Ok((server, own)) = resource(asked, &uri) else {
            continue;
        };
        if let Ok(watch) = Watched::begin(asked, server, own).await {
            watched.push(watch);
            wants.resources.push(uri);
        }
    }
    let agreed = acknowledged(asked, &wants);
    let (profile, outlet) = (&asked.conversation.profile, asked.outlet);
    outlet.send(agreed);
    let _listening = shared
        .listeners
        .add(shared, profile, Some(asked.id), wants, outlet, None);
    // The client ends it by closing the stream or by taking the request back.
    std::future::pending::<()>().await;
    drop(watched);
    Ok(bytes::Bytes::from_static(b"{\"resultType\":\"complete\"}"))
}

fn acknowledged(asked: &Asked<'_>, wants: &Wants) -> String {
    let mut agreed = serde_json::Map::new();
    for (key, is_agreed) in [
        ("toolsListChanged", wants.tools),
        ("promptsListChanged", wants.prompts),
        ("resourcesListChanged", wants.resource_list),
    ] {
        if is_agreed {
            agreed.insert(key.to_owned(), true.into());
        }
    }
    if !wants.resources.is_empty() {
        let resources = wants.resources.clone().into();
        agreed.insert("resourceSubscriptions".to_owned(), resources);
    }
    format!(
        r#"{{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{{"_meta":{{"io.modelcontextprotocol/subscriptionId":{}}},"notifications":{}}}}}"#,
        asked.id.get(),
        serde_json::Value::Object(agreed)
    )
}

/// A server and its own uri.
pub(crate) type Place = (ServerName, String);
