//! What Pegboard tells about its work: logs for people and programs, spans for a collector, metrics.
//!
//! Invariant: nothing here makes anybody wait. Queues are bounded and drop, counting what they dropped.
//! Invariant: ids, not contents. Arguments, results and queries are recorded only where that was asked for, and
//! every text that leaves passes the [`Redactor`].
//! Invariant: a recorder that is not asked for anything allocates nothing.

// What is to be told, and where.
mod environment;
mod plan;

// Spans, and their way to a collector.
mod content;
mod exporter;
mod ids;
mod keys;
mod langfuse;
mod otlp;
mod otlp_http;
mod queue;
mod span;
mod span_factory;
mod tracer;

// Secrets.
mod config_secrets;
mod patterns;
mod redactor;

// LogGuard.
mod log;
mod log_event;
mod log_line;
mod log_writer;

// Metrics.
mod exposition;
mod histogram;
mod metrics;
mod per_server;

pub use config_secrets::{LearningSecretLookup, secrets_of};
pub use exporter::DeliveryCounts;
pub use exposition::{CONTENT_TYPE, Gauges, ServerGauges};
pub use log::{LogFormat, LogGuard, LogSettings, init_logging};
pub use log_event::{LogRecorder, log_event};
pub use metrics::Metrics;
pub use plan::{Destination, Flavour, LangfuseKeys, TraceConfig, TracePlan};
pub use redactor::Redactor;
pub use tracer::Tracer;
