//! What both servers saw.

use std::collections::BTreeMap;

use super::OAuthServer;
use super::route::Route;
use super::state::lock;

/// A request that was received.
#[derive(Clone, Debug)]
pub struct SeenRequest {
    /// The endpoint.
    pub route: Route,
    /// The HTTP method.
    pub method: String,
    /// The path without the query.
    pub path: String,
    /// The parameters of the query and of a form.
    pub parameters: BTreeMap<String, String>,
    /// The headers, their names in lower case.
    pub headers: BTreeMap<String, String>,
    /// The body.
    pub body: String,
}

impl SeenRequest {
    /// A parameter of the query or the form.
    pub fn parameter(&self, name: &str) -> Option<&str> {
        self.parameters.get(name).map(String::as_str)
    }

    /// A header.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(String::as_str)
    }

    /// The body as JSON; null if it is none.
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.body).unwrap_or_default()
    }
}

impl OAuthServer {
    /// All requests in order.
    pub fn requests(&self) -> Vec<SeenRequest> {
        lock(&self.shared.seen).clone()
    }

    /// The requests of one endpoint in order.
    pub fn requests_to(&self, route: Route) -> Vec<SeenRequest> {
        let mut requests = self.requests();
        requests.retain(|request| request.route == route);
        requests
    }

    /// The number of requests of one endpoint.
    pub fn count(&self, route: Route) -> usize {
        self.requests_to(route).len()
    }

    /// The number of token requests with this grant type, such as `refresh_token`.
    pub fn grants_asked(&self, grant_type: &str) -> usize {
        self.requests_to(Route::Token)
            .iter()
            .filter(|request| request.parameter("grant_type") == Some(grant_type))
            .count()
    }

    /// The JSON-RPC methods that the MCP server received, with a valid token or not.
    pub fn mcp_methods(&self) -> Vec<String> {
        self.requests_to(Route::Mcp)
            .iter()
            .filter_map(|request| request.json()["method"].as_str().map(str::to_owned))
            .collect()
    }

    /// The tools that were run: only calls with a valid token.
    pub fn tools_run(&self) -> Vec<String> {
        lock(&self.shared.state).tools_run.clone()
    }
}
