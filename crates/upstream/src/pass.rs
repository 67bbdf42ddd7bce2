//! The requests of clients, passed on to the server and answered in time.

use std::sync::atomic::Ordering;
use std::sync::{Arc, MutexGuard, PoisonError};

use pegboard_model::{Era, Reason, ToolResult};
use serde_json::value::RawValue;

use crate::contract::{CallOptions, CallOutcome, Forward};
use crate::dialect::{LOG_LEVEL, quoted};
use crate::envelope::Answer;
use crate::outcome::outcome;
use crate::pulse::{Pulse, TimeLimit};
use crate::talk::Talk;
use crate::wire::{Ask, Behind, Body, Size, Wire};
use crate::wording::Subject;

/// The requests that a server may answer by asking for input.
const TAKES_INPUT: &[&str] = &["tools/call", "prompts/get", "resources/read"];

/// A request that a client made, in the words of its transport.
#[derive(Clone, Copy)]
struct Passed<'a> {
    method: &'a str,
    body: Body<'a>,
    name: Option<&'a str>,
    subject: Subject<'a>,
}

impl<W: Wire> Talk<W> {
    /// One call, within its time.
    pub(crate) async fn call(
        &self,
        tool: &str,
        arguments: &RawValue,
        options: CallOptions,
    ) -> ToolResult<CallOutcome> {
        let passed = Passed {
            method: "tools/call",
            body: Body::Call { tool, arguments },
            name: Some(tool),
            subject: Subject::Call(tool),
        };
        self.pass(passed, &options).await
    }

    /// Any other request, within its time.
    pub(crate) async fn request(
        &self,
        forward: Forward<'_>,
        options: CallOptions,
    ) -> ToolResult<CallOutcome> {
        let method = forward.method;
        let passed = Passed {
            method,
            body: Body::Members(forward.members),
            name: forward.name.filter(|_| TAKES_INPUT.contains(&method)),
            subject: Subject::Method(method),
        };
        self.pass(passed, &options).await
    }

    async fn pass(&self, passed: Passed<'_>, options: &CallOptions) -> ToolResult<CallOutcome> {
        let wording = &self.setup.wording;
        let pulse = Arc::new(Pulse::new());
        let patience = TimeLimit {
            silent: options.timeout,
            longest: options.longest,
        };
        // On the heap once: it holds all that a request may need, and whatever is laid around it would copy it.
        let asking = Box::pin(self.pass_or_relearn(passed, options, &pulse));
        let answer = match patience.limit(&pulse, asking).await {
            Ok(answer) => answer?,
            Err(limit) => {
                self.doubt();
                return Err(wording.timeout(passed.subject, limit));
            }
        };
        match answer {
            Answer::Result(result) => outcome(passed.subject, result, wording),
            Answer::Deep(_) => Err(wording.too_deep()),
            Answer::Error(error) => Err(wording.refused(passed.subject, &error)),
        }
    }

    async fn pass_or_relearn(
        &self,
        passed: Passed<'_>,
        options: &CallOptions,
        pulse: &Arc<Pulse>,
    ) -> ToolResult<Answer> {
        let answer = self.pass_once(passed, options, pulse).await;
        if !self.is_doubtful() {
            return answer;
        }
        // Only what says that nothing was run lets the call be sent again.
        let (refused, ran_nothing) = match &answer {
            Ok(Answer::Error(error)) if (-32602..=-32600).contains(&error.code) => {
                (self.setup.wording.refused(passed.subject, error), true)
            }
            Err(error) => {
                let is_refusal = error.reason == Reason::HttpStatus && !error.retryable;
                (error.clone(), is_refusal)
            }
            Ok(_) => {
                self.proven.store(true, Ordering::Relaxed);
                return answer;
            }
        };
        let is_relearnt = Box::pin(self.relearn(&refused)).await;
        if is_relearnt && ran_nothing && self.handshake().era == Era::Legacy {
            return self.pass_once(passed, options, pulse).await;
        }
        answer
    }

    async fn pass_once(
        &self,
        passed: Passed<'_>,
        options: &CallOptions,
        pulse: &Arc<Pulse>,
    ) -> ToolResult<Answer> {
        if let Some(level) = options.meta.as_ref().and_then(|meta| meta.get(LOG_LEVEL)) {
            Box::pin(self.set_level(level)).await;
        }
        let behind = options
            .caller
            .as_ref()
            .map(|caller| Behind { caller, pulse });
        if let Some(behind) = behind {
            Box::pin(self.wire.prepare(behind)).await;
        }
        let ask = Ask {
            dialect: self.dialect(),
            method: passed.method,
            body: passed.body,
            meta: options.meta.as_ref(),
            input: options
                .input
                .as_ref()
                .filter(|_| TAKES_INPUT.contains(&passed.method)),
            name: passed.name,
            headers: &options.headers,
            size: Size::Result,
            behind,
        };
        self.wire.ask(ask).await
    }

    /// Asks a legacy server for log messages of a level, unless it knows; a modern one reads it in each request.
    async fn set_level(&self, level: &serde_json::Value) {
        let agreed = self.agreed();
        let Some(level) = level.as_str() else {
            return;
        };
        if agreed.dialect.is_modern() || !agreed.has.logging {
            return;
        }
        let wanted = (self.wire.generation(), level.to_owned());
        if self.last_level().as_ref() == Some(&wanted) {
            return;
        }
        let members = format!(r#""level":{}"#, quoted(level));
        let ask = Ask::own(&agreed.dialect, "logging/setLevel", &members);
        // A server that refuses a level still runs the call, and would refuse it the next time as well.
        if self.wire.ask(ask).await.is_ok() {
            *self.last_level() = Some(wanted);
        }
    }

    fn last_level(&self) -> MutexGuard<'_, Option<(u64, String)>> {
        self.level.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
