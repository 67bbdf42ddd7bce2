//! Telemetry: logs, spans for OTLP collectors, and metrics.
//!
//! Invariant: recording never blocks. Queues are bounded; when full, they drop and count.
//! Invariant: only ids are recorded by default. Arguments, results and queries are recorded only if enabled, and
//! every exported text passes the [`Redactor`].
//! Invariant: without exporters, recording allocates nothing per call.

// Configuration.
mod environment;
mod plan;

// Spans and their export.
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

// Logs.
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
