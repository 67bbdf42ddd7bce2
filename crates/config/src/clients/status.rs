//! The state of every client: whether it reaches its servers directly or through Pegboard.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::locations::Places;
use super::own_entry::is_own_entry;
use super::record::Connections;
use super::table::{CLIENTS, Client, Root};
use super::target::{Target, is_installed};
use super::text::{ClientText, Container, read_bytes};
use crate::node::{Entry, Node, Value};
use crate::problem::Problem;

/// How a client reaches servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ConnectionState {
    /// The client has no file and no folder on this machine.
    NotInstalled,
    /// It has no server at all.
    NoServers,
    /// It has servers, and Pegboard is not one of them.
    Direct,
    /// Pegboard is its only server.
    ThroughPegboard,
    /// It has Pegboard and other servers.
    Both,
    /// Its file cannot be read.
    Unreadable,
}

impl ConnectionState {
    /// The state for people.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NotInstalled => "not installed",
            Self::NoServers => "no servers",
            Self::Direct => "direct",
            Self::ThroughPegboard => "through Pegboard",
            Self::Both => "both",
            Self::Unreadable => "unreadable",
        }
    }
}

/// The state of one client.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct ClientStatus {
    /// The client's key.
    pub client: &'static str,
    /// The client's name.
    pub name: &'static str,
    /// How it reaches servers.
    pub state: ConnectionState,
    /// The file that `connect` writes; `None` if there is none.
    pub file: Option<PathBuf>,
    /// Names of servers that the client reaches directly, in all files that it reads here.
    pub direct: Vec<String>,
    /// Pegboard's entry, if there is one.
    pub entry: Option<OwnEntry>,
    /// Whether `disconnect` has a record to undo.
    pub has_record: bool,
    /// Whether `connect` can write this client's file.
    pub can_connect: bool,
    /// Why a file cannot be read.
    pub problem: Option<String>,
}

/// Pegboard's entry in a client's file.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct OwnEntry {
    /// Its name.
    pub name: String,
    /// `stdio` or `http`.
    pub transport: &'static str,
    /// The program that it starts.
    pub program: Option<String>,
    /// Whether the program is another one than the running Pegboard.
    pub is_other_program: bool,
    /// Whether the program does not exist any more.
    pub is_missing: bool,
}

/// What the entries of clients are compared with.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct StatusOptions {
    /// The program that `connect` would write.
    pub program: Option<String>,
    /// The port of Pegboard's own endpoint.
    pub port: Option<u16>,
}

impl StatusOptions {
    /// Compares entries with a program and a port.
    pub fn new(program: Option<String>, port: Option<u16>) -> Self {
        Self { program, port }
    }
}

/// Returns the state of every client, in the order of the table. Nothing is written and no server is started.
///
/// # Errors
/// Fails if the record of connections is damaged. A client's file that cannot be read is part of its state.
pub fn connection_status(
    places: &Places<'_>,
    state_dir: &Path,
    options: &StatusOptions,
) -> Result<Vec<ClientStatus>, Problem> {
    let connections = Connections::new(state_dir);
    // A damaged record is reported once, not for each client.
    connections.all()?;
    let states = CLIENTS.iter();
    Ok(states
        .map(|client| status(places, &connections, options, client))
        .collect())
}

fn status(
    places: &Places<'_>,
    connections: &Connections,
    options: &StatusOptions,
    client: &'static Client,
) -> ClientStatus {
    let mut status = ClientStatus {
        client: client.key,
        name: client.name,
        state: ConnectionState::NotInstalled,
        file: None,
        direct: Vec::new(),
        entry: None,
        has_record: false,
        can_connect: client.entry.is_some(),
        problem: None,
    };
    let mut written = None;
    match Target::choose(places, client, None) {
        Ok(target) => {
            let content = read_bytes(&target.resolved).ok().flatten();
            let found = connections.find(client.key, &target.resolved, content.as_deref());
            let found = found.ok().flatten();
            status.has_record = found.is_some();
            written = found.map(|connection| connection.entry);
            status.file = Some(target.path);
        }
        Err(problem) if client.entry.is_some() => status.problem = Some(problem.in_one_line()),
        Err(_) => {}
    }
    for server in servers(places, client, &mut status.problem) {
        match is_own_entry(&server, options.port, written.as_ref()) {
            true => drop(status.entry.get_or_insert(own_entry(&server, options))),
            false => status.direct.push(server.key),
        }
    }
    status.state = match (&status.problem, &status.entry, status.direct.is_empty()) {
        (Some(_), _, _) => ConnectionState::Unreadable,
        (None, Some(_), true) => ConnectionState::ThroughPegboard,
        (None, Some(_), false) => ConnectionState::Both,
        (None, None, false) => ConnectionState::Direct,
        (None, None, true) if is_installed(places, client) => ConnectionState::NoServers,
        (None, None, true) => ConnectionState::NotInstalled,
    };
    status
}

/// The servers of all files that a client reads in this project. A name that several files define counts once.
fn servers(places: &Places<'_>, client: &Client, problem: &mut Option<String>) -> Vec<Entry> {
    let mut texts: BTreeMap<PathBuf, Option<ClientText>> = BTreeMap::new();
    let mut servers: Vec<Entry> = Vec::new();
    for file in client.files {
        for path in places.files(file) {
            let text = texts.entry(path.clone()).or_insert_with(|| {
                let read = read_bytes(&path).and_then(|bytes| {
                    let parse = |bytes: Vec<u8>| ClientText::parse(&path, &bytes, file.format);
                    bytes.map(parse).transpose()
                });
                read.unwrap_or_else(|failure| {
                    problem.get_or_insert(failure.in_one_line());
                    None
                })
            });
            let Some(text) = text else { continue };
            for server in servers_of(text, file.root, &places.project) {
                if !servers.iter().any(|known| known.key == server.key) {
                    servers.push(server);
                }
            }
        }
    }
    servers
}

fn servers_of(text: &ClientText, root: Root, project: &Path) -> Vec<Entry> {
    if let Some(container) = Container::new(root) {
        let servers = container.servers(&text.source);
        // Clients keep other things than servers in the same table.
        let is_table = |server: &Entry| matches!(server.node.value, Value::Map(_));
        return servers.into_iter().filter(is_table).collect();
    }
    let Root::PerProject(before, after) = root else {
        return Vec::new();
    };
    let project = project.to_string_lossy();
    let servers = || {
        let projects = &text.source.tree()?.get(before)?.node;
        Some(&projects.get(&project)?.node.get(after)?.node)
    };
    servers().map(Node::entries).unwrap_or_default().to_vec()
}

fn own_entry(server: &Entry, options: &StatusOptions) -> OwnEntry {
    let fields = &server.node;
    let command = fields.get("command").or(fields.get("cmd"));
    let program = command.and_then(|command| match &command.node.value {
        Value::Text(text) => Some(text.clone()),
        Value::List(items) => items.first()?.text().map(str::to_owned),
        _ => None,
    });
    let path = program.as_deref().map(Path::new);
    let is_missing = path.is_some_and(|path| path.is_absolute() && !path.exists());
    OwnEntry {
        name: server.key.clone(),
        transport: if program.is_some() { "stdio" } else { "http" },
        is_other_program: program.is_some()
            && options.program.is_some()
            && program != options.program,
        is_missing,
        program,
    }
}
