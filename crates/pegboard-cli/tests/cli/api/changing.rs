//! Changes by the API, in the real file and with real servers.

use pegboard_testkit::Script;
use serde_json::{Value, json};

use super::client::Served;
use crate::support::{EXAMPLE_TOOLS, Home, PEGBOARD};

const FILE: &str = "# My servers, please keep this line.\n\
    [settings] # first\nanswer_deadline = \"2s\"\n\n\
    # The one I like\n[servers.liked]\ncommand = \"PEGBOARD\" # mine\nargs = [\"example-server\"]\n";

#[test]
fn r_cfg_06_changes_by_the_api_keep_comments_and_order() {
    let home = Home::new();
    let file = FILE.replace("PEGBOARD", PEGBOARD);
    home.write("config/config.toml", &file);
    let served = Served::start(&home, &[]);
    let add = json!({"name": "second", "command": PEGBOARD, "args": ["example-server"]});
    let (status, added) = served.admin("POST", "/servers", &add);
    assert_eq!(status, 201, "{added}");
    assert_eq!(added["discovery"]["tools"], EXAMPLE_TOOLS);
    let after = home.config();
    assert!(after.starts_with(&file), "{after}");
    assert!(after.contains("[servers.second]"), "{after}");

    let change = json!({"description": "The second", "ttl": "1h"});
    let (status, changed) = served.admin("PATCH", "/servers/second", &change);
    assert_eq!(status, 200, "{changed}");
    let (status, off) = served.admin("POST", "/servers/liked/disable", &Value::Null);
    assert_eq!((status, &off["server"]["enabled"]), (200, &json!(false)));
    let after = home.config();
    for kept in [
        "# My servers, please keep this line.",
        "# first",
        "# The one I like",
        "# mine",
    ] {
        assert!(after.contains(kept), "{after}");
    }
    assert!(
        after.contains("ttl = \"1h\"") && after.contains("enabled = false"),
        "{after}"
    );

    let (status, bad) = served.admin(
        "PATCH",
        "/servers/second",
        &json!({"ttl": "soon", "cwd": "/"}),
    );
    assert_eq!(
        (status, &bad["error"]["code"]),
        (400, &json!("CONFIG_INVALID")),
        "{bad}"
    );
    assert_eq!(home.config(), after, "all of a change or nothing");

    served.admin("POST", "/servers/liked/enable", &Value::Null);
    let (status, _) = served.admin("DELETE", "/servers/second", &Value::Null);
    assert_eq!(status, 204);
    // An explanation needs a discovered tool.
    let (status, refreshed) = served.admin("POST", "/servers/liked/refresh", &Value::Null);
    assert_eq!(status, 200, "{refreshed}");
    let rule = json!({"pattern": "liked/echo", "policy": "deny"});
    assert_eq!(served.admin("PUT", "/policies", &rule).0, 204);
    let explained = served.get("/policies/explain?tool=liked__echo");
    assert_eq!(explained["policy"], "deny");
    let out = served.admin("DELETE", "/policies?pattern=liked/echo", &Value::Null);
    assert_eq!(out.0, 204, "{}", out.1);
    let after = home.config();
    assert!(
        !after.contains("second") && after.contains("# The one I like"),
        "{after}"
    );
    served.end(&home);
}

#[test]
fn r_api_05_a_server_that_fails_is_kept_with_its_error_and_its_command_is_shown_without_secrets() {
    let home = Home::with_example();
    let served = Served::start(&home, &[]);
    let add = json!({"name": "broken", "command": "/nothing/like this", "args": ["--token", "hush-hush"]});
    let (status, added) = served.admin("POST", "/servers", &add);
    assert_eq!(status, 201, "{added}");
    assert_eq!(added["command"], "'/nothing/like this' --token ***");
    let warning = &added["server"]["warnings"][0];
    assert_eq!(warning["key"], "args[2]");
    let advice = warning["text"].as_str().expect("a text");
    assert!(
        advice.contains("pegboard secret set broken_token"),
        "{advice}"
    );
    assert!(!added.to_string().contains("hush-hush"), "{added}");
    assert_eq!(added["discovery"]["status"], "failed");
    assert_eq!(added["discovery"]["error"]["code"], "SPAWN_NOT_FOUND");
    let seen = served.get("/servers/broken");
    assert_eq!(seen["health"]["status"], "failed");
    assert!(!seen.to_string().contains("hush-hush"), "{seen}");
    assert!(home.config().contains("[servers.broken]"));
    served.running.wait_for("✗ broken");

    let missing = json!({"name": "waits", "command": "x", "env": {"KEY": "${NOT_SET_ANYWHERE}"}});
    let before = home.config();
    let (status, refused) = served.admin("POST", "/servers", &missing);
    assert_eq!(status, 400, "{refused}");
    assert_eq!(refused["error"]["code"], "CONFIG_SECRET_MISSING");
    assert_eq!(
        home.config(),
        before,
        "it is as if it had not been asked for"
    );
    served.end(&home);
}

#[test]
fn r_api_05_connected_clients_are_notified_of_list_changes() {
    let home = Home::with_example();
    let profile = "[profiles.all]\nmode = 'direct'\n";
    home.write("config/config.toml", &format!("{}{profile}", home.config()));
    let served = Served::start(&home, &[]);
    let mut client = EventStream::open(&served, "/mcp/all");
    let (command, args) = Script::new().tools(["work"]).stdio_command();
    let add = json!({"name": "new", "command": command, "args": args});
    assert_eq!(served.admin("POST", "/servers", &add).0, 201);
    client.wait_for("notifications/tools/list_changed");
    let sessions = served.get("/sessions");
    let session = &sessions["sessions"][0];
    assert_eq!(session["client"], "a test 1", "{sessions}");
    let id = session["id"].as_str().expect("an id");
    let has = served.get(&format!("/sessions/{id}/configuration"));
    assert_eq!(has["total"], EXAMPLE_TOOLS + 1, "{has}");
    drop(client);
    served.end(&home);
}

/// A legacy client that receives notifications.
struct EventStream(std::io::BufReader<std::net::TcpStream>);

impl EventStream {
    fn open(served: &Served, path: &str) -> Self {
        use std::io::{BufRead, BufReader, Write};
        let address = served.url.strip_prefix("http://").expect("a plain address");
        let send = |method: &str, more: &str, body: &str| {
            let mut stream = std::net::TcpStream::connect(address).expect("a listener");
            let limit = Some(crate::support::TIMEOUT);
            stream.set_read_timeout(limit).expect("a limit");
            let text = format!(
                "{method} {path} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {}\r\n{more}\
                 Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n\
                 Content-Length: {}\r\n\r\n{body}",
                served.call,
                body.len()
            );
            stream.write_all(text.as_bytes()).expect("a request");
            BufReader::new(stream)
        };
        let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": "2025-11-25", "capabilities": {},
            "clientInfo": {"name": "a test", "version": "1"},
        }});
        let response = send("POST", "", &hello.to_string());
        let session = response.lines().map_while(Result::ok).find_map(|line| {
            let (name, value) = line.split_once(": ")?;
            let is_it = name.eq_ignore_ascii_case("mcp-session-id");
            is_it.then(|| value.to_owned())
        });
        let session = session.expect("a session");
        let more = format!("Mcp-Session-Id: {session}\r\nMCP-Protocol-Version: 2025-11-25\r\n");
        let mut listening = Self(send("GET", &more, ""));
        listening.wait_for("200 OK");
        listening
    }

    fn wait_for(&mut self, text: &str) {
        use std::io::BufRead;
        let mut line = String::new();
        while !line.contains(text) {
            line.clear();
            let read = self.0.read_line(&mut line).expect("the stream continues");
            assert_ne!(read, 0, "the stream ended before `{text}`");
        }
    }
}
