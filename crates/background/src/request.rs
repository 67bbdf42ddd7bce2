//! Requests to the running process that have one reply.

use std::io;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use crate::start::connect;
use crate::status::ProcessStatus;
use crate::wire::{Reply, Request, read_message, write_message};

/// How long the process may take to reply.
const REPLY_TIMEOUT: Duration = Duration::from_secs(3);

/// Sends a request other than [`Request::Serve`] to the running process of a state folder. Returns its reply, or `None`
/// if no process is running. Never starts a process.
///
/// # Errors
/// Fails with the reason, as text for a person, if a process exists but does not reply.
pub fn send_request(state: &Path, request: &Request) -> Result<Option<Reply>, String> {
    let Some(mut stream) = connect(state)? else {
        return Ok(None);
    };
    let reply = exchange(&mut stream, request);
    let reply = reply.map_err(|error| format!("the running process does not reply: {error}"))?;
    Ok(Some(reply))
}

/// Asks the running process for its clients and instances. Returns `None` if no process is running.
///
/// # Errors
/// Fails with the reason, as text for a person, if a process exists but does not reply.
pub fn process_status(state: &Path) -> Result<Option<ProcessStatus>, String> {
    match send_request(state, &Request::Status)? {
        None => Ok(None),
        Some(Reply::Status { status }) => Ok(Some(*status)),
        Some(_) => Err("the running process does not report its status".to_owned()),
    }
}

fn exchange(stream: &mut UnixStream, request: &Request) -> io::Result<Reply> {
    stream.set_read_timeout(Some(REPLY_TIMEOUT))?;
    stream.set_write_timeout(Some(REPLY_TIMEOUT))?;
    write_message(stream, request)?;
    read_message(stream)
}
