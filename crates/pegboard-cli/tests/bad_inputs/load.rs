//! Load and concurrent faults.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use pegboard_hub::{CallRequest, RefreshScope, SessionId};
use pegboard_model::{Limits, Reason};
use pegboard_testkit::Script;
use pegboard_testkit::script::Moment;
use serde_json::value::RawValue;

use crate::support::{EXAMPLE_TOOLS, Home, TIMEOUT};
use crate::table::Row;

const COLLECTOR_DOWN: &str = "pegboard-cli/tests/telemetry/collector_down.rs";
const DELIVERY: &str = "trace/tests/trace/delivery.rs";

pub(crate) const ROWS: &[Row] = &[
    Row {
        id: "L02",
        input: "50,000 tools, and refreshes of all servers at once",
        required: "reads never wait, and are quick",
        run: &[],
        tests: &[
            (
                "hub/tests/discovery.rs",
                "r_disc_01_the_answer_waits_for_a_short_deadline_and_names_the_rest",
            ),
            (
                "catalog/tests/catalog/registry.rs",
                "a_snapshot_shares_its_entries_with_the_former_one",
            ),
        ],
        pending: Some(
            "times under a storm of refreshes are measured by the benchmarks, not by a test",
        ),
    },
    Row {
        id: "L03",
        input: "many clients that search while the configuration changes",
        required: "no errors, and each reads one whole state",
        run: &[searching_while_reloading],
        tests: &[],
        pending: None,
    },
    Row {
        id: "L05",
        input: "400 callers of a server whose calls never end",
        required: "so many run, so many wait, the rest are OVERLOADED at once; other servers are unaffected",
        run: &[more_calls_than_places],
        tests: &[(
            "hub/src/slots/call_places.rs",
            "a_call_waits_for_its_turn_no_longer_than_a_call_may_take",
        )],
        pending: None,
    },
    Row {
        id: "L06",
        input: "eight hours of load with faults",
        required: "memory, files, tasks and threads stay flat",
        run: &[],
        tests: &[(
            "pegboard-cli/tests/cli/persistence/soak.rs",
            "r_sec_12_l06_memory_files_and_threads_stay_flat_under_load_with_faults",
        )],
        pending: None,
    },
    Row {
        id: "L07",
        input: "10,000 simulated runs with faults of network, disk and processes",
        required: "all invariants hold, and a failure can be repeated by its seed",
        run: &[],
        tests: &[
            (
                "hub/tests/simulation/main.rs",
                "r_sec_12_l07_every_invariant_holds_under_seeded_faults",
            ),
            (
                "hub/tests/simulation/main.rs",
                "r_sec_12_l07_a_seed_repeats_its_run_exactly",
            ),
        ],
        pending: None,
    },
    Row {
        id: "L08",
        input: "a collector that is down, slow, or refuses everything",
        required: "calls are unaffected, the queue is bounded, and what is dropped is counted",
        run: &[],
        tests: &[
            (
                COLLECTOR_DOWN,
                "r_obs_02_a_hanging_collector_does_not_delay_requests",
            ),
            (
                COLLECTOR_DOWN,
                "r_obs_02_an_unreachable_collector_does_not_delay_requests",
            ),
            (DELIVERY, "r_obs_02_an_overloaded_collector_is_asked_again"),
            (
                DELIVERY,
                "r_obs_02_a_hanging_collector_does_not_delay_requests",
            ),
        ],
        pending: None,
    },
];

fn searching_while_reloading() {
    const CLIENTS: usize = 100;
    const RELOADS: usize = 200;
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(async {
        let home = Home::with_example();
        let pegboard = home.open().await;
        let hub = pegboard.hub().clone();
        let specs: Vec<_> = hub
            .catalog()
            .servers()
            .map(|entry| (*entry.spec).clone())
            .collect();
        let is_over = Arc::new(AtomicBool::new(false));
        let clients = (0..CLIENTS).map(|_| {
            let (hub, is_over) = (hub.clone(), is_over.clone());
            tokio::spawn(async move {
                let mut seen = BTreeSet::new();
                while !is_over.load(Ordering::Relaxed) {
                    hub.ensure_known().await;
                    let catalog = hub.catalog();
                    let hits = catalog.search("numbers", 50).len();
                    seen.insert((catalog.tools().count(), hits > 0));
                    tokio::task::yield_now().await;
                }
                seen
            })
        });
        let clients: Vec<_> = clients.collect();
        for reload in 0..RELOADS {
            let changed = specs.iter().cloned().map(|mut spec| {
                spec.enabled = reload % 2 == 1;
                spec
            });
            hub.apply(changed.collect::<Vec<_>>()).await;
            tokio::task::yield_now().await;
        }
        is_over.store(true, Ordering::Relaxed);
        for client in clients {
            for state in client.await.expect("no client panics") {
                let whole = [(EXAMPLE_TOOLS, true), (0, false)];
                assert!(whole.contains(&state), "{state:?} is neither state");
            }
        }
        pegboard.close().await;
        home.assert_nothing_runs();
    });
}

fn more_calls_than_places() {
    let limits = Limits::default();
    let places = limits.calls_per_server + limits.queued_calls_per_server;
    let callers = places + 80;
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(async {
        let home = Home::with_example();
        let hanging = Script::new().tools(["wait"]).hang(Moment::Call);
        home.add_script("slow", &hanging, "call_timeout = \"60s\"");
        let pegboard = home.open().await;
        let hub = pegboard.hub().clone();
        hub.refresh(RefreshScope::All, false)
            .await
            .expect("a refresh");
        let (sender, mut ended) = tokio::sync::mpsc::unbounded_channel();
        let calls = (0..callers).map(|number| {
            let (hub, sender) = (hub.clone(), sender.clone());
            tokio::spawn(async move {
                let request = call(number, "slow__wait", "{}");
                let _ = sender.send(hub.call(&request).await.map(drop));
            })
        });
        let calls: Vec<_> = calls.collect();
        for _ in 0..callers - places {
            let outcome = tokio::time::timeout(TIMEOUT, ended.recv()).await;
            let error = outcome
                .expect("it ends soon")
                .expect("an outcome")
                .unwrap_err();
            assert_eq!(error.reason, Reason::Overloaded, "{error}");
            assert!(error.retryable, "{error}");
        }
        let other = call(0, "example__echo", r#"{"text":"hi"}"#);
        let answered = tokio::time::timeout(TIMEOUT, hub.call(&other)).await;
        answered
            .expect("it ends soon")
            .expect("the other server answers");
        assert!(ended.try_recv().is_err(), "the others run or wait");
        calls.iter().for_each(tokio::task::JoinHandle::abort);
        pegboard.close().await;
        home.assert_nothing_runs();
    });
}

fn call(session: usize, tool: &str, arguments: &str) -> CallRequest {
    let arguments = RawValue::from_string(arguments.to_owned()).expect("JSON");
    CallRequest::new(SessionId(format!("client {session}")), tool, arguments)
}
