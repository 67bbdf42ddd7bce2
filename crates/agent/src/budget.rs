//! The limits of one run.

use std::fmt;
use std::time::Duration;

use pegboard_model::{Reason, ToolError};

/// The limits of one run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// Turns of the model.
    pub turns: usize,
    /// Tool calls.
    pub calls: usize,
    /// Tokens read and written, in all turns.
    pub tokens: u64,
    /// Duration, including the time that people need for approvals.
    pub time: Duration,
}

impl Default for Budget {
    fn default() -> Self {
        Self {
            turns: 40,
            calls: 200,
            tokens: 2_000_000,
            time: Duration::from_secs(30 * 60),
        }
    }
}

/// The limit that was reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BudgetExceeded {
    /// The number of turns.
    Turns(usize),
    /// The number of tool calls.
    Calls(usize),
    /// The number of tokens.
    Tokens(u64),
    /// The duration.
    Time(Duration),
}

impl fmt::Display for BudgetExceeded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Turns(turns) => write!(f, "{turns} turns"),
            Self::Calls(calls) => write!(f, "{calls} tool calls"),
            Self::Tokens(tokens) => write!(f, "{tokens} tokens"),
            Self::Time(time) => write!(f, "{} s", time.as_secs()),
        }
    }
}

impl From<BudgetExceeded> for ToolError {
    fn from(exceeded: BudgetExceeded) -> Self {
        let message = format!("the limit of {exceeded} was reached before the model had an answer");
        Self::new(Reason::BudgetSpent, message)
    }
}
