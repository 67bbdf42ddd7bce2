//! The API for other clients' files: import, connect and disconnect, with the previewed plan only.

use serde_json::{Value, json};

use super::client::Served;
use crate::support::{EXAMPLE_TOOLS, Home, PEGBOARD};

const SECRET: &str = "ghp_canary0123456789canary0123456789canary";
const FILE: &str = "home/.cursor/mcp.json";

fn home() -> Home {
    let home = Home::new();
    let env = json!({"API_TOKEN": SECRET});
    let files = json!({"command": PEGBOARD, "args": ["example-server"], "env": env});
    let other = json!({"command": PEGBOARD, "args": ["example-server"], "env": {"PLACE": "other"}});
    let file = json!({"mcpServers": {"files": files, "other": other}});
    home.write(FILE, &format!("{file:#}\n"));
    home
}

fn read(home: &Home) -> String {
    std::fs::read_to_string(home.path(FILE)).expect("the client's file")
}

fn cursor(served: &Served) -> Value {
    let (status, all) = served.admin("GET", "/clients", &Value::Null);
    assert_eq!(status, 200, "{all}");
    let clients = all["clients"].as_array().expect("a list").clone();
    let found = clients.into_iter().find(|one| one["client"] == "cursor");
    found.expect("the client")
}

#[test]
fn r_cfg_07_the_api_imports_exactly_what_was_previewed() {
    let home = home();
    let served = Served::start(&home, &[]);
    let about = cursor(&served);
    assert_eq!(about["state"], "direct");
    assert_eq!(about["importable"], json!(["files", "other"]));
    let (status, plan) = served.admin("POST", "/import/plan", &Value::Null);
    assert_eq!(status, 200, "{plan}");
    assert!(!plan.to_string().contains(SECRET), "{plan}");
    assert_eq!(plan["servers"][0]["secrets"][0]["place"], "env.API_TOKEN");
    let (status, none) = served.admin("POST", "/import/plan", &json!({"clients": ["codex"]}));
    assert_eq!((status, &none["servers"]), (200, &json!([])), "{none}");
    let (status, error) = served.admin("POST", "/import/plan", &json!({"clients": ["x"]}));
    assert_eq!(
        (status, &error["error"]["code"]),
        (404, &json!("CLIENT_UNKNOWN"))
    );

    let wrong = json!({"planHash": "0", "servers": ["files"]});
    let (status, refused) = served.admin("POST", "/import", &wrong);
    assert_eq!(
        (status, &refused["error"]["code"]),
        (409, &json!("PLAN_CHANGED"))
    );
    let hash = &plan["planHash"];
    let unknown = json!({"planHash": hash, "servers": ["files", "nothing"]});
    let (status, refused) = served.admin("POST", "/import", &unknown);
    assert_eq!(
        (status, &refused["error"]["code"]),
        (404, &json!("SERVER_UNKNOWN"))
    );
    // A setting that is not about servers may change; a server may not.
    let text = read(&home);
    home.write(FILE, &text.replacen('{', "{ \"theme\": \"dark\",", 1));
    let (_, same) = served.admin("POST", "/import/plan", &Value::Null);
    assert_eq!(&same["planHash"], hash);
    home.write(FILE, &text.replace("\"other\": {", "\"another\": {"));
    let request = json!({"planHash": hash, "servers": ["files"]});
    let (status, refused) = served.admin("POST", "/import", &request);
    assert_eq!(
        (status, &refused["error"]["code"]),
        (409, &json!("PLAN_CHANGED"))
    );
    assert_eq!(home.config(), "");
    home.write(FILE, &text);

    let (status, _) = served.request(&served.call, "POST", "/import", &request);
    assert_eq!(status, 403, "the call token cannot change what runs");
    let (status, done) = served.admin("POST", "/import", &request);
    assert_eq!(status, 200, "{done}");
    assert_eq!(done["results"][0]["state"], "written");
    assert_eq!(done["results"].as_array().map(Vec::len), Some(1));
    assert_eq!(done["storedSecrets"].as_array().map(Vec::len), Some(1));
    let config = home.config();
    assert!(
        config.contains("[servers.files]") && !config.contains("other"),
        "{config}"
    );
    assert!(!config.contains(SECRET), "{config}");
    assert_eq!(read(&home), text, "the client's file is not changed");
    served.running.wait_for("✓ files");
    assert_eq!(served.get("/servers/files")["tools"], EXAMPLE_TOOLS);
    served.end(&home);
}

#[test]
fn r_cfg_07_the_api_connects_and_disconnects_what_was_previewed() {
    let home = home();
    let served = Served::start(&home, &[]);
    let before = read(&home);
    let (_, plan) = served.admin("POST", "/import/plan", &Value::Null);
    let request = json!({"planHash": plan["planHash"], "servers": ["files"]});
    served.admin("POST", "/import", &request);
    let path = "/clients/cursor/connection";
    let (status, plan) = served.admin("POST", &format!("{path}/plan"), &json!({"takeOver": true}));
    assert_eq!(status, 200, "{plan}");
    let change = &plan["changes"][0];
    let diff = change["diff"].as_str().expect("a diff");
    assert!(
        diff.contains("pegboard") && !diff.contains(SECRET),
        "{diff}"
    );
    assert_eq!(change["takenOut"], json!(["files"]));
    assert_eq!(change["direct"], json!(["other"]));
    assert_eq!(read(&home), before);
    // Other options are another plan.
    let other = json!({"planHash": plan["planHash"], "takeOver": false});
    let (status, refused) = served.admin("PUT", path, &other);
    assert_eq!(
        (status, &refused["error"]["code"]),
        (409, &json!("PLAN_CHANGED"))
    );
    let request = json!({"planHash": plan["planHash"], "takeOver": true});
    let (status, _) = served.request(&served.call, "PUT", path, &request);
    assert_eq!(status, 403);
    home.write(FILE, &before.replace("\"other\"", "\"edited\""));
    let (status, refused) = served.admin("PUT", path, &request);
    assert_eq!(
        (status, &refused["error"]["code"]),
        (409, &json!("PLAN_CHANGED"))
    );
    home.write(FILE, &before);
    let (status, done) = served.admin("PUT", path, &request);
    assert_eq!(status, 200, "{done}");
    assert_eq!(cursor(&served)["state"], "both");
    assert!(!read(&home).contains(SECRET), "the server is taken out");

    let undo = json!({"action": "disconnect"});
    let (status, plan) = served.admin("POST", &format!("{path}/plan"), &undo);
    assert_eq!(
        (status, &plan["changes"][0]["isExact"]),
        (200, &json!(true)),
        "{plan}"
    );
    let (status, _) = served.admin("DELETE", &format!("{path}?planHash=0"), &Value::Null);
    assert_eq!(status, 409);
    let hash = plan["planHash"].as_str().expect("a hash");
    let (status, _) = served.admin("DELETE", &format!("{path}?planHash={hash}"), &Value::Null);
    assert_eq!(status, 200);
    assert_eq!(read(&home), before, "byte for byte");
    let (status, unknown) = served.admin("POST", "/clients/nothing/connection/plan", &json!({}));
    assert_eq!(
        (status, &unknown["error"]["code"]),
        (404, &json!("CLIENT_UNKNOWN"))
    );
    served.end(&home);
}
