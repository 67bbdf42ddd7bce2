//! Discovery over stdio, and calls whose results are checked.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use super::{Expected, Installed};

#[test]
fn server_everything_over_stdio() {
    let Some(real) = Installed::here() else {
        return;
    };
    let program = real.npm("server-everything");
    real.add(
        "everything",
        &["--", "node", &program],
        &Expected::legacy(&["echo", "get-sum", "get-tiny-image"]),
    );
    assert!(
        real.call("everything/echo", &json!({"message": "héllo"}))
            .contains("héllo")
    );
    let sum = real
        .home
        .run(&["call", "get-sum", "a=19", "b=23"])
        .ok()
        .stdout;
    assert!(sum.contains("42"), "{sum}");
    real.home.assert_nothing_runs();
}

#[test]
fn server_filesystem_writes_and_reads() {
    let Some(real) = Installed::here() else {
        return;
    };
    let (program, folder) = (real.npm("server-filesystem"), real.home.path("files"));
    std::fs::create_dir(&folder).expect("a folder for files");
    let folder = folder.canonicalize().expect("its real path");
    let words = ["--", "node", &program, &folder.display().to_string()];
    real.add(
        "files",
        &words,
        &Expected::legacy(&["read_text_file", "write_file", "list_directory"]),
    );
    let file = folder.join("note.txt");
    real.call(
        "files/write_file",
        &json!({"path": file, "content": "line one\nline two\n"}),
    );
    assert_eq!(
        std::fs::read_to_string(&file).expect("it was written"),
        "line one\nline two\n"
    );
    assert_eq!(
        real.call("files/read_text_file", &json!({"path": file}))
            .trim_end(),
        "line one\nline two"
    );
    let outside = json!({"path": "/etc/hostname"}).to_string();
    real.home
        .run(&["call", "files/read_text_file", "--args", &outside])
        .exits(5);
    real.home.assert_nothing_runs();
}

#[test]
fn server_memory_remembers_between_two_runs() {
    let Some(real) = Installed::here() else {
        return;
    };
    let program = real.npm("server-memory");
    let memory = format!(
        "MEMORY_FILE_PATH={}",
        real.home.path("memory.jsonl").display()
    );
    let words = ["-e", &memory, "--", "node", &program];
    real.add(
        "memory",
        &words,
        &Expected::legacy(&["create_entities", "read_graph"]),
    );
    let ann = json!({"entities": [{"name": "Ann", "entityType": "person", "observations": ["likes tea"]}]});
    real.call("memory/create_entities", &ann);
    let graph = real
        .home
        .run(&["call", "memory/read_graph", "--json"])
        .ok()
        .json();
    assert_eq!(
        graph["structuredContent"]["entities"][0]["observations"],
        json!(["likes tea"])
    );
    real.home.assert_nothing_runs();
}

#[test]
fn mcp_server_time_converts() {
    let Some(real) = Installed::here() else {
        return;
    };
    let program = real.python("mcp-server-time");
    real.add(
        "time",
        &["--", &program],
        &Expected::modern(&["get_current_time", "convert_time"]),
    );
    let noon = json!({"source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Tokyo"});
    let response: Value =
        serde_json::from_str(&real.call("time/convert_time", &noon)).expect("JSON as text");
    assert_eq!(response["time_difference"], "+9.0h");
    real.home
        .run(&["call", "time/get_current_time", "timezone=Nowhere/At_All"])
        .exits(5);
    real.home.assert_nothing_runs();
}

#[test]
fn mcp_server_git_reads_a_repository() {
    let Some(real) = Installed::here() else {
        return;
    };
    let (program, repository) = (real.python("mcp-server-git"), real.home.path("repository"));
    std::fs::create_dir(&repository).expect("a folder for the repository");
    git(&repository, &["init", "--quiet", "--initial-branch=trunk"]);
    git(
        &repository,
        &[
            "commit",
            "--quiet",
            "--allow-empty",
            "--message=The first step",
        ],
    );
    real.add(
        "git",
        &["--", &program],
        &Expected::modern(&["git_status", "git_log"]),
    );
    let path = json!({"repo_path": repository});
    let status = real.call("git/git_status", &path);
    assert!(status.contains("trunk"), "{status}");
    let log = real.call("git/git_log", &path);
    assert!(log.contains("The first step"), "{log}");
    real.home.assert_nothing_runs();
}

#[expect(
    clippy::disallowed_methods,
    reason = "creates a repository for the test"
)]
fn git(repository: &Path, args: &[&str]) {
    let mut command = Command::new("git");
    command.arg("-C").arg(repository).args([
        "-c",
        "user.name=Test",
        "-c",
        "user.email=test@example.com",
    ]);
    command
        .args(args)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_SYSTEM", "/dev/null");
    assert!(
        command.status().expect("git runs").success(),
        "git {args:?}"
    );
}

#[test]
fn mcp_server_fetch_fetches_a_page_of_this_machine() {
    let Some(real) = Installed::here() else {
        return;
    };
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = listener.local_addr().expect("its address").port();
    std::thread::spawn(move || serve_page(&listener));
    let program = real.python("mcp-server-fetch");
    real.add(
        "fetch",
        &["--", &program, "--allow-private-ips"],
        &Expected::modern(&["fetch"]),
    );
    let page = real.call(
        "fetch/fetch",
        &json!({"url": format!("http://127.0.0.1:{port}/page")}),
    );
    assert!(page.contains("a page of this machine"), "{page}");
    let nothing = json!({"url": "http://127.0.0.1:1/"}).to_string();
    real.home
        .run(&["call", "fetch/fetch", "--args", &nothing])
        .exits(5);
    real.home.assert_nothing_runs();
}

/// Serves one page; every other path, such as `robots.txt`, is 404.
fn serve_page(listener: &TcpListener) {
    for mut stream in listener.incoming().flatten() {
        let mut lines = BufReader::new(stream.try_clone().expect("a second handle")).lines();
        let first = lines.next().and_then(Result::ok).unwrap_or_default();
        while lines
            .next()
            .and_then(Result::ok)
            .is_some_and(|line| !line.is_empty())
        {}
        let (status, body) = match first.starts_with("GET /page ") {
            true => ("200 OK", "This is a page of this machine."),
            false => ("404 Not Found", "Nothing."),
        };
        let size = body.len();
        let response = format!(
            "HTTP/1.1 {status}\r\nContent-Type: text/plain\r\nContent-Length: {size}\r\nConnection: close\r\n\r\n{body}"
        );
        let _ = stream.write_all(response.as_bytes());
    }
}
