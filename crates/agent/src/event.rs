//! What happens during a run, for whoever shows it.

use std::time::Duration;

use pegboard_model::ServerName;
use serde::Serialize;

use crate::provider::Usage;

/// One thing that happened. Texts are a model's or a server's: show them as foreign.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
#[non_exhaustive]
pub enum AgentEvent {
    /// The model is asked.
    TurnStarted {
        /// Which turn, from 1 on.
        turn: usize,
    },
    /// The model says something.
    Text {
        /// The piece.
        text: String,
    },
    /// The model thinks aloud.
    Thinking {
        /// The piece.
        text: String,
    },
    /// The provider failed and is asked again; what the model said in this turn does not count.
    Retrying {
        /// What happened.
        why: String,
        /// The pause before the next try.
        #[serde(rename = "pause_ms", serialize_with = "millis")]
        pause: Duration,
    },
    /// The model has spoken.
    TurnFinished {
        /// Which turn.
        turn: usize,
        /// What it cost.
        usage: Usage,
        /// How many tools it wants called.
        calls: usize,
    },
    /// A tool is called.
    CallStarted {
        /// The id of the call.
        id: String,
        /// The tool: its exposed name where it is known, else as the model wrote it.
        tool: String,
        /// Its server; none for a tool of the host program and for the meta tools.
        server: Option<ServerName>,
    },
    /// A tool has answered.
    CallFinished {
        /// The id of the call.
        id: String,
        /// The tool.
        tool: String,
        /// Its server.
        server: Option<ServerName>,
        /// `ok`, or a code.
        outcome: String,
        /// How long it took.
        #[serde(rename = "took_ms", serialize_with = "millis")]
        took: Duration,
    },
}

pub(crate) fn millis<S: serde::Serializer>(
    duration: &Duration,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.serialize_u64(u64::try_from(duration.as_millis()).unwrap_or(u64::MAX))
}
