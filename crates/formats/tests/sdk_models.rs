//! Checks converted documents with the SDKs of the providers.
//!
//! `scripts/install-test-env` installs the SDKs into the folder in `PEGBOARD_TEST_ENV`. Without them the tests print a
//! note and pass, because `pegboard_testkit::provider_rules` checks the rules as well.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

#[path = "formats/corpus.rs"]
mod corpus;

use std::path::{Path, PathBuf};
use std::process::Output;

use pegboard_formats::{
    ConvertOptions, DeferredSearch, Format, anthropic_search_result, definitions, definitions_with,
    openai_search_result,
};
use serde_json::{Value, json};

/// Python with the SDKs; prints the reason and returns `None` if they are not installed.
fn python() -> Option<PathBuf> {
    let Some(folder) = std::env::var_os("PEGBOARD_TEST_ENV") else {
        println!("skipped: PEGBOARD_TEST_ENV does not name the folder of scripts/install-test-env");
        return None;
    };
    let python = PathBuf::from(folder).join("sdks/bin/python");
    assert!(
        python.exists(),
        "{} is not there; run scripts/install-test-env",
        python.display()
    );
    Some(python)
}

#[allow(clippy::disallowed_methods, reason = "the test runs Python")]
fn run(python: &Path, documents: &Path) -> Output {
    let script =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/formats/check_with_sdks.py");
    std::process::Command::new(python)
        .arg("-B")
        .arg(script)
        .arg(documents)
        .output()
        .expect("python runs")
}

fn write(folder: &Path, kind: &str, name: &str, document: &Value) {
    let folder = folder.join(kind);
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join(name), document.to_string()).unwrap();
}

fn write_all(folder: &Path) {
    let sources = corpus::sources();
    for format in Format::all() {
        write(
            folder,
            format.name(),
            "corpus.json",
            &definitions(&sources, format).document,
        );
        let options = ConvertOptions {
            strict: false,
            search: DeferredSearch::Client,
            ..ConvertOptions::default()
        };
        let document = definitions_with(&sources, format, &options).document;
        write(folder, format.name(), "client.json", &document);
    }
}

#[test]
fn r_reg_07_the_sdks_accept_every_format() {
    let Some(python) = python() else { return };
    let folder = tempfile::tempdir().unwrap();
    write_all(folder.path());
    let names = ["shapes__a", "shapes__b"];
    write(
        folder.path(),
        "search-anthropic",
        "some.json",
        &anthropic_search_result("toolu_1", names),
    );
    write(
        folder.path(),
        "search-anthropic",
        "none.json",
        &anthropic_search_result("toolu_1", []),
    );
    let found = definitions(&corpus::sources(), Format::OpenAiDeferred).document;
    let found = found
        .as_array()
        .unwrap()
        .iter()
        .filter(|t| t["type"] != "tool_search")
        .cloned();
    write(
        folder.path(),
        "search-openai",
        "some.json",
        &openai_search_result("call_1", found),
    );
    let output = run(&python, folder.path());
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success(),
        "{text}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    for format in Format::all() {
        let line = format!(
            "{format}: {} accepted in 2 files",
            corpus::SCHEMAS.len() * 2
        );
        // The client's search tool is an ordinary tool for Anthropic.
        let more = format!(
            "{format}: {} accepted in 2 files",
            corpus::SCHEMAS.len() * 2 + 1
        );
        assert!(
            text.contains(&line) || text.contains(&more),
            "{line}\n{text}"
        );
    }
}

#[test]
fn r_reg_07_the_sdks_reject_invalid_documents() {
    let Some(python) = python() else { return };
    let folder = tempfile::tempdir().unwrap();
    let unknown = json!({"type": "object", "properties": {"a": {"type": "STRING", "oneOf": []}}});
    let loose = json!({"type": "string"});
    for (format, wrong) in [
        ("anthropic", json!([{"name": "a", "input_schema": loose}])),
        ("anthropic-deferred", json!([{"name": "a"}])),
        (
            "openai-responses",
            json!([{"type": "function", "name": "a", "parameters": 1, "strict": true}]),
        ),
        (
            "openai-deferred",
            json!([{"type": "namespace", "name": "a", "tools": []}]),
        ),
        (
            "openai-chat",
            json!([{"type": "function", "function": {"description": "no name"}}]),
        ),
        (
            "gemini",
            json!([{"functionDeclarations": [{"name": "a", "parameters": unknown}]}]),
        ),
        (
            "bedrock",
            json!([{"toolSpec": {"name": "a", "description": "", "inputSchema": {"json": loose}}}]),
        ),
    ] {
        write(folder.path(), format, "wrong.json", &wrong);
    }
    let output = run(&python, folder.path());
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{text}");
    for format in Format::all() {
        assert!(
            text.contains(&format!("{format}/wrong.json: refused")),
            "{format}\n{text}"
        );
    }
}
