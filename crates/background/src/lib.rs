//! The background process that all Pegboard clients of one user share: how it is found, how it is started exactly
//! once, and how a client's `pegboard stdio` (the *bridge*) relays messages to it.
//!
//! Invariants:
//! - The lock file decides which process is the background process. It is locked for the life of that process and
//!   never deleted. The socket only makes the process reachable; only the holder of the lock removes or replaces it.
//! - Both sides check the user of the other side. A client in another sandbox than the process is not served by it.
//! - A message of a client is sent to at most one process, once.
//! - The client receives only whole messages, and every request that was sent gets exactly one response.
//! - Every failure here makes the bridge serve its client by itself; no failure ends the client's session.
//! - Blocking calls only, no async runtime: the bridge must start quickly.

mod instance_clients;
mod lines;
mod lock_file;
mod open_requests;
mod peer;
mod relay;
mod request;
mod socket;
mod start;
mod status;
mod wire;

pub use lock_file::{LifeLock, ProcessRecord, find_process, is_process_running, lock_file_path};
pub use open_requests::OpenRequests;
pub use peer::{Confinement, Peer};
pub use relay::{Link, Relay, RelayEnd};
pub use request::{exchange, process_status, send_request};
pub use socket::{SocketFolder, activation_socket, is_private_folder, socket_path, state_id};
pub use start::{StartOutcome, connect, connect_within, start_once};
pub use status::{
    ClientStatus, InstanceStatus, LeaseStatus, ProcessKind, ProcessPhase, ProcessStatus,
};
pub use wire::{
    CALLS_PROTOCOL, CallCommand, CallMessage, CallStart, ControlMessage, Hello, PROTOCOLS,
    PromptAnswer, Reply, Request, Resume, Variables, common_protocol, encode, read_message,
    receive_request, send_hello, write_message,
};
