//! How a server's process is confined.

use std::fmt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// How much a server's process may reach, from the least to the most strict.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum SandboxMode {
    /// Everything that the user may.
    #[default]
    Off,
    /// Reads everything except secrets and Pegboard's own files; writes only its own folders. What the kernel does not
    /// support is left out.
    Default,
    /// Reaches only listed paths, the system's libraries and its program. Fails if the kernel cannot enforce it.
    Strict,
}

impl SandboxMode {
    /// The word used in configuration.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Default => "default",
            Self::Strict => "strict",
        }
    }
}

/// Which network a confined server reaches.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SandboxNetwork {
    /// Every address.
    #[default]
    On,
    /// None.
    Off,
    /// Only these hosts, through Pegboard's proxy: `name`, `*.name` or `name:port`.
    Hosts(Vec<String>),
}

impl SandboxNetwork {
    /// Returns what both allow.
    #[must_use]
    pub fn and(&self, other: &Self) -> Self {
        match (self, other) {
            (Self::Off, _) | (_, Self::Off) => Self::Off,
            (Self::On, only) | (only, Self::On) => only.clone(),
            (Self::Hosts(ours), Self::Hosts(theirs)) => {
                let common = ours.iter().filter(|host| theirs.contains(host));
                Self::Hosts(common.cloned().collect())
            }
        }
    }
}

impl fmt::Display for SandboxNetwork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::On => f.write_str("on"),
            Self::Off => f.write_str("off"),
            Self::Hosts(hosts) if hosts.is_empty() => f.write_str("no host"),
            Self::Hosts(hosts) => f.write_str(&hosts.join(", ")),
        }
    }
}

/// The `sandbox` of a server. Without effect for a server that is reached by HTTP.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sandbox {
    /// How strict it is. In [`SandboxMode::Off`] the other fields have no effect.
    pub mode: SandboxMode,
    /// Additional paths that the server may read.
    pub read: Vec<PathBuf>,
    /// Additional paths that the server may read and change.
    pub write: Vec<PathBuf>,
    /// The network.
    pub network: SandboxNetwork,
    /// Whether the server may connect to Unix sockets. They lead out of the sandbox: the session bus and the container
    /// engine run programs for everyone who connects.
    pub unix_sockets: bool,
    /// The most memory that its processes use together, in bytes.
    pub memory: Option<u64>,
    /// The most processes that it runs at a time.
    pub processes: Option<u32>,
    /// The folder that contains everything that may be granted by `read`, `write` and the working directory: the
    /// project folder for a project's server, which must not grant itself more.
    pub within: Option<PathBuf>,
}

impl Sandbox {
    /// Returns a sandbox of this mode with nothing else set.
    pub fn of_mode(mode: SandboxMode) -> Self {
        Self {
            mode,
            ..Self::default()
        }
    }

    /// Returns whether the server is not confined.
    pub fn is_off(&self) -> bool {
        self.mode == SandboxMode::Off
    }

    /// Returns this sandbox, tightened to at most what `bound` allows. Paths are not compared: `within` limits them.
    #[must_use]
    pub fn bounded_by(mut self, bound: &Self) -> Self {
        if bound.is_off() {
            return self;
        }
        self.mode = self.mode.max(bound.mode);
        self.network = self.network.and(&bound.network);
        self.unix_sockets &= bound.unix_sockets;
        self.memory = least(self.memory, bound.memory);
        self.processes = least(self.processes, bound.processes);
        self
    }
}

fn least<T: Ord>(one: Option<T>, other: Option<T>) -> Option<T> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_only_tightens() {
        let hosts = |hosts: &[&str]| {
            SandboxNetwork::Hosts(hosts.iter().map(|host| (*host).to_owned()).collect())
        };
        let wanted = Sandbox {
            mode: SandboxMode::Default,
            network: hosts(&["a", "b"]),
            unix_sockets: true,
            memory: Some(200),
            ..Sandbox::default()
        };
        let bound = Sandbox {
            mode: SandboxMode::Strict,
            network: hosts(&["b", "c"]),
            memory: Some(100),
            processes: Some(5),
            ..Sandbox::default()
        };
        let bounded = wanted.clone().bounded_by(&bound);
        let expected = Sandbox {
            mode: SandboxMode::Strict,
            network: hosts(&["b"]),
            memory: Some(100),
            processes: Some(5),
            ..Sandbox::default()
        };
        assert_eq!(bounded, expected);
        assert_eq!(wanted.clone().bounded_by(&Sandbox::default()), wanted);
        assert_eq!(
            SandboxNetwork::On.and(&SandboxNetwork::Off),
            SandboxNetwork::Off
        );
    }
}
