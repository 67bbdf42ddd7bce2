//! One turn of the model, with retries.

use std::time::Duration;

use pegboard_model::{Outcome, Reason, SpanContext, ToolError, ToolResult, TurnFacts};
use tokio::time::{Instant, sleep, timeout_at};
use tokio_util::sync::CancellationToken;

use crate::agent::Agent;
use crate::budget::BudgetExceeded;
use crate::event::AgentEvent;
use crate::provider::{Turn, TurnDelta, TurnRequest};

/// What can stop a run: cancellation and the deadline.
#[derive(Clone, Copy)]
pub(crate) struct StopSignal<'a> {
    pub(crate) cancel: &'a CancellationToken,
    pub(crate) deadline: Instant,
    pub(crate) time: Duration,
}

impl StopSignal<'_> {
    /// Runs a future unless the run is stopped first; the error says why it was stopped.
    pub(crate) async fn or<T>(&self, work: impl Future<Output = T>) -> ToolResult<T> {
        let work = timeout_at(self.deadline, work);
        tokio::select! {
            biased;
            () = self.cancel.cancelled() => Err(cancelled()),
            done = work => done.map_err(|_| BudgetExceeded::Time(self.time).into()),
        }
    }
}

pub(crate) fn cancelled() -> ToolError {
    ToolError::new(Reason::Cancelled, "the run was cancelled")
}

impl Agent {
    /// Requests one turn from the model. Retries if the provider is overloaded or the stream ends early.
    pub(crate) async fn ask_model(
        &self,
        request: TurnRequest<'_>,
        stop: StopSignal<'_>,
        span: Option<&SpanContext>,
        emit: &(dyn Fn(AgentEvent) + Send + Sync),
    ) -> ToolResult<Turn> {
        let started = Instant::now();
        let mut tried = 0;
        let result = loop {
            let mut on_delta = |delta: TurnDelta| {
                emit(match delta {
                    TurnDelta::Text(text) => AgentEvent::Text { text },
                    TurnDelta::Thinking(text) => AgentEvent::Thinking { text },
                });
            };
            let error = match stop.or(self.provider.turn(request, &mut on_delta)).await {
                Ok(Ok(turn)) => break Ok(turn),
                Ok(Err(error)) => error,
                Err(stopped) => break Err(stopped),
            };
            let Some(pause) = self.retry.pause(tried, &error) else {
                break Err(error.error);
            };
            emit(AgentEvent::Retrying {
                why: error.error.message.clone(),
                pause,
            });
            if let Err(stopped) = stop.or(sleep(pause)).await {
                break Err(stopped);
            }
            tried += 1;
        };
        self.record_turn(&result, span, started);
        result
    }

    fn record_turn(&self, result: &ToolResult<Turn>, span: Option<&SpanContext>, started: Instant) {
        let turn = result.as_ref().ok();
        let usage = turn.map(|turn| turn.usage).unwrap_or_default();
        self.recorder.turn(
            span,
            &TurnFacts {
                provider: self.provider.name(),
                model: self.provider.model(),
                response_model: turn.and_then(|turn| turn.model.as_deref()),
                id: turn.and_then(|turn| turn.id.as_deref()),
                input_tokens: usage.input_tokens,
                output_tokens: usage.output_tokens,
                cached_tokens: usage.cached_tokens,
                finish: turn.and_then(|turn| turn.raw_finish_reason.as_deref()),
                tool_calls: turn.map_or(0, |turn| turn.calls.len()),
                input: None,
                output: turn.map(|turn| turn.text.as_str()),
                outcome: Outcome::of(result),
                took: started.elapsed(),
            },
        );
    }
}
