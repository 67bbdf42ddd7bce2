//! `secret`: values are read from standard input and referred to by name.

use std::os::unix::fs::PermissionsExt;

use pegboard_testkit::Script;

use crate::support::Home;

#[test]
fn r_cfg_08_a_secret_is_stored_listed_used_and_removed() {
    let home = Home::new();
    let run = home
        .run_with_input(&["secret", "set", "token"], "the-value-of-it\n")
        .ok();
    assert!(run.stderr.contains("${secret:token}"), "{}", run.stderr);
    let file = home.path("state/secrets.json");
    let mode = std::fs::metadata(&file)
        .expect("the file is there")
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
    assert_eq!(
        home.run(&["secret", "list", "--json"]).ok().json()["secrets"][0]["name"],
        "token"
    );

    // An HTTP server shows that the exact value arrives, without the line break.
    let script = Script::new().tools(["open"]);
    let script = script.with(|script| script.http.bearer = Some("the-value-of-it".to_owned()));
    let server = script.serve_http();
    let definition = format!(
        "[servers.web]\nurl = \"{}\"\nbearer = \"${{secret:token}}\"\n",
        server.url()
    );
    home.write("config/config.toml", &definition);
    home.run(&["call", "web/open"]).ok();

    home.run(&["secret", "rm", "token"]).ok();
    home.run(&["secret", "rm", "token"]).exits(2);
    let run = home.run(&["refresh", "web", "--json"]).exits(2);
    let text = run.stdout + &run.stderr;
    assert!(text.contains("pegboard secret set token"), "{text}");
}

#[test]
fn a_secret_is_never_an_argument_and_never_empty() {
    let home = Home::new();
    home.run(&["secret", "set", "token", "value"]).exits(2);
    home.run_with_input(&["secret", "set", "token"], "\n")
        .exits(2);
    home.run_with_input(&["secret", "set", "a b"], "value")
        .exits(2);
    assert_eq!(home.run(&["secret", "list"]).ok().stdout, "");
}
