//! Generated messages: valid, nearly valid and broken ones. Most must reach the dispatcher, or the test proves nothing.

use std::sync::Arc;

use pegboard_gateway::{Message, MessageKind, MessageSink};
use serde_json::{Map, Value, json};

use crate::client::{Client, gateway};
use crate::fake::Server;

const MESSAGES: usize = 3_000;

/// Methods that the dispatcher knows, of both eras, and some that it does not know. `subscriptions/listen` is left
/// out because it never completes.
const METHODS: &[&str] = &[
    "tools/call",
    "tools/call",
    "tools/call",
    "tools/list",
    "prompts/list",
    "prompts/get",
    "resources/list",
    "resources/templates/list",
    "resources/read",
    "resources/subscribe",
    "resources/unsubscribe",
    "completion/complete",
    "server/discover",
    "logging/setLevel",
    "initialize",
    "ping",
    "notifications/cancelled",
    "notifications/initialized",
    "tools/dance",
    "",
];

const NAMES: &[&str] = &[
    "a__one",
    "a/one",
    "one",
    "call_tool",
    "search_tools",
    "list_available_tools",
    "get_tool_description",
    "read_result",
    "a__prompt",
    "pegboard://a/file:///x",
    "b__none",
    "__",
    "\u{0}\u{202e}é",
];

/// Members that parameters of some method have.
const KEYS: &[&str] = &[
    "name",
    "arguments",
    "tool_name",
    "tool_names",
    "query",
    "queries",
    "limit",
    "detail",
    "category",
    "format",
    "uri",
    "cursor",
    "ref",
    "argument",
    "level",
    "requestId",
    "inputResponses",
    "requestState",
    "protocolVersion",
    "capabilities",
    "_meta",
    "text",
    "é\u{0}",
];

/// A generator whose numbers are the same in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % limit
    }

    fn of<'a>(&mut self, values: &[&'a str]) -> &'a str {
        values[self.below(values.len())]
    }

    fn value(&mut self, depth: usize) -> Value {
        match self.below(if depth == 0 { 8 } else { 10 }) {
            0 => Value::Null,
            1 => json!(self.below(2) == 0),
            2 => json!(-1),
            3 => json!(1e300),
            4 => json!(u64::MAX),
            5 => json!(self.of(NAMES)),
            6 => json!("x".repeat(self.below(5_000))),
            7 => json!(""),
            8 => (0..self.below(5)).map(|_| self.value(depth - 1)).collect(),
            _ => Value::Object(self.object(depth - 1)),
        }
    }

    fn object(&mut self, depth: usize) -> Map<String, Value> {
        (0..self.below(5))
            .map(|_| (self.of(KEYS).to_owned(), self.value(depth)))
            .collect()
    }

    fn id(&mut self) -> Option<Value> {
        Some(match self.below(24) {
            0 => return None,
            1 => Value::Null,
            2 => json!(1.5),
            3 => json!([]),
            4 => json!(i64::MIN),
            5 => json!("a\u{0}\"b"),
            _ => json!(self.below(1_000)),
        })
    }

    /// Mostly valid parameters, with a known name where one is expected and a few random members.
    fn params(&mut self, modern: bool) -> Value {
        let mut params = self.object(3);
        if self.below(4) > 0 {
            params.insert("name".to_owned(), json!(self.of(NAMES)));
            params.insert("uri".to_owned(), json!(self.of(NAMES)));
        }
        if self.below(4) > 0 {
            let mut arguments = self.object(2);
            arguments.insert("tool_name".to_owned(), json!(self.of(NAMES)));
            arguments.insert("text".to_owned(), self.value(1));
            params.insert("arguments".to_owned(), Value::Object(arguments));
        }
        if modern && self.below(10) > 0 {
            let meta = json!({
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientCapabilities": self.object(1),
                "traceparent": self.of(NAMES),
                "progressToken": self.value(1),
            });
            params.insert("_meta".to_owned(), meta);
        } else if !modern && self.below(10) > 0 {
            // A random `_meta` is usually refused before the dispatcher.
            params.remove("_meta");
        }
        Value::Object(params)
    }

    fn message(&mut self, modern: bool) -> Vec<u8> {
        let mut message = Map::new();
        message.insert("jsonrpc".to_owned(), json!("2.0"));
        if let Some(id) = self.id() {
            message.insert("id".to_owned(), id);
        }
        message.insert("method".to_owned(), json!(self.of(METHODS)));
        match self.below(12) {
            0 => {}
            1 => drop(message.insert("params".to_owned(), self.value(2))),
            _ => drop(message.insert("params".to_owned(), self.params(modern))),
        }
        if self.below(20) == 0 {
            let key = self.of(&["jsonrpc", "id", "method", "result", "error"]);
            message.insert(key.to_owned(), self.value(1));
        }
        let mut bytes = Value::Object(message).to_string().into_bytes();
        if self.below(6) == 0 {
            self.damage(&mut bytes);
        }
        bytes
    }

    /// Changes a few bytes, so that the message is nearly valid.
    fn damage(&mut self, bytes: &mut Vec<u8>) {
        for _ in 0..=self.below(3) {
            let at = self.below(bytes.len().max(1));
            match self.below(4) {
                0 if at < bytes.len() => drop(bytes.remove(at)),
                1 => bytes.insert(at.min(bytes.len()), b"{}[]\",:\\\0\xff0e-"[self.below(13)]),
                2 => bytes.truncate(at),
                _ => {
                    let copy: Vec<u8> = bytes
                        .iter()
                        .skip(at)
                        .take(self.below(40))
                        .copied()
                        .collect();
                    bytes.extend(copy);
                }
            }
        }
    }
}

/// Counts of the outcomes.
#[derive(Debug, Default)]
struct Counts {
    unreadable: usize,
    refused: usize,
    results: usize,
    errors: usize,
    taken: usize,
}

#[tokio::test]
async fn no_client_message_causes_a_panic() {
    let mut server = Server::new("a", &["one"]);
    server.prompts = vec![json!({"name": "prompt"})];
    server.resources = vec![json!({"uri": "file:///x", "name": "x"})];
    let (gateway, _) = gateway(vec![server], &[]).await;
    let mut random = Random(7);
    for modern in [true, false] {
        let client = match modern {
            true => Client::modern(&gateway, "", json!({})),
            false => Client::legacy(&gateway, "", json!({})).await,
        };
        let mut counts = Counts::default();
        for _ in 0..MESSAGES {
            let bytes = random.message(modern);
            send(&client, bytes, &mut counts).await;
        }
        // More than half must pass the parser and the envelope check, and a good part must succeed.
        let reached = counts.results + counts.errors;
        println!("modern: {modern}, {counts:?}");
        assert!(reached > MESSAGES / 2, "{counts:?}");
        assert!(counts.results > MESSAGES / 10, "{counts:?}");
        assert!(counts.unreadable > MESSAGES / 20, "{counts:?}");
        client.result("tools/list", json!({})).await;
    }
}

async fn send(client: &Client, bytes: Vec<u8>, counts: &mut Counts) {
    let shown = String::from_utf8_lossy(&bytes).into_owned();
    let Ok(message) = Message::parse(bytes.into()) else {
        counts.unreadable += 1;
        return;
    };
    if message.kind() != MessageKind::Request {
        client.conversation.receive(message);
        counts.taken += 1;
        return;
    }
    let id: Value = serde_json::from_str(message.id().unwrap().get()).unwrap();
    let sink: Arc<dyn MessageSink> = client.inbox.clone();
    let Some(response) = client.conversation.clone().handle(message, sink).await else {
        counts.taken += 1;
        return;
    };
    let status = response.status;
    let answer: Value = serde_json::from_slice(&response.into_bytes()).unwrap();
    assert_eq!(answer["jsonrpc"], "2.0", "{shown}");
    assert_eq!(answer["id"], id, "{shown}");
    let is_result = answer.get("result").is_some();
    assert_ne!(is_result, answer.get("error").is_some(), "{shown}");
    // The envelope check responds with 400, the dispatcher with any other status.
    match (is_result, status) {
        (true, _) => counts.results += 1,
        (false, 400) => counts.refused += 1,
        (false, _) => {
            assert!(answer["error"]["code"].is_i64(), "{answer}");
            counts.errors += 1;
        }
    }
}
