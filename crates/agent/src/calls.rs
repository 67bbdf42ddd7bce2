//! Runs all tool calls of one turn concurrently.

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use pegboard_model::{Reason, SpanContext, ToolError};
use tokio::sync::Semaphore;
use tokio::time::Instant;

use crate::agent::Agent;
use crate::definitions::Definitions;
use crate::event::AgentEvent;
use crate::message::{ToolOutput, ToolUse};
use crate::model_turn::StopSignal;
use crate::toolbox::{ExecutedCall, unfinished_call};

/// Calls that run concurrently; further ones wait.
const MAX_CONCURRENT: usize = 8;
/// Calls of one turn that are run; a model usually makes a handful.
const MAX_PER_TURN: usize = 128;

/// The results of the calls of one turn.
pub(crate) struct TurnCalls {
    /// One output for each call, in the order of the calls.
    pub(crate) outputs: Vec<ToolOutput>,
    /// The calls that were run, in the order of their completion.
    pub(crate) finished: Vec<ExecutedCall>,
    /// Why the remaining calls were not awaited.
    pub(crate) stopped: Option<ToolError>,
}

impl Agent {
    /// Runs at most `allowed` of the calls. The other calls, and those that are unfinished when the run stops, get
    /// an output that says so.
    pub(crate) async fn run_calls(
        &self,
        calls: &[ToolUse],
        definitions: &Definitions,
        allowed: usize,
        stop: StopSignal<'_>,
        span: Option<&SpanContext>,
        emit: &(dyn Fn(AgentEvent) + Send + Sync),
    ) -> TurnCalls {
        let started = Instant::now();
        let places = Semaphore::new(MAX_CONCURRENT);
        let running = calls.iter().take(allowed.min(MAX_PER_TURN)).enumerate();
        let mut running: FuturesUnordered<_> = running
            .map(|(place, call)| {
                let places = &places;
                async move {
                    let _place = places.acquire().await;
                    (place, self.run_call(call, definitions, span, emit).await)
                }
            })
            .collect();
        let mut outputs: Vec<Option<ToolOutput>> = calls.iter().map(|_| None).collect();
        let mut finished = Vec::new();
        let mut stopped = None;
        loop {
            match stop.or(running.next()).await {
                Ok(Some((place, executed))) => {
                    if let Some(output) = outputs.get_mut(place) {
                        *output = Some(executed.output.clone());
                    }
                    finished.push(executed);
                }
                Ok(None) => break,
                Err(why) => {
                    stopped = Some(why);
                    break;
                }
            }
        }
        drop(running);
        let (why, reason) = match &stopped {
            Some(error) => (format!("Not finished: {}.", error.message), error.reason),
            None => {
                let why = "Not run: the limit of tool calls is reached.";
                (why.to_owned(), Reason::BudgetSpent)
            }
        };
        let mut paired = Vec::with_capacity(calls.len());
        for (call, output) in calls.iter().zip(outputs) {
            paired.push(output.unwrap_or_else(|| {
                let (why, took) = ((why.as_str(), reason), started.elapsed());
                let executed = unfinished_call(&self.toolbox, definitions, call, why, took);
                let output = executed.output.clone();
                let (tool, server) = self.toolbox.target(definitions, call);
                emit(AgentEvent::CallFinished {
                    id: call.id.clone(),
                    tool,
                    server,
                    outcome: reason.code().to_owned(),
                    took,
                });
                finished.push(executed);
                output
            }));
        }
        TurnCalls {
            outputs: paired,
            finished,
            stopped,
        }
    }

    async fn run_call(
        &self,
        call: &ToolUse,
        definitions: &Definitions,
        span: Option<&SpanContext>,
        emit: &(dyn Fn(AgentEvent) + Send + Sync),
    ) -> ExecutedCall {
        let started = Instant::now();
        let (tool, server) = self.toolbox.target(definitions, call);
        emit(AgentEvent::CallStarted {
            id: call.id.clone(),
            tool: tool.clone(),
            server: server.clone(),
        });
        let executed = self.toolbox.run_within(definitions, call, span).await;
        let outcome = match (&executed.used, executed.output.is_error) {
            (Some(used), _) => used.outcome.clone(),
            (None, false) => "ok".to_owned(),
            (None, true) => "failed".to_owned(),
        };
        let used = executed.used.as_ref();
        emit(AgentEvent::CallFinished {
            id: call.id.clone(),
            server: used.map_or(server, |used| used.server.clone()),
            tool: used.map_or(tool, |used| used.tool.clone()),
            outcome,
            took: started.elapsed(),
        });
        executed
    }
}
