//! A Pegboard that is served, and requests to its API.

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
    /// Serves what is configured on a port of the system's choice.
    pub(crate) fn start(home: &Home, args: &[&str]) -> Self {
        Self::start_at("0", home, args)
    }

    /// The same on one port.
    pub(crate) fn start_at(port: &str, home: &Home, args: &[&str]) -> Self {
        let mut all = vec!["serve", "--port", port];
        all.extend(args);
        let running = home.start(&all);
        running.wait_for("/mcp\"");
        let told = running.output();
        let url = told
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

    /// Sends a request below `/api/v1`; the status and the answer.
    pub(crate) fn ask(&self, token: &str, method: &str, path: &str, body: &Value) -> (u16, Value) {
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

    /// Reads something as whoever calls tools.
    #[track_caller]
    pub(crate) fn get(&self, path: &str) -> Value {
        let (status, answer) = self.ask(&self.call, "GET", path, &Value::Null);
        assert_eq!(status, 200, "{path}: {answer}");
        answer
    }

    /// Changes something as whoever administers.
    pub(crate) fn admin(&self, method: &str, path: &str, body: &Value) -> (u16, Value) {
        self.ask(&self.admin, method, path, body)
    }

    /// Stops it, and looks that nothing is left.
    pub(crate) fn end(mut self, home: &Home) {
        self.running.signal("-TERM");
        assert!(self.running.wait().success());
        home.assert_nothing_runs();
    }
}
