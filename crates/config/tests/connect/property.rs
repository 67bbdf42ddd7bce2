//! Properties of generated files of all clients.

use std::sync::atomic::{AtomicUsize, Ordering};

use pegboard_config::clients::{CLIENTS, Client, ENTRY_NAME, FileFormat};
use proptest::prelude::*;
use proptest::test_runner::{RngSeed, TestRunner};

use crate::generated::{Form, forms};
use crate::machine::{Machine, stdio, taking_over};
use crate::parsed::{parsed, servers, without_servers};

/// Generated files for each client.
const CASES: u32 = 24;

/// Runs a check on generated files of every client. Returns how many files of each format were connected.
fn check_all(seed: u64, check: impl Fn(&'static Client, &Form, bool)) -> [usize; 3] {
    let counts: [AtomicUsize; 3] = Default::default();
    for client in CLIENTS.iter().filter(|client| client.entry.is_some()) {
        let config = ProptestConfig {
            cases: CASES,
            failure_persistence: None,
            rng_seed: RngSeed::Fixed(seed),
            ..ProptestConfig::default()
        };
        let mut runner = TestRunner::new(config);
        let tested = runner.run(&(forms(), any::<bool>()), |(form, takes_over)| {
            check(client, &form, takes_over);
            let format = match client.target().unwrap().format {
                FileFormat::Json => 0,
                FileFormat::Toml => 1,
                FileFormat::Yaml => 2,
            };
            counts[format].fetch_add(1, Ordering::Relaxed);
            Ok(())
        });
        if let Err(error) = tested {
            panic!("{}: {error}", client.key);
        }
    }
    counts.map(AtomicUsize::into_inner)
}

/// Connects a generated file, checks the values, and returns the machine with the text before.
fn connected(client: &'static Client, form: &Form, takes_over: bool) -> (Machine, String) {
    let file = client.target().unwrap();
    let before = form.text(file);
    let machine = Machine::with(client.key, before.as_bytes());
    let options = if takes_over { taking_over() } else { stdio() };
    let plan = machine
        .plan(client.key, &options)
        .unwrap_or_else(|problem| panic!("{problem}\n{before}"));
    plan.apply().unwrap();
    let (old, new) = (
        parsed(&before, file.format),
        parsed(&machine.text(client.key), file.format),
    );
    let mut found = servers(&new, file.root);
    let entry = found.remove(ENTRY_NAME).expect("Pegboard's entry");
    assert!(entry.to_string().contains("stdio"));
    let expected = match takes_over {
        true => serde_json::Map::new(),
        false => servers(&old, file.root),
    };
    assert_eq!(found, expected);
    assert_eq!(
        without_servers(&new, file.root),
        without_servers(&old, file.root)
    );
    // New lines end like the others.
    if before.contains("\r\n") {
        let text = machine.text(client.key);
        assert_eq!(text.matches('\n').count(), text.matches("\r\n").count());
    }
    (machine, before)
}

fn assert_reached(counts: [usize; 3]) {
    let clients = |format: FileFormat| {
        let targets = CLIENTS.iter().filter_map(Client::target);
        targets.filter(|file| file.format == format).count()
    };
    for (format, count) in [FileFormat::Json, FileFormat::Toml, FileFormat::Yaml]
        .into_iter()
        .zip(counts)
    {
        assert_eq!(count, clients(format) * CASES as usize, "{format:?}");
        assert!(count > 0, "{format:?}");
    }
}

#[test]
fn r_cfg_07_connect_and_disconnect_are_the_identity_on_bytes() {
    let counts = check_all(7, |client, form, takes_over| {
        let (machine, before) = connected(client, form, takes_over);
        assert_ne!(machine.text(client.key), before);
        let undone = machine.disconnect(client.key);
        assert!(undone.is_exact);
        assert_eq!(machine.text(client.key), before);
    });
    assert_reached(counts);
}

#[test]
fn r_cfg_07_disconnect_keeps_later_changes_and_all_other_bytes() {
    let counts = check_all(8, |client, form, takes_over| {
        let (machine, before) = connected(client, form, takes_over);
        let changed = machine
            .text(client.key)
            .replace("\"one\"", "\"changed since\"");
        machine.write(&machine.file(client.key), changed.as_bytes());
        let undone = machine.disconnect(client.key);
        assert!(!undone.is_exact);
        let text = machine.text(client.key);
        let expected = before.replace("\"one\"", "\"changed since\"");
        let file = client.target().unwrap();
        let is_one_line = file.format == FileFormat::Json && form.unit.is_empty();
        match is_one_line || form.in_brackets {
            // A change on the same line: the same values in the same order.
            true => assert_eq!(
                normalized(&text, client),
                normalized(&expected, client),
                "{text}\n{expected}"
            ),
            false => assert_eq!(text, expected),
        }
    });
    assert_reached(counts);
}

#[test]
fn r_cfg_07_disconnect_restores_all_values_without_the_back_up() {
    let counts = check_all(9, |client, form, takes_over| {
        let (machine, before) = connected(client, form, takes_over);
        machine.delete_backups();
        machine.disconnect(client.key);
        let text = machine.text(client.key);
        assert_eq!(
            normalized(&text, client),
            normalized(&before, client),
            "{text}\n{before}"
        );
    });
    assert_reached(counts);
}

/// The values of a file, without a difference between missing and empty tables of servers.
fn normalized(text: &str, client: &Client) -> (serde_json::Value, serde_json::Value) {
    let file = client.target().unwrap();
    let value = parsed(text, file.format);
    let servers = servers(&value, file.root);
    (without_servers(&value, file.root), servers.into())
}
