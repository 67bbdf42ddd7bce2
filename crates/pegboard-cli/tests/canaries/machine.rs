//! A machine full of secrets: every kind of server, each of which leaks its secrets.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;

use pegboard_testkit::{HostileHttp, Script, binary};

use crate::collector::Collector;
use crate::leak_search::Output;
use crate::planted::planted;
use crate::support::{Home, files_below};

/// Prints its environment to stderr and stdout, also encoded, and then works.
const LEAKY: &str = r#"env >&2
env
echo "words $*" >&2
printf '%s' "$AS_BASE64" | base64 >&2
echo "https://host/?key=$(printf '%s' "$AS_PERCENT" | sed 's/-/%2D/g')" >&2
exec "$HOSTILE" --script "$SCRIPT"
"#;

/// Prints its token and exits.
const DYING: &str = "echo \"cannot log in with $TOKEN\" >&2\nexit 7\n";

/// Rejects the handshake with its token in the error.
const REFUSING: &str = r#"while read -r line; do
  id=$(printf '%s' "$line" | sed 's/.*"id":\([0-9]*\).*/\1/')
  printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32000,"message":"bad token %s"}}\n' "$id" "$TOKEN"
done
"#;

/// Has two tools: one returns a text, the other an error that repeats the token and the request.
const LEAKING_RESULT: &str = r#"tool='{"name":"%s","description":"A tool.","inputSchema":{"type":"object","properties":{"text":{"type":"string"}}}}'
while read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  say() { printf '{"jsonrpc":"2.0","id":%s,%s}\n' "$id" "$1"; }
  case "$line" in
    *'"method":"initialize"'*)
      say '"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"t","version":"1"}}';;
    *'"method":"tools/list"'*)
      say "\"result\":{\"tools\":[$(printf "$tool" report),$(printf "$tool" fail)]}";;
    *'"method":"tools/call"'*'"fail"'*)
      said=$(printf '%s' "$line" | sed 's/.*"text":"\([^"]*\)".*/\1/')
      echo "refused $TOKEN" >&2
      say "\"error\":{\"code\":-32001,\"message\":\"token $TOKEN is not good for $said\"}";;
    *'"method":"tools/call"'*)
      say "\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"RESULT $GIVEN\"}]}";;
    *'"id"'*)
      say '"error":{"code":-32601,"message":"Method not found"}';;
  esac
done
"#;

/// The machine.
pub(crate) struct Machine {
    pub(crate) home: Home,
    /// Pegboard's own token.
    pub(crate) token: String,
    _web: HostileHttp,
}

impl Machine {
    /// Creates a machine that exports spans over OTLP and to Langfuse, with logs at the most verbose level.
    pub(crate) fn new(collector: &Collector, capture: bool) -> Self {
        let web = Script::new().tools(["open"]).serve_http();
        let mut home = Home::new();
        for (variable, name) in [
            ("FROM_VARIABLE", "variable of a server, from ${VAR}"),
            ("FOR_AN_ARGUMENT", "argument --token=${VAR}"),
            ("LET_THROUGH", "variable let through by env_allow"),
            ("LEAKY_API_KEY", "variable NAME_API_KEY of a program"),
            ("UNRELATED_TOKEN", "variable that is not allowed"),
            ("FOR_A_HEADER", "header with a scheme, from ${VAR}"),
            ("FOR_A_BEARER", "bearer token from ${VAR}"),
            ("OVERLAID_API_KEY", "variable NAME_API_KEY of an address"),
            ("LANGFUSE_PUBLIC_KEY", "public key of Langfuse"),
            ("LANGFUSE_SECRET_KEY", "secret key of Langfuse"),
        ] {
            home.set(variable, &planted(name));
        }
        let with_query = |name: &str| format!("{}?key={}", web.url(), planted(name));
        home.set("OUTSIDE_MCP_URL", &with_query("query of NAME_MCP_URL"));
        let whole = with_query("query of an address that is a variable");
        home.set("WHOLE_URL", &whole);
        home.set("LANGFUSE_BASE_URL", &collector.url);
        let host = collector.url.trim_start_matches("http://");
        let endpoint = format!(
            "http://user:{}@{host}/v1/traces?key={}",
            planted("password in a collector's address"),
            planted("query of a collector's address"),
        );
        home.set("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", &endpoint);
        let header = planted("header for a collector, from a variable of the standard");
        home.set("OTEL_EXPORTER_OTLP_HEADERS", &format!("x-team={header}"));
        for (secret, name) in [
            ("kept", "variable of a server, from a kept secret"),
            ("argument", "argument from a kept secret"),
            ("header", "header from a kept secret"),
        ] {
            home.run_with_input(&["secret", "set", secret], &planted(name))
                .ok();
        }
        let config = config(&home, &web, echo());
        let config = format!("[trace]\ncapture_content = {capture}\n{config}");
        home.write("config/config.toml", &config);
        home.write("project/.mcp.json", &project());
        // Includes the logs of all libraries.
        let loudest = "trace,hyper=trace,hyper_util=trace,reqwest=trace,rustls=trace,tokio=trace";
        let token = home.run(&["token"]).ok().stdout.trim().to_owned();
        home.set("PEGBOARD_LOG", loudest);
        Self {
            home,
            token,
            _web: web,
        }
    }

    /// Returns all stored files except those for secrets.
    pub(crate) fn files(&self) -> Vec<Output> {
        let files = files_below(&self.home.state());
        let names: Vec<_> = files.iter().filter_map(|file| file.file_name()).collect();
        for wanted in ["pegboard.db", "ledger.db"] {
            assert!(names.iter().any(|name| *name == wanted), "{names:?}");
        }
        let looked_at = files
            .iter()
            .filter(|file| !file.ends_with("secrets.json") && !file.ends_with("token"));
        looked_at
            .map(|file| {
                let bytes = std::fs::read(file).expect("a file of the state folder");
                Output::new(format!("{}", file.display()), bytes, &[])
            })
            .collect()
    }

    /// Asserts that the servers did leak their secrets to Pegboard.
    pub(crate) fn assert_servers_leaked_their_secrets(&self) {
        let logs = self.home.run(&["logs", "leaky"]).ok().stdout;
        for expected in [
            "LITERAL=***",
            "VARIABLE=***",
            "KEPT=***",
            "LET_THROUGH=***",
            "key=***",
        ] {
            assert!(logs.contains(expected), "no {expected} in:\n{logs}");
        }
        // The token as base64, on its own line after the time.
        let is_masked = |line: &str| line.ends_with("  ***");
        assert!(logs.lines().any(is_masked), "{logs}");
        assert!(!logs.contains("UNRELATED_TOKEN"), "{logs}");
    }
}

fn config(home: &Home, web: &HostileHttp, echo: u16) -> String {
    let script = |name: &str, text: &str| home.write(name, text).display().to_string();
    let leaking = LEAKING_RESULT.replace("RESULT", &planted("text of a result"));
    let [leaky, dying, refusing, leaking] = [
        script("leaky.sh", LEAKY),
        script("dying.sh", DYING),
        script("refusing.sh", REFUSING),
        script("leaking.sh", &leaking),
    ];
    let hostile = binary("pegboard-hostile").display().to_string();
    let behaviour = Script::new().tools(["work"]).to_json();
    let (asking, asking_args) = Script::new().tools(["wipe"]).stdio_command();
    let asking_args = serde_json::json!(asking_args);
    let (url, port) = (web.url(), web.port());
    let p = planted;
    format!(
        r#"
[settings]
env_allow = ["LET_THROUGH"]

[servers.leaky]
command = "sh"
args = ["{leaky}", "--token=${{FOR_AN_ARGUMENT}}", "--api-key", "{key}", "${{secret:argument}}"]
[servers.leaky.env]
HOSTILE = '{hostile}'
SCRIPT = '{behaviour}'
LITERAL = "{literal}"
VARIABLE = "${{FROM_VARIABLE}}"
DEFAULT = "${{NOT_SET_ANYWHERE:-{default}}}"
KEPT = "${{secret:kept}}"
MIXED = "postgres://user:{within}@host/db"
AS_BASE64 = "{base64}"
AS_PERCENT = "{percent}"

[servers.dying]
command = "sh"
args = ["{dying}"]
env = {{ TOKEN = "{dead}" }}

[servers.refusing]
command = "sh"
args = ["{refusing}"]
env = {{ TOKEN = "{refused}" }}
discovery_timeout = "10s"

[servers.leaking]
command = "sh"
args = ["{leaking}"]
env = {{ TOKEN = "{in_error}", GIVEN = "{given}" }}

[servers.asking]
command = {asking:?}
args = {asking_args}
policy = "ask"

[servers.headers]
url = "{url}"
headers = {{ X-Key = "{header}", X-Other = "Basic ${{FOR_A_HEADER}}", X-Kept = "${{secret:header}}" }}

[servers.bearer]
url = "{url}"
bearer = "{bearer}"

[servers.variable]
url = "{url}"
bearer = "${{FOR_A_BEARER}}"

[servers.overlaid]
url = "{url}"

[servers.address]
url = "http://user:{password}@127.0.0.1:{port}/mcp?key={query}"

[servers.whole]
url = "${{WHOLE_URL}}"

[servers.nowhere]
url = "http://user:{password}@127.0.0.1:1/mcp?key={query}"

[servers.echo]
url = "http://127.0.0.1:{echo}/mcp"
bearer = "{repeated}"

[servers.echo_login]
url = "http://user:{password}@127.0.0.1:{echo}/mcp?key={query}"
"#,
        key = p("argument after --api-key"),
        literal = p("variable of a server"),
        default = p("variable of a server, from a default"),
        within = p("password within a variable that is an address"),
        base64 = p("token printed as base64"),
        percent = p("token printed percent-encoded"),
        dead = p("token that an exiting server prints"),
        refused = p("token in the rejection of a handshake"),
        in_error = p("token in the error of a call"),
        given = p("token that a tool gives back in its result"),
        header = p("header"),
        bearer = p("bearer token"),
        password = p("password in an address"),
        query = p("query of an address"),
        repeated = p("bearer token that a server repeats in its error"),
    )
}

fn project() -> String {
    let (variable, header) = (
        planted("variable in a project's file"),
        planted("header in a project's file"),
    );
    format!(
        r#"{{"mcpServers": {{
  "theirs": {{"command": "sh", "args": ["-c", "env >&2"], "env": {{"TOKEN": "{variable}"}}}},
  "remote": {{"url": "http://127.0.0.1:1/mcp", "headers": {{"Authorization": "Bearer {header}"}}}}
}}}}"#
    )
}

/// Starts a server that responds to every request with an error that repeats all headers, for the lifetime of the
/// test process. Returns its port.
fn echo() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = listener.local_addr().expect("its address").port();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut reader = BufReader::new(stream.try_clone().expect("a second handle"));
            let (mut head, mut line, mut length) = (String::new(), String::new(), 0);
            while reader.read_line(&mut line).is_ok_and(|read| read > 2) {
                if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                    length = value.trim().parse().unwrap_or(0);
                }
                head.push_str(&line);
                line.clear();
            }
            let _ = reader.read_exact(&mut vec![0; length]);
            let size = head.len();
            let response = format!(
                "HTTP/1.1 500 Oops\r\nContent-Type: text/plain\r\nContent-Length: {size}\r\nConnection: close\r\n\r\n{head}"
            );
            let _ = stream.write_all(response.as_bytes());
        }
    });
    port
}
