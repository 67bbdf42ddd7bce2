//! The shared words of Pegboard: names, tools, servers, results, limits, secrets and foreign text.
//!
//! Invariant: no async, no files, no network, no processes, no clock: time comes in as a value.
//! Invariant: a value of a type here has been checked; a `ServerName` is always a legal server name.
//! Invariant: nothing here panics on any input.

mod activity;
mod clock;
mod consent;
mod error;
mod event;
mod fingerprint;
mod glob;
mod hidden;
mod limits;
mod names;
mod reason;
mod record;
mod recorder;
mod rules;
mod secret;
mod secret_arguments;
mod secret_shapes;
mod server;
mod span;
mod text;
mod tool;

pub use activity::{Activity, ActivityKind};
pub use clock::{Clock, Timestamp};
pub use consent::{ApprovalAnswer, ApprovalRequest, ConsentDecision, Grant, ToolVersion};
pub use error::{ErrorClass, RpcError, ToolError, ToolResult};
pub use event::{Event, EventKind, TraceId};
pub use fingerprint::{ConfigHash, Fingerprint, HashKey};
pub use glob::matches_pattern;
pub use hidden::is_hidden;
pub use limits::Limits;
pub use names::{
    BadServerName, EXPOSED_NAME_MAX, ExposedName, RESERVED_SERVER_NAMES, SEPARATOR,
    SERVER_NAME_MAX, ServerName, TOOL_NAME_MAX, ToolId, ToolRef,
};
pub use reason::Reason;
pub use record::{
    DiscoveryStatus, Era, ErrorNote, Offer, Offers, Rejection, ServerInfo, ServerRecord,
};
pub use recorder::{
    CacheUse, CallFacts, Channel, DiscoveryFacts, LookupFacts, Outcome, PolicyFacts, Recorder,
    RequestFacts, RunFacts, SearchFacts, Silent, TurnFacts,
};
pub use rules::{
    AskDestructive, AskVia, ClientApproval, ClientRequests, GlobalRules, HintEffect, PolicyRule,
    Ruling, ServerRules,
};
pub use secret::{NoSecrets, PROJECT_REFERENCE, Secret, SecretLookup, Template, TemplatePart};
pub use secret_arguments::{
    has_url_secret, is_secret_name, secret_arguments, secret_parts, written_secret,
};
pub use secret_shapes::{KeyCharacters, PEM_START, SECRET_SHAPES, SecretShape, secret_shapes};
pub use server::{
    Approval, Layer, Origin, Policy, ServerSpec, Timeouts, ToolExample, ToolOverride, Transport,
    package_runner,
};
pub use span::{About, BAGGAGE, SpanContext, TRACEPARENT, TRACESTATE};
pub use text::{Foreign, visible, visible_characters, visible_json, visible_values};
pub use tool::{Annotations, DefinitionParts, Tool};
