//! The builder, servers defined in code, and typed tools, without the user's configuration.

#![allow(
    clippy::expect_used,
    clippy::panic,
    reason = "failing tests panic with a message"
)]

use pegboard::model::{Layer, Policy};
use pegboard::{Pegboard, Reason, Refresh, Server, ServerName};
use serde_json::json;

async fn open(directory: &std::path::Path, servers: Vec<Server>) -> Pegboard {
    let builder = Pegboard::builder().isolated_in(directory);
    let builder = servers
        .into_iter()
        .fold(builder, |b, server| b.server(server));
    builder.open().await.expect("Pegboard opens")
}

#[tokio::test]
async fn r_lib_01_servers_defined_in_code_are_in_the_catalog() {
    let directory = tempfile::tempdir().expect("a directory");
    let config = "[servers.files]\ncommand = \"from-file\"\n[servers.other]\ncommand = \"x\"\n";
    std::fs::write(directory.path().join("config.toml"), config).expect("written");
    let files = Server::stdio("files", "from-code")
        .args(["--root", "/srv"])
        .env("LEVEL", "info")
        .description("Files of the shop")
        .policy(Policy::Ask);
    let docs = Server::http("docs", "http://127.0.0.1:9/mcp").header("X-Team", "search");
    let pegboard = open(directory.path(), vec![files, docs]).await;
    let catalog = pegboard.hub().catalog();
    let names: Vec<&str> = catalog
        .servers()
        .map(|entry| entry.name().as_str())
        .collect();
    assert_eq!(names, ["docs", "files", "other"]);
    let name = ServerName::parse("files").expect("a name");
    let spec = &catalog.server(&name).expect("the server").spec;
    assert_eq!(spec.origin.layer, Layer::Builtin, "code replaces the file");
    assert_eq!(spec.policy, Some(Policy::Ask));
    assert_eq!(spec.description.as_deref(), Some("Files of the shop"));
    pegboard.close().await;
}

#[tokio::test]
async fn r_lib_01_a_failing_server_in_code_is_an_outcome_and_an_invalid_name_an_error() {
    let directory = tempfile::tempdir().expect("a directory");
    let missing = Server::stdio("missing", "/does/not/exist");
    let pegboard = open(directory.path(), vec![missing]).await;
    let outcomes = pegboard
        .refresh(Refresh::all().force())
        .await
        .expect("outcomes");
    let [outcome] = outcomes.as_slice() else {
        panic!("{outcomes:?}");
    };
    let error = outcome.result.as_ref().expect_err("it cannot start");
    assert_eq!(error.reason, Reason::SpawnNotFound, "{error}");
    pegboard.close().await;

    let builder = Pegboard::builder().isolated_in(directory.path());
    let opened = builder
        .server(Server::stdio("not a name", "x"))
        .open()
        .await;
    let error = opened.err().expect("the name is invalid");
    assert_eq!(error.reason, Reason::ConfigName, "{error}");
}

#[cfg(feature = "typed-tools")]
#[tokio::test]
async fn r_lib_01_typed_tools_have_derived_schemas_and_checked_arguments() {
    use pegboard::schemars::JsonSchema;

    #[derive(serde::Deserialize, JsonSchema)]
    #[schemars(crate = "pegboard::schemars")]
    struct Order {
        /// The order number.
        id: u64,
        /// A note for the customer.
        note: Option<String>,
    }

    let directory = tempfile::tempdir().expect("a directory");
    let pegboard = open(directory.path(), Vec::new()).await;
    let status = |order: Order| async move {
        Ok(json!({"id": order.id, "note": order.note.unwrap_or_default()}))
    };
    let registered = pegboard.register_typed("order_status", "Returns the status.", status);
    registered.expect("registered");
    let described = pegboard.describe("order_status").await.expect("described");
    let parameters: Vec<(&str, bool)> = described
        .parameters
        .iter()
        .map(|parameter| (parameter.name.as_str(), parameter.required))
        .collect();
    assert_eq!(parameters, [("id", true), ("note", false)]);
    let outcome = pegboard.call("order_status", json!({"id": 7})).await;
    let outcome = outcome.expect("it runs");
    assert!(outcome.result.get().contains("\"id\":7") || outcome.result.get().contains("7"));
    for wrong in [json!({"id": "seven"}), json!({}), json!({"id": -1})] {
        let error = pegboard.call("order_status", wrong.clone()).await;
        let error = error.expect_err("invalid arguments");
        assert_eq!(error.reason, Reason::ArgsInvalid, "{wrong}: {error}");
    }
    pegboard.close().await;
}
