//! What the setup saved: tokens and processes, before and after.

use pegboard_catalog::{Catalog, ServerEntry};
use pegboard_model::{ServerName, Transport};
use serde::Serialize;

use super::connecting::Connected;
use super::take_over::Imported;
use crate::commands::CommandResult;
use crate::commands::tokens::TokenCounts;
use crate::format::{count, thousands};
use crate::output::Output;

/// Tokens and processes of the clients that were connected.
#[derive(Debug, Serialize)]
pub(super) struct Savings {
    servers: usize,
    tools: usize,
    clients: Vec<ClientSavings>,
    tokens_before: usize,
    tokens_now: usize,
    processes_before: usize,
    /// One for each client.
    processes_now: usize,
}

/// Tokens and processes of one client, for the servers that it reaches through Pegboard now.
#[derive(Debug, Serialize)]
struct ClientSavings {
    client: &'static str,
    #[serde(skip)]
    name: &'static str,
    servers: usize,
    /// Tokens of all definitions of these servers.
    tokens_before: usize,
    /// Tokens of Pegboard's own tools and instructions.
    tokens_now: usize,
    /// Processes of these servers, which the client started.
    processes_before: usize,
}

impl Savings {
    /// Compares the clients before and after. Returns `None` if no client was connected.
    pub(super) fn new(
        connected: &[Connected],
        imported: &Imported,
        catalog: &Catalog,
        counts: &TokenCounts,
    ) -> Option<Self> {
        let mut clients = Vec::new();
        for client in connected.iter().filter(|client| client.is_written()) {
            let names = client.taken_out.iter();
            let names = names.filter_map(|name| imported.name(client.client, &client.file, name));
            let names: Vec<&ServerName> = names.collect();
            let processes = names.iter().filter(|name| {
                let entry = catalog.server(name);
                entry.is_some_and(|entry| is_process(entry))
            });
            let tokens = names
                .iter()
                .filter_map(|name| counts.servers.get(name.as_str()));
            clients.push(ClientSavings {
                client: client.client,
                name: client.name,
                servers: names.len(),
                tokens_before: tokens.sum(),
                tokens_now: counts.own,
                processes_before: processes.count(),
            });
        }
        if clients.is_empty() {
            return None;
        }
        let offered = catalog.servers().filter(|entry| entry.is_offered());
        let sum = |part: fn(&ClientSavings) -> usize| clients.iter().map(part).sum();
        Some(Self {
            servers: offered.count(),
            tools: catalog.tools().count(),
            tokens_before: sum(|client| client.tokens_before),
            tokens_now: sum(|client| client.tokens_now),
            processes_before: sum(|client| client.processes_before),
            processes_now: clients.len(),
            clients,
        })
    }

    pub(super) fn print(&self, output: &Output) -> CommandResult {
        let right = |number: usize, width: usize| format!("{:>width$}", thousands(number));
        let row = |name: &str, servers: usize, numbers: [usize; 4]| {
            let [before, now, processes, own] = numbers;
            vec![
                name.to_owned(),
                right(servers, 7),
                right(before, 13),
                right(now, 6),
                right(processes, 16),
                right(own, 3),
            ]
        };
        let mut rows: Vec<Vec<String>> = Vec::new();
        for client in &self.clients {
            let numbers = [
                client.tokens_before,
                client.tokens_now,
                client.processes_before,
                1,
            ];
            rows.push(row(client.name, client.servers, numbers));
        }
        let all = self.clients.iter().map(|client| client.servers).sum();
        let (before, now) = (self.tokens_before, self.tokens_now);
        let numbers = [before, now, self.processes_before, self.processes_now];
        rows.push(row("all", all, numbers));
        let header = [
            "CLIENT",
            "SERVERS",
            "TOKENS BEFORE",
            "   NOW",
            "PROCESSES BEFORE",
            "NOW",
        ];
        output.line(&output.table(&header, rows, 0))?;
        output.line(&format!(
            "Pegboard has {} of {}. It runs a small process for each client, and one that they share.",
            count(self.tools, "tool"),
            count(self.servers, "server")
        ))?;
        output.line("A server starts when one of its tools is called, and stops when it is idle.")
    }
}

/// Whether a server is a program on this machine that may run.
fn is_process(entry: &ServerEntry) -> bool {
    entry.is_offered() && matches!(entry.spec.transport, Transport::Stdio { .. })
}
