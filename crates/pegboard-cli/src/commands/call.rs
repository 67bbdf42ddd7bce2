//! `pegboard call`: calls one tool and starts only its server.

use std::io::Read;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use pegboard_catalog::{Catalog, ServerEntry};
use pegboard_guard::parse_arguments;
use pegboard_hub::{
    ApprovalPrompt, Approver, CallRequest, Hub, PromptResponse, RefreshScope, SessionId,
};
use pegboard_model::{Event, EventKind, Reason, ToolError, UntrustedText};
use pegboard_upstream::{adopt_orphans, start_watcher_early};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use tokio::sync::broadcast::error::RecvError;

use super::tool_lookup::{catalog_with, refuse_broken};
use super::{CommandResult, Global, Output, builder, load_config, open, serving, with_servers};
use crate::args::CallArgs;
use crate::failure::Failure;
use crate::prompts::{ask, can_ask};

/// The time that the command waits for a refresh of the server's tool list after the call.
const RENEWAL_TIMEOUT: Duration = Duration::from_secs(2);

pub(crate) fn run(args: &CallArgs, global: &Global, output: &Output) -> CommandResult {
    let configuration = load_config(global, output)?;
    refuse_broken(&args.tool, &configuration)?;
    adopt_orphans();
    start_watcher_early();
    let builder = builder(global)
        .approver(TerminalApprover { yes: args.yes })
        .only_tool(args.tool.clone());
    // One call to one server does not justify starting a second thread.
    serving(async {
        let pegboard = open(configuration, builder, output).await?;
        with_servers(pegboard, |hub| async move {
            let catalog = catalog_with(&args.tool, &hub).await?;
            let arguments = arguments(args, &catalog)?;
            let text = Value::Object(arguments).to_string();
            let arguments = RawValue::from_string(text).map_err(not_json)?;
            let session = SessionId("cli".to_owned());
            let (events, mut mismatches) = (hub.subscribe(), hub.subscribe());
            // Prepare the activity log while the server starts.
            hub.prepare_activity();
            let mut request = CallRequest::new(session, args.tool.clone(), arguments);
            // The session has only this call.
            request.is_lasting = false;
            let call = hub.call(&request);
            let outcome = tokio::select! {
                outcome = call => outcome?,
                never = report_pending_approvals(events, output) => match never {},
            };
            show(&outcome.result, output)?;
            warn_of_mismatch(&mut mismatches, output);
            renew_if_stale(&catalog, &args.tool, &hub).await;
            release(&catalog, &args.tool, &hub);
            if outcome.is_error {
                Err(Failure::shown(Reason::ToolFailed.exit_code()))
            } else {
                Ok(())
            }
        })
        .await
    })
}

fn server_of(catalog: &Catalog, tool: &str) -> Option<Arc<ServerEntry>> {
    catalog.find(tool).ok()?.entry().cloned()
}

/// Lets the server stop while the activity is being stored.
fn release(catalog: &Catalog, tool: &str, hub: &Hub) {
    if let Some(entry) = server_of(catalog, tool) {
        hub.release(entry.name());
    }
}

/// Refreshes a stale tool list. The call has started the server anyway, so this costs one more request.
async fn renew_if_stale(catalog: &Catalog, tool: &str, hub: &Hub) {
    if let Some(entry) = server_of(catalog, tool).filter(|entry| entry.stale) {
        let renewal = hub.refresh(RefreshScope::One(entry.name().clone()), false);
        // The result is already printed, so the refresh must not delay the exit for long.
        let _ = tokio::time::timeout(RENEWAL_TIMEOUT, renewal).await;
    }
}

fn arguments(args: &CallArgs, catalog: &Catalog) -> Result<Map<String, Value>, Failure> {
    if let Some(text) = &args.args {
        return object(text);
    }
    match args.arguments.as_slice() {
        [only] if only == "-" => return object(&standard_input()?),
        several if several.iter().any(|argument| argument == "-") => {
            return Err(invalid_arguments(
                "`-` cannot be combined with other arguments",
                "Use `-` alone, or remove it.",
            ));
        }
        _ => {}
    }
    let wanted = argument_types(&args.tool, catalog);
    let mut map = Map::new();
    for argument in &args.arguments {
        let (key, value) = pair(argument, &wanted)?;
        if map.contains_key(&key) {
            let message = format!("`{}` is given twice", UntrustedText::new(&key));
            return Err(invalid_arguments(message, "Give every key once."));
        }
        map.insert(key, value);
    }
    Ok(map)
}

fn standard_input() -> Result<String, Failure> {
    let mut text = String::new();
    let read = std::io::stdin().lock().read_to_string(&mut text);
    read.map_err(|error| {
        invalid_arguments(format!("standard input: {error}"), "Pipe a JSON object in.")
    })?;
    Ok(text)
}

fn invalid_arguments(message: impl Into<String>, remedy: &str) -> Failure {
    ToolError::new(Reason::ArgsInvalid, message)
        .with_remedy(remedy)
        .into()
}

fn object(text: &str) -> Result<Map<String, Value>, Failure> {
    match parse_arguments(text)? {
        Value::Object(map) => Ok(map),
        _ => Err(invalid_arguments(
            "the arguments are not a JSON object",
            r#"Write {"key": value}."#,
        )),
    }
}

fn not_json(error: serde_json::Error) -> Failure {
    let remedy = r#"Write a JSON object such as {"key": "value"}."#;
    invalid_arguments(format!("the arguments are not JSON: {error}"), remedy)
}

/// Returns the schemas of the tool's parameters by name.
fn argument_types(tool: &str, catalog: &Catalog) -> Map<String, Value> {
    let schema = catalog
        .find(tool)
        .ok()
        .and_then(|view| view.tool().map(|t| t.input_schema().to_owned()));
    let schema: Option<Value> = schema.and_then(|text| serde_json::from_str(&text).ok());
    match schema.as_ref().and_then(|schema| schema.get("properties")) {
        Some(Value::Object(properties)) => properties.clone(),
        _ => Map::new(),
    }
}

fn pair(argument: &str, wanted: &Map<String, Value>) -> Result<(String, Value), Failure> {
    let Some((key, text)) = argument.split_once('=') else {
        let message = format!("`{}` is not key=value", UntrustedText::new(argument));
        return Err(invalid_arguments(
            message,
            "Write key=value, key:=json, or --args JSON.",
        ));
    };
    if let Some(key) = key.strip_suffix(':') {
        let value = parse_arguments(text).map_err(|error| {
            let message = format!("`{}`: {}", UntrustedText::new(key), error.message);
            invalid_arguments(
                message,
                "Quote strings and give every key once: key:='\"text\"'.",
            )
        })?;
        return Ok((key.to_owned(), value));
    }
    let value = match serde_json::from_str::<Value>(text) {
        // Parsed again, because the first parser drops duplicate keys.
        Ok(value) if accepts_json(wanted.get(key), &value) => parse_arguments(text)?,
        _ => Value::String(text.to_owned()),
    };
    Ok((key.to_owned(), value))
}

/// Returns true if a parameter's schema accepts this JSON value; otherwise the value is passed as text.
fn accepts_json(schema: Option<&Value>, value: &Value) -> bool {
    let kind = match value {
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
        Value::Null => "null",
        Value::String(_) => return false,
    };
    let Some(schema) = schema else {
        return false;
    };
    let named = |word: &Value| {
        word.as_str()
            .is_some_and(|word| word == kind || (word == "integer" && kind == "number"))
    };
    match schema.get("type") {
        Some(Value::Array(kinds)) => {
            kinds.iter().any(named) && !kinds.iter().any(|k| k == "string")
        }
        Some(word) => named(word),
        None => ["anyOf", "oneOf"].iter().any(|key| {
            let branches = schema.get(*key).and_then(Value::as_array);
            branches.is_some_and(|all| all.iter().any(|branch| accepts_json(Some(branch), value)))
        }),
    }
}

#[derive(Deserialize)]
struct ResultView<'a> {
    #[serde(borrow, default)]
    content: Vec<&'a RawValue>,
    #[serde(borrow, default, rename = "structuredContent")]
    structured: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Content {
    #[serde(rename = "type")]
    kind: String,
    text: Option<String>,
    #[serde(rename = "mimeType")]
    mime: Option<String>,
    uri: Option<String>,
    data: Option<String>,
}

/// Prints text content as it is and other content as a short description; with `--json`, the server's result verbatim.
fn show(result: &RawValue, output: &Output) -> CommandResult {
    if output.json {
        return output.json_line(result.get());
    }
    let Ok(view) = serde_json::from_str::<ResultView<'_>>(result.get()) else {
        return output.line(result.get());
    };
    if view.content.is_empty()
        && let Some(structured) = view.structured
    {
        return output.line(structured.get());
    }
    for part in view.content {
        match serde_json::from_str::<Content>(part.get()) {
            Ok(Content {
                text: Some(text), ..
            }) => output.line(&UntrustedText::block(&text).to_string())?,
            Ok(content) => {
                let mime = content.mime.unwrap_or_default();
                let place = content.uri.unwrap_or_default();
                let size = content.data.map_or(String::new(), |data| {
                    format!("{} bytes of base64", data.len())
                });
                let words = format!("[{} {mime} {place} {size}]", content.kind);
                let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
                output.line(&UntrustedText::new(&words).to_string())?;
            }
            Err(_) => output.line(part.get())?,
        }
    }
    Ok(())
}

/// Asks the user at the terminal for approval.
pub(super) struct TerminalApprover {
    pub(super) yes: bool,
}

#[async_trait]
impl Approver for TerminalApprover {
    fn can_ask(&self) -> bool {
        self.yes || can_ask()
    }

    async fn ask(&self, question: ApprovalPrompt) -> PromptResponse {
        if self.yes {
            return PromptResponse::Allow;
        }
        let text = format!("{}\nCall {}?", question.text(), question.tool);
        let (sender, answer) = tokio::sync::oneshot::channel();
        // On its own thread, so that the prompt does not block the program after the approval timeout.
        let asking = std::thread::Builder::new().spawn(move || {
            let _ = sender.send(prompt_for_approval(&text));
        });
        match asking {
            Ok(_) => answer.await.unwrap_or(PromptResponse::Unavailable),
            Err(_) => PromptResponse::Unavailable,
        }
    }
}

/// Prompts for approval; anything but a clear yes is a refusal.
fn prompt_for_approval(question: &str) -> PromptResponse {
    let choices = "[y: yes, a: always for this version of the tool, N: no]";
    match ask(&format!("{question} {choices} ")).as_deref() {
        Some("y" | "yes") => PromptResponse::Allow,
        Some("a" | "always") => PromptResponse::AllowAlways,
        _ => PromptResponse::Refuse,
    }
}

/// Warns that the result does not match the tool's output schema.
fn warn_of_mismatch(events: &mut tokio::sync::broadcast::Receiver<Event>, output: &Output) {
    while let Ok(event) = events.try_recv() {
        if let EventKind::OutputMismatch { reason, error, .. } = event.kind {
            let error = UntrustedText::new(&error);
            output.note(&format!("warning: {reason}: {error}"));
        }
    }
}

/// Prints how to approve each call that waits in the inbox because this terminal cannot prompt.
pub(super) async fn report_pending_approvals(
    mut events: tokio::sync::broadcast::Receiver<Event>,
    output: &Output,
) -> std::convert::Infallible {
    loop {
        match events.recv().await {
            Ok(Event {
                kind: EventKind::ApprovalRequested { id, way, .. },
                ..
            }) if way == "inbox" => output.note(&format!(
                "waiting for approval: run `pegboard approvals allow {id}` in another terminal"
            )),
            Ok(_) | Err(RecvError::Lagged(_)) => {}
            Err(RecvError::Closed) => std::future::pending().await,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[track_caller]
    fn check(argument: &str, schema: Value, expected: Value) {
        let Value::Object(schema) = schema else {
            panic!()
        };
        assert_eq!(pair(argument, &schema).unwrap().1, expected, "{argument}");
    }

    #[test]
    fn values_are_parsed_by_the_type_of_the_schema() {
        check("n=3", json!({"n": {"type": "integer"}}), json!(3));
        check("n=3", json!({"n": {"type": "string"}}), json!("3"));
        check("n=3", json!({}), json!("3"));
        check(
            "n=true",
            json!({"n": {"type": ["boolean", "null"]}}),
            json!(true),
        );
        check(
            "n=true",
            json!({"n": {"anyOf": [{"type": "boolean"}, {"type": "null"}]}}),
            json!(true),
        );
        check("n=[1,2]", json!({"n": {"type": "array"}}), json!([1, 2]));
        check("n=a=b", json!({"n": {"type": "string"}}), json!("a=b"));
        check("n:={\"a\":1}", json!({}), json!({"a": 1}));
        assert!(pair("no", &Map::new()).is_err());
        assert!(pair("n:=no", &Map::new()).is_err());
    }
}
