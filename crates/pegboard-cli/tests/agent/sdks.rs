//! The official SDKs accept the responses of the scripted model, so it is a valid substitute for the services.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde_json::json;

const PROGRAM: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/tests/agent/programs/stream_with_sdks.py"
);

#[test]
fn r_agent_02_the_anthropic_sdk_streams_from_the_scripted_model() {
    check("anthropic", "");
}

#[test]
fn r_agent_02_the_openai_sdk_streams_from_the_scripted_model() {
    check("openai", "/v1");
}

#[expect(clippy::disallowed_methods, reason = "starts the programs under test")]
fn check(provider: &str, path: &str) {
    let Some(folder) = std::env::var_os("PEGBOARD_TEST_ENV") else {
        println!("skipped: PEGBOARD_TEST_ENV does not name the folder of scripts/install-test-env");
        return;
    };
    let python = PathBuf::from(folder).join("sdks/bin/python");
    assert!(
        python.is_file(),
        "{} is missing; run scripts/install-test-env",
        python.display()
    );
    let script = json!({"turns": [
        {"thinking": "Two sums.", "text": "I add them.",
         "calls": [{"name": "add", "input": {"a": 1, "b": 2}}, {"name": "add", "input": {"a": 3, "b": 4}}]},
        {"status": 529, "retry_after": "0"},
        {"text": "3 and 7."},
    ]});
    let mut file = tempfile::NamedTempFile::new().expect("a file");
    file.write_all(script.to_string().as_bytes())
        .expect("a script");
    let mut server = Command::new(pegboard_testkit::binary("pegboard-model"))
        .arg(file.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the scripted model starts");
    let mut line = String::new();
    let stdout = server.stdout.take().expect("a pipe");
    let read = BufReader::new(stdout).read_line(&mut line);
    let port = line.trim().strip_prefix("LISTENING ").map(str::to_owned);
    let port = port.unwrap_or_else(|| panic!("it said {line:?} ({read:?})"));
    let run = Command::new(python)
        .args([PROGRAM, provider, &format!("http://127.0.0.1:{port}{path}")])
        .env_remove("ANTHROPIC_BASE_URL")
        .env_remove("OPENAI_BASE_URL")
        .output();
    drop(server.stdin.take());
    let ended = server.wait_with_output().expect("it ends with its input");
    let run = run.expect("python runs");
    let (out, err) = (
        String::from_utf8_lossy(&run.stdout),
        String::from_utf8_lossy(&run.stderr),
    );
    assert!(
        run.status.success() && out.contains("accepted"),
        "{out}\n{err}"
    );
    // The only refused request is the invalid one that the program sends.
    let complaints = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(complaints.lines().count(), 1, "{complaints}");
}
