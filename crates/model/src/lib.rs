//! Shared types of Pegboard: names, tools, servers, results, errors, limits, secrets and untrusted text.
//!
//! Invariant: no async, no files, no network, no processes, no clock. Time is passed in as a value.
//! Invariant: values are validated when they are created; a `ServerName` is always a valid server name.
//! Invariant: nothing here panics on any input.

mod activity;
mod approval;
mod clock;
mod error;
mod event;
mod fingerprint;
mod glob;
mod hidden;
mod limits;
mod names;
mod oauth;
mod policy_rules;
mod reason;
mod recorder;
mod refresh;
mod secret;
mod secret_arguments;
mod secret_patterns;
mod server;
mod server_record;
mod sharing;
mod span;
mod tool;
mod untrusted_text;

pub use activity::{Activity, ActivityKind};
pub use approval::{ApprovalDecision, ApprovalRequest, ApprovalResponse, Grant, ToolVersion};
pub use clock::{Clock, Timestamp};
pub use error::{ErrorClass, ErrorDetails, RpcError, ToolError, ToolResult};
pub use event::{Event, EventKind, TraceId};
pub use fingerprint::{ConfigHash, Fingerprint, HashKey};
pub use glob::matches_pattern;
pub use hidden::is_hidden;
pub use limits::Limits;
pub use names::{
    EXPOSED_NAME_MAX, ExposedName, InvalidServerName, RESERVED_SERVER_NAMES, SEPARATOR,
    SERVER_NAME_MAX, ServerName, TOOL_NAME_MAX, ToolId, ToolRef,
};
pub use oauth::{LoginState, OAuthGrant, OAuthSettings};
pub use policy_rules::{
    AskDestructive, AskVia, ClientApproval, ClientRequests, EffectivePolicy, GlobalRules,
    HintEffect, PolicyRule, ServerRules,
};
pub use reason::Reason;
pub use recorder::{
    CacheUse, CallFacts, DiscoveryFacts, LookupFacts, NoopRecorder, Outcome, PolicyFacts, Recorder,
    RequestFacts, RunFacts, SearchFacts, TransportKind, TurnFacts,
};
pub use refresh::{RefreshOnStart, StaleRefresh};
pub use secret::{NoSecrets, PROJECT_REFERENCE, Secret, SecretLookup, Template, TemplatePart};
pub use secret_arguments::{
    has_url_secret, is_secret_name, plaintext_secret, secret_arguments, secret_parts,
};
pub use secret_patterns::{KeyCharacters, PEM_START, SECRET_PATTERNS, SecretPattern, find_secrets};
pub use server::{
    HttpWire, Layer, Origin, Policy, ServerSpec, Timeouts, ToolExample, ToolOverride, Transport,
    TrustState, package_runner,
};
pub use server_record::{
    DiscoveryStatus, Era, ErrorSummary, Offer, Offers, Rejection, ServerInfo, ServerRecord,
};
pub use sharing::{LearntFacts, Share, ShareScope, SharingDecision};
pub use span::{BAGGAGE, SpanContext, TRACEPARENT, TRACESTATE, TraceLabels};
pub use tool::{Annotations, DefinitionParts, Tool};
pub use untrusted_text::{
    UntrustedText, escape_hidden, escape_hidden_json, escape_hidden_values, visible_characters,
};
