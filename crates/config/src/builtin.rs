//! Servers that come with the program rather than from a file.

use std::collections::BTreeMap;

use pegboard_model::{
    Approval, HashKey, Layer, Origin, ServerName, ServerSpec, Template, Transport,
};

use crate::hash::config_hash;
use crate::settings::Settings;

/// A server that the program brings itself: a command with arguments, and the user's own settings.
pub fn builtin_server(
    name: ServerName,
    command: &str,
    args: &[&str],
    settings: &Settings,
    key: &HashKey,
) -> ServerSpec {
    let transport = Transport::Stdio {
        command: Template::literal(command),
        args: args.iter().map(|arg| Template::literal(*arg)).collect(),
        env: BTreeMap::new(),
        cwd: None,
    };
    ServerSpec {
        name,
        enabled: true,
        timeouts: settings.timeouts(),
        ttl: settings.ttl,
        max_age: settings.max_age,
        description: None,
        category: None,
        policy: None,
        policies: BTreeMap::new(),
        tools: BTreeMap::new(),
        origin: Origin {
            layer: Layer::Builtin,
            file: None,
            line: None,
        },
        approval: Approval::Granted,
        hash: config_hash(&transport, key),
        transport,
    }
}
