//! The agent loop.

use std::sync::Arc;

use pegboard_hub::{Hub, SessionId};
use pegboard_metatools::context_summary;
use pegboard_model::{
    Limits, NoopRecorder, Outcome, Reason, Recorder, RunFacts, SpanContext, ToolError, ToolResult,
    TraceId,
};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::budget::{Budget, BudgetExceeded};
use crate::definitions::{Definitions, Loading};
use crate::event::AgentEvent;
use crate::message::Conversation;
use crate::model_turn::{StopSignal, cancelled};
use crate::provider::{FinishReason, Provider, Turn, TurnRequest, Usage};
use crate::report::RunReport;
use crate::retry::Retry;
use crate::toolbox::Toolbox;

/// Default limit of the tokens that a model writes in one turn.
const ANSWER_TOKENS: u32 = 16_000;
/// Default limit of the tokens of one tool result; larger results are read in parts.
const RESULT_TOKENS: usize = 25_000;

/// Note below a response that ended at the token limit.
const TRUNCATED: &str = "[Truncated: the model reached its token limit.]";

/// Runs a model with access to all tools of a hub.
///
/// ```no_run
/// # async fn example(hub: pegboard_hub::Hub) -> pegboard_model::ToolResult<()> {
/// use pegboard_agent::{Agent, Anthropic};
/// use pegboard_model::Secret;
///
/// let model = Anthropic::new("claude-sonnet-5", &Secret::new("…"), None)?;
/// let run = Agent::new(hub, model).ask("Which issues are open?").await;
/// println!("{}", run.answer?);
/// # Ok(())
/// # }
/// ```
pub struct Agent {
    pub(crate) provider: Arc<dyn Provider>,
    pub(crate) toolbox: Toolbox,
    pub(crate) recorder: Arc<dyn Recorder>,
    pub(crate) retry: Retry,
    system: String,
    essential: Vec<String>,
    loading: Loading,
    budget: Budget,
    answer_tokens: u32,
    session: SessionId,
}

impl Agent {
    /// Creates an agent that uses this model and the tools of this hub.
    pub fn new(hub: Hub, provider: impl Provider + 'static) -> Self {
        Self::over(hub, Arc::new(provider))
    }

    /// Like [`Agent::new`], with a shared provider.
    pub fn over(hub: Hub, provider: Arc<dyn Provider>) -> Self {
        let session = SessionId("agent".to_owned());
        let limits = Limits::default();
        Self {
            provider,
            toolbox: Toolbox::new(hub, session.clone(), &limits, RESULT_TOKENS),
            recorder: Arc::new(NoopRecorder),
            retry: Retry::default(),
            system: String::new(),
            essential: Vec::new(),
            loading: Loading::default(),
            budget: Budget::default(),
            answer_tokens: ANSWER_TOKENS,
            session,
        }
    }

    /// Sets the system prompt. A summary of the tools is appended to it.
    #[must_use]
    pub fn system(mut self, text: impl Into<String>) -> Self {
        self.system = text.into();
        self
    }

    /// Sets the patterns of the tools that the summary names.
    #[must_use]
    pub fn essential(mut self, patterns: Vec<String>) -> Self {
        self.essential = patterns;
        self
    }

    /// Sets how tools are presented to the model.
    #[must_use]
    pub fn loading(mut self, loading: Loading) -> Self {
        self.loading = loading;
        self
    }

    /// Sets the limits of one run.
    #[must_use]
    pub fn budget(mut self, budget: Budget) -> Self {
        self.budget = budget;
        self
    }

    /// Sets when failed requests to the provider are retried.
    #[must_use]
    pub fn retry(mut self, retry: Retry) -> Self {
        self.retry = retry;
        self
    }

    /// Sets the limit of the tokens that the model writes in one turn.
    #[must_use]
    pub fn answer_tokens(mut self, tokens: u32) -> Self {
        self.answer_tokens = tokens.max(1);
        self
    }

    /// Sets the limit of the tokens of one tool result. The model reads larger results in parts.
    #[must_use]
    pub fn result_tokens(mut self, tokens: usize) -> Self {
        let hub = self.toolbox.hub().clone();
        self.toolbox = Toolbox::new(hub, self.session.clone(), &Limits::default(), tokens);
        self
    }

    /// Sets the recorder that receives telemetry of turns and runs.
    #[must_use]
    pub fn recorder(mut self, recorder: Arc<dyn Recorder>) -> Self {
        self.recorder = recorder;
        self
    }

    /// Returns the hub.
    pub fn hub(&self) -> &Hub {
        self.toolbox.hub()
    }

    /// Runs one task in a new conversation.
    pub async fn ask(&self, task: &str) -> RunReport {
        let mut conversation = Conversation::new();
        self.run(&mut conversation, task, &CancellationToken::new(), &|_| {})
            .await
    }

    /// Runs one task in a conversation and emits events. Dropping the future stops the run. Cancelling `cancel`
    /// also stops it, but returns the report. In both cases the conversation can be continued.
    pub async fn run(
        &self,
        conversation: &mut Conversation,
        task: &str,
        cancel: &CancellationToken,
        emit: &(dyn Fn(AgentEvent) + Send + Sync),
    ) -> RunReport {
        let started = Instant::now();
        let trace = new_trace();
        let span = self.recorder.begin(None, &trace);
        let span = span.map(|span| span.with_labels("agent", &self.session.0));
        let mut run = RunReport {
            answer: Err(cancelled()),
            used: Vec::new(),
            usage: Usage::default(),
            turns: 0,
            calls: 0,
            saved_tokens: 0,
            took: started.elapsed(),
        };
        let stop = StopSignal {
            cancel,
            deadline: started + self.budget.time,
            time: self.budget.time,
        };
        conversation.say(task);
        let catalog = self.hub().catalog();
        let offered = catalog.servers().filter(|entry| entry.is_offered());
        let servers: Vec<_> = offered.map(|entry| entry.name().clone()).collect();
        let needs_discovery = !catalog.needs_discovery().is_empty();
        drop(catalog);
        let mut state = RunState {
            conversation,
            run: &mut run,
            stop,
            trace: &trace,
            span: span.as_ref(),
        };
        let answer = self.run_turns(&mut state, emit).await;
        run.answer = answer;
        run.took = started.elapsed();
        self.recorder.tokens_saved(run.saved_tokens);
        self.recorder.run(
            span.as_ref(),
            &RunFacts {
                agent: "pegboard",
                servers: &servers,
                needs_discovery,
                turns: run.turns,
                calls: run.calls,
                input: Some(task),
                output: run.answer.as_ref().ok().map(String::as_str),
                outcome: Outcome::of(&run.answer),
                took: run.took,
            },
        );
        run
    }

    async fn run_turns(
        &self,
        state: &mut RunState<'_>,
        emit: &(dyn Fn(AgentEvent) + Send + Sync),
    ) -> ToolResult<String> {
        // Servers that cannot be discovered now are left out; the run continues without their tools.
        let known = self.hub().ensure_known_in_span(state.span);
        state.stop.or(known).await?;
        let catalog = self.hub().catalog();
        let format = match self.loading {
            Loading::Deferred => self.provider.deferred_format(),
            _ => None,
        };
        let format = format.unwrap_or_else(|| self.provider.format());
        let definitions = Definitions::of(&catalog, format, self.loading);
        let system = self.system_text(definitions.loading(), &catalog);
        let mut lookup_tokens = 0;
        loop {
            if state.run.turns >= self.budget.turns {
                return Err(BudgetExceeded::Turns(self.budget.turns).into());
            }
            if state.run.usage.total() >= self.budget.tokens {
                return Err(BudgetExceeded::Tokens(self.budget.tokens).into());
            }
            let turn = self.next_turn(state, &system, &definitions, emit).await?;
            state.run.saved_tokens += definitions.saved_tokens().saturating_sub(lookup_tokens);
            let Turn {
                items, text, calls, ..
            } = turn;
            if calls.is_empty() {
                state.conversation.exchange(items, Vec::new());
                match self.ended(turn.finish, text) {
                    Some(answer) => return answer,
                    None => continue,
                }
            }
            let allowed = self.budget.calls.saturating_sub(state.run.calls);
            let (stop, span) = (state.stop, state.span);
            let called = self
                .run_calls(&calls, &definitions, allowed, stop, span, emit)
                .await;
            state.run.calls += calls.len().min(allowed);
            for executed in called.finished {
                lookup_tokens += executed.lookup_tokens;
                state.run.used.extend(executed.used);
            }
            state.conversation.exchange(items, called.outputs);
            if let Some(stopped) = called.stopped {
                return Err(stopped);
            }
            if calls.len() > allowed {
                return Err(BudgetExceeded::Calls(self.budget.calls).into());
            }
        }
    }

    /// Returns the result of a turn without calls, or `None` if the model must continue.
    fn ended(&self, finish: FinishReason, text: String) -> Option<ToolResult<String>> {
        Some(match finish {
            FinishReason::Paused => return None,
            FinishReason::Done => Ok(text),
            FinishReason::Refused => {
                let message = "the model or its provider refused to answer";
                Err(ToolError::new(Reason::ModelRefused, message))
            }
            FinishReason::Length if text.is_empty() => {
                Err(BudgetExceeded::Tokens(u64::from(self.answer_tokens)).into())
            }
            FinishReason::Length => Ok(format!("{text}\n\n{TRUNCATED}")),
        })
    }

    async fn next_turn(
        &self,
        state: &mut RunState<'_>,
        system: &str,
        definitions: &Definitions,
        emit: &(dyn Fn(AgentEvent) + Send + Sync),
    ) -> ToolResult<Turn> {
        let turn = state.run.turns + 1;
        emit(AgentEvent::TurnStarted { turn });
        let request = TurnRequest::new(
            system,
            state.conversation.messages(),
            definitions.document(),
            self.answer_tokens,
        );
        let span = state
            .span
            .and_then(|span| self.recorder.begin(Some(span), state.trace));
        let response = self
            .ask_model(request, state.stop, span.as_ref(), emit)
            .await?;
        state.run.turns = turn;
        state.run.usage.add(response.usage);
        emit(AgentEvent::TurnFinished {
            turn,
            usage: response.usage,
            calls: response.calls.len(),
        });
        Ok(response)
    }

    fn system_text(&self, loading: Loading, catalog: &pegboard_catalog::Catalog) -> String {
        let summary = match loading {
            Loading::All => String::new(),
            _ => context_summary(catalog, &self.essential),
        };
        let parts = [self.system.trim(), summary.trim()];
        let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        parts.join("\n\n")
    }
}

/// The state of one run.
struct RunState<'a> {
    conversation: &'a mut Conversation,
    run: &'a mut RunReport,
    stop: StopSignal<'a>,
    trace: &'a TraceId,
    span: Option<&'a SpanContext>,
}

/// Returns a new trace id for a run. The last bit is set so that it is valid even without a random source.
fn new_trace() -> TraceId {
    let mut bytes = [0; 16];
    let _ = getrandom::fill(&mut bytes);
    TraceId::from_bytes((u128::from_be_bytes(bytes) | 1).to_be_bytes())
}
