//! The commands, and what they say.

use pegboard_testkit::oauth::{AuthMethod, Behaviour, RegisteredMethod, Route};

use crate::machine::Machine;

#[test]
fn r_auth_02_from_a_new_server_to_the_first_call() {
    let machine = Machine::with(Behaviour::default());
    let before = machine.run(&["refresh", "notes"]);
    assert_eq!(before.exit, 4, "{}", before.stderr);
    let said = format!("{}{}", before.stdout, before.stderr);
    assert!(said.contains("pegboard login notes"), "{said}");
    assert_eq!(machine.state(), "required");
    let list = machine.run(&["list"]).ok();
    assert!(list.stdout.contains("login required"), "{}", list.stdout);
    assert_eq!(
        machine.server.count(Route::Authorize),
        0,
        "nothing else starts a login"
    );

    machine.login(&[]).ok();
    assert_eq!(machine.state(), "logged_in");
    let list = machine.run(&["list", "--json"]).ok().json();
    assert_eq!(list["servers"][0]["login"]["state"], "logged_in");
    assert_eq!(
        list["servers"][0]["tools"], 3,
        "the login discovers the server"
    );
    let show = machine.run(&["show", "notes"]).ok();
    assert!(
        show.stdout.contains("logged in") && show.stdout.contains(&machine.server.issuer()),
        "{}",
        show.stdout
    );
    let called = machine.run(&["call", "notes__read_note", "text=hi"]).ok();
    assert!(called.stdout.contains("read_note: hi"), "{}", called.stdout);
    let doctor = machine.run(&["doctor", "notes"]).ok();
    assert!(doctor.stdout.contains("logged in"), "{}", doctor.stdout);

    // A lost login keeps the tools and says what to do.
    machine.server.revoke_grants();
    let lost = machine.run(&["call", "notes__count"]);
    assert_eq!(lost.exit, 4, "{}", lost.stderr);
    assert!(
        lost.stderr.contains("LOGIN_LOST") && lost.stderr.contains("pegboard login notes"),
        "{}",
        lost.stderr
    );
    assert_eq!(machine.state(), "expired");
    let list = machine.run(&["list"]).ok();
    assert!(
        list.stdout.contains("login expired") && list.stdout.contains('3'),
        "{}",
        list.stdout
    );
    let tools = machine.run(&["tools"]).ok();
    assert!(tools.stdout.contains("read_note"), "{}", tools.stdout);

    machine.login(&[]).ok();
    let out = machine.run(&["logout", "notes"]).ok();
    assert!(out.stderr.contains("revoked"), "{}", out.stderr);
    assert_eq!(machine.server.live_access_tokens(), 0);
    let again = machine.run(&["logout", "notes"]).ok();
    assert!(again.stderr.contains("no login"), "{}", again.stderr);
}

#[test]
fn r_auth_02_more_rights_are_named_and_added() {
    let mut behaviour = Behaviour::default();
    behaviour.resource.challenge_scope = Some("notes:read".to_owned());
    behaviour.resource.step_up = vec![("write_note".to_owned(), "notes:write".to_owned())];
    let machine = Machine::with(behaviour);
    machine.login(&[]).ok();
    let refused = machine.run(&["call", "notes__write_note"]);
    assert_eq!(refused.exit, 4);
    assert!(
        refused.stderr.contains("notes:write") && refused.stderr.contains("RIGHTS_NEEDED"),
        "{}",
        refused.stderr
    );
    let list = machine.run(&["list"]).ok();
    assert!(
        list.stdout.contains("more rights needed"),
        "{}",
        list.stdout
    );
    machine.login(&[]).ok();
    machine.run(&["call", "notes__write_note"]).ok();
    machine.login(&["--scope", "only:this"]).ok();
    let asked = machine.server.requests_to(Route::Authorize);
    assert_eq!(asked.last().unwrap().parameter("scope"), Some("only:this"));
}

#[test]
fn r_auth_04_an_edited_url_gets_no_token_and_a_removed_server_is_logged_out() {
    let machine = Machine::with(Behaviour::default());
    machine.login(&[]).ok();
    let elsewhere = pegboard_testkit::oauth::OAuthServer::start(Behaviour::default());
    machine.configure(&elsewhere.mcp_url(), "");
    assert_eq!(machine.run(&["refresh", "notes"]).exit, 4);
    assert!(
        elsewhere
            .requests()
            .iter()
            .all(|request| request.header("authorization").is_none())
    );
    machine.configure(&machine.server.mcp_url(), "");
    machine.run(&["call", "notes__count"]).ok();
    machine.run(&["remove", "notes"]).ok();
    assert_eq!(machine.server.live_access_tokens(), 0);
}

#[test]
fn r_auth_01_a_project_cannot_configure_logins() {
    let machine = Machine::with(Behaviour::default());
    let project = machine.path("project");
    std::fs::create_dir_all(project.join(".pegboard")).unwrap();
    let url = machine.server.mcp_url();
    let text =
        format!("[servers.theirs]\nurl = \"{url}\"\n[servers.theirs.oauth]\nassume_pkce = true\n");
    std::fs::write(project.join(".pegboard/config.toml"), text).unwrap();
    let folder = project.to_string_lossy().into_owned();
    let checked = machine.run(&["--project", &folder, "config", "check"]);
    let said = format!("{}{}", checked.stdout, checked.stderr);
    assert!(said.contains("cannot configure how you log in"), "{said}");
}

#[test]
fn r_auth_04_no_secret_of_a_login_is_in_any_output_or_file() {
    let mut behaviour = Behaviour::default();
    behaviour.registration.method = RegisteredMethod::Fixed(AuthMethod::Basic);
    behaviour.registration.access_token = true;
    let machine = Machine::with(behaviour);
    let mut said = String::new();
    let mut keep =
        |done: crate::machine::Done| said.push_str(&format!("{}{}", done.stdout, done.stderr));
    keep(machine.login(&["--json", "--log-level", "trace"]));
    machine.server.expire_access_tokens();
    keep(machine.run(&["call", "notes__count", "--log-level", "trace"]));
    for args in [
        &["login", "--status", "--json"][..],
        &["list", "--json"],
        &["show", "notes", "--json"],
        &["doctor", "--json"],
        &["config", "show", "--json"],
        &["activity", "--json"],
        &["logs", "notes"],
    ] {
        keep(machine.run(args));
    }
    let mut secrets = machine.server.issued_secrets();
    for request in machine.server.requests() {
        secrets.extend(request.parameter("code_verifier").map(str::to_owned));
    }
    assert!(secrets.len() > 5);
    for secret in &secrets {
        assert!(!said.contains(secret.as_str()), "{secret}: {said}");
    }
    let mut folders = vec![machine.path("state")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap().flatten() {
            if entry.path().is_dir() {
                folders.push(entry.path());
                continue;
            }
            let bytes = std::fs::read(entry.path()).unwrap();
            let text = String::from_utf8_lossy(&bytes);
            for secret in &secrets {
                assert!(
                    !text.contains(secret.as_str()),
                    "{secret} in {}",
                    entry.path().display()
                );
            }
        }
    }
}
