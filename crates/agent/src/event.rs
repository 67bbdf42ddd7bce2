//! Events of a run.

use std::time::Duration;

use pegboard_model::ServerName;
use serde::Serialize;

use crate::provider::Usage;

/// An event of a run. Texts come from models and servers and are untrusted.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
#[non_exhaustive]
pub enum AgentEvent {
    /// A request to the model starts.
    TurnStarted {
        /// Number of the turn, from 1.
        turn: usize,
    },
    /// The model writes text.
    Text {
        /// The text fragment.
        text: String,
    },
    /// The model writes reasoning text.
    Thinking {
        /// The text fragment.
        text: String,
    },
    /// The provider failed and the request is retried. Discard the text of this turn.
    Retrying {
        /// The error message.
        why: String,
        /// The pause before the retry.
        #[serde(rename = "pause_ms", serialize_with = "millis")]
        pause: Duration,
    },
    /// The model finished a turn.
    TurnFinished {
        /// Number of the turn.
        turn: usize,
        /// Tokens used.
        usage: Usage,
        /// Number of tool calls in the turn.
        calls: usize,
    },
    /// A tool call starts.
    CallStarted {
        /// The id of the call.
        id: String,
        /// The tool's exposed name, or the name that the model wrote if the tool is unknown.
        tool: String,
        /// The tool's server; `None` for static tools and meta tools.
        server: Option<ServerName>,
    },
    /// A tool call finished.
    CallFinished {
        /// The id of the call.
        id: String,
        /// The tool's name, as in `CallStarted`.
        tool: String,
        /// The tool's server.
        server: Option<ServerName>,
        /// `ok` or an error code.
        outcome: String,
        /// The duration of the call.
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
