//! Roots over real pipes: a server has those of the session that made its first call, from that call on.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

mod fixture;

use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use async_trait::async_trait;
use fixture::{command, connect, sh};
use pegboard_model::RpcError;
use pegboard_upstream::{CallOptions, Caller, ClientCapabilities, Upstream};
use serde_json::value::RawValue;
use serde_json::{Value, json};

struct Session {
    name: &'static str,
    root: PathBuf,
}

impl Session {
    fn new(name: &'static str, root: &Path) -> Arc<Self> {
        let root = root.to_owned();
        Arc::new(Self { name, root })
    }

    async fn call(self: &Arc<Self>, server: &Arc<dyn Upstream>, tool: &str, path: &Path) -> Value {
        let arguments = RawValue::from_string(json!({"path": path}).to_string()).unwrap();
        let options = CallOptions {
            caller: Some(Arc::clone(self) as Arc<dyn Caller>),
            ..CallOptions::with_timeout(Duration::from_secs(60))
        };
        let outcome = server.call(tool, &arguments, options).await.unwrap();
        serde_json::from_str(outcome.result.get()).unwrap()
    }
}

#[async_trait]
impl Caller for Session {
    fn session(&self) -> &str {
        self.name
    }

    fn capabilities(&self) -> &ClientCapabilities {
        static DECLARED: LazyLock<ClientCapabilities> =
            LazyLock::new(|| ClientCapabilities::parse(r#"{"roots":{"listChanged":true}}"#));
        &DECLARED
    }

    fn wants_progress(&self) -> bool {
        false
    }

    fn progress(&self, _: &RawValue) {}

    fn message(&self, _: &RawValue) {}

    async fn send_request(
        &self,
        method: &str,
        _: Option<&RawValue>,
    ) -> Result<Box<RawValue>, RpcError> {
        assert_eq!(method, "roots/list");
        let roots = json!({"roots": [{"uri": format!("file://{}", self.root.display())}]});
        Ok(RawValue::from_string(roots.to_string()).unwrap())
    }
}

/// A server that requests roots after the handshake and returns them with every call.
const ASKS_AT_ITS_START: &str = r#"
say() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$1"; }
while read -r line; do
  id=${line#*\"id\":}; id=${id%%,*}
  case "$line" in
    *'"method":"server/discover"'*) printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}\n' "$id" ;;
    *'"method":"initialize"'*) say '{"protocolVersion":"2025-06-18","capabilities":{"tools":{}}}' ;;
    *'notifications/initialized'*) printf '{"jsonrpc":"2.0","id":"roots","method":"roots/list"}\n' ;;
    *'"id":"roots"'*) roots=${line#*\"uri\":\"}; roots=${roots%%\"*} ;;
    *'"method":"ping"'*) say '{}' ;;
    *'"method":"tools/call"'*) say "{\"content\":[],\"roots\":\"$roots\"}" ;;
  esac
done
"#;

#[tokio::test]
async fn r_gate_03_a_server_has_the_roots_of_its_first_session_before_the_first_call() {
    let (a, b) = (
        Session::new("a", Path::new("/a")),
        Session::new("b", Path::new("/b")),
    );
    for _ in 0..5 {
        let server = connect(&sh(ASKS_AT_ITS_START)).await.unwrap();
        for session in [&a, &b, &a] {
            let result = session.call(&server, "tool", Path::new("/")).await;
            assert_eq!(result["roots"], "file:///a", "called by {}", session.name);
        }
        server.close().await;
    }
}

#[tokio::test]
async fn r_gate_03_the_real_filesystem_server_serves_the_folder_of_its_first_session_alone() {
    let Some(folder) = std::env::var_os("PEGBOARD_TEST_ENV") else {
        println!("skipped: PEGBOARD_TEST_ENV does not name the folder of scripts/install-test-env");
        return;
    };
    let program = Path::new(&folder)
        .join("npm/node_modules/@modelcontextprotocol/server-filesystem/dist/index.js");
    let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    std::fs::write(one.path().join("mine.txt"), "a").unwrap();
    std::fs::write(two.path().join("yours.txt"), "b").unwrap();
    let (a, b) = (Session::new("a", one.path()), Session::new("b", two.path()));
    for _ in 0..3 {
        let server = connect(&command("node", &[program.to_str().unwrap()]))
            .await
            .unwrap();
        let listed = a.call(&server, "list_directory", one.path()).await;
        assert_ne!(listed["isError"], true, "{listed}");
        assert!(listed.to_string().contains("mine.txt"), "{listed}");
        let listed = b.call(&server, "list_directory", two.path()).await;
        assert_eq!(listed["isError"], true, "{listed}");
        let listed = a.call(&server, "list_directory", one.path()).await;
        assert_ne!(listed["isError"], true, "{listed}");
        server.close().await;
    }
}
