//! Precedence of files, projects and the environment.

use crate::fixture::{Fixture, names, server, short};
use pegboard_config::{SecretStore, TrustStore, command_line};
use pegboard_model::{Layer, NoSecrets, Secret, ServerName, Transport, TrustState};

#[test]
fn r_cfg_01_the_project_wins_per_server_and_explain_shows_it() {
    let loaded = Fixture::with("config.toml", "[settings]\nttl = '1m'\nmax_age = '1h'\n[servers.a]\ncommand = 'user-a'\ndescription = 'x'\n[servers.b]\ncommand = 'user-b'\n")
        .project(".mcp.json", r#"{"mcpServers":{"a":{"command":"mcp-a"},"c":{"command":"mcp-c"}},"other":1}"#)
        .project(".pegboard/config.toml", "[settings]\nttl = '30s'\n[servers.c]\ncommand = 'own-c'\n")
        .load();
    assert!(loaded.problems.is_empty(), "{:#?}", loaded.problems);
    let lines: Vec<_> = loaded
        .servers
        .values()
        .map(|s| (command_line(&s.transport), s.origin.layer))
        .collect();
    let expected = [
        ("mcp-a", Layer::Project),
        ("user-b", Layer::User),
        ("own-c", Layer::Project),
    ];
    assert_eq!(
        lines,
        expected.map(|(line, layer)| (line.to_owned(), layer))
    );
    assert_eq!(
        server(&loaded, "a").description,
        None,
        "the whole definition is replaced"
    );
    assert_eq!(
        (
            loaded.settings.ttl.as_secs(),
            loaded.settings.max_age.as_secs()
        ),
        (30, 3600)
    );

    let row = |key: &str| {
        loaded
            .values
            .iter()
            .find(|row| row.key == key)
            .unwrap_or_else(|| panic!("{key}"))
    };
    assert_eq!(
        (
            row("settings.ttl").value.as_str(),
            row("settings.ttl").layer
        ),
        ("30s", Layer::Project)
    );
    assert_eq!(
        (row("settings.max_age").layer, row("settings.max_age").line),
        (Layer::User, Some(3))
    );
    assert_eq!(row("settings.answer_deadline").layer, Layer::Builtin);
    let replaced = row("servers.a.command");
    assert_eq!(
        (replaced.value.as_str(), replaced.layer),
        ("mcp-a", Layer::Project)
    );
    assert!(
        replaced
            .note
            .as_ref()
            .is_some_and(|note| note.ends_with("config.toml:4")),
        "{replaced:?}"
    );
    assert_eq!(row("servers.b.command").line, Some(8));
}

#[test]
fn r_cfg_01_a_new_server_in_the_file_is_there_on_the_next_load() {
    let fixture = Fixture::with("config.toml", "[servers.a]\ncommand = 'a'\n");
    assert_eq!(names(&fixture.load()), ["a"]);
    let fixture = fixture.user(
        "config.toml",
        "[servers.a]\ncommand = 'a'\n[servers.b]\nurl = 'http://h/'\n",
    );
    assert_eq!(names(&fixture.load()), ["a", "b"]);
}

#[test]
fn r_cfg_01_one_file_can_replace_all_layers() {
    let mut fixture = Fixture::with("config.toml", "[servers.user]\ncommand = 'a'\n")
        .project(".mcp.json", r#"{"mcpServers":{"project":{"command":"b"}}}"#);
    let file = fixture.path("other.yaml");
    fixture = fixture.file(&file, "mcpServers:\n  only: { command: c }\n");
    fixture.options.config_file = Some(file.clone());
    let loaded = fixture.load();
    assert_eq!(names(&loaded), ["only"]);
    assert_eq!(server(&loaded, "only").trust_state, TrustState::Granted);
    assert_eq!((loaded.edit_target, loaded.project), (file, None));
    fixture.options.config_file = Some("missing.toml".into());
    assert_eq!(short(&fixture.load()), ["error CONFIG_IO -:-"]);
}

#[test]
fn r_cfg_01_the_project_can_be_chosen() {
    let mut fixture = Fixture::new();
    let folder = fixture.path("elsewhere");
    fixture = fixture.file(
        &folder.join(".mcp.json"),
        r#"{"mcpServers":{"there":{"command":"b"}}}"#,
    );
    assert!(names(&fixture.load()).is_empty());
    fixture.options.project = Some(folder.clone());
    let loaded = fixture.load();
    assert_eq!(
        (names(&loaded), loaded.project.clone()),
        (vec!["there"], Some(folder))
    );
    fixture.options.project = Some(fixture.path("nowhere"));
    assert_eq!(short(&fixture.load()), ["error CONFIG_IO -:-"]);
}

#[test]
fn r_cfg_01_two_user_files_are_an_error_that_names_both() {
    let loaded = Fixture::with("config.toml", "[servers.a]\ncommand = 'a'\n")
        .user("config.json", "{}")
        .load();
    assert_eq!(short(&loaded), ["error CONFIG_DUPLICATE -:-"]);
    let message = &loaded.problems[0].message;
    assert!(
        message.contains("config.toml") && message.contains("config.json"),
        "{message}"
    );
    assert_eq!(names(&loaded), ["a"]);
}

#[test]
fn files_that_would_count_later_are_in_the_watch_list() {
    let fixture = Fixture::with("config.toml", "").project(".mcp.json", "{}");
    let list = fixture.load().watch_list();
    let project = &fixture.env.working_dir;
    for path in [
        fixture.paths().config_dir.join("config.toml"),
        fixture.paths().config_dir.join("config.yaml"),
        project.join(".mcp.json"),
        project.join(".pegboard/config.toml"),
    ] {
        assert!(list.contains(&path), "{path:?} in {list:?}");
    }
}

#[test]
fn servers_of_a_project_are_pending_until_they_are_trusted() {
    let fixture = Fixture::with("config.toml", "[servers.mine]\ncommand = 'a'\n").project(
        ".mcp.json",
        r#"{"mcpServers":{"theirs":{"command":"b","args":["1"]}}}"#,
    );
    let loaded = fixture.load();
    assert_eq!(server(&loaded, "mine").trust_state, TrustState::Granted);
    let theirs = server(&loaded, "theirs");
    assert_eq!(theirs.trust_state, TrustState::Pending);
    let mut trust_store = TrustStore::open(&fixture.paths().state_dir);
    trust_store
        .grant(loaded.project.as_ref().unwrap(), &theirs.name, &theirs.hash)
        .unwrap();
    assert_eq!(
        server(&fixture.load(), "theirs").trust_state,
        TrustState::Granted
    );
    let fixture = fixture.project(
        ".mcp.json",
        r#"{"mcpServers":{"theirs":{"command":"b","args":["2"]}}}"#,
    );
    assert_eq!(
        server(&fixture.load(), "theirs").trust_state,
        TrustState::Changed
    );
}

#[test]
fn servers_of_a_project_run_in_its_folder() {
    let fixture = Fixture::new().project(".mcp.json", r#"{"mcpServers":{"a":{"command":"b"}}}"#);
    let loaded = fixture.load();
    let Transport::Stdio { cwd: Some(cwd), .. } = &server(&loaded, "a").transport else {
        panic!()
    };
    assert_eq!(cwd.written(), fixture.env.working_dir.to_str().unwrap());
}

#[test]
fn a_project_cannot_widen_what_servers_see() {
    let fixture = Fixture::with("config.toml", "[settings]\nenv_allow = ['MINE']\n").project(
        ".pegboard/config.toml",
        "[settings]\nenv_allow = ['AWS_SECRET_ACCESS_KEY']\n",
    );
    let loaded = fixture.load();
    assert_eq!(loaded.settings.env_allow, ["MINE"]);
    assert_eq!(short(&loaded), ["warning CONFIG_INVALID -:2"]);
}

#[track_caller]
fn check_override(vars: &[(&str, &str)], expected: &[&str], problems: &[&str]) {
    let text = "[servers.local]\ncommand = 'run'\nenv = { A = 'b' }\n[servers.far_away]\nurl = 'https://file/'\nheaders = { H = 'v' }\n";
    let mut fixture = Fixture::with("config.toml", text);
    for (name, value) in vars {
        fixture = fixture.var(name, value);
    }
    let loaded = fixture.load();
    let show = |spec: &pegboard_model::ServerSpec| {
        let known =
            |t: &pegboard_model::Template| t.resolve(&NoSecrets).unwrap().reveal().to_owned();
        let how = match &spec.transport {
            Transport::Stdio { command, env, .. } => format!(
                "{} {}",
                known(command),
                env.keys().cloned().collect::<Vec<_>>().join("+")
            ),
            Transport::Http {
                url,
                headers,
                bearer,
                ..
            } => {
                format!(
                    "{} {} {}",
                    known(url),
                    headers.len(),
                    bearer.as_ref().map_or("-".to_owned(), known)
                )
            }
        };
        format!(
            "{} {} {} {:?}",
            spec.name, how, spec.enabled, spec.origin.layer
        )
    };
    let got: Vec<String> = loaded.servers.values().map(show).collect();
    assert_eq!(got, expected, "{vars:?}");
    assert_eq!(short(&loaded), problems, "{vars:?}");
}

#[test]
fn r_cfg_03_the_environment_overrides_servers_by_name() {
    let far = "far_away https://file/ 1 - true User";
    let local = "local run A true User";
    check_override(&[], &[far, local], &[]);
    check_override(
        &[("LOCAL_MCP_URL", "https://env/")],
        &[far, "local https://env/ 0 - true User"],
        &[],
    );
    check_override(
        &[("FAR_AWAY_MCP_URL", "https://env/")],
        &["far_away https://env/ 1 - true User", local],
        &[],
    );
    check_override(
        &[("FAR_AWAY_API_KEY", "k")],
        &["far_away https://file/ 1 k true User", local],
        &[],
    );
    check_override(
        &[("LOCAL_API_KEY", "k")],
        &[far, "local run A+LOCAL_API_KEY true User"],
        &[],
    );
    for off in ["false", "0", "no", "off", "FALSE"] {
        check_override(
            &[("LOCAL_MCP_ENABLED", off)],
            &[far, "local run A false User"],
            &[],
        );
    }
    for on in ["true", "1", "yes", "on"] {
        check_override(&[("LOCAL_MCP_ENABLED", on)], &[far, local], &[]);
    }
    check_override(
        &[("LOCAL_MCP_ENABLED", "maybe")],
        &[far, local],
        &["warning CONFIG_INVALID local:-"],
    );
    check_override(
        &[("LOCAL_MCP_URL", "nonsense")],
        &[far, local],
        &["warning CONFIG_INVALID local:-"],
    );
    check_override(&[("LOCAL_MCP_URL", "")], &[far, local], &[]);
    check_override(
        &[
            ("NEW_MCP_URL", "https://env/"),
            ("NEW_API_KEY", "k"),
            ("NEW_MCP_ENABLED", "no"),
        ],
        &[far, local, "new https://env/ 0 k false Environment"],
        &[],
    );
    check_override(
        &[("GATEWAY_MCP_URL", "https://env/")],
        &[far, local],
        &["warning CONFIG_NAME_RESERVED -:-"],
    );
    check_override(
        &[("A__B_MCP_URL", "https://env/")],
        &[far, local],
        &["warning CONFIG_NAME -:-"],
    );
    check_override(
        &[("_MCP_URL", "https://env/")],
        &[far, local],
        &["warning CONFIG_NAME -:-"],
    );
    check_override(
        &[
            ("PEGBOARD_MCP_URL", "https://env/"),
            ("PEGBOARD_X_MCP_URL", "https://env/"),
        ],
        &[far, local],
        &[],
    );
}

#[test]
fn r_cfg_03_explain_shows_the_variable_and_not_its_value() {
    let fixture = Fixture::with("config.toml", "[servers.a]\nurl = 'https://file/'\n")
        .var("A_MCP_URL", "https://canary.example/")
        .var("A_API_KEY", "canary");
    let loaded = fixture.load();
    let rows: Vec<_> = loaded
        .values
        .iter()
        .filter(|row| row.key.starts_with("servers.a."))
        .collect();
    let shown: Vec<_> = rows
        .iter()
        .map(|row| (row.key.as_str(), row.value.as_str(), row.layer))
        .collect();
    assert_eq!(
        shown,
        [
            ("servers.a.url", "${A_MCP_URL}", Layer::Environment),
            ("servers.a.bearer", "${A_API_KEY}", Layer::Environment),
        ]
    );
}

#[test]
fn r_cfg_08_a_missing_variable_names_server_key_file_and_line() {
    let text = "[servers.a]\ncommand = 'a'\nenv = { TOKEN = 'x${NOPE}' }\n[servers.b]\ncommand = 'b'\nargs = ['${secret:gone}']\n[servers.c]\ncommand = 'c'\n";
    let loaded = Fixture::with("config.toml", text).load();
    assert_eq!(names(&loaded), ["c"]);
    assert_eq!(loaded.broken.keys().collect::<Vec<_>>(), ["a", "b"]);
    assert_eq!(
        short(&loaded),
        [
            "error CONFIG_SECRET_MISSING a:3",
            "error CONFIG_SECRET_MISSING b:6"
        ]
    );
    let [first, second] = loaded.problems.as_slice() else {
        panic!()
    };
    assert!(
        first.message.contains("`env.TOKEN`") && first.message.contains("`NOPE`"),
        "{first}"
    );
    assert!(
        first
            .file
            .as_ref()
            .is_some_and(|file| file.ends_with("config.toml"))
    );
    assert_eq!(second.help, "run `pegboard secret set gone`");
}

#[test]
fn r_cfg_08_a_stored_secret_is_named_in_the_definition_and_read_only_when_used() {
    let fixture = Fixture::with(
        "config.toml",
        "[servers.a]\nurl = 'https://h/'\nbearer = 'x-${secret:key}'\n",
    );
    let keeper = SecretStore::open(&fixture.paths().state_dir);
    keeper.set("key", Secret::new("canary-one")).unwrap();
    let first = fixture.load();
    let Transport::Http {
        bearer: Some(bearer),
        ..
    } = &server(&first, "a").transport
    else {
        panic!()
    };
    assert_eq!(
        bearer.resolve(&NoSecrets),
        Err("key".to_owned()),
        "not read at load"
    );
    assert_eq!(bearer.resolve(&keeper).unwrap().reveal(), "x-canary-one");
    assert!(!format!("{first:?}").contains("canary"));
    keeper.set("key", Secret::new("canary-two")).unwrap();
    assert_ne!(
        server(&first, "a").hash,
        server(&fixture.load(), "a").hash,
        "a new value is a new hash"
    );
}

#[test]
fn r_disc_05_the_hash_covers_what_runs_and_nothing_else() {
    let hash = |text: &str, var: &str| {
        server(
            &Fixture::with("config.toml", text).var("V", var).load(),
            "a",
        )
        .hash
    };
    let base = "[servers.a]\ncommand = 'x'\nargs = ['1', '2']\nenv = { K = '${V}' }\ncwd = '/c'\n";
    let same = hash(base, "v");
    for other in [
        "[servers.a]\nenv = { K = '${V}' }\ncwd = '/c'\nargs = ['1', '2']\ncommand = 'x'\nttl = '1s'\nenabled = false\n# note\n",
        "[servers.a]\ncommand = 'x'\nargs = ['1', '2']\nenv.K = '${V}'\ncwd = '${NONE:-/c}'\npolicy = 'deny'\n",
    ] {
        assert_eq!(hash(other, "v"), same, "{other}");
    }
    assert_ne!(hash(base, "w"), same, "the value of a variable counts");
    for (from, to) in [
        ("'x'", "'y'"),
        ("['1', '2']", "['12']"),
        ("['1', '2']", "['2', '1']"),
        ("K =", "L ="),
        ("/c", "/d"),
    ] {
        assert_ne!(hash(&base.replace(from, to), "v"), same, "{from} -> {to}");
    }
    let remote = "[servers.a]\nurl = 'https://h/'\nheaders = { H = 'v' }\nbearer = 'b'\n";
    let same = hash(remote, "v");
    for (from, to) in [
        ("//h", "//i"),
        ("H =", "I ="),
        ("'v'", "'w'"),
        ("'b'", "'c'"),
    ] {
        assert_ne!(hash(&remote.replace(from, to), "v"), same, "{from} -> {to}");
    }
}

#[cfg(unix)]
#[test]
fn a_file_that_others_can_write_is_a_warning_and_strictly_an_error() {
    use std::os::unix::fs::PermissionsExt;
    let mut fixture = Fixture::with("config.toml", "[servers.a]\ncommand = 'a'\n");
    let file = fixture.paths().config_dir.join("config.toml");
    for (mode, strict, expected, servers) in [
        (0o600, true, None, 1),
        (0o644, true, None, 1),
        (0o664, false, Some("warning CONFIG_PERMISSION -:-"), 1),
        (0o602, false, Some("warning CONFIG_PERMISSION -:-"), 1),
        (0o666, true, Some("error CONFIG_PERMISSION -:-"), 0),
    ] {
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).unwrap();
        fixture.options.strict = strict;
        let loaded = fixture.load();
        assert_eq!(
            short(&loaded).first().map(String::as_str),
            expected,
            "{mode:o}"
        );
        assert_eq!(loaded.servers.len(), servers, "{mode:o}");
        assert_eq!(loaded.broken.len(), 1 - servers, "{mode:o}");
    }
}

#[test]
fn r_cfg_05_similar_names_are_suggested() {
    let loaded = Fixture::with(
        "config.toml",
        "[servers.github]\ncommand = 'a'\n[servers.filesystem]\ncommand = 'b'\n",
    )
    .load();
    assert_eq!(loaded.similar_server_names("gihtub"), ["github"]);
    assert_eq!(loaded.similar_server_names("File"), ["filesystem"]);
    assert!(loaded.similar_server_names("zzz").is_empty());
    assert!(ServerName::parse("github").is_ok());
}

/// Changes the owner of files. Prints the reason and returns `false` if this process is not permitted to.
#[cfg(unix)]
fn give_away(paths: &[std::path::PathBuf]) -> bool {
    let given = paths
        .iter()
        .all(|path| std::os::unix::fs::lchown(path, Some(54_321), None).is_ok());
    if !given {
        eprintln!("skipped: only root can give a file to another user");
    }
    given
}

#[cfg(unix)]
#[test]
fn r_sec_07_files_of_another_user_are_ignored_with_one_notice() {
    let fixture = Fixture::with("config.toml", "[servers.own]\ncommand = 'a'\n")
        .project(".mcp.json", r#"{"mcpServers":{"theirs":{"command":"b"}}}"#)
        .project(
            ".pegboard/config.toml",
            "[profiles.default]\nmode = 'direct'\n[servers.too]\ncommand = 'c'\n",
        );
    let project = fixture.env.working_dir.clone();
    let files = [
        project.join(".mcp.json"),
        project.join(".pegboard/config.toml"),
    ];
    assert_eq!(names(&fixture.load()), ["own", "theirs", "too"]);
    if !give_away(&files) {
        return;
    }
    let loaded = fixture.load();
    assert_eq!(names(&loaded), ["own"]);
    assert!(loaded.profiles.is_empty());
    assert_eq!(loaded.project, None);
    assert_eq!(short(&loaded), ["warning CONFIG_PERMISSION -:-"]);
    let message = &loaded.problems[0].message;
    for file in &files {
        assert!(message.contains(&file.display().to_string()), "{message}");
        assert!(loaded.watch_list().contains(file));
    }
    assert!(message.contains("another user"), "{message}");
}

#[cfg(unix)]
#[test]
fn r_sec_07_a_file_of_another_user_does_not_hide_ones_own_project() {
    let mut fixture =
        Fixture::new().project(".mcp.json", r#"{"mcpServers":{"mine":{"command":"b"}}}"#);
    let own = fixture.env.working_dir.clone();
    let below = own.join("vendor/.mcp.json");
    fixture = fixture.file(&below, r#"{"mcpServers":{"theirs":{"command":"b"}}}"#);
    fixture.env.working_dir = own.join("vendor");
    assert_eq!(names(&fixture.load()), ["theirs"]);
    if !give_away(&[below]) {
        return;
    }
    let loaded = fixture.load();
    assert_eq!(
        (names(&loaded), loaded.project.as_deref()),
        (vec!["mine"], Some(own.as_path()))
    );
    assert_eq!(short(&loaded), ["warning CONFIG_PERMISSION -:-"]);
}

#[cfg(unix)]
#[test]
fn r_sec_07_a_link_or_folder_of_another_user_is_ignored_and_a_named_file_is_not() {
    let mut fixture = Fixture::new();
    let (mine, link) = (
        fixture.path("mine.json"),
        fixture.env.working_dir.join(".mcp.json"),
    );
    fixture = fixture.file(&mine, r#"{"mcpServers":{"mine":{"command":"b"}}}"#);
    std::os::unix::fs::symlink(&mine, &link).unwrap();
    assert_eq!(names(&fixture.load()), ["mine"]);
    if !give_away(std::slice::from_ref(&link)) {
        return;
    }
    assert!(names(&fixture.load()).is_empty(), "a link of another user");
    fixture = fixture.project(".pegboard/config.toml", "[servers.folder]\ncommand = 'c'\n");
    assert_eq!(names(&fixture.load()), ["folder"]);
    give_away(&[fixture.env.working_dir.join(".pegboard")]);
    assert!(
        names(&fixture.load()).is_empty(),
        "a folder of another user"
    );
    give_away(std::slice::from_ref(&mine));
    fixture.options.config_file = Some(mine);
    let loaded = fixture.load();
    assert_eq!(names(&loaded), ["mine"], "named with --config");
    assert_eq!(short(&loaded), ["warning CONFIG_PERMISSION -:-"]);
}

#[cfg(unix)]
#[test]
fn r_sec_07_the_users_own_file_is_not_read_when_another_user_owns_it() {
    let fixture = Fixture::with("config.toml", "[servers.own]\ncommand = 'a'\n");
    if give_away(&[fixture.paths().user_file()]) {
        let loaded = fixture.load();
        assert!(names(&loaded).is_empty());
        assert_eq!(short(&loaded), ["warning CONFIG_PERMISSION -:-"]);
    }
}
