//! A running Pegboard and requests to its API.

use serde_json::Value;

use crate::support::{Home, Running, http};

pub(crate) struct Served {
    pub(crate) running: Running,
    /// `http://127.0.0.1:PORT`
    pub(crate) url: String,
    pub(crate) call: String,
    pub(crate) admin: String,
}

impl Served {
    /// Starts Pegboard on a free port.
    pub(crate) fn start(home: &Home, args: &[&str]) -> Self {
        Self::start_at("0", home, args)
    }

    /// Starts Pegboard on this port.
    pub(crate) fn start_at(port: &str, home: &Home, args: &[&str]) -> Self {
        let mut all = vec!["serve", "--port", port];
        all.extend(args);
        let running = home.start(&all);
        running.wait_for("/mcp\"");
        let printed = running.output();
        let url = printed
            .lines()
            .find_map(|line| line.strip_prefix("MCP endpoint  "))
            .and_then(|url| url.strip_suffix("/mcp"))
            .expect("the address is printed")
            .to_owned();
        let token = |args: &[&str]| home.run(args).ok().stdout.trim().to_owned();
        Self {
            running,
            url,
            call: token(&["token"]),
            admin: token(&["token", "--admin"]),
        }
    }

    /// Sends a request below `/api/v1` and returns the status and the body.
    pub(crate) fn request(
        &self,
        token: &str,
        method: &str,
        path: &str,
        body: &Value,
    ) -> (u16, Value) {
        let bearer = format!("Bearer {token}");
        let mut headers = vec![("Authorization", bearer.as_str())];
        let body = match body {
            Value::Null => String::new(),
            body => {
                headers.push(("Content-Type", "application/json"));
                body.to_string()
            }
        };
        let url = format!("{}/api/v1{path}", self.url);
        let (status, body) = http(&url, method, &headers, &body);
        (
            status,
            serde_json::from_str(&body).unwrap_or(Value::String(body)),
        )
    }

    /// Sends a GET request with the client token.
    #[track_caller]
    pub(crate) fn get(&self, path: &str) -> Value {
        let (status, response) = self.request(&self.call, "GET", path, &Value::Null);
        assert_eq!(status, 200, "{path}: {response}");
        response
    }

    /// Sends a request with the admin token.
    pub(crate) fn admin(&self, method: &str, path: &str, body: &Value) -> (u16, Value) {
        self.request(&self.admin, method, path, body)
    }

    /// Stops it and asserts that no process is left.
    pub(crate) fn end(mut self, home: &Home) {
        self.running.signal("-TERM");
        assert!(self.running.wait().success());
        home.assert_nothing_runs();
    }
}
