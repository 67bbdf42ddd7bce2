//! The logins of all servers: their state, and how a person logs in and out.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use pegboard_model::{
    LoginState, OAuthGrant, Reason, SecretLookup, ServerSpec, ToolError, ToolResult,
};

use super::attempt::Attempt;
use super::challenge::BearerChallenge;
use super::client::ClientIdentity;
use super::device::DeviceLogin;
use super::discovery::Discovered;
use super::failure::LoginErrors;
use super::fetch::Fetcher;
use super::listener::CallbackListener;
use super::login::{ClientKind, Login, LoginKey, LoginStatus, read_info};
use super::pending::PendingLogin;
use super::settings::LoginTarget;
use super::store::LoginStore;
use super::token::TokenClient;

/// The logins of all servers of a user.
#[derive(Clone)]
pub struct Logins {
    pub(crate) store: Arc<dyn LoginStore>,
    pub(crate) secrets: Arc<dyn SecretLookup>,
    pub(crate) challenges: Challenges,
}

/// The most challenges that are remembered.
const MAX_CHALLENGES: usize = 256;

/// The challenges that requests of this process met, by login. The one that made a login necessary names its scopes best.
#[derive(Clone, Default)]
pub(crate) struct Challenges(Arc<Mutex<HashMap<LoginKey, BearerChallenge>>>);

impl Challenges {
    pub(crate) fn note(&self, key: &LoginKey, challenge: &BearerChallenge) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() < MAX_CHALLENGES || known.contains_key(key) {
            known.insert(key.clone(), challenge.clone());
        }
    }

    fn of(&self, key: &LoginKey) -> Option<BearerChallenge> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(key).cloned()
    }
}

/// Options of a login.
#[derive(Clone, Debug, Default)]
pub struct LoginOptions {
    /// Requests exactly these scopes instead of those that the server names.
    pub scopes: Option<Vec<String>>,
}

/// What a logout did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogoutOutcome {
    /// Whether there was a login.
    pub was_logged_in: bool,
    /// Whether the authorization server confirmed that the tokens are void; `None` if it offers no revocation.
    pub revoked: Option<bool>,
}

/// Everything that both kinds of login need.
pub(crate) struct Prepared {
    pub(crate) target: LoginTarget,
    pub(crate) fetcher: Fetcher,
    pub(crate) discovered: Discovered,
    pub(crate) scopes: Vec<String>,
    /// The login that exists already, whose client may be used again.
    pub(crate) known: Option<Login>,
}

impl Logins {
    /// Creates the logins over a store.
    pub fn new(store: Arc<dyn LoginStore>, secrets: Arc<dyn SecretLookup>) -> Self {
        Self {
            store,
            secrets,
            challenges: Challenges::default(),
        }
    }

    /// The store.
    pub fn store(&self) -> &Arc<dyn LoginStore> {
        &self.store
    }

    /// The key of a server's login; `None` if Pegboard does not log in to it.
    pub fn key(&self, spec: &ServerSpec) -> Option<LoginKey> {
        LoginTarget::of(spec, self.secrets.as_ref())
            .ok()
            .flatten()
            .map(|target| target.key)
    }

    /// A number that changes whenever the login of a server changes; `None` if there is none.
    pub fn version(&self, spec: &ServerSpec) -> Option<u64> {
        self.store.version(&self.key(spec)?)
    }

    /// The state of a server's login, without network and keychain. `failure` is why the last discovery failed: a
    /// server without a login shows only by that whether it requires one.
    pub fn state(&self, spec: &ServerSpec, failure: Option<Reason>) -> Option<LoginState> {
        let key = self.key(spec)?;
        let info = self.store.read_info(&key).ok().flatten();
        match info.as_deref().and_then(read_info) {
            Some(info) => Some(info.state(crate::now())),
            None if failure == Some(Reason::LoginNeeded) => Some(LoginState::Required),
            None => None,
        }
    }

    /// Prepares a login with a browser: finds the authorization server, registers if needed, and listens for the
    /// answer. Opens nothing.
    ///
    /// # Errors
    /// Fails if the server has no login that can be used, or cannot be reached.
    pub async fn begin(
        &self,
        spec: &ServerSpec,
        options: &LoginOptions,
    ) -> ToolResult<PendingLogin> {
        let prepared = self.prepare(spec, options).await?;
        check_pkce(&prepared)?;
        let (client, listener, is_reused) = choose_client(&prepared).await?;
        let Prepared {
            target,
            fetcher,
            discovered,
            scopes,
            ..
        } = prepared;
        let redirect_uri = listener.redirect_uri.clone();
        let attempt = Attempt::new(client, discovered, redirect_uri, scopes, &target.errors)?;
        PendingLogin::new(
            target,
            fetcher,
            attempt,
            listener,
            is_reused,
            self.store.clone(),
        )
    }

    /// Prepares a login with a code that the person types on another device (RFC 8628). Returns `None` if the
    /// authorization server does not offer it.
    ///
    /// # Errors
    /// Fails like [`Logins::begin`].
    pub async fn begin_on_device(
        &self,
        spec: &ServerSpec,
        options: &LoginOptions,
    ) -> ToolResult<Option<DeviceLogin>> {
        let prepared = self.prepare(spec, options).await?;
        if prepared
            .discovered
            .metadata
            .device_authorization_endpoint
            .is_none()
        {
            return Ok(None);
        }
        let (client, _listener, _) = choose_client(&prepared).await?;
        DeviceLogin::request(prepared, client, self.store.clone())
            .await
            .map(Some)
    }

    async fn prepare(&self, spec: &ServerSpec, options: &LoginOptions) -> ToolResult<Prepared> {
        let target = self.target(spec)?;
        if target.settings.plain.grant == OAuthGrant::ClientCredentials {
            let what = "logs in by itself (`grant = \"client_credentials\"`); no person is needed";
            return Err(target
                .errors
                .error(Reason::LoginUnsupported, what)
                .with_remedy("Call one of its tools, or refresh it."));
        }
        let fetcher = Fetcher::new(target.parsed.clone(), target.errors.clone());
        let known = self
            .store
            .read(&target.key)?
            .as_ref()
            .and_then(Login::from_stored);
        let (status, challenge) = fetcher.probe(&target.parsed).await?;
        let challenge = challenge.or_else(|| self.challenges.of(&target.key));
        let settings = &target.settings.plain;
        let found = fetcher
            .discover(target.url.reveal(), challenge.as_ref(), settings)
            .await?;
        if found.is_assumed && status.is_success() {
            return Err(target
                .errors
                .error(Reason::LoginUnsupported, "does not ask for a login")
                .with_remedy("Nothing needs to be done: use its tools."));
        }
        if found.is_assumed && challenge.is_none() && status != hyper::StatusCode::UNAUTHORIZED {
            return Err(fetcher.no_metadata());
        }
        let scopes = match &options.scopes {
            Some(scopes) => scopes.clone(),
            None => requested_scopes(&found, &target, challenge.as_ref(), known.as_ref()),
        };
        Ok(Prepared {
            target,
            fetcher,
            discovered: found,
            scopes,
            known,
        })
    }

    fn target(&self, spec: &ServerSpec) -> ToolResult<LoginTarget> {
        LoginTarget::of(spec, self.secrets.as_ref())?.ok_or_else(|| {
            let errors = LoginErrors::new(&spec.name);
            match spec.transport {
                pegboard_model::Transport::Stdio { .. } => errors
                    .error(Reason::LoginUnsupported, "is a local program, which has no login")
                    .with_remedy("Set what it needs under `env` in its configuration."),
                pegboard_model::Transport::Http { .. } => errors
                    .error(Reason::LoginUnsupported, "uses a configured token or header, so there is no login")
                    .with_remedy("Correct the token, or remove `bearer` (or the `Authorization` header) from its configuration."),
            }
        })
    }

    /// Ends a login: asks the authorization server to revoke the tokens, and removes them in any case.
    ///
    /// # Errors
    /// Fails if the login cannot be removed.
    pub async fn logout(&self, spec: &ServerSpec) -> ToolResult<LogoutOutcome> {
        let target = self.target(spec)?;
        let login = {
            let _lock = self.store.lock(&target.key).await?;
            let stored = self.store.read(&target.key).ok().flatten();
            let was_logged_in = self.store.remove(&target.key)?;
            let login = stored.as_ref().and_then(Login::from_stored);
            match login {
                Some(login) => login,
                None => {
                    return Ok(LogoutOutcome {
                        was_logged_in,
                        revoked: None,
                    });
                }
            }
        };
        Ok(LogoutOutcome {
            was_logged_in: true,
            revoked: revoke(&target, &login).await,
        })
    }
}

/// Revokes the refresh token, then the access token (RFC 7009).
async fn revoke(target: &LoginTarget, login: &Login) -> Option<bool> {
    let endpoint = login.info.metadata.revocation_endpoint.as_deref()?;
    let fetcher = Fetcher::new(target.parsed.clone(), target.errors.clone());
    let client = ClientIdentity {
        id: login.info.client_id.clone(),
        secret: match login.info.client_kind {
            ClientKind::Configured => target.settings.client_secret.clone(),
            ClientKind::Document | ClientKind::Registered => login.secrets.client_secret.clone(),
        },
        method: login.info.auth_method,
        kind: login.info.client_kind,
        redirect_uri: None,
    };
    let request = TokenClient {
        fetcher: &fetcher,
        client: &client,
        settings: &target.settings,
        issuer: &login.info.issuer,
        endpoint: None,
    };
    let refresh = login.secrets.refresh_token.as_ref();
    let access = Some(&login.secrets.access_token).filter(|token| !token.reveal().is_empty());
    let mut all = true;
    for (token, hint) in [(refresh, "refresh_token"), (access, "access_token")] {
        let Some(token) = token else { continue };
        let fields = [("token", token.reveal()), ("token_type_hint", hint)];
        let answered = request.post(Some(endpoint), &fields).await;
        all &= answered.is_ok_and(|fetched| fetched.status.is_success());
    }
    Some(all)
}

/// The scopes of a new login. If the server asked for more rights, they are added to those that were granted.
fn requested_scopes(
    discovered: &Discovered,
    target: &LoginTarget,
    challenge: Option<&BearerChallenge>,
    known: Option<&Login>,
) -> Vec<String> {
    let mut scopes = discovered.scopes_for(&target.settings.plain, challenge);
    if let Some(login) = known
        && let LoginStatus::MoreRights(missing) = &login.info.status
    {
        let same_server = login.info.issuer == discovered.issuer;
        let granted = login.info.scopes.iter().filter(|_| same_server);
        for scope in granted.chain(missing) {
            if !scopes.contains(scope) {
                scopes.push(scope.clone());
            }
        }
    }
    scopes
}

fn check_pkce(prepared: &Prepared) -> ToolResult<()> {
    let settings = &prepared.target.settings.plain;
    if prepared.discovered.metadata.advertises_pkce() || settings.assume_pkce {
        return Ok(());
    }
    Err(prepared.target.errors.unsupported(
        "has an authorization server that does not say that it supports PKCE (S256)",
        "If you know that it does, set `assume_pkce = true` in the server's `oauth` table. Report it to the server's authors.",
    ))
}

/// Chooses the client and listens for its redirect URI. Returns whether a registered client is used again.
async fn choose_client(
    prepared: &Prepared,
) -> ToolResult<(ClientIdentity, CallbackListener, bool)> {
    let Prepared {
        target,
        fetcher,
        discovered,
        scopes,
        known,
    } = prepared;
    let (settings, errors) = (&target.settings, &target.errors);
    let metadata = &discovered.metadata;
    let own = ClientIdentity::configured(settings, metadata)
        .or_else(|| ClientIdentity::document(&settings.plain, metadata));
    if let Some(client) = own {
        let listener = CallbackListener::bind(client.redirect_uri.as_deref(), errors).await?;
        return Ok((client, listener, false));
    }
    if let Some(login) = known
        && let Some(client) = reusable(login, discovered, scopes)
        && let Ok(listener) = CallbackListener::bind(client.redirect_uri.as_deref(), errors).await
    {
        return Ok((client, listener, true));
    }
    let listener = CallbackListener::bind(settings.plain.redirect_uri.as_deref(), errors).await?;
    let client = fetcher
        .register(metadata, &settings.plain, &listener.redirect_uri, scopes)
        .await?;
    Ok((client, listener, false))
}

/// The registered client of an earlier login, if the same authorization server still knows it. Some authorization
/// servers refuse scopes that a client was not registered with, so more scopes need another registration.
fn reusable(login: &Login, discovered: &Discovered, scopes: &[String]) -> Option<ClientIdentity> {
    let info = &login.info;
    let mut missing = scopes.iter().filter(|scope| !info.scopes.contains(scope));
    let is_usable = info.client_kind == ClientKind::Registered
        && missing.all(|scope| scope == "offline_access")
        && !info.client_dead
        && info.issuer == discovered.issuer
        && info.metadata.token_endpoint == discovered.metadata.token_endpoint
        && info.redirect_uri.is_some();
    is_usable.then(|| ClientIdentity {
        id: info.client_id.clone(),
        secret: login.secrets.client_secret.clone(),
        method: info.auth_method,
        kind: info.client_kind,
        redirect_uri: info.redirect_uri.clone(),
    })
}

/// Whether an error means that a person must log in.
pub fn needs_login(reason: Reason) -> bool {
    matches!(
        reason,
        Reason::LoginNeeded | Reason::LoginLost | Reason::RightsNeeded
    )
}

/// Converts a store's failure after a successful login.
pub(crate) fn not_kept(error: ToolError) -> ToolError {
    let message = format!(
        "the login succeeded, but it could not be stored: {}",
        error.message
    );
    let remedy = error.remedy.clone();
    let mut changed = error;
    changed.message = message;
    changed.with_remedy(remedy)
}
