//! The shared words of Pegboard: names, tools, servers, results, limits, secrets and foreign text.
//!
//! Invariant: no async, no files, no network, no processes, no clock: time comes in as a value.
//! Invariant: a value of a type here has been checked; a `ServerName` is always a legal server name.
//! Invariant: nothing here panics on any input.

mod activity;
mod clock;
mod approval;
mod error;
mod event;
mod fingerprint;
mod glob;
mod hidden;
mod limits;
mod names;
mod reason;
mod server_record;
mod recorder;
mod policy_rules;
mod secret;
mod secret_arguments;
mod secret_patterns;
mod server;
mod span;
mod untrusted_text;
mod tool;

pub use activity::{Activity, ActivityKind};
pub use clock::{Clock, Timestamp};
pub use approval::{ApprovalResponse, ApprovalRequest, ApprovalDecision, Grant, ToolVersion};
pub use error::{ErrorClass, RpcError, ToolError, ToolResult};
pub use event::{Event, EventKind, TraceId};
pub use fingerprint::{ConfigHash, Fingerprint, HashKey};
pub use glob::matches_pattern;
pub use hidden::is_hidden;
pub use limits::Limits;
pub use names::{
    InvalidServerName, EXPOSED_NAME_MAX, ExposedName, RESERVED_SERVER_NAMES, SEPARATOR,
    SERVER_NAME_MAX, ServerName, TOOL_NAME_MAX, ToolId, ToolRef,
};
pub use reason::Reason;
pub use server_record::{
    DiscoveryStatus, Era, ErrorSummary, Offer, Offers, Rejection, ServerInfo, ServerRecord,
};
pub use recorder::{
    CacheUse, CallFacts, TransportKind, DiscoveryFacts, LookupFacts, Outcome, PolicyFacts, Recorder,
    RequestFacts, RunFacts, SearchFacts, NoopRecorder, TurnFacts,
};
pub use policy_rules::{
    AskDestructive, AskVia, ClientApproval, ClientRequests, GlobalRules, HintEffect, PolicyRule,
    EffectivePolicy, ServerRules,
};
pub use secret::{NoSecrets, PROJECT_REFERENCE, Secret, SecretLookup, Template, TemplatePart};
pub use secret_arguments::{
    has_url_secret, is_secret_name, secret_arguments, secret_parts, plaintext_secret,
};
pub use secret_patterns::{KeyCharacters, PEM_START, SECRET_PATTERNS, SecretPattern, find_secrets};
pub use server::{
    TrustState, Layer, Origin, Policy, ServerSpec, Timeouts, ToolExample, ToolOverride, Transport,
    package_runner,
};
pub use span::{TraceLabels, BAGGAGE, SpanContext, TRACEPARENT, TRACESTATE};
pub use untrusted_text::{UntrustedText, escape_hidden, visible_characters, escape_hidden_json, escape_hidden_values};
pub use tool::{Annotations, DefinitionParts, Tool};
