//! The JSON Schema of a config file, for editors.

use pegboard_model::Policy;
use serde_json::{Value, json};

use crate::agent::AGENT_KEYS;
use crate::keys::{Key, table_schema, words};
use crate::kinds::field_default;
use crate::oauth::OAUTH_KEYS;
use crate::profile::PROFILE_KEYS;
use crate::review_settings::REVIEW_KEYS;
use crate::server_keys::SERVER_KEYS;
use crate::settings::SETTING_KEYS;
use crate::tools::TOOL_KEYS;
use crate::trace::TRACE_KEYS;

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
                "$ref": "#/$defs/client_servers",
                "description": "Same as `servers`, under the name that other clients use. Names that are not valid here are corrected."
            },
            "settings": { "$ref": "#/$defs/settings" },
            "trace": { "$ref": "#/$defs/trace", "description": "Where spans are sent. Ignored in a project's file." },
            "review": { "$ref": "#/$defs/review", "description": "Which definitions are held back until they are reviewed. Ignored in a project's file." },
            "agent": { "$ref": "#/$defs/agent", "description": "The model that `pegboard ask` uses. Ignored in a project's file." },
            "policies": {
                "type": "object",
                "description": "Policies for the tools of every server, by name, pattern or annotation (`@destructive`, `@read_only`).",
                "additionalProperties": { "$ref": "#/$defs/policy" }
            },
            "profiles": {
                "type": "object",
                "description": "Which servers and tools clients see, by profile name. Clients that do not name a profile use `default`.",
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
            "client_servers": { "type": "object", "additionalProperties": { "$ref": "#/$defs/server" } },
            "server": table_schema(SERVER_KEYS, Key::written_default),
            "settings": table_schema(SETTING_KEYS, field_default),
            "trace": table_schema(TRACE_KEYS, field_default),
            "profile": table_schema(PROFILE_KEYS, field_default),
            "review": table_schema(REVIEW_KEYS, field_default),
            "agent": table_schema(AGENT_KEYS, field_default),
            "oauth": table_schema(OAUTH_KEYS, Key::written_default),
            "tool": table_schema(TOOL_KEYS, Key::written_default),
            "duration": {
                "description": "A duration such as `30s`, `5m`, `24h`, `500ms`, `1h30m`, or a whole number of seconds.",
                "anyOf": [
                    { "type": "string", "pattern": "^([0-9]+(ms|s|m|h|d))+$|^[0-9]+$" },
                    { "type": "integer", "minimum": 0 }
                ]
            },
            "policy": { "enum": words::<Policy>() },
            "value": {
                "description": "A string; `${VAR}`, `${VAR:-default}` and `${secret:NAME}` are resolved.",
                "type": ["string", "number", "boolean"]
            },
            "values": { "type": "object", "additionalProperties": { "$ref": "#/$defs/value" } }
        }
    })
}
