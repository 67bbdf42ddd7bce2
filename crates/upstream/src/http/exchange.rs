//! One HTTP exchange: posts a message and finds the response in a body or an event stream.

use std::sync::atomic::{AtomicBool, AtomicU16, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use pegboard_jsonrpc::{Message, RpcResponse, parse};
use pegboard_model::{Limits, Reason, Secret, ToolError, ToolResult};
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderValue, LOCATION};
use reqwest::{Method, StatusCode, Url};

use crate::byte_budget::ByteBudget;
use crate::errors::{ErrorContext, format_duration};
use crate::http::body::{self, ContentKind, ResponseBudget};
use crate::http::client::{Client, ConnectionError, Outgoing, explain, send};
use crate::http::headers::{RequestHeaders, SESSION_ID};
use crate::http::response::Response;
use crate::http::retry_after::retry_delay;
use crate::http::target::Target;
use crate::inbound::Inbound;
use crate::malformed::trim_bom;
use crate::oauth::{BearerChallenge, Keeper};
use crate::transport::ResponseSize;

/// The longest session id that is accepted.
const SESSION_ID_BYTES: usize = 4 * 1024;
/// Time limit of messages whose outcome is not awaited: notifications, our responses, the end of a session.
pub(crate) const DETACHED_TIMEOUT: Duration = Duration::from_secs(5);

/// An HTTP endpoint and its message exchange.
pub(crate) struct Channel {
    pub(crate) client: Client,
    pub(crate) target: Target,
    pub(crate) connect_time: Duration,
    pub(crate) inbound: Arc<Inbound>,
    pub(crate) errors: ErrorContext,
    pub(crate) limits: Limits,
    /// Budgets for the large responses of this server, and of all servers.
    pub(crate) response_bytes: [ByteBudget; 2],
    pub(crate) legacy_session: Mutex<LegacySession>,
    /// The login whose token is sent; `None` if a token or header is configured.
    pub(crate) login: Option<Arc<Keeper>>,
    /// What the handshake showed about the transport that the server speaks.
    pub(crate) clues: TransportClues,
}

/// What the responses to a handshake show about the transport of a server.
#[derive(Default)]
pub(crate) struct TransportClues {
    /// The HTTP status with which `initialize` was refused; zero if it was not.
    opening_status: AtomicU16,
    /// Whether a response to a POST began with the `endpoint` event of the HTTP+SSE transport.
    has_endpoint: AtomicBool,
}

impl TransportClues {
    pub(crate) fn opening_status(&self) -> u16 {
        self.opening_status.load(Ordering::Relaxed)
    }

    pub(crate) fn note_endpoint(&self) {
        self.has_endpoint.store(true, Ordering::Relaxed);
    }

    /// Returns whether the server may speak the HTTP+SSE transport. A GET will tell.
    pub(crate) fn may_be_old_sse(&self) -> bool {
        self.has_endpoint.load(Ordering::Relaxed)
            || matches!(self.opening_status(), 400 | 404 | 405)
    }
}

/// The session headers that a legacy server expects back.
#[derive(Clone, Default)]
pub(crate) struct LegacySession {
    pub(crate) id: Option<HeaderValue>,
    pub(crate) version: Option<HeaderValue>,
    /// Counts the sessions, so that one loss is renewed once.
    pub(crate) generation: u64,
}

/// Why there is no response.
pub(crate) enum ExchangeError {
    /// The server does not know the session.
    SessionLost,
    /// The server returned an HTTP error.
    Status(StatusCode, ToolError),
    Error(ToolError),
}

/// A request to be posted.
#[derive(Clone)]
pub(crate) struct PostRequest<'a> {
    pub(crate) id: u64,
    /// The serialized JSON-RPC request.
    pub(crate) frame: String,
    pub(crate) head: RequestHeaders<'a>,
    pub(crate) size: ResponseSize,
    /// Whether the response may open a session.
    pub(crate) opens: bool,
}

impl From<ToolError> for ExchangeError {
    fn from(error: ToolError) -> Self {
        Self::Error(error)
    }
}

impl Channel {
    /// Opens a stream that belongs to no request, or resumes one that broke.
    pub(crate) async fn get(&self, last_event: Option<&HeaderValue>) -> ToolResult<Response> {
        let headers =
            RequestHeaders::Session.for_stream(&self.target, &self.legacy_session(), last_event);
        self.send(self.empty(Method::GET, headers)).await
    }

    async fn send(&self, request: Outgoing<'_>) -> ToolResult<Response> {
        match &self.login {
            Some(login) => Box::pin(self.send_with_login(login, request)).await,
            None => self.send_plain(request).await,
        }
    }

    async fn send_plain(&self, request: Outgoing<'_>) -> ToolResult<Response> {
        let Self {
            client,
            target,
            connect_time,
            errors,
            ..
        } = self;
        send(client, request, target, *connect_time, errors).await
    }

    /// Sends a request with the token of the login. A server that answers 401 has not run the request, so it is sent
    /// again after the token was renewed.
    async fn send_with_login(
        &self,
        login: &Arc<Keeper>,
        request: Outgoing<'_>,
    ) -> ToolResult<Response> {
        let token = login.token().await?;
        let again = request.clone();
        let response = self
            .send_plain(self.authorized(request, token.as_ref()))
            .await?;
        if response.status() != StatusCode::UNAUTHORIZED {
            return Ok(response);
        }
        let challenge = BearerChallenge::of(response.headers());
        let token = login.refused(token.as_ref(), challenge.as_ref()).await?;
        let response = self
            .send_plain(self.authorized(again, Some(&token)))
            .await?;
        match response.status() {
            StatusCode::UNAUTHORIZED => Err(login.give_up(&token).await),
            _ => Ok(response),
        }
    }

    fn authorized<'a>(&self, request: Outgoing<'a>, token: Option<&Secret>) -> Outgoing<'a> {
        Outgoing {
            headers: self.with_token(request.headers, token),
            ..request
        }
    }

    /// Adds the token to the headers, and masks it in everything that the server says.
    fn with_token(&self, mut headers: HeaderMap, token: Option<&Secret>) -> HeaderMap {
        let Some(token) = token else {
            return headers;
        };
        self.errors.redactor.add_token(token.reveal());
        if let Ok(mut value) = HeaderValue::from_str(&format!("Bearer {}", token.reveal())) {
            value.set_sensitive(true);
            headers.insert(AUTHORIZATION, value);
        }
        headers
    }

    pub(crate) fn broken(&self, error: ConnectionError) -> ToolError {
        explain(error, &self.target, self.connect_time, &self.errors)
    }

    /// Posts a message. A redirect within the same origin that keeps the method is followed once.
    pub(crate) async fn post(
        &self,
        message: Bytes,
        head: RequestHeaders<'_>,
    ) -> ToolResult<Response> {
        let headers = self.message_headers(head);
        self.post_with(message, headers, head).await
    }

    async fn post_with(
        &self,
        message: Bytes,
        headers: HeaderMap,
        head: RequestHeaders<'_>,
    ) -> ToolResult<Response> {
        let first = message_to(&self.target.url, message.clone(), headers);
        let response = self.send(first).await?;
        if response.status().is_redirection() {
            return Box::pin(self.follow(&response, message, head)).await;
        }
        Ok(response)
    }

    async fn follow(
        &self,
        redirect: &Response,
        message: Bytes,
        head: RequestHeaders<'_>,
    ) -> ToolResult<Response> {
        let location = redirect
            .headers()
            .get(LOCATION)
            .and_then(|place| place.to_str().ok());
        let next = location.and_then(|place| self.target.url.join(place).ok());
        let keeps_method = matches!(
            redirect.status(),
            StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT
        );
        // A path may contain a key, so only the origin is shown.
        let place = next.as_ref().map_or_else(
            || "nowhere".to_owned(),
            |next| next.origin().ascii_serialization(),
        );
        let refused = || {
            self.errors.error(
                Reason::HttpRedirectRefused,
                format_args!("redirects to another address at {place}, which is not followed"),
            )
        };
        match next.filter(|next| keeps_method && next.origin() == self.target.url.origin()) {
            Some(next) => {
                let again = message_to(&next, message, self.message_headers(head));
                let response = self.send(again).await?;
                if response.status().is_redirection() {
                    Err(refused())
                } else {
                    Ok(response)
                }
            }
            None => Err(refused()),
        }
    }

    /// Posts a message to another URL of the same server. Redirects are not followed.
    pub(crate) async fn post_to(&self, url: &Url, message: Bytes) -> ToolResult<Response> {
        let headers = self.message_headers(RequestHeaders::Session);
        self.send(message_to(url, message, headers)).await
    }

    /// Returns the error for a response that asks for a login; `None` for other responses.
    pub(crate) async fn login_error(&self, response: &mut Response) -> Option<ToolError> {
        let status = response.status();
        if !matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) {
            return None;
        }
        match self.refused(response, 0).await {
            Err(ExchangeError::Error(error) | ExchangeError::Status(_, error)) => Some(error),
            Err(ExchangeError::SessionLost) | Ok(_) => None,
        }
    }

    /// Posts a message without a response and waits only briefly.
    pub(crate) async fn post_detached(&self, message: String) {
        self.detached_post(message).await;
    }

    /// The same as a future without borrows, so that it can outlive the caller.
    pub(crate) fn detached_post(
        &self,
        message: String,
    ) -> impl Future<Output = ()> + Send + 'static {
        let headers = self.message_headers(RequestHeaders::Session);
        let (client, target) = (self.client.clone(), self.target.clone());
        let (connect_time, errors) = (self.connect_time, self.errors.clone());
        let token = self
            .login
            .as_ref()
            .and_then(|login| login.token_without_renewal());
        let headers = self.with_token(headers, token.as_ref());
        async move {
            let request = message_to(&target.url, message.into(), headers);
            let sending = send(&client, request, &target, connect_time, &errors);
            let _ = tokio::time::timeout(DETACHED_TIMEOUT, sending).await;
        }
    }

    fn empty(&self, method: Method, headers: HeaderMap) -> Outgoing<'_> {
        Outgoing {
            method,
            url: &self.target.url,
            headers,
            body: None,
        }
    }

    fn message_headers(&self, head: RequestHeaders<'_>) -> HeaderMap {
        head.for_post(&self.target, &self.legacy_session())
    }

    /// Ends the session at the server, if there is one.
    pub(crate) async fn delete(&self) {
        let headers = RequestHeaders::Session.build(&self.target, &self.legacy_session());
        if headers.contains_key(SESSION_ID) {
            let request = self.empty(Method::DELETE, headers);
            let _ = tokio::time::timeout(DETACHED_TIMEOUT, self.send(request)).await;
        }
    }

    /// Closes idle connections.
    pub(crate) fn close_idle(&self) {
        if let Client::Loopback(pool) = &self.client {
            pool.close_idle();
        }
    }

    /// Sends a request and waits for its response. A few servers report an invalid token in a response with HTTP 200;
    /// then the token is renewed and the request resent, as after 401.
    pub(crate) async fn exchange(
        self: &Arc<Self>,
        post: PostRequest<'_>,
    ) -> Result<RpcResponse, ExchangeError> {
        let Some(login) = &self.login else {
            return self.exchange_once(post).await;
        };
        let again = post.clone();
        let response = self.exchange_once(post).await?;
        if !matches!(&response, RpcResponse::Error(error) if names_invalid_token(error)) {
            return Ok(response);
        }
        let token = login.token_without_renewal();
        login.refused(token.as_ref(), None).await?;
        self.exchange_once(again).await
    }

    async fn exchange_once(
        self: &Arc<Self>,
        post: PostRequest<'_>,
    ) -> Result<RpcResponse, ExchangeError> {
        let PostRequest {
            id,
            frame,
            head,
            size,
            opens,
        } = post;
        let headers = self.message_headers(head);
        let has_session = headers.contains_key(SESSION_ID);
        let mut response = self.post_with(frame.into(), headers, head).await?;
        if response.status() == StatusCode::NOT_FOUND && has_session {
            return Err(ExchangeError::SessionLost);
        }
        if opens {
            self.remember_session(&response);
            if !response.status().is_success() {
                let status = response.status().as_u16();
                self.clues.opening_status.store(status, Ordering::Relaxed);
            }
        }
        let limit = match size {
            ResponseSize::Frame => self.limits.frame_bytes,
            ResponseSize::Result => self.limits.result_bytes,
        };
        if !response.status().is_success() {
            let refused = Box::pin(self.refused(&mut response, id)).await;
            let is_lost = has_session && response.status() == StatusCode::BAD_REQUEST;
            return match refused {
                _ if is_lost && names_session(&refused) => Err(ExchangeError::SessionLost),
                refused => refused,
            };
        }
        match body::kind(&response) {
            ContentKind::Json => {
                let response_budget = self.response_budget();
                let body = body::read(
                    &mut response,
                    limit,
                    response_budget,
                    &self.errors,
                    |error| self.broken(error),
                )
                .await?;
                Ok(self
                    .rpc_response_in(&body, id)
                    .ok_or_else(|| self.no_protocol(&body))??)
            }
            ContentKind::Events => {
                let answering = self.response_among_events(response, id, limit);
                Ok(Box::pin(answering).await?)
            }
            ContentKind::Other => Err(self.no_protocol(&body::preview(&mut response).await).into()),
        }
    }

    /// Creates the reservation for one response.
    pub(crate) fn response_budget(&self) -> ResponseBudget {
        let [of_server, of_all] = &self.response_bytes;
        ResponseBudget::new(of_server, of_all)
    }

    pub(crate) fn invalid_response(&self, why: &str) -> ToolError {
        let what = format_args!("sent a response that {why}");
        self.errors.error(Reason::FrameInvalid, what)
    }

    fn no_protocol(&self, body: &[u8]) -> ToolError {
        let preview = self.errors.preview(body);
        self.errors.error(
            Reason::HttpProtocol,
            format_args!("sent a response that is not MCP: \"{preview}\""),
        )
    }

    /// Returns the response in a JSON body; `None` if the body is something else.
    fn rpc_response_in(&self, body: &[u8], wanted: u64) -> Option<ToolResult<RpcResponse>> {
        let text = trim_bom(std::str::from_utf8(body).ok()?);
        match parse(text, self.limits.json_depth).ok()? {
            Message::Response { id, response } if id == wanted => {
                Some(response.map_err(|why| self.invalid_response(why)))
            }
            // A server that refused before it read the id cannot name it.
            Message::UnaddressedError(error) => Some(Ok(RpcResponse::Error(error))),
            _ => None,
        }
    }

    /// Interprets a response without success. A JSON-RPC error in its body is a response like any other.
    async fn refused(
        &self,
        response: &mut Response,
        id: u64,
    ) -> Result<RpcResponse, ExchangeError> {
        let status = response.status();
        if matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) {
            return Err(self.no_access(status, response).await.into());
        }
        let is_temporary = status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS;
        let body = if body::kind(response) == ContentKind::Json && !is_temporary {
            let (limit, response_budget) = (self.limits.frame_bytes, self.response_budget());
            let body = body::read(response, limit, response_budget, &self.errors, |error| {
                self.broken(error)
            })
            .await?;
            if let Some(Ok(rpc_response @ RpcResponse::Error(_))) = self.rpc_response_in(&body, id)
            {
                return Ok(rpc_response);
            }
            body
        } else {
            body::preview(response).await
        };
        if status == StatusCode::NOT_FOUND
            && let Some(error) = self.hidden_login(response).await
        {
            return Err(error.into());
        }
        let preview = self.errors.preview(&body);
        let what = format_args!("answered with HTTP {}: \"{preview}\"", status.as_u16());
        let mut error = self.errors.error(Reason::HttpStatus, what);
        error.retryable = is_temporary;
        let pause = retry_delay(response.headers(), jiff::Timestamp::now());
        if let Some(pause) = pause.filter(|_| is_temporary) {
            error = error.with_remedy(format!(
                "The server is busy. Try again in {}.",
                format_duration(pause)
            ));
        }
        Err(ExchangeError::Status(status, error))
    }

    /// Explains 401 and 403: a login is needed, more rights are needed, or no login helps.
    async fn no_access(&self, status: StatusCode, response: &Response) -> ToolError {
        let place = self.target.shown();
        let challenge = BearerChallenge::of(response.headers());
        if status == StatusCode::UNAUTHORIZED {
            let is_configured = self.target.headers.contains_key(AUTHORIZATION);
            return match is_configured {
                true => self
                    .errors
                    .error(
                        Reason::LoginNeeded,
                        format_args!("at {place} does not accept the configured token (HTTP 401)"),
                    )
                    .with_remedy(
                        "Set a valid `bearer` or header, for example with `pegboard secret set`.",
                    ),
                false => {
                    let what = format_args!("at {place} requires a login (HTTP 401)");
                    self.errors.error(Reason::LoginNeeded, what)
                }
            };
        }
        if let Some(challenge) = challenge.filter(BearerChallenge::is_insufficient_scope) {
            let scopes = challenge.scopes();
            return match &self.login {
                Some(login) => login.more_rights(scopes).await,
                None => self.errors.error(
                    Reason::RightsNeeded,
                    format_args!(
                        "requires rights that the configured token lacks: {}",
                        scopes.join(" ")
                    ),
                ),
            };
        }
        if let Some(error) = self.hidden_login(response).await {
            return error;
        }
        let what = format_args!("at {place} refuses access (HTTP 403)");
        self.errors.error(Reason::AccessForbidden, what)
    }

    /// Some servers answer 403 or 404 where 401 is meant. They are recognised by a challenge, or by what they publish.
    async fn hidden_login(&self, response: &Response) -> Option<ToolError> {
        let login = self.login.as_ref()?;
        let is_logged_in = login.token_without_renewal().is_some();
        if is_logged_in {
            return None;
        }
        let is_challenged = BearerChallenge::of(response.headers()).is_some();
        let is_login = is_challenged || login.publishes_login().await;
        is_login.then(|| login.login_needed())
    }

    fn remember_session(&self, response: &Response) {
        let id = response
            .headers()
            .get(SESSION_ID)
            .filter(|id| id.len() <= SESSION_ID_BYTES);
        let mut legacy_session = self.legacy_session();
        legacy_session.id = id.cloned();
        legacy_session.generation += 1;
    }

    pub(crate) fn legacy_session(&self) -> MutexGuard<'_, LegacySession> {
        self.legacy_session
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether a JSON-RPC error says that the token is missing or invalid. Words alone are not enough, because a tool may
/// speak of tokens as well: it must be the code of RFC 6750, or an error code that servers use for this.
fn names_invalid_token(error: &pegboard_jsonrpc::RpcError) -> bool {
    const CODE: &str = "invalid_token";
    const ERROR_CODES: [i64; 3] = [401, -32001, -32401];
    let words = error.message.to_ascii_lowercase();
    let is_named = words.contains(CODE)
        || error
            .data
            .as_deref()
            .is_some_and(|data| data.contains(CODE));
    let is_meant = words.contains("unauthorized")
        || (words.contains("token") && (words.contains("invalid") || words.contains("expired")));
    is_named || (is_meant && ERROR_CODES.contains(&error.code))
}

fn message_to(url: &Url, message: Bytes, headers: HeaderMap) -> Outgoing<'_> {
    Outgoing {
        method: Method::POST,
        url,
        headers,
        body: Some(message),
    }
}

/// Many servers refuse an unknown session as a bad request and say so in the message. The request was not executed
/// then, so it may be sent again in a new session.
fn names_session(refused: &Result<RpcResponse, ExchangeError>) -> bool {
    let words = match refused {
        Ok(RpcResponse::Error(error)) => &error.message,
        Err(ExchangeError::Status(_, error)) => &error.message,
        _ => return false,
    };
    words.to_ascii_lowercase().contains("session")
}
