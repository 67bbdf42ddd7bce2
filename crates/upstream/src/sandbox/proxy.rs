//! A proxy on this machine through which a confined server reaches the hosts that it may reach.
//!
//! It understands `CONNECT`, which clients use for HTTPS, and plain HTTP requests with a full URL. The bytes behind the
//! first request are passed on unread.

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use pegboard_model::{ServerName, UntrustedText};
use tokio::io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream, lookup_host};
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::SandboxTrial;
use crate::contract::LogSink;

/// The largest head of a request.
const HEAD_BYTES: usize = 16 * 1024;
/// Connections at a time. Further ones wait.
const CONNECTIONS: usize = 64;
/// How long a client may take to send its request, and a host to accept a connection.
const OPEN_TIME: Duration = Duration::from_secs(15);
/// Ports that a host without a port in its rule may be reached on.
const USUAL_PORTS: [u16; 2] = [80, 443];
/// Characters of a host in a log line.
const SHOWN_HOST: usize = 100;

/// What a proxy lets through.
pub(super) struct Rules {
    /// The allowed hosts.
    pub(super) hosts: Vec<String>,
    /// Whether other hosts are refused.
    pub(super) refuses: bool,
    /// Records every host.
    pub(super) trial: Option<Arc<SandboxTrial>>,
    pub(super) server: ServerName,
    pub(super) logs: Arc<dyn LogSink>,
}

/// A running proxy. Dropping it closes it and its connections.
pub(super) struct Proxy {
    port: u16,
    task: JoinHandle<()>,
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Proxy {
    pub(super) async fn start(rules: Rules) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let port = listener.local_addr()?.port();
        let task = tokio::spawn(serve(listener, Arc::new(rules)));
        Ok(Self { port, task })
    }

    pub(super) fn port(&self) -> u16 {
        self.port
    }

    /// Sets the variables in which programs look for a proxy.
    pub(super) fn set_variables(&self, variables: &mut BTreeMap<String, String>) {
        let address = format!("http://127.0.0.1:{}", self.port);
        for name in ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"] {
            variables.insert(name.to_owned(), address.clone());
            variables.insert(name.to_ascii_lowercase(), address.clone());
        }
        for name in ["NO_PROXY", "no_proxy"] {
            variables.remove(name);
        }
        // Node.js ignores the other variables without it.
        variables.insert("NODE_USE_ENV_PROXY".to_owned(), "1".to_owned());
    }
}

async fn serve(listener: TcpListener, rules: Arc<Rules>) {
    let room = Arc::new(Semaphore::new(CONNECTIONS));
    // Dropped with this task, which ends the connections.
    let mut connections = tokio::task::JoinSet::new();
    loop {
        let Ok(place) = Arc::clone(&room).acquire_owned().await else {
            return;
        };
        while connections.try_join_next().is_some() {}
        match listener.accept().await {
            Ok((client, _)) => {
                let rules = Arc::clone(&rules);
                connections.spawn(async move {
                    let _place = place;
                    // A broken connection concerns only its two ends.
                    let _ = pass(client, &rules).await;
                });
            }
            // Out of files; the next one may succeed when a connection ends.
            Err(_) => {
                if connections.join_next().await.is_none() {
                    return;
                }
            }
        }
    }
}

async fn pass(mut client: TcpStream, rules: &Rules) -> io::Result<()> {
    let (head, rest) = timeout(OPEN_TIME, read_head(&mut client)).await??;
    let Some(request) = Request::parse(&head) else {
        return reply(&mut client, "400 Bad Request", "Not a request for a proxy.").await;
    };
    let Some(mut host) = rules.open(&request).await else {
        let text = "This host is not in `network` of the server's sandbox.";
        return reply(&mut client, "403 Forbidden", text).await;
    };
    match &request.head {
        None => {
            client
                .write_all(b"HTTP/1.1 200 Connection established\r\n\r\n")
                .await?
        }
        Some(head) => host.write_all(head.as_bytes()).await?,
    }
    host.write_all(&rest).await?;
    copy_bidirectional(&mut client, &mut host).await.map(drop)
}

async fn reply(client: &mut TcpStream, status: &str, text: &str) -> io::Result<()> {
    let length = text.len();
    let message = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{text}"
    );
    client.write_all(message.as_bytes()).await?;
    client.shutdown().await
}

/// Reads up to the empty line, and returns what follows it separately.
async fn read_head(client: &mut TcpStream) -> io::Result<(String, Vec<u8>)> {
    const END: &[u8] = b"\r\n\r\n";
    let mut bytes = Vec::with_capacity(1024);
    loop {
        if let Some(at) = memchr::memmem::find(&bytes, END) {
            let rest = bytes.split_off(at + END.len());
            let head = String::from_utf8(bytes).map_err(io::Error::other)?;
            return Ok((head, rest));
        }
        if bytes.len() > HEAD_BYTES {
            return Err(io::Error::other("the head is too long"));
        }
        if client.read_buf(&mut bytes).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
}

/// A request to a proxy.
#[derive(Debug, PartialEq, Eq)]
struct Request {
    host: String,
    port: u16,
    /// The head to send to the host; `None` for a tunnel.
    head: Option<String>,
}

impl Request {
    fn parse(head: &str) -> Option<Self> {
        let (line, headers) = head.split_once("\r\n")?;
        let mut words = line.split(' ');
        let (method, target, version) = (words.next()?, words.next()?, words.next()?);
        if words.next().is_some() || !version.starts_with("HTTP/1.") {
            return None;
        }
        if method == "CONNECT" {
            let (host, port) = split_port(target)?;
            return Some(Self {
                host,
                port: port?,
                head: None,
            });
        }
        let rest = target.strip_prefix("http://")?;
        let (authority, path) = match rest.find(['/', '?']) {
            Some(at) => rest.split_at(at),
            None => (rest, "/"),
        };
        let slash = if path.starts_with('/') { "" } else { "/" };
        let (host, port) = split_port(authority)?;
        let of_proxy = |line: &&str| !line.to_ascii_lowercase().starts_with("proxy-");
        let headers: Vec<&str> = headers.split("\r\n").filter(of_proxy).collect();
        let head = format!(
            "{method} {slash}{path} {version}\r\n{}",
            headers.join("\r\n")
        );
        Some(Self {
            host,
            port: port.unwrap_or(80),
            head: Some(head),
        })
    }
}

/// Splits `host:port` and returns the host in lower case, without the brackets of an address.
fn split_port(authority: &str) -> Option<(String, Option<u16>)> {
    let (host, port) = match authority.rsplit_once(':') {
        Some((host, port)) if !host.contains(':') || host.ends_with(']') => {
            (host, Some(port.parse().ok()?))
        }
        _ => (authority, None),
    };
    let host = host
        .strip_prefix('[')
        .and_then(|host| host.strip_suffix(']'))
        .unwrap_or(host);
    // A final dot names the same host.
    let host = host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase();
    let of_host = |b: u8| b.is_ascii_alphanumeric() || b"-._:".contains(&b);
    (!host.is_empty() && host.bytes().all(of_host)).then_some((host, port))
}

impl Rules {
    /// Connects to the host of a request, if it is allowed.
    async fn open(&self, request: &Request) -> Option<TcpStream> {
        let name = format!("{}:{}", request.host, request.port);
        if let Some(trial) = &self.trial {
            trial.record(&name);
        }
        if self.refuses && !self.allows(&request.host, request.port) {
            let shown = UntrustedText::new(&name).shortened(SHOWN_HOST).to_string();
            let line = format!("pegboard: the sandbox refused a connection to {shown}");
            self.logs.append(&self.server, &line);
            return None;
        }
        let addresses = timeout(
            OPEN_TIME,
            lookup_host((request.host.as_str(), request.port)),
        );
        let addresses: Vec<SocketAddr> = addresses.await.ok()?.ok()?.collect();
        for address in addresses {
            if self.refuses && !is_expected(&request.host, address.ip()) {
                continue;
            }
            if let Ok(Ok(stream)) = timeout(OPEN_TIME, TcpStream::connect(address)).await {
                return Some(stream);
            }
        }
        None
    }

    fn allows(&self, host: &str, port: u16) -> bool {
        self.hosts.iter().any(|rule| {
            let Some((name, rule_port)) = split_rule(rule) else {
                return false;
            };
            let is_named = match name.strip_prefix("*.") {
                Some(domain) => host
                    .strip_suffix(domain)
                    .is_some_and(|start| start.len() > 1 && start.ends_with('.')),
                None => host == name,
            };
            is_named && rule_port.map_or(USUAL_PORTS.contains(&port), |wanted| wanted == port)
        })
    }
}

fn split_rule(rule: &str) -> Option<(String, Option<u16>)> {
    match rule.strip_prefix("*.") {
        Some(domain) => split_port(domain).map(|(host, port)| (format!("*.{host}"), port)),
        None => split_port(rule),
    }
}

/// Whether an address may belong to a host. A name on the internet that leads to this machine or to the cloud's metadata
/// service is an attack; a user who wants them writes the address.
fn is_expected(host: &str, address: IpAddr) -> bool {
    let is_local = match address.to_canonical() {
        IpAddr::V4(ip) => ip.is_loopback() || ip.is_link_local() || ip.is_unspecified(),
        IpAddr::V6(ip) => ip.is_loopback() || ip.is_unicast_link_local() || ip.is_unspecified(),
    };
    !is_local || host == "localhost" || host.parse::<IpAddr>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::NoLogs;

    fn rules(hosts: &[&str]) -> Rules {
        Rules {
            hosts: hosts.iter().map(|host| (*host).to_owned()).collect(),
            refuses: true,
            trial: Some(Arc::default()),
            server: ServerName::parse("tested").unwrap(),
            logs: Arc::new(NoLogs),
        }
    }

    #[test]
    fn hosts_are_matched_by_name_and_port() {
        let rules = rules(&["api.example.com", "*.example.org", "box:8443", "[::1]:9"]);
        for (host, port, allowed) in [
            ("api.example.com", 443, true),
            ("api.example.com", 80, true),
            ("api.example.com", 22, false),
            ("example.com", 443, false),
            ("xapi.example.com", 443, false),
            ("api.example.com.evil.net", 443, false),
            ("a.b.example.org", 443, true),
            ("example.org", 443, false),
            ("evilexample.org", 443, false),
            ("box", 8443, true),
            ("box", 443, false),
            ("::1", 9, true),
        ] {
            assert_eq!(rules.allows(host, port), allowed, "{host}:{port}");
        }
    }

    #[test]
    fn a_request_names_its_host() {
        let parse =
            |line: &str| Request::parse(&format!("{line}\r\nHost: x\r\nProxy-A: b\r\n\r\n"));
        let tunnel = parse("CONNECT A.example.:443 HTTP/1.1").unwrap();
        assert_eq!(
            (tunnel.host.as_str(), tunnel.port, tunnel.head),
            ("a.example", 443, None)
        );
        let plain = parse("GET http://a:81?q HTTP/1.1").unwrap();
        assert_eq!((plain.host.as_str(), plain.port), ("a", 81));
        assert_eq!(
            plain.head.as_deref(),
            Some("GET /?q HTTP/1.1\r\nHost: x\r\n\r\n")
        );
        for bad in [
            "CONNECT a HTTP/1.1",
            "CONNECT u@a:443 HTTP/1.1",
            "GET /x HTTP/1.1",
            "GET http://u@a/ HTTP/1.1",
            "CONNECT a:443",
            "CONNECT a:443 HTTP/1.1 x",
        ] {
            assert_eq!(parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn a_name_does_not_lead_to_this_machine() {
        for (host, address, expected) in [
            ("a.example", "93.184.216.34", true),
            ("a.example", "127.0.0.1", false),
            ("a.example", "169.254.169.254", false),
            ("a.example", "::ffff:127.0.0.1", false),
            ("localhost", "127.0.0.1", true),
            ("127.0.0.1", "127.0.0.1", true),
        ] {
            assert_eq!(
                is_expected(host, address.parse().unwrap()),
                expected,
                "{host}"
            );
        }
    }

    #[tokio::test]
    async fn only_allowed_hosts_are_reached_and_all_are_recorded() {
        let target = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = target.local_addr().unwrap().port();
        tokio::spawn(async move {
            let (mut stream, _) = target.accept().await.unwrap();
            let mut bytes = [0; 4];
            stream.read_exact(&mut bytes).await.unwrap();
            stream.write_all(b"pong").await.unwrap();
        });
        let rules = rules(&[&format!("localhost:{port}")]);
        let trial = rules.trial.clone().unwrap();
        let proxy = Proxy::start(rules).await.unwrap();
        let ask = |request: String| async move {
            let mut stream = TcpStream::connect(("127.0.0.1", proxy.port()))
                .await
                .unwrap();
            stream.write_all(request.as_bytes()).await.unwrap();
            let mut text = String::new();
            stream.read_to_string(&mut text).await.unwrap();
            (text, proxy)
        };
        let (text, proxy) = ask(format!("CONNECT 127.0.0.1:{port} HTTP/1.1\r\n\r\n")).await;
        assert!(text.starts_with("HTTP/1.1 403 "), "{text}");
        let mut stream = TcpStream::connect(("127.0.0.1", proxy.port()))
            .await
            .unwrap();
        let request = format!("CONNECT localhost:{port} HTTP/1.1\r\n\r\nping");
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).await.unwrap();
        assert!(
            text.starts_with("HTTP/1.1 200 ") && text.ends_with("pong"),
            "{text}"
        );
        let hosts = [format!("127.0.0.1:{port}"), format!("localhost:{port}")];
        assert_eq!(trial.hosts(), hosts);
    }
}
