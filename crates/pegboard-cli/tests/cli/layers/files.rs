//! File formats and the precedence of layers.

use serde_json::json;

use crate::support::{EXAMPLE_TOOLS, Home, PEGBOARD};

#[test]
fn r_cfg_01_a_config_file_is_read_as_toml_yaml_and_json_under_either_root() {
    let home = Home::with_example();
    let server =
        json!({"command": PEGBOARD, "args": ["example-server"], "discovery_timeout": "20s"});
    let json = |root: &str| json!({root: {"one": server}}).to_string();
    let yaml = |root: &str| {
        format!(
            "{root}:\n  one: # a comment\n    command: {PEGBOARD}\n    args: [example-server]\n    discovery_timeout: 20s\n"
        )
    };
    let toml = |root: &str| {
        format!(
            "[{root}.one]\ncommand = \"{PEGBOARD}\"\nargs = [\"example-server\"]\ndiscovery_timeout = \"20s\"\n"
        )
    };
    for root in ["servers", "mcpServers"] {
        for (name, text) in [
            ("c.toml", toml(root)),
            ("c.yaml", yaml(root)),
            ("c.yml", yaml(root)),
            ("c.json", json(root)),
            ("c.jsonc", format!("// A comment.\n{}\n", json(root))),
        ] {
            let file = home.write(name, &text).display().to_string();
            let show = home
                .run(&["--config", &file, "show", "one", "--json"])
                .ok()
                .json();
            assert_eq!(show["discovery_timeout_ms"], 20_000, "{name} {root}");
            assert_eq!(show["origin"]["layer"], "flag");
            let list = home.run(&["-c", &file, "list", "--json"]).ok().json();
            assert_eq!(list["total"], 1, "the user's own servers are left out");
        }
    }
    let file = home.path("c.yaml").display().to_string();
    home.run(&["-c", &file, "call", "one/echo", "text=hi"]).ok();
    let tools = home.run(&["-c", &file, "tools", "--json"]).ok().json();
    assert_eq!(tools["total"], EXAMPLE_TOOLS);
}

#[test]
fn r_cfg_06_edits_keep_comments_in_yaml_and_json_too() {
    let home = Home::new();
    let yaml = format!(
        "# mine\nservers:\n  one: # the first\n    command: {PEGBOARD}\n    args: [example-server]\n"
    );
    let jsonc = format!(
        "// mine\n{{\"servers\": {{\n  // the first\n  \"one\": {{\"command\": \"{PEGBOARD}\", \"args\": [\"example-server\"]}}\n}}}}\n"
    );
    for (name, text) in [("c.yaml", yaml), ("c.jsonc", jsonc)] {
        let file = home.write(name, &text).display().to_string();
        home.run(&["-c", &file, "add", "two", "--no-discover", "--", "x"])
            .ok();
        home.run(&["-c", &file, "disable", "one"]).ok();
        let after = std::fs::read_to_string(&file).expect("the file is there");
        assert!(
            after.contains("mine") && after.contains("the first"),
            "{after}"
        );
        let list = home.run(&["-c", &file, "list", "--json"]).ok().json();
        assert_eq!(list["servers"][0]["enabled"], false, "{after}");
        assert_eq!(list["servers"][1]["name"], "two", "{after}");
        home.run(&["-c", &file, "remove", "two"]).ok();
        assert_eq!(
            home.run(&["-c", &file, "list", "--json"]).ok().json()["total"],
            1
        );
    }
}

#[test]
fn r_cfg_01_a_projects_definition_wins_and_explain_names_every_place() {
    let home = Home::new();
    home.add("both", "user-program", &[], "ttl = \"1m\"");
    home.write(
        "project/.pegboard/config.toml",
        "# x\n[servers.both]\ncommand = \"project-program\"\n",
    );
    home.write("elsewhere/.keep", "");
    let command = |args: &[&str]| {
        home.run(&[&["show", "both", "--json"], args].concat())
            .ok()
            .json()
    };
    assert!(
        command(&[])["command"]
            .to_string()
            .contains("project-program")
    );
    let elsewhere = home.path("elsewhere").display().to_string();
    let outside = command(&["--project", &elsewhere]);
    assert_eq!(outside["command"], "user-program");
    assert_eq!(outside["trust_state"], "granted");

    let values = home
        .run(&["config", "explain", "both", "--json"])
        .ok()
        .json()["values"]
        .clone();
    let value = &values[0];
    assert_eq!(value["key"], "servers.both.command");
    assert_eq!(value["layer"], "project");
    assert_eq!(value["line"], 3);
    assert!(
        value["file"]
            .as_str()
            .is_some_and(|file| file.ends_with("project/.pegboard/config.toml"))
    );
    assert!(
        values.to_string().contains("config/config.toml:1"),
        "what it replaces: {values}"
    );
    let text = home.run(&["config", "explain", "both"]).ok().stdout;
    assert!(text.contains("project  "), "{text}");
    assert!(text.contains("project/.pegboard/config.toml:3"), "{text}");
}

#[test]
fn r_cfg_03_the_environment_overlays_and_defines_servers() {
    let mut home = Home::with_example();
    let script = pegboard_testkit::Script::new().tools(["open"]);
    let server = script
        .with(|script| script.http.bearer = Some("key-from-outside".to_owned()))
        .serve_http();
    home.set("DOCS_MCP_URL", &server.url());
    home.set("DOCS_API_KEY", "key-from-outside");
    home.set("EXAMPLE_MCP_ENABLED", "false");
    home.run(&["call", "docs/open"]).ok();
    let list = home.run(&["list", "--json"]).ok().json();
    assert_eq!(list["servers"][0]["name"], "docs");
    assert_eq!(list["servers"][0]["layer"], "environment");
    assert_eq!(list["servers"][1]["enabled"], false);
    let values = home
        .run(&["config", "explain", "docs", "--json"])
        .ok()
        .stdout;
    assert!(
        values.contains("environment") && !values.contains("key-from-outside"),
        "{values}"
    );
    let run = home.run(&["remove", "docs"]).exits(2);
    assert!(run.stderr.contains("DOCS_MCP_URL"), "{}", run.stderr);
}

#[test]
fn config_path_names_the_files_that_count() {
    let home = Home::with_example();
    home.write("project/.mcp.json", "{}");
    let paths = home.run(&["config", "path"]).ok().stdout;
    insta::assert_snapshot!(home.shown(&paths), @r"
    user     [HOME]/config/config.toml
    project  [HOME]/project/.mcp.json
    project  [HOME]/project/.pegboard/config.toml  (missing)
    state    [HOME]/state
    ");
}

#[test]
fn the_schema_of_the_config_file_knows_every_key_of_a_server() {
    let home = Home::new();
    let schema = home.run(&["config", "schema"]).ok().json();
    for key in ["command", "url", "discovery_timeout", "policies", "bearer"] {
        assert!(schema.to_string().contains(&format!("\"{key}\":")), "{key}");
    }
}
