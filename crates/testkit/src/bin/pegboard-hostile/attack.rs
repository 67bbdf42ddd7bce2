//! What a confined server must not be able to do. Each attack reports whether it succeeded.

use std::io::{Read, Write};
use std::net::{TcpStream, UdpSocket};
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};
use std::sync::Mutex;

use serde_json::Value;

const MEGABYTE: usize = 1024 * 1024;
const PAGE: usize = 4096;

/// What was taken and is never given back.
static HELD: Mutex<Vec<Vec<u8>>> = Mutex::new(Vec::new());

/// Runs the attack in `arguments` and returns `ok` with what was gained, or `refused` with the system's reason.
pub(crate) fn attack(arguments: &Value) -> String {
    let text = |key: &str| arguments[key].as_str().unwrap_or_default().to_owned();
    let (kind, target) = (text("attack"), text("target"));
    match run(&kind, &target) {
        Ok(gained) => format!("ok {gained}"),
        Err(error) => format!("refused {error}"),
    }
}

fn run(kind: &str, target: &str) -> std::io::Result<String> {
    match kind {
        "read" => std::fs::read(target).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()),
        "write" => std::fs::write(target, "hostile").map(|()| String::new()),
        "variable" => std::env::var(target).map_err(std::io::Error::other),
        "tcp" => TcpStream::connect(target).map(|_| String::new()),
        "udp" => UdpSocket::bind("127.0.0.1:0")
            .and_then(|socket| socket.send_to(b"x", target))
            .map(|_| String::new()),
        "unix" => UnixStream::connect(target).map(|_| String::new()),
        "proxy" => through_proxy(target),
        "signal" => {
            let command = format!("kill -0 {target}");
            let status = Command::new("sh")
                .args(["-c", &command])
                .stderr(Stdio::null())
                .status()?;
            match status.success() {
                true => Ok(String::new()),
                false => Err(std::io::Error::other("kill failed")),
            }
        }
        "memory" => {
            let megabytes: usize = target.parse().map_err(std::io::Error::other)?;
            let mut taken = vec![0_u8; megabytes * MEGABYTE];
            taken.iter_mut().step_by(PAGE).for_each(|byte| *byte = 1);
            if let Ok(mut held) = HELD.lock() {
                held.push(taken);
            }
            Ok(String::new())
        }
        "processes" => {
            let count: usize = target.parse().map_err(std::io::Error::other)?;
            for _ in 0..count {
                Command::new("sleep")
                    .arg("600")
                    .stdin(Stdio::null())
                    .stdout(Stdio::null())
                    .spawn()?;
            }
            Ok(String::new())
        }
        _ => Err(std::io::Error::other("unknown attack")),
    }
}

/// Sends a plain request through the proxy in the environment, and returns the first line of the response.
fn through_proxy(target: &str) -> std::io::Result<String> {
    let proxy = std::env::var("HTTP_PROXY").map_err(std::io::Error::other)?;
    let mut stream = TcpStream::connect(proxy.trim_start_matches("http://"))?;
    write!(
        stream,
        "CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n"
    )?;
    let mut bytes = [0; 12];
    stream.read_exact(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
