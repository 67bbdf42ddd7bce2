//! `pegboard serve` with requests for telemetry tests.

use serde_json::{Value, json};

use crate::support::{Home, Running, http};

/// A running `pegboard serve`.
pub(crate) struct Serving {
    pub(crate) running: Running,
    pub(crate) url: String,
    pub(crate) token: String,
}

impl Serving {
    pub(crate) fn start(home: &Home, more: &[&str]) -> Self {
        let args = [&["serve", "--port", "0"], more].concat();
        let running = home.start(&args);
        running.wait_for("/mcp\"");
        let printed = running.output();
        let url = printed
            .lines()
            .find_map(|line| line.strip_prefix("MCP endpoint  "));
        let url = url.expect("the address is printed").to_owned();
        let token = home.run(&["token"]).ok().stdout.trim().to_owned();
        Self {
            running,
            url,
            token,
        }
    }

    /// Calls a listed tool; `meta` is merged into the `_meta` of the request.
    pub(crate) fn call_with(&self, name: &str, arguments: Value, meta: &Value) -> Value {
        let mut whole = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        for (key, value) in meta.as_object().into_iter().flatten() {
            whole[key] = value.clone();
        }
        let params = json!({"name": name, "arguments": arguments, "_meta": whole});
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
        let bearer = format!("Bearer {}", self.token);
        let headers = [
            ("Authorization", bearer.as_str()),
            ("Content-Type", "application/json"),
            ("Accept", "application/json, text/event-stream"),
            ("MCP-Protocol-Version", "2026-07-28"),
            ("Mcp-Method", "tools/call"),
            ("Mcp-Name", name),
        ];
        let (status, response) = http(&self.url, "POST", &headers, &body.to_string());
        assert_eq!(status, 200, "{response}");
        serde_json::from_str(&response).unwrap_or_else(|error| panic!("{error}: {response}"))
    }

    /// Calls a listed tool without additional `_meta`.
    pub(crate) fn call(&self, name: &str, arguments: Value) -> Value {
        self.call_with(name, arguments, &json!({}))
    }

    /// Calls a server's tool through the meta tool.
    pub(crate) fn call_tool(&self, tool: &str, arguments: Value) -> Value {
        self.call(
            "call_tool",
            json!({"tool_name": tool, "arguments": arguments}),
        )
    }

    /// Returns the page at `/metrics`.
    pub(crate) fn metrics(&self) -> String {
        let url = self.url.replace("/mcp", "/metrics");
        let bearer = format!("Bearer {}", self.token);
        let (status, page) = http(&url, "GET", &[("Authorization", &bearer)], "");
        assert_eq!(status, 200, "{page}");
        page
    }

    /// Stops it with SIGINT.
    pub(crate) fn stop(&mut self) {
        self.running.signal("-INT");
        assert!(self.running.wait().success(), "{}", self.running.output());
    }
}
