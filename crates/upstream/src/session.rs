//! The protocol over any transport: lists, and detecting the era again if the stored one is wrong.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use pegboard_jsonrpc::quoted;
use pegboard_model::{ConfigHash, Era, Limits, Reason, ToolError, ToolResult};
use serde_json::value::RawValue;

use crate::capabilities::ServerCapabilities;
use crate::contract::{Handshake, OfferKind, ToolListing};
use crate::dialect::{ClientInfo, Dialect};
use crate::era_retries::EraRetries;
use crate::errors::{ErrorContext, format_duration};
use crate::list_kind::{ListKind, may_offer};
use crate::log_levels::LogLevels;
use crate::pager::list_all;
use crate::redact::Redactor;
use crate::subscriptions::Subscriptions;
use crate::transport::{RpcRequest, RpcTransport};

/// The result of the handshake and what follows from it.
pub(crate) struct Negotiated {
    handshake: Handshake,
    pub(crate) dialect: Dialect,
    pub(crate) capabilities: ServerCapabilities,
}

impl Negotiated {
    fn new(mut handshake: Handshake, client: &ClientInfo, redactor: &Redactor) -> Self {
        mask_handshake(&mut handshake, redactor);
        let dialect = match handshake.era {
            Era::Modern => Dialect::modern(&handshake.protocol_version, client),
            Era::Legacy => Dialect::legacy(&handshake.protocol_version),
        };
        let capabilities = ServerCapabilities::read(handshake.capabilities.as_deref());
        Self {
            handshake,
            dialect,
            capabilities,
        }
    }
}

/// Masks the server's own secrets in its handshake.
fn mask_handshake(handshake: &mut Handshake, redactor: &Redactor) {
    if let Some(instructions) = &mut handshake.instructions {
        redactor.mask(instructions);
    }
    if let Some(info) = &mut handshake.info {
        redactor.mask(&mut info.name);
        redactor.mask(&mut info.version);
    }
}

/// Fixed parameters of a session.
pub(crate) struct SessionConfig {
    pub(crate) errors: ErrorContext,
    pub(crate) limits: Limits,
    pub(crate) client: ClientInfo,
    /// How long a complete list may take.
    pub(crate) list_time: Duration,
    pub(crate) hash: ConfigHash,
    pub(crate) era_retries: Arc<EraRetries>,
}

/// A session with a server over a transport.
pub(crate) struct Session<W> {
    pub(crate) transport: W,
    pub(crate) setup: SessionConfig,
    first: Negotiated,
    /// What was detected when the stored era turned out to be wrong.
    redetected: OnceLock<Negotiated>,
    /// Whether a request succeeded, so that the era is certain.
    pub(crate) proven: AtomicBool,
    redetecting: tokio::sync::Mutex<()>,
    /// The last requested log level, and the generation in which it was requested.
    pub(crate) level: Mutex<Option<(u64, String)>>,
    /// The log levels that the sessions want.
    pub(crate) wanted_levels: LogLevels,
    pub(crate) subscriptions: Arc<Subscriptions>,
}

impl<W: RpcTransport> Session<W> {
    pub(crate) fn new(
        transport: W,
        setup: SessionConfig,
        handshake: Handshake,
        subscriptions: Arc<Subscriptions>,
    ) -> Self {
        // An assumed handshake is stored knowledge; a server that was asked always declares something.
        let proven = AtomicBool::new(handshake.declares_tools.is_some());
        let first = Negotiated::new(handshake, &setup.client, &setup.errors.redactor);
        Self {
            transport,
            setup,
            first,
            redetected: OnceLock::new(),
            proven,
            redetecting: tokio::sync::Mutex::default(),
            level: Mutex::default(),
            wanted_levels: LogLevels::default(),
            subscriptions,
        }
    }

    pub(crate) fn handshake(&self) -> &Handshake {
        &self.negotiated().handshake
    }

    pub(crate) fn dialect(&self) -> &Dialect {
        &self.negotiated().dialect
    }

    /// Returns the capabilities that the server declared.
    pub(crate) fn capabilities(&self) -> ServerCapabilities {
        self.negotiated().capabilities
    }

    /// Fetches all pages of the list of tools, within the time limit.
    pub(crate) async fn list(&self) -> ToolResult<ToolListing> {
        self.list_of(ListKind::Tools).await
    }

    /// Fetches all pages of another list. A server without the capability has an empty list.
    pub(crate) async fn offers(&self, kind: OfferKind) -> ToolResult<Vec<Box<RawValue>>> {
        if !may_offer(kind, self.capabilities()) {
            return Ok(Vec::new());
        }
        let listing = self.list_of(ListKind::Offers(kind)).await?;
        Ok(listing.tools)
    }

    async fn list_of(&self, list: ListKind) -> ToolResult<ToolListing> {
        let limit = self.setup.list_time;
        let listed = match tokio::time::timeout(limit, self.list_or_redetect(list)).await {
            Ok(listed) => listed,
            Err(_) => {
                self.mark_era_unproven();
                let limit = format_duration(limit);
                let what = format_args!("did not return its {} within {limit}", list.entries());
                Err(self.setup.errors.error(Reason::DiscoveryTimeout, what))
            }
        };
        // Before anything is stored or shown: a server may repeat the secrets it was given.
        let redactor = &self.setup.errors.redactor;
        let listed = listed.map(|mut listing| {
            let definitions = listing.tools.iter_mut();
            definitions.for_each(|definition| redactor.mask_definition(definition));
            listing
        });
        listed.map_err(|error| match error.reason {
            Reason::DiscoveryFailed | Reason::DiscoveryTimeout => self
                .setup
                .errors
                .with_stderr(error, &self.transport.stderr()),
            _ => error,
        })
    }

    pub(crate) fn negotiated(&self) -> &Negotiated {
        self.redetected.get().unwrap_or(&self.first)
    }

    pub(crate) fn is_era_unproven(&self) -> bool {
        !self.proven.load(Ordering::Relaxed) && self.redetected.get().is_none()
    }

    /// Lets the next connection detect the era again, unless it is certain: a server that is addressed in the wrong era
    /// may fall silent or exit.
    pub(crate) fn mark_era_unproven(&self) {
        if self.is_era_unproven() {
            self.setup.era_retries.add(self.setup.hash);
        }
    }

    async fn list_or_redetect(&self, list: ListKind) -> ToolResult<ToolListing> {
        match self.list_once(list).await {
            Err(error) if self.is_era_unproven() => match self.redetect_era(&error).await {
                true => self.list_once(list).await,
                false => Err(error),
            },
            listed => {
                self.proven.store(true, Ordering::Relaxed);
                listed
            }
        }
    }

    async fn list_once(&self, list: ListKind) -> ToolResult<ToolListing> {
        let negotiated = self.negotiated();
        let may_lack = match list {
            ListKind::Tools => {
                negotiated.handshake.declares_tools != Some(true) && !self.is_era_unproven()
            }
            ListKind::Offers(_) => !self.is_era_unproven(),
        };
        list_all(
            list,
            &self.setup.errors,
            &self.setup.limits,
            may_lack,
            |cursor| async move {
                let members = cursor
                    .map(|cursor| format!(r#""cursor":{}"#, quoted(&cursor)))
                    .unwrap_or_default();
                let request = RpcRequest::own(&negotiated.dialect, list.method(), &members);
                self.transport.send(request).await
            },
        )
        .await
    }

    /// Detects the era again after an error that a wrong era may have caused. Returns whether it succeeded.
    pub(crate) async fn redetect_era(&self, error: &ToolError) -> bool {
        match error.reason {
            Reason::ServerExited => {
                self.mark_era_unproven();
                return false;
            }
            Reason::DiscoveryFailed
            | Reason::HttpStatus
            | Reason::HttpProtocol
            | Reason::ArgsInvalid
            | Reason::ToolUnknown
            | Reason::ServerError => {}
            _ => return false,
        }
        let _one_at_a_time = self.redetecting.lock().await;
        if !self.is_era_unproven() {
            return true;
        }
        match self.transport.detect_era().await {
            Ok(handshake) => self
                .redetected
                .set(Negotiated::new(
                    handshake,
                    &self.setup.client,
                    &self.setup.errors.redactor,
                ))
                .is_ok(),
            Err(_) => {
                self.setup.era_retries.add(self.setup.hash);
                false
            }
        }
    }
}
