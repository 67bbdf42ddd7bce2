//! Pinned packages, with package managers that print recorded answers, and one real look-up.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stderr,
    reason = "a test fails by panicking, and says why it is skipped"
)]

mod fixture;

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use fixture::{LEGACY, failure, setup, spec};
use pegboard_model::{Reason, RunnerPackage, ServerSpec, Template, Transport, find_package};
use pegboard_upstream::{Connect, ConnectHint, Connector, ConnectorConfig, resolve_package};

const HASH: &str = "sha512-AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA==";
const OTHER: &str = "sha512-BBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBB==";
const WHEEL: &str = "sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";

/// Writes a program that answers as recorded and notes how it was called.
fn fake(folder: &Path, name: &str, script: &str) {
    use std::os::unix::fs::PermissionsExt;
    let file = folder.join(name);
    let log = folder.join("calls").display().to_string();
    let text = format!("#!/bin/sh\necho \"{name} $*\" >> {log}\n{script}\n");
    std::fs::write(&file, text).unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
}

fn environment(folder: &Path) -> BTreeMap<String, String> {
    let path = std::env::var("PATH").unwrap_or_default();
    BTreeMap::from([
        ("PATH".to_owned(), format!("{}:{path}", folder.display())),
        ("HOME".to_owned(), folder.display().to_string()),
    ])
}

fn package(line: &str) -> RunnerPackage {
    let words: Vec<&str> = line.split(' ').collect();
    find_package(words[0], &words[1..]).unwrap()
}

fn npm(hash: &str) -> String {
    format!("printf '{{\"version\":\"1.2.3\",\"dist.integrity\":\"{hash}\"}}'")
}

#[tokio::test]
async fn a_package_is_resolved_to_its_version_and_hashes() {
    let folder = tempfile::tempdir().unwrap();
    fake(folder.path(), "npm", &npm(HASH));
    fake(
        folder.path(),
        "uv",
        &format!(
            "cat > {}/input; printf 's==2.0 \\\\\\n  --hash={WHEEL}\\n'",
            folder.path().display()
        ),
    );
    let environment = environment(folder.path());
    let found = resolve_package(&package("npx -y @a/b"), None, &environment)
        .await
        .unwrap();
    assert_eq!(
        (found.version.as_str(), found.integrity),
        ("1.2.3", vec![HASH.to_owned()])
    );
    let found = resolve_package(&package("uvx s==2.0"), Some("2.0"), &environment)
        .await
        .unwrap();
    assert_eq!(
        (found.version.as_str(), found.integrity),
        ("2.0", vec![WHEEL.to_owned()])
    );
    assert_eq!(
        std::fs::read_to_string(folder.path().join("input")).unwrap(),
        "s==2.0\n"
    );
    let calls = std::fs::read_to_string(folder.path().join("calls")).unwrap();
    assert!(
        calls.starts_with("npm view @a/b@latest version dist.integrity --json\n"),
        "{calls}"
    );
}

#[tokio::test]
async fn what_a_package_manager_cannot_answer_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    fake(
        folder.path(),
        "npm",
        "echo 'npm error 404 Not Found' >&2; exit 1",
    );
    let environment = environment(folder.path());
    let error = failure(resolve_package(&package("npx -y gone"), None, &environment).await);
    assert!(error.message.contains("404 Not Found"), "{error}");
    let error = failure(resolve_package(&package("npx -y x"), Some("--evil"), &environment).await);
    assert!(error.message.contains("not the name"), "{error}");
}

fn pinned(folder: &Path, integrity: &str) -> (Connector, ServerSpec) {
    fake(folder, "npx", LEGACY);
    let words = ["-y", "server@1.2.3"].map(Template::literal);
    let mut spec = spec(Transport::Stdio {
        command: Template::literal("npx"),
        args: words.to_vec(),
        env: BTreeMap::new(),
        cwd: None,
    });
    spec.integrity = vec![integrity.to_owned()];
    let connector = Connector::new(ConnectorConfig {
        environment: environment(folder),
        ..setup()
    });
    (connector, spec)
}

async fn connect(connector: &Connector, spec: &ServerSpec) -> Result<(), Reason> {
    let budget = Duration::from_secs(20);
    match connector
        .connect(spec, &ConnectHint::default(), budget)
        .await
    {
        Ok(upstream) => {
            upstream.close().await;
            Ok(())
        }
        Err(error) => Err(error.reason),
    }
}

#[tokio::test]
async fn a_pinned_server_starts_only_with_the_recorded_package() {
    let folder = tempfile::tempdir().unwrap();
    fake(folder.path(), "npm", &npm(HASH));
    let (connector, spec) = pinned(folder.path(), HASH);
    assert_eq!(connect(&connector, &spec).await, Ok(()));
    fake(folder.path(), "npm", &npm(OTHER));
    assert_eq!(connect(&connector, &spec).await, Err(Reason::SupplyChanged));
    let mut unpinned = spec.clone();
    if let Transport::Stdio { args, .. } = &mut unpinned.transport {
        *args = vec![Template::literal("server@latest")];
    }
    assert_eq!(
        connect(&connector, &unpinned).await,
        Err(Reason::SupplyChanged)
    );
}

#[tokio::test]
async fn an_installed_package_is_compared_without_the_registry() {
    let folder = tempfile::tempdir().unwrap();
    fake(folder.path(), "npm", "exit 1");
    let (connector, spec) = pinned(folder.path(), HASH);
    assert_eq!(
        connect(&connector, &spec).await,
        Err(Reason::SpawnFailed),
        "not installed, no registry"
    );
    let installed = folder.path().join(".npm/_npx/0123");
    std::fs::create_dir_all(&installed).unwrap();
    let lock = |hash: &str| {
        let entry = format!(
            r#"{{"packages":{{"node_modules/server":{{"version":"1.2.3","integrity":"{hash}"}}}}}}"#
        );
        std::fs::write(installed.join("package-lock.json"), entry).unwrap();
    };
    lock(HASH);
    assert_eq!(connect(&connector, &spec).await, Ok(()));
    lock(OTHER);
    assert_eq!(connect(&connector, &spec).await, Err(Reason::SupplyChanged));
}

#[tokio::test]
async fn a_real_package_is_resolved_where_a_registry_is_reachable() {
    let environment: BTreeMap<String, String> = std::env::vars().collect();
    let package = package("npx -y is-number@7.0.0");
    match resolve_package(&package, Some("7.0.0"), &environment).await {
        Ok(found) => {
            assert_eq!(found.version, "7.0.0");
            assert!(found.integrity[0].starts_with("sha512-"), "{found:?}");
        }
        Err(error) => eprintln!("skipped: no package manager or registry: {error}"),
    }
}
