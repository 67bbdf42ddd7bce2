//! The listen address, and the fallback when its port is taken.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::Path;
use std::str::FromStr;

use pegboard::dashboard::running_instance_info;
use pegboard_config::{DEFAULT_PORT, Settings};
use pegboard_model::{Reason, ToolError};
use tokio::net::TcpListener;

use super::ServeArgs;
use super::warn;
use crate::commands::running::connectable;
use crate::failure::Failure;
use crate::output::Output;

/// The value of `--listen`: an IP address and an optional port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ListenAddress {
    ip: IpAddr,
    port: Option<u16>,
}

impl FromStr for ListenAddress {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let numbers = match text.strip_prefix("localhost") {
            Some(rest) => format!("{}{rest}", Ipv4Addr::LOCALHOST),
            None => text.to_owned(),
        };
        if let Ok(ip) = numbers.parse() {
            return Ok(Self { ip, port: None });
        }
        let address: SocketAddr = numbers.parse().map_err(|_| {
            "expected an IP address with an optional port: `127.0.0.1`, `127.0.0.1:8080`, `[::1]:8080`"
        })?;
        Ok(Self {
            ip: address.ip(),
            port: Some(address.port()),
        })
    }
}

/// Returns the port of the flags or the settings.
fn wanted_port(args: &ServeArgs, settings: &Settings) -> Result<Option<u16>, Failure> {
    let beside = args.listen.and_then(|listen| listen.port);
    match (args.port, beside) {
        (Some(port), Some(other)) if port != other => {
            let message = format!("`--port {port}` contradicts port {other} of `--listen`");
            Err(Failure::usage(message, "Remove one of the two."))
        }
        (port, beside) => Ok(port.or(beside).or(settings.port)),
    }
}

/// A bound listener and its address.
pub(crate) struct Listening {
    pub(crate) listener: TcpListener,
    pub(crate) address: SocketAddr,
}

/// Binds the address of the flags and settings. Only the default port falls back to a free one.
pub(crate) async fn listen(
    args: &ServeArgs,
    settings: &Settings,
    state: &Path,
    output: &Output,
) -> Result<Listening, Failure> {
    let ip = args.listen.map_or(settings.listen, |listen| listen.ip);
    let is_open = !ip.to_canonical().is_loopback();
    if is_open && args.no_auth {
        let message = format!("`--no-auth` requires a loopback address, and {ip} is not one");
        let remedy = "Remove `--no-auth`, or listen on 127.0.0.1.";
        return Err(Failure::usage(message, remedy));
    }
    let wanted = wanted_port(args, settings)?;
    let port = wanted.unwrap_or(DEFAULT_PORT);
    let listener = match TcpListener::bind((ip, port)).await {
        Err(error) if error.kind() == io::ErrorKind::AddrInUse && wanted.is_none() => {
            let listener = bound(TcpListener::bind((ip, 0)).await, ip, 0, state)?;
            let text = match pegboard_at(port, state) {
                Some(running) => {
                    format!("{running}; clients can share it. Starting a second one on a free port")
                }
                None => format!("port {port} is taken by another program; using a free one"),
            };
            warn(&text, output);
            listener
        }
        result => bound(result, ip, port, state)?,
    };
    let address = listener
        .local_addr()
        .map_err(|error| unusable(&error, ip, port))?;
    if is_open {
        let text = format!(
            "{ip} is reachable from other machines: anyone with the token can use your tools, and traffic is not encrypted"
        );
        warn(&text, output);
    }
    if args.no_auth {
        warn(
            "every program on this machine can use your tools: no token is required",
            output,
        );
    }
    Ok(Listening { listener, address })
}

/// Describes the Pegboard with the same state directory that listens on a port.
fn pegboard_at(port: u16, state: &Path) -> Option<String> {
    let running = running_instance_info(state).ok();
    let running = running.filter(|running| running.address.port() == port)?;
    let process = running
        .pid
        .map_or(String::new(), |pid| format!(" (process {pid})"));
    let address = connectable(running.address);
    Some(format!(
        "Pegboard already runs at http://{address}/{process}"
    ))
}

fn bound(
    result: io::Result<TcpListener>,
    ip: IpAddr,
    port: u16,
    state: &Path,
) -> Result<TcpListener, Failure> {
    result.map_err(|error| match error.kind() {
        io::ErrorKind::AddrInUse => {
            let next = port.checked_add(1).unwrap_or(DEFAULT_PORT);
            let (message, remedy) = match pegboard_at(port, state) {
                Some(running) => (
                    running,
                    format!(
                        "Clients can share it; open its dashboard with `pegboard dashboard`. For a second one, choose another port with `--port {next}`."
                    ),
                ),
                None => (
                    format!("port {port} of {ip} is taken by another program"),
                    format!(
                        "Choose another with `--port {next}`, or stop the other program. If it is a Pegboard of another user, clients can share it."
                    ),
                ),
            };
            ToolError::new(Reason::AddressInUse, message)
                .with_remedy(remedy)
                .into()
        }
        _ => unusable(&error, ip, port),
    })
}

fn unusable(error: &io::Error, ip: IpAddr, port: u16) -> Failure {
    let message = format!("cannot listen on {}: {error}", SocketAddr::new(ip, port));
    Failure::usage(
        message,
        "Choose an address of this machine with `--listen`, and a port with `--port`.",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_parse_with_and_without_a_port() {
        let check = |text: &str, ip: &str, port: Option<u16>| {
            let ip = ip.parse().expect("an address");
            assert_eq!(text.parse(), Ok(ListenAddress { ip, port }), "{text}");
        };
        check("127.0.0.1", "127.0.0.1", None);
        check("127.0.0.1:8080", "127.0.0.1", Some(8080));
        check("localhost", "127.0.0.1", None);
        check("localhost:0", "127.0.0.1", Some(0));
        check("::", "::", None);
        check("[::1]:8080", "::1", Some(8080));
        for wrong in [
            "",
            "8080",
            "box.lan",
            "127.0.0.1:",
            "127.0.0.1:70000",
            "localhosts",
        ] {
            assert!(wrong.parse::<ListenAddress>().is_err(), "{wrong}");
        }
    }
}
