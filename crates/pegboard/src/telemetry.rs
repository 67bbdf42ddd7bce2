//! Logs, traces and metrics of an open Pegboard, with secrets redacted.

use std::ops::Bound::{Included, Unbounded};
use std::sync::Arc;
use std::time::Duration;

use pegboard_config::TraceSettings;
use pegboard_model::{
    Reason, Recorder, Secret, SecretLookup, ServerSpec, Template, ToolError, ToolResult,
};
use pegboard_trace::{
    LangfuseKeys, LearningSecretLookup, LogRecorder, Redactor, TraceConfig, TracePlan, Tracer,
    secrets_of,
};

use crate::{Builder, Configuration};

/// The time allowed at shutdown to export the remaining spans.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(2);
/// Prefixes of environment variables that may configure a trace destination.
const PREFIXES: [&str; 2] = ["LANGFUSE_", "OTEL_"];

/// The recorder of events and spans, and the redactor of secrets.
pub(crate) struct Telemetry {
    recorder: Arc<dyn Recorder>,
    tracer: Option<Tracer>,
    /// `None` if nothing is logged or exported.
    redactor: Option<Arc<Redactor>>,
}

impl Telemetry {
    /// Starts what the configuration enables. Also returns the problems of invalid settings.
    pub(crate) fn start(
        configuration: &Configuration,
        builder: &Builder,
        servers: &[ServerSpec],
    ) -> (Self, Vec<ToolError>) {
        let (plan, problems) = plan(configuration);
        let is_traced = !plan.destinations.is_empty();
        let redactor = builder.redactor.clone();
        let redactor = redactor.or_else(|| is_traced.then(Arc::default));
        let tracer = match (is_traced || builder.metrics, &redactor) {
            (true, Some(redactor)) => Some(Tracer::start(plan, redactor.clone())),
            (true, None) => Some(Tracer::metrics_only(Arc::default())),
            (false, _) => None,
        };
        let recorder: Arc<dyn Recorder> = match (&builder.recorder, &tracer) {
            (Some(recorder), _) => recorder.clone(),
            (None, Some(tracer)) => Arc::new(tracer.clone()),
            (None, None) => Arc::new(LogRecorder),
        };
        let telemetry = Self {
            recorder,
            tracer,
            redactor,
        };
        telemetry.learn(servers.iter());
        (telemetry, problems)
    }

    pub(crate) fn recorder(&self) -> &Arc<dyn Recorder> {
        &self.recorder
    }

    #[cfg(feature = "gateway")]
    pub(crate) fn tracer(&self) -> Option<&Tracer> {
        self.tracer.as_ref()
    }

    /// Registers the secrets of server definitions for redaction.
    pub(crate) fn learn<'a>(&self, specs: impl Iterator<Item = &'a ServerSpec>) {
        if let Some(redactor) = &self.redactor {
            let secrets: Vec<Secret> = specs.flat_map(secrets_of).collect();
            redactor.learn(&secrets);
        }
    }

    /// Registers one secret for redaction.
    pub(crate) fn learn_secret(&self, secret: &Secret) {
        if let Some(redactor) = &self.redactor {
            redactor.learn([secret]);
        }
    }

    /// Wraps a lookup of stored secrets so that each resolved secret is registered for redaction.
    pub(crate) fn secrets(&self, kept: impl SecretLookup + 'static) -> Arc<dyn SecretLookup> {
        match &self.redactor {
            Some(redactor) => Arc::new(LearningSecretLookup::new(Arc::new(kept), redactor.clone())),
            None => Arc::new(kept),
        }
    }

    /// Exports the remaining spans.
    pub(crate) async fn close(&self) {
        if let Some(tracer) = &self.tracer {
            tracer.close(FLUSH_TIMEOUT).await;
        }
    }
}

/// Returns true if a trace destination may be configuration. This cheap check on variable names is negative for most
/// users.
pub(crate) fn may_trace(configuration: &Configuration) -> bool {
    let (settings, vars) = (&configuration.loaded.trace, &configuration.environment.vars);
    let is_named = |prefix: &str| {
        let mut from = vars.range::<str, _>((Included(prefix), Unbounded));
        from.next()
            .is_some_and(|(name, _)| name.starts_with(prefix))
    };
    let is_configured = settings.endpoint.is_some() || settings.langfuse.is_some();
    is_configured || PREFIXES.iter().any(|prefix| is_named(prefix))
}

/// Returns the trace destinations and the problems of invalid settings.
fn plan(configuration: &Configuration) -> (TracePlan, Vec<ToolError>) {
    if !may_trace(configuration) {
        return (TracePlan::default(), Vec::new());
    }
    let (settings, vars) = (&configuration.loaded.trace, &configuration.environment.vars);
    let (config, problem) = match resolved(settings, &configuration.secrets()) {
        Ok(config) => (config, None),
        Err(error) => (TraceConfig::default(), Some(error)),
    };
    let (plan, problems) = TracePlan::resolve(&config, &|name| vars.get(name).cloned());
    let problems = problems.into_iter().map(|problem| {
        let remedy = "Fix the setting; until then, no traces are sent there.";
        ToolError::new(Reason::ConfigInvalid, problem).with_remedy(remedy)
    });
    (plan, problem.into_iter().chain(problems).collect())
}

/// Resolves the secrets in the trace settings.
fn resolved(settings: &TraceSettings, kept: &dyn SecretLookup) -> ToolResult<TraceConfig> {
    let value = |template: &Template| {
        template.resolve(kept).map_err(|name| {
            let message = format!("secret `{name}` of the trace settings is not stored");
            let remedy = format!("Store it with `pegboard secret set {name}`.");
            ToolError::new(Reason::ConfigSecretMissing, message).with_remedy(remedy)
        })
    };
    let text = |template: &Option<Template>| {
        let value = template.as_ref().map(value).transpose()?;
        Ok::<_, ToolError>(value.map(|value| value.reveal().to_owned()))
    };
    let headers = settings.headers.iter();
    let headers = headers.map(|(name, header)| Ok((name.clone(), value(header)?)));
    let langfuse = match &settings.langfuse {
        Some(keys) => Some(LangfuseKeys {
            public_key: value(&keys.public_key)?,
            secret_key: value(&keys.secret_key)?,
            base_url: text(&keys.base_url)?,
        }),
        None => None,
    };
    Ok(TraceConfig {
        endpoint: text(&settings.endpoint)?,
        headers: headers.collect::<ToolResult<_>>()?,
        langfuse,
        capture_content: settings.capture_content,
        service_name: settings.service_name.clone(),
        environment: settings.environment.clone(),
    })
}
