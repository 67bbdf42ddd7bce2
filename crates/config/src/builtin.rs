//! Servers that are defined in code.

use pegboard_model::{HashKey, Layer, Origin, ServerName, ServerSpec, Transport, TrustState};

use crate::hash::config_hash;
use crate::server::Definition;
use crate::settings::Settings;

/// Returns a server that a program defines in code, with the timeouts of the user's settings. It is always trusted.
pub fn code_server(
    name: ServerName,
    transport: Transport,
    settings: &Settings,
    key: &HashKey,
) -> ServerSpec {
    let hash = config_hash(&transport, None, None, &[], key);
    let origin = Origin {
        layer: Layer::Builtin,
        file: None,
        line: None,
    };
    Definition::plain(transport, settings).into_spec(name, origin, TrustState::Granted, hash)
}
