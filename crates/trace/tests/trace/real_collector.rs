//! Exports spans to a third-party collector, which `scripts/install-test-env` installs. Without it, the test prints a
//! note and passes.

use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};

use pegboard_model::{Outcome, Reason, ToolError};
use pegboard_testkit::wait_until;
use pegboard_trace::Redactor;

use crate::collector::LONG;
use crate::facts::{plain, record_call, record_everything, tracer};

/// The installed collector. Prints the reason and returns `None` if there is none.
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

/// A running collector that prints every span it receives. Stopped when dropped.
struct Running {
    child: Child,
    url: String,
    written: Arc<Mutex<String>>,
}

impl Running {
    fn start(program: &PathBuf, folder: &std::path::Path) -> Self {
        // It cannot bind to a port chosen by the system, so a free one is selected first.
        let free = || TcpListener::bind("127.0.0.1:0").unwrap();
        let (http, grpc) = (free(), free());
        let address = |listener: TcpListener| listener.local_addr().unwrap().to_string();
        let (http, grpc) = (address(http), address(grpc));
        #[expect(
            clippy::disallowed_methods,
            reason = "a test starts the collector it tests with"
        )]
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
            .unwrap();
        let written = Arc::new(Mutex::new(String::new()));
        let (output, lines) = (child.stdout.take().unwrap(), written.clone());
        std::thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                let mut lines = lines.lock().unwrap();
                lines.push_str(line.trim());
                lines.push('\n');
            }
        });
        Self {
            child,
            url: format!("http://{http}"),
            written,
        }
    }

    fn has(&self, text: &str) -> bool {
        self.written.lock().unwrap().contains(text)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r_obs_02_a_real_collector_receives_the_spans() {
    let Some(program) = program() else { return };
    let folder = tempfile::tempdir().unwrap();
    let running = Running::start(&program, folder.path());
    let tracer = tracer(vec![plain(&running.url)], true, Redactor::default());
    // It may not listen yet. The exporter retries.
    record_call(&tracer);
    wait_until("the collector takes a span", LONG * 2, || {
        tracer.delivered().sent + tracer.delivered().dropped == 1
    })
    .await;
    let failed = ToolError::new(Reason::ServerExited, "it ended");
    record_everything(&tracer, Outcome::Failed(&failed), "what was wanted");
    let delivered = tracer.close(LONG).await;
    assert!(delivered.sent >= 8, "{delivered:?}");
    wait_until("the last span is written", LONG, || {
        running.has("Name           : tools/call github__close_issue")
    })
    .await;
    for line in [
        "-> service.name: Str(pegboard)",
        "Trace ID       : 11111111111111111111111111111111",
        "Name           : tools/list github",
        "Name           : search tools",
        "Name           : policy github__close_issue",
        "Name           : chat claude-x",
        "Kind           : SPAN_KIND_SERVER",
        "Kind           : SPAN_KIND_CLIENT",
        "Kind           : SPAN_KIND_INTERNAL",
        "Status code    : STATUS_CODE_ERROR",
        "Status message : it ended",
        "-> pegboard.server: Str(github)",
        "-> pegboard.tool_count: Int(2)",
        "-> pegboard.cache: Str(miss)",
        "-> pegboard.server_started: Bool(true)",
        "-> gen_ai.tool.call.arguments: Str(what was wanted)",
        "-> mcp.method.name: Str(tools/call)",
    ] {
        wait_until(line, LONG, || running.has(line)).await;
    }
}
