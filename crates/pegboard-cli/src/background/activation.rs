//! Socket activation: a service manager listens for the background process, starts it with the first client, and
//! passes the socket to it.
//!
//! The socket only starts the process. Clients still find it through its lock file, so a process that was started
//! without the service manager and one that was started by it are the same to them.

use std::io;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

use listenfd::ListenFd;
use pegboard_background::{
    Confinement, Peer, Reply, Request, activation_socket, connect_within, exchange,
    is_private_folder, is_process_running, receive_request, write_message,
};
use pegboard_config::Environment;

use super::runtime_dir;

/// How long the service manager may take to start the process. After that it is started directly.
const ACTIVATION_TIMEOUT: Duration = Duration::from_secs(3);
/// How long a client that is turned away may take for its message.
const MESSAGE_TIMEOUT: Duration = Duration::from_secs(1);
/// Maximum number of waiting clients that are turned away.
const TURNED_AWAY_MAX: usize = 128;

/// Lets the service manager start the process. Returns whether the process runs now and can serve this client.
pub(super) fn activate(state: &Path, environment: &Environment) -> bool {
    // A client in a sandbox must not start a process outside, which would not serve it anyway.
    if Confinement::own().is_none_or(|own| own.is_restricted()) {
        return false;
    }
    let socket = runtime_dir(environment).and_then(|folder| activation_socket(state, &folder));
    let Some(socket) = socket else { return false };
    let Ok(stream) = connect_within(&socket, ACTIVATION_TIMEOUT) else {
        return false;
    };
    let is_own = Peer::of(&stream).is_ok_and(Peer::is_same_user);
    let reply = is_own.then(|| exchange(stream, &Request::Status, ACTIVATION_TIMEOUT));
    matches!(reply, Some(Ok(Reply::Status { .. }))) && is_process_running(state)
}

/// Returns the socket that a service manager passed to this process, and its path.
///
/// # Errors
/// Fails if something else was passed, or a socket that other users can reach.
pub(super) fn inherited_listener(
    environment: &Environment,
) -> io::Result<Option<(UnixListener, PathBuf)>> {
    let variable = |name: &str| environment.vars.get(name).map(String::as_str);
    let pid = variable("LISTEN_PID").and_then(|text| text.parse().ok());
    // Variables for another process were inherited by accident.
    if variable("LISTEN_FDS").is_none() || pid != Some(std::process::id()) {
        return Ok(None);
    }
    if variable("LISTEN_FDS") != Some("1") || variable("LISTEN_FDS_FIRST_FD").is_some() {
        return Err(io::Error::other("exactly one socket must be passed"));
    }
    let Some(listener) = ListenFd::from_env().take_unix_listener(0)? else {
        return Err(io::Error::other("no socket was passed"));
    };
    if !rustix::net::sockopt::socket_acceptconn(&listener)? {
        return Err(io::Error::other("the passed socket does not listen"));
    }
    let address = listener.local_addr()?;
    let path = address.as_pathname().filter(|path| path.is_absolute());
    let folder = path.and_then(Path::parent);
    match (path, folder.is_some_and(is_private_folder)) {
        (Some(path), true) => Ok(Some((listener, path.to_owned()))),
        _ => Err(io::Error::other(
            "the passed socket is not in a folder that only this user can access",
        )),
    }
}

/// Sends the waiting clients of a passed socket to the process that runs already. Otherwise the service manager would
/// start this program again and again for them.
pub(super) fn turn_away_waiting(listener: &UnixListener) {
    if listener.set_nonblocking(true).is_err() {
        return;
    }
    for _ in 0..TURNED_AWAY_MAX {
        let Ok((stream, _)) = listener.accept() else {
            return;
        };
        let _ = turn_away(stream);
    }
}

/// Sends all later clients of a passed socket to another process, forever.
pub(super) async fn turn_away_all(listener: tokio::net::UnixListener) {
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            tokio::task::yield_now().await;
            continue;
        };
        if let Ok(stream) = stream.into_std() {
            // A client that is gone does not need the reply.
            let _ = tokio::task::spawn_blocking(move || turn_away(stream)).await;
        }
    }
}

/// Reads the request of a client and sends it to another process.
///
/// # Errors
/// Fails if the client does not send a request or is gone.
fn turn_away(mut stream: UnixStream) -> io::Result<()> {
    stream.set_nonblocking(false)?;
    stream.set_read_timeout(Some(MESSAGE_TIMEOUT))?;
    stream.set_write_timeout(Some(MESSAGE_TIMEOUT))?;
    let _ = receive_request(&mut stream)?;
    write_message(&mut stream, &Reply::Retry)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn environment(pairs: &[(&str, String)]) -> Environment {
        let pairs = pairs.iter().cloned();
        let vars: BTreeMap<String, String> = pairs
            .map(|(name, value)| (name.to_owned(), value))
            .collect();
        Environment {
            vars,
            home: "/".into(),
            working_dir: "/".into(),
        }
    }

    #[test]
    fn r_share_01_variables_of_another_process_are_ignored_and_wrong_numbers_refused() {
        let own = std::process::id();
        let of = |pid: u32, number: &str| {
            let pairs = [
                ("LISTEN_PID", pid.to_string()),
                ("LISTEN_FDS", number.to_owned()),
            ];
            inherited_listener(&environment(&pairs))
        };
        assert!(of(own + 1, "1").unwrap().is_none());
        assert!(of(own, "2").is_err());
        assert!(of(own, "soon").is_err());
        assert!(inherited_listener(&environment(&[])).unwrap().is_none());
        let only = [("LISTEN_FDS", "1".to_owned())];
        assert!(inherited_listener(&environment(&only)).unwrap().is_none());
    }

    #[test]
    fn r_share_01_waiting_clients_are_sent_to_the_running_process() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("socket");
        let listener = UnixListener::bind(&path).unwrap();
        let client = UnixStream::connect(&path).unwrap();
        let asking = std::thread::spawn(move || {
            exchange(client, &Request::Status, Duration::from_secs(20)).unwrap()
        });
        // The connection waits already; its message may follow.
        turn_away_waiting(&listener);
        assert_eq!(asking.join().unwrap(), Reply::Retry);
    }
}
