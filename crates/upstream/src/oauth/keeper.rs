//! The token of one server's requests: kept fresh, never sent elsewhere.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use pegboard_model::{OAuthGrant, Reason, Secret, Timestamp, ToolError, ToolResult};

use tokio::sync::OnceCell;

use super::challenge::BearerChallenge;
use super::client::ClientIdentity;
use super::failure::LoginErrors;
use super::fetch::Fetcher;
use super::login::{ClientKind, Login, LoginInfo, LoginSecrets, LoginStatus, lost};
use super::logins::{Challenges, Logins};
use super::settings::LoginTarget;
use super::store::LoginStore;
use super::token::{TokenClient, TokenFailure, Tokens};

/// A token is renewed this long before it expires, or after three quarters of its life if that is later.
const EARLY: Duration = Duration::from_secs(60);
/// The pause after an authorization server failed temporarily, before a token that still works is renewed again.
const RETRY_PAUSE: Duration = Duration::from_secs(30);

/// The login of one server, as its connections use it.
pub(crate) struct Keeper {
    pub(crate) target: LoginTarget,
    pub(crate) fetcher: Fetcher,
    store: Arc<dyn LoginStore>,
    known: Mutex<Known>,
    publishes: OnceCell<bool>,
    challenges: Challenges,
}

#[derive(Default)]
struct Known {
    version: Option<u64>,
    login: Option<Arc<Login>>,
    /// No renewal ahead of expiry before this time.
    not_before: Option<Timestamp>,
}

/// Why a token is renewed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Need {
    /// It expires soon, but may still work.
    Soon,
    /// The server refused it.
    Refused,
}

impl Keeper {
    pub(crate) fn new(target: LoginTarget, logins: &Logins) -> Self {
        let fetcher = Fetcher::new(target.parsed.clone(), target.errors.clone());
        Self {
            target,
            fetcher,
            store: logins.store.clone(),
            challenges: logins.challenges.clone(),
            known: Mutex::default(),
            publishes: OnceCell::new(),
        }
    }

    fn errors(&self) -> &LoginErrors {
        &self.target.errors
    }

    /// Returns the login as it is stored now. Reads the store only if it changed.
    fn current(&self) -> ToolResult<Option<Arc<Login>>> {
        let version = self.store.version(&self.target.key);
        {
            let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
            if known.version == version && (version.is_none() || known.login.is_some()) {
                return Ok(known.login.clone());
            }
        }
        self.reread(version)
    }

    fn reread(&self, version: Option<u64>) -> ToolResult<Option<Arc<Login>>> {
        let stored = self.store.read(&self.target.key)?;
        let login = stored.as_ref().and_then(Login::from_stored).map(Arc::new);
        *self.known.lock().unwrap_or_else(PoisonError::into_inner) = Known {
            version,
            login: login.clone(),
            not_before: None,
        };
        Ok(login)
    }

    /// Returns the token to send, renewed if it expires soon; `None` if there is no login.
    ///
    /// # Errors
    /// Fails if the login is lost, or expired while the authorization server cannot be used.
    pub(crate) async fn token(self: &Arc<Self>) -> ToolResult<Option<Secret>> {
        let Some(login) = self.current()? else {
            return Ok(None);
        };
        if login.info.status == LoginStatus::Lost {
            return Err(lost(self.errors()));
        }
        let now = crate::now();
        if !self.is_due(&login, now) {
            return Ok(Some(login.secrets.access_token.clone()));
        }
        match self.renew(login.clone(), Need::Soon).await {
            Ok(login) => Ok(Some(login.secrets.access_token.clone())),
            Err(error) if error.retryable => {
                let is_expired = login.info.expires_at.is_some_and(|until| until <= now);
                match is_expired {
                    true => Err(error),
                    false => {
                        let pause = u64::try_from(RETRY_PAUSE.as_millis()).unwrap_or(u64::MAX);
                        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
                        known.not_before = Some(Timestamp(now.0.saturating_add(pause)));
                        Ok(Some(login.secrets.access_token.clone()))
                    }
                }
            }
            Err(error) => Err(error),
        }
    }

    /// The token for a message whose outcome is not awaited.
    pub(crate) fn token_without_renewal(&self) -> Option<Secret> {
        let login = self.current().ok()??;
        (login.info.status != LoginStatus::Lost).then(|| login.secrets.access_token.clone())
    }

    fn is_due(&self, login: &Login, now: Timestamp) -> bool {
        let Some(until) = login.info.expires_at.filter(|_| login.info.renewable) else {
            return false;
        };
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.not_before.is_some_and(|time| now < time) && now < until {
            return false;
        }
        let life = until.0.saturating_sub(login.info.obtained_at.0);
        let early = u64::try_from(EARLY.as_millis())
            .unwrap_or(u64::MAX)
            .min(life / 4);
        now.0.saturating_add(early) >= until.0
    }

    /// The server refused a request with 401. Returns a token for one retry.
    ///
    /// # Errors
    /// Fails if a person must log in.
    pub(crate) async fn refused(
        self: &Arc<Self>,
        sent: Option<&Secret>,
        challenge: Option<&BearerChallenge>,
    ) -> ToolResult<Secret> {
        let login = self.reread(self.store.version(&self.target.key))?;
        let is_newer = |login: &Arc<Login>| {
            login.info.status != LoginStatus::Lost && sent != Some(&login.secrets.access_token)
        };
        match login {
            Some(login) if is_newer(&login) => Ok(login.secrets.access_token.clone()),
            Some(login) if login.info.status != LoginStatus::Lost => {
                let renewed = self.renew(login, Need::Refused).await?;
                Ok(renewed.secrets.access_token.clone())
            }
            Some(_) => Err(lost(self.errors())),
            None if self.is_machine() => {
                let login = self.log_in_as_client(challenge.cloned()).await?;
                Ok(login.secrets.access_token.clone())
            }
            None => {
                if let Some(challenge) = challenge {
                    self.challenges.note(&self.target.key, challenge);
                }
                Err(self.login_needed())
            }
        }
    }

    /// Whether the server publishes how to log in, although it did not say so in its response. Asked once.
    pub(crate) async fn publishes_login(&self) -> bool {
        let asking = self.fetcher.publishes_login(self.target.url.reveal());
        *self.publishes.get_or_init(|| asking).await
    }

    fn is_machine(&self) -> bool {
        self.target.settings.plain.grant == OAuthGrant::ClientCredentials
    }

    pub(crate) fn login_needed(&self) -> ToolError {
        let place = self.target.parsed.origin().ascii_serialization();
        let what = format_args!("at {place} requires a login");
        self.errors().error(Reason::LoginNeeded, what)
    }

    /// The token was refused although it is new: marks the login as lost, unless another process replaced it.
    pub(crate) async fn give_up(self: &Arc<Self>, sent: &Secret) -> ToolError {
        let (keeper, sent) = (Arc::clone(self), sent.clone());
        self.detached(async move {
            let _lock = keeper.store.lock(&keeper.target.key).await?;
            match keeper.reread(keeper.store.version(&keeper.target.key))? {
                Some(login) if login.secrets.access_token == sent => {
                    keeper.mark(&login, LoginStatus::Lost, false)
                }
                Some(login) => Ok(login),
                None => Err(keeper.login_needed()),
            }
        })
        .await
        .err()
        .filter(|error| error.reason == Reason::LoginNeeded)
        .unwrap_or_else(|| lost(self.errors()))
    }

    /// The server requires more scopes: stores which, and returns the error.
    pub(crate) async fn more_rights(self: &Arc<Self>, scopes: Vec<String>) -> ToolError {
        let named = match scopes.is_empty() {
            true => "more rights than the login has".to_owned(),
            false => format!("rights that the login does not have: {}", scopes.join(" ")),
        };
        let error = self
            .errors()
            .error(Reason::RightsNeeded, format_args!("requires {named}"));
        let keeper = Arc::clone(self);
        let stored = self
            .detached(async move {
                let _lock = keeper.store.lock(&keeper.target.key).await?;
                match keeper.reread(keeper.store.version(&keeper.target.key))? {
                    Some(login) if login.info.status != LoginStatus::Lost => {
                        keeper.mark(&login, LoginStatus::MoreRights(scopes), false)
                    }
                    Some(login) => Ok(login),
                    None => Err(keeper.login_needed()),
                }
            })
            .await;
        match stored {
            Err(needed) if needed.reason == Reason::LoginNeeded => needed,
            _ => error,
        }
    }

    /// Stores a new status. The caller holds the lock.
    fn mark(
        &self,
        login: &Login,
        status: LoginStatus,
        client_dead: bool,
    ) -> ToolResult<Arc<Login>> {
        let mut marked = login.clone();
        if status == LoginStatus::Lost {
            // The tokens are dead, so nothing is gained by keeping them.
            marked.secrets.access_token = Secret::default();
            marked.secrets.refresh_token = None;
        }
        marked.info.status = status;
        marked.info.client_dead |= client_dead;
        self.write(marked)
    }

    fn write(&self, login: Login) -> ToolResult<Arc<Login>> {
        let stored = login.to_stored(self.errors())?;
        self.store.write(&self.target.key, &stored)?;
        let login = Arc::new(login);
        *self.known.lock().unwrap_or_else(PoisonError::into_inner) = Known {
            version: self.store.version(&self.target.key),
            login: Some(login.clone()),
            not_before: None,
        };
        Ok(login)
    }

    /// Runs work in its own task: a caller that gives up must not interrupt it between the request and the write,
    /// because the authorization server has replaced the token by then.
    async fn detached(
        self: &Arc<Self>,
        work: impl Future<Output = ToolResult<Arc<Login>>> + Send + 'static,
    ) -> ToolResult<Arc<Login>> {
        match tokio::spawn(work).await {
            Ok(done) => done,
            Err(_) => Err(self.errors().temporary("the renewal was interrupted")),
        }
    }

    async fn renew(self: &Arc<Self>, login: Arc<Login>, need: Need) -> ToolResult<Arc<Login>> {
        let keeper = Arc::clone(self);
        self.detached(async move { keeper.renew_locked(&login, need).await })
            .await
    }

    /// Takes the lock, and renews unless another task or process already did.
    async fn renew_locked(&self, known: &Login, need: Need) -> ToolResult<Arc<Login>> {
        let _lock = self.store.lock(&self.target.key).await?;
        let Some(login) = self.reread(self.store.version(&self.target.key))? else {
            return Err(self.login_needed());
        };
        if login.info.status == LoginStatus::Lost {
            return Err(lost(self.errors()));
        }
        if login.secrets.access_token != known.secrets.access_token {
            return Ok(login);
        }
        if self.is_machine() {
            return self.client_credentials(None).await;
        }
        let Some(refresh) = login.secrets.refresh_token.clone() else {
            return match need {
                Need::Soon => Ok(login),
                Need::Refused => {
                    self.mark(&login, LoginStatus::Lost, false)?;
                    Err(lost(self.errors()))
                }
            };
        };
        match self.refresh(&login, &refresh).await {
            Ok(tokens) => self.write(renewed(&login, tokens)),
            Err(TokenFailure::Temporary(error)) => Err(error),
            Err(TokenFailure::Refused { code, .. }) => {
                // Another machine may share the store without sharing the lock.
                match self.reread(self.store.version(&self.target.key))? {
                    Some(newer) if newer.secrets.refresh_token.as_ref() != Some(&refresh) => {
                        Ok(newer)
                    }
                    _ => {
                        let is_dead =
                            matches!(code.as_str(), "invalid_client" | "unauthorized_client");
                        self.mark(&login, LoginStatus::Lost, is_dead)?;
                        Err(lost(self.errors()))
                    }
                }
            }
        }
    }

    /// Sends the refresh request to the authorization server of the login. If the answer is lost, it is sent once
    /// more: most authorization servers accept the old token for a moment.
    async fn refresh(&self, login: &Login, refresh: &Secret) -> Result<Tokens, TokenFailure> {
        let client = self.identity(login);
        let request = TokenClient {
            fetcher: &self.fetcher,
            client: &client,
            settings: &self.target.settings,
            issuer: &login.info.issuer,
            endpoint: login.info.metadata.token_endpoint.as_deref(),
        };
        let mut fields = vec![
            ("grant_type", "refresh_token"),
            ("refresh_token", refresh.reveal()),
        ];
        if self.target.settings.plain.send_resource {
            fields.push(("resource", &login.info.resource));
        }
        match request.request(&fields).await {
            Err(TokenFailure::Temporary(_)) => request.request(&fields).await,
            answered => answered,
        }
    }

    /// The client of a login. A configured secret may have been replaced since.
    fn identity(&self, login: &Login) -> ClientIdentity {
        let configured = self.target.settings.client_secret.clone();
        ClientIdentity {
            id: login.info.client_id.clone(),
            secret: match login.info.client_kind {
                ClientKind::Configured => configured,
                ClientKind::Document | ClientKind::Registered => {
                    login.secrets.client_secret.clone()
                }
            },
            method: login.info.auth_method,
            kind: login.info.client_kind,
            redirect_uri: login.info.redirect_uri.clone(),
        }
    }

    /// Logs in as the client itself, without a person.
    async fn log_in_as_client(
        self: &Arc<Self>,
        challenge: Option<BearerChallenge>,
    ) -> ToolResult<Arc<Login>> {
        let keeper = Arc::clone(self);
        self.detached(async move {
            let _lock = keeper.store.lock(&keeper.target.key).await?;
            match keeper.reread(keeper.store.version(&keeper.target.key))? {
                Some(login) => Ok(login),
                None => keeper.client_credentials(challenge).await,
            }
        })
        .await
    }

    /// Requests a token for the configured client. The caller holds the lock.
    async fn client_credentials(
        &self,
        challenge: Option<BearerChallenge>,
    ) -> ToolResult<Arc<Login>> {
        let settings = &self.target.settings;
        let url = self.target.url.reveal();
        let discovered = self
            .fetcher
            .discover(url, challenge.as_ref(), &settings.plain)
            .await?;
        let Some(client) = ClientIdentity::configured(settings, &discovered.metadata) else {
            let what = "`grant = \"client_credentials\"` needs a `client_id`";
            return Err(self.errors().failed(what));
        };
        let mut scopes = discovered.scopes_for(&settings.plain, challenge.as_ref());
        scopes.retain(|scope| scope != "offline_access");
        let scope = scopes.join(" ");
        let mut fields = vec![("grant_type", "client_credentials")];
        if !scope.is_empty() {
            fields.push(("scope", &scope));
        }
        if settings.plain.send_resource {
            fields.push(("resource", &discovered.resource));
        }
        let request = TokenClient {
            fetcher: &self.fetcher,
            client: &client,
            settings,
            issuer: &discovered.issuer,
            endpoint: discovered.metadata.token_endpoint.as_deref(),
        };
        let tokens = request
            .request(&fields)
            .await
            .map_err(TokenFailure::into_error)?;
        let mut login = new_login(&self.target, client, &discovered, None, scopes, tokens);
        login.info.renewable = true;
        login.secrets.refresh_token = None;
        self.write(login)
    }
}

/// A login with new tokens. A refresh token that the answer leaves out stays valid.
fn renewed(login: &Login, tokens: Tokens) -> Login {
    let mut login = login.clone();
    login.info.obtained_at = crate::now();
    login.info.expires_at = tokens.expires_at;
    login.info.scopes = tokens.scopes.unwrap_or(login.info.scopes);
    login.info.account = tokens.account.or(login.info.account);
    login.secrets.access_token = tokens.access_token;
    login.secrets.refresh_token = tokens.refresh_token.or(login.secrets.refresh_token);
    login.info.renewable = login.secrets.refresh_token.is_some();
    login
}

/// The login that a token answer completes.
pub(crate) fn new_login(
    target: &LoginTarget,
    client: ClientIdentity,
    discovered: &super::discovery::Discovered,
    redirect_uri: Option<String>,
    asked: Vec<String>,
    tokens: Tokens,
) -> Login {
    let info = LoginInfo {
        format: LoginInfo::format(),
        server: target.key.server.clone(),
        issuer: discovered.issuer.clone(),
        resource: discovered.resource.clone(),
        client_id: client.id,
        client_kind: client.kind,
        auth_method: client.method,
        client_dead: false,
        redirect_uri,
        // An answer without scopes grants what was asked.
        scopes: tokens.scopes.unwrap_or(asked),
        account: tokens.account,
        obtained_at: crate::now(),
        expires_at: tokens.expires_at,
        renewable: tokens.refresh_token.is_some(),
        status: LoginStatus::Active,
        metadata: discovered.metadata.clone(),
    };
    let client_secret = match client.kind {
        // The configured secret stays in the configuration.
        ClientKind::Configured => None,
        ClientKind::Document | ClientKind::Registered => client.secret,
    };
    Login {
        info,
        secrets: LoginSecrets {
            access_token: tokens.access_token,
            refresh_token: tokens.refresh_token,
            client_secret,
        },
    }
}
