//! Each kind of bad server with nine good ones, in each mode and over each transport.

use std::collections::BTreeSet;

use pegboard_testkit::script::{Malformed, Moment, Noise, NoiseKind, Probe};
use pegboard_testkit::{Script, binary, starts_in, tool_json, wait_until_sync};
use serde_json::{Value, json};

use crate::gateway::Gateway;
use crate::support::{Home, TIMEOUT};

const GOOD: usize = 9;
const META_TOOLS: [&str; 5] = [
    "search_tools",
    "list_available_tools",
    "get_tool_description",
    "call_tool",
    "call_readonly_tool",
];
/// Timeouts of a bad server that are longer than any test: waiting for it would fail the test.
const LONG_TIMEOUTS: &str = "discovery_timeout = \"1h\"\nconnect_timeout = \"1h\"";
/// The wait for undiscovered servers is short, because the test polls.
const SHORT_DEADLINE: &str = "[settings]\nanswer_deadline = \"300ms\"\n";
const SHORT_TIMEOUT: &str = "discovery_timeout = \"2s\"";

/// Configures a server; the lines belong to its table.
type Add = dyn Fn(&Home, &str);

/// A bad server.
struct BadServer {
    add: Box<Add>,
    /// The tools that are available nevertheless.
    tools: Vec<String>,
    /// Whether its discovery never ends by itself.
    hangs: bool,
    /// The final status in `pegboard list`.
    status: &'static str,
}

impl BadServer {
    fn scripted(script: Script, tools: &[&str]) -> Self {
        Self {
            add: Box::new(move |home, more| home.add_script("bad", &script, more)),
            tools: tools.iter().map(|tool| format!("bad__{tool}")).collect(),
            hangs: false,
            status: "success",
        }
    }

    fn hanging(script: Script) -> Self {
        Self {
            hangs: true,
            status: "failed",
            ..Self::scripted(script, &[])
        }
    }
}

/// A machine with the servers of a test.
struct Machine {
    home: Home,
    expected: BTreeSet<String>,
}

impl Machine {
    fn with(bad: &BadServer) -> Self {
        let home = Home::new();
        let machine = Self {
            expected: expected(bad),
            home,
        };
        machine.configure(bad, if bad.hangs { LONG_TIMEOUTS } else { "" });
        machine
    }

    fn configure(&self, bad: &BadServer, more: &str) {
        let modes =
            ["lazy", "direct"].map(|mode| format!("[profiles.{mode}]\nmode = \"{mode}\"\n"));
        let config = format!("{SHORT_DEADLINE}{}", modes.concat());
        self.home.write("config/config.toml", &config);
        (bad.add)(&self.home, more);
        for number in 1..=GOOD {
            let mut script = Script::new().tools(["work", "rest"]);
            script.count_file = Some(self.home.path("starts"));
            self.home.add_script(&format!("good{number}"), &script, "");
        }
    }

    /// Returns the number of starts of good servers.
    fn starts(&self) -> usize {
        starts_in(&self.home.path("starts")).len()
    }
}

fn expected(bad: &BadServer) -> BTreeSet<String> {
    let good =
        (1..=GOOD).flat_map(|number| ["work", "rest"].map(|tool| format!("good{number}__{tool}")));
    good.chain(bad.tools.iter().cloned()).collect()
}

#[track_caller]
fn check(bad: &BadServer) {
    for mode in ["lazy", "direct"] {
        for begin in [Gateway::stdio, Gateway::http] {
            check_one(bad, mode, begin);
        }
    }
}

#[track_caller]
fn check_one(bad: &BadServer, mode: &str, begin: fn(&Home, &str) -> Gateway) {
    let machine = Machine::with(bad);
    let mut gateway = begin(&machine.home, mode);
    // Nothing is discovered yet and the bad server may hang forever, so any response proves that it was not waited for.
    let first = gateway.listed();
    match mode {
        "lazy" => {
            assert_eq!(first, META_TOOLS);
            wait_until_sync("every good tool is known", TIMEOUT, || {
                known(&mut gateway, &machine.expected) == machine.expected
            });
            check_texts(bad, &mut gateway);
        }
        _ => wait_until_sync("every good tool is listed", TIMEOUT, || {
            gateway.listed().into_iter().collect::<BTreeSet<_>>() == machine.expected
        }),
    }
    assert!(
        gateway
            .call("good5__work", json!({"text": "x"}))
            .contains(r#""tool":"work""#)
    );
    gateway.stop();
    machine.home.assert_nothing_runs();
    check_status(bad, &machine);
    check_second_start(bad, &machine, mode, begin);
}

/// Returns the tools that the meta tools list by server, once the overview has the expected count.
fn known(gateway: &mut Gateway, expected: &BTreeSet<String>) -> BTreeSet<String> {
    let text = gateway.call("list_available_tools", json!({"format": "json"}));
    let overview: Value = serde_json::from_str(&text).expect("JSON as text");
    if overview["total"] != expected.len() {
        return BTreeSet::new();
    }
    let servers = (1..=GOOD).map(|number| format!("good{number}"));
    servers
        .chain(["bad".to_owned()])
        .flat_map(|server| {
            let query = json!({"query": server, "limit": 50, "detail": "brief"});
            let found = gateway.call("search_tools", query);
            let own = expected
                .iter()
                .filter(|tool| tool.starts_with(&format!("{server}__")));
            let is_there = |tool: &&String| found.lines().any(|line| is_about(line, tool));
            own.filter(is_there).cloned().collect::<Vec<_>>()
        })
        .collect()
}

/// Returns true if a search result is about this tool and not about one with a longer name.
fn is_about(line: &str, tool: &str) -> bool {
    let rest = line.strip_prefix(tool);
    rest.is_some_and(|rest| !rest.starts_with(|next: char| next.is_alphanumeric() || next == '_'))
}

#[track_caller]
fn check_texts(bad: &BadServer, gateway: &mut Gateway) {
    let found = gateway.call("search_tools", json!({"query": "good3"}));
    for tool in ["good3__work", "good3__rest"] {
        assert!(found.contains(tool), "{found}");
    }
    let overview = gateway.call("list_available_tools", json!({}));
    let line = match (bad.hangs, bad.status) {
        (true, _) => "still being discovered: bad",
        (false, "failed") => "not available: bad",
        (false, _) => "bad",
    };
    assert!(overview.contains(line), "{overview}");
}

/// Checks that the command line reports the bad server after its timeout.
#[track_caller]
fn check_status(bad: &BadServer, machine: &Machine) {
    if bad.hangs {
        machine.configure(bad, SHORT_TIMEOUT);
        machine.home.run(&["refresh", "bad"]).exits(3);
    }
    let list = machine.home.run(&["list", "--json"]).ok().json();
    let servers = list["servers"].as_array().cloned().unwrap_or_default();
    assert_eq!(servers.len(), GOOD + 1, "{list}");
    for server in &servers {
        let name = server["name"].as_str().unwrap_or_default();
        let status = if name == "bad" { bad.status } else { "success" };
        assert_eq!(server["status"], status, "{server}");
    }
}

/// Checks that the catalog is stored: the first response of the next run is complete and starts no good server.
#[track_caller]
fn check_second_start(
    bad: &BadServer,
    machine: &Machine,
    mode: &str,
    begin: fn(&Home, &str) -> Gateway,
) {
    if bad.hangs {
        machine.configure(bad, LONG_TIMEOUTS);
    }
    let before = machine.starts();
    let mut gateway = begin(&machine.home, mode);
    let first: BTreeSet<_> = match mode {
        "lazy" => {
            assert_eq!(gateway.listed(), META_TOOLS);
            known(&mut gateway, &machine.expected)
        }
        _ => gateway.listed().into_iter().collect(),
    };
    assert_eq!(first, machine.expected, "{mode}, from the cache");
    assert_eq!(machine.starts(), before, "listing starts nothing");
    gateway.stop();
    machine.home.assert_nothing_runs();
}

/// Checks that a rejected tool is reported with the reason.
#[track_caller]
fn check_rejected(bad: &BadServer, tool: &str) {
    let machine = Machine::with(bad);
    machine.home.run(&["refresh", "bad"]).ok();
    let show = machine.home.run(&["show", "bad", "--json"]).ok().json();
    assert!(show["rejected"].to_string().contains(tool), "{show}");
}

#[test]
fn r_disc_02_r_gate_01_a_server_that_hangs_at_initialize() {
    check(&BadServer::hanging(
        Script::new()
            .tools(["a"])
            .probe(Probe::Silent)
            .hang(Moment::Initialize),
    ));
}

#[test]
fn r_disc_02_r_gate_01_a_server_that_hangs_at_tools_list() {
    check(&BadServer::hanging(
        Script::new().tools(["a"]).hang(Moment::List),
    ));
}

#[test]
fn r_disc_02_r_gate_01_a_server_that_writes_only_garbage() {
    let mut script = Script::new().tools(["a"]).hang(Moment::Start);
    for kind in [
        NoiseKind::Text,
        NoiseKind::Binary,
        NoiseKind::PartialJson,
        NoiseKind::Random(7),
    ] {
        let when = Moment::Start;
        script.noise.push(Noise {
            when,
            kind,
            times: 20,
        });
    }
    check(&BadServer::hanging(script));
}

#[test]
fn r_disc_02_r_gate_01_a_server_that_writes_garbage_between_its_answers() {
    let mut script = Script::new().tools(["a"]);
    for when in [Moment::Start, Moment::Initialize, Moment::List] {
        let kind = NoiseKind::Binary;
        script.noise.push(Noise {
            when,
            kind,
            times: 5,
        });
    }
    check(&BadServer::scripted(script, &["a"]));
}

#[test]
fn r_disc_02_r_gate_01_a_tool_with_an_invalid_schema() {
    let mut script = Script::new().tools(["fine"]);
    script.list.malformed = vec![Malformed::SchemaBoolean];
    let bad = BadServer::scripted(script, &["fine"]);
    check(&bad);
    check_rejected(&bad, "schema_boolean");
}

#[test]
fn r_disc_02_r_gate_01_a_description_of_a_megabyte() {
    // The list is too long for a command line, so it is read from a file.
    let add = |home: &Home, more: &str| {
        let mut long = tool_json("long");
        long["description"] = json!("word ".repeat(200_000));
        let list = json!({"tools": [tool_json("fine"), long]});
        let file = home
            .write("list.json", &list.to_string())
            .display()
            .to_string();
        let replay = binary("pegboard-replay").display().to_string();
        home.add("bad", &replay, &[&file], more);
    };
    let bad = BadServer {
        add: Box::new(add),
        ..BadServer::scripted(Script::new(), &["fine"])
    };
    check(&bad);
    check_rejected(&bad, "long");
}

#[test]
fn r_disc_02_r_gate_01_a_list_in_pages_of_five() {
    let mut script = Script::new();
    script.list.made = 23;
    script.list.page_size = Some(5);
    let names: Vec<String> = (0..23).map(|number| format!("made_{number}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    check(&BadServer::scripted(script, &names));
}

#[test]
fn r_disc_02_r_gate_01_a_command_that_does_not_exist() {
    check(&BadServer {
        add: Box::new(|home, more| home.add("bad", "/nowhere/to/be/found", &[], more)),
        tools: Vec::new(),
        hangs: false,
        status: "failed",
    });
}
