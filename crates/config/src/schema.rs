//! The JSON Schema of a config file, for editors.

use serde_json::{Value, json};

/// Returns the schema, which is the same for TOML, YAML and JSON.
pub fn schema() -> Value {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Pegboard configuration",
        "type": "object",
        "properties": {
            "$schema": { "type": "string" },
            "servers": { "$ref": "#/$defs/servers" },
            "mcpServers": {
                "$ref": "#/$defs/foreign_servers",
                "description": "The same under the name that other clients use; names may have other forms here."
            },
            "settings": { "$ref": "#/$defs/settings" },
            "trace": { "$ref": "#/$defs/trace" },
            "agent": { "$ref": "#/$defs/agent", "description": "Which model `pegboard ask` asks." },
            "policies": {
                "type": "object",
                "description": "Policies for the tools of every server, by name, pattern or annotation (`@destructive`, `@read_only`).",
                "additionalProperties": { "$ref": "#/$defs/policy" }
            },
            "profiles": {
                "type": "object",
                "description": "What clients get to see, by the profile's name; `default` is for clients that name none.",
                "propertyNames": { "pattern": "^[a-z0-9_-]{1,32}$" },
                "additionalProperties": { "$ref": "#/$defs/profile" }
            }
        },
        "additionalProperties": false,
        "$defs": {
            "servers": {
                "type": "object",
                "description": "The servers by name.",
                "propertyNames": { "pattern": "^[a-z0-9]+(_[a-z0-9]+)*$", "maxLength": pegboard_model::SERVER_NAME_MAX },
                "additionalProperties": { "$ref": "#/$defs/server" }
            },
            "foreign_servers": { "type": "object", "additionalProperties": { "$ref": "#/$defs/server" } },
            "server": server(),
            "settings": settings(),
            "trace": trace(),
            "profile": profile(),
            "agent": agent(),
            "tool": tool(),
            "duration": {
                "description": "A time as `30s`, `5m`, `24h`, `500ms`, `1h30m`, or a whole number of seconds.",
                "anyOf": [
                    { "type": "string", "pattern": "^([0-9]+(ms|s|m|h|d))+$|^[0-9]+$" },
                    { "type": "integer", "minimum": 0 }
                ]
            },
            "policy": { "enum": ["allow", "ask", "deny", "disable"] },
            "value": {
                "description": "A text; `${VAR}`, `${VAR:-default}` and `${secret:NAME}` are resolved.",
                "type": ["string", "number", "boolean"]
            },
            "values": { "type": "object", "additionalProperties": { "$ref": "#/$defs/value" } }
        }
    })
}

fn duration(description: &str) -> Value {
    json!({ "$ref": "#/$defs/duration", "description": description })
}

fn server() -> Value {
    json!({
        "type": "object",
        "properties": {
            "command": {
                "description": "The program, or a list of the program and its arguments.",
                "anyOf": [
                    { "$ref": "#/$defs/value" },
                    { "type": "array", "items": { "$ref": "#/$defs/value" }, "minItems": 1 }
                ]
            },
            "args": { "type": "array", "items": { "$ref": "#/$defs/value" }, "description": "Arguments of the program." },
            "env": { "$ref": "#/$defs/values", "description": "Variables the program gets." },
            "cwd": { "$ref": "#/$defs/value", "description": "The folder it runs in; relative to the config file. ${project} is the project's folder. Without it a server of your own runs in a private folder." },
            "url": { "$ref": "#/$defs/value", "description": "The address of a Streamable HTTP server." },
            "headers": { "$ref": "#/$defs/values", "description": "Headers sent with every request." },
            "bearer": { "$ref": "#/$defs/value", "description": "The token sent as `Authorization: Bearer`." },
            "type": { "enum": ["stdio", "http", "streamable-http", "streamableHttp", "streamable_http"] },
            "transport": { "enum": ["stdio", "http", "streamable-http", "streamableHttp", "streamable_http"] },
            "enabled": { "type": "boolean", "description": "Whether its tools are offered; true when not given." },
            "disabled": { "type": "boolean", "description": "The opposite of `enabled`, as other clients write it." },
            "description": { "type": "string", "description": "What the server is for." },
            "category": { "type": "string", "description": "The category of its tools." },
            "elicitation": { "type": "boolean", "description": "Whether the server may ask the user something through the client; true when not given." },
            "sampling": { "type": "boolean", "description": "Whether the server may use the client's model; true when not given, and for a project's server only with `project_sampling`." },
            "policy": { "$ref": "#/$defs/policy", "description": "The policy of all its tools." },
            "policies": {
                "type": "object",
                "description": "Policies by tool name, pattern or annotation.",
                "additionalProperties": { "$ref": "#/$defs/policy" }
            },
            "discovery_timeout": duration("From start to the last page of tools; 30s when not given."),
            "connect_timeout": duration("Opening an HTTP connection; 5s when not given."),
            "call_timeout": duration("One call; 60s when not given."),
            "idle_timeout": duration("How long it may be idle before it is stopped; 5m when not given."),
            "ttl": duration("How long its tool list counts as fresh; 5m when not given."),
            "max_age": duration("How old the list of a stopped server may get; 24h when not given."),
            "tools": {
                "type": "object",
                "description": "What you say of single tools, by their own name.",
                "additionalProperties": {
                    "anyOf": [{ "$ref": "#/$defs/tool" }, { "$ref": "#/$defs/policy" }]
                }
            },
            "serverUrl": { "$ref": "#/$defs/value" },
            "httpUrl": { "$ref": "#/$defs/value" },
            "timeout": { "type": ["integer", "string"] },
            "alwaysAllow": {},
            "autoApprove": {},
            "envFile": {}
        },
        "additionalProperties": false
    })
}

fn settings() -> Value {
    json!({
        "type": "object",
        "properties": {
            "refresh_on_start": { "enum": ["unknown", "stale", "all"], "description": "Which servers a new session refreshes." },
            "stale_refresh": { "enum": ["background", "always"], "description": "What happens when a stale list is needed." },
            "concurrent_discoveries": { "type": "integer", "minimum": 1, "maximum": 1024 },
            "answer_deadline": duration("How long a first listing waits for servers never seen; 2s when not given."),
            "env_allow": { "type": "array", "items": { "type": "string" }, "description": "More variables that servers may inherit." },
            "ttl": duration("`ttl` of servers that do not say."),
            "max_age": duration("`max_age` of servers that do not say."),
            "discovery_timeout": duration("`discovery_timeout` of servers that do not say."),
            "connect_timeout": duration("`connect_timeout` of servers that do not say."),
            "call_timeout": duration("`call_timeout` of servers that do not say."),
            "idle_timeout": duration("`idle_timeout` of servers that do not say."),
            "essential": { "type": "array", "items": { "type": "string" }, "description": "Patterns of the tools that the summary for models names first." },
            "result_tokens": { "type": "integer", "minimum": 1, "description": "Results of more tokens are given in parts; 25000 when not given." },
            "search_by_meaning": { "type": "boolean", "description": "Whether tools are found by what they mean, beside their words; true when not given." },
            "remember_searches": { "type": "boolean", "description": "Whether queries that led to a call are kept on this machine and speak for that tool; false when not given." },
            "project_sampling": { "type": "boolean", "description": "Whether servers that a project's file defines may use the client's model (sampling); false when not given. Not in a project's file." },
            "approval_timeout": duration("How long a call waits for a person who has to agree to it; 2m when not given, 0 to wait for nobody."),
            "ask_destructive": { "enum": ["never", "when_possible", "always"], "description": "Whether a tool that is annotated as destructive asks when no policy speaks of it; when_possible when not given." },
            "ask_via": { "enum": ["client", "inbox", "both"], "description": "Where a person is asked about a call: in the client that calls, in the dashboard and with `pegboard approvals`, or both; both when not given." },
            "client_approval": { "enum": ["call", "session"], "description": "How far an approval reaches that came through the client that calls; call when not given. It never becomes a lasting grant." },
            "log_level": { "type": "string", "description": "What is logged: off, error, warn, info, debug or trace, or targets with levels; off when not given." },
            "port": { "type": "integer", "minimum": 1, "maximum": 65535, "description": "The port of the HTTP face; 7340, or a free one, when not given." },
            "listen": { "type": "string", "description": "The address of the HTTP face; 127.0.0.1 when not given." },
            "allow_hosts": { "type": "array", "items": { "type": "string" }, "description": "More names by which clients may reach the HTTP face." },
            "allow_origins": { "type": "array", "items": { "type": "string" }, "description": "Origins whose pages may speak to the HTTP face." }
        },
        "additionalProperties": false
    })
}

fn trace() -> Value {
    json!({
        "type": "object",
        "description": "Where spans are sent; without a place nothing is traced. Not in a project's file.",
        "properties": {
            "endpoint": { "$ref": "#/$defs/value", "description": "A collector's base address, such as http://localhost:4318; /v1/traces is added." },
            "headers": { "$ref": "#/$defs/values", "description": "Headers for that collector." },
            "langfuse": {
                "type": "object",
                "description": "A Langfuse project.",
                "properties": {
                    "public_key": { "$ref": "#/$defs/value", "description": "The public key, pk-lf-…" },
                    "secret_key": { "$ref": "#/$defs/value", "description": "The secret key, sk-lf-…" },
                    "base_url": { "$ref": "#/$defs/value", "description": "The server; Langfuse's own cloud when not given." }
                },
                "required": ["public_key", "secret_key"],
                "additionalProperties": false
            },
            "capture_content": { "type": "boolean", "description": "Whether arguments, results and queries are recorded, redacted; false when not given." },
            "service_name": { "type": "string", "description": "What this program is called; pegboard when not given." },
            "environment": { "type": "string", "description": "Where it runs, for example production." }
        },
        "additionalProperties": false
    })
}

fn profile() -> Value {
    json!({
        "type": "object",
        "properties": {
            "servers": { "type": "array", "items": { "type": "string" }, "description": "Names of servers, `*` for any part; all when not given." },
            "pinned": { "type": "array", "items": { "type": "string", "pattern": "^[^/]+/.+$" }, "description": "Tools that are listed in any mode, as `server/tool`; `*` for any part." },
            "mode": { "enum": ["lazy", "direct", "both"], "description": "`lazy` lists the meta tools and what is pinned, `direct` every tool, `both` all of them." },
            "prefix": { "type": "boolean", "description": "Whether names carry their server; only a profile of one server may go without." }
        },
        "additionalProperties": false
    })
}

fn agent() -> Value {
    json!({
        "type": "object",
        "properties": {
            "provider": { "enum": ["anthropic", "openai"], "description": "Who runs the model." },
            "model": { "type": "string", "description": "The model's name." },
            "base_url": { "$ref": "#/$defs/value", "description": "Another address of the same API." },
            "api_key": { "$ref": "#/$defs/value", "description": "The key; best as `${secret:NAME}`." },
            "system": { "type": "string", "description": "What the model is to keep in mind." },
            "loading": { "enum": ["meta", "deferred", "all"], "description": "How the model comes to know the tools." },
            "max_turns": { "type": "integer", "minimum": 1, "description": "How often the model may be asked." },
            "max_calls": { "type": "integer", "minimum": 1, "description": "How many calls it may make." },
            "max_tokens": { "type": "integer", "minimum": 1, "description": "How many tokens it may read and write." },
            "max_time": duration("How long it may take.")
        },
        "additionalProperties": false
    })
}

fn tool() -> Value {
    json!({
        "type": "object",
        "properties": {
            "summary": { "type": "string", "maxLength": 80 },
            "description": { "type": "string" },
            "category": { "type": "string" },
            "examples": { "type": "array", "items": { "type": "object" }, "description": "Tables with `arguments`, and a `description` and an `expected_output` if you want; or just the arguments." },
            "related": { "type": "array", "items": { "type": "string" } },
            "enabled": { "type": "boolean" },
            "deprecated": { "type": ["boolean", "string"] },
            "policy": { "$ref": "#/$defs/policy" }
        },
        "additionalProperties": false
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::AGENT_KEYS;
    use crate::profile::PROFILE_KEYS;
    use crate::server::SERVER_KEYS;
    use crate::settings::SETTING_KEYS;
    use crate::trace::{LANGFUSE_KEYS, TRACE_KEYS};

    #[test]
    fn r_cfg_02_the_schema_has_every_key_that_is_read() {
        let schema = schema();
        for (table, keys) in [
            ("server", SERVER_KEYS),
            ("settings", SETTING_KEYS),
            ("profile", PROFILE_KEYS),
            ("trace", TRACE_KEYS),
            ("agent", AGENT_KEYS),
        ] {
            for key in keys {
                assert!(
                    schema["$defs"][table]["properties"].get(key).is_some(),
                    "{table}.{key}"
                );
            }
        }
        for key in LANGFUSE_KEYS {
            let langfuse = &schema["$defs"]["trace"]["properties"]["langfuse"];
            assert!(langfuse["properties"].get(key).is_some(), "{key}");
        }
    }
}
