//! Reads of a gateway whose servers are refreshed all the time: two of five servers hang, crash or flood, against
//! none.

use std::cell::Cell;
use std::time::{Duration, Instant};

use tokio::task::LocalSet;

use crate::api_client::ApiClient;
use crate::load::runtime;
use crate::process::ServerProcess;
use crate::report::{Figure, Goal, median, report};
use crate::setup::{Setup, program};
use crate::tool_lists::{Size, first_tool};

const SERVERS: usize = 500;
const TOOLS: usize = 100;
const ROUNDS: usize = 5;
const TIME: Duration = Duration::from_secs(4);
/// Number of concurrent refreshes.
const CONCURRENT_REFRESHES: usize = 8;
const GOAL: Goal = Goal::Times(2.0);

/// The reads with their names in the table.
fn reads() -> [(&'static str, String); 4] {
    let tool = format!("/api/v1/tools/server_7__{}", first_tool(7));
    [
        ("the servers", "/api/v1/servers?limit=100".to_owned()),
        ("a page of tools", "/api/v1/tools?limit=100".to_owned()),
        ("one tool", tool),
        ("the statistics", "/api/v1/stats".to_owned()),
    ]
}

pub(crate) fn run() {
    let (good, faulty) = (known(false), known(true));
    let (good_runs, faulty_runs) = (Gateway::start(&good), Gateway::start(&faulty));
    for (what, path) in reads() {
        let (mut floors, mut ours) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            floors.push(good_runs.p99_of(&path));
            ours.push(faulty_runs.p99_of(&path));
        }
        let what = format!(
            "reading {what}, {SERVERS} servers and {} tools, servers being refreshed, 40 % of them faulty, p99",
            SERVERS * TOOLS
        );
        let figure = |runs| Figure::Micros(median(runs));
        report(&what, figure(floors), figure(ours), GOAL);
    }
}

/// A setup whose servers are discovered. Two of five servers become faulty afterwards if requested.
fn known(with_faults: bool) -> Setup {
    let setup = Setup::new();
    let lists = setup.generated_lists(SERVERS, TOOLS, Size::One);
    let trouble = setup.folder.path().join("trouble");
    let mut text = String::from("[settings]\ndiscovery_timeout = \"5s\"\n");
    for (index, list) in lists.iter().enumerate() {
        let fault = match index % 15 {
            0 | 5 => "--hang-if",
            1 | 6 => "--crash-if",
            2 | 7 => "--flood-if",
            _ => "",
        };
        let mut words = vec![list.display().to_string()];
        if !fault.is_empty() {
            words.extend([fault.to_owned(), trouble.display().to_string()]);
        }
        let command = program("mock-server");
        text += &format!("[servers.server_{index}]\ncommand = {command:?}\nargs = {words:?}\n");
    }
    setup.write_config(&text);
    setup.refresh();
    if with_faults {
        std::fs::write(&trouble, "").expect("the file that enables the faults");
    }
    setup
}

struct Gateway {
    process: ServerProcess,
    token: String,
}

impl Gateway {
    fn start(setup: &Setup) -> Self {
        let process = ServerProcess::start(setup.serve());
        let file = setup.folder.path().join("state/admin-token");
        let token = std::fs::read_to_string(file).expect("the admin token");
        Self {
            process,
            token: token.trim().to_owned(),
        }
    }

    async fn client(&self) -> ApiClient {
        ApiClient::open(&self.process.address, &self.token).await
    }

    /// The 99th percentile in microseconds, while the servers are refreshed one after the other.
    fn p99_of(&self, path: &str) -> f64 {
        let next = Cell::new(0);
        let runtime = runtime();
        LocalSet::new().block_on(&runtime, async {
            let refreshing = (0..CONCURRENT_REFRESHES).map(|_| self.refresh_servers(&next));
            let refreshing = futures_util::future::join_all(refreshing);
            let mut micros = tokio::select! {
                micros = self.read(path) => micros,
                _ = refreshing => Vec::new(),
            };
            micros.sort_by(f64::total_cmp);
            let place = micros.len().saturating_sub(1) * 99 / 100;
            micros.get(place).copied().expect("reads")
        })
    }

    async fn read(&self, path: &str) -> Vec<f64> {
        let mut client = self.client().await;
        client.get(path).await;
        let (begin, mut micros) = (Instant::now(), Vec::new());
        while begin.elapsed() < TIME {
            let started = Instant::now();
            client.get(path).await;
            micros.push(started.elapsed().as_secs_f64() * 1e6);
            // Without a pause the measurement would only show how the two share a core.
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        micros
    }

    async fn refresh_servers(&self, next: &Cell<usize>) {
        let mut client = self.client().await;
        loop {
            let server = next.get() % SERVERS;
            next.set(server + 1);
            let path = format!("/api/v1/servers/server_{server}/refresh");
            // A failure is part of the response; continue with the next server.
            client.post(&path, "{}").await;
        }
    }
}
