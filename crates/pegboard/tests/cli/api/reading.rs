//! Reading the API of the real program starts no process.

use pegboard_testkit::{Script, starts_in};
use serde_json::{Value, json};

use super::client::Served;
use crate::support::Home;

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
            "/policies/explain" => "/policies/explain?tool=one__read".to_owned(),
            _ => path,
        };
        let (status, answer) = served.ask(&served.admin, "GET", &path, &Value::Null);
        let is_session = path.starts_with("/sessions/");
        assert!(
            status == 200 || (status == 404 && is_session),
            "{path}: {answer}"
        );
        read += 1;
    }
    assert!(read >= 18, "{read}");
    assert_eq!(starts(), before, "nothing was started");
    let call = json!({"arguments": {}});
    let (status, _) = served.ask(&served.call, "POST", "/tools/one__read/call", &call);
    assert_eq!(status, 200);
    assert_eq!(starts(), before + 1, "a call starts exactly its server");
    served.end(&home);
}
