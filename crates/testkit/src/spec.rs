//! Names, specs and tool definitions for tests.

use std::collections::BTreeMap;
use std::time::Duration;

use pegboard_model::{
    ConfigHash, Layer, Origin, ServerName, ServerSpec, Template, Timeouts, Transport, TrustState,
};
use serde_json::{Value, json};

/// A server's name.
///
/// # Panics
/// If the text is not a valid name.
pub fn server(name: &str) -> ServerName {
    ServerName::parse(name).unwrap_or_else(|error| panic!("{error}"))
}

/// A stdio server with default settings.
pub fn stdio_spec<I>(name: &str, command: impl Into<String>, args: I) -> ServerSpec
where
    I: IntoIterator,
    I::Item: Into<String>,
{
    let transport = Transport::Stdio {
        command: Template::literal(command),
        args: args.into_iter().map(Template::literal).collect(),
        env: BTreeMap::new(),
        cwd: None,
    };
    spec(name, transport)
}

/// An HTTP server with default settings.
pub fn http_spec(name: &str, url: impl Into<String>) -> ServerSpec {
    let transport = Transport::Http {
        url: Template::literal(url),
        headers: BTreeMap::new(),
        bearer: None,
        wire: Default::default(),
    };
    spec(name, transport)
}

/// Adds an environment variable (stdio) or a header (HTTP).
#[must_use]
pub fn with_env(mut spec: ServerSpec, key: &str, value: &str) -> ServerSpec {
    match &mut spec.transport {
        Transport::Stdio { env, .. } => env.insert(key.to_owned(), Template::literal(value)),
        Transport::Http { headers, .. } => headers.insert(key.to_owned(), Template::literal(value)),
    };
    spec.hash = hash(&spec.transport);
    spec
}

/// A valid tool definition with one string parameter.
pub fn tool_json(name: &str) -> Value {
    json!({
        "name": name,
        "description": format!("Does {name}."),
        "inputSchema": {
            "type": "object",
            "properties": {"text": {"type": "string", "description": "What to work on."}},
        },
    })
}

fn spec(name: &str, transport: Transport) -> ServerSpec {
    ServerSpec {
        name: server(name),
        enabled: true,
        timeouts: Timeouts::default(),
        ttl: Duration::from_secs(300),
        max_age: Duration::from_secs(24 * 3600),
        share: Default::default(),
        description: None,
        category: None,
        policy: None,
        policies: BTreeMap::new(),
        tools: BTreeMap::new(),
        oauth: None,
        rules: Default::default(),
        origin: Origin {
            layer: Layer::User,
            file: None,
            line: None,
        },
        trust_state: TrustState::Granted,
        hash: hash(&transport),
        transport,
    }
}

/// Different definitions get different hashes. No key is used, because nothing here is secret.
fn hash(transport: &Transport) -> ConfigHash {
    let mut parts = vec![transport.kind().to_owned()];
    let mut add = |key: &str, value: &Template| parts.push(format!("{key}={}", value.written()));
    match transport {
        Transport::Stdio {
            command,
            args,
            env,
            cwd,
        } => {
            add("command", command);
            args.iter().for_each(|arg| add("arg", arg));
            env.iter().for_each(|(key, value)| add(key, value));
            cwd.iter().for_each(|cwd| add("cwd", cwd));
        }
        Transport::Http {
            url,
            headers,
            bearer,
            ..
        } => {
            add("url", url);
            headers.iter().for_each(|(key, value)| add(key, value));
            bearer.iter().for_each(|bearer| add("bearer", bearer));
        }
    }
    let mut hasher = blake3::Hasher::new();
    for part in parts {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part.as_bytes());
    }
    ConfigHash(*hasher.finalize().as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn different_specs_have_different_hashes() {
        let specs = [
            stdio_spec("a", "cmd", ["x"]),
            stdio_spec("a", "cmd", ["x", "y"]),
            stdio_spec("a", "cmd x", Vec::<String>::new()),
            with_env(stdio_spec("a", "cmd", ["x"]), "K", "v"),
            http_spec("a", "http://localhost/x"),
        ];
        let hashes: std::collections::BTreeSet<_> = specs.iter().map(|spec| spec.hash).collect();
        assert_eq!(hashes.len(), specs.len());
        assert_eq!(stdio_spec("b", "cmd", ["x"]).hash, specs[0].hash);
    }
}
