//! A hostile server over HTTP that ends with its value.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, ChildStdin, Command, Stdio};

use crate::Script;

/// A running `pegboard-hostile --http`. It ends when this value is dropped, and when the test process is
/// killed, because it watches its standard input.
#[derive(Debug)]
pub struct HostileHttp {
    port: u16,
    child: Child,
    _stdin: Option<ChildStdin>,
}

impl HostileHttp {
    /// Starts a server on a free port and waits until it listens.
    ///
    /// # Panics
    /// If it does not start.
    #[expect(clippy::disallowed_methods, reason = "starts the server under test")]
    pub fn start(script: &Script) -> Self {
        let mut child = Command::new(crate::binary("pegboard-hostile"))
            .arg("--http")
            .args(script.stdio_args())
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("pegboard-hostile starts");
        let mut line = String::new();
        let stderr = child.stderr.take().expect("stderr is piped");
        BufReader::new(stderr)
            .read_line(&mut line)
            .expect("pegboard-hostile reports its port");
        let port = line
            .trim()
            .strip_prefix("LISTENING ")
            .and_then(|port| port.parse().ok());
        let port = port.unwrap_or_else(|| panic!("pegboard-hostile printed `{}`", line.trim()));
        let stdin = child.stdin.take();
        Self {
            port,
            child,
            _stdin: stdin,
        }
    }

    /// The URL of its MCP endpoint.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}/mcp", self.port)
    }

    /// The port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// A spec for this server.
    pub fn spec(&self, name: &str) -> pegboard_model::ServerSpec {
        crate::http_spec(name, self.url())
    }
}

impl Drop for HostileHttp {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
