//! The plan and the written config of each client's files, as a table.

use std::fs;

use pegboard_config::Severity;
use pegboard_config::clients::CLIENTS;
use pegboard_model::Reason;

use super::machine::{Machine, fixtures, summary};

/// Every client has fixtures, and every fixture belongs to a client.
#[test]
fn r_cfg_07_every_client_of_the_table_has_fixtures() {
    let mut keys: Vec<&str> = CLIENTS.iter().map(|client| client.key).collect();
    keys.sort_unstable();
    let mut folders: Vec<String> = fs::read_dir(fixtures())
        .unwrap()
        .flatten()
        .filter(|entry| entry.path().is_dir())
        .map(|entry| entry.file_name().into_string().unwrap())
        .filter(|name| name != "shapes")
        .collect();
    folders.sort_unstable();
    assert_eq!(folders, keys);
    assert!(keys.len() >= 20);
}

/// One snapshot for each client: what is planned, and what is written.
#[test]
fn r_cfg_07_each_clients_servers_are_carried_over() {
    for client in CLIENTS {
        let machine = Machine::with(&[client.key]);
        let plan = summary(&machine, &machine.plan());
        let report = machine.import();
        assert!(!report.has_failures(), "{}: {report:?}", client.key);
        let text = format!(
            "{plan}\n\n=== user ===\n{}\n=== project ===\n{}",
            machine.config(),
            machine.project_config()
        );
        insta::assert_snapshot!(client.key, machine.shown(&text));
        let loaded = machine.load();
        let rejected = loaded.problems.iter().filter(|problem| {
            problem.severity == Severity::Error && problem.reason != Reason::ConfigSecretMissing
        });
        let rejected: Vec<String> = rejected.map(ToString::to_string).collect();
        assert_eq!(rejected, [""; 0], "{}", client.key);
        for server in &machine.plan().servers {
            assert!(
                !server.is_importable(),
                "{}: {server:?} is imported again",
                client.key
            );
        }
    }
}
