//! One run: steps drawn from the seed, and what must hold after each of them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use pegboard_hub::{CallRequest, Hub, HubParts, HubSettings, NoApprover, RefreshScope, SessionId};
use pegboard_model::{Clock, Limits, NoopRecorder, Reason, ReviewMode, ServerName, ServerSpec};
use pegboard_store::{MemoryLedger, Store};
use pegboard_testkit::{FakeClock, stdio_spec};
use serde_json::value::RawValue;
use tokio::task::JoinSet;

use crate::random::Random;
use crate::servers::{Connector, Servers, WRITING_TOOL, tool_names};
use crate::store::FaultyStore;

const SERVERS: [&str; 4] = ["alpha", "beta", "gamma", "delta"];
const STEPS: usize = 60;
/// Longer than every timeout together: what has not ended by then never ends.
const FOREVER: Duration = Duration::from_secs(24 * 3600);

/// How often each case was reached, so that a generator that reaches none of them is noticed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Totals {
    calls_answered: u64,
    calls_failed: u64,
    server_faults: u64,
    disk_faults: u64,
    connects: u64,
    restarts: u64,
    changes: u64,
    crashes: u64,
}

impl Totals {
    pub(crate) fn add(&mut self, other: &Self) {
        self.calls_answered += other.calls_answered;
        self.calls_failed += other.calls_failed;
        self.server_faults += other.server_faults;
        self.disk_faults += other.disk_faults;
        self.connects += other.connects;
        self.restarts += other.restarts;
        self.changes += other.changes;
        self.crashes += other.crashes;
    }

    pub(crate) fn assert_all_reached(&self) {
        let all = [
            self.calls_answered,
            self.calls_failed,
            self.server_faults,
            self.disk_faults,
            self.connects,
            self.restarts,
            self.changes,
            self.crashes,
        ];
        assert!(all.iter().all(|count| *count >= 100), "{self:?}");
    }
}

/// Runs one seed. Returns how often each case was reached, and the course of the run line by line.
pub(crate) fn simulate(seed: u64) -> (Totals, Vec<String>) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build()
        .unwrap();
    runtime.block_on(async {
        let mut run = Run::start(seed).await;
        for _ in 0..STEPS {
            run.step().await;
            run.check_catalog();
        }
        run.finish().await;
        (run.totals, run.course)
    })
}

struct CallEnd {
    number: u64,
    tool: String,
    arguments: String,
    expected: String,
    result: Result<String, Reason>,
}

struct Run {
    random: Random,
    servers: Arc<Servers>,
    store: Arc<FaultyStore>,
    clock: Arc<FakeClock>,
    hub: Hub,
    disabled: BTreeSet<&'static str>,
    calls: JoinSet<CallEnd>,
    call_count: u64,
    totals: Totals,
    course: Vec<String>,
}

impl Run {
    async fn start(seed: u64) -> Self {
        let random = Random::new(seed);
        let servers = Servers::new(&random.part(1));
        let store = Arc::new(FaultyStore::new(random.part(2)));
        let clock = Arc::new(FakeClock::at(1_000_000_000));
        let hub = open(&servers, &store, &clock, &BTreeSet::new()).await;
        Self {
            random: random.part(3),
            servers,
            store,
            clock,
            hub,
            disabled: BTreeSet::new(),
            calls: JoinSet::new(),
            call_count: 0,
            totals: Totals::default(),
            course: Vec::new(),
        }
    }

    async fn step(&mut self) {
        let server = SERVERS[self.random.below(SERVERS.len() as u64) as usize];
        match self.random.below(100) {
            0..45 => self.call(server),
            45..53 => {
                let force = self.random.percent(50);
                let which = RefreshScope::One(ServerName::parse(server).unwrap());
                self.spawn_refresh(which, force);
            }
            53..58 => self.spawn_refresh(RefreshScope::All, false),
            58..62 => {
                let hub = self.hub.clone();
                tokio::spawn(async move { hub.ensure_known().await });
            }
            62..70 => {
                self.totals.changes += 1;
                self.servers.change(server);
            }
            70..76 => {
                self.totals.crashes += 1;
                self.servers.crash(server);
            }
            76..82 => {
                let chance = [0, 20, 60][self.random.below(3) as usize];
                self.servers.fault_chance.store(chance, Ordering::Relaxed);
            }
            82..86 => {
                let chance = [0, 50, 100][self.random.below(3) as usize];
                self.store.fault_chance.store(chance, Ordering::Relaxed);
            }
            86..90 => {
                if !self.disabled.remove(server) {
                    self.disabled.insert(server);
                }
                self.hub.apply(specs(&self.disabled)).await;
            }
            90..93 => self.restart().await,
            _ => {
                let hours = self.random.below(48);
                self.clock.advance(Duration::from_secs(3600 * hours));
            }
        }
        let millis = self.random.below(700);
        tokio::time::sleep(Duration::from_millis(millis)).await;
        let mut ended = Vec::new();
        while let Some(call) = self.calls.try_join_next() {
            ended.push(call.expect("no call panics"));
        }
        self.check_calls(ended);
    }

    fn call(&mut self, server: &str) {
        self.call_count += 1;
        let number = self.call_count;
        let version = self.servers.version(server);
        let names = tool_names(version.saturating_sub(self.random.below(2)));
        let tool = names[self.random.below(names.len() as u64) as usize].clone();
        let arguments = format!(r#"{{"call":{number}}}"#);
        let raw = RawValue::from_string(arguments.clone()).unwrap();
        let session = SessionId("simulation".to_owned());
        let request = CallRequest::new(session, format!("{server}__{tool}"), raw);
        let expected = format!("{server}:{tool}:{arguments}");
        let hub = self.hub.clone();
        self.calls.spawn(async move {
            let result = tokio::time::timeout(FOREVER, hub.call(&request)).await;
            let result = result
                .expect("every call ends")
                .map_err(|error| error.reason);
            CallEnd {
                number,
                tool,
                arguments,
                expected,
                result: result.map(|outcome| {
                    let result: serde_json::Value =
                        serde_json::from_str(outcome.result.get()).unwrap();
                    result["content"][0]["text"].as_str().unwrap().to_owned()
                }),
            }
        });
    }

    fn spawn_refresh(&self, which: RefreshScope, force: bool) {
        let hub = self.hub.clone();
        tokio::spawn(async move {
            let refresh = tokio::time::timeout(FOREVER, hub.refresh(which, force)).await;
            refresh.expect("every refresh ends")
        });
    }

    /// Checks calls in the order in which they were made: which of two that end in the same moment is first is not
    /// part of the simulation.
    fn check_calls(&mut self, mut ended: Vec<CallEnd>) {
        ended.sort_by_key(|call| call.number);
        ended.into_iter().for_each(|call| self.check_call(call));
    }

    /// A response belongs to its request, and what changes something happens once at most.
    fn check_call(&mut self, call: CallEnd) {
        let effects = self.servers.effects.lock().unwrap();
        let effects = effects.get(&call.arguments).copied().unwrap_or_default();
        match &call.result {
            Ok(text) => {
                self.totals.calls_answered += 1;
                assert_eq!(*text, call.expected);
                assert!(effects >= 1, "{} was answered and never ran", call.expected);
            }
            Err(reason) => {
                self.totals.calls_failed += 1;
                assert_ne!(*reason, Reason::Internal, "{}", call.expected);
            }
        }
        let most = if call.tool == WRITING_TOOL { 1 } else { 2 };
        assert!(effects <= most, "{} ran {effects} times", call.expected);
        let result = call
            .result
            .as_ref()
            .map_or_else(|reason| reason.code(), |_| "ok");
        self.course.push(format!("{} {result}", call.expected));
    }

    /// Every listed server shows all tools of one version that it has or had, and nothing else: no tool that awaits a
    /// review.
    fn check_catalog(&mut self) {
        let known = self.known();
        for (server, tools) in &known {
            let current = self.servers.version(server);
            let is_whole = (0..=current).any(|version| {
                let names: BTreeSet<_> = tool_names(version).into_iter().collect();
                names == *tools
            });
            assert!(is_whole, "{server} at version {current} shows {tools:?}");
            assert!(
                !self.disabled.contains(server.as_str()),
                "{server} is disabled"
            );
        }
        let versions = known.values().map(|tools| tools.iter().nth(0).unwrap());
        let versions: Vec<_> = versions.map(String::as_str).collect();
        self.course.push(versions.join(" "));
    }

    /// The tools in the catalog, by server.
    fn known(&self) -> BTreeMap<String, BTreeSet<String>> {
        let mut known: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for tool in self.hub.catalog().tools() {
            let server = tool.server().unwrap().to_string();
            known
                .entry(server)
                .or_default()
                .insert(tool.name().to_owned());
        }
        known
    }

    async fn restart(&mut self) {
        self.totals.restarts += 1;
        self.close().await;
        self.hub = open(&self.servers, &self.store, &self.clock, &self.disabled).await;
    }

    /// Ends the hub: every call ends, and no connection stays open.
    async fn close(&mut self) {
        let shutdown = tokio::time::timeout(FOREVER, self.hub.shutdown()).await;
        shutdown.expect("the hub shuts down");
        let mut ended = Vec::new();
        while let Some(call) = self.calls.join_next().await {
            ended.push(call.expect("no call panics"));
        }
        self.check_calls(ended);
        assert_eq!(self.servers.open_connections(), 0, "a server still runs");
    }

    /// When the faults end, everything is known again, and it is stored.
    async fn finish(&mut self) {
        self.servers.fault_chance.store(0, Ordering::Relaxed);
        self.store.fault_chance.store(0, Ordering::Relaxed);
        self.disabled.clear();
        self.hub.apply(specs(&self.disabled)).await;
        self.clock.advance(FOREVER);
        tokio::time::sleep(FOREVER).await;
        let refreshed =
            tokio::time::timeout(FOREVER, self.hub.refresh(RefreshScope::All, true)).await;
        refreshed.expect("the refresh ends").unwrap();
        let expected: BTreeMap<String, BTreeSet<String>> = SERVERS
            .into_iter()
            .map(|server| {
                let names = tool_names(self.servers.version(server));
                (server.to_owned(), names.into_iter().collect())
            })
            .collect();
        assert_eq!(self.known(), expected);
        self.close().await;
        let connects = self.servers.connects.load(Ordering::Relaxed);
        self.hub = open(&self.servers, &self.store, &self.clock, &self.disabled).await;
        assert_eq!(self.known(), expected, "after a restart");
        assert_eq!(self.servers.connects.load(Ordering::Relaxed), connects);
        self.close().await;
        let most_open = self.servers.most_open.load(Ordering::Relaxed);
        assert!(
            most_open <= 2,
            "{most_open} connections to one server at once"
        );
        self.totals.connects = connects;
        self.totals.server_faults = self.servers.faults.load(Ordering::Relaxed);
        self.totals.disk_faults = self.store.faults.load(Ordering::Relaxed);
    }
}

fn specs(disabled: &BTreeSet<&'static str>) -> Vec<ServerSpec> {
    let spec = |name: &&'static str| ServerSpec {
        enabled: !disabled.contains(name),
        ..stdio_spec(name, "simulated", [*name])
    };
    SERVERS.iter().map(spec).collect()
}

async fn open(
    servers: &Arc<Servers>,
    store: &Arc<FaultyStore>,
    clock: &Arc<FakeClock>,
    disabled: &BTreeSet<&'static str>,
) -> Hub {
    let parts = HubParts {
        ledger: Arc::new(MemoryLedger::new()),
        encoder: None,
        recorder: Arc::new(NoopRecorder),
        store: store.clone() as Arc<dyn Store>,
        connector: Arc::new(Connector(servers.clone())),
        clock: clock.clone() as Arc<dyn Clock>,
        approver: Arc::new(NoApprover),
        settings: HubSettings {
            // Every version differs, and changes are served here; what is blocked is held back nevertheless.
            review: ReviewMode::Off,
            ..HubSettings::default()
        },
        limits: Limits::default(),
    };
    let (hub, _) = Hub::open(parts, specs(disabled)).await.unwrap();
    hub
}
