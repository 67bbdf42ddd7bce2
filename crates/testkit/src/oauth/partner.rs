//! Real authorization servers with protected MCP servers, started from `tests/oauth_servers`.

use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::Duration;

use serde_json::Value;

use super::browser::send;

/// A real authorization server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Partner {
    /// `oidc-provider`: rotates refresh tokens, and revokes the grant when an old one is used.
    OidcProvider,
    /// The Python SDK's: an old refresh token is refused.
    PythonSdk,
    /// FastMCP's: an old refresh token is refused with 401, its issuer ends with a slash.
    FastMcp,
}

impl Partner {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::OidcProvider, Self::PythonSdk, Self::FastMcp];

    /// The program, and what runs it in the folder of the test environment.
    fn program(self) -> (&'static str, &'static str) {
        match self {
            Self::OidcProvider => ("oidc_provider.mjs", "conformance/node_modules/.bin/node"),
            Self::PythonSdk => ("python_sdk.py", "python/bin/python"),
            Self::FastMcp => ("fastmcp_server.py", "fastmcp/bin/python"),
        }
    }
}

/// A running partner. It ends with this value, and with the test process.
#[derive(Debug)]
pub struct PartnerServer {
    where_it_is: Value,
    child: Child,
    _stdin: Option<ChildStdin>,
}

impl PartnerServer {
    /// Starts a partner whose access tokens live this long. Prints the reason and returns `None` if the test
    /// environment is not installed.
    ///
    /// # Panics
    /// If it is installed, but does not start.
    #[expect(clippy::disallowed_methods, reason = "starts a server for tests")]
    pub fn start(partner: Partner, lifetime: Duration) -> Option<Self> {
        let Some(environment) = std::env::var_os("PEGBOARD_TEST_ENV") else {
            #[expect(clippy::print_stdout, reason = "a skipped test says so")]
            {
                println!(
                    "skipped: PEGBOARD_TEST_ENV does not name the folder of scripts/install-test-env"
                );
            }
            return None;
        };
        let (program, runner) = partner.program();
        let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/oauth_servers");
        let mut child = Command::new(PathBuf::from(&environment).join(runner))
            .arg(folder.join(program))
            .arg(lifetime.as_secs().to_string())
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap_or_else(|error| panic!("{program} does not start: {error}"));
        let mut line = String::new();
        let stdout = child.stdout.take().expect("its output is a pipe");
        let _ = BufReader::new(stdout).read_line(&mut line);
        let where_it_is = serde_json::from_str(&line)
            .unwrap_or_else(|_| panic!("{program} printed `{}`", line.trim()));
        let stdin = child.stdin.take();
        Some(Self {
            where_it_is,
            child,
            _stdin: stdin,
        })
    }

    /// The URL of the protected MCP server. Its tool `read_note` returns its argument `text`; `oidc-provider` has
    /// `write_note` too, which needs the scope `notes:write`.
    pub fn mcp_url(&self) -> &str {
        self.text("mcp")
    }

    /// The origin of the authorization server.
    pub fn issuer(&self) -> &str {
        self.text("issuer")
    }

    /// Ends all access tokens. Refresh tokens stay valid.
    pub fn expire_access_tokens(&self) {
        self.control("expire");
    }

    /// Ends everything that was granted.
    pub fn revoke_grants(&self) {
        self.control("revoke");
    }

    /// Forgets all registered clients.
    pub fn forget_clients(&self) {
        self.control("forget-clients");
    }

    fn control(&self, action: &str) {
        let url = format!("{}/{action}", self.text("control"));
        let answer = send("POST", &url, &[], "");
        assert_eq!(answer.status, 204, "{action}: {}", answer.body);
    }

    fn text(&self, name: &str) -> &str {
        self.where_it_is[name]
            .as_str()
            .expect("a member of the line")
    }
}

impl Drop for PartnerServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
