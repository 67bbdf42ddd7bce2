//! Streamable HTTP.

use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};

use pegboard_testkit::wait_until_sync;
use serde_json::json;

use super::{Expected, Installed};
use crate::support::TIMEOUT;

#[test]
fn r_disc_03_server_everything_over_streamable_http() {
    let Some(real) = Installed::here() else {
        return;
    };
    let mut server = Server::start(&real);
    let url = format!("http://127.0.0.1:{}/mcp", server.port);
    real.add("remote", &[&url], &Expected::legacy(&["echo", "get-sum"]));
    assert!(
        real.call("remote/echo", &json!({"message": "over http"}))
            .contains("over http")
    );
    assert!(
        real.call("remote/get-sum", &json!({"a": 1, "b": 2}))
            .contains('3')
    );

    server.stop();
    let failed = real
        .home
        .run(&["refresh", "remote", "--json"])
        .exits(3)
        .json();
    assert_eq!(failed["servers"][0]["error"]["reason"], "CONNECT_FAILED");
    let show = real.home.run(&["show", "remote", "--json"]).ok().json();
    assert_eq!(show["stale"], true);
    assert!(
        show["tools"]
            .as_array()
            .is_some_and(|tools| tools.len() > 5),
        "its tools stay known"
    );
    real.home.assert_nothing_runs();
}

/// The real server on its own port; killed on drop.
struct Server {
    port: u16,
    child: Child,
}

impl Server {
    #[expect(clippy::disallowed_methods, reason = "starts the server under test")]
    fn start(real: &Installed) -> Self {
        let free = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let port = free.local_addr().expect("its address").port();
        drop(free);
        let mut command = Command::new("node");
        command
            .arg(real.npm("server-everything"))
            .arg("streamableHttp")
            .env("PORT", port.to_string());
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let server = Self {
            port,
            child: command.spawn().expect("node starts"),
        };
        wait_until_sync("the server listens", TIMEOUT, || {
            TcpStream::connect(("127.0.0.1", port)).is_ok()
        });
        server
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
