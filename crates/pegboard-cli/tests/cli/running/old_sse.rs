//! Servers of the old HTTP+SSE transport, from `add` to a call, with streams that end in the middle of one.

use pegboard_testkit::{SseFault, SsePost, SseScript, SseServer};

use crate::support::Home;

fn added(server: &SseServer) -> Home {
    let home = Home::new();
    let run = home.run(&["add", "old", &server.url()]).ok();
    assert!(run.stdout.starts_with("✓ old  2 tools"), "{}", run.stdout);
    home
}

fn faulty(server: &SseServer, fault: SseFault) {
    server.change(|script| script.fault = fault);
}

#[test]
fn r_auth_06_an_added_url_is_detected_once_and_remembered() {
    let server = SseServer::start(SseScript::default());
    let home = added(&server);
    let show = home.run(&["show", "old", "--json"]).ok().json();
    assert_eq!(
        (&show["transport"], &show["era"]),
        (&"sse".into(), &"legacy".into())
    );
    let text = home.run(&["show", "old"]).ok().stdout;
    assert!(
        text.contains(&format!("  sse         {}", server.url())),
        "{text}"
    );
    assert!(
        !home.config().contains("type"),
        "not written: {}",
        home.config()
    );
    let before = server.requests();
    home.run(&["call", "old/look"]).ok();
    // The stream, `initialize`, `notifications/initialized` and the call: nothing was detected again.
    assert_eq!(server.requests() - before, 4, "{:?}", server.methods());
    for id in server.session_ids() {
        let leaked = home.run(&["logs", "old"]);
        assert!(!leaked.stdout.contains(&id) && !leaked.stderr.contains(&id));
    }
    home.assert_nothing_runs();
}

#[test]
fn r_auth_06_a_lost_stream_is_reported_and_only_safe_calls_are_sent_again() {
    let server = SseServer::start(SseScript::default());
    let home = added(&server);
    faulty(&server, SseFault::DropsAtCall(1));
    home.run(&["call", "old/look"]).ok();
    assert_eq!(
        server.tools_run(),
        ["look", "look"],
        "read-only: sent again"
    );
    faulty(&server, SseFault::DropsAtCall(1));
    let failed = home.run(&["call", "old/write"]);
    assert_ne!(failed.code, 0);
    let text = format!("{}{}", failed.stdout, failed.stderr);
    assert!(
        text.contains("it is unknown whether this call had an effect"),
        "{text}"
    );
    assert!(text.contains("closed its event stream"), "{text}");
    assert_eq!(server.tools_run(), ["look", "look", "write"]);
    home.run(&["call", "old/write"]).ok();
}

#[test]
fn r_auth_06_a_configured_transport_is_not_detected() {
    let server = SseServer::start(SseScript {
        // A POST would look like a server that removed the transport.
        post: SsePost::Gone,
        ..SseScript::default()
    });
    let home = Home::new();
    let table = format!(
        "[servers.old]\nurl = \"{}\"\ntype = \"sse\"\n",
        server.url()
    );
    home.write("config/config.toml", &table);
    home.run(&["refresh", "old"]).ok();
    home.run(&["call", "old/look"]).ok();
    let show = home.run(&["show", "old", "--json"]).ok().json();
    assert_eq!(show["transport"], "sse");
    let list = home.run(&["list", "--json"]).ok().stdout;
    assert!(list.contains("\"sse\""), "{list}");
}

#[test]
fn r_auth_06_a_removed_transport_says_where_to_go() {
    let server = SseServer::start(SseScript {
        fault: SseFault::StreamStatus(410),
        post: SsePost::Gone,
        ..SseScript::default()
    });
    let home = Home::new();
    let run = home.run(&["add", "old", &server.url()]);
    let text = format!("{}{}", run.stdout, run.stderr);
    assert!(text.contains("HTTP 410") && text.contains("/mcp"), "{text}");
}
