//! The keys of a server.

use std::time::Duration;

use pegboard_model::{Policy, Reason, Share};
use serde_json::json;

use crate::keys::{ValueType, keys, words};
use crate::node::{Entry, Value};
use crate::oauth::{OAUTH, read_oauth};
use crate::problem::Severity;
use crate::reader::TableReader;
use crate::sensitive::Visibility::{Address, Arguments, Hidden};
use crate::server::WrittenServer;
use crate::transport::TRANSPORT_WORDS;

/// Reads the value of a key into a server.
type ReadServer = for<'n> fn(&mut WrittenServer<'n>, &'n Entry, &mut TableReader<'_>);

const TRANSPORT: ReadServer = |server, entry, reader| server.transport.take(entry, reader);
const IGNORED: ReadServer = |_, _, _| {};

const ANYTHING: ValueType = ValueType::Custom(|| json!({}));
const COMMAND: ValueType = ValueType::Custom(|| {
    let list = json!({ "type": "array", "items": { "$ref": "#/$defs/value" }, "minItems": 1 });
    json!({ "anyOf": [{ "$ref": "#/$defs/value" }, list] })
});
const TOOLS: ValueType = ValueType::Custom(|| {
    let tool = json!({ "anyOf": [{ "$ref": "#/$defs/tool" }, { "$ref": "#/$defs/policy" }] });
    json!({ "type": "object", "additionalProperties": tool })
});
const CLIENT_TIMEOUT: ValueType = ValueType::Custom(|| json!({ "type": ["integer", "string"] }));
const TYPE: ValueType = ValueType::OneOf(|| TRANSPORT_WORDS.map(|(word, _)| word).to_vec());

const FROM_SETTINGS: &str = "from [`[settings]`](#settings)";

keys! {
    /// The keys of a server.
    const SERVER_KEYS: ReadServer;

    /// The program. A list contains the program and its first arguments. A whole command line in one string is an error.
    "command": COMMAND, TRANSPORT, { visibility: Arguments, is_editable: true };
    /// Arguments of the program. There is no shell; use `sh`, `-c` if you need one.
    "args": ValueType::TemplateList, TRANSPORT, { visibility: Arguments, default: "`[]`", is_editable: true };
    /// Variables of the program, in addition to the [inherited ones](configuration.md#what-a-servers-process-sees).
    "env": ValueType::TemplateTable, TRANSPORT, { visibility: Hidden, default: "`{}`", is_editable: true };
    /// The [working directory](configuration.md#paths-and-folders), relative to the config file. `${project}` is the
    /// project folder.
    "cwd": ValueType::Template, TRANSPORT,
        { default: "a private folder; for a project's server the project folder", is_editable: true };
    /// The URL of a Streamable HTTP server.
    "url": ValueType::Template, TRANSPORT, { visibility: Address, is_editable: true };
    /// Headers of every request.
    "headers": ValueType::TemplateTable, TRANSPORT, { visibility: Hidden, default: "`{}`", is_editable: true };
    /// The token that is sent as `Authorization: Bearer`.
    "bearer": ValueType::Template, TRANSPORT, { visibility: Hidden, is_editable: true };
    /// How to [log in](remote-servers.md) to the server, if it does not work by itself. Ignored in a project's file.
    "oauth": OAUTH, |server, entry, reader| server.options.oauth = read_oauth(entry, reader),
        { visibility: Hidden, default: "found automatically" };
    /// Not needed. `http` has three other spellings. `sse` is the old HTTP+SSE transport; without it that transport is
    /// [detected](remote-servers.md#the-old-httpsse-transport).
    "type": TYPE, TRANSPORT, { default: "from `command` or `url`" };
    /// Whether the server's tools are available.
    "enabled": ValueType::Boolean,
        |server, entry, reader| server.enabled = reader.boolean(entry).map(|value| (value, entry)),
        { default: "`true`", is_editable: true };
    /// A description for you.
    "description": ValueType::Text,
        |server, entry, reader| server.options.description = reader.text(entry), { is_editable: true };
    /// The category of its tools.
    "category": ValueType::Text,
        |server, entry, reader| server.options.category = reader.text(entry),
        { default: "from the names of the server and its tools", is_editable: true };
    /// The [policy](policies.md) of all its tools.
    "policy": ValueType::OneOf(words::<Policy>),
        |server, entry, reader| server.options.read_policy(entry, reader),
        { default: "`allow`", is_editable: true };
    /// [Policies](policies.md) by tool name, pattern or annotation.
    "policies": ValueType::PolicyTable,
        |server, entry, reader| server.options.read_policies(entry, reader), { default: "`{}`" };
    /// Whether the server may send [elicitations](gateway.md#requests-from-servers) to the user.
    "elicitation": ValueType::Boolean,
        |server, entry, reader| server.options.elicitation = reader.boolean(entry), { default: "`true`" };
    /// Whether the server may use the client's model. A project's server also needs `project_sampling` in your own file.
    "sampling": ValueType::Boolean,
        |server, entry, reader| server.options.sampling = reader.boolean(entry), { default: "`true`" };
    /// Which clients [share](sharing.md) one process of the server. A project's file cannot share its server with
    /// clients outside the project.
    "share": ValueType::OneOf(words::<Share>),
        |server, entry, reader| set(&mut server.options.share, reader.one_of(entry)),
        { default: "`auto`", is_editable: true };
    /// Overrides of single tools, by the server's own names. A list, as other clients write it, has no effect.
    "tools": TOOLS, |server, entry, reader| server.options.read_tools(entry, reader), { default: "`{}`" };
    /// Time from the start of the server to the last page of its tools.
    "discovery_timeout": ValueType::Duration,
        |server, entry, reader| set(&mut server.options.timeouts.discovery, reader.duration(entry, false)),
        { default: FROM_SETTINGS, is_editable: true };
    /// Time to open an HTTP connection.
    "connect_timeout": ValueType::Duration,
        |server, entry, reader| set(&mut server.options.timeouts.connect, reader.duration(entry, false)),
        { default: FROM_SETTINGS, is_editable: true };
    /// Time of one call.
    "call_timeout": ValueType::Duration,
        |server, entry, reader| set(&mut server.options.timeouts.call, reader.duration(entry, false)),
        { default: FROM_SETTINGS, is_editable: true };
    /// How long an unused server keeps running. `0s` stops it immediately.
    "idle_timeout": ValueType::Duration,
        |server, entry, reader| set(&mut server.options.timeouts.idle, reader.duration(entry, true)),
        { default: FROM_SETTINGS, is_editable: true };
    /// How long the list of tools stays fresh, if the server does not specify it. `0s` means never.
    "ttl": ValueType::Duration,
        |server, entry, reader| set(&mut server.options.ttl, reader.duration(entry, true)),
        { default: FROM_SETTINGS, is_editable: true };
    /// Maximum age of the list of a stopped server before `pegboard up` refreshes it.
    "max_age": ValueType::Duration,
        |server, entry, reader| set(&mut server.options.max_age, reader.duration(entry, true)),
        { default: FROM_SETTINGS, is_editable: true };
    /// Same as `url`.
    "serverUrl": ValueType::Template, TRANSPORT, { visibility: Address, is_client_key: true };
    /// Same as `url`.
    "httpUrl": ValueType::Template, TRANSPORT, { visibility: Address, is_client_key: true };
    /// Same as `type`.
    "transport": TYPE, TRANSPORT, { is_client_key: true };
    /// The opposite of `enabled`.
    "disabled": ValueType::Boolean,
        |server, entry, reader| server.disabled = reader.boolean(entry).map(|value| (value, entry)),
        { is_client_key: true };
    /// Same as `call_timeout`. Numbers above 1000 are milliseconds, smaller ones seconds.
    "timeout": CLIENT_TIMEOUT,
        |server, entry, reader| set(&mut server.options.timeouts.call, client_timeout(entry, reader)),
        { is_client_key: true };
    // Other clients let a file approve tools. Here only `policy` in the user's own file can.
    /// Ignored. Use `policy` or `policies`.
    "alwaysAllow": ANYTHING, IGNORED, { is_client_key: true };
    /// Ignored. Use `policy` or `policies`.
    "autoApprove": ANYTHING, IGNORED, { is_client_key: true };
    /// Not supported, and reported by `pegboard config check`. List the variables in `env`.
    "envFile": ANYTHING, |_, entry, reader| report_env_file(entry, reader), { is_client_key: true };
}

/// Returns the keys of a server that the HTTP API may change. The others can only be changed in the file.
pub fn editable_server_keys() -> impl Iterator<Item = &'static str> {
    SERVER_KEYS
        .iter()
        .filter(|key| key.is_editable)
        .map(|key| key.name)
}

fn report_env_file(entry: &Entry, reader: &mut TableReader<'_>) {
    let example = reader.source.format.example("NAME", "\"${NAME}\"");
    reader.report(
        Severity::Advice,
        Reason::ConfigUnknownKey,
        entry.key_start,
        "`envFile` is not supported; the server will not receive its variables",
        format!("list the variables in `env`, for example `{example}`"),
    );
}

fn set<T>(place: &mut T, value: Option<T>) {
    if let Some(value) = value {
        *place = value;
    }
}

/// `timeout` in other clients' files is in seconds or in milliseconds. Numbers above 1000 are taken as milliseconds,
/// because no client has calls of more than a thousand seconds.
fn client_timeout(entry: &Entry, reader: &mut TableReader<'_>) -> Option<Duration> {
    match entry.node.value {
        Value::Integer(number) if number > 1000 => {
            u64::try_from(number).ok().map(Duration::from_millis)
        }
        _ => reader.duration(entry, false),
    }
}
