//! Logins in the scenarios `auth/*`: a user who allows everything, with a browser that is one request.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use pegboard_model::{
    NoSecrets, OAuthGrant, OAuthSettings, ServerSpec, Template, ToolError, ToolResult,
};
use pegboard_testkit::oauth::browse;
use pegboard_upstream::{LoginOptions, Logins, MemoryLogins, needs_login};
use serde_json::Value;
use tokio::sync::mpsc;

/// The most logins for one run: after that a user would stop as well.
pub(crate) const MAX_LOGINS: usize = 3;
/// The document that the scenario for client id metadata documents expects.
const DOCUMENT: &str = "https://conformance-test.local/client-metadata.json";

/// Whether a request failed because a person must log in.
static NEEDED: AtomicBool = AtomicBool::new(false);

/// Remembers an error that a login would solve.
pub(crate) fn note(error: &ToolError) {
    if needs_login(error.reason) {
        NEEDED.store(true, Ordering::Relaxed);
    }
}

/// Whether a login is needed since the last call.
pub(crate) fn take_needed() -> bool {
    NEEDED.swap(false, Ordering::Relaxed)
}

/// Logins that end with the program.
pub(crate) fn logins() -> Logins {
    Logins::new(Arc::new(MemoryLogins::default()), Arc::new(NoSecrets))
}

/// The settings that the context of a scenario gives.
pub(crate) fn settings(scenario: &str, context: &Value) -> OAuthSettings {
    let text = |name: &str| context[name].as_str().map(Template::literal);
    OAuthSettings {
        grant: match scenario.starts_with("auth/client-credentials") {
            true => OAuthGrant::ClientCredentials,
            false => OAuthGrant::AuthorizationCode,
        },
        client_id: text("client_id"),
        client_secret: text("client_secret"),
        private_key: text("private_key_pem"),
        client_metadata_url: Some(DOCUMENT.to_owned()),
        ..OAuthSettings::default()
    }
}

/// Logs in once. An answer that does not belong to the login ends it.
pub(crate) async fn log_in(logins: &Logins, spec: &ServerSpec) -> ToolResult<()> {
    let pending = logins.begin(spec, &LoginOptions::default()).await?;
    let url = pending.url().to_owned();
    let browsing = tokio::task::spawn_blocking(move || browse(&url));
    let (_keep, pasted) = mpsc::channel(1);
    let (sender, mut refused) = mpsc::channel(1);
    let completing = pending.complete(pasted, move |error| drop(sender.try_send(error.clone())));
    tokio::select! {
        done = completing => done.map(drop)?,
        Some(error) = refused.recv() => return Err(error),
    }
    drop(browsing.await);
    Ok(())
}
