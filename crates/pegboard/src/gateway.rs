//! Builds the MCP gateway from the configuration.

use std::collections::BTreeMap;

use pegboard_config::{DEFAULT_PROFILE, ProfileMode};
use pegboard_gateway::{Gateway, GatewaySettings, Mode, Profile};

use crate::Pegboard;

/// The key derivation context for state that clients carry; every other use needs its own context.
const SEAL: &str = "pegboard gateway: what clients carry for us";

impl Pegboard {
    /// Returns this Pegboard as an MCP server, for [`crate::mcp::http`] and [`crate::mcp::stdio`]. Starts no server.
    pub fn gateway(&self) -> Gateway {
        let configuration = self.configuration();
        let settings = GatewaySettings {
            profiles: profiles(&configuration.loaded.profiles),
            result_tokens: configuration.loaded.settings.result_tokens,
            key: blake3::derive_key(SEAL, &configuration.key.0),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            limits: configuration.limits.clone(),
        };
        Gateway::new(self.hub().clone(), settings)
    }
}

/// Converts the configured profiles for the gateway. The default profile is also available under the empty name.
pub fn profiles(
    configured: &BTreeMap<String, pegboard_config::Profile>,
) -> BTreeMap<String, Profile> {
    let mut profiles: BTreeMap<String, Profile> = configured
        .iter()
        .map(|(name, profile)| (name.clone(), converted(profile)))
        .collect();
    if let Some(default) = profiles.get(DEFAULT_PROFILE).cloned() {
        profiles.insert(String::new(), default);
    }
    profiles
}

fn converted(profile: &pegboard_config::Profile) -> Profile {
    Profile {
        servers: profile.servers.clone(),
        pinned: profile.pinned.clone(),
        mode: match profile.mode {
            ProfileMode::Lazy => Mode::Lazy,
            ProfileMode::Direct => Mode::Direct,
            ProfileMode::Both => Mode::Both,
        },
        prefix: profile.prefix,
    }
}
