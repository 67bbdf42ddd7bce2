//! The recorder that builds spans and updates the metrics.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use pegboard_model::{
    CallFacts, DiscoveryFacts, Event, LookupFacts, PolicyFacts, Recorder, RequestFacts, RunFacts,
    SearchFacts, SpanContext, TraceId, TurnFacts,
};
use tokio::time::Instant;

use crate::exporter::{DeliveryCounts, Exporter};
use crate::exposition::Gauges;
use crate::ids::{SpanIds, random};
use crate::langfuse::CommonAttributes;
use crate::log_event::{log_event, log_lookup};
use crate::metrics::Metrics;
use crate::otlp::SpanEncoder;
use crate::plan::TracePlan;
use crate::redactor::Redactor;
use crate::span::Span;
use crate::span_factory::SpanFactory;

/// Records telemetry: updates the metrics, and exports spans if there are destinations. Clones are handles to the same
/// tracer.
#[derive(Clone)]
pub struct Tracer {
    inner: Arc<Inner>,
}

struct Inner {
    ids: SpanIds,
    redactor: Arc<Redactor>,
    capture: bool,
    exporters: Vec<Exporter>,
    metrics: Metrics,
}

impl Tracer {
    /// Creates a tracer without exporters.
    pub fn metrics_only(redactor: Arc<Redactor>) -> Self {
        Self::with(redactor, false, Vec::new())
    }

    /// Starts the exporters of a plan, and adds its credentials to the redactor. Exporting needs a Tokio runtime: outside of
    /// one, a warning is logged and nothing is exported.
    pub fn start(plan: TracePlan, redactor: Arc<Redactor>) -> Self {
        redactor.learn(&plan.secrets);
        let Ok(runtime) = tokio::runtime::Handle::try_current() else {
            if !plan.destinations.is_empty() {
                tracing::warn!(target: "pegboard_trace", "cannot export traces without a Tokio runtime");
            }
            return Self::metrics_only(redactor);
        };
        let common = CommonAttributes {
            environment: plan.environment,
            release: plan.release,
            process: format!("{:08x}", random() >> 32),
        };
        let exporters = plan.destinations.into_iter().map(|destination| {
            let encoder = SpanEncoder {
                flavour: destination.flavour(),
                resource: plan.resource.clone(),
                common: common.clone(),
            };
            Exporter::start(destination, encoder, redactor.clone(), &runtime)
        });
        let exporters = exporters.collect();
        Self::with(redactor, plan.capture_content, exporters)
    }

    fn with(redactor: Arc<Redactor>, capture: bool, exporters: Vec<Exporter>) -> Self {
        Self {
            inner: Arc::new(Inner {
                ids: SpanIds::new(),
                redactor,
                capture,
                exporters,
                metrics: Metrics::new(),
            }),
        }
    }

    /// Whether spans are exported.
    pub fn is_tracing(&self) -> bool {
        !self.inner.exporters.is_empty()
    }

    /// The redactor, to add more secrets.
    pub fn redactor(&self) -> &Arc<Redactor> {
        &self.inner.redactor
    }

    /// Renders the counters and the given gauges in the Prometheus text format.
    pub fn metrics(&self, gauges: &Gauges<'_>) -> String {
        self.inner.metrics.render(gauges, self.delivered())
    }

    /// How many spans have been delivered so far.
    pub fn delivered(&self) -> DeliveryCounts {
        let mut delivered = DeliveryCounts::default();
        for exporter in &self.inner.exporters {
            delivered.sent += exporter.counts.sent.load(Ordering::Relaxed);
            delivered.dropped += exporter.counts.dropped.load(Ordering::Relaxed);
        }
        delivered
    }

    /// Sends the remaining spans, at most for the given time, and returns the delivery counts. Later spans are dropped.
    pub async fn close(&self, within: Duration) -> DeliveryCounts {
        let deadline = Instant::now() + within;
        // All have the same deadline, so waiting for one after the other takes no longer.
        for exporter in &self.inner.exporters {
            exporter.begin_closing(deadline);
        }
        for exporter in &self.inner.exporters {
            exporter.closed(deadline).await;
        }
        self.delivered()
    }

    /// Builds a span if tracing is on, and passes it to every exporter.
    fn export(
        &self,
        span: Option<&SpanContext>,
        describe: impl FnOnce(SpanFactory<'_>, &SpanContext) -> Span,
    ) {
        let Some(context) = span.filter(|_| self.is_tracing()) else {
            return;
        };
        let factory = SpanFactory {
            redactor: &self.inner.redactor,
            capture: self.inner.capture,
        };
        let span = Arc::new(describe(factory, context));
        for exporter in &self.inner.exporters {
            exporter.put(span.clone());
        }
    }
}

impl Recorder for Tracer {
    fn is_tracing(&self) -> bool {
        Self::is_tracing(self)
    }

    fn begin(&self, parent: Option<&SpanContext>, trace: &TraceId) -> Option<SpanContext> {
        if !self.is_tracing() {
            return None;
        }
        let id = self.inner.ids.next();
        match parent {
            Some(parent) => parent.is_sampled().then(|| parent.child(id)),
            None => SpanContext::root(trace, id),
        }
    }

    fn event(&self, event: &Event) {
        self.inner.metrics.event(&event.kind);
        log_event(event);
    }

    fn lookup(&self, span: Option<&SpanContext>, facts: &LookupFacts) {
        self.inner.metrics.lookup(facts);
        log_lookup(facts);
        self.export(span, |factory, span| factory.lookup(span, facts));
    }

    fn discovery(&self, span: Option<&SpanContext>, facts: &DiscoveryFacts<'_>) {
        self.inner.metrics.discovery(facts);
        self.export(span, |factory, span| factory.discovery(span, facts));
    }

    fn search(&self, span: Option<&SpanContext>, facts: &SearchFacts<'_>) {
        self.inner.metrics.search(facts);
        self.export(span, |factory, span| factory.search(span, facts));
    }

    fn policy(&self, span: Option<&SpanContext>, facts: &PolicyFacts<'_>) {
        self.export(span, |factory, span| factory.policy(span, facts));
    }

    fn call(&self, span: Option<&SpanContext>, facts: &CallFacts<'_>) {
        self.inner.metrics.call(facts);
        self.export(span, |factory, span| factory.call(span, facts));
    }

    fn request(&self, span: Option<&SpanContext>, facts: &RequestFacts<'_>) {
        self.export(span, |factory, span| factory.request(span, facts));
    }

    fn turn(&self, span: Option<&SpanContext>, facts: &TurnFacts<'_>) {
        self.inner.metrics.turn(facts);
        self.export(span, |factory, span| factory.turn(span, facts));
    }

    fn run(&self, span: Option<&SpanContext>, facts: &RunFacts<'_>) {
        self.export(span, |factory, span| factory.run(span, facts));
    }

    fn tokens_saved(&self, tokens: u64) {
        self.inner.metrics.tokens_saved(tokens);
    }
}

impl fmt::Debug for Tracer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Tracer({:?})", self.delivered())
    }
}
