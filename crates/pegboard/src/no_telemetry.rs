//! Replaces telemetry in builds without the feature `otlp`: events go only to the program's own recorder.

use std::sync::Arc;

use pegboard_model::{NoopRecorder, Recorder, Secret, SecretLookup, ServerSpec, ToolError};

use crate::{Builder, Configuration};

/// The recorder of events.
pub(crate) struct Telemetry {
    recorder: Arc<dyn Recorder>,
}

impl Telemetry {
    pub(crate) fn start(
        _: &Configuration,
        builder: &Builder,
        _: &[ServerSpec],
    ) -> (Self, Vec<ToolError>) {
        let recorder = builder.recorder.clone();
        let recorder = recorder.unwrap_or_else(|| Arc::new(NoopRecorder));
        (Self { recorder }, Vec::new())
    }

    pub(crate) fn recorder(&self) -> &Arc<dyn Recorder> {
        &self.recorder
    }

    #[cfg(feature = "dashboard")]
    pub(crate) fn learn<'a>(&self, _: impl Iterator<Item = &'a ServerSpec>) {}

    pub(crate) fn learn_secret(&self, _: &Secret) {}

    pub(crate) fn secrets(&self, stored: impl SecretLookup + 'static) -> Arc<dyn SecretLookup> {
        Arc::new(stored)
    }

    pub(crate) async fn close(&self) {}
}
