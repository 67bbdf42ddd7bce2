//! Every client's fixture, and files of unusual form as a file of every client.

use std::path::{Path, PathBuf};

use pegboard_config::clients::{CLIENTS, ENTRY_NAME, FileFormat};

use crate::machine::{Machine, stdio, taking_over};
use crate::parsed::{parsed, servers, without_servers};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients/fixtures")
}

/// Copies the files of a client into the home and project folders.
fn copy(from: &Path, to: &Path, machine: &Machine) {
    for entry in std::fs::read_dir(from).into_iter().flatten().flatten() {
        let (path, target) = (entry.path(), to.join(entry.file_name()));
        if path.is_dir() {
            copy(&path, &target, machine);
            continue;
        }
        let bytes = std::fs::read(&path).unwrap();
        let text = String::from_utf8(bytes).unwrap();
        let text = text
            .replace("@HOME@", &machine.home().display().to_string())
            .replace("@PROJECT@", &machine.project().display().to_string());
        machine.write(&target, text.as_bytes());
    }
}

#[test]
fn r_cfg_07_every_fixture_is_the_same_after_connect_and_disconnect() {
    let mut checked = 0;
    for client in CLIENTS.iter().filter(|client| client.entry.is_some()) {
        for mut options in [stdio(), taking_over()] {
            // Some fixtures contain an entry for Pegboard that was written by hand.
            options.replaces = true;
            let machine = Machine::new();
            let from = folder().join(client.key);
            assert!(from.is_dir(), "no fixture of {}", client.key);
            copy(&from.join("home"), machine.home(), &machine);
            copy(&from.join("project"), machine.project(), &machine);
            let (before, path) = (machine.read(client.key), machine.file(client.key));
            let file = client.target().unwrap();
            let old = parsed(&machine.text(client.key), file.format);
            let plan = machine.connect(client.key, &options);
            let new = parsed(&machine.text(client.key), file.format);
            let mut found = servers(&new, file.root);
            assert!(found.remove(ENTRY_NAME).is_some(), "{}", client.key);
            let mut expected = servers(&old, file.root);
            assert!(!expected.is_empty(), "{}", client.key);
            expected.retain(|name, _| name != ENTRY_NAME && !plan.taken_out.contains(name));
            assert_eq!(found, expected, "{}", client.key);
            assert_eq!(
                without_servers(&new, file.root),
                without_servers(&old, file.root)
            );
            let undone = machine.disconnect(client.key);
            assert!(undone.is_exact);
            assert_eq!(std::fs::read(&path).unwrap(), before, "{}", client.key);
            checked += 1;
        }
    }
    assert!(checked >= 2 * 20, "{checked}");
}

#[test]
fn r_cfg_07_every_unusual_file_is_the_same_after_connect_and_disconnect() {
    let (mut connected, mut refused) = (0, 0);
    let clients = CLIENTS.iter().filter(|client| {
        let file = client.target();
        file.is_some_and(|file| file.format == FileFormat::Json)
    });
    for client in clients {
        for entry in std::fs::read_dir(folder().join("shapes")).unwrap() {
            let shape = std::fs::read(entry.unwrap().path()).unwrap();
            let machine = Machine::with(client.key, &shape);
            match machine.plan(client.key, &stdio()) {
                Ok(plan) => {
                    plan.apply().unwrap();
                    assert_ne!(machine.read(client.key), shape);
                    machine.disconnect(client.key);
                    connected += 1;
                }
                Err(problem) => {
                    assert!(problem.file.is_some(), "{problem}");
                    refused += 1;
                }
            }
            assert_eq!(machine.read(client.key), shape, "{}", client.key);
        }
    }
    // Broken files are refused, all others are connected.
    assert!(connected > 100 && refused > 20, "{connected} {refused}");
}
