//! The protocol of the server, independent of the transport.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use serde_json::{Value, json};

pub(crate) use pegboard_jsonrpc::meta::PROTOCOL_VERSION as META_VERSION;
use pegboard_jsonrpc::meta::{CLIENT_CAPABILITIES, SERVER_INFO};
use pegboard_jsonrpc::revision::LATEST_LEGACY;
pub(crate) use pegboard_jsonrpc::revision::MODERN;
use pegboard_testkit::script::{Era, Probe, ResponseShape};
use pegboard_testkit::{Script, append_line};

use crate::response::Body;
use crate::{calling, listing};

/// A server: its script and its state.
#[derive(Debug)]
pub(crate) struct Server {
    pub(crate) script: Script,
    /// The number of the last listing.
    pub(crate) listing: AtomicU32,
    messages: AtomicU32,
    initialized: AtomicBool,
}

/// The outcome of a request.
#[derive(Debug)]
pub(crate) enum Outcome {
    Answer(Body),
    Silence,
    Exit,
}

impl Server {
    pub(crate) fn new(script: Script) -> Self {
        Self {
            script,
            listing: AtomicU32::new(0),
            messages: AtomicU32::new(0),
            initialized: AtomicBool::new(false),
        }
    }

    /// Counts a message and returns its number, from 1.
    pub(crate) fn count(&self, method: &str) -> u32 {
        if let (true, Some(file)) = (self.script.count_methods, &self.script.count_file) {
            let _ = append_line(file, &format!("got {method}"));
        }
        self.messages.fetch_add(1, Ordering::SeqCst) + 1
    }

    /// Whether the server stops responding at this message.
    pub(crate) fn hangs(&self, method: &str, number: u32) -> bool {
        self.script
            .hang
            .is_some_and(|when| when.is_met_by(method, number))
    }

    /// Whether the server crashes at this message.
    pub(crate) fn crashes(&self, method: &str, number: u32) -> bool {
        self.script
            .crash
            .is_some_and(|crash| crash.when.is_met_by(method, number))
    }

    /// The wrong shapes of the response to a message.
    pub(crate) fn shapes(&self, method: &str, number: u32) -> impl Iterator<Item = &ResponseShape> {
        let matching = self
            .script
            .answers
            .iter()
            .filter(move |fault| fault.when.is_met_by(method, number));
        matching.map(|fault| &fault.shape)
    }

    /// Handles a request. Over HTTP all connections share the handshake state.
    pub(crate) fn handle(
        &self,
        method: &str,
        params: &Value,
        client_replies: &[String],
    ) -> Outcome {
        let modern = is_modern(params);
        match method {
            "server/discover" if self.script.era == Era::Legacy => self.refuse_probe(),
            "initialize" if self.script.era != Era::Modern => {
                Outcome::Answer(self.initialize(params))
            }
            "initialize" => Outcome::Answer(self.unsupported(&params["protocolVersion"])),
            _ if modern && self.script.era != Era::Legacy => {
                Outcome::Answer(self.handle_modern(method, params, client_replies))
            }
            _ if self.script.era == Era::Modern => Outcome::Answer(Body::error(
                -32602,
                "`_meta` does not name a protocol version",
            )),
            _ if !self.initialized.load(Ordering::SeqCst) => Outcome::Answer(Body::error(
                -32602,
                "received a request before initialization",
            )),
            _ => Outcome::Answer(self.common(method, params, client_replies, false)),
        }
    }

    fn refuse_probe(&self) -> Outcome {
        match self.script.probe {
            Probe::MethodNotFound => Outcome::Answer(Body::error(-32601, "Method not found")),
            Probe::InvalidParams => {
                Outcome::Answer(Body::error(-32602, "Invalid request parameters"))
            }
            Probe::Silent => Outcome::Silence,
            Probe::Exit => Outcome::Exit,
        }
    }

    fn initialize(&self, params: &Value) -> Body {
        self.initialized.store(true, Ordering::SeqCst);
        let requested = params["protocolVersion"].as_str().unwrap_or(LATEST_LEGACY);
        let version = self
            .script
            .protocol_version
            .as_deref()
            .unwrap_or(match requested {
                "2024-11-05" | "2025-03-26" | "2025-06-18" => requested,
                _ => LATEST_LEGACY,
            });
        let mut result = json!({
            "protocolVersion": version,
            "capabilities": {"tools": {"listChanged": self.script.list_changed.is_some()}},
            "serverInfo": server_info(),
        });
        if let Some(instructions) = &self.script.instructions {
            result["instructions"] = json!(instructions);
        }
        Body::Result(result)
    }

    fn handle_modern(&self, method: &str, params: &Value, client_replies: &[String]) -> Body {
        let version = &params["_meta"][META_VERSION];
        if !self
            .supported()
            .iter()
            .any(|supported| version == supported)
        {
            return self.unsupported(version);
        }
        if !params["_meta"][CLIENT_CAPABILITIES].is_object() {
            return Body::error(-32602, "`_meta` does not name the client's capabilities");
        }
        let body = match method {
            "server/discover" => Body::Result(json!({
                "supportedVersions": self.supported(),
                "capabilities": {"tools": {"listChanged": self.script.list_changed.is_some()}},
                "instructions": self.script.instructions.clone().unwrap_or_default(),
                "ttlMs": 0,
                "cacheScope": "public",
            })),
            _ => self.common(method, params, client_replies, true),
        };
        match body {
            Body::Result(mut result) => {
                if result.get("resultType").is_none() {
                    result["resultType"] = json!("complete");
                }
                result["_meta"][SERVER_INFO] = server_info();
                Body::Result(result)
            }
            error => error,
        }
    }

    fn common(
        &self,
        method: &str,
        params: &Value,
        client_replies: &[String],
        modern: bool,
    ) -> Body {
        match method {
            "tools/list" => listing::list(self, params, modern),
            "tools/call" => calling::call(self, params, client_replies),
            "ping" if !modern => Body::Result(json!({})),
            _ => Body::error(-32601, format!("Method not found: {method}")),
        }
    }

    fn supported(&self) -> Vec<String> {
        self.script
            .supported_versions
            .clone()
            .unwrap_or_else(|| vec![MODERN.to_owned()])
    }

    fn unsupported(&self, requested: &Value) -> Body {
        Body::Error {
            code: -32022,
            message: "Unsupported protocol version".to_owned(),
            data: json!({"supported": self.supported(), "requested": requested}),
        }
    }
}

/// Whether a request contains its revision.
pub(crate) fn is_modern(params: &Value) -> bool {
    params
        .get("_meta")
        .and_then(|meta| meta.get(META_VERSION))
        .is_some()
}

fn server_info() -> Value {
    json!({"name": "pegboard-hostile", "version": env!("CARGO_PKG_VERSION")})
}
