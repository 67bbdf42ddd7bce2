//! A third-party collector accepts the spans of the real program. `scripts/install-test-env` installs
//! it; without it the test is skipped with a message.

use std::io::{BufRead, BufReader};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};

use pegboard_testkit::wait_until_sync;
use serde_json::json;

use crate::serving::Serving;
use crate::support::{Home, TIMEOUT};

/// Returns the installed collector, or prints the reason and returns `None`.
fn program() -> Option<PathBuf> {
    let Some(folder) = std::env::var_os("PEGBOARD_TEST_ENV") else {
        println!("skipped: PEGBOARD_TEST_ENV does not name the folder of scripts/install-test-env");
        return None;
    };
    let libraries = PathBuf::from(folder).join("collector/lib");
    let pythons = std::fs::read_dir(&libraries)
        .into_iter()
        .flatten()
        .flatten();
    let mut programs = pythons.map(|python| python.path().join("site-packages/rotel/rotel-agent"));
    let program = programs.find(|program| program.is_file());
    Some(program.unwrap_or_else(|| panic!("no collector below {}", libraries.display())))
}

/// A running collector that prints every span; killed on drop.
struct Running {
    child: Child,
    url: String,
    written: Arc<Mutex<String>>,
}

impl Running {
    #[expect(
        clippy::disallowed_methods,
        reason = "a test starts the collector it tests with"
    )]
    fn start(program: &Path, folder: &Path) -> Self {
        // It does not support port 0, so free ports are searched for.
        let free = || TcpListener::bind("127.0.0.1:0").expect("a free port");
        let [http, grpc] = [free(), free()].map(|listener| {
            let address = listener.local_addr().expect("its address");
            address.to_string()
        });
        let mut child = Command::new(program)
            .args(["start", "--exporter", "blackhole", "--debug-log", "traces"])
            .args([
                "--debug-log-verbosity",
                "detailed",
                "--otlp-http-endpoint",
                &http,
            ])
            .args(["--otlp-grpc-endpoint", &grpc, "--pid-file"])
            .arg(folder.join("pid"))
            .env_clear()
            .current_dir(folder)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the collector starts");
        let written: Arc<Mutex<String>> = Arc::default();
        let (output, lines) = (child.stdout.take().expect("a pipe"), written.clone());
        std::thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                let mut lines = lines.lock().expect("not poisoned");
                lines.push_str(line.trim());
                lines.push('\n');
            }
        });
        wait_until_sync("the collector listens", TIMEOUT, || {
            TcpStream::connect(&http).is_ok()
        });
        Self {
            child,
            url: format!("http://{http}"),
            written,
        }
    }

    fn wait_for(&self, line: &str) {
        wait_until_sync(line, TIMEOUT, || {
            let written = self.written.lock().expect("not poisoned");
            written.contains(line)
        });
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn r_obs_02_a_real_collector_takes_the_spans_of_the_real_program() {
    let Some(program) = program() else { return };
    let folder = tempfile::tempdir().expect("a temporary folder");
    let running = Running::start(&program, folder.path());
    let mut home = Home::new();
    home.set("OTEL_EXPORTER_OTLP_ENDPOINT", &running.url);
    home.set("OTEL_SERVICE_NAME", "pegboard-under-test");
    home.add_example("example");
    let mut serving = Serving::start(&home, &[]);
    serving.call("search_tools", json!({"query": "add"}));
    let parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    serving.call_with(
        "call_tool",
        json!({"tool_name": "example/add_numbers", "arguments": {"a": 1, "b": 2}}),
        &json!({"traceparent": parent}),
    );
    serving.stop();
    for line in [
        "-> service.name: Str(pegboard-under-test)",
        "Name           : tools/list example",
        "-> pegboard.tool_count: Int(16)",
        "-> pegboard.cache: Str(miss)",
        "Name           : catalog",
        "Name           : search tools",
        "Name           : policy example__add_numbers",
        "-> pegboard.decision: Str(allow)",
        "Name           : tools/call add_numbers",
        "Name           : tools/call call_tool",
        "Trace ID       : 4bf92f3577b34da6a3ce929d0e0e4736",
        "Parent ID      : 00f067aa0ba902b7",
        "Kind           : SPAN_KIND_SERVER",
        "Kind           : SPAN_KIND_CLIENT",
    ] {
        running.wait_for(line);
    }
}
