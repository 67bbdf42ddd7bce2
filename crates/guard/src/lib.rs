//! What a server sent, checked: admitted tools, the reasons for the others, and the decisions that
//! every call passes.
//!
//! Invariant: no async, no files, no network, no processes, no threads, no clock.
//! Invariant: each tool is judged by itself; a bad one costs only itself.
//! Invariant: a definition is kept byte for byte; what is read out of it stands beside it.
//! Invariant: a schema never makes anything be fetched, and never costs more than a fixed effort.

#![allow(
    clippy::result_large_err,
    reason = "errors are rare and read by people; boxing each would help nobody"
)]

mod admission;
mod arguments;
mod arguments_json;
mod client_requests;
mod dialect;
mod effort;
mod faults;
mod fields;
mod fingerprint;
mod glob;
mod headers;
mod linear;
mod look_alike;
mod nesting;
mod offers;
mod policy;
mod references;
mod schema;
mod sentence;
mod signature;
mod summary;
mod tokens;
mod tolerance;
mod unique;
mod walk;
mod weighing;

pub use admission::{Admission, admit, admit_again};
pub use arguments::{ARGUMENTS_BYTES_MAX, ArgumentCheck, check_arguments, check_prepared};
pub use arguments_json::parse_arguments;
pub use client_requests::{Refusal, check_client_request};
pub use faults::Fault;
pub use fingerprint::fingerprint;
pub use glob::matches as matches_pattern;
pub use look_alike::look_alikes;
pub use offers::{OfferKey, admit_offers};
pub use policy::{ANNOTATION_RULES, PolicyDecision, PolicySubject, decide, effective_policy};
pub use signature::{signature, signature_of, type_words};
pub use summary::{SUMMARY_MAX, fallback_summary, shorten, summarise};
pub use tokens::estimate_tokens;
pub use tolerance::tolerant_arguments;
pub use unique::repeats_a_key;
pub use weighing::{Weighed, WeighedRule, weigh};
