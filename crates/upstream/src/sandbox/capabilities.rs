//! Removes the rights of root with which a confined server could reach into other processes or devices.
//!
//! They matter only if Pegboard runs as root, as in many containers: the kernel lets a process with `CAP_PERFMON` read
//! the variables of others before it asks Landlock.

use rustix::thread::{CapabilitySet, remove_capability_from_bounding_set};

/// Rights that no server needs for its own files and connections.
const DANGEROUS: &[CapabilitySet] = &[
    CapabilitySet::SYS_ADMIN,
    CapabilitySet::SYS_PTRACE,
    CapabilitySet::SYS_MODULE,
    CapabilitySet::SYS_RAWIO,
    CapabilitySet::SYS_BOOT,
    CapabilitySet::SYS_TIME,
    CapabilitySet::SYSLOG,
    CapabilitySet::PERFMON,
    CapabilitySet::BPF,
    CapabilitySet::MKNOD,
    CapabilitySet::NET_ADMIN,
    CapabilitySet::NET_RAW,
    CapabilitySet::CHECKPOINT_RESTORE,
];

/// Makes sure that nothing that the calling thread starts has one of these rights. Other users than root have none.
pub(super) fn drop_dangerous() {
    for right in DANGEROUS {
        // Fails if the thread may not change its rights; then it has none to lose.
        let _ = remove_capability_from_bounding_set(*right);
    }
}
