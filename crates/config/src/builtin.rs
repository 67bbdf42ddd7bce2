//! Servers that are part of the program and are not defined in a file.

use std::collections::BTreeMap;

use pegboard_model::{
    HashKey, Layer, Origin, ServerName, ServerSpec, Template, Transport, TrustState,
};

use crate::hash::config_hash;
use crate::server::Definition;
use crate::settings::Settings;

/// Creates a built-in stdio server with the user's settings.
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
    let hash = config_hash(&transport, key);
    let origin = Origin {
        layer: Layer::Builtin,
        file: None,
        line: None,
    };
    Definition::plain(transport, settings).into_spec(name, origin, TrustState::Granted, hash)
}
