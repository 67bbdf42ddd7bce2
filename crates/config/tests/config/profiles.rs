//! Profiles, and the settings of the gateway.

use pegboard_config::{LoadedConfig, Profile, ProfileMode, Severity};
use pegboard_model::Layer;

use crate::fixture::Fixture;

const SERVERS: &str = "[servers.github]\ncommand = 'a'\n[servers.time]\ncommand = 'b'\n";

fn fixture(profiles: &str) -> Fixture {
    Fixture::with("config.toml", &format!("{SERVERS}{profiles}"))
}

/// Formats problems as place, severity and code.
fn placed(loaded: &LoadedConfig) -> Vec<String> {
    let problems = loaded.problems.iter();
    let problems = problems.filter(|problem| problem.severity > Severity::Advice);
    let place = |number: Option<usize>| number.unwrap_or_default();
    problems
        .map(|problem| {
            let (line, column) = (place(problem.line), place(problem.column));
            let severity = format!("{:?}", problem.severity).to_lowercase();
            format!("{line}:{column} {severity} {}", problem.reason)
        })
        .collect()
}

#[track_caller]
fn check(profiles: &str, expected: &[&str]) {
    let loaded = fixture(profiles).load();
    assert_eq!(placed(&loaded), expected, "{profiles}");
}

#[test]
fn r_cfg_01_profiles_are_read_in_every_format() {
    let wanted = Profile {
        servers: vec!["github".to_owned(), "t*".to_owned()],
        pinned: vec!["github/create_issue".to_owned(), "time/*".to_owned()],
        mode: ProfileMode::Both,
        prefix: true,
    };
    let toml = format!(
        "{SERVERS}[profiles.work]\nservers = ['github', 't*']\nmode = 'both'\n\
         pinned = ['github/create_issue', 'time/*']\n[profiles.default]\n"
    );
    let yaml = "servers: {github: {command: a}, time: {command: b}}\nprofiles:\n  default: {}\n  \
                work:\n    servers: [github, t*]\n    mode: both\n    \
                pinned: [github/create_issue, 'time/*']\n";
    let json = r#"{"servers": {"github": {"command": "a"}, "time": {"command": "b"}}, "profiles": {
        "default": {}, "work": {"servers": ["github", "t*"], "mode": "both",
        "pinned": ["github/create_issue", "time/*"]}}}"#;
    for (name, text) in [
        ("config.toml", toml.as_str()),
        ("config.yaml", yaml),
        ("config.json", json),
    ] {
        let loaded = Fixture::with(name, text).load();
        assert!(loaded.problems.is_empty(), "{name}: {:?}", loaded.problems);
        assert_eq!(loaded.profiles["work"], wanted, "{name}");
        assert_eq!(loaded.profiles["default"], Profile::default(), "{name}");
    }
}

#[test]
fn r_cfg_04_mistakes_in_profiles_are_reported_with_their_place_and_a_fix() {
    check(
        "[profiles.a]\nservers = ['time', 'githb']\n",
        &["6:20 warning SERVER_UNKNOWN"],
    );
    check(
        "[profiles.a]\npinned = ['tme/now']\n",
        &["6:11 warning SERVER_UNKNOWN"],
    );
    check(
        "[profiles.a]\npinned = ['now']\n",
        &["6:11 error CONFIG_INVALID"],
    );
    check(
        "[profiles.a]\nmode = 'eager'\n",
        &["6:8 error CONFIG_INVALID"],
    );
    check(
        "[profiles.a]\nservers = 'time'\n",
        &["6:11 error CONFIG_INVALID"],
    );
    check(
        "[profiles.a]\nserver = []\n",
        &["6:1 warning CONFIG_UNKNOWN_KEY"],
    );
    check("[profiles.'My Own']\n", &["5:11 error CONFIG_NAME"]);
    check(
        "[profiles.a]\nprefix = false\n",
        &["6:10 error CONFIG_INVALID"],
    );
    for servers in ["['github', 'time']", "['*']", "[]"] {
        let text = format!("[profiles.a]\nservers = {servers}\nprefix = false\n");
        check(&text, &["7:10 error CONFIG_INVALID"]);
    }
    check("[profiles.a]\nservers = ['time']\nprefix = false\n", &[]);
    let loaded = fixture("[profiles.a]\nservers = ['githb']\n").load();
    assert!(
        loaded.problems[0].help.contains("`github`"),
        "{:?}",
        loaded.problems
    );
}

#[test]
fn r_cfg_04_a_bad_profile_is_rejected_alone_and_a_typo_never_widens_it() {
    let text = "[profiles.bad]\nmode = 7\n[profiles.good]\nservers = ['nothing_here']\n";
    let loaded = fixture(text).load();
    assert_eq!(loaded.servers.len(), 2);
    assert_eq!(loaded.profiles.len(), 1);
    // Without the unknown name the list would be empty, which means every server.
    assert_eq!(loaded.profiles["good"].servers, ["nothing_here"]);
}

/// Loads the user's and the project's profiles, and compares the profile `name` and the warnings.
#[track_caller]
fn check_narrowed(
    own: &str,
    project: &str,
    name: &str,
    expected: (&[&str], ProfileMode),
    not_taken: &[&str],
) {
    let loaded = fixture(own)
        .project(".pegboard/config.toml", project)
        .load();
    let profile = &loaded.profiles[name];
    assert_eq!(
        (profile.servers.as_slice(), profile.mode),
        (
            &expected
                .0
                .iter()
                .map(|s| (*s).to_owned())
                .collect::<Vec<_>>()[..],
            expected.1
        ),
        "{own} {project}"
    );
    assert_eq!(placed(&loaded), not_taken, "{own} {project}");
}

#[test]
fn r_sec_07_a_project_only_narrows_a_profile_of_the_user() {
    use ProfileMode::{Direct, Lazy};
    let own = "[profiles.default]\nservers = ['time']\n";
    check_narrowed(
        own,
        "[profiles.default]\nmode = 'direct'\n",
        "default",
        (&["time"], Lazy),
        &["2:8 warning CONFIG_INVALID"],
    );
    check_narrowed(
        own,
        "[profiles.default]\nservers = ['github', 'time']\n",
        "default",
        (&["time"], Lazy),
        &["2:12 warning CONFIG_INVALID"],
    );
    check_narrowed(
        own,
        "[profiles.default]\n",
        "default",
        (&["time"], Lazy),
        &[],
    );
    check_narrowed(
        "[profiles.default]\nmode = 'direct'\n",
        "[profiles.default]\nservers = ['time']\nmode = 'lazy'\n",
        "default",
        (&["time"], Lazy),
        &[],
    );
    // A profile of the project cannot use servers that the user's default profile leaves out.
    check_narrowed(
        own,
        "[profiles.all]\nmode = 'direct'\n",
        "all",
        (&["time"], Direct),
        &[],
    );
    check_narrowed(
        own,
        "[profiles.all]\nservers = ['github']\n",
        "all",
        (&["-"], Lazy),
        &["2:12 warning CONFIG_INVALID"],
    );
    // A project may choose what the user does not set.
    check_narrowed(
        "",
        "[profiles.default]\nmode = 'direct'\n",
        "default",
        (&[], Direct),
        &[],
    );
}

#[test]
fn r_sec_07_a_profile_that_cannot_be_read_is_not_replaced_by_a_projects() {
    let own = "[profiles.default]\nservers = 'time'\n";
    let project = "[profiles.default]\nmode = 'direct'\n";
    let loaded = fixture(own)
        .project(".mcp.json", "{}")
        .project(".pegboard/config.toml", project)
        .load();
    assert!(loaded.profiles.is_empty(), "{:?}", loaded.profiles);
    assert_eq!(
        placed(&loaded),
        ["6:11 error CONFIG_INVALID", "1:11 warning CONFIG_INVALID"]
    );
}

#[test]
fn r_sec_07_explain_shows_a_narrowed_profile_as_it_holds() {
    let fixture = fixture("[profiles.a]\nservers = ['time']\nmode = 'lazy'\n").project(
        ".pegboard/config.toml",
        "[profiles.a]\nservers = ['*']\nmode = 'both'\n",
    );
    let loaded = fixture.load();
    let rows: Vec<_> = loaded
        .values
        .iter()
        .filter(|row| row.key.starts_with("profiles."))
        .map(|row| {
            (
                row.key.as_str(),
                row.value.as_str(),
                row.layer,
                row.note.is_some(),
            )
        })
        .collect();
    assert_eq!(
        rows,
        [
            ("profiles.a.servers", "[time]", Layer::Project, true),
            ("profiles.a.mode", "lazy", Layer::User, false),
        ]
    );
    let message = &loaded.problems[0].message;
    assert!(
        message.contains("can only narrow") && message.contains("`*`"),
        "{message}"
    );
}

#[test]
fn r_cfg_01_the_gateway_has_settings_of_its_own() {
    let text = "[settings]\nessential = ['*search*']\nresult_tokens = 1000\nport = 9000\n\
                listen = '::1'\nallow_hosts = ['box.lan:80']\nallow_origins = ['https://a.example']\n";
    let loaded = Fixture::with("config.toml", text).load();
    assert!(loaded.problems.is_empty(), "{:?}", loaded.problems);
    let settings = &loaded.settings;
    assert_eq!(settings.essential, ["*search*"]);
    assert_eq!((settings.result_tokens, settings.port), (1000, Some(9000)));
    assert_eq!(settings.listen.to_string(), "::1");
    assert_eq!(settings.allow_hosts, ["box.lan:80"]);
    assert_eq!(settings.allow_origins, ["https://a.example"]);
    for (bad, place) in [
        ("port = 0", "2:8 error CONFIG_INVALID"),
        ("port = 70000", "2:8 error CONFIG_INVALID"),
        ("listen = 'example.com'", "2:10 error CONFIG_INVALID"),
        ("allow_hosts = ['a b']", "2:16 error CONFIG_INVALID"),
        ("allow_origins = ['*']", "2:18 error CONFIG_INVALID"),
        (
            "allow_origins = ['https://a/b']",
            "2:18 error CONFIG_INVALID",
        ),
        ("result_tokens = 0", "2:17 error CONFIG_INVALID"),
    ] {
        let loaded = Fixture::with("config.toml", &format!("[settings]\n{bad}\n")).load();
        assert_eq!(placed(&loaded), [place], "{bad}");
    }
}

#[test]
fn r_sec_03_a_project_cannot_open_pegboard_to_others() {
    let project = "[settings]\nlisten = '0.0.0.0'\nallow_hosts = ['evil']\n\
                   allow_origins = ['https://evil']\n";
    let loaded = Fixture::new()
        .project(".pegboard/config.toml", project)
        .load();
    assert!(loaded.settings.listen.is_loopback());
    assert!(loaded.settings.allow_hosts.is_empty() && loaded.settings.allow_origins.is_empty());
    assert_eq!(loaded.problems.len(), 3);
    for problem in &loaded.problems {
        assert!(
            problem.message.contains("project file"),
            "{}",
            problem.message
        );
    }
}
