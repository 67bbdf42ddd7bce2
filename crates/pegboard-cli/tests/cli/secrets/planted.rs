//! Runs every command with a configuration full of secrets.

use pegboard_testkit::{HostileHttp, Script};

use super::{assert_clean, assert_state_is_clean, canary};
use crate::support::{Home, Run};

/// A server that prints its environment to stderr and stdout, and then works.
const LEAKY: &str = r#"env >&2
env
echo "words $1 $4" >&2
echo "token $1" | sed 's/--[a-z-]*=//' >&2
exec "$HOSTILE" --script "$SCRIPT"
"#;

/// A server that prints its token and exits.
const DYING: &str = "echo \"cannot log in with $TOKEN\" >&2\nexit 7\n";

/// A server that rejects the handshake with its secret in the error.
const REFUSING: &str = r#"while read -r line; do
  id=$(printf '%s' "$line" | sed 's/.*"id":\([0-9]*\).*/\1/')
  printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32000,"message":"bad token %s"}}\n' "$id" "$TOKEN"
done
"#;

struct Machine {
    home: Home,
    _web: HostileHttp,
}

fn machine() -> Machine {
    let mut home = Home::new();
    let web = Script::new().tools(["open"]).serve_http();
    for (name, number) in [
        ("FROM_VARIABLE", 0),
        ("IN_THE_MIDDLE", 1),
        ("FOR_AN_ARGUMENT", 2),
        ("FOR_A_HEADER", 3),
        ("FOR_A_BEARER", 4),
        ("UNREFERENCED_TOKEN", 5),
        ("LET_THROUGH", 6),
        ("STDIO_API_KEY", 7),
        ("OVERLAID_API_KEY", 8),
    ] {
        home.set(name, &canary(number));
    }
    let outside = format!("{}?key={}", web.url(), canary(9));
    home.set("OUTSIDE_MCP_URL", &outside);
    home.set("WHOLE_URL", &format!("{}?key={}", web.url(), canary(10)));
    home.run_with_input(&["secret", "set", "kept"], &canary(11))
        .ok();
    home.run_with_input(&["secret", "set", "other"], &canary(12))
        .ok();
    home.write("config/config.toml", &config(&home, &web));
    home.write("project/.mcp.json", &project());
    Machine { home, _web: web }
}

fn config(home: &Home, web: &HostileHttp) -> String {
    let script = |name: &str, text: &str| home.write(name, text).display().to_string();
    let (leaky, dying) = (script("leaky.sh", LEAKY), script("dying.sh", DYING));
    let refusing = script("refusing.sh", REFUSING);
    let hostile = pegboard_testkit::binary("pegboard-hostile")
        .display()
        .to_string();
    let behaviour = Script::new().tools(["work"]).to_json();
    let (url, port) = (web.url(), web.port());
    let literal: Vec<String> = (13..22).map(canary).collect();
    let [
        env,
        default,
        header,
        bearer,
        user,
        query,
        argument,
        dead,
        refused,
    ] = literal.as_slice()
    else {
        panic!("nine literals");
    };
    format!(
        r#"
[settings]
env_allow = ["LET_THROUGH"]

[servers.stdio]
command = "sh"
args = ["{leaky}", "--token=${{FOR_AN_ARGUMENT}}", "--api-key", "{argument}", "${{secret:other}}"]
[servers.stdio.env]
HOSTILE = '{hostile}'
SCRIPT = '{behaviour}'
LITERAL = "{env}"
VARIABLE = "${{FROM_VARIABLE}}"
DEFAULT = "${{NOT_SET_ANYWHERE:-{default}}}"
KEPT = "${{secret:kept}}"
MIXED = "postgres://user:${{IN_THE_MIDDLE}}@host/db"

[servers.dying]
command = "sh"
args = ["{dying}"]
env = {{ TOKEN = "{dead}" }}

[servers.refusing]
command = "sh"
args = ["{refusing}"]
env = {{ TOKEN = "{refused}" }}
discovery_timeout = "5s"

[servers.headers]
url = "{url}"
headers = {{ X-Key = "{header}", X-Other = "Basic ${{FOR_A_HEADER}}", X-Kept = "${{secret:kept}}" }}

[servers.bearer]
url = "{url}"
bearer = "{bearer}"

[servers.variable]
url = "{url}"
bearer = "${{FOR_A_BEARER}}"

[servers.overlaid]
url = "{url}"

[servers.address]
url = "http://user:{user}@127.0.0.1:{port}/mcp?key={query}"

[servers.whole]
url = "${{WHOLE_URL}}"

[servers.nowhere]
url = "http://user:{user}@127.0.0.1:1/mcp?key={query}"
"#
    )
}

fn project() -> String {
    let (token, key) = (canary(22), canary(23));
    format!(
        r#"{{"mcpServers": {{
  "theirs": {{"command": "sh", "args": ["-c", "env >&2"], "env": {{"TOKEN": "{token}"}}}},
  "remote": {{"url": "http://127.0.0.1:1/mcp", "headers": {{"Authorization": "Bearer {key}"}}}}
}}}}"#
    )
}

#[test]
fn r_cfg_08_r_obs_03_no_secret_comes_back_through_any_command() {
    let machine = machine();
    let home = &machine.home;
    let both = |args: &[&str]| -> [Run; 2] {
        [&[][..], &["--json"]].map(|more| {
            let args = [args, more].concat();
            let run = home.run(&args);
            assert_clean(&run, &args.join(" "));
            run
        })
    };
    both(&["config", "check"]);
    both(&["config", "explain"]);
    both(&["config", "path"]);
    // A review shows the literals of the project's file, and no secret of the user.
    for args in [&["trust"][..], &["trust", "--json"], &["trust", "--yes"]] {
        let run = home.run(args);
        let text = format!("{}{}", run.stdout, run.stderr);
        assert_eq!(
            super::hits(text.as_bytes()),
            [canary(22), canary(23)],
            "{args:?}"
        );
    }
    both(&["tools"]);
    let [refreshed, _] = both(&["refresh", "--all", "--force"]);
    for works in [
        "stdio", "headers", "bearer", "variable", "overlaid", "address", "whole", "outside",
    ] {
        let line = format!("✓ {works}  1 tool ");
        assert!(
            refreshed.stdout.contains(&line),
            "{works} does not work:\n{}",
            refreshed.stdout
        );
    }
    both(&["list"]);
    for server in [
        "stdio", "dying", "refusing", "headers", "bearer", "address", "whole", "nowhere", "theirs",
        "remote",
    ] {
        both(&["show", server]);
        both(&["logs", server]);
    }
    let [logs, _] = both(&["logs", "stdio"]);
    for expected in ["LITERAL=***", "VARIABLE=***", "KEPT=***", "LET_THROUGH=***"] {
        assert!(
            logs.stdout.contains(expected),
            "the server wrote nothing:\n{}",
            logs.stdout
        );
    }
    assert!(
        !logs.stdout.contains("UNREFERENCED_TOKEN"),
        "a variable that was not allowed"
    );
    both(&["doctor"]);
    both(&["call", "stdio/work", "text=hi"])[0]
        .stdout
        .contains("work")
        .then_some(())
        .expect("it works");
    both(&["call", "dying/work"]);
    both(&["call", "nowhere/work"]);
    both(&["describe", "stdio/work"]);
    both(&["search", "work"]);
    both(&["secret", "list"]);
    both(&["up", "--once"]);
    both(&["disable", "stdio"]);
    both(&["edit", "stdio", "ttl", "never"]);
    both(&["enable", "stdio"]);
    assert_state_is_clean(home);
    home.assert_nothing_runs();
}

#[test]
fn r_cfg_08_add_prints_no_values_it_writes() {
    let home = Home::new();
    let leaky = home
        .write("leaky.sh", "env >&2; exit 3\n")
        .display()
        .to_string();
    let variable = format!("TOKEN={}", canary(0));
    assert_clean(
        &home
            .run(&["add", "a", "-e", &variable, "--", "sh", &leaky])
            .exits(3),
        "add -e",
    );
    let header = format!("Authorization: Bearer {}", canary(1));
    let url = format!(
        "http://user:{}@127.0.0.1:1/mcp?key={}",
        canary(2),
        canary(3)
    );
    assert_clean(
        &home.run(&["add", "b", "-H", &header, &url]).exits(3),
        "add -H",
    );
    assert_clean(
        &home
            .run(&["add", "c", "-e", &canary(4), "--", "sh"])
            .exits(2),
        "add -e without =",
    );
    assert_clean(
        &home.run(&["add", "b", "-H", &header, &url]).exits(2),
        "add again",
    );
    assert_state_is_clean(&home);
}
