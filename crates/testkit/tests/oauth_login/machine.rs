//! Logins without a browser: client credentials, and the device grant.

use pegboard_model::{OAuthGrant, Reason, Template};
use pegboard_testkit::oauth::{AuthMethod, Behaviour, Client, Route};
use pegboard_upstream::LoginOptions;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _};

use crate::fixture::{User, reason};

#[tokio::test]
async fn r_auth_01_a_client_logs_in_as_itself_with_a_secret() {
    let mut behaviour = Behaviour::default();
    behaviour.registration.configured = vec![Client::confidential(
        "robot",
        "canary-robot-secret",
        AuthMethod::Basic,
    )];
    let user = User::with(behaviour, |oauth| {
        oauth.grant = OAuthGrant::ClientCredentials;
        oauth.client_id = Some(Template::literal("robot"));
        oauth.client_secret = Some(Template::literal("canary-robot-secret"));
    });
    user.call("read_note").await.unwrap();
    assert_eq!(user.server.grants_asked("client_credentials"), 1);
    user.server.expire_access_tokens();
    user.call("read_note").await.unwrap();
    assert_eq!(user.server.grants_asked("client_credentials"), 2);
    assert_eq!(user.server.count(Route::Authorize), 0);
    let error = user.login().await.unwrap_err();
    assert_eq!(error.reason, Reason::LoginUnsupported);
}

#[tokio::test]
async fn r_auth_01_a_client_logs_in_as_itself_with_a_signature() {
    use base64::Engine as _;
    let random = ring::rand::SystemRandom::new();
    let document = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random).unwrap();
    let pair =
        EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, document.as_ref(), &random)
            .unwrap();
    let mut client = Client::public("signer");
    client.method = AuthMethod::PrivateKeyJwt;
    client.public_key = Some(pair.public_key().as_ref().to_vec());
    let mut behaviour = Behaviour::default();
    behaviour.registration.configured = vec![client];
    let pem = base64::engine::general_purpose::STANDARD.encode(document.as_ref());
    let pem = format!("-----BEGIN PRIVATE KEY-----\n{pem}\n-----END PRIVATE KEY-----");
    let user = User::with(behaviour, |oauth| {
        oauth.grant = OAuthGrant::ClientCredentials;
        oauth.client_id = Some(Template::literal("signer"));
        oauth.private_key = Some(Template::literal(pem));
    });
    user.call("read_note").await.unwrap();
    assert_eq!(user.server.grants_asked("client_credentials"), 1);
}

#[tokio::test]
async fn r_auth_02_a_code_for_another_device_is_offered_where_it_exists() {
    let user = User::of(Behaviour::default());
    let offered = user
        .logins
        .begin_on_device(&user.spec, &LoginOptions::default())
        .await
        .unwrap();
    assert!(offered.is_none());
    let mut behaviour = Behaviour::default();
    behaviour.metadata.device = true;
    for approves in [true, false] {
        let user = User::of(behaviour.clone());
        let offered = user
            .logins
            .begin_on_device(&user.spec, &LoginOptions::default())
            .await
            .unwrap();
        let device = offered.expect("the device grant");
        assert!(device.url().starts_with("http"), "{}", device.url());
        assert!(user.server.approve_device(device.user_code(), approves));
        let done = device.complete().await;
        match approves {
            true => {
                done.unwrap();
                user.call("read_note").await.unwrap();
            }
            false => assert_eq!(reason(done), Some(Reason::LoginFailed)),
        }
    }
}
