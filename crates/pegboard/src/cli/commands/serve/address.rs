//! Where to listen, and what to do when somebody else listens there.

use std::io;
use std::net::{IpAddr, SocketAddr};

use pegboard_config::{DEFAULT_PORT, Settings};
use pegboard_model::{Reason, ToolError};
use tokio::net::TcpListener;

use super::warn;
use crate::cli::args::ServeArgs;
use crate::cli::failure::Failure;
use crate::cli::output::Output;

/// A place that is ours.
pub(crate) struct Listening {
    pub(crate) listener: TcpListener,
    pub(crate) address: SocketAddr,
}

/// Begins to listen where flags and settings say. A port that was asked for is taken or nothing is.
pub(crate) async fn listen(
    args: &ServeArgs,
    settings: &Settings,
    output: &Output,
) -> Result<Listening, Failure> {
    let ip = args.listen.unwrap_or(settings.listen);
    let is_open = !ip.to_canonical().is_loopback();
    if is_open && args.no_auth {
        let message = format!("without a token only this machine may be served, and {ip} is wider");
        let remedy = "Leave out `--no-auth`, or listen on 127.0.0.1.";
        return Err(Failure::usage(message, remedy));
    }
    let wanted = args.port.or(settings.port);
    let port = wanted.unwrap_or(DEFAULT_PORT);
    let listener = match TcpListener::bind((ip, port)).await {
        Err(error) if error.kind() == io::ErrorKind::AddrInUse && wanted.is_none() => {
            let listener = bound(TcpListener::bind((ip, 0)).await, ip, 0)?;
            warn(
                &format!("port {port} is taken by another program; a free one is used"),
                output,
            );
            listener
        }
        result => bound(result, ip, port)?,
    };
    let address = listener
        .local_addr()
        .map_err(|error| unusable(&error, ip, port))?;
    if is_open {
        let text = format!(
            "{ip} can be reached from other machines: whoever has the token can use your tools, and nothing is encrypted on the way"
        );
        warn(&text, output);
    }
    if args.no_auth {
        warn(
            "every program on this machine can use your tools: no token is asked for",
            output,
        );
    }
    Ok(Listening { listener, address })
}

fn bound(result: io::Result<TcpListener>, ip: IpAddr, port: u16) -> Result<TcpListener, Failure> {
    result.map_err(|error| match error.kind() {
        io::ErrorKind::AddrInUse => {
            let message = format!("port {port} of {ip} is taken by another program");
            let next = port.checked_add(1).unwrap_or(DEFAULT_PORT);
            let remedy = format!(
                "Choose another with `--port {next}`, or end the other program; if it is a Pegboard, its clients can share it."
            );
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
