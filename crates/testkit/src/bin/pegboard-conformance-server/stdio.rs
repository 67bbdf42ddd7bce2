//! The server on standard input and output: both eras on one pair of pipes.

use std::collections::HashMap;
use std::io::{BufRead as _, Write as _};
use std::sync::{Arc, OnceLock};

use serde_json::Value;
use tokio::sync::{broadcast, mpsc};
use tokio::task::AbortHandle;

use crate::context::{Emission, EmissionSender, send};
use crate::legacy::Session;
use crate::message::{RpcError, response};
use crate::modern;
use crate::shared::{ChangeEvent, SharedState};

/// Handles messages until standard input closes.
pub(crate) async fn serve(shared: Arc<SharedState>) {
    let mut connection = Connection {
        shared,
        sender: writer(),
        session: Arc::default(),
        running: HashMap::new(),
    };
    let mut lines = reader();
    while let Some(line) = lines.recv().await {
        match serde_json::from_str::<Value>(&line) {
            Ok(message) => connection.take(message),
            Err(error) => {
                let rpc_error = RpcError::new(-32700, format!("invalid JSON: {error}"));
                send(&connection.sender, response(&Value::Null, Err(rpc_error)));
            }
        }
    }
}

struct Connection {
    shared: Arc<SharedState>,
    sender: EmissionSender,
    /// Set by `initialize`, once.
    session: Arc<OnceLock<Session>>,
    /// The running requests, by their id as JSON.
    running: HashMap<String, AbortHandle>,
}

impl Connection {
    fn take(&mut self, message: Value) {
        let Some(method) = message["method"].as_str().map(str::to_owned) else {
            if let Some(session) = self.session.get() {
                session.take_reply(message);
            }
            return;
        };
        if message.get("id").is_none() {
            if method == "notifications/cancelled" {
                self.cancel(&message["params"]["requestId"]);
            }
            return;
        }
        if method == "initialize" && !modern::is_modern(&message) {
            let answer = self.initialize(&message["params"]);
            return send(&self.sender, response(&message["id"], answer));
        }
        self.running.retain(|_, task| !task.is_finished());
        let key = message["id"].to_string();
        let work = RequestTask {
            // Subscribed here, so that a listener receives every later change.
            changes: self.shared.changes(),
            shared: self.shared.clone(),
            session: self.session.clone(),
            sender: self.sender.clone(),
            method,
            message,
        };
        let task = tokio::spawn(work.run());
        self.running.insert(key, task.abort_handle());
    }

    fn cancel(&mut self, id: &Value) {
        if let Some(task) = self.running.remove(&id.to_string()) {
            task.abort();
        }
    }

    fn initialize(&mut self, params: &Value) -> Result<Value, RpcError> {
        if !self.shared.eras.legacy() {
            let wanted = params["protocolVersion"].as_str().unwrap_or_default();
            return Err(modern::unsupported(wanted));
        }
        if self.session.set(Session::open(params)).is_ok() {
            tokio::spawn(forward_changes(
                self.shared.changes(),
                self.session.clone(),
                self.sender.clone(),
            ));
        }
        let session = self.session.get();
        Ok(session.map(Session::greeting).unwrap_or_default())
    }
}

/// One request of either era.
struct RequestTask {
    shared: Arc<SharedState>,
    changes: broadcast::Receiver<ChangeEvent>,
    session: Arc<OnceLock<Session>>,
    sender: EmissionSender,
    method: String,
    message: Value,
}

impl RequestTask {
    async fn run(self) {
        let (shared, method, sender) = (&self.shared, &self.method, &self.sender);
        let (id, params) = (&self.message["id"], &self.message["params"]);
        let answer = if modern::is_modern(&self.message) && shared.eras.modern() {
            match modern::check(params) {
                Err(rpc_error) => Err(rpc_error),
                Ok(()) if method == modern::LISTEN => {
                    return modern::listen(self.changes, id, params, sender).await;
                }
                Ok(()) => modern::answer(shared, method, params, sender.clone()).await,
            }
        } else if let Some(session) = self.session.get() {
            let sender = sender.clone();
            session.answer(shared, method, params, sender).await
        } else if shared.eras.modern() {
            modern::check(params).and(Err(RpcError::unknown_method(method)))
        } else {
            Err(RpcError::unknown_method(method))
        };
        send(sender, response(id, answer));
    }
}

async fn forward_changes(
    mut changes: broadcast::Receiver<ChangeEvent>,
    session: Arc<OnceLock<Session>>,
    sender: EmissionSender,
) {
    while let Ok(changes) = changes.recv().await {
        if let Some(message) = session
            .get()
            .and_then(|session| session.notification_for(&changes))
        {
            send(&sender, message);
        }
    }
}

/// Starts a thread that reads lines, because reading stdin blocks.
fn reader() -> mpsc::UnboundedReceiver<String> {
    let (sender, lines) = mpsc::unbounded_channel();
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    lines
}

/// Starts a thread that writes each message as one line.
fn writer() -> EmissionSender {
    let (sender, mut emissions) = mpsc::unbounded_channel();
    std::thread::spawn(move || {
        while let Some(emission) = emissions.blocking_recv() {
            if let Emission::Message(message) = emission {
                let mut out = std::io::stdout().lock();
                let written = out
                    .write_all(format!("{message}\n").as_bytes())
                    .and_then(|()| out.flush());
                if written.is_err() {
                    return;
                }
            }
        }
    });
    sender
}
