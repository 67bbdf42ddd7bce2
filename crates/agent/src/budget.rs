//! How much one run may use.

use std::fmt;
use std::time::Duration;

use pegboard_model::{Reason, ToolError};

/// The limits of one run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// How often the model is asked.
    pub turns: usize,
    /// How many calls it may make.
    pub calls: usize,
    /// Tokens read and written, all turns together.
    pub tokens: u64,
    /// How long it may take, with people's thinking.
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
    /// The model was asked so often.
    Turns(usize),
    /// It made so many calls.
    Calls(usize),
    /// It read and wrote so many tokens.
    Tokens(u64),
    /// It took so long.
    Time(Duration),
}

impl fmt::Display for BudgetExceeded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Turns(turns) => write!(f, "{turns} turns of the model"),
            Self::Calls(calls) => write!(f, "{calls} calls of tools"),
            Self::Tokens(tokens) => write!(f, "{tokens} tokens"),
            Self::Time(time) => write!(f, "{time:?}"),
        }
    }
}

impl From<BudgetExceeded> for ToolError {
    fn from(spent: BudgetExceeded) -> Self {
        let message = format!("the limit of {spent} is reached without an answer");
        Self::new(Reason::BudgetSpent, message)
    }
}
