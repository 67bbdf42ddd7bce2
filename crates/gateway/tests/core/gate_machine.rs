//! No sequence of calls, decisions, changes and reloads runs a tool version that no rule and no person allowed. Covers
//! policies, grants, annotations, profiles, names, tool changes at any time, and both approval channels.
//!
//! Two hubs share a store and a ledger like two processes. Clients call through the gateway of the first; the second
//! refreshes and revokes. [`crate::gate_model`] decides whether a call that reached a server was allowed.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use pegboard_gateway::{Gateway, Mode};
use pegboard_hub::{ApprovalSettings, Hub, RefreshScope};
use pegboard_model::{
    ApprovalDecision, AskDestructive, AskVia, ClientApproval, Fingerprint, GlobalRules, Layer,
    Origin, Policy, PolicyRule, ServerSpec,
};
use pegboard_testkit::{FakeClock, server as named};
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use crate::client::{Client, profile, settings};
use crate::fake::{Server, Servers, parts, text};
use crate::gate_model::{
    Approval, Channel, Hint, NAMES, PATTERNS, PROFILES, Ruled, Rules, TOOLS, Version,
};

const TIMEOUT: Duration = Duration::from_secs(60);

/// The profile of each client, and whether it can ask its user.
const CLIENTS: [(&str, bool); 5] = [
    ("", true),
    ("safe", true),
    ("", false),
    ("bad", true),
    ("direct", false),
];

const CHOICES: [(&str, ApprovalDecision); 4] = [
    ("allow once", ApprovalDecision::Once),
    ("allow for this session", ApprovalDecision::Session),
    ("always allow", ApprovalDecision::Always),
    ("refuse", ApprovalDecision::Refuse),
];

#[derive(Clone, Debug)]
enum Step {
    Call {
        client: usize,
        name: usize,
        through_meta_tool: bool,
    },
    /// Responds to the oldest or newest open approval request in a client.
    AnswerInClient {
        oldest: bool,
        choice: usize,
    },
    /// Decides the oldest or newest call in the inbox.
    AnswerInInbox {
        oldest: bool,
        decision: ApprovalDecision,
    },
    /// Changes a server's version of a tool.
    Change {
        tool: usize,
        version: Version,
    },
    /// Refreshes a server from the first or second process.
    Refresh {
        server: &'static str,
        by_other: bool,
    },
    /// Lets everything that waits time out.
    Expire,
    Revoke {
        tool: usize,
        by_other: bool,
    },
    Rule(Rules),
    Ask {
        via: AskVia,
        client: ClientApproval,
    },
}

fn rules() -> impl Strategy<Value = Rules> {
    use Policy::{Allow, Ask, Deny, Disable};
    let policy = select(vec![Allow, Allow, Ask, Ask, Ask, Deny, Disable]);
    let ask_destructive = select(vec![
        AskDestructive::Never,
        AskDestructive::WhenPossible,
        AskDestructive::Always,
    ]);
    let rules = proptest::collection::vec((select(&PATTERNS[..]), policy), 0..4);
    // Often the default, under which only an earlier grant causes an approval request.
    let none = Just((Vec::new(), AskDestructive::WhenPossible));
    let any = (rules, ask_destructive);
    prop_oneof![3 => any, 1 => none].prop_map(|(rules, ask_destructive)| Rules {
        rules,
        ask_destructive,
    })
}

fn step() -> impl Strategy<Value = Step> {
    use ApprovalDecision::{Always, Once, Refuse, Session};
    let decision = select(vec![Once, Once, Session, Session, Always, Always, Refuse]);
    let hint = select(vec![Hint::None, Hint::ReadOnly, Hint::Destructive]);
    let version = (0..3u8, hint).prop_map(|(number, hint)| Version { number, hint });
    // Any name and any client, often the same ones, so that decisions affect later calls.
    let name = prop_oneof![0..NAMES.len(), select(vec![0, 4, 6])];
    let client = prop_oneof![0..CLIENTS.len(), select(vec![0, 1, 2])];
    let changed = prop_oneof![0..TOOLS.len(), select(vec![0, 1])];
    let choice = select(vec![0, 0, 1, 1, 2, 3]);
    let via = select(vec![
        AskVia::Client,
        AskVia::Inbox,
        AskVia::Both,
        AskVia::Both,
    ]);
    let reach = select(vec![ClientApproval::Call, ClientApproval::Session]);
    prop_oneof![
        14 => (client, name, any::<bool>()).prop_map(
            |(client, name, through_meta_tool)| Step::Call { client, name, through_meta_tool }
        ),
        8 => (any::<bool>(), choice)
            .prop_map(|(oldest, choice)| Step::AnswerInClient { oldest, choice }),
        9 => (any::<bool>(), decision)
            .prop_map(|(oldest, decision)| Step::AnswerInInbox { oldest, decision }),
        6 => (changed, version).prop_map(|(tool, version)| Step::Change { tool, version }),
        4 => (any::<bool>(), any::<bool>()).prop_map(|(is_evil, by_other)| Step::Refresh {
            server: if is_evil { "evil" } else { "a" },
            by_other,
        }),
        1 => Just(Step::Expire),
        1 => (0..TOOLS.len(), any::<bool>()).prop_map(|(tool, by_other)| Step::Revoke { tool, by_other }),
        3 => rules().prop_map(Step::Rule),
        2 => (via, reach).prop_map(|(via, client)| Step::Ask { via, client }),
    ]
}

/// How often each path to a run was taken, so that the test shows its coverage.
#[derive(Default)]
struct Reached {
    by_rule: AtomicUsize,
    as_is: AtomicUsize,
    unasked: AtomicUsize,
    once_in_client: AtomicUsize,
    session_in_client: AtomicUsize,
    once_in_inbox: AtomicUsize,
    session_in_inbox: AtomicUsize,
    grant: AtomicUsize,
    held_back: AtomicUsize,
    forbidden: AtomicUsize,
}

/// A call that reached a server.
#[derive(Clone, Debug)]
struct Ran {
    call: usize,
    tool: (&'static str, &'static str),
    /// The version that the server has at that time.
    present: Version,
    /// The version that either process listed last.
    listed: Option<Fingerprint>,
    /// The version in the calling process's catalog.
    known: Option<Fingerprint>,
}

struct Made {
    client: usize,
    name: usize,
    via: AskVia,
}

struct World {
    hub: Hub,
    other: Hub,
    clients: Vec<Client>,
    versions: Arc<Mutex<BTreeMap<(&'static str, &'static str), Version>>>,
    lists: BTreeMap<&'static str, Arc<Mutex<Vec<Value>>>>,
    ran: Arc<Mutex<Vec<Ran>>>,
    specs: Vec<ServerSpec>,
    clock: FakeClock,
}

/// The hubs and their servers. Every call that arrives is recorded.
async fn world(is_strict: bool) -> World {
    let first = Version {
        number: 0,
        hint: Hint::None,
    };
    let versions: Arc<Mutex<_>> = Arc::new(Mutex::new(
        TOOLS.map(|tool| (tool, first)).into_iter().collect(),
    ));
    let ran: Arc<Mutex<Vec<Ran>>> = Arc::default();
    let catalog_of: Arc<Mutex<Option<Hub>>> = Arc::default();
    let lists: BTreeMap<&'static str, Arc<Mutex<Vec<Value>>>> = ["a", "evil"]
        .map(|server| (server, Arc::new(Mutex::new(definitions(&versions, server)))))
        .into_iter()
        .collect();
    let all_servers: Arc<Mutex<Option<Arc<Servers>>>> = Arc::default();
    let servers = ["a", "evil"].map(|server| {
        let mut fake = Server::new(server, &[]).modern();
        fake.changing = Some(lists[server].clone());
        let (versions, ran) = (versions.clone(), ran.clone());
        let (hub, all) = (catalog_of.clone(), all_servers.clone());
        fake.on_call(move |name, arguments, _| {
            let tool = *TOOLS
                .iter()
                .find(|tool| **tool == (server, &*name))
                .unwrap();
            let hub = hub.lock().unwrap().clone().unwrap();
            let all = all.lock().unwrap().clone().unwrap();
            let listed = all.listed.lock().unwrap();
            let listed = listed[server].iter().find(|listed| listed["name"] == *name);
            let call = arguments["text"].as_str().unwrap().parse().unwrap();
            ran.lock().unwrap().push(Ran {
                call,
                tool,
                present: versions.lock().unwrap()[&tool],
                listed: listed.and_then(|listed| pegboard_guard::fingerprint(&listed.to_string())),
                known: known(&hub, tool),
            });
            async { Ok(text("ran")) }
        })
    });
    let (mut parts, mut specs, all) = parts(servers.to_vec());
    *all_servers.lock().unwrap() = Some(all.clone());
    if is_strict {
        for spec in &mut specs {
            spec.ttl = Duration::ZERO;
        }
    }
    let clock = FakeClock::at(1_000_000);
    parts.clock = Arc::new(clock.clone());
    parts.settings.asking = asking(AskVia::Both, ClientApproval::Call);
    let second = pegboard_hub::HubParts {
        ledger: parts.ledger.clone(),
        encoder: None,
        recorder: parts.recorder.clone(),
        store: parts.store.clone(),
        connector: parts.connector.clone(),
        clock: parts.clock.clone(),
        approver: parts.approver.clone(),
        settings: parts.settings.clone(),
        limits: parts.limits.clone(),
    };
    let hub = Hub::open(parts, specs.clone()).await.unwrap().0;
    hub.ensure_known().await;
    let other = Hub::open(second, specs.clone()).await.unwrap().0;
    *catalog_of.lock().unwrap() = Some(hub.clone());
    let profiles = PROFILES.map(|(name, servers)| {
        let mode = match name {
            "direct" => Mode::Direct,
            _ => Mode::Lazy,
        };
        (name, profile(servers, mode))
    });
    let gateway = Gateway::new(hub.clone(), settings(&profiles));
    let mut clients = Vec::new();
    for (profile, can_ask) in CLIENTS {
        let capabilities = match can_ask {
            true => json!({"elicitation": {}}),
            false => json!({}),
        };
        clients.push(Client::legacy(&gateway, profile, capabilities).await);
    }
    World {
        hub,
        other,
        clients,
        versions,
        lists,
        ran,
        specs,
        clock,
    }
}

type Versions = Mutex<BTreeMap<(&'static str, &'static str), Version>>;

fn definitions(versions: &Versions, server: &str) -> Vec<Value> {
    let versions = versions.lock().unwrap();
    let own = versions.iter().filter(|((of, _), _)| *of == server);
    own.map(|((_, name), version)| version.definition(name))
        .collect()
}

fn known(hub: &Hub, tool: (&str, &str)) -> Option<Fingerprint> {
    let catalog = hub.catalog();
    let entry = catalog.server(&named(tool.0))?;
    let mut tools = entry.record.tools.iter();
    Some(tools.find(|known| known.name == tool.1)?.fingerprint)
}

fn asking(via: AskVia, client: ClientApproval) -> ApprovalSettings {
    ApprovalSettings {
        timeout: TIMEOUT,
        via,
        client,
    }
}

impl World {
    async fn apply(&self, rules: &Rules) {
        let origin = Origin {
            layer: Layer::User,
            file: None,
            line: None,
        };
        let rule = |(pattern, policy): &(&str, Policy)| PolicyRule {
            pattern: (*pattern).to_owned(),
            policy: *policy,
            origin: origin.clone(),
        };
        let global = Arc::new(GlobalRules {
            rules: rules.rules.iter().map(rule).collect(),
            ask_destructive: rules.ask_destructive,
        });
        let mut specs = self.specs.clone();
        for spec in &mut specs {
            spec.rules.global = global.clone();
        }
        for hub in [&self.hub, &self.other] {
            hub.set_rules(global.clone());
            hub.apply(specs.clone()).await;
        }
    }

    fn call(
        &self,
        number: usize,
        client: usize,
        name: &str,
        through_meta_tool: bool,
    ) -> JoinHandle<Value> {
        let arguments = json!({"text": number.to_string()});
        let params = match through_meta_tool {
            true => {
                json!({"name": "call_tool", "arguments": {"tool_name": name, "arguments": arguments}})
            }
            false => json!({"name": name, "arguments": arguments}),
        };
        let client = self.clients[client].clone();
        tokio::spawn(async move {
            let response = client.bytes(json!(number), "tools/call", params).await;
            response.map_or(Value::Null, |(bytes, _)| {
                serde_json::from_slice(&bytes).unwrap()
            })
        })
    }
}

/// Runs all tasks until they wait. The paused clock only advances when all tasks are idle.
async fn settle() {
    for _ in 0..3 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// The number of the call whose arguments are in a text.
fn call_in(text: &str) -> usize {
    let (_, rest) = text.split_once(r#"{"text":""#).unwrap();
    rest.split('"').next().unwrap().parse().unwrap()
}

/// An open approval request in a client.
struct Question {
    client: usize,
    id: Value,
    call: usize,
    version: Option<Fingerprint>,
    reach: ClientApproval,
}

/// The history of the run, for the model.
struct Record {
    rules: Rules,
    via: AskVia,
    reach: ClientApproval,
    calls: BTreeMap<usize, Made>,
    approvals: Vec<Approval>,
    questions: Vec<Question>,
    seen: BTreeSet<(usize, String)>,
}

impl Record {
    fn tool_of(&self, call: usize) -> (&'static str, &'static str) {
        NAMES[self.calls[&call].name].1.unwrap()
    }

    fn approve(
        &mut self,
        channel: Channel,
        decision: ApprovalDecision,
        call: usize,
        version: Fingerprint,
    ) {
        self.approvals.push(Approval {
            channel,
            decision,
            call,
            session: self.calls[&call].client,
            tool: self.tool_of(call),
            version,
        });
    }

    /// Records new approval requests with the version they are about.
    fn notice_questions(&mut self, world: &World) {
        for (number, client) in world.clients.iter().enumerate() {
            for question in client.inbox.of("elicitation/create") {
                if !self.seen.insert((number, question["id"].to_string())) {
                    continue;
                }
                let call = call_in(question["params"]["message"].as_str().unwrap());
                self.questions.push(Question {
                    client: number,
                    id: question["id"].clone(),
                    call,
                    version: known(&world.hub, self.tool_of(call)),
                    reach: self.reach,
                });
            }
        }
    }

    /// Finds the reason why a run was allowed, or panics.
    fn judge(&self, ran: &Ran, is_strict: bool, reached: &Reached) {
        let made = &self.calls[&ran.call];
        let (written, means) = NAMES[made.name];
        assert_eq!(
            means,
            Some(ran.tool),
            "`{written}` means another tool: {ran:?}"
        );
        let (profile, can_ask) = CLIENTS[made.client];
        let holds = PROFILES
            .iter()
            .find(|(name, _)| *name == profile)
            .unwrap()
            .1;
        assert!(
            holds.contains(&ran.tool.0),
            "outside of `{profile}`: {ran:?}"
        );
        let refusals = self.approvals.iter();
        let mut refusals =
            refusals.filter(|approval| approval.decision == ApprovalDecision::Refuse);
        assert!(
            !refusals.any(|refusal| refusal.call == ran.call),
            "refused: {ran:?}"
        );

        // Within the TTL of its list, a server is trusted not to have changed.
        let (server, tool) = ran.tool;
        let version_of = |print: Option<Fingerprint>| {
            let hints = [Hint::None, Hint::ReadOnly, Hint::Destructive];
            let versions = hints.iter().flat_map(|hint| {
                (0..3).map(|number| Version {
                    number,
                    hint: *hint,
                })
            });
            let mut versions = versions.filter(|version| Some(version.fingerprint(tool)) == print);
            versions.next().unwrap()
        };
        let version = match is_strict {
            true => ran.present,
            false => version_of(ran.listed),
        };
        let print = version.fingerprint(tool);
        let mut ruled = self.rules.ruled(server, tool, version.hint);
        // Only decisions by a rule are compared with other processes' lists, not the default.
        if !is_strict && ruled == Ruled::AskedIfPossible {
            ruled = self.rules.ruled(server, tool, version_of(ran.known).hint);
        }
        let session = made.client;
        let covering = (self.approvals.iter())
            .find(|approval| approval.covers(ran.call, session, ran.tool, print));
        let has_former = self.approvals.iter().any(|approval| {
            approval.is_grant() && approval.tool == ran.tool && approval.version != print
        });
        let cannot_ask = !can_ask || self.via == AskVia::Inbox || made.via == AskVia::Inbox;
        let way = match (ruled, covering) {
            (Ruled::Allowed, _) => &reached.by_rule,
            (Ruled::Forbidden, _) => panic!("forbidden: {ran:?} {:?}", self.rules),
            (_, Some(approval)) => match (approval.channel, approval.decision) {
                (Channel::Client(_), ApprovalDecision::Once) => &reached.once_in_client,
                (Channel::Client(_), _) => &reached.session_in_client,
                (Channel::Inbox, ApprovalDecision::Once) => &reached.once_in_inbox,
                (Channel::Inbox, ApprovalDecision::Session) => &reached.session_in_inbox,
                (Channel::Inbox, _) => &reached.grant,
            },
            (Ruled::AllowedAsIs, None) if !has_former => &reached.as_is,
            (Ruled::AskedIfPossible, None) if cannot_ask && !has_former => &reached.unasked,
            (_, None) => panic!(
                "nothing allowed it ({ruled:?}): {ran:?} {version:?}\n{:?}\n{:#?}",
                self.rules, self.approvals
            ),
        };
        way.fetch_add(1, Ordering::Relaxed);
    }
}

async fn run(rules: Rules, steps: Vec<Step>, is_strict: bool, reached: &Reached) {
    let world = world(is_strict).await;
    world.apply(&rules).await;
    let mut record = Record {
        rules,
        via: AskVia::Both,
        reach: ClientApproval::Call,
        calls: BTreeMap::new(),
        approvals: Vec::new(),
        questions: Vec::new(),
        seen: BTreeSet::new(),
    };
    let (mut calls, mut judged) = (Vec::new(), 0);
    for (number, step) in steps.into_iter().enumerate() {
        world.clock.advance(Duration::from_millis(1));
        take(&world, &mut record, &mut calls, number, &step).await;
        settle().await;
        record.notice_questions(&world);
        let ran = world.ran.lock().unwrap().clone();
        for ran in &ran[judged..] {
            record.judge(ran, is_strict, reached);
        }
        judged = ran.len();
        let numbers: BTreeSet<usize> = ran.iter().map(|ran| ran.call).collect();
        assert_eq!(numbers.len(), ran.len(), "no call runs twice: {ran:?}");
        if let Step::Revoke { tool, by_other } = step {
            record.approvals.retain(|approval| {
                let is_taken = match by_other {
                    true => approval.is_grant(),
                    false => approval.decision != ApprovalDecision::Once,
                };
                !is_taken || approval.tool != TOOLS[tool]
            });
        }
    }
    for call in calls {
        if !call.is_finished() {
            call.abort();
            continue;
        }
        let response = call.await.unwrap().to_string();
        if response.contains("TOOL_CHANGED") {
            reached.held_back.fetch_add(1, Ordering::Relaxed);
        }
        if response.contains("POLICY_DENIED") || response.contains("TOOL_DISABLED") {
            reached.forbidden.fetch_add(1, Ordering::Relaxed);
        }
    }
    world.hub.shutdown().await;
    world.other.shutdown().await;
}

async fn take(
    world: &World,
    record: &mut Record,
    calls: &mut Vec<JoinHandle<Value>>,
    number: usize,
    step: &Step,
) {
    match step {
        Step::Call {
            client,
            name,
            through_meta_tool,
        } => {
            let made = Made {
                client: *client,
                name: *name,
                via: record.via,
            };
            record.calls.insert(number, made);
            calls.push(world.call(number, *client, NAMES[*name].0, *through_meta_tool));
        }
        Step::AnswerInClient { oldest, choice } => {
            let Some(last) = record.questions.len().checked_sub(1) else {
                return;
            };
            let question = record.questions.remove(if *oldest { 0 } else { last });
            let (output, decision) = CHOICES[*choice];
            let result = json!({"action": "accept", "content": {"decision": output}});
            world.clients[question.client]
                .notify(json!({"jsonrpc": "2.0", "id": question.id, "result": result}));
            let channel = Channel::Client(question.reach);
            record.approve(channel, decision, question.call, question.version.unwrap());
        }
        Step::AnswerInInbox { oldest, decision } => {
            let waiting = world.hub.approvals().await.unwrap();
            let chosen = match oldest {
                true => waiting.first(),
                false => waiting.last(),
            };
            let Some(request) = chosen else { return };
            let answered = world
                .hub
                .decide_approval(&request.id, *decision, "test")
                .await;
            let answered = answered.unwrap();
            let call = call_in(&answered.arguments);
            let version = answered.version;
            let tool = (version.server.as_ref().unwrap().as_str(), &*version.tool);
            assert_eq!(tool, record.tool_of(call), "the person sees what is called");
            record.approve(Channel::Inbox, *decision, call, version.fingerprint);
        }
        Step::Change { tool, version } => {
            let tool = TOOLS[*tool];
            world.versions.lock().unwrap().insert(tool, *version);
            *world.lists[tool.0].lock().unwrap() = definitions(&world.versions, tool.0);
        }
        Step::Refresh { server, by_other } => {
            let hub = if *by_other { &world.other } else { &world.hub };
            let _ = hub.refresh(RefreshScope::One(named(server)), true).await;
        }
        Step::Expire => {
            record.questions.clear();
            world.clock.advance(TIMEOUT * 2);
            tokio::time::advance(TIMEOUT * 2).await;
        }
        Step::Revoke { tool, by_other } => {
            let hub = if *by_other { &world.other } else { &world.hub };
            let (server, tool) = TOOLS[*tool];
            hub.revoke_grant(Some(&named(server)), tool).await.unwrap();
        }
        Step::Rule(rules) => {
            world.apply(rules).await;
            record.rules = rules.clone();
        }
        Step::Ask { via, client } => {
            world.hub.set_approval_settings(asking(*via, *client));
            (record.via, record.reach) = (*via, *client);
        }
    }
}

#[test]
fn r_sec_08_no_sequence_runs_a_version_that_no_rule_and_no_person_allowed() {
    let reached = Reached::default();
    let mut runner = TestRunner::new(ProptestConfig {
        cases: 384,
        failure_persistence: None,
        ..ProptestConfig::default()
    });
    let steps = proptest::collection::vec(step(), 1..80);
    let result = runner.run(
        &(rules(), steps, any::<bool>()),
        |(rules, steps, is_strict)| {
            let mut builder = tokio::runtime::Builder::new_current_thread();
            let runtime = builder.enable_all().start_paused(true).build().unwrap();
            runtime.block_on(run(rules, steps, is_strict, &reached));
            Ok(())
        },
    );
    if let Err(error) = result {
        panic!("{error}");
    }
    let Reached {
        by_rule,
        as_is,
        unasked,
        once_in_client,
        session_in_client,
        once_in_inbox,
        session_in_inbox,
        grant,
        held_back,
        forbidden,
    } = reached;
    for (way, count) in [
        ("a rule", by_rule),
        ("a rule about the version", as_is),
        ("no one to ask", unasked),
        ("once in the client", once_in_client),
        ("the session in the client", session_in_client),
        ("once in the inbox", once_in_inbox),
        ("the session in the inbox", session_in_inbox),
        ("a grant", grant),
        ("held back as changed", held_back),
        ("forbidden", forbidden),
    ] {
        let count = count.into_inner();
        println!("{way}: {count}");
        assert!(count > 0, "no case reached: {way}");
    }
}
