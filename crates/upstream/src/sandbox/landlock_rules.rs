//! Restricts the files, TCP ports and signals of the calling thread with Landlock.

use std::io;

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, LandlockStatus, NetPort, PathBeneath, PathFd,
    Ruleset, RulesetAttr, RulesetCreatedAttr, Scope,
};
use pegboard_model::SandboxNetwork;

use super::folders::{Grant, PathAccess};

/// The newest version whose restrictions were tested. An older kernel enforces what it knows.
const TESTED: ABI = ABI::V6;

/// Restricts the calling thread and what it starts. `port` is the only TCP port that may be reached if the network is
/// restricted.
pub(super) fn restrict(
    grants: &[Grant],
    network: &SandboxNetwork,
    port: Option<u16>,
) -> io::Result<()> {
    let mut ruleset = Ruleset::default()
        .handle_access(AccessFs::from_all(TESTED))
        .and_then(|ruleset| ruleset.scope(Scope::from_all(TESTED)))
        .map_err(io::Error::other)?;
    let is_restricted = *network != SandboxNetwork::On;
    if is_restricted {
        ruleset = ruleset
            .handle_access(AccessNet::from_all(TESTED))
            .map_err(io::Error::other)?;
    }
    let mut created = ruleset.create().map_err(io::Error::other)?;
    if let Some(port) = port.filter(|_| is_restricted) {
        created = created
            .add_rule(NetPort::new(port, AccessNet::ConnectTcp))
            .map_err(io::Error::other)?;
    }
    for grant in grants {
        // What was removed in the meantime cannot be used either.
        let Ok(path) = PathFd::new(&grant.path) else {
            continue;
        };
        let rule = PathBeneath::new(path, access(grant));
        created = created.add_rule(rule).map_err(io::Error::other)?;
    }
    created.restrict_self().map_err(io::Error::other)?;
    Ok(())
}

fn access(grant: &Grant) -> BitFlags<AccessFs> {
    let access = match grant.access {
        PathAccess::List => AccessFs::ReadDir.into(),
        PathAccess::Read => AccessFs::from_read(TESTED),
        PathAccess::Write => AccessFs::from_all(TESTED),
    };
    match grant.path.is_dir() {
        true => access,
        false => access & AccessFs::from_file(TESTED),
    }
}

/// Returns the version of Landlock in the kernel. Restricts the calling thread.
pub(super) fn version() -> Option<u32> {
    let ruleset = Ruleset::default().handle_access(AccessFs::Execute).ok()?;
    let status = ruleset.create().ok()?.restrict_self().ok()?;
    match status.landlock {
        LandlockStatus::Available { effective_abi, .. } => Some(effective_abi as u32),
        _ => None,
    }
}
