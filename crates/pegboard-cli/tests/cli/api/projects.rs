//! Projects: the served one, the user's own configuration, and recent ones.

use pegboard_testkit::wait_until_sync;
use serde_json::{Value, json};

use super::client::Served;
use crate::support::{EXAMPLE_TOOLS, Home, PEGBOARD, TIMEOUT, toml_server};

fn tools(served: &Served, id: &str) -> Option<usize> {
    let path = format!("/projects/{id}/configuration");
    let (status, response) = served.request(&served.call, "GET", &path, &Value::Null);
    let total = response["total"].as_u64().filter(|_| status == 200);
    total.map(|total| usize::try_from(total).expect("a count"))
}

#[test]
fn r_api_02_projects_are_remembered_and_known_without_being_served() {
    let home = Home::with_example();
    let own = toml_server("theirs", PEGBOARD, &["example-server"], "");
    let file = home.write("project/.pegboard/config.toml", &own);
    home.run(&["trust", "theirs", "--yes"]).ok();
    home.run(&["refresh", "--all"]).ok();
    let served = Served::start(&home, &[]);
    let projects = served.get("/projects");
    let listed = projects["projects"].as_array().expect("a list");
    let running = listed
        .iter()
        .find(|p| p["isRunning"] == true)
        .expect("one runs");
    let id = running["id"].as_str().expect("an id").to_owned();
    assert!(id.starts_with("project-"), "{id}");
    assert_eq!(tools(&served, &id), Some(2 * EXAMPLE_TOOLS));
    wait_until_sync("the user's own is put together", TIMEOUT, || {
        tools(&served, "default") == Some(EXAMPLE_TOOLS)
    });
    served.end(&home);

    // With another served project, this one is still known and its file is watched.
    std::fs::create_dir(home.path("elsewhere")).expect("a folder");
    let mut command = home.command(&["serve", "--port", "0"]);
    command.current_dir(home.path("elsewhere"));
    let running = crate::support::Running::of(command);
    running.wait_for("/mcp\"");
    let printed = running.output();
    let url = printed
        .lines()
        .find_map(|line| line.strip_prefix("MCP endpoint  "));
    let served = Served {
        url: url.expect("an address").trim_end_matches("/mcp").to_owned(),
        call: home.run(&["token"]).ok().stdout.trim().to_owned(),
        admin: home
            .run(&["token", "--admin"])
            .ok()
            .stdout
            .trim()
            .to_owned(),
        running,
    };
    assert_eq!(tools(&served, "default"), Some(EXAMPLE_TOOLS));
    wait_until_sync("the project is put together", TIMEOUT, || {
        tools(&served, &id) == Some(2 * EXAMPLE_TOOLS)
    });
    std::fs::write(&file, own.replace("command", "enabled = false\ncommand")).expect("a change");
    let is_off = || {
        let (_, response) = served.request(
            &served.call,
            "GET",
            &format!("/projects/{id}/configuration"),
            &Value::Null,
        );
        let servers = response["servers"].as_array().cloned().unwrap_or_default();
        servers
            .iter()
            .any(|server| server["name"] == "theirs" && server["enabled"] == false)
    };
    wait_until_sync("the change is seen", TIMEOUT, is_off);
    let (status, response) = served.request(
        &served.call,
        "GET",
        "/projects/none/configuration",
        &json!(null),
    );
    assert_eq!(
        (status, &response["error"]["code"]),
        (404, &json!("PROJECT_UNKNOWN"))
    );
    served.end(&home);
}

#[test]
fn r_sec_07_a_projects_server_waits_until_everything_about_it_was_shown() {
    let home = Home::new();
    let arguments = ["example-server", "--api-key", "a-secret-api-key-value"];
    let entry = json!({"mcpServers": {"theirs": {
        "command": PEGBOARD, "args": arguments, "env": {"BASH_ENV": ".lint.sh"},
    }}});
    home.write("project/.mcp.json", &entry.to_string());
    let served = Served::start(&home, &[]);
    let seen = |token: &str| {
        let (_, response) = served.request(token, "GET", "/servers/theirs", &Value::Null);
        response
    };
    let exact = format!("{PEGBOARD} {}", arguments.join(" "));
    assert_eq!(seen(&served.admin)["exactCommand"], json!(exact));
    let trust = &seen(&served.admin)["trust"];
    assert_eq!(trust["command"], json!(exact));
    assert_eq!(trust["folder"], json!(home.path("project")));
    assert_eq!(trust["variables"][0]["name"], "BASH_ENV");
    assert_eq!(trust["variables"][0]["value"], ".lint.sh");
    assert!(trust["variables"][0]["warning"].is_string(), "{trust}");
    let for_callers = seen(&served.call).to_string();
    assert!(
        !for_callers.contains("a-secret-api-key-value"),
        "{for_callers}"
    );
    let trust = |token: &str, hash: &Value| {
        let body = json!({"definitionHash": hash});
        served
            .request(token, "POST", "/servers/theirs/trust", &body)
            .0
    };
    let hash = seen(&served.admin)["definitionHash"].clone();
    assert_eq!(trust(&served.call, &hash), 403);
    assert_eq!(trust(&served.admin, &json!("0")), 403, "another definition");
    assert_eq!(seen(&served.admin)["trustState"], "pending");
    assert_eq!(trust(&served.admin, &hash), 200);
    let trusted = seen(&served.admin);
    assert_eq!(trusted["trustState"], "granted", "{trusted}");
    assert!(
        !trusted.to_string().contains("a-secret-api-key-value"),
        "{trusted}"
    );
    served.end(&home);
}

#[test]
fn r_sec_07_the_api_trusts_nothing_that_cannot_be_shown_completely() {
    let home = Home::new();
    let env = json!({"X": "x".repeat(60_000)});
    let entry = json!({"mcpServers": {"theirs": {"command": PEGBOARD, "env": env}}});
    home.write("project/.mcp.json", &entry.to_string());
    let served = Served::start(&home, &[]);
    let (_, seen) = served.request(&served.admin, "GET", "/servers/theirs", &Value::Null);
    assert!(seen["trust"]["refused"].is_string(), "{seen}");
    let body = json!({"definitionHash": seen["definitionHash"]});
    let (status, response) = served.request(&served.admin, "POST", "/servers/theirs/trust", &body);
    assert_eq!(
        (status, &response["error"]["code"]),
        (400, &json!("CONFIG_TOO_LARGE"))
    );
    served.end(&home);
}
