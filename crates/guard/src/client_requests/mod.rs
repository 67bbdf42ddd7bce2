//! What a server requests from the client that calls it, checked before a person or a model sees it.
//!
//! A server writes the text of these requests, and a client shows them as if Pegboard asked. So each names its
//! server first, hidden characters are escaped, lengths are bounded, and forms that ask for secrets are refused.
//! Both protocol eras pass [`check_client_request`]: requests of legacy servers, `input_required` results of modern
//! ones, and the elicitations in a `-32042` error.

mod elicitation;
mod form;
mod sampling;
mod secrets;

use pegboard_model::{ClientRequests, ServerName, UntrustedText};
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value};

pub(crate) const ELICITATION: &str = "elicitation/create";
const SAMPLING: &str = "sampling/createMessage";
const ROOTS: &str = "roots/list";

/// Why a request of a server is not passed on, for the server and the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// What is wrong with it and what the server can do; free of hidden characters.
    pub message: String,
}

impl Refusal {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
        }
    }
}

/// Checks a request of a server to its client. Returns the `params` that the client may get: attributed to the
/// server, escaped and bounded.
///
/// # Errors
///
/// Returns the reason when the method is switched off for this server or not one that servers may use, when the
/// request is malformed or too large, and when it asks for a secret by a form.
pub fn check_client_request(
    server: &ServerName,
    allowed: ClientRequests,
    method: &str,
    params: Option<&RawValue>,
) -> Result<Option<Box<RawValue>>, Refusal> {
    let switched_off = |what: &str| {
        Refusal::new(format!(
            "{what} is switched off for the server `{server}` in Pegboard's configuration"
        ))
    };
    let checked = match method {
        ELICITATION if !allowed.elicitation => return Err(switched_off("elicitation")),
        ELICITATION => elicitation::check(server, object(params)?)?,
        SAMPLING if !allowed.sampling => return Err(switched_off("sampling")),
        SAMPLING => sampling::check(server, object(params)?)?,
        // It carries no text, and the client shows none.
        ROOTS => return Ok(params.map(RawValue::to_owned)),
        _ => {
            let method = UntrustedText::new(method).shortened(60);
            return Err(Refusal::new(format!("clients are not asked `{method}`")));
        }
    };
    to_raw_value(&checked)
        .map(Some)
        .map_err(|error| Refusal::new(error.to_string()))
}

fn object(params: Option<&RawValue>) -> Result<Map<String, Value>, Refusal> {
    let Some(params) = params else {
        return Ok(Map::new());
    };
    serde_json::from_str(params.get())
        .map_err(|_| Refusal::new("the `params` of the request are not an object"))
}

#[cfg(test)]
mod tests;
