//! Which rule decides what may be done with a tool.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::result_large_err,
    reason = "a broken fixture must fail its test"
)]

use std::collections::BTreeMap;
use std::time::Duration;

use pegboard_guard::{decide, policy_of};
use pegboard_model::{
    Approval, ConfigHash, Layer, Origin, Policy, ServerName, ServerSpec, Template, Timeouts,
    ToolOverride, Transport,
};

fn spec(
    policy: Option<Policy>,
    policies: &[(&str, Policy)],
    switches: &[(&str, bool)],
) -> ServerSpec {
    let switch = |on: bool| ToolOverride {
        enabled: Some(on),
        ..ToolOverride::default()
    };
    ServerSpec {
        name: ServerName::parse("github").unwrap(),
        transport: Transport::Stdio {
            command: Template::literal("true"),
            args: Vec::new(),
            env: BTreeMap::new(),
            cwd: None,
        },
        enabled: true,
        timeouts: Timeouts::default(),
        ttl: Duration::from_secs(300),
        max_age: Duration::from_secs(86_400),
        description: None,
        category: None,
        policy,
        policies: policies
            .iter()
            .map(|(name, policy)| ((*name).to_owned(), *policy))
            .collect(),
        tools: switches
            .iter()
            .map(|(name, on)| ((*name).to_owned(), switch(*on)))
            .collect(),
        origin: Origin {
            layer: Layer::User,
            file: None,
            line: None,
        },
        approval: Approval::Granted,
        hash: ConfigHash([0; 32]),
    }
}

#[track_caller]
fn check(spec: &ServerSpec, tool: &str, policy: Policy, rule: &str) {
    let decision = decide(spec, tool);
    assert_eq!(
        (decision.policy, decision.rule.as_str()),
        (policy, rule),
        "{tool}"
    );
    assert_eq!(policy_of(spec, tool), policy);
}

#[test]
fn r_pol_01_the_closest_rule_decides() {
    use Policy::{Allow, Ask, Deny, Disable};
    check(&spec(None, &[], &[]), "x", Allow, "default");
    check(
        &spec(Some(Ask), &[], &[]),
        "x",
        Ask,
        "policy of server github",
    );
    let rules = spec(
        Some(Ask),
        &[
            ("delete_*", Deny),
            ("delete_issue", Allow),
            ("*", Allow),
            ("*_repo", Disable),
            ("delete_r*", Ask),
        ],
        &[],
    );
    check(
        &rules,
        "delete_issue",
        Allow,
        "policies.\"delete_issue\" of server github",
    );
    check(
        &rules,
        "delete_branch",
        Deny,
        "policies.\"delete_*\" of server github",
    );
    check(
        &rules,
        "delete_repo",
        Ask,
        "policies.\"delete_r*\" of server github",
    );
    check(
        &rules,
        "fork_repo",
        Disable,
        "policies.\"*_repo\" of server github",
    );
    check(&rules, "list", Allow, "policies.\"*\" of server github");
}

#[test]
fn r_pol_01_equal_rules_leave_the_stricter_one() {
    use Policy::{Allow, Ask, Deny, Disable};
    check(
        &spec(None, &[("a*", Allow), ("*b", Deny)], &[]),
        "ab",
        Deny,
        "policies.\"*b\" of server github",
    );
    check(
        &spec(None, &[("a*", Disable), ("*b", Deny)], &[]),
        "ab",
        Disable,
        "policies.\"a*\" of server github",
    );
    check(
        &spec(None, &[("a*", Ask), ("?*b", Allow)], &[]),
        "ab",
        Ask,
        "policies.\"a*\" of server github",
    );
}

#[test]
fn r_pol_01_a_switch_on_the_tool_itself_comes_first() {
    use Policy::{Allow, Deny, Disable};
    let off = spec(None, &[("x", Allow)], &[("x", false)]);
    check(&off, "x", Disable, "tools.\"x\".enabled of server github");
    let on = spec(
        Some(Disable),
        &[("x*", Disable), ("*", Deny)],
        &[("x", true)],
    );
    check(&on, "x", Deny, "policies.\"*\" of server github");
    check(&on, "xy", Disable, "policies.\"x*\" of server github");
    check(
        &spec(Some(Disable), &[], &[("x", true)]),
        "x",
        Allow,
        "default",
    );
}
