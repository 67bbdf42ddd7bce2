//! The server over Streamable HTTP, both eras on one endpoint.

use std::io;
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Value, json};

use pegboard_testkit::script::{Era, HttpFaultKind, Moment};

use crate::connection::{Connection, Request};
use crate::http_fault::{self, JSON};
use crate::lifecycle::{self, pause};
use crate::output;
use crate::response::{Body, render};
use crate::server::{META_VERSION, Outcome, Server, is_modern};
use crate::stdio::{acknowledgement, list_changed};

/// Listens on a free port of this machine until standard input ends.
pub(crate) fn serve(server: &Arc<Server>, port_file: Option<&Path>) -> ExitCode {
    match TcpListener::bind(("127.0.0.1", 0)).and_then(|listener| run(server, &listener, port_file))
    {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            output::to_stderr(format!("pegboard-hostile: {error}\n").as_bytes());
            ExitCode::FAILURE
        }
    }
}

fn run(server: &Arc<Server>, listener: &TcpListener, port_file: Option<&Path>) -> io::Result<()> {
    let port = listener.local_addr()?.port();
    match port_file {
        Some(file) => std::fs::write(file, port.to_string())?,
        None => output::to_stderr(format!("LISTENING {port}\n").as_bytes()),
    }
    std::thread::spawn(|| {
        let _ = io::copy(&mut io::stdin().lock(), &mut io::sink());
        std::process::exit(0);
    });
    let http = Arc::new(HttpServer::new(server.clone(), port));
    for stream in listener.incoming() {
        let http = http.clone();
        // A client that disconnects affects only its own connection.
        std::thread::spawn(move || stream.and_then(|stream| http.serve_connection(stream)));
    }
    Ok(())
}

struct HttpServer {
    server: Arc<Server>,
    port: u16,
    /// Number of occurrences of each fault, in the order of the script.
    happened: Vec<AtomicU32>,
    /// The session that was issued last.
    session: Mutex<Option<String>>,
    sessions: AtomicU32,
    with_session: AtomicU32,
}

impl HttpServer {
    fn new(server: Arc<Server>, port: u16) -> Self {
        let happened = server
            .script
            .http
            .faults
            .iter()
            .map(|_| AtomicU32::new(0))
            .collect();
        Self {
            server,
            port,
            happened,
            session: Mutex::default(),
            sessions: AtomicU32::new(0),
            with_session: AtomicU32::new(0),
        }
    }

    fn serve_connection(&self, stream: TcpStream) -> io::Result<()> {
        let mut connection = Connection::new(stream)?;
        while let Some(request) = connection.read()? {
            if !self.answer(&mut connection, &request)? {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Responds to a request. Returns `false` if the connection must be closed.
    fn answer(&self, connection: &mut Connection, request: &Request) -> io::Result<bool> {
        let script = &self.server.script;
        if let Some(token) = &script.http.bearer {
            let wanted = format!("Bearer {token}");
            if request.header("authorization") != Some(&wanted) {
                let challenge = [
                    ("WWW-Authenticate", "Bearer"),
                    ("Content-Type", "text/plain"),
                ];
                return connection
                    .answer(401, &challenge, b"no token, no tools")
                    .map(|()| true);
            }
        }
        match request.method.as_str() {
            "POST" => {}
            "GET" if script.list_changed.is_some() && script.era != Era::Modern => {
                return self.stream(connection, None).map(|()| false);
            }
            "DELETE" if script.http.session => {
                return connection.answer(200, &[], b"").map(|()| true);
            }
            _ => {
                return connection
                    .answer(405, &[("Allow", "POST")], b"")
                    .map(|()| true);
            }
        }
        let Ok(message) = serde_json::from_slice::<Value>(&request.body) else {
            let body = render(
                &Value::Null,
                &Body::error(-32700, "Parse error"),
                std::iter::empty(),
            );
            return connection.answer(400, JSON, &body).map(|()| true);
        };
        let method = message["method"].as_str().unwrap_or("response").to_owned();
        let number = self.server.count(&method);
        if self.server.hangs(&method, number) || script.hang == Some(Moment::Start) {
            connection.wait_for_end();
            return Ok(false);
        }
        if self.server.crashes(&method, number) {
            lifecycle::crash(script);
        }
        let fault = self.due_fault(&request.path, &method, number);
        let reply = self.reply(request, &message, &method, number);
        match fault {
            Some(kind) => http_fault::apply_fault(kind, connection, self.port, &reply),
            None if method == "subscriptions/listen" && reply.status == 200 => {
                self.stream(connection, Some(&message)).map(|()| false)
            }
            None => http_fault::respond(connection, &reply, script.http.sse),
        }
    }

    fn due_fault(&self, path: &str, method: &str, number: u32) -> Option<&HttpFaultKind> {
        let faults = self.server.script.http.faults.iter().zip(&self.happened);
        for (fault, happened) in faults {
            // The target of a redirect must not redirect again.
            if matches!(fault.kind, HttpFaultKind::Redirect { .. }) && path != "/mcp" {
                continue;
            }
            let due = fault.when == Moment::Start || fault.when.is_met_by(method, number);
            if due && happened.fetch_add(1, Ordering::SeqCst) < fault.times.unwrap_or(u32::MAX) {
                return Some(&fault.kind);
            }
        }
        None
    }

    fn reply(&self, request: &Request, message: &Value, method: &str, number: u32) -> Reply {
        let (id, params) = (&message["id"], &message["params"]);
        let refuse = |status, body: Body| Reply::new(status, render(id, &body, std::iter::empty()));
        let modern = is_modern(params) && self.server.script.era != Era::Legacy;
        if modern
            && !self.server.script.http.lax_headers
            && let Some(problem) = header_problem(request, method, params)
        {
            return refuse(400, Body::error(-32020, problem));
        }
        if !modern
            && method != "initialize"
            && let Some(status) = self.session_problem(request)
        {
            return refuse(status, Body::error(-32000, "no valid session"));
        }
        if message.get("id").is_none() || message.get("method").is_none() {
            return Reply::new(202, Vec::new());
        }
        if method == "subscriptions/listen" && modern {
            return Reply::new(200, Vec::new());
        }
        if method == "tools/call" {
            pause(self.server.script.call.delay_ms);
        }
        let body = match self.server.handle(method, params, &[]) {
            Outcome::Answer(body) => body,
            Outcome::Silence => loop {
                std::thread::park();
            },
            Outcome::Exit => std::process::exit(1),
        };
        let status = match body.code() {
            Some(-32601) if modern => 404,
            Some(-32602 | -32022 | -32020) if modern && method != "tools/call" => 400,
            Some(-32022) => 400,
            _ => 200,
        };
        let mut reply = Reply::new(
            status,
            render(id, &body, self.server.shapes(method, number)),
        );
        if method == "initialize" && self.server.script.http.session {
            reply.session = Some(self.new_session());
        }
        reply
    }

    fn new_session(&self) -> String {
        let number = self.sessions.fetch_add(1, Ordering::SeqCst);
        let session = format!("session-{}-{number}", self.port);
        *self.session.lock().unwrap_or_else(PoisonError::into_inner) = Some(session.clone());
        session
    }

    /// The error status of a legacy request without a valid session.
    fn session_problem(&self, request: &Request) -> Option<u16> {
        if !self.server.script.http.session {
            return None;
        }
        let mut known = self.session.lock().unwrap_or_else(PoisonError::into_inner);
        match request.header("mcp-session-id") {
            None => Some(400),
            Some(given) if known.as_deref() != Some(given) => Some(404),
            Some(_) => {
                let number = self.with_session.fetch_add(1, Ordering::SeqCst) + 1;
                if self.server.script.http.lose_session_at == Some(number) {
                    *known = None;
                    return Some(404);
                }
                None
            }
        }
    }

    /// An event stream that stays open until the client closes it.
    fn stream(&self, connection: &mut Connection, listen: Option<&Value>) -> io::Result<()> {
        connection.head(
            200,
            &[
                ("Content-Type", "text/event-stream"),
                ("Connection", "close"),
            ],
            None,
        )?;
        let id = listen.map(|message| &message["id"]);
        if let (Some(message), Some(id)) = (listen, id) {
            let acknowledged = acknowledgement(id, &message["params"]["notifications"]);
            connection.write(http_fault::event(acknowledged.to_string().as_bytes()).as_slice())?;
        }
        if let Some(changed) = self.server.script.list_changed {
            for _ in 0..changed.times {
                let event = http_fault::event(list_changed(id).to_string().as_bytes());
                connection.write(&event)?;
                pause(changed.pause_ms);
            }
        }
        connection.wait_for_end();
        Ok(())
    }
}

/// A response before a fault is applied.
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) body: Vec<u8>,
    pub(crate) session: Option<String>,
}

impl Reply {
    fn new(status: u16, body: Vec<u8>) -> Self {
        Self {
            status,
            body,
            session: None,
        }
    }
}

fn header_problem(request: &Request, method: &str, params: &Value) -> Option<String> {
    let mut wanted = vec![
        (
            "mcp-protocol-version",
            params["_meta"][META_VERSION].clone(),
        ),
        ("mcp-method", json!(method)),
    ];
    if method == "tools/call" {
        wanted.push(("mcp-name", params["name"].clone()));
    }
    wanted.into_iter().find_map(|(name, value)| {
        let given = request.header(name);
        (given != value.as_str())
            .then(|| format!("header {name} is {given:?}, the body says {value}"))
    })
}
