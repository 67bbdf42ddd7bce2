//! A scripted server that the real program discovers.

use pegboard_testkit::Script;
use serde_json::Value;

use crate::support::Home;

/// The result of a discovery by `pegboard refresh`.
#[derive(Debug)]
pub(crate) struct Discovered {
    /// The number of tools, if it worked.
    pub(crate) tools: Option<u64>,
    /// The code of the error, if it failed.
    pub(crate) reason: String,
    /// The message of the error.
    pub(crate) message: String,
    /// How long it took, in milliseconds.
    pub(crate) took: u64,
}

/// Discovers a scripted server and a good one, which must succeed. No process may be left running.
pub(crate) fn discover(script: &Script) -> Discovered {
    let home = Home::new();
    home.add_script("bad", script, "discovery_timeout = \"5s\"");
    home.add_script("good", &Script::new().tools(["fine"]), "");
    let run = home.run(&["refresh", "--all", "--json"]);
    let servers = run.json()["servers"].clone();
    let of = |name: &str| {
        let all = servers.as_array().expect("a list").iter();
        let mut found = all.filter(|server| server["server"] == name);
        found.next().expect("the server received a request").clone()
    };
    assert_eq!(of("good")["tools"], 1, "the other server is unaffected");
    home.assert_nothing_runs();
    let bad = of("bad");
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    Discovered {
        tools: bad["tools"].as_u64(),
        reason: text(&bad["error"]["reason"]),
        message: text(&bad["error"]["message"]),
        took: bad["duration_ms"].as_u64().expect("the time it took"),
    }
}

/// Checks that a discovery succeeds with this number of tools.
#[track_caller]
pub(crate) fn gives(script: &Script, tools: u64) {
    let discovered = discover(script);
    assert_eq!(discovered.tools, Some(tools), "{discovered:?}");
}

/// Checks that a discovery fails for one of these reasons.
#[track_caller]
pub(crate) fn fails(script: &Script, reasons: &[&str]) -> Discovered {
    let discovered = discover(script);
    assert!(reasons.contains(&&*discovered.reason), "{discovered:?}");
    assert!(!discovered.message.contains('\u{1b}'), "{discovered:?}");
    discovered
}
