//! The protocol: JSON-RPC with `initialize` in the legacy era, and self-contained requests in the modern era.

use pegboard_jsonrpc::{code, meta, revision};
use serde_json::{Map, Value, json};

use super::tools::{self, Notes};

const INSTRUCTIONS: &str = "Little tools for trying things out: numbers, units, dates, text, encodings \
                            and notes. Notes last as long as the server runs.";
/// The tools change only with the program, so clients may cache the list for an hour.
const LIST_TTL_MS: u64 = 3_600_000;

/// The state of one server process.
#[derive(Default)]
pub(super) struct Server {
    /// Whether the client sent `initialize`.
    initialized: bool,
    notes: Notes,
}

struct RpcError {
    code: i64,
    message: String,
    data: Option<Value>,
}

impl RpcError {
    fn new(code: i64, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            data: None,
        }
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Era {
    Legacy,
    Modern,
}

impl Server {
    /// Handles one line and returns the response; `None` for blank lines, notifications and responses.
    pub(super) fn handle_line(&mut self, line: &[u8]) -> Option<Value> {
        if line.trim_ascii().is_empty() {
            return None;
        }
        let Ok(message) = serde_json::from_slice::<Value>(line) else {
            return Some(error(
                &Value::Null,
                RpcError::new(code::PARSE_ERROR, "this line is not JSON"),
            ));
        };
        let Some(method) = message.get("method").and_then(Value::as_str) else {
            let is_response = message.get("result").or(message.get("error")).is_some();
            let failure = RpcError::new(
                code::INVALID_REQUEST,
                "a request is an object with `method` and `id`",
            );
            return (!is_response).then(|| error(&Value::Null, failure));
        };
        let id = message.get("id")?;
        if !id.is_string() && !id.is_number() {
            let failure = RpcError::new(code::INVALID_REQUEST, "`id` is a string or a number");
            return Some(error(&Value::Null, failure));
        }
        let nothing = Map::new();
        let params = message
            .get("params")
            .and_then(Value::as_object)
            .unwrap_or(&nothing);
        Some(match self.dispatch(method, params) {
            Ok(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
            Err(failure) => error(id, failure),
        })
    }

    fn dispatch(&mut self, method: &str, params: &Map<String, Value>) -> Result<Value, RpcError> {
        if method == "initialize" {
            return self.initialize(params);
        }
        let era = self.era(method, params)?;
        let result = match method {
            "ping" if era == Era::Legacy => json!({}),
            "server/discover" => json!({
                "supportedVersions": [revision::MODERN],
                "capabilities": {"tools": {}},
                "instructions": INSTRUCTIONS,
                "ttlMs": LIST_TTL_MS,
                "cacheScope": "public",
            }),
            "tools/list" => list(params, era)?,
            "tools/call" => self.call(params)?,
            _ => {
                return Err(RpcError::new(
                    code::METHOD_NOT_FOUND,
                    format!("no method `{method}` here"),
                ));
            }
        };
        Ok(if era == Era::Modern {
            complete(result)
        } else {
            result
        })
    }

    fn initialize(&mut self, params: &Map<String, Value>) -> Result<Value, RpcError> {
        let Some(asked) = params.get("protocolVersion").and_then(Value::as_str) else {
            return Err(RpcError::new(
                code::INVALID_PARAMS,
                "`initialize` needs `protocolVersion`",
            ));
        };
        self.initialized = true;
        let version = revision::LEGACY_REVISIONS
            .iter()
            .copied()
            .find(|known| *known == asked)
            .unwrap_or(revision::LATEST_LEGACY);
        Ok(json!({
            "protocolVersion": version,
            "capabilities": {"tools": {}},
            "serverInfo": server_info(),
            "instructions": INSTRUCTIONS,
        }))
    }

    /// Returns the era of a request: modern if it has a protocol version of its own, legacy after `initialize`. Any
    /// other request lacks the required `_meta` of the modern era.
    fn era(&self, method: &str, params: &Map<String, Value>) -> Result<Era, RpcError> {
        let meta = params.get("_meta").and_then(Value::as_object);
        let Some(version) = meta.and_then(|meta| meta.get(meta::PROTOCOL_VERSION)) else {
            let legacy = (self.initialized && method != "server/discover") || method == "ping";
            let failure = RpcError::new(
                code::INVALID_PARAMS,
                format!("`_meta` lacks `{}`", meta::PROTOCOL_VERSION),
            );
            return if legacy {
                Ok(Era::Legacy)
            } else {
                Err(failure)
            };
        };
        if version != revision::MODERN {
            let mut failure = RpcError::new(
                code::UNSUPPORTED_VERSION,
                "this protocol version is not supported",
            );
            failure.data = Some(json!({"supported": [revision::MODERN], "requested": version}));
            return Err(failure);
        }
        if !meta.is_some_and(|meta| {
            meta.get(meta::CLIENT_CAPABILITIES)
                .is_some_and(Value::is_object)
        }) {
            return Err(RpcError::new(
                code::INVALID_PARAMS,
                format!("`_meta` lacks `{}`", meta::CLIENT_CAPABILITIES),
            ));
        }
        Ok(Era::Modern)
    }

    /// Calls a tool. Invalid arguments are reported in the result, where a model can read them.
    fn call(&mut self, params: &Map<String, Value>) -> Result<Value, RpcError> {
        let Some(name) = params.get("name").and_then(Value::as_str) else {
            return Err(RpcError::new(
                code::INVALID_PARAMS,
                "`tools/call` needs `name`",
            ));
        };
        let Some(tool) = tools::ALL.iter().find(|tool| tool.name == name) else {
            return Err(RpcError::new(
                code::INVALID_PARAMS,
                format!("unknown tool: {name}"),
            ));
        };
        let empty = json!({});
        let arguments = params
            .get("arguments")
            .filter(|given| !given.is_null())
            .unwrap_or(&empty);
        Ok(match tool.call(arguments, &mut self.notes) {
            Ok(answer) => {
                let mut result = json!({"content": [{"type": "text", "text": answer.text}]});
                if let (Some(structured), Some(fields)) =
                    (answer.structured, result.as_object_mut())
                {
                    fields.insert("structuredContent".to_owned(), structured);
                }
                result
            }
            Err(why) => json!({"content": [{"type": "text", "text": why}], "isError": true}),
        })
    }
}

/// Returns the response to a line above the size limit.
pub(super) fn too_large(limit: usize) -> Value {
    error(
        &Value::Null,
        RpcError::new(
            code::PARSE_ERROR,
            format!("a line has at most {limit} bytes"),
        ),
    )
}

fn list(params: &Map<String, Value>, era: Era) -> Result<Value, RpcError> {
    if params.get("cursor").is_some_and(|cursor| !cursor.is_null()) {
        return Err(RpcError::new(
            code::INVALID_PARAMS,
            "unknown cursor: the list has one page",
        ));
    }
    let tools: Vec<Value> = tools::ALL
        .iter()
        .map(tools::ExampleTool::definition)
        .collect();
    Ok(match era {
        Era::Legacy => json!({"tools": tools}),
        Era::Modern => json!({"tools": tools, "ttlMs": LIST_TTL_MS, "cacheScope": "public"}),
    })
}

fn complete(mut result: Value) -> Value {
    if let Some(fields) = result.as_object_mut() {
        fields.insert("resultType".to_owned(), json!("complete"));
        fields.insert(
            "_meta".to_owned(),
            json!({meta::SERVER_INFO: server_info()}),
        );
    }
    result
}

fn server_info() -> Value {
    json!({"name": "pegboard-example", "title": "Pegboard example server", "version": env!("CARGO_PKG_VERSION")})
}

fn error(id: &Value, failure: RpcError) -> Value {
    let mut error = json!({"code": failure.code, "message": failure.message});
    if let (Some(data), Some(fields)) = (failure.data, error.as_object_mut()) {
        fields.insert("data".to_owned(), data);
    }
    json!({"jsonrpc": "2.0", "id": id, "error": error})
}
