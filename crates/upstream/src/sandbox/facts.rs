//! What a sandbox enforces on this machine, and what is missing.

use std::sync::OnceLock;

use pegboard_model::{Sandbox, SandboxNetwork};
use serde::Serialize;

/// The version of Landlock from which a file cannot be truncated without permission to write. Required by `strict`.
const FILES_ABI: u32 = 3;
/// The version that restricts TCP connections.
const TCP_ABI: u32 = 4;
/// The version that restricts signals to processes outside.
const SIGNALS_ABI: u32 = 6;

/// What this system can enforce.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct SandboxSupport {
    /// The version of Landlock in the kernel; `None` without it.
    pub landlock: Option<u32>,
    /// Whether system calls can be filtered.
    pub seccomp: bool,
}

/// What a sandbox enforces here.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SandboxFacts {
    /// The mode.
    pub mode: pegboard_model::SandboxMode,
    /// What is enforced, one sentence part each.
    pub in_force: Vec<String>,
    /// What is configured but cannot be enforced on this machine.
    pub missing: Vec<String>,
    /// The part of `missing` without which a strict server is not started.
    #[serde(skip)]
    pub(crate) required: Vec<String>,
}

/// Returns what this system supports. Determined once.
pub fn sandbox_support() -> SandboxSupport {
    static SUPPORT: OnceLock<SandboxSupport> = OnceLock::new();
    *SUPPORT.get_or_init(detect)
}

/// Returns what a sandbox enforces on this machine.
pub fn sandbox_facts(sandbox: &Sandbox) -> SandboxFacts {
    facts(sandbox, &sandbox_support())
}

#[cfg(target_os = "linux")]
fn detect() -> SandboxSupport {
    // The library reports the version only to a thread that restricts itself.
    let thread = std::thread::Builder::new().name("pegboard-landlock".to_owned());
    let landlock = thread
        .spawn(super::landlock_rules::version)
        .ok()
        .and_then(|thread| thread.join().ok())
        .flatten();
    let seccomp = std::path::Path::new("/proc/sys/kernel/seccomp").exists();
    SandboxSupport {
        landlock,
        seccomp: seccomp && super::system_calls::is_supported(),
    }
}

#[cfg(not(target_os = "linux"))]
fn detect() -> SandboxSupport {
    SandboxSupport {
        landlock: None,
        seccomp: false,
    }
}

pub(super) fn facts(sandbox: &Sandbox, support: &SandboxSupport) -> SandboxFacts {
    let mut facts = SandboxFacts {
        mode: sandbox.mode,
        in_force: Vec::new(),
        missing: Vec::new(),
        required: Vec::new(),
    };
    if sandbox.is_off() {
        return facts;
    }
    let abi = support.landlock.unwrap_or(0);
    let mut check = |is_enforced: bool, is_required: bool, what: String, why: &str| {
        if is_enforced {
            facts.in_force.push(what);
            return;
        }
        let missing = format!("{what}: {why}");
        if is_required {
            facts.required.push(missing.clone());
        }
        facts.missing.push(missing);
    };
    let (no_landlock, no_seccomp) = match cfg!(target_os = "linux") {
        true => (
            "the kernel has no Landlock, or it is not enabled",
            "the kernel does not filter system calls",
        ),
        false => ("only Linux is supported", "only Linux is supported"),
    };
    check(
        abi >= 1,
        true,
        format!("files (Landlock {abi})"),
        no_landlock,
    );
    if abi >= 1 {
        let what = "truncating files".to_owned();
        if abi < FILES_ABI {
            check(false, true, what, "Linux 6.2 is needed");
        }
        let what = "signals to other processes".to_owned();
        check(abi >= SIGNALS_ABI, false, what, "Linux 6.12 is needed");
    }
    check(
        support.seccomp,
        true,
        "system calls (seccomp)".to_owned(),
        no_seccomp,
    );
    match &sandbox.network {
        SandboxNetwork::On => {}
        SandboxNetwork::Off => {
            check(support.seccomp, true, "network off".to_owned(), no_seccomp);
        }
        SandboxNetwork::Hosts(_) => {
            let what = format!("network only to {}", sandbox.network);
            check(
                abi >= TCP_ABI && support.seccomp,
                true,
                what,
                "Linux 6.7 is needed",
            );
        }
    }
    if let Some(bytes) = sandbox.memory {
        let what = format!("at most {} MB of memory", bytes / (1024 * 1024));
        check(
            cfg!(target_os = "linux"),
            true,
            what,
            "only Linux is supported",
        );
    }
    if let Some(count) = sandbox.processes {
        let what = format!("at most {count} processes");
        check(
            cfg!(target_os = "linux"),
            true,
            what,
            "only Linux is supported",
        );
    }
    facts
}

#[cfg(test)]
mod tests {
    use super::*;
    use pegboard_model::SandboxMode;

    #[track_caller]
    fn check(network: SandboxNetwork, landlock: Option<u32>, missing: &[&str], required: usize) {
        let sandbox = Sandbox {
            network,
            ..Sandbox::of_mode(SandboxMode::Strict)
        };
        let support = SandboxSupport {
            landlock,
            seccomp: true,
        };
        let facts = facts(&sandbox, &support);
        let names: Vec<&str> = facts
            .missing
            .iter()
            .filter_map(|text| text.split(':').next())
            .collect();
        assert_eq!(names, missing);
        assert_eq!(facts.required.len(), required, "{:?}", facts.required);
    }

    #[test]
    fn what_an_older_kernel_lacks_is_reported() {
        let hosts = SandboxNetwork::Hosts(vec!["a".to_owned()]);
        check(hosts.clone(), Some(7), &[], 0);
        check(
            SandboxNetwork::Off,
            Some(4),
            &["signals to other processes"],
            0,
        );
        let old = [
            "truncating files",
            "signals to other processes",
            "network only to a",
        ];
        check(hosts.clone(), Some(2), &old, 2);
        check(hosts, None, &["files (Landlock 0)", "network only to a"], 2);
    }
}
