//! A login that waits for the browser.

use std::sync::Arc;
use std::time::Duration;

use pegboard_model::{LoginState, Secret, ToolError, ToolResult};
use tokio::sync::mpsc;

use super::attempt::{Attempt, Callback, pasted_query};
use super::fetch::Fetcher;
use super::keeper::new_login;
use super::listener::{CallbackListener, Page};
use super::login::Login;
use super::logins::not_kept;
use super::settings::LoginTarget;
use super::store::LoginStore;
use super::token::{TokenClient, TokenFailure};

/// How long a login waits for the person.
pub const LOGIN_TIME: Duration = Duration::from_secs(10 * 60);

/// A login that waits for the browser. Dropping it ends the login.
pub struct PendingLogin {
    target: LoginTarget,
    fetcher: Fetcher,
    attempt: Attempt,
    listener: CallbackListener,
    is_reused: bool,
    store: Arc<dyn LoginStore>,
    url: String,
}

impl PendingLogin {
    pub(crate) fn new(
        target: LoginTarget,
        fetcher: Fetcher,
        attempt: Attempt,
        listener: CallbackListener,
        is_reused: bool,
        store: Arc<dyn LoginStore>,
    ) -> ToolResult<Self> {
        let url = attempt.url(&target, &fetcher)?.into();
        Ok(Self {
            target,
            fetcher,
            attempt,
            listener,
            is_reused,
            store,
            url,
        })
    }

    /// The URL that the person opens. It is https, or http on this machine if the server itself is.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Where the browser returns to, on this machine.
    pub fn redirect_uri(&self) -> &str {
        &self.listener.redirect_uri
    }

    /// The requested scopes.
    pub fn scopes(&self) -> &[String] {
        &self.attempt.scopes
    }

    /// The authorization server, for display.
    pub fn issuer(&self) -> &str {
        &self.attempt.discovered.issuer
    }

    /// Waits for the browser, or for the address that a person pasted, whichever comes first. An answer that does not
    /// belong to this login is reported to `on_foreign` and changes nothing.
    ///
    /// # Errors
    /// Fails if the login is declined, is not completed in time, or cannot be stored.
    pub async fn complete(
        mut self,
        mut pasted: mpsc::Receiver<String>,
        mut on_foreign: impl FnMut(&ToolError),
    ) -> ToolResult<LoginState> {
        let waiting = tokio::time::sleep(LOGIN_TIME);
        tokio::pin!(waiting);
        let mut may_paste = true;
        loop {
            let (query, respond) = tokio::select! {
                () = &mut waiting => return Err(self.no_answer()),
                arrived = self.listener.next() => match arrived {
                    Some(arrived) => (arrived.query, Some(arrived.respond)),
                    None => return Err(self.no_answer()),
                },
                text = pasted.recv(), if may_paste => match text {
                    Some(text) => match pasted_query(&text) {
                        Some(query) => (query.to_owned(), None),
                        None => {
                            on_foreign(&self.target.errors.failed("the pasted text is not an address with a query")
                                .with_remedy("Paste the complete address from the browser's address bar."));
                            continue;
                        }
                    },
                    None => {
                        may_paste = false;
                        continue;
                    }
                },
            };
            let (page, done) = match self.attempt.check(&query, &self.target.errors) {
                Callback::Foreign(error) => {
                    on_foreign(&error);
                    (Page::NotUsed, None)
                }
                Callback::Refused(error) => (Page::Ended, Some(Err(error))),
                Callback::Code(code) => match self.exchange(&code).await {
                    Ok(state) => (Page::Done, Some(Ok(state))),
                    Err(error) => (Page::Ended, Some(Err(error))),
                },
            };
            if let Some(respond) = respond {
                // A browser that is gone needs no page.
                let _ = respond.send(page);
            }
            if let Some(done) = done {
                self.listener.close().await;
                if done.is_err() {
                    self.forget_client().await;
                }
                return done;
            }
        }
    }

    fn no_answer(&self) -> ToolError {
        let errors = &self.target.errors;
        let port = self
            .listener
            .redirect_uri
            .rsplit(':')
            .next()
            .unwrap_or_default();
        let port = port.split('/').next().unwrap_or_default();
        errors.failed("the browser did not come back").with_remedy(format!(
            "Start the login again. If the browser runs on another machine, paste the address that it shows at the \
             end, or forward the port: `ssh -L {port}:127.0.0.1:{port} HOST`."
        ))
    }

    /// A client that did not lead to a login may be dead at the authorization server, which shows in the browser
    /// only. The next login registers again.
    async fn forget_client(&self) {
        if !self.is_reused {
            return;
        }
        let Ok(_lock) = self.store.lock(&self.target.key).await else {
            return;
        };
        let stored = self.store.read(&self.target.key).ok().flatten();
        if let Some(mut login) = stored.as_ref().and_then(Login::from_stored)
            && login.info.client_id == self.attempt.client.id
        {
            login.info.client_dead = true;
            if let Ok(stored) = login.to_stored(&self.target.errors) {
                let _ = self.store.write(&self.target.key, &stored);
            }
        }
    }

    /// Exchanges the code for tokens, and stores the login.
    async fn exchange(&self, code: &Secret) -> ToolResult<LoginState> {
        let request = TokenClient {
            fetcher: &self.fetcher,
            client: &self.attempt.client,
            settings: &self.target.settings,
            issuer: &self.attempt.discovered.issuer,
            endpoint: self.attempt.discovered.metadata.token_endpoint.as_deref(),
        };
        let mut fields = vec![
            ("grant_type", "authorization_code"),
            ("code", code.reveal()),
            ("redirect_uri", self.attempt.redirect_uri.as_str()),
            ("code_verifier", self.attempt.verifier().reveal()),
        ];
        if self.target.settings.plain.send_resource {
            fields.push(("resource", &self.attempt.discovered.resource));
        }
        let tokens = request
            .request(&fields)
            .await
            .map_err(TokenFailure::into_error)?;
        let login = new_login(
            &self.target,
            self.attempt.client.clone(),
            &self.attempt.discovered,
            Some(self.attempt.redirect_uri.clone()),
            self.attempt.scopes.clone(),
            tokens,
        );
        keep(&self.target, &login, self.store.as_ref()).await
    }
}

/// Stores a new login.
pub(crate) async fn keep(
    target: &LoginTarget,
    login: &Login,
    store: &dyn LoginStore,
) -> ToolResult<LoginState> {
    let stored = login.to_stored(&target.errors)?;
    let _lock = store.lock(&target.key).await.map_err(not_kept)?;
    store.write(&target.key, &stored).map_err(not_kept)?;
    Ok(login.info.state(crate::now()))
}
