//! A conversation over any transport: its lists, and what to do when a remembered era turns out wrong.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use pegboard_model::{ConfigHash, Era, Limits, Reason, ToolError, ToolResult};
use serde_json::value::RawValue;

use crate::contract::{Handshake, OfferKind, ToolListing};
use crate::declared::ServerHas;
use crate::dialect::{ClientInfo, Dialect, quoted};
use crate::doubts::Doubts;
use crate::offers::{List, may_offer};
use crate::pager::list_all;
use crate::redact::Redactor;
use crate::watching::Watching;
use crate::wire::{Ask, Wire};
use crate::wording::{Wording, in_words};

/// How the conversation is led.
pub(crate) struct Agreed {
    handshake: Handshake,
    pub(crate) dialect: Dialect,
    pub(crate) has: ServerHas,
}

impl Agreed {
    fn new(mut handshake: Handshake, client: &ClientInfo, redactor: &Redactor) -> Self {
        mask_handshake(&mut handshake, redactor);
        let dialect = match handshake.era {
            Era::Modern => Dialect::modern(&handshake.protocol_version, client),
            Era::Legacy => Dialect::legacy(&handshake.protocol_version),
        };
        let has = ServerHas::read(handshake.capabilities.as_deref());
        Self {
            handshake,
            dialect,
            has,
        }
    }
}

/// Takes the server's own secrets out of what it says of itself.
fn mask_handshake(handshake: &mut Handshake, redactor: &Redactor) {
    if let Some(instructions) = &mut handshake.instructions {
        redactor.mask(instructions);
    }
    if let Some(info) = &mut handshake.info {
        redactor.mask(&mut info.name);
        redactor.mask(&mut info.version);
    }
}

/// The fixed facts of a conversation.
pub(crate) struct TalkSetup {
    pub(crate) wording: Wording,
    pub(crate) limits: Limits,
    pub(crate) client: ClientInfo,
    /// How long the whole list may take.
    pub(crate) list_time: Duration,
    pub(crate) hash: ConfigHash,
    pub(crate) doubts: Arc<Doubts>,
}

/// A conversation over a transport.
pub(crate) struct Talk<W> {
    pub(crate) wire: W,
    pub(crate) setup: TalkSetup,
    first: Agreed,
    /// What was learnt when the remembered era turned out wrong.
    relearnt: OnceLock<Agreed>,
    /// Whether a request succeeded, so that the era is beyond doubt.
    pub(crate) proven: AtomicBool,
    relearning: tokio::sync::Mutex<()>,
    /// The level of logging that was last asked for, and the session it was asked for in.
    pub(crate) level: Mutex<Option<(u64, String)>>,
    pub(crate) watching: Arc<Watching>,
}

impl<W: Wire> Talk<W> {
    pub(crate) fn new(
        wire: W,
        setup: TalkSetup,
        handshake: Handshake,
        watching: Arc<Watching>,
    ) -> Self {
        // An assumed handshake comes from memory; an asked server always tells what it declares.
        let proven = AtomicBool::new(handshake.declares_tools.is_some());
        let first = Agreed::new(handshake, &setup.client, &setup.wording.redactor);
        Self {
            wire,
            setup,
            first,
            relearnt: OnceLock::new(),
            proven,
            relearning: tokio::sync::Mutex::default(),
            level: Mutex::default(),
            watching,
        }
    }

    pub(crate) fn handshake(&self) -> &Handshake {
        &self.agreed().handshake
    }

    pub(crate) fn dialect(&self) -> &Dialect {
        &self.agreed().dialect
    }

    /// What the server declared.
    pub(crate) fn has(&self) -> ServerHas {
        self.agreed().has
    }

    /// All pages of the list of tools, within the time for it.
    pub(crate) async fn list(&self) -> ToolResult<ToolListing> {
        self.list_of(List::Tools).await
    }

    /// All pages of another list; a server without it has nothing in it.
    pub(crate) async fn offers(&self, kind: OfferKind) -> ToolResult<Vec<Box<RawValue>>> {
        if !may_offer(kind, self.has()) {
            return Ok(Vec::new());
        }
        let listing = self.list_of(List::Offers(kind)).await?;
        Ok(listing.tools)
    }

    async fn list_of(&self, list: List) -> ToolResult<ToolListing> {
        let limit = self.setup.list_time;
        let listed = match tokio::time::timeout(limit, self.list_or_relearn(list)).await {
            Ok(listed) => listed,
            Err(_) => {
                self.doubt();
                let limit = in_words(limit);
                let what = format_args!("did not give its {} within {limit}", list.entries());
                Err(self.setup.wording.error(Reason::DiscoveryTimeout, what))
            }
        };
        // Before anything is stored or shown: a server may repeat the secrets it was given.
        let redactor = &self.setup.wording.redactor;
        let listed = listed.map(|mut listing| {
            let definitions = listing.tools.iter_mut();
            definitions.for_each(|definition| redactor.mask_definition(definition));
            listing
        });
        listed.map_err(|error| match error.reason {
            Reason::DiscoveryFailed | Reason::DiscoveryTimeout => {
                self.setup.wording.with_stderr(error, &self.wire.stderr())
            }
            _ => error,
        })
    }

    pub(crate) fn agreed(&self) -> &Agreed {
        self.relearnt.get().unwrap_or(&self.first)
    }

    pub(crate) fn is_doubtful(&self) -> bool {
        !self.proven.load(Ordering::Relaxed) && self.relearnt.get().is_none()
    }

    /// Lets the next connection learn the era anew, unless it is proven: a server that is spoken to in the
    /// wrong way may fall silent or end.
    pub(crate) fn doubt(&self) {
        if self.is_doubtful() {
            self.setup.doubts.add(self.setup.hash);
        }
    }

    async fn list_or_relearn(&self, list: List) -> ToolResult<ToolListing> {
        match self.list_once(list).await {
            Err(error) if self.is_doubtful() => match self.relearn(&error).await {
                true => self.list_once(list).await,
                false => Err(error),
            },
            listed => {
                self.proven.store(true, Ordering::Relaxed);
                listed
            }
        }
    }

    async fn list_once(&self, list: List) -> ToolResult<ToolListing> {
        let agreed = self.agreed();
        let may_lack = match list {
            List::Tools => agreed.handshake.declares_tools != Some(true) && !self.is_doubtful(),
            List::Offers(_) => !self.is_doubtful(),
        };
        list_all(
            list,
            &self.setup.wording,
            &self.setup.limits,
            may_lack,
            |cursor| async move {
                let members = cursor
                    .map(|cursor| format!(r#""cursor":{}"#, quoted(&cursor)))
                    .unwrap_or_default();
                let ask = Ask::own(&agreed.dialect, list.method(), &members);
                self.wire.ask(ask).await
            },
        )
        .await
    }

    /// Whether the era was learnt anew after an error that a wrong era may have caused.
    pub(crate) async fn relearn(&self, error: &ToolError) -> bool {
        match error.reason {
            Reason::ServerExited => {
                self.doubt();
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
        let _one_at_a_time = self.relearning.lock().await;
        if !self.is_doubtful() {
            return true;
        }
        match self.wire.learn().await {
            Ok(handshake) => self
                .relearnt
                .set(Agreed::new(
                    handshake,
                    &self.setup.client,
                    &self.setup.wording.redactor,
                ))
                .is_ok(),
            Err(_) => {
                self.setup.doubts.add(self.setup.hash);
                false
            }
        }
    }
}
