//! Validation of what servers send: admission of tools, argument checks, requests to clients, and the policy decision.
//!
//! Invariant: no async, no files, no network, no processes, no threads, no clock.
//! Invariant: each tool is checked independently; an invalid one does not affect the others.
//! Invariant: definitions are stored byte for byte; derived data is stored next to them.
//! Invariant: no schema causes a network request, and the cost of validation is bounded.

mod admission;
mod argument_coercion;
mod argument_errors;
mod arguments;
mod arguments_json;
mod client_requests;
mod confusables;
mod dialect;
mod duplicate_keys;
mod fields;
mod fingerprint;
mod glob;
mod headers;
mod nesting;
mod offers;
mod policy;
mod policy_explanation;
mod references;
mod regex_limits;
mod result_scan;
mod review;
mod scan;
mod schema;
mod schema_walk;
mod sentence;
mod signature;
mod summary;
mod tokens;
mod validation_cost;

pub use admission::{Admission, admit, admit_with_known};
pub use argument_coercion::coerce_arguments;
pub use argument_errors::ArgumentError;
pub use arguments::{
    ARGUMENTS_BYTES_MAX, ArgumentValidator, check_arguments, check_arguments_with,
};
pub use arguments_json::parse_arguments;
pub use client_requests::{Refusal, check_client_request};
pub use confusables::confusable_groups;
pub use duplicate_keys::has_duplicate_key;
pub use fingerprint::fingerprint;
pub use glob::matches as matches_pattern;
pub use offers::{OfferKey, admit_offers};
pub use policy::{ANNOTATION_RULES, PolicyDecision, PolicySubject, decide, effective_policy};
pub use policy_explanation::{ExplainedRule, PolicyExplanation, explain_decision};
pub use result_scan::{neutralise_result, scan_result};
pub use review::{ReviewRules, offer_fingerprint, review_record, text_fingerprint};
pub use scan::{
    PeerTool, Peers, RULES, Rule, SCANNER_VERSION, ScanContext, rule, rules_page, scan_definition,
    scan_text,
};
pub use signature::{signature, signature_of, type_summary};
pub use summary::{SUMMARY_MAX, fallback_summary, shorten, summarise};
pub use tokens::estimate_tokens;
