//! Reading the API of the real program starts no process.

use pegboard_testkit::{Script, starts_in, wait_until_sync};
use serde_json::{Value, json};

use super::client::Served;
use crate::support::{Home, TIMEOUT, http};

#[test]
fn r_api_01_reading_every_route_starts_no_process() {
    let home = Home::new();
    let counted = |name: &str, tools: &[&str]| {
        let script = Script {
            count_file: Some(home.path(&format!("{name}.starts"))),
            ..Script::new().tools(tools.iter().copied())
        };
        home.add_script(name, &script, "");
    };
    counted("one", &["read", "write"]);
    counted("two", &["erase"]);
    home.run(&["refresh", "--all"]).ok();
    let starts = || {
        let of = |name: &str| starts_in(&home.path(&format!("{name}.starts"))).len();
        of("one") + of("two")
    };
    let served = Served::start(&home, &[]);
    let before = starts();
    let document = served.get("/openapi.json");
    let paths = document["paths"].as_object().expect("paths");
    let mut read = 0;
    for (path, methods) in paths {
        let path = path.strip_prefix("/api/v1").expect("below the root");
        if methods.get("get").is_none() || path == "/events" {
            continue;
        }
        let name = if path.starts_with("/tools") {
            "one__read"
        } else {
            "one"
        };
        let path = path
            .replace("{name}", name)
            .replace("{format}", "gemini")
            .replace("{id}", "default");
        let path = match path.as_str() {
            "/search" => "/search?q=erase".to_owned(),
            "/definitions" => "/definitions?format=anthropic".to_owned(),
            "/policies/explain" => "/policies/explain?tool=one__read".to_owned(),
            _ => path,
        };
        let (status, response) = served.request(&served.admin, "GET", &path, &Value::Null);
        let is_session = path.starts_with("/sessions/");
        assert!(
            status == 200 || (status == 404 && is_session),
            "{path}: {response}"
        );
        read += 1;
    }
    assert!(read >= 18, "{read}");
    assert_eq!(starts(), before, "nothing was started");
    let call = json!({"arguments": {}});
    let (status, _) = served.request(&served.call, "POST", "/tools/one__read/call", &call);
    assert_eq!(status, 200);
    assert_eq!(starts(), before + 1, "a call starts exactly its server");
    served.end(&home);
}

/// Returns a page of the dashboard.
fn page(served: &Served, path: &str) -> String {
    let bearer = format!("Bearer {}", served.admin);
    let headers = [("Authorization", bearer.as_str()), ("Accept", "text/html")];
    let (status, text) = http(&format!("{}{path}", served.url), "GET", &headers, "");
    assert_eq!(status, 200, "{text}");
    text
}

#[test]
fn r_ui_02_problems_of_the_configuration_are_on_the_overview_with_file_and_line() {
    let home = Home::with_example();
    let good = home.config();
    home.write(
        "config/config.toml",
        &format!("{good}[servers.broken]\ncommand = \"x\"\nargs = 7\n"),
    );
    let line = good.lines().count() + 3;
    let served = Served::start(&home, &[]);
    let text = page(&served, "/");
    assert!(text.contains("1 problem in the configuration"), "{text}");
    assert!(text.contains(&format!("config.toml:{line}")), "{text}");
    // An unreadable file is reported, and the previous configuration stays in use.
    home.write("config/config.toml", &format!("{good}[servers.\n"));
    let line = good.lines().count() + 1;
    wait_until_sync("the new problem", TIMEOUT, || {
        page(&served, "/").contains(&format!("config.toml:{line}"))
    });
    assert!(page(&served, "/servers").contains("example"));
    home.write("config/config.toml", &good);
    wait_until_sync("no problem is left", TIMEOUT, || {
        !page(&served, "/").contains("in the configuration")
    });
    served.end(&home);
}

#[test]
fn r_ui_02_the_client_entry_uses_the_same_configuration() {
    let home = Home::with_example();
    let served = Served::start(&home, &[]);
    let folder = home.path("config").display().to_string();
    let text = page(&served, "/connect");
    assert!(text.contains("PEGBOARD_CONFIG_DIR") && text.contains(&folder));
    assert!(text.contains("PEGBOARD_STATE_DIR"), "{text}");
    let printed = served.running.output();
    assert!(printed.contains("\"PEGBOARD_CONFIG_DIR\""), "{printed}");
    served.end(&home);
}
