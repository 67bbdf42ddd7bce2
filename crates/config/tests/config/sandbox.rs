//! The `sandbox` of servers, and what a project's file can do with it.

use std::path::PathBuf;

use pegboard_model::{Sandbox, SandboxMode, SandboxNetwork};

use crate::fixture::{Fixture, server, short};

fn sandbox(fixture: &Fixture, name: &str) -> Sandbox {
    server(&fixture.load(), name).sandbox.clone()
}

#[test]
fn a_sandbox_is_a_mode_or_a_table() {
    let text = "[servers.a]\ncommand = 'a'\nsandbox = 'strict'\n\
                [servers.b]\ncommand = 'b'\n[servers.b.sandbox]\nread = ['~/notes', 'sub/../x']\n\
                write = ['/srv/data']\nnetwork = ['API.example.com', '*.example.org:8443']\nunix_sockets = true\n\
                memory = '512 MB'\nprocesses = 20\n\
                [servers.c]\ncommand = 'c'\n[servers.c.sandbox]\nmode = 'strict'\nnetwork = 'off'\n\
                [servers.d]\ncommand = 'd'\n";
    let fixture = Fixture::with("config.toml", text);
    assert_eq!(short(&fixture.load()), Vec::<String>::new());
    assert_eq!(
        sandbox(&fixture, "a"),
        Sandbox::of_mode(SandboxMode::Strict)
    );
    let home = &fixture.env.home;
    let expected = Sandbox {
        mode: SandboxMode::Default,
        read: vec![home.join("notes"), fixture.paths().config_dir.join("x")],
        write: vec![PathBuf::from("/srv/data")],
        network: SandboxNetwork::Hosts(vec![
            "api.example.com".to_owned(),
            "*.example.org:8443".to_owned(),
        ]),
        unix_sockets: true,
        memory: Some(512 * 1024 * 1024),
        processes: Some(20),
        within: None,
    };
    assert_eq!(sandbox(&fixture, "b"), expected);
    assert_eq!(sandbox(&fixture, "c").network, SandboxNetwork::Off);
    assert!(
        sandbox(&fixture, "d").is_off(),
        "own servers are not confined by default"
    );
}

#[test]
fn a_wrong_sandbox_breaks_only_its_server() {
    for value in [
        "'loose'",
        "true",
        "{ network = ['http://a'] }",
        "{ network = 'maybe' }",
        "{ memory = 'much' }",
        "{ memory = '1 MB', processes = 0 }",
        "{ read = [1.5, []] }",
        "{ read = [''] }",
    ] {
        let text =
            format!("[servers.a]\ncommand = 'a'\nsandbox = {value}\n[servers.b]\ncommand = 'b'\n");
        let loaded = Fixture::with("config.toml", &text).load();
        assert!(loaded.broken.contains_key("a"), "{value}");
        assert_eq!(loaded.servers.len(), 1, "{value}");
    }
}

#[test]
fn the_settings_say_how_servers_of_each_kind_are_confined() {
    let project = "[servers.p]\ncommand = 'p'\n";
    let own = "[servers.a]\ncommand = 'a'\n";
    let fixture = Fixture::with("config.toml", own).project(".pegboard/config.toml", project);
    let found = sandbox(&fixture, "p");
    assert_eq!(found.mode, SandboxMode::Default);
    assert_eq!(found.within.as_ref(), Some(&fixture.env.working_dir));
    assert!(sandbox(&fixture, "a").is_off());
    let own =
        "[settings]\nsandbox = 'strict'\nproject_sandbox = 'off'\n[servers.a]\ncommand = 'a'\n";
    let fixture = Fixture::with("config.toml", own).project(".pegboard/config.toml", project);
    assert!(sandbox(&fixture, "p").is_off());
    assert_eq!(sandbox(&fixture, "a").mode, SandboxMode::Strict);
    let loose = "[settings]\nproject_sandbox = 'off'\n[servers.p]\ncommand = 'p'\n";
    let fixture = Fixture::new().project(".pegboard/config.toml", loose);
    assert_eq!(sandbox(&fixture, "p").mode, SandboxMode::Default);
    assert!(!short(&fixture.load()).is_empty());
}

#[test]
fn a_project_file_only_tightens() {
    let own = "[servers.b]\ncommand = 'b'\n[servers.b.sandbox]\nmode = 'strict'\nnetwork = 'off'\nmemory = '100 MB'\n";
    let project = "[servers.a]\ncommand = 'a'\n[servers.a.sandbox]\nmode = 'off'\nread = ['data', '../../.ssh', '~/.aws']\n\
                   unix_sockets = true\n[servers.b]\ncommand = 'x'\n[servers.b.sandbox]\nmode = 'default'\nnetwork = 'on'\n\
                   memory = '2 GB'\n[servers.c]\ncommand = 'c'\n[servers.c.sandbox]\nmode = 'strict'\nnetwork = ['a.example']\n";
    let fixture = Fixture::with("config.toml", own).project(".pegboard/config.toml", project);
    let a = sandbox(&fixture, "a");
    assert_eq!((a.mode, a.unix_sockets), (SandboxMode::Default, false));
    assert!(
        a.read
            .iter()
            .all(|path| path.starts_with(&fixture.env.working_dir)),
        "{:?}",
        a.read
    );
    let b = sandbox(&fixture, "b");
    assert_eq!(
        (b.mode, b.network, b.memory),
        (SandboxMode::Strict, SandboxNetwork::Off, Some(100 << 20))
    );
    let c = sandbox(&fixture, "c");
    assert_eq!(
        c.network,
        SandboxNetwork::Hosts(vec!["a.example".to_owned()])
    );
    let warnings = short(&fixture.load());
    assert!(
        warnings
            .iter()
            .all(|line| line.starts_with("warning CONFIG_INVALID")),
        "{warnings:?}"
    );
    let of = |name: &str| warnings.iter().filter(|line| line.contains(name)).count();
    assert_eq!((of(" a:"), of(" b:"), of(" c:")), (3, 3, 0), "{warnings:?}");
}

#[test]
fn the_sandbox_and_the_hashes_are_part_of_the_config_hash() {
    let hash = |rest: &str| {
        let text = format!("[servers.a]\ncommand = 'npx'\nargs = ['s@1.0.0']\n{rest}");
        server(&Fixture::with("config.toml", &text).load(), "a").hash
    };
    let plain = hash("");
    assert_eq!(hash("sandbox = 'off'\n"), plain);
    let mut hashes = vec![plain];
    for rest in [
        "sandbox = 'default'\n",
        "sandbox = 'strict'\n",
        "sandbox = { network = 'off' }\n",
        "sandbox = { read = ['/a'] }\n",
        "sandbox = { write = ['/a'] }\n",
        "sandbox = { memory = '1 GB' }\n",
        "sandbox = { processes = 3 }\n",
        "sandbox = { unix_sockets = true }\n",
        "integrity = ['sha512-a']\n",
    ] {
        let new = hash(rest);
        assert!(!hashes.contains(&new), "{rest}");
        hashes.push(new);
    }
}
