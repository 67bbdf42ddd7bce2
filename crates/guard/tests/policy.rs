//! Which rule decides the policy of a tool.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a broken fixture must fail its test"
)]

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use pegboard_guard::{PolicySubject, decide, effective_policy, explain_decision};
use pegboard_model::{
    Annotations, AskDestructive, ConfigHash, GlobalRules, Layer, Origin, Policy, PolicyRule,
    ServerName, ServerRules, ServerSpec, Template, Timeouts, ToolOverride, Transport, TrustState,
};
use proptest::prelude::*;

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
        keywords: Vec::new(),
        oauth: None,
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
        rules: ServerRules::default(),
        origin: Origin {
            layer: Layer::User,
            file: None,
            line: None,
        },
        trust_state: TrustState::Granted,
        share: pegboard_model::Share::default(),
        sandbox: Default::default(),
        integrity: Vec::new(),
        hash: ConfigHash([0; 32]),
    }
}

#[track_caller]
fn check(spec: &ServerSpec, tool: &str, policy: Policy, rule: &str) {
    let exposed = format!("github__{tool}");
    let subject = PolicySubject::named(spec, tool, &exposed, Annotations::default());
    let decision = decide(subject);
    assert_eq!(
        (decision.policy, decision.rule.as_str()),
        (policy, rule),
        "{tool}"
    );
    assert_eq!(effective_policy(subject).policy, policy);
}

#[test]
fn r_pol_01_the_most_specific_rule_decides() {
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
fn r_pol_01_among_equal_rules_the_stricter_one_decides() {
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
fn r_pol_01_enabled_of_the_tool_itself_comes_first() {
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

fn rule(pattern: &str, policy: Policy, layer: Layer) -> PolicyRule {
    PolicyRule {
        pattern: pattern.to_owned(),
        policy,
        origin: Origin {
            layer,
            file: Some("config.toml".into()),
            line: Some(3),
        },
    }
}

fn under(mut spec: ServerSpec, rules: Vec<PolicyRule>) -> ServerSpec {
    spec.rules.global = Arc::new(GlobalRules {
        rules,
        ..GlobalRules::default()
    });
    spec
}

fn hints(read_only: bool, destructive: bool) -> Annotations {
    Annotations {
        read_only: Some(read_only),
        destructive: Some(destructive),
        ..Annotations::default()
    }
}

#[track_caller]
fn check_hinted(spec: &ServerSpec, hints: Annotations, expected: (Policy, bool), rule: &str) {
    let subject = PolicySubject::named(spec, "drop", "github__drop", hints);
    let decision = decide(subject);
    let found = (decision.policy, decision.asks_if_possible);
    assert_eq!(
        (found, decision.rule.as_str()),
        (expected, rule),
        "{hints:?}"
    );
    let effective = effective_policy(subject);
    assert_eq!((effective.policy, effective.asks_if_possible), expected);
}

#[test]
fn r_pol_01_global_rules_match_own_exposed_and_qualified_names() {
    use Policy::{Allow, Ask, Deny};
    for pattern in [
        "drop",
        "github/drop",
        "github__drop",
        "dr*",
        "github/d*",
        "*__drop",
        "gi*/drop",
    ] {
        let ruled = under(spec(None, &[], &[]), vec![rule(pattern, Ask, Layer::User)]);
        check(&ruled, "drop", Ask, &format!("policies.\"{pattern}\""));
        check(&ruled, "other", Allow, "default");
    }
    // The full name is more specific than the bare one, and the server's table counts as the full name.
    let rules = vec![
        rule("drop", Deny, Layer::User),
        rule("github/drop", Allow, Layer::User),
        rule("*", Ask, Layer::User),
    ];
    let ruled = under(spec(None, &[], &[]), rules.clone());
    check(&ruled, "drop", Allow, "policies.\"github/drop\"");
    check(&ruled, "other", Ask, "policies.\"*\"");
    let own = under(spec(Some(Allow), &[("drop", Deny)], &[]), rules);
    check(&own, "drop", Deny, "policies.\"drop\" of server github");
    check(&own, "other", Allow, "policy of server github");
}

#[test]
fn r_pol_01_annotations_rank_between_patterns_and_servers() {
    use Policy::{Allow, Ask, Deny};
    let annotated = vec![
        rule("@destructive", Ask, Layer::User),
        rule("@read_only", Allow, Layer::User),
    ];
    let ruled = under(spec(Some(Deny), &[], &[]), annotated.clone());
    check_hinted(
        &ruled,
        hints(false, true),
        (Ask, false),
        "policies.\"@destructive\"",
    );
    check_hinted(
        &ruled,
        hints(true, false),
        (Allow, false),
        "policies.\"@read_only\"",
    );
    // A tool with both annotations is treated as destructive.
    check_hinted(
        &ruled,
        hints(true, true),
        (Ask, false),
        "policies.\"@destructive\"",
    );
    check_hinted(
        &ruled,
        Annotations::default(),
        (Deny, false),
        "policy of server github",
    );
    let patterned = under(spec(None, &[("d*", Allow)], &[]), annotated.clone());
    let rule = "policies.\"d*\" of server github";
    check_hinted(&patterned, hints(false, true), (Allow, false), rule);
    let own = under(spec(None, &[("@destructive", Deny)], &[]), annotated);
    let rule = "policies.\"@destructive\" of server github";
    check_hinted(&own, hints(false, true), (Deny, false), rule);
}

#[test]
fn r_pol_01_destructive_tools_ask_when_possible_unless_a_rule_or_setting_says_otherwise() {
    use Policy::{Allow, Ask};
    let plain = spec(None, &[], &[]);
    let soft = "settings.ask_destructive = \"when_possible\"";
    check_hinted(&plain, hints(false, true), (Allow, true), soft);
    check_hinted(&plain, hints(false, false), (Allow, false), "default");
    for (setting, expected, words) in [
        (AskDestructive::Never, (Allow, false), "default"),
        (
            AskDestructive::Always,
            (Ask, false),
            "settings.ask_destructive = \"always\"",
        ),
    ] {
        let mut set = spec(None, &[], &[]);
        set.rules.global = Arc::new(GlobalRules {
            ask_destructive: setting,
            ..GlobalRules::default()
        });
        check_hinted(&set, hints(false, true), expected, words);
    }
    let allowed = spec(Some(Allow), &[], &[]);
    check_hinted(
        &allowed,
        hints(false, true),
        (Allow, false),
        "policy of server github",
    );
}

#[test]
fn r_pol_01_a_project_can_only_tighten() {
    use Policy::{Allow, Ask, Deny};
    let project = |pattern: &str, policy| rule(pattern, policy, Layer::Project);
    let user = |pattern: &str, policy| rule(pattern, policy, Layer::User);
    let both = |rules: Vec<PolicyRule>| under(spec(None, &[], &[]), rules);
    let looser = both(vec![user("*", Ask), project("github/drop", Allow)]);
    check(&looser, "drop", Ask, "policies.\"*\"");
    let stricter = both(vec![user("github/drop", Allow), project("*", Deny)]);
    check(&stricter, "drop", Deny, "policies.\"*\"");
    // A project cannot disable the approval of destructive tools either.
    let hidden = both(vec![project("*", Allow)]);
    let soft = "settings.ask_destructive = \"when_possible\"";
    check_hinted(&hidden, hints(false, true), (Allow, true), soft);

    let mut replaced = spec(Some(Allow), &[("drop", Allow)], &[]);
    replaced.origin.layer = Layer::Project;
    replaced.rules.user_rules = vec![user("dr*", Ask), user("", Deny)];
    check(
        &replaced,
        "drop",
        Ask,
        "policies.\"dr*\" of server github in your own file",
    );
    check(
        &replaced,
        "other",
        Deny,
        "policy of server github in your own file",
    );
}

#[test]
fn r_pol_01_explanations_name_the_place_and_why_the_other_rules_lost() {
    use Policy::{Allow, Ask, Deny};
    let rules = vec![
        rule("*", Ask, Layer::User),
        rule("github/drop", Allow, Layer::Project),
    ];
    let ruled = under(spec(Some(Ask), &[("dr*", Deny), ("d*", Allow)], &[]), rules);
    let explanation = explain_decision(PolicySubject::named(
        &ruled,
        "drop",
        "github__drop",
        Annotations::default(),
    ));
    let rules: Vec<(&str, Option<&str>)> = explanation
        .rules
        .iter()
        .map(|rule| (rule.rule.as_str(), rule.lost_because.as_deref()))
        .collect();
    assert_eq!(
        rules,
        [
            ("policies.\"dr*\" of server github", None),
            (
                "policies.\"github/drop\"",
                Some(
                    "a project's rules can only tighten, and your own rules are at least as strict"
                )
            ),
            (
                "policies.\"d*\" of server github",
                Some("it has 9 literal characters, the deciding rule 10")
            ),
            (
                "policy of server github",
                Some("a server's `policy` is less specific than a pattern")
            ),
            (
                "policies.\"*\"",
                Some("a rule for every tool is less specific than a pattern")
            ),
            (
                "default",
                Some("the default is less specific than a pattern")
            ),
        ]
    );
    assert_eq!(explanation.rules[4].origin.as_ref().unwrap().line, Some(3));
}

fn policies() -> impl Strategy<Value = Policy> {
    prop_oneof![
        Just(Policy::Allow),
        Just(Policy::Ask),
        Just(Policy::Deny),
        Just(Policy::Disable)
    ]
}

fn rules(layer: Layer) -> impl Strategy<Value = Vec<PolicyRule>> {
    let patterns = prop_oneof![
        Just("drop"),
        Just("github/drop"),
        Just("d*"),
        Just("*"),
        Just("@destructive"),
        Just("@read_only"),
        Just("github__*"),
        Just("other")
    ];
    proptest::collection::vec((patterns, policies()), 0..5).prop_map(move |rules| {
        rules
            .into_iter()
            .map(|(p, policy)| rule(p, policy, layer))
            .collect()
    })
}

proptest! {
    #[test]
    fn r_pol_01_project_policies_never_loosen_a_rule(
        user in rules(Layer::User),
        project in rules(Layer::Project),
        read_only in any::<bool>(),
        destructive in any::<bool>(),
    ) {
        let hints = hints(read_only, destructive);
        let of = |rules: Vec<PolicyRule>| {
            let spec = under(spec(None, &[], &[]), rules);
            let subject = PolicySubject::named(&spec, "drop", "github__drop", hints);
            let (decision, effective) = (decide(subject), effective_policy(subject));
            assert_eq!(decision.policy, effective.policy);
            assert_eq!(explain_decision(subject).decision, decision);
            assert_eq!(explain_decision(subject).rules.iter().filter(|rule| rule.lost_because.is_none()).count(), 1);
            (effective.policy, effective.asks_if_possible)
        };
        let alone = of(user.clone());
        let together = of(user.into_iter().chain(project).collect());
        prop_assert!(together >= alone, "{together:?} {alone:?}");
    }
}

#[test]
fn r_sec_05_a_pattern_with_a_server_part_matches_only_that_servers_tools() {
    let rules = [
        "github/*",
        "github__get_issue",
        "git*__list_*",
        "github/fs/read",
    ];
    let global = Arc::new(GlobalRules {
        rules: rules
            .iter()
            .map(|pattern| rule(pattern, Policy::Allow, Layer::User))
            .chain([rule("*", Policy::Deny, Layer::User)])
            .collect(),
        ..GlobalRules::default()
    });
    let policy = |server: &str, tool: &str| {
        let mut spec = spec(None, &[], &[]);
        spec.name = ServerName::parse(server).unwrap();
        spec.rules.global = global.clone();
        let exposed = pegboard_model::ExposedName::of(&spec.name, tool);
        let subject = PolicySubject::named(&spec, tool, exposed.as_str(), Annotations::default());
        effective_policy(subject).policy
    };
    for tool in ["get_issue", "anything", "list_x", "fs/read", "a b"] {
        assert_eq!(policy("github", tool), Policy::Allow, "github {tool}");
    }
    assert_eq!(policy("gitlab", "list_x"), Policy::Allow);
    assert_eq!(policy("gitlab", "get_issue"), Policy::Deny);
    for tool in [
        "github/anything",
        "github/get_issue",
        "github__get_issue",
        "github__anything",
        "github__list_x",
        "github/fs/read",
        "get_issue",
    ] {
        assert_eq!(policy("evil", tool), Policy::Deny, "evil {tool}");
    }
}

#[test]
fn r_sec_05_a_pattern_without_a_server_part_matches_tools_of_every_server() {
    let policy = |pattern: &str, server: &str, tool: &str| {
        let mut spec = spec(None, &[], &[]);
        spec.name = ServerName::parse(server).unwrap();
        spec.rules.global = Arc::new(GlobalRules {
            rules: vec![rule(pattern, Policy::Deny, Layer::User)],
            ..GlobalRules::default()
        });
        let exposed = pegboard_model::ExposedName::of(&spec.name, tool);
        let subject = PolicySubject::named(&spec, tool, exposed.as_str(), Annotations::default());
        effective_policy(subject).policy
    };
    for (pattern, server, tool, expected) in [
        ("delete_*", "a", "delete_x", Policy::Deny),
        ("delete_*", "a", "get_x", Policy::Allow),
        ("git*", "github", "get_x", Policy::Deny),
        ("__init__", "a", "__init__", Policy::Deny),
        ("a__", "b", "a__", Policy::Deny),
        ("*/delete_*", "a", "delete_x", Policy::Deny),
        ("*__delete_x", "a", "delete_x", Policy::Deny),
    ] {
        assert_eq!(
            policy(pattern, server, tool),
            expected,
            "{pattern} {server} {tool}"
        );
    }
}
