//! Listing and calling over any transport, and what to do when a remembered era turns out wrong.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use pegboard_model::{ConfigHash, Era, Limits, Reason, ToolError, ToolResult};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::contract::{CallOptions, CallOutcome, Handshake, ToolListing};
use crate::dialect::{ClientInfo, Dialect, call_members, quoted};
use crate::envelope::{Answer, present};
use crate::pager::list_all;
use crate::wire::{Ask, Size, Wire};
use crate::wording::Wording;

/// Definitions whose remembered era failed by a dead or silent process: the next connection learns anew.
#[derive(Default)]
pub(crate) struct Doubts(Mutex<HashSet<ConfigHash>>);

impl Doubts {
    /// Beyond this many, forgetting all of them only costs a failed try each.
    const MOST: usize = 5_000;

    fn add(&self, hash: ConfigHash) {
        let mut doubts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if doubts.len() >= Self::MOST {
            doubts.clear();
        }
        doubts.insert(hash);
    }

    /// Whether there was a doubt; it is taken away.
    pub(crate) fn take(&self, hash: ConfigHash) -> bool {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(&hash)
    }
}

struct Agreed {
    handshake: Handshake,
    dialect: Dialect,
}

impl Agreed {
    fn new(handshake: Handshake, client: &ClientInfo) -> Self {
        let dialect = match handshake.era {
            Era::Modern => Dialect::modern(&handshake.protocol_version, client),
            Era::Legacy => Dialect::legacy(&handshake.protocol_version),
        };
        Self { handshake, dialect }
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
    proven: AtomicBool,
    relearning: tokio::sync::Mutex<()>,
}

impl<W: Wire> Talk<W> {
    pub(crate) fn new(wire: W, setup: TalkSetup, handshake: Handshake) -> Self {
        // An assumed handshake comes from memory; an asked server always tells what it declares.
        let proven = AtomicBool::new(handshake.declares_tools.is_some());
        let first = Agreed::new(handshake, &setup.client);
        Self {
            wire,
            setup,
            first,
            relearnt: OnceLock::new(),
            proven,
            relearning: tokio::sync::Mutex::default(),
        }
    }

    pub(crate) fn handshake(&self) -> &Handshake {
        &self.agreed().handshake
    }

    pub(crate) fn dialect(&self) -> &Dialect {
        &self.agreed().dialect
    }

    /// All pages of the list, within the time for it.
    pub(crate) async fn list(&self) -> ToolResult<ToolListing> {
        let limit = self.setup.list_time;
        let listed = match tokio::time::timeout(limit, self.list_or_relearn()).await {
            Ok(listed) => listed,
            Err(_) => {
                self.doubt();
                let what = format_args!("did not give its tools within {limit:?}");
                Err(self.setup.wording.error(Reason::DiscoveryTimeout, what))
            }
        };
        listed.map_err(|error| match error.reason {
            Reason::DiscoveryFailed | Reason::DiscoveryTimeout => {
                self.setup.wording.with_stderr(error, &self.wire.stderr())
            }
            _ => error,
        })
    }

    /// One call, within its time.
    pub(crate) async fn call(
        &self,
        tool: &str,
        arguments: &RawValue,
        options: CallOptions,
    ) -> ToolResult<CallOutcome> {
        let answer = match tokio::time::timeout(
            options.timeout,
            self.call_or_relearn(tool, arguments, &options),
        )
        .await
        {
            Ok(answer) => answer?,
            Err(_) => {
                self.doubt();
                return Err(self.setup.wording.call_timeout(tool, options.timeout));
            }
        };
        match answer {
            Answer::Result(result) => self.outcome(tool, result),
            Answer::Error(error) => Err(self.setup.wording.call_refused(tool, &error)),
        }
    }

    fn agreed(&self) -> &Agreed {
        self.relearnt.get().unwrap_or(&self.first)
    }

    fn is_doubtful(&self) -> bool {
        !self.proven.load(Ordering::Relaxed) && self.relearnt.get().is_none()
    }

    /// Lets the next connection learn the era anew, unless it is proven: a server that is spoken to in the
    /// wrong way may fall silent or end.
    fn doubt(&self) {
        if self.is_doubtful() {
            self.setup.doubts.add(self.setup.hash);
        }
    }

    async fn list_or_relearn(&self) -> ToolResult<ToolListing> {
        match self.list_once().await {
            Err(error) if self.is_doubtful() => match self.relearn(&error).await {
                true => self.list_once().await,
                false => Err(error),
            },
            listed => {
                self.proven.store(true, Ordering::Relaxed);
                listed
            }
        }
    }

    async fn list_once(&self) -> ToolResult<ToolListing> {
        let agreed = self.agreed();
        let may_lack_tools = agreed.handshake.declares_tools != Some(true) && !self.is_doubtful();
        list_all(
            &self.setup.wording,
            &self.setup.limits,
            may_lack_tools,
            |cursor| async move {
                let members = cursor
                    .map(|cursor| format!(r#""cursor":{}"#, quoted(&cursor)))
                    .unwrap_or_default();
                let ask = Ask {
                    dialect: &agreed.dialect,
                    method: "tools/list",
                    members: &members,
                    meta: None,
                    name: None,
                    size: Size::Frame,
                };
                self.wire.ask(ask).await
            },
        )
        .await
    }

    async fn call_or_relearn(
        &self,
        tool: &str,
        arguments: &RawValue,
        options: &CallOptions,
    ) -> ToolResult<Answer> {
        let members = call_members(tool, arguments);
        let answer = self.call_once(tool, &members, options).await;
        if !self.is_doubtful() {
            return answer;
        }
        // Only what says that nothing was run lets the call be sent again.
        let (refused, ran_nothing) = match &answer {
            Ok(Answer::Error(error)) if (-32602..=-32600).contains(&error.code) => {
                (self.setup.wording.call_refused(tool, error), true)
            }
            Err(error) => {
                let is_refusal = error.reason == Reason::HttpStatus && !error.retryable;
                (error.clone(), is_refusal)
            }
            Ok(_) => {
                self.proven.store(true, Ordering::Relaxed);
                return answer;
            }
        };
        let is_relearnt = self.relearn(&refused).await;
        if is_relearnt && ran_nothing && self.handshake().era == Era::Legacy {
            return self.call_once(tool, &members, options).await;
        }
        answer
    }

    async fn call_once(
        &self,
        tool: &str,
        members: &str,
        options: &CallOptions,
    ) -> ToolResult<Answer> {
        let ask = Ask {
            dialect: self.dialect(),
            method: "tools/call",
            members,
            meta: options.meta.as_ref(),
            name: Some(tool),
            size: Size::Result,
        };
        self.wire.ask(ask).await
    }

    /// Whether the era was learnt anew after an error that a wrong era may have caused.
    async fn relearn(&self, error: &ToolError) -> bool {
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
                .set(Agreed::new(handshake, &self.setup.client))
                .is_ok(),
            Err(_) => {
                self.setup.doubts.add(self.setup.hash);
                false
            }
        }
    }

    fn outcome(&self, tool: &str, result: Box<RawValue>) -> ToolResult<CallOutcome> {
        #[derive(Deserialize)]
        struct Peek<'a> {
            #[serde(borrow, default, rename = "isError", deserialize_with = "present")]
            is_error: Option<&'a RawValue>,
            #[serde(borrow, default, rename = "resultType", deserialize_with = "present")]
            kind: Option<&'a RawValue>,
        }
        let wording = &self.setup.wording;
        let peek = Some(result.get()).filter(|text| text.starts_with('{'));
        let peek: Peek<'_> = peek
            .and_then(|text| serde_json::from_str(text).ok())
            .ok_or_else(|| {
                let what = format_args!(
                    "answered the call of `{}` by something that is no result",
                    wording.quote(tool)
                );
                wording.error(Reason::FrameInvalid, what)
            })?;
        let is_error = peek.is_error.is_some_and(|flag| flag.get() == "true");
        match peek.kind.map(RawValue::get) {
            None | Some("\"complete\"") => Ok(CallOutcome { result, is_error }),
            Some("\"input_required\"" | "\"task\"") => {
                let what = format_args!(
                    "answered the call of `{}` by asking for input that this caller cannot give",
                    wording.quote(tool)
                );
                Err(wording.error(Reason::ServerError, what))
            }
            Some(kind) => {
                let what = format_args!(
                    "answered by the unknown kind of result {}",
                    wording.glimpse(kind.as_bytes())
                );
                Err(wording.error(Reason::FrameInvalid, what))
            }
        }
    }
}
