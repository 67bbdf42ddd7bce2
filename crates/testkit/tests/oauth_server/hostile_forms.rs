//! The forms of an attacker.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use pegboard_testkit::oauth::{Behaviour, Fault, FaultRule, OAuthServer, Route, get, hostile};

use crate::login::{Script, call, text};

#[test]
fn a_mix_up_sends_the_honest_servers_code_to_the_attacker() {
    let mut honest = Behaviour::default();
    honest.registration.accepts_unknown = true;
    let honest = OAuthServer::start(honest);
    let attacker = OAuthServer::start(hostile::mix_up(&honest));
    let metadata = get(&format!(
        "{}/.well-known/oauth-authorization-server",
        attacker.issuer()
    ))
    .json();
    assert_eq!(
        metadata["authorization_endpoint"],
        honest.endpoint(Route::Authorize)
    );
    assert_eq!(metadata["token_endpoint"], attacker.endpoint(Route::Token));
    let client = Script::registered(&attacker).client;
    let at_honest = Script {
        server: &honest,
        client,
    };
    assert_eq!(at_honest.authorize("notes")["iss"], honest.issuer());
}

#[test]
fn authorization_responses_are_forged() {
    let answer = |behaviour| {
        let server = OAuthServer::start(behaviour);
        Script::registered(&server).authorize("notes")
    };
    assert_eq!(
        answer(hostile::wrong_iss("https://other.example"))["iss"],
        "https://other.example"
    );
    assert_ne!(answer(hostile::wrong_state())["state"], "s1");
    assert!(!answer(hostile::no_state()).contains_key("state"));
    assert!(answer(hostile::html_in_error())["error_description"].contains("<script>"));
    let server = OAuthServer::start(hostile::open_redirect("https://evil.example/"));
    let page = Script::registered(&server).authorize_page("notes");
    assert_eq!(page.header("location"), Some("https://evil.example/"));
}

#[test]
fn an_injected_code_fails_its_verifier() {
    let server = OAuthServer::start(hostile::code_injection());
    let script = Script::registered(&server);
    // The script uses the challenge that the attacker uses; any other client has its own.
    let code = script.authorize("notes")["code"].clone();
    let answer = script.token(&[
        ("grant_type", "authorization_code"),
        ("code", &code),
        ("code_verifier", "own"),
    ]);
    assert_eq!(answer.json()["error"], "invalid_grant");
}

#[test]
fn a_token_for_another_resource_is_not_accepted() {
    let server = OAuthServer::start(hostile::foreign_audience("https://other.example/mcp"));
    let login = Script::registered(&server).login("notes");
    assert_eq!(
        call(&server, "count", Some(text(&login, "access_token"))).status,
        401
    );
}

#[test]
fn faults_replace_answers_as_often_as_they_should() {
    let rule = FaultRule::times(2, Route::Token, Fault::Status(503));
    let server = OAuthServer::start(Behaviour {
        faults: vec![rule],
        ..Behaviour::default()
    });
    let script = Script::registered(&server);
    let statuses = [(); 3].map(|()| script.refresh("nonsense").status);
    assert_eq!(statuses, [503, 503, 400]);
}

#[test]
fn a_lost_answer_has_had_its_effect() {
    let server = OAuthServer::start(Behaviour::default());
    let script = Script::registered(&server);
    let login = script.login("notes");
    server.change(|behaviour| {
        behaviour.faults = vec![FaultRule::times(1, Route::Token, Fault::LostAnswer)];
    });
    let lost = script.refresh(text(&login, "refresh_token"));
    assert!(lost.json().is_null(), "{}", lost.body);
    let again = script.refresh(text(&login, "refresh_token"));
    assert_eq!(again.json()["error"], "invalid_grant", "it was rotated");
}

#[test]
fn bodies_are_endless_or_slow() {
    let begin = |fault: Fault, bytes: usize| {
        let server = OAuthServer::start(hostile::faulty(Route::ServerMetadata, fault));
        let address = server.issuer().replace("http://", "");
        let mut stream = TcpStream::connect(&address).unwrap();
        let request = "GET /.well-known/oauth-authorization-server HTTP/1.1\r\nHost: x\r\n\r\n";
        stream.write_all(request.as_bytes()).unwrap();
        stream.read_exact(&mut vec![0; bytes]).unwrap();
    };
    begin(Fault::Endless, 4 * 1024 * 1024);
    begin(Fault::Drip, 200);
}

#[test]
fn every_endpoint_redirects() {
    let server = OAuthServer::start(hostile::redirects_everywhere("http://169.254.169.254/"));
    let page = get(&format!(
        "{}/.well-known/openid-configuration",
        server.issuer()
    ));
    assert_eq!(
        (page.status, page.header("location")),
        (307, Some("http://169.254.169.254/"))
    );
}
