//! A thousand servers.

use std::io::Read;
use std::process::Stdio;

use crate::support::{Home, toml_server};

const MIB: u64 = 1024;

#[test]
fn r_disc_01_a_thousand_servers_are_listed_without_a_start_in_under_60_mib() {
    let home = Home::new();
    let started = home.path("started");
    let script = format!("echo x >> '{}'", started.display());
    let server = |number| {
        toml_server(
            &format!("s{number}"),
            "sh",
            &["-c", &script],
            "env = { K = \"v\" }",
        )
    };
    let config: String = (0..1000).map(server).collect();
    home.write("config/config.toml", &config);

    let mut command = home.command(&["list", "--json"]);
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("it starts");
    let mut stdout = child.stdout.take().expect("the pipe is there");
    let mut response = vec![0; 1];
    // The output is larger than a pipe, so the program blocks after its first bytes until they are read.
    stdout.read_exact(&mut response).expect("an answer");
    let peak = peak_kib(child.id());
    stdout.read_to_end(&mut response).expect("the rest of it");
    assert!(child.wait().expect("it ends").success());

    let list: serde_json::Value = serde_json::from_slice(&response).expect("one document");
    assert_eq!(list["total"], 1000);
    assert!(
        response.len() > 100_000,
        "too short to fill a pipe: {}",
        response.len()
    );
    assert!(peak < 60 * MIB, "{peak} KiB");
    assert!(!started.exists(), "a server was started");
}

/// Returns the peak memory of a process.
pub(super) fn peak_kib(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("it runs");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let number = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
    number.expect("the kernel reports the peak")
}
