//! Checks of the process on the other side of the socket.

use std::collections::BTreeMap;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;

/// Namespaces that make a sandbox. A process in another one sees other files, processes or networks.
const NAMESPACES: &[&str] = &["user", "mnt", "net", "pid"];

/// The process on the other side of a socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peer {
    /// Its user.
    pub uid: u32,
    /// Its process id.
    pub pid: u32,
}

impl Peer {
    /// Returns the process that opened the other end.
    ///
    /// # Errors
    /// Fails if the system does not tell.
    #[cfg(target_os = "linux")]
    pub fn of(stream: &UnixStream) -> std::io::Result<Self> {
        let credentials = rustix::net::sockopt::socket_peercred(stream)?;
        Ok(Self {
            uid: credentials.uid.as_raw(),
            pid: u32::try_from(credentials.pid.as_raw_nonzero().get()).unwrap_or(0),
        })
    }

    /// Returns the process that opened the other end.
    ///
    /// # Errors
    /// Always fails: this system is not supported, so each client serves itself.
    #[cfg(not(target_os = "linux"))]
    pub fn of(_stream: &UnixStream) -> std::io::Result<Self> {
        Err(std::io::ErrorKind::Unsupported.into())
    }

    /// Whether the other process runs as the same user.
    pub fn is_same_user(self) -> bool {
        self.uid == rustix::process::geteuid().as_raw()
    }
}

/// The limits that a process runs under: namespaces, `no_new_privs` and seccomp. A process that is served by another
/// one with different limits would escape its own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Confinement(BTreeMap<&'static str, String>);

impl Confinement {
    /// Reads the limits of this process. Returns `None` if they cannot be read.
    pub fn own() -> Option<Self> {
        Self::read(PathBuf::from("/proc/self"))
    }

    /// Reads the limits of another process. Returns `None` if they cannot be read, for example because it has ended.
    pub fn of(pid: u32) -> Option<Self> {
        Self::read(PathBuf::from(format!("/proc/{pid}")))
    }

    fn read(process: PathBuf) -> Option<Self> {
        let mut limits = BTreeMap::new();
        for name in NAMESPACES {
            let link = std::fs::read_link(process.join("ns").join(name)).ok()?;
            limits.insert(*name, link.to_string_lossy().into_owned());
        }
        let status = std::fs::read_to_string(process.join("status")).ok()?;
        for name in ["NoNewPrivs", "Seccomp"] {
            let mut lines = status.lines();
            let value = lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
            limits.insert(name, value.trim().to_owned());
        }
        Some(Self(limits))
    }

    /// Whether the process is restricted by `no_new_privs` or seccomp, as most sandboxes do.
    pub fn is_restricted(&self) -> bool {
        let names = ["NoNewPrivs", "Seccomp"];
        let mut values = names.iter().filter_map(|name| self.0.get(name));
        values.any(|value| value != "0")
    }

    /// Names the first difference between two processes, if there is one.
    pub fn difference(&self, other: &Self) -> Option<&'static str> {
        let mut names = self.0.iter();
        names.find_map(|(name, value)| (other.0.get(name) != Some(value)).then_some(*name))
    }

    /// Returns a short name for these limits. Processes with different limits have different background processes.
    pub fn name(&self) -> String {
        let mut hasher = blake3::Hasher::new();
        for (name, value) in &self.0 {
            hasher.update(format!("{name}={value}\n").as_bytes());
        }
        hasher.finalize().to_hex().chars().take(8).collect()
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn r_share_01_a_peer_is_identified_and_compared() {
        let (one, _other) = UnixStream::pair().unwrap();
        let peer = Peer::of(&one).unwrap();
        assert!(peer.is_same_user());
        assert_eq!(peer.pid, std::process::id());
        let own = Confinement::own().unwrap();
        assert_eq!(own.difference(&Confinement::of(peer.pid).unwrap()), None);
        let mut other = own.clone();
        other.0.insert("net", "net:[1]".to_owned());
        assert_eq!(own.difference(&other), Some("net"));
        let mut confined = own.clone();
        confined.0.insert("Seccomp", "2".to_owned());
        assert_ne!(confined.name(), own.name());
        assert_eq!(own.difference(&confined), Some("Seccomp"));
        assert!(confined.is_restricted());
        for name in ["NoNewPrivs", "Seccomp"] {
            confined.0.insert(name, "0".to_owned());
        }
        assert!(!confined.is_restricted());
        assert_eq!(Confinement::of(u32::MAX), None);
    }
}
