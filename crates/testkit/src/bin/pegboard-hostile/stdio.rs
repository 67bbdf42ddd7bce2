//! The server on standard input and output.

use std::collections::HashMap;
use std::io::BufRead as _;
use std::process::ExitCode;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};

use crate::lifecycle::{self, pause};
use crate::output;
use crate::response::render;
use crate::server::{Outcome, Server};

/// How long the server waits for the client's reply to one of its requests.
const REPLY_TIMEOUT: Duration = Duration::from_secs(10);

/// Reads messages until standard input ends.
pub(crate) fn serve(server: &Arc<Server>) -> ExitCode {
    let session = Arc::new(StdioSession::new(server.clone()));
    output::noise_at_start(server);
    if server.script.hang == Some(pegboard_testkit::script::Moment::Start) {
        // It keeps reading, so that the pipe does not fill up.
        std::io::stdin()
            .lock()
            .lines()
            .map_while(Result::ok)
            .for_each(drop);
    }
    let mut hung = false;
    for line in std::io::stdin().lock().lines().map_while(Result::ok) {
        let Ok(message) = serde_json::from_str::<Value>(&line) else {
            continue;
        };
        let Some(method) = message["method"].as_str() else {
            session.store_reply(message);
            continue;
        };
        let number = server.count(method);
        hung |= server.hangs(method, number);
        if !hung {
            session.take(&message, method, number);
        }
        if server
            .script
            .process
            .stop_reading_after
            .is_some_and(|limit| number >= limit)
        {
            lifecycle::park_forever();
        }
    }
    if server.script.process.ignore_eof {
        lifecycle::park_forever();
    }
    ExitCode::SUCCESS
}

struct StdioSession {
    server: Arc<Server>,
    /// The client's replies to the server's own requests, by id.
    replies: Mutex<HashMap<String, Value>>,
    replied: Condvar,
    /// Responses that are held back to be sent in reverse order.
    held: Mutex<Vec<(u32, Vec<u8>)>>,
    /// The id of the client's `subscriptions/listen`.
    subscription: Mutex<Option<Value>>,
}

impl StdioSession {
    fn new(server: Arc<Server>) -> Self {
        Self {
            server,
            replies: Mutex::default(),
            replied: Condvar::new(),
            held: Mutex::default(),
            subscription: Mutex::default(),
        }
    }

    fn take(self: &Arc<Self>, message: &Value, method: &str, number: u32) {
        if message.get("id").is_none() {
            if self.server.crashes(method, number) {
                lifecycle::crash(&self.server.script);
            }
            return;
        }
        if method == "subscriptions/listen" {
            return self.subscribe(message);
        }
        if method == "tools/call" {
            // Calls run concurrently, so that a slow one blocks nothing.
            let (session, message) = (self.clone(), message.clone());
            std::thread::spawn(move || session.answer(&message, "tools/call", number));
        } else {
            self.answer(message, method, number);
        }
    }

    fn answer(self: &Arc<Self>, message: &Value, method: &str, number: u32) {
        let script = &self.server.script;
        let (id, params) = (&message["id"], &message["params"]);
        output::noise_before(&self.server, method, number);
        let ends = self.server.crashes(method, number);
        if ends && !script.crash.is_some_and(|crash| crash.mid_line) {
            lifecycle::crash(script);
        }
        let client_replies = if method == "tools/call" {
            self.during_call(id, params)
        } else {
            Vec::new()
        };
        let body = match self.server.handle(method, params, &client_replies) {
            Outcome::Answer(body) => body,
            Outcome::Silence => return,
            Outcome::Exit => std::process::exit(1),
        };
        let mut bytes = render(id, &body, self.server.shapes(method, number));
        if ends {
            output::to_stdout(bytes.get(..bytes.len() / 2).unwrap_or_default());
            lifecycle::crash(script);
        }
        bytes.push(b'\n');
        if method == "tools/call" && script.call.reverse > 1 {
            self.hold(number, bytes);
        } else {
            output::to_stdout(&bytes);
        }
        if script
            .list_changed
            .is_some_and(|changed| changed.after.is_met_by(method, number))
        {
            self.send_list_changed();
        }
    }

    fn during_call(&self, id: &Value, params: &Value) -> Vec<String> {
        let script = &self.server.script.call;
        let arguments = &params["arguments"];
        pause(script.delay_ms);
        if let Some(token) = params["_meta"].get("progressToken") {
            for step in 1..=script.progress {
                let mut params =
                    json!({"progressToken": token, "progress": step, "total": script.progress});
                if script.echoes_in_messages {
                    params["message"] = arguments.to_string().into();
                }
                send(
                    &json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": params}),
                );
            }
        }
        if script.echoes_in_messages {
            let params = json!({"level": "info", "data": arguments});
            send(&json!({"jsonrpc": "2.0", "method": "notifications/message", "params": params}));
        }
        script
            .client_requests
            .iter()
            .map(|method| self.ask(id, method))
            .collect()
    }

    fn ask(&self, call: &Value, method: &str) -> String {
        let id = format!("ask-{call}-{method}");
        let params = match method {
            "sampling/createMessage" => json!({"messages": [], "maxTokens": 1}),
            _ => json!({}),
        };
        send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        let replies = self.replies.lock().unwrap_or_else(PoisonError::into_inner);
        let (mut replies, _) = self
            .replied
            .wait_timeout_while(replies, REPLY_TIMEOUT, |replies| !replies.contains_key(&id))
            .unwrap_or_else(PoisonError::into_inner);
        match replies.remove(&id) {
            Some(reply) if reply.get("result").is_some() => format!("{method} -> result"),
            Some(reply) => format!("{method} -> error {}", reply["error"]["code"]),
            None => format!("{method} -> no reply"),
        }
    }

    fn store_reply(&self, message: Value) {
        if let Some(id) = message["id"].as_str() {
            let mut replies = self.replies.lock().unwrap_or_else(PoisonError::into_inner);
            replies.insert(id.to_owned(), message);
            self.replied.notify_all();
        }
    }

    fn hold(&self, number: u32, bytes: Vec<u8>) {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        held.push((number, bytes));
        if held.len() >= self.server.script.call.reverse {
            held.sort_by_key(|(number, _)| std::cmp::Reverse(*number));
            held.drain(..)
                .for_each(|(_, bytes)| output::to_stdout(&bytes));
        }
    }

    fn subscribe(&self, message: &Value) {
        let (id, wanted) = (&message["id"], &message["params"]["notifications"]);
        *self
            .subscription
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = Some(id.clone());
        send(&acknowledgement(id, wanted));
    }

    fn send_list_changed(self: &Arc<Self>) {
        let Some(changed) = self.server.script.list_changed else {
            return;
        };
        let session = self.clone();
        std::thread::spawn(move || {
            for _ in 0..changed.times {
                let id = session
                    .subscription
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .clone();
                send(&list_changed(id.as_ref()));
                pause(changed.pause_ms);
            }
        });
    }
}

fn send(message: &Value) {
    output::to_stdout(format!("{message}\n").as_bytes());
}

/// The first message of a subscription.
pub(crate) fn acknowledgement(id: &Value, wanted: &Value) -> Value {
    json!({"jsonrpc": "2.0", "method": "notifications/subscriptions/acknowledged", "params": {
        "_meta": {"io.modelcontextprotocol/subscriptionId": id},
        "notifications": {"toolsListChanged": wanted["toolsListChanged"] == true},
    }})
}

/// A `list_changed` notification, for a subscription if there is one.
pub(crate) fn list_changed(subscription: Option<&Value>) -> Value {
    let mut message = json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"});
    if let Some(id) = subscription {
        message["params"] = json!({"_meta": {"io.modelcontextprotocol/subscriptionId": id}});
    }
    message
}
