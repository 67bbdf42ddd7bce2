//! The old HTTP+SSE transport: servers of both SDKs.

use std::io::{BufRead as _, BufReader};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use pegboard_testkit::wait_until_sync;
use serde_json::json;

use super::{Expected, Installed};
use crate::support::TIMEOUT;

#[test]
fn r_auth_06_the_typescript_sdks_server_is_discovered_and_called() {
    let Some(real) = Installed::here() else {
        return;
    };
    let (_server, url) = Server::typescript(&real);
    real.add("old", &[&url], &Expected::legacy(&["echo", "get-sum"]));
    let echoed = real.call("old/echo", &json!({"message": "over sse"}));
    assert!(echoed.contains("over sse"), "{echoed}");
    let show = real.home.run(&["show", "old", "--json"]).ok().json();
    assert_eq!(show["transport"], "sse");
    // The long-running operation reports progress on the same stream.
    let slow = json!({"duration": 1, "steps": 2});
    let done = real.call("old/trigger-long-running-operation", &slow);
    assert!(done.contains("completed"), "{done}");
    real.home.assert_nothing_runs();
}

#[test]
fn r_auth_06_the_python_sdks_server_is_discovered_and_called() {
    let Some(real) = Installed::here() else {
        return;
    };
    let (mut server, url) = Server::python(&real);
    real.add("old", &[&url], &Expected::legacy(&["add"]));
    assert!(
        real.call("old/add", &json!({"a": 1, "b": 2}))
            .contains("sum 3")
    );
    let show = real.home.run(&["show", "old"]).ok().stdout;
    assert!(show.contains("sse") && show.contains(&url), "{show}");

    server.stop();
    let failed = real.home.run(&["refresh", "old", "--json"]).exits(3).json();
    assert_eq!(failed["servers"][0]["error"]["reason"], "CONNECT_FAILED");
    let show = real.home.run(&["show", "old", "--json"]).ok().json();
    assert_eq!(show["tools"], json!(["old__add"]), "its tools stay known");
}

/// A real server; killed on drop.
struct Server {
    child: Child,
}

impl Server {
    #[expect(clippy::disallowed_methods, reason = "starts the server under test")]
    fn typescript(real: &Installed) -> (Self, String) {
        let free = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let port = free.local_addr().expect("its address").port();
        drop(free);
        let child = Command::new("node")
            .arg(real.npm("server-everything"))
            .arg("sse")
            .env("PORT", port.to_string())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("node starts");
        let server = Self { child };
        wait_until_sync("the server listens", TIMEOUT, || {
            TcpStream::connect(("127.0.0.1", port)).is_ok()
        });
        (server, format!("http://127.0.0.1:{port}/sse"))
    }

    #[expect(clippy::disallowed_methods, reason = "starts the server under test")]
    fn python(real: &Installed) -> (Self, String) {
        let program =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/real_servers/python_sse.py");
        let mut child = Command::new(real.python("python"))
            .arg(program)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("python starts");
        let mut url = String::new();
        let stdout = child.stdout.take().expect("its output is a pipe");
        let _ = BufReader::new(stdout).read_line(&mut url);
        (Self { child }, url.trim().to_owned())
    }

    fn stop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop();
    }
}
