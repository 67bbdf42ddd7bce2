//! Rules for the tools of every server, their origins, and limits of project files.

use std::time::Duration;

use pegboard_config::edit::set_rule;
use pegboard_model::{AskDestructive, Layer, Policy, ServerName};

use crate::fixture::{Fixture, server, short};

#[test]
fn r_pol_01_rules_for_all_servers_are_read_with_their_places() {
    let text = "[policies]\n\"github/*\" = \"ask\"\n\"@destructive\" = \"deny\"\n\n\
                [settings]\nask_destructive = \"always\"\napproval_timeout = \"5m\"\n\n\
                [servers.a]\ncommand = \"true\"\npolicy = \"ask\"\npolicies = { \"x*\" = \"allow\" }\n\
                [servers.a.tools.y]\npolicy = \"deny\"\n";
    let fixture = Fixture::with("config.toml", text)
        .project(".pegboard/config.yaml", "policies:\n  \"*\": ask\n");
    let loaded = fixture.load();
    assert_eq!(short(&loaded), Vec::<String>::new());
    let rules = loaded.rules.rules.iter();
    let rules: Vec<_> = rules
        .map(|rule| {
            (
                rule.pattern.as_str(),
                rule.policy,
                rule.origin.layer,
                rule.origin.line,
            )
        })
        .collect();
    assert_eq!(
        rules,
        [
            ("github/*", Policy::Ask, Layer::User, Some(2)),
            ("@destructive", Policy::Deny, Layer::User, Some(3)),
            ("*", Policy::Ask, Layer::Project, Some(2)),
        ]
    );
    assert_eq!(loaded.rules.ask_destructive, AskDestructive::Always);
    assert_eq!(loaded.settings.approval_timeout.as_secs(), 300);
    let spec = server(&loaded, "a");
    assert_eq!(spec.rules.global, loaded.rules);
    let lines: Vec<_> = spec
        .rules
        .lines
        .iter()
        .map(|(key, line)| (key.as_str(), *line))
        .collect();
    assert_eq!(
        lines,
        [("policies.x*", 12), ("policies.y", 14), ("policy", 11)]
    );
}

#[test]
fn r_pol_01_a_rule_that_cannot_be_read_asks() {
    let fixture = Fixture::with(
        "config.toml",
        "[policies]\nx = \"denny\"\n\"@reads\" = \"allow\"\n",
    );
    let loaded = fixture.load();
    assert_eq!(
        short(&loaded),
        ["error CONFIG_INVALID -:2", "error CONFIG_INVALID -:3"]
    );
    assert!(
        loaded
            .rules
            .rules
            .iter()
            .all(|rule| rule.policy == Policy::Ask)
    );
}

#[test]
fn r_pol_01_a_project_cannot_loosen_the_users_policies() {
    let user = "[servers.a]\ncommand = \"true\"\npolicy = \"ask\"\npolicies = { x = \"deny\" }\n\
                [servers.a.tools.y]\nenabled = false\n[settings]\nask_destructive = \"always\"\n";
    let project = "[servers.a]\ncommand = \"true\"\npolicy = \"allow\"\n\
                   [settings]\nask_destructive = \"never\"\napproval_timeout = \"1s\"\n";
    let fixture = Fixture::with("config.toml", user).project(".pegboard/config.toml", project);
    let loaded = fixture.load();
    assert_eq!(
        short(&loaded),
        ["warning CONFIG_INVALID -:5", "warning CONFIG_INVALID -:6"]
    );
    assert_eq!(loaded.rules.ask_destructive, AskDestructive::Always);
    let spec = server(&loaded, "a");
    assert_eq!(spec.origin.layer, Layer::Project);
    let kept = spec.rules.user_rules.iter();
    let kept: Vec<_> = kept
        .map(|rule| (rule.pattern.as_str(), rule.policy, rule.origin.line))
        .collect();
    assert_eq!(
        kept,
        [
            ("", Policy::Ask, Some(3)),
            ("x", Policy::Deny, Some(4)),
            ("y", Policy::Disable, Some(6)),
        ]
    );
}

#[test]
fn r_sec_08_a_project_cannot_lengthen_the_time_in_which_a_version_is_not_compared_again() {
    let ttl = |user: &str, project: &str| {
        let user = format!("[settings]\n{user}\n[servers.a]\ncommand = \"true\"\n");
        let project = format!("[settings]\nttl = \"{project}\"\n");
        let fixture =
            Fixture::with("config.toml", &user).project(".pegboard/config.toml", &project);
        let loaded = fixture.load();
        (server(&loaded, "a").ttl, short(&loaded))
    };
    let ignored = vec!["warning CONFIG_INVALID -:2".to_owned()];
    let seconds = Duration::from_secs;
    assert_eq!(ttl("ttl = \"0s\"", "30d"), (seconds(0), ignored.clone()));
    assert_eq!(ttl("", "30d"), (seconds(300), ignored));
    assert_eq!(ttl("", "1m"), (seconds(60), vec![]));
}

#[track_caller]
fn check_edit(
    name: &str,
    before: &str,
    server: Option<&str>,
    rule: (&str, Option<Policy>),
    after: &str,
) {
    let fixture = Fixture::with(name, before);
    let file = fixture.paths().config_dir.join(name);
    let server = server.map(|server| ServerName::parse(server).unwrap());
    set_rule(&file, server.as_ref(), rule.0, rule.1).unwrap();
    assert_eq!(
        std::fs::read_to_string(&file).unwrap(),
        after,
        "{name} {rule:?}"
    );
}

#[test]
fn r_cfg_06_rules_are_set_and_taken_out_and_comments_stay() {
    let ask = Some(Policy::Ask);
    let toml = "# mine\n[servers.a] # this\ncommand = \"true\"\n";
    let added =
        "# mine\n[servers.a] # this\ncommand = \"true\"\n\n[policies]\n\"a.b/del_*\" = \"ask\"\n";
    check_edit("config.toml", toml, None, ("a.b/del_*", ask), added);
    check_edit(
        "config.toml",
        "[policies]\n# why\nx = \"ask\" # because\ny = \"deny\"\n",
        None,
        ("x", Some(Policy::Deny)),
        "[policies]\n# why\nx = \"deny\" # because\ny = \"deny\"\n",
    );
    check_edit(
        "config.toml",
        "[policies]\nx = \"ask\"\n# kept\ny = \"deny\"\n",
        None,
        ("x", None),
        "[policies]\n# kept\ny = \"deny\"\n",
    );
    check_edit(
        "config.toml",
        toml,
        Some("a"),
        ("del.*", ask),
        "# mine\n[servers.a] # this\ncommand = \"true\"\npolicies = { \"del.*\" = \"ask\" }\n",
    );
    check_edit(
        "config.toml",
        "[servers.a]\ncommand = \"true\"\n[servers.a.tools.x]\npolicy = \"ask\" # here\n",
        Some("a"),
        ("x", Some(Policy::Deny)),
        "[servers.a]\ncommand = \"true\"\n[servers.a.tools.x]\npolicy = \"deny\" # here\n",
    );
    for (rule, after) in [
        (Some(Policy::Deny), "{ x = \"deny\", y = \"ask\" }"),
        (None, "{ y = \"ask\" }"),
    ] {
        let with = |tools: &str| format!("[servers.a]\ncommand = \"true\"\ntools = {tools}\n");
        let before = with("{ x = \"ask\", y = \"ask\" }");
        check_edit("config.toml", &before, Some("a"), ("x", rule), &with(after));
    }
    check_edit(
        "config.json",
        "{\"servers\": {\"a\": {\"command\": \"true\", \"tools\": {\"x\": \"ask\"}}}}\n",
        Some("a"),
        ("x", Some(Policy::Allow)),
        "{\"servers\": {\"a\": {\"command\": \"true\", \"tools\": {\"x\": \"allow\"}}}}\n",
    );
    let yaml = "servers: # mine\n  a:\n    command: \"true\"\n";
    let added =
        "servers: # mine\n  a:\n    command: \"true\"\npolicies:\n  \"@destructive\": \"ask\"\n";
    check_edit("config.yaml", yaml, None, ("@destructive", ask), added);
    let more = format!("{added}  x: \"deny\"\n");
    check_edit("config.yaml", added, None, ("x", Some(Policy::Deny)), &more);
    check_edit("config.yaml", &more, None, ("x", None), added);
    let json = "{\n  // mine\n  \"servers\": {}\n}\n";
    let added = "{\n  // mine\n  \"servers\": {},\n  \"policies\": {\n    \"*\": \"ask\"\n  }\n}\n";
    check_edit("config.json", json, None, ("*", ask), added);
}

#[test]
fn r_cfg_06_an_invalid_rule_is_not_written() {
    let fixture = Fixture::with("config.toml", "[servers.a]\ncommand = \"true\"\n");
    let file = fixture.paths().config_dir.join("config.toml");
    for pattern in ["", "@nothing", "two\nlines"] {
        set_rule(&file, None, pattern, Some(Policy::Ask)).unwrap_err();
    }
    assert!(!set_rule(&file, None, "x", None).unwrap(), "there was none");
    let a = ServerName::parse("a").unwrap();
    assert!(!set_rule(&file, Some(&a), "x", None).unwrap());
    assert_eq!(
        std::fs::read_to_string(&file).unwrap(),
        "[servers.a]\ncommand = \"true\"\n"
    );
}

#[test]
fn r_sec_11_only_the_users_own_file_widens_what_a_server_may_request_from_clients() {
    let requests = |fixture: &Fixture, name: &str| {
        let loaded = fixture.load();
        let spec = &loaded.servers[&ServerName::parse(name).unwrap()];
        let requests = spec.rules.client_requests;
        (requests.elicitation, requests.sampling)
    };
    let own = "[servers.a]\ncommand = 'a'\n[servers.b]\ncommand = 'b'\nelicitation = false\nsampling = false\n";
    let fixture = Fixture::with("config.toml", own);
    assert_eq!(requests(&fixture, "a"), (true, true));
    assert_eq!(requests(&fixture, "b"), (false, false));

    // A project's server may send elicitations, may not use the model, and cannot override the user's file.
    let project = "[servers.b]\ncommand = 'x'\nelicitation = true\nsampling = true\n\
                   [servers.c]\ncommand = 'c'\n[servers.d]\ncommand = 'd'\nelicitation = false\n";
    let fixture = Fixture::with("config.toml", own).project(".pegboard/config.toml", project);
    assert_eq!(requests(&fixture, "b"), (false, false));
    assert_eq!(requests(&fixture, "c"), (true, false));
    assert_eq!(requests(&fixture, "d"), (false, false));
    let problems = fixture.load().problems;
    let reported = problems
        .iter()
        .find(|problem| problem.message.contains("`sampling` is ignored"));
    assert!(reported.is_some(), "{problems:?}");

    let own = "[settings]\nproject_sampling = true\n";
    let fixture = Fixture::with("config.toml", own).project(".pegboard/config.toml", project);
    assert_eq!(requests(&fixture, "b"), (true, true));
    assert_eq!(requests(&fixture, "c"), (true, true));
    let widened = "[settings]\nproject_sampling = true\n[servers.c]\ncommand = 'c'\n";
    let fixture = Fixture::new().project(".pegboard/config.toml", widened);
    assert_eq!(requests(&fixture, "c"), (true, false));
}

#[test]
fn r_share_03_a_project_file_only_narrows_who_shares_a_server() {
    let share = |fixture: &Fixture, name: &str| {
        let loaded = fixture.load();
        loaded.servers[&ServerName::parse(name).unwrap()]
            .share
            .as_str()
    };
    let own = "[servers.a]\ncommand = 'a'\n[servers.b]\ncommand = 'b'\nshare = 'user'\n\
               [servers.c]\ncommand = 'c'\nshare = 'session'\n";
    let fixture = Fixture::with("config.toml", own);
    assert_eq!(share(&fixture, "a"), "auto");
    assert_eq!(share(&fixture, "b"), "user");
    let with_share = fixture.load();
    let without = Fixture::with("config.toml", "[servers.b]\ncommand = 'b'\n").load();
    let b = ServerName::parse("b").unwrap();
    assert_eq!(
        with_share.servers[&b].hash, without.servers[&b].hash,
        "`share` does not change what a server is"
    );

    let project = "[servers.a]\ncommand = 'x'\nshare = 'user'\n[servers.b]\ncommand = 'x'\nshare = 'session'\n\
                   [servers.c]\ncommand = 'x'\nshare = 'project'\n[servers.d]\ncommand = 'x'\nshare = 'project'\n";
    let fixture = Fixture::with("config.toml", own).project(".pegboard/config.toml", project);
    assert_eq!(share(&fixture, "a"), "project");
    assert_eq!(share(&fixture, "b"), "session");
    assert_eq!(share(&fixture, "c"), "session");
    assert_eq!(share(&fixture, "d"), "project");
    let problems = fixture.load().problems;
    let narrowed = problems
        .iter()
        .filter(|problem| problem.message.contains("so widely"));
    let servers: Vec<_> = narrowed.map(|problem| problem.server.as_deref()).collect();
    assert_eq!(servers, [Some("a"), Some("c")], "{problems:?}");

    let unknown =
        Fixture::with("config.toml", "[servers.a]\ncommand = 'a'\nshare = 'all'\n").load();
    let message = &unknown.problems[0].message;
    assert!(message.contains("share"), "{message}");
}
