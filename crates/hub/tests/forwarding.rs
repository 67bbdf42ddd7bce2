//! Forwarded requests, watched resources, and how a call is sent.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    reason = "a test fails by panicking"
)]

mod fake;

use std::time::Duration;

use fake::{Behaviour, HubFixture, event_names, spec, wait_for};
use pegboard_hub::{Announcement, CallRequest, ForwardRequest, HubSettings, OfferRef, SessionId};
use pegboard_model::{EventKind, Reason, ServerName, ToolError, ToolResult, TrustState};
use pegboard_testkit::{http_spec, tool_json, wait_until};
use serde_json::json;
use serde_json::value::RawValue;

const LONG: Duration = Duration::from_secs(30);

fn session(name: &str) -> SessionId {
    SessionId(name.to_owned())
}

fn server(name: &str) -> ServerName {
    ServerName::parse(name).unwrap()
}

/// A prompt `plan` and resources of one scheme.
fn offers() -> Behaviour {
    Behaviour {
        prompts: vec![json!({"name": "plan"})],
        templates: vec![json!({"name": "t", "uriTemplate": "test://{+rest}"})],
        ..Behaviour::default()
    }
}

/// Adds tools to a server's behaviour.
fn offering(fixture: &HubFixture, server: &str, tools: &[&str]) {
    let tools = tools.iter().map(|name| tool_json(name)).collect();
    fixture.servers.set(server, Behaviour { tools, ..offers() });
}

async fn forward(fixture: &HubFixture, name: &str, method: &str) -> Result<String, ToolError> {
    let members = r#""name":"plan""#;
    let about = OfferRef::Prompt("plan".into());
    let request = ForwardRequest::new(session("s"), server(name), method, about, members);
    let outcome = fixture.hub.forward(&request).await?;
    Ok(outcome.result.get().to_owned())
}

async fn call(fixture: &HubFixture, tool: &str, arguments: &str) -> ToolResult<()> {
    let arguments = RawValue::from_string(arguments.into()).unwrap();
    let request = CallRequest::new(session("s"), tool, arguments);
    fixture.hub.call(&request).await.map(drop)
}

#[tokio::test]
async fn r_gate_03_a_request_reaches_exactly_its_server_and_the_result_is_untouched() {
    let fixture = HubFixture::new(&["a", "b"]).await;
    offering(&fixture, "a", &["one"]);
    offering(&fixture, "b", &["two"]);
    fixture.hub.ensure_known().await;
    fixture.servers.starts.lock().unwrap().clear();
    let mut events = fixture.hub.subscribe_calls();
    let result = forward(&fixture, "b", "prompts/get").await.unwrap();
    assert_eq!(result, r#"{"of":"b",  "kept":[1.0]}"#);
    forward(&fixture, "b", "prompts/get").await.unwrap();
    assert_eq!(*fixture.servers.starts.lock().unwrap(), ["b"]);
    let request = ["b", "prompts/get", r#""name":"plan""#, "plan"].map(str::to_owned);
    assert_eq!(fixture.servers.requests.lock().unwrap()[0], request);
    let names = event_names(&mut events);
    assert!(names.contains("server.request.finished"), "{names:?}");
    let options = fixture.servers.options.lock().unwrap();
    assert_eq!(options[0].max_duration, options[0].timeout * 10);
}

#[tokio::test]
async fn r_gate_03_a_request_to_a_server_that_may_not_run_starts_nothing() {
    let mut disabled = spec("disabled");
    disabled.enabled = false;
    let mut pending = spec("pending");
    pending.trust_state = TrustState::Pending;
    let fixture = HubFixture::with(vec![disabled, pending], HubSettings::default()).await;
    for (name, reason) in [
        ("disabled", Reason::ServerDisabled),
        ("pending", Reason::ServerPending),
        ("missing", Reason::ServerUnknown),
    ] {
        let error = forward(&fixture, name, "resources/read").await.unwrap_err();
        assert_eq!(error.reason, reason, "{name}");
        let watched = fixture
            .hub
            .watch_resource(&session("s"), &server(name), "test://1", true)
            .await;
        assert_eq!(watched.unwrap_err().reason, reason, "{name}");
    }
    assert!(fixture.servers.starts.lock().unwrap().is_empty());
}

#[tokio::test]
async fn r_gate_03_only_a_request_that_changes_nothing_is_sent_again() {
    let fixture = HubFixture::new(&["a"]).await;
    fixture.servers.set(
        "a",
        Behaviour {
            crash_on_call: true,
            ..offers()
        },
    );
    for (method, sent) in [("resources/read", 2), ("tasks/cancel", 1)] {
        fixture.servers.requests.lock().unwrap().clear();
        let error = forward(&fixture, "a", method).await.unwrap_err();
        assert!(matches!(
            error.reason,
            Reason::ServerExited | Reason::ServerBackoff
        ));
        let requests = fixture.servers.requests.lock().unwrap().len();
        assert_eq!(requests, sent, "{method}");
        fixture
            .hub
            .refresh(pegboard_hub::RefreshScope::All, true)
            .await
            .unwrap();
    }
}

/// The resources that the servers were asked to watch, in order.
fn watched(fixture: &HubFixture) -> Vec<(String, bool)> {
    let watches = fixture.servers.watches.lock().unwrap();
    let watched = watches.iter().map(|(_, uri, watch)| (uri.clone(), *watch));
    watched.collect()
}

async fn watch(fixture: &HubFixture, who: &str, uri: &str, watch: bool) -> ToolResult<()> {
    let hub = &fixture.hub;
    hub.watch_resource(&session(who), &server("a"), uri, watch)
        .await
}

#[tokio::test]
async fn r_gate_03_many_who_watch_are_one_for_the_server() {
    let fixture = HubFixture::new(&["a"]).await;
    fixture.servers.set("a", offers());
    for who in ["one", "two", "one"] {
        watch(&fixture, who, "test://1", true).await.unwrap();
    }
    watch(&fixture, "one", "test://2", true).await.unwrap();
    watch(&fixture, "two", "test://3", false).await.unwrap();
    let asked = [("test://1".into(), true), ("test://2".into(), true)];
    assert_eq!(watched(&fixture), asked);
    watch(&fixture, "one", "test://1", false).await.unwrap();
    assert_eq!(watched(&fixture).len(), 2, "`two` still watches");
    watch(&fixture, "two", "test://1", false).await.unwrap();
    assert_eq!(watched(&fixture)[2], ("test://1".into(), false));

    let mut announcements = fixture.hub.announcements();
    let updated = Announcement::ResourceUpdated {
        uri: "test://2".into(),
    };
    fixture.servers.emit("a", updated.clone());
    let announced = tokio::time::timeout(LONG, announcements.recv()).await;
    assert_eq!(announced.unwrap().unwrap(), (server("a"), updated));

    fixture.hub.session_ended(&session("one"));
    wait_until("the last watch ends with its session", LONG, || {
        watched(&fixture).last() == Some(&("test://2".into(), false))
    })
    .await;
}

#[tokio::test]
async fn r_gate_03_a_watch_is_unsubscribed_when_its_caller_disconnects() {
    let fixture = HubFixture::new(&["a"]).await;
    let hanging = Behaviour {
        hang_watch: true,
        ..offers()
    };
    fixture.servers.set("a", hanging);
    let hub = fixture.hub.clone();
    let watching = tokio::spawn(async move {
        let (who, server) = (session("one"), server("a"));
        hub.watch_resource(&who, &server, "test://1", true).await
    });
    wait_until("the server received it", LONG, || {
        !watched(&fixture).is_empty()
    })
    .await;
    watching.abort();
    wait_until("it is taken back", LONG, || {
        watched(&fixture).last() == Some(&("test://1".into(), false))
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn r_gate_03_a_watched_server_is_not_idle_and_is_asked_again_after_a_restart() {
    let mut brief = spec("a");
    brief.timeouts.idle = Duration::from_secs(60);
    let fixture = HubFixture::with(vec![brief], HubSettings::default()).await;
    offering(&fixture, "a", &["one"]);
    fixture.hub.ensure_known().await;
    fixture.servers.starts.lock().unwrap().clear();
    watch(&fixture, "s", "test://1", true).await.unwrap();
    tokio::time::sleep(Duration::from_secs(3600)).await;
    assert!(fixture.servers.is_running("a"));
    assert_eq!(fixture.servers.started("a"), 1);

    let mut events = fixture.hub.subscribe();
    fixture.servers.crash("a");
    let is_gone =
        |kind: &EventKind| matches!(kind, EventKind::ServerStopped { why, .. } if why == "crashed");
    wait_for(&mut events, is_gone).await;
    call(&fixture, "a__one", "{}").await.unwrap();
    wait_until("it is subscribed again", LONG, || {
        watched(&fixture).len() == 2
    })
    .await;
    assert_eq!(watched(&fixture)[1], ("test://1".into(), true));

    watch(&fixture, "s", "test://1", false).await.unwrap();
    tokio::time::sleep(Duration::from_secs(3600)).await;
    assert!(!fixture.servers.is_running("a"), "no session watches");
}

#[tokio::test]
async fn r_gate_03_a_watch_that_the_server_refuses_is_not_kept() {
    let fixture = HubFixture::new(&["a"]).await;
    let behaviour = Behaviour {
        fail_watch: true,
        ..offers()
    };
    fixture.servers.set("a", behaviour);
    let error = watch(&fixture, "s", "test://1", true).await.unwrap_err();
    assert_eq!(error.reason, Reason::ServerError);
    fixture.servers.change("a", |b| b.fail_watch = false);
    watch(&fixture, "s", "test://2", true).await.unwrap();
    fixture.servers.crash("a");
    forward(&fixture, "a", "resources/read").await.unwrap();
    wait_until("it is subscribed again", LONG, || {
        watched(&fixture).len() == 2
    })
    .await;
    let all = watched(&fixture);
    assert!(all.iter().all(|(uri, _)| uri == "test://2"), "{all:?}");
}

#[tokio::test]
async fn r_gate_03_a_watch_that_was_given_up_is_not_kept() {
    let fixture = HubFixture::new(&["a"]).await;
    fixture.servers.set("a", Behaviour::hanging());
    let given_up = async {
        tokio::select! {
            _ = watch(&fixture, "s", "test://1", true) => panic!("the server hangs"),
            () = wait_until("it is started", LONG, || fixture.servers.started("a") == 1) => {}
        }
    };
    given_up.await;
    fixture.servers.set("a", offers());
    watch(&fixture, "s", "test://2", true).await.unwrap();
    assert_eq!(watched(&fixture), [("test://2".into(), true)]);
    fixture.hub.session_ended(&session("s"));
    wait_until("nothing is watched", LONG, || watched(&fixture).len() == 2).await;
    assert_eq!(watched(&fixture)[1], ("test://2".into(), false));
}

#[tokio::test]
async fn r_sec_01_a_session_cannot_watch_without_end() {
    let fixture = HubFixture::new(&["a"]).await;
    fixture.servers.set("a", offers());
    let limit = pegboard_model::Limits::default().subscriptions_per_session;
    for number in 0..limit {
        let uri = format!("test://{number}");
        watch(&fixture, "s", &uri, true).await.unwrap();
    }
    let refused = watch(&fixture, "s", "test://more", true).await.unwrap_err();
    assert_eq!(refused.reason, Reason::Overloaded);
    watch(&fixture, "other", "test://more", true).await.unwrap();
    watch(&fixture, "s", "test://0", false).await.unwrap();
    watch(&fixture, "s", "test://more", true).await.unwrap();
    let long = format!("test://{}", "x".repeat(100_000));
    let refused = watch(&fixture, "other", &long, true).await.unwrap_err();
    assert_eq!(refused.reason, Reason::ResourceUnknown);
}

fn mirrored(header: &str) -> serde_json::Value {
    json!({"name": "query", "inputSchema": {"type": "object", "properties": {
        "region": {"type": "string", "x-mcp-header": header}}}})
}

#[tokio::test]
async fn r_reg_06_annotated_arguments_are_repeated_as_headers_for_servers_on_the_network_alone() {
    let specs = vec![http_spec("web", "http://127.0.0.1:9/mcp"), spec("local")];
    let fixture = HubFixture::with(specs, HubSettings::default()).await;
    for name in ["web", "local"] {
        fixture.servers.set(
            name,
            Behaviour {
                tools: vec![mirrored("Region"), tool_json("plain")],
                ..Behaviour::default()
            },
        );
    }
    fixture.hub.ensure_known().await;
    for tool in ["web__query", "web__plain", "local__query"] {
        call(&fixture, tool, r#"{"region":"eu"}"#).await.unwrap();
    }
    let options = fixture.servers.options.lock().unwrap();
    let headers: Vec<_> = options.iter().map(|options| &options.headers).collect();
    assert_eq!(headers[0], &[("Region".to_owned(), "eu".to_owned())]);
    assert!(headers[1].is_empty() && headers[2].is_empty());
}

#[tokio::test]
async fn r_reg_06_a_header_mismatch_renews_the_list_once_and_the_call_is_made_again() {
    let specs = vec![http_spec("web", "http://127.0.0.1:9/mcp"), spec("local")];
    let fixture = HubFixture::with(specs, HubSettings::default()).await;
    for name in ["web", "local"] {
        let behaviour = Behaviour {
            tools: vec![mirrored("Old")],
            ..Behaviour::default()
        };
        fixture.servers.set(name, behaviour);
    }
    fixture.hub.ensure_known().await;
    let changed = |mismatches: usize| Behaviour {
        tools: vec![mirrored("New")],
        header_mismatches: mismatches,
        ..Behaviour::default()
    };
    fixture.servers.set("web", changed(1));
    let lists = fixture.servers.listed("web");
    let eu = r#"{"region":"eu"}"#;
    call(&fixture, "web__query", eu).await.unwrap();
    assert_eq!(fixture.servers.listed("web"), lists + 1);
    {
        let options = fixture.servers.options.lock().unwrap();
        let names: Vec<_> = options.iter().map(|o| o.headers[0].0.clone()).collect();
        assert_eq!(names, ["Old", "New"]);
    }
    fixture.servers.set("web", changed(9));
    let error = call(&fixture, "web__query", eu).await.unwrap_err();
    assert_eq!(error.into_details().rpc.unwrap().code, -32020);
    assert_eq!(
        fixture.servers.calls.lock().unwrap().len(),
        4,
        "once, no more"
    );

    fixture.servers.set("local", changed(1));
    let error = call(&fixture, "local__query", eu).await.unwrap_err();
    assert_eq!(
        error.into_details().rpc.unwrap().code,
        -32020,
        "pipes have no headers"
    );
}
