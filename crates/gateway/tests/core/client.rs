//! An in-process client of either era.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use pegboard_gateway::{
    Conversation, Gateway, GatewaySettings, Message, MessageSink, Mode, Profile,
};
use pegboard_hub::Hub;
use pegboard_model::Limits;
use pegboard_testkit::wait_until;
use serde_json::{Value, json};

use crate::fake::{Server, Servers, hub};

pub(crate) fn settings(profiles: &[(&str, Profile)]) -> GatewaySettings {
    let profiles = profiles
        .iter()
        .map(|(name, profile)| ((*name).to_owned(), profile.clone()));
    GatewaySettings {
        profiles: profiles.collect(),
        result_tokens: 25_000,
        key: [7; 32],
        version: "1.2.3".to_owned(),
        limits: Limits::default(),
    }
}

pub(crate) fn profile(servers: &[&str], mode: Mode) -> Profile {
    Profile {
        servers: servers.iter().map(|server| (*server).to_owned()).collect(),
        mode,
        ..Profile::default()
    }
}

/// A gateway over servers whose tools are known.
pub(crate) async fn gateway(
    servers: Vec<Server>,
    profiles: &[(&str, Profile)],
) -> (Gateway, Arc<Servers>) {
    let (hub, all) = hub(servers).await;
    hub.ensure_known().await;
    (Gateway::new(hub, settings(profiles)), all)
}

pub(crate) fn over(hub: Hub) -> Gateway {
    Gateway::new(hub, settings(&[]))
}

/// Messages sent to the client other than responses.
#[derive(Default)]
pub(crate) struct Inbox(Mutex<Vec<Value>>);

impl Inbox {
    pub(crate) fn all(&self) -> Vec<Value> {
        self.0.lock().unwrap().clone()
    }

    pub(crate) fn of(&self, method: &str) -> Vec<Value> {
        self.all()
            .into_iter()
            .filter(|message| message["method"] == method)
            .collect()
    }

    /// Waits for a message of a method.
    pub(crate) async fn wait(&self, method: &str) -> Value {
        wait_until(method, Duration::from_secs(30), || {
            !self.of(method).is_empty()
        })
        .await;
        self.of(method).remove(0)
    }
}

impl MessageSink for Inbox {
    fn send(&self, message: String) -> bool {
        self.0
            .lock()
            .unwrap()
            .push(serde_json::from_str(&message).unwrap());
        true
    }
}

#[derive(Clone)]
pub(crate) struct Client {
    pub(crate) conversation: Arc<Conversation>,
    pub(crate) inbox: Arc<Inbox>,
    capabilities: Option<Value>,
}

impl Client {
    /// A client of 2026-07-28.
    pub(crate) fn modern(gateway: &Gateway, profile: &str, capabilities: Value) -> Self {
        Self {
            conversation: gateway.begin(profile).unwrap(),
            inbox: Arc::default(),
            capabilities: Some(capabilities),
        }
    }

    /// A client after the legacy handshake.
    pub(crate) async fn legacy(gateway: &Gateway, profile: &str, capabilities: Value) -> Self {
        let client = Self::silent(gateway.begin(profile).unwrap());
        let opening = json!({
            "protocolVersion": "2025-11-25",
            "capabilities": capabilities,
            "clientInfo": {"name": "test", "version": "1"},
        });
        client.result("initialize", opening).await;
        client
    }

    /// A client that has not sent anything.
    pub(crate) fn silent(conversation: Arc<Conversation>) -> Self {
        Self {
            conversation,
            inbox: Arc::default(),
            capabilities: None,
        }
    }

    /// Sends a request and returns the bytes of the response.
    pub(crate) async fn bytes(
        &self,
        id: Value,
        method: &str,
        mut params: Value,
    ) -> Option<(Bytes, u16)> {
        if let Some(capabilities) = &self.capabilities {
            params["_meta"]["io.modelcontextprotocol/protocolVersion"] = "2026-07-28".into();
            params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = capabilities.clone();
        }
        let message = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        let message = Message::parse(message.to_string().into()).ok().unwrap();
        let sink: Arc<dyn MessageSink> = self.inbox.clone();
        let response = self.conversation.clone().handle(message, sink).await?;
        let status = response.status;
        Some((response.into_bytes(), status))
    }

    pub(crate) async fn answer(&self, method: &str, params: Value) -> Value {
        let (bytes, _) = self.bytes(json!("r"), method, params).await.unwrap();
        serde_json::from_slice(&bytes).unwrap()
    }

    pub(crate) async fn result(&self, method: &str, params: Value) -> Value {
        let answer = self.answer(method, params).await;
        assert!(answer.get("error").is_none(), "{method}: {answer}");
        answer["result"].clone()
    }

    pub(crate) async fn error(&self, method: &str, params: Value) -> Value {
        let answer = self.answer(method, params).await;
        assert!(answer.get("result").is_none(), "{method}: {answer}");
        answer["error"].clone()
    }

    pub(crate) async fn call(&self, tool: &str, arguments: Value) -> Value {
        self.result("tools/call", json!({"name": tool, "arguments": arguments}))
            .await
    }

    /// The text of a call's result.
    pub(crate) async fn text(&self, tool: &str, arguments: Value) -> String {
        let result = self.call(tool, arguments).await;
        result["content"][0]["text"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    }

    /// Sends a notification, or the response to a request.
    pub(crate) fn notify(&self, message: Value) {
        let message = Message::parse(message.to_string().into()).ok().unwrap();
        self.conversation.receive(message);
    }
}

pub(crate) fn names(list: &Value) -> Vec<String> {
    let tools = list["tools"].as_array().unwrap();
    tools
        .iter()
        .map(|tool| tool["name"].as_str().unwrap().to_owned())
        .collect()
}
