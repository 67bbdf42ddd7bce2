//! Config files of other MCP clients, and Pegboard's own entry in them.
//!
//! Once Pegboard is connected to a client, the client's file lists Pegboard as a server. Reading such a file must not
//! make Pegboard a server of itself.

use crate::environment::CONFIG_FILE_NAMES;
use crate::node::{Entry, Node, Value};
use crate::settings::DEFAULT_PORT;
use crate::text::{Format, SourceText};
use pegboard_model::program_name;

/// Names of files in which clients store their servers.
const CLIENT_FILE_NAMES: &[&str] = &[
    ".claude.json",
    ".mcp.json",
    "claude_desktop_config.json",
    "cline_mcp_settings.json",
    "mcp.json",
    "mcp_config.json",
    "mcp_settings.json",
];

/// Root keys that only Pegboard's own format has.
const OWN_ROOTS: &[&str] = &["agent", "policies", "profiles", "settings", "trace"];

/// Root keys of other programs' files. `inputs` is VS Code's.
const CLIENT_ROOTS: &[&str] = &["inputs", "mcpServers"];

/// Programs that download a package and run it.
const PACKAGE_RUNNERS: &[&str] = &["bunx", "npx", "pnpx", "uvx"];

/// Whether a file belongs to another program. Its unknown root keys are not reported, and its server names may be
/// corrected.
pub(crate) fn is_client_file(source: &SourceText) -> bool {
    let name = source.path.file_name().and_then(|name| name.to_str());
    let name = name.unwrap_or_default();
    if CLIENT_FILE_NAMES.contains(&name) {
        return true;
    }
    if CONFIG_FILE_NAMES.contains(&name) || source.format != Format::Json {
        return false;
    }
    let has = |keys: &[&str]| {
        let tree = source.tree();
        tree.is_some_and(|tree| keys.iter().any(|key| tree.get(key).is_some()))
    };
    has(CLIENT_ROOTS) && !has(OWN_ROOTS)
}

/// Whether a server entry in another program's file starts or reaches Pegboard itself.
pub(crate) fn is_pegboard(server: &Entry, port: Option<u16>) -> bool {
    let port = port.unwrap_or(DEFAULT_PORT);
    let command = server.node.get("command").or(server.node.get("cmd"));
    match (command, url_of(&server.node)) {
        (Some(command), None) => is_own_command(&command.node, server.node.get("args"), port),
        (None, Some(url)) => is_own_address(url, port, server.key.eq_ignore_ascii_case("pegboard")),
        _ => false,
    }
}

fn url_of(server: &Node) -> Option<&str> {
    let keys = ["url", "serverUrl", "httpUrl", "uri", "baseUrl"];
    keys.iter().find_map(|key| server.get(key))?.node.text()
}

fn is_own_command(command: &Node, args: Option<&Entry>, port: u16) -> bool {
    let mut words: Vec<&str> = Vec::new();
    for node in std::iter::once(command).chain(args.map(|entry| &entry.node)) {
        match &node.value {
            Value::Text(text) => words.push(text),
            Value::List(items) => words.extend(items.iter().filter_map(Node::text)),
            _ => {}
        }
    }
    let Some((program, args)) = words.split_first() else {
        return false;
    };
    let program = program_name(program);
    let mut plain = args.iter().filter(|word| !word.starts_with('-'));
    let is_package = |word: &&str| word.split(['@', '=']).next() == Some("pegboard");
    let is_started = match program {
        "pegboard" => true,
        runner if PACKAGE_RUNNERS.contains(&runner) => plain.next().is_some_and(is_package),
        _ => false,
    };
    // A bridge such as `mcp-remote` may connect to Pegboard's URL.
    let is_reached = || {
        PACKAGE_RUNNERS.contains(&program)
            && args.iter().any(|word| is_own_address(word, port, false))
    };
    (is_started && args.contains(&"stdio")) || is_reached()
}

/// Whether a URL is Pegboard's own endpoint: local host, path `/mcp` and the configured port. An entry named
/// `pegboard` matches with any port, because `serve` uses a free port if its own is taken.
fn is_own_address(url: &str, port: u16, has_own_name: bool) -> bool {
    let Some(rest) = url.strip_prefix("http://") else {
        return false;
    };
    let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
    let (host, written_port) = match authority.rsplit_once(':') {
        Some((host, digits)) if !digits.ends_with(']') => (host, digits.parse().ok()),
        _ => (authority, Some(80)),
    };
    let is_local = matches!(host, "127.0.0.1" | "localhost" | "[::1]");
    let path = path.split(['?', '#']).next().unwrap_or_default();
    let is_our_path = path == "mcp" || path.starts_with("mcp/");
    is_local && is_our_path && (written_port == Some(port) || has_own_name)
}
