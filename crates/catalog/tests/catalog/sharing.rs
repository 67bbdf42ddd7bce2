//! Which clients share one instance of a server.

use pegboard_catalog::decide_sharing;
use pegboard_model::{
    ConfigHash, Layer, LearntFacts, ServerRecord, ServerSpec, Share, ShareScope, Template,
    Transport,
};
use serde_json::{Value, json};

use crate::fixture::{record, spec};

/// The record of a server with these tools, which are names or definitions.
fn discovered(tools: &[Value]) -> (ServerSpec, ServerRecord) {
    let definition = |tool: &Value| match tool {
        Value::String(name) => json!({"name": name}),
        tool => tool.clone(),
    };
    let tools: Vec<Value> = tools.iter().map(definition).collect();
    let (spec, mut record) = (spec("s"), record("s", &tools));
    record.config = spec.hash;
    (spec, record)
}

#[track_caller]
fn check(tools: &[Value], scope: ShareScope, reason: &str) {
    let (spec, record) = discovered(tools);
    let decision = decide_sharing(&spec, &record);
    assert_eq!(decision.scope, scope, "{tools:?}");
    assert!(decision.reason.contains(reason), "{}", decision.reason);
    assert!(!decision.is_configured);
}

#[test]
fn r_share_03_the_tools_decide_who_shares_a_server() {
    use ShareScope::{Project, Session, User};
    check(
        &[json!("navigate_page"), json!("select_page")],
        Session,
        "control a browser",
    );
    check(
        &[json!("mobile_list"), json!("mobile_swipe_screen")],
        Session,
        "control a device",
    );
    check(&[json!("set_breakpoint")], Session, "control a debugger");
    check(
        &[json!("sequentialthinking")],
        Session,
        "history of thoughts",
    );
    check(
        &[json!("git_log"), json!("git_set_working_dir")],
        Session,
        "working directory",
    );
    check(&[json!("activate_project")], Session, "select a project");
    check(&[json!("switch_presentation")], Session, "switch between");
    check(
        &[json!("connect_to_database")],
        Session,
        "connect it to something",
    );
    check(&[json!("select-account")], Session, "select an account");
    let text = "Absolute path, or a path relative to the Working Directory.";
    check(
        &[json!({"name": "read", "description": text})],
        Project,
        "working directory",
    );
    check(
        &[json!("create_entities"), json!("add_observations")],
        User,
        "keeps a memory",
    );
    check(&[json!("add_memory")], User, "keeps a memory");
    check(
        &[json!("list_issues"), json!("git_checkout")],
        Project,
        "nothing shows",
    );
}

#[test]
fn r_share_03_facts_about_the_server_come_before_its_tools() {
    let decide = |spec: &ServerSpec, record: &ServerRecord| decide_sharing(spec, record).scope;
    let (mut spec, mut record) = discovered(&[json!("create_entities"), json!("add_observations")]);
    assert_eq!(decide(&spec, &record), ShareScope::User);
    // A project's server never serves clients outside the project.
    spec.origin.layer = Layer::Project;
    assert_eq!(decide(&spec, &record), ShareScope::Project);
    spec.origin.layer = Layer::User;
    for (asks_clients, asks_roots, changes_list, expected) in [
        (true, false, false, ShareScope::Session),
        (false, true, false, ShareScope::Project),
        (false, false, true, ShareScope::Session),
    ] {
        record.learnt = LearntFacts {
            asks_clients,
            asks_roots,
            changes_list,
            old_sse: false,
        };
        assert_eq!(decide(&spec, &record), expected, "{:?}", record.learnt);
    }
    // Facts and tools of another definition do not count.
    spec.hash = ConfigHash([9; 32]);
    assert_eq!(decide(&spec, &record), ShareScope::Project);
    spec.hash = record.config;
    for (share, expected) in [
        (Share::User, ShareScope::User),
        (Share::Project, ShareScope::Project),
        (Share::Session, ShareScope::Session),
    ] {
        spec.share = share;
        let decision = decide_sharing(&spec, &record);
        assert!(decision.is_configured && decision.scope == expected);
    }
    spec.share = Share::Auto;
    spec.transport = Transport::Http {
        url: Template::literal("https://example.com/mcp"),
        headers: Default::default(),
        bearer: None,
        wire: Default::default(),
    };
    assert_eq!(decide(&spec, &record), ShareScope::User);
}

#[test]
fn r_share_03_a_server_is_judged_by_its_package_before_its_tools_are_known() {
    let run = |args: &[&str]| {
        let mut spec = spec("s");
        spec.transport = Transport::Stdio {
            command: Template::literal("npx"),
            args: args.iter().map(|arg| Template::literal(*arg)).collect(),
            env: Default::default(),
            cwd: None,
        };
        let record = ServerRecord::undiscovered(spec.name.clone(), spec.hash);
        decide_sharing(&spec, &record)
    };
    let known = run(&["-y", "@upstash/context7-mcp@2"]);
    assert_eq!(known.scope, ShareScope::User);
    let unknown = run(&["-y", "something"]);
    assert_eq!(unknown.scope, ShareScope::Project);
    assert_eq!(unknown.reason, "its tools are not known yet");
}
