//! Tokens and logins of the real program.

use pegboard_testkit::wait_until_sync;
use serde_json::{Value, json};

use super::client::Served;
use crate::support::{Home, TIMEOUT, files_below, http, http_whole};

#[test]
fn r_sec_03_a_rotated_admin_token_is_used_while_running_and_stored_privately() {
    use std::os::unix::fs::PermissionsExt;
    let home = Home::with_example();
    let served = Served::start(&home, &[]);
    assert_ne!(served.call, served.admin);
    let file = home.state().join("admin-token");
    let mode = std::fs::metadata(&file)
        .expect("the file")
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
    let inbox = |token: &str| served.request(token, "GET", "/approvals", &Value::Null).0;
    assert_eq!(
        (inbox(&served.admin), inbox(&served.call), inbox("x")),
        (200, 403, 401)
    );
    let new = home.run(&["token", "--admin", "--rotate"]).ok();
    let new = new.stdout.trim().to_owned();
    wait_until_sync("the new token counts", TIMEOUT, || inbox(&new) == 200);
    assert_eq!((inbox(&served.admin), inbox(&served.call)), (401, 403));
    served.end(&home);
}

/// Logs in a browser and returns its cookie and page key.
fn log_in(page: &str, code: &str) -> (String, String) {
    let form = [("Content-Type", "application/x-www-form-urlencoded")];
    let (status, head, body) = http_whole(page, "POST", &form, &format!("code={code}"));
    assert_eq!(status, 200, "{body}");
    let line = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        let is_cookie = name.eq_ignore_ascii_case("set-cookie");
        is_cookie.then(|| value.split(';').next().unwrap_or_default().trim())
    });
    let body: Value = serde_json::from_str(&body).expect("the page key");
    (
        line.expect("a cookie").to_owned(),
        body["pageKey"].as_str().expect("a key").to_owned(),
    )
}

#[test]
fn r_ui_02_a_login_survives_a_restart_and_ends_with_logging_out() {
    let home = Home::with_example();
    let served = Served::start(&home, &[]);
    let (_, port) = served.url.rsplit_once(':').expect("a port");
    let port = port.to_owned();
    let login = home.run(&["dashboard"]).ok().stdout;
    let (page, code) = login.trim().split_once("#code=").expect("a code");
    let (cookie, key) = log_in(page, code);
    let servers = format!("{}/api/v1/servers", served.url);
    let logout = format!("{}/logout", served.url);
    let origin = served.url.clone();
    let own = [
        ("Cookie", cookie.as_str()),
        ("X-Pegboard-Page-Key", &key),
        ("Origin", &origin),
    ];
    assert_eq!(http(&servers, "GET", &own, "").0, 200);
    served.end(&home);
    let served = Served::start_at(&port, &home, &[]);
    assert_eq!(http(&servers, "GET", &own, "").0, 200, "it survived");
    assert_eq!(http(&servers, "GET", &own[..1], "").0, 401, "cookie alone");
    assert_eq!(http(&logout, "POST", &own, "").0, 303);
    served.end(&home);
    let served = Served::start_at(&port, &home, &[]);
    assert_eq!(http(&servers, "GET", &own, "").0, 401, "it was left");
    served.end(&home);
}

#[test]
fn r_sec_03_the_dashboard_command_gives_a_login_that_works_once() {
    let mut home = Home::with_example();
    let missing = home.run(&["dashboard", "--json"]).exits(3);
    assert_eq!(missing.error()["reason"], "NOT_RUNNING");
    home.set("PEGBOARD_LOG", "trace");
    home.set("RUST_LOG", "trace");
    let served = Served::start(&home, &[]);
    let shown = home.run(&["dashboard", "--json"]).ok().json();
    let login = shown["url"].as_str().expect("an address").to_owned();
    assert!(
        login.starts_with(&format!("{}/login#code=", served.url)),
        "{login}"
    );
    let (page, code) = login.split_once("#code=").expect("a code");
    assert_eq!(http(page, "GET", &[], "").0, 200);
    let (cookie, key) = log_in(page, code);
    let form = [("Content-Type", "application/x-www-form-urlencoded")];
    let body = format!("code={code}");
    assert_eq!(http(page, "POST", &form, &body).0, 401);
    let call = json!({"arguments": {"a": 1, "b": 2}});
    let path = "/tools/example__add_numbers/call";
    assert_eq!(served.request(&served.call, "POST", path, &call).0, 200);

    let (printed, tokens) = (
        served.running.output(),
        [served.call.clone(), served.admin.clone()],
    );
    served.end(&home);
    let (_, cookie) = cookie.split_once('=').expect("a cookie has a value");
    for secret in tokens
        .iter()
        .map(String::as_str)
        .chain([code, cookie, &key])
    {
        assert!(!printed.contains(secret), "{printed}");
        for file in files_below(&home.state()) {
            let name = file.file_name().unwrap_or_default().to_owned();
            if name == "token" || name == "admin-token" {
                continue;
            }
            let bytes = std::fs::read(&file).unwrap_or_default();
            let found = bytes
                .windows(secret.len())
                .any(|part| part == secret.as_bytes());
            assert!(!found, "a secret is in {}", file.display());
        }
    }
    assert!(!home.state().join("running").exists());
    home.run(&["dashboard"]).exits(3);
}

#[cfg(target_os = "linux")]
#[test]
fn r_sec_03_opening_the_dashboard_puts_no_code_on_a_command_line() {
    use std::os::unix::fs::PermissionsExt;
    let mut home = Home::with_example();
    let arguments = home.path("arguments").display().to_string();
    let script = format!(
        "#!/bin/sh\nprintf '%s\\n' \"$@\" > '{arguments}.new'\nmv '{arguments}.new' '{arguments}'\n"
    );
    let opener = home.write("bin/xdg-open", &script);
    let mode = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(opener, mode).expect("a program");
    let path = std::env::var("PATH").unwrap_or_default();
    home.set("PATH", &format!("{}:{path}", home.path("bin").display()));
    let served = Served::start(&home, &[]);
    let printed = home.run(&["dashboard", "--open"]).ok().stdout;
    let (page, code) = printed.trim().split_once("#code=").expect("a code");
    let read = || std::fs::read_to_string(&arguments).unwrap_or_default();
    wait_until_sync("the opener is started", TIMEOUT, || !read().is_empty());
    let arguments = read();
    assert!(!arguments.contains(code), "{arguments}");
    let file = arguments.trim().strip_prefix("file://").expect("a file");
    let about = std::fs::metadata(file).expect("it is there");
    assert_eq!(about.permissions().mode() & 0o777, 0o600);
    let text = std::fs::read_to_string(file).expect("it can be read");
    assert!(text.contains(printed.trim()), "{text}");
    log_in(page, code);
    assert!(!std::path::Path::new(file).exists(), "it was used");
    served.end(&home);
}

#[test]
fn up_prints_the_dashboard_with_a_login_and_serve_does_so_on_terminals_only() {
    let home = Home::with_example();
    let mut up = home.start(&["up", "--port", "0"]);
    up.wait_for("Dashboard     http://127.0.0.1:");
    assert!(up.output().contains("/login#code="), "{}", up.output());
    up.signal("-TERM");
    up.wait();
    let served = Served::start(&home, &[]);
    let printed = served.running.output();
    assert!(
        printed.contains("log in with `pegboard dashboard`"),
        "{printed}"
    );
    assert!(!printed.contains("code="), "{printed}");
    // It handles signals once it responds.
    served.get("/servers");
    served.end(&home);
}

#[test]
fn r_sec_03_without_a_token_calls_are_allowed_and_changes_are_not() {
    let home = Home::with_example();
    let served = Served::start(&home, &["--no-auth"]);
    let url = format!("{}/api/v1/servers", served.url);
    assert_eq!(http(&url, "GET", &[], "").0, 200);
    let kind = [("Content-Type", "application/json")];
    let add = json!({"name": "evil", "command": "touch"}).to_string();
    assert_eq!(http(&url, "POST", &kind, &add).0, 403);
    assert_eq!(served.admin("GET", "/approvals", &Value::Null).0, 200);
    served.end(&home);
}
