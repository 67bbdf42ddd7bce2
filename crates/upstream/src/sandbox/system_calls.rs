//! Filters the system calls of the calling thread with seccomp.
//!
//! Refused are calls that reach into other processes, that evade the other restrictions (io_uring opens sockets without
//! `socket`), that type on the user's terminal, and sockets of families that the sandbox does not allow.

use std::collections::BTreeMap;
use std::io;

use pegboard_model::{Sandbox, SandboxNetwork};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch, apply_filter,
};

/// Calls that are always refused.
const REFUSED: &[i64] = &[
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
];

/// Requests that type on a terminal.
const TERMINAL_INPUT: [u64; 2] = [0x5412, 0x541c];
/// The lower bits of a socket's type; the others are flags.
const TYPE_MASK: u64 = 0xf;
/// Connects with the first data, which Landlock does not see before Linux 6.17.
const MSG_FASTOPEN: u64 = 0x2000_0000;
const TCP_FASTOPEN_CONNECT: u64 = 30;
/// Marks the calls of the 32-bit interface for 64-bit processors, which some kernels offer beside the usual one.
#[cfg(target_arch = "x86_64")]
const X32: i64 = 0x4000_0000;
/// The calls that have another number there: the usual number and theirs.
#[cfg(target_arch = "x86_64")]
const X32_NUMBERS: &[(i64, i64)] = &[
    (libc::SYS_ptrace, 521),
    (libc::SYS_process_vm_readv, 539),
    (libc::SYS_process_vm_writev, 540),
    (libc::SYS_ioctl, 514),
    (libc::SYS_sendmsg, 518),
    (libc::SYS_sendmmsg, 538),
    (libc::SYS_setsockopt, 541),
];

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

/// Whether filters exist for this processor.
pub(super) fn is_supported() -> bool {
    TargetArch::try_from(std::env::consts::ARCH).is_ok()
}

/// Filters the system calls of the calling thread and of what it starts. `uses_proxy` permits TCP even if the network is
/// off; Landlock then restricts it to the proxy's port.
pub(super) fn restrict(sandbox: &Sandbox, uses_proxy: bool) -> io::Result<()> {
    let program = filter(sandbox, uses_proxy).map_err(io::Error::other)?;
    apply_filter(&program).map_err(io::Error::other)
}

fn filter(sandbox: &Sandbox, uses_proxy: bool) -> Result<BpfProgram, seccompiler::BackendError> {
    let mut rules: Rules = REFUSED.iter().map(|call| (*call, Vec::new())).collect();
    let typing = TERMINAL_INPUT.map(|request| all([equal(1, request)]));
    rules.insert(
        libc::SYS_ioctl,
        typing.into_iter().collect::<Result<_, _>>()?,
    );
    rules.insert(libc::SYS_socket, socket_rules(sandbox, uses_proxy)?);
    if sandbox.network != SandboxNetwork::On {
        add_fast_open(&mut rules)?;
    }
    #[cfg(target_arch = "x86_64")]
    add_x32(&mut rules);
    let architecture = TargetArch::try_from(std::env::consts::ARCH)?;
    let refusal = SeccompAction::Errno(libc::EPERM.unsigned_abs());
    SeccompFilter::new(rules, SeccompAction::Allow, refusal, architecture)?.try_into()
}

/// Returns the sockets that are refused.
fn socket_rules(
    sandbox: &Sandbox,
    uses_proxy: bool,
) -> Result<Vec<SeccompRule>, seccompiler::BackendError> {
    let number = |value: i32| u64::from(value.unsigned_abs());
    let (inet, inet6) = (number(libc::AF_INET), number(libc::AF_INET6));
    let has_network = uses_proxy || sandbox.network == SandboxNetwork::On;
    // Without rights, netlink only reads the machine's own addresses.
    let mut allowed = vec![number(libc::AF_NETLINK)];
    if has_network {
        allowed.extend([inet, inet6]);
    }
    if sandbox.unix_sockets {
        allowed.push(number(libc::AF_UNIX));
    }
    let others = allowed
        .iter()
        .map(|family| condition(0, SeccompCmpOp::Ne, *family));
    let mut rules = vec![SeccompRule::new(others.collect::<Result<_, _>>()?)?];
    if has_network && sandbox.network != SandboxNetwork::On {
        // Landlock restricts TCP only: no datagrams, no raw sockets, no multipath TCP.
        for family in [inet, inet6] {
            for kind in (0..=TYPE_MASK).filter(|kind| *kind != number(libc::SOCK_STREAM)) {
                let is_kind = condition(1, SeccompCmpOp::MaskedEq(TYPE_MASK), kind);
                rules.push(all([equal(0, family), is_kind])?);
            }
            let is_tcp = [0, number(libc::IPPROTO_TCP)];
            let [plain, named] = is_tcp.map(|protocol| condition(2, SeccompCmpOp::Ne, protocol));
            rules.push(all([equal(0, family), plain, named])?);
        }
    }
    Ok(rules)
}

fn add_fast_open(rules: &mut Rules) -> Result<(), seccompiler::BackendError> {
    for (call, argument) in [
        (libc::SYS_sendto, 3),
        (libc::SYS_sendmsg, 2),
        (libc::SYS_sendmmsg, 3),
    ] {
        let connects = condition(argument, SeccompCmpOp::MaskedEq(MSG_FASTOPEN), MSG_FASTOPEN);
        rules.insert(call, vec![all([connects])?]);
    }
    let tcp = u64::from(libc::IPPROTO_TCP.unsigned_abs());
    let option = all([equal(1, tcp), equal(2, TCP_FASTOPEN_CONNECT)])?;
    rules.insert(libc::SYS_setsockopt, vec![option]);
    Ok(())
}

#[cfg(target_arch = "x86_64")]
fn add_x32(rules: &mut Rules) {
    let same: Vec<(i64, Vec<SeccompRule>)> = rules
        .iter()
        .map(|(call, rules)| {
            let other = X32_NUMBERS.iter().find(|(usual, _)| usual == call);
            (X32 | other.map_or(*call, |(_, x32)| *x32), rules.clone())
        })
        .collect();
    rules.extend(same);
}

type Condition = Result<SeccompCondition, seccompiler::BackendError>;

fn equal(argument: u8, value: u64) -> Condition {
    condition(argument, SeccompCmpOp::Eq, value)
}

fn condition(argument: u8, operator: SeccompCmpOp, value: u64) -> Condition {
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, operator, value)
}

fn all(
    conditions: impl IntoIterator<Item = Condition>,
) -> Result<SeccompRule, seccompiler::BackendError> {
    SeccompRule::new(conditions.into_iter().collect::<Result<_, _>>()?)
}
