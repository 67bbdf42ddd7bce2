//! No token, code, verifier or secret appears in any output.

use pegboard_testkit::oauth::{Behaviour, RegisteredMethod, Route};

use crate::fixture::{User, call};

#[tokio::test]
async fn r_auth_04_no_secret_of_a_login_is_shown() {
    let mut behaviour = Behaviour::default();
    behaviour.registration.method =
        RegisteredMethod::Fixed(pegboard_testkit::oauth::AuthMethod::Basic);
    behaviour.registration.access_token = true;
    let user = User::of(behaviour);
    let mut shown = Vec::new();
    shown.push(format!("{:?}", user.call("count").await));
    shown.push(format!("{:?}", user.login().await));
    let server = user.connect().await.unwrap();
    shown.push(format!("{:?}", user.state()));
    let key = user.logins.key(&user.spec).unwrap();
    let stored = user.logins.store().read(&key).unwrap().unwrap();
    shown.push(format!("{stored:?} {key:?}"));
    // The server repeats the token in its error.
    let token = user.server.requests_to(Route::Mcp);
    let token = token
        .iter()
        .rev()
        .find_map(|request| request.header("authorization"));
    let token = token.unwrap().trim_start_matches("Bearer ").to_owned();
    user.server.change(|all| {
        let body = format!(
            r#"{{"jsonrpc":"2.0","id":null,"error":{{"code":-32000,"message":"got {token}"}}}}"#
        );
        all.faults = vec![pegboard_testkit::oauth::FaultRule::times(
            1,
            Route::Mcp,
            pegboard_testkit::oauth::Fault::Json(400, body),
        )];
    });
    let error = call(&*server, "count").await.unwrap_err();
    assert!(error.message.contains("got ***"), "{error}");
    shown.push(format!("{error:?} {}", error.model_message()));
    user.server.revoke_grants();
    shown.push(format!("{:?}", call(&*server, "count").await));
    shown.push(format!("{:?}", user.state()));
    let mut secrets = user.server.issued_secrets();
    for request in user.server.requests() {
        for name in [
            "code",
            "code_verifier",
            "state",
            "refresh_token",
            "client_secret",
        ] {
            secrets.extend(request.parameter(name).map(str::to_owned));
        }
    }
    assert!(secrets.len() > 6, "{}", secrets.len());
    let shown = shown.join("\n");
    for secret in secrets {
        assert!(!shown.contains(&secret), "{secret} in {shown}");
    }
    // What may be shown of a stored login contains none either, and is what `list` reads.
    let info = user.logins.store().read_info(&key).unwrap().unwrap();
    for secret in user.server.issued_secrets() {
        assert!(!info.contains(&secret), "{info}");
    }
}
