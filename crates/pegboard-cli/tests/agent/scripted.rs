//! A scripted model, and an agent that asks it.

use std::sync::{Arc, Mutex};

use pegboard::agent::{
    Agent, AgentEvent, Anthropic, CancellationToken, Conversation, OpenAi, Provider, Retry,
    RunReport,
};
use pegboard::{Pegboard, Secret};
use pegboard_testkit::{ModelScript, ModelServer};
use serde_json::{Value, json};

/// An API key that must not leak.
pub(crate) const KEY: &str = "sk-planted-canary-7f3a";

/// The protocols that the scripted model speaks.
pub(crate) const BOTH: [ModelApi; 2] = [ModelApi::Anthropic, ModelApi::OpenAi];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ModelApi {
    Anthropic,
    OpenAi,
}

/// Returns a model with these turns.
pub(crate) fn model(turns: Value) -> ModelServer {
    ModelServer::start(ModelScript::of(json!({"turns": turns})))
}

pub(crate) fn provider(api: ModelApi, server: &ModelServer) -> Arc<dyn Provider> {
    let key = Secret::new(KEY);
    match api {
        ModelApi::Anthropic => Arc::new(
            Anthropic::new("m-1", &key, Some(&server.anthropic_url())).expect("a provider"),
        ),
        ModelApi::OpenAi => {
            Arc::new(OpenAi::new("m-1", &key, Some(&server.openai_url())).expect("a provider"))
        }
    }
}

/// Returns an agent with short retry delays.
pub(crate) fn agent(pegboard: &Pegboard, api: ModelApi, server: &ModelServer) -> Agent {
    let retry = Retry {
        pause: std::time::Duration::from_millis(1),
        ..Retry::default()
    };
    Agent::over(pegboard.hub().clone(), provider(api, server)).retry(retry)
}

/// Runs one task in a new conversation and returns all events.
pub(crate) async fn run_task(agent: &Agent, task: &str) -> (RunReport, Vec<AgentEvent>) {
    let mut conversation = Conversation::new();
    continue_conversation(agent, &mut conversation, task).await
}

pub(crate) async fn continue_conversation(
    agent: &Agent,
    conversation: &mut Conversation,
    task: &str,
) -> (RunReport, Vec<AgentEvent>) {
    let events = Mutex::new(Vec::new());
    let on_event = |event: AgentEvent| events.lock().expect("no panic").push(event);
    let run = agent
        .run(conversation, task, &CancellationToken::new(), &on_event)
        .await;
    (run, events.into_inner().expect("no panic"))
}

/// Returns the tool results of the last request: the text, and whether it is marked as an error.
pub(crate) fn results(server: &ModelServer) -> Vec<(String, bool)> {
    let requests = server.requests();
    let body = &requests.last().expect("a request").body;
    match body["messages"].as_array() {
        Some(messages) => {
            let blocks = messages.last().expect("a message")["content"].clone();
            let blocks = blocks.as_array().cloned().unwrap_or_default();
            let results = blocks.iter().filter(|b| b["type"] == "tool_result");
            results
                .map(|b| (b["content"].to_string(), b["is_error"] == true))
                .collect()
        }
        None => {
            let items = body["input"].as_array().cloned().unwrap_or_default();
            let outputs = items.iter().rev();
            let outputs = outputs.take_while(|item| {
                let kind = item["type"].as_str().unwrap_or_default();
                kind.ends_with("_output")
            });
            let mut found: Vec<(String, bool)> = outputs
                .map(|item| {
                    let text = match item["type"] == "tool_search_output" {
                        true => item["tools"].to_string(),
                        false => item["output"].as_str().unwrap_or_default().to_owned(),
                    };
                    let is_error = text.ends_with(']') && text.contains(" [");
                    (text, is_error)
                })
                .collect();
            found.reverse();
            found
        }
    }
}
