//! Servers that fail as the seed says.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use pegboard_model::{Era, Reason, ServerSpec, ToolError, ToolResult};
use pegboard_upstream::{
    Announcement, CallOptions, CallOutcome, Connect, ConnectHint, ForwardedRequest, Handshake,
    Health, MachineLoad, OfferKind, ToolListing, Upstream,
};
use serde_json::json;
use serde_json::value::RawValue;
use tokio::sync::{broadcast, watch};

use crate::random::Random;

/// Tools that every version of a server has.
pub(crate) const TOOLS_PER_SERVER: usize = 3;
/// The one among them that changes something, so that it must never run twice for one call.
pub(crate) const WRITING_TOOL: &str = "write";
/// A tool that is held back in every mode of review. It is listed, and must never be offered or called.
pub(crate) const HELD_TOOL: &str = "held";

/// Every server of a run.
pub(crate) struct Servers {
    random: Mutex<BTreeMap<String, Random>>,
    seed: Random,
    /// The chance of a fault per operation, in percent.
    pub(crate) fault_chance: AtomicU64,
    /// The version that each server has now; its tools carry it in their names.
    pub(crate) versions: Mutex<BTreeMap<String, u64>>,
    /// How often the effect of each call took place, by its arguments.
    pub(crate) effects: Mutex<BTreeMap<String, usize>>,
    /// Connections that are open now, by server, and the most there were at once.
    open: Mutex<BTreeMap<String, Vec<Arc<Connection>>>>,
    pub(crate) most_open: AtomicU64,
    pub(crate) connects: AtomicU64,
    pub(crate) faults: AtomicU64,
}

impl Servers {
    pub(crate) fn new(seed: &Random) -> Arc<Self> {
        Arc::new(Self {
            random: Mutex::default(),
            seed: seed.clone(),
            fault_chance: AtomicU64::new(0),
            versions: Mutex::default(),
            effects: Mutex::default(),
            open: Mutex::default(),
            most_open: AtomicU64::new(0),
            connects: AtomicU64::new(0),
            faults: AtomicU64::new(0),
        })
    }

    fn draw<T>(&self, server: &str, draw: impl FnOnce(&mut Random) -> T) -> T {
        let mut all = self.random.lock().unwrap();
        let part = server.bytes().fold(7u64, |sum, byte| {
            sum.wrapping_mul(31).wrapping_add(u64::from(byte))
        });
        draw(
            all.entry(server.to_owned())
                .or_insert_with(|| self.seed.part(part)),
        )
    }

    /// Draws whether an operation of a server fails now.
    fn fails(&self, server: &str) -> bool {
        let chance = self.fault_chance.load(Ordering::Relaxed);
        let fails = self.draw(server, |random| random.percent(chance));
        if fails {
            self.faults.fetch_add(1, Ordering::Relaxed);
        }
        fails
    }

    async fn delay(&self, server: &str) {
        let millis = self.draw(server, |random| random.below(400));
        tokio::time::sleep(Duration::from_millis(millis)).await;
    }

    pub(crate) fn version(&self, server: &str) -> u64 {
        self.versions
            .lock()
            .unwrap()
            .get(server)
            .copied()
            .unwrap_or_default()
    }

    /// The server's next version; a running one announces the change.
    pub(crate) fn change(&self, server: &str) {
        *self
            .versions
            .lock()
            .unwrap()
            .entry(server.to_owned())
            .or_default() += 1;
        for connection in self.open.lock().unwrap().get(server).into_iter().flatten() {
            connection.changed.send_modify(|count| *count += 1);
        }
    }

    /// The server's process dies.
    pub(crate) fn crash(&self, server: &str) {
        for connection in self
            .open
            .lock()
            .unwrap()
            .remove(server)
            .into_iter()
            .flatten()
        {
            connection.end(Reason::ServerExited);
        }
    }

    pub(crate) fn open_connections(&self) -> usize {
        self.open.lock().unwrap().values().map(Vec::len).sum()
    }
}

/// The names of a server's tools in one version.
pub(crate) fn tool_names(version: u64) -> [String; TOOLS_PER_SERVER] {
    [
        "read".to_owned(),
        WRITING_TOOL.to_owned(),
        format!("only_v{version}"),
    ]
}

pub(crate) struct Connection {
    server: String,
    all: Arc<Servers>,
    handshake: Handshake,
    ended: watch::Sender<Option<Reason>>,
    changed: watch::Sender<u64>,
    announced: broadcast::Sender<Announcement>,
    is_closed: AtomicBool,
}

impl Connection {
    fn end(&self, reason: Reason) {
        self.ended.send_if_modified(|ended| {
            let is_first = ended.is_none();
            ended.get_or_insert(reason);
            is_first
        });
    }

    fn die(&self) -> ToolError {
        let mut open = self.all.open.lock().unwrap();
        if let Some(of_server) = open.get_mut(&self.server) {
            of_server.retain(|other| !std::ptr::eq(&raw const **other, self));
        }
        drop(open);
        self.end(Reason::ServerExited);
        ToolError::new(Reason::ServerExited, "the server exited")
    }

    fn check_alive(&self) -> ToolResult<()> {
        match self.is_alive() {
            true => Ok(()),
            false => Err(ToolError::new(Reason::ServerExited, "the server exited")),
        }
    }
}

pub(crate) struct Connector(pub(crate) Arc<Servers>);

#[async_trait]
impl Connect for Connector {
    async fn connect(
        &self,
        spec: &ServerSpec,
        _: &ConnectHint,
        budget: Duration,
    ) -> ToolResult<Arc<dyn Upstream>> {
        let server = spec.name.to_string();
        self.0.connects.fetch_add(1, Ordering::Relaxed);
        self.0.delay(&server).await;
        if self.0.fails(&server) {
            return match self.0.draw(&server, |random| random.below(3)) {
                0 => Err(ToolError::new(Reason::SpawnNotFound, "no such command")),
                1 => Err(ToolError::new(Reason::HandshakeFailed, "not MCP")),
                _ => {
                    tokio::time::sleep(budget).await;
                    Err(ToolError::new(Reason::DiscoveryTimeout, "the server hangs"))
                }
            };
        }
        let connection = Arc::new(Connection {
            server: server.clone(),
            all: self.0.clone(),
            handshake: Handshake {
                era: Era::Modern,
                protocol_version: "2026-07-28".into(),
                info: None,
                instructions: None,
                list_changed: true,
                declares_tools: None,
                capabilities: None,
                noise: 0,
            },
            ended: watch::Sender::new(None),
            changed: watch::Sender::new(0),
            announced: broadcast::Sender::new(16),
            is_closed: AtomicBool::new(false),
        });
        let mut open = self.0.open.lock().unwrap();
        let of_server = open.entry(server).or_default();
        of_server.push(connection.clone());
        self.0
            .most_open
            .fetch_max(of_server.len() as u64, Ordering::Relaxed);
        Ok(connection)
    }

    fn load(&self) -> MachineLoad {
        MachineLoad::Low
    }
}

#[async_trait]
impl Upstream for Connection {
    fn handshake(&self) -> &Handshake {
        &self.handshake
    }

    async fn list_tools(&self) -> ToolResult<ToolListing> {
        self.check_alive()?;
        let version = self.all.version(&self.server);
        self.all.delay(&self.server).await;
        self.check_alive()?;
        if self.all.fails(&self.server) {
            return match self.all.draw(&self.server, |random| random.below(3)) {
                0 => Err(ToolError::new(Reason::ServerError, "no list today")),
                1 => Err(self.die()),
                _ => {
                    tokio::time::sleep(Duration::from_secs(3600)).await;
                    Err(ToolError::new(
                        Reason::DiscoveryTimeout,
                        "the list never came",
                    ))
                }
            };
        }
        let held = std::iter::once(HELD_TOOL.to_owned());
        let tools = tool_names(version).into_iter().chain(held).map(|name| {
            let read_only = name != WRITING_TOOL;
            let hidden = if name == HELD_TOOL {
                "\u{e0052}\u{e0055}\u{e004e}"
            } else {
                ""
            };
            let tool = json!({
                "name": name,
                "description": format!("Version {version}.{hidden}"),
                "inputSchema": {"type": "object"},
                "annotations": {"readOnlyHint": read_only},
            });
            RawValue::from_string(tool.to_string()).unwrap()
        });
        Ok(ToolListing {
            tools: tools.collect(),
            ttl_ms: None,
            private: false,
            pages: 1,
        })
    }

    async fn call(
        &self,
        tool: &str,
        arguments: &RawValue,
        _: CallOptions,
    ) -> ToolResult<CallOutcome> {
        assert_ne!(tool, HELD_TOOL, "a tool that awaits review was called");
        self.check_alive()?;
        self.all.delay(&self.server).await;
        self.check_alive()?;
        let fault = self.all.fails(&self.server);
        let kind = self.all.draw(&self.server, |random| random.below(3));
        if fault && kind == 0 {
            return Err(self.die());
        }
        *self
            .all
            .effects
            .lock()
            .unwrap()
            .entry(arguments.get().to_owned())
            .or_default() += 1;
        if fault && kind == 1 {
            // The effect took place, and the caller never learns of it.
            return Err(self.die());
        }
        if fault {
            return Err(ToolError::new(Reason::CallTimeout, "no response in time"));
        }
        let text = format!("{}:{tool}:{}", self.server, arguments.get());
        let result = json!({"content": [{"type": "text", "text": text}]});
        let result = RawValue::from_string(result.to_string()).unwrap();
        Ok(CallOutcome::new(result))
    }

    async fn request(&self, _: ForwardedRequest<'_>, _: CallOptions) -> ToolResult<CallOutcome> {
        Err(ToolError::new(Reason::ServerError, "not simulated"))
    }

    async fn list_offers(&self, _: OfferKind) -> ToolResult<Vec<Box<RawValue>>> {
        Ok(Vec::new())
    }

    fn announcements(&self) -> broadcast::Receiver<Announcement> {
        self.announced.subscribe()
    }

    async fn watch_resource(&self, _: &str, _: bool) -> ToolResult<()> {
        Ok(())
    }

    fn list_changed(&self) -> watch::Receiver<u64> {
        self.changed.subscribe()
    }

    fn is_alive(&self) -> bool {
        self.ended.borrow().is_none()
    }

    async fn ended(&self) -> ToolError {
        let mut ended = self.ended.subscribe();
        let reason = ended.wait_for(Option::is_some).await.unwrap().unwrap();
        ToolError::new(reason, "the server exited")
    }

    fn health(&self) -> Health {
        Health::default()
    }

    fn recent_stderr(&self) -> String {
        String::new()
    }

    async fn close(&self) {
        if self.is_closed.swap(true, Ordering::Relaxed) {
            return;
        }
        self.all.delay(&self.server).await;
        self.end(Reason::Cancelled);
        let mut open = self.all.open.lock().unwrap();
        if let Some(of_server) = open.get_mut(&self.server) {
            of_server.retain(|other| !std::ptr::eq(&raw const **other, self));
        }
    }
}
