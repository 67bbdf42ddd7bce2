//! Validation of requests that a server sends to the calling client, before a person or a model sees them.
//!
//! The server writes the text of these requests, and the client shows them as if they came from Pegboard. So each one
//! is attributed to its server, hidden characters are escaped, lengths are bounded, and forms that ask for secrets are
//! refused. Both protocol eras use [`check_client_request`]: for requests of legacy servers, `input_required` results
//! of modern ones, and the elicitations in a `-32042` error.

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

/// Why a request of a server is not forwarded, for the server and the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// What is wrong and what the server can do. Contains no hidden characters.
    pub message: String,
}

impl Refusal {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
        }
    }
}

/// Checks a request from a server to the client. Returns the `params` to forward: attributed to the server, escaped and
/// bounded.
///
/// # Errors
///
/// Returns the reason if the method is disabled for this server or not allowed for servers, if the request is malformed
/// or too large, or if a form asks for a secret.
pub fn check_client_request(
    server: &ServerName,
    allowed: ClientRequests,
    method: &str,
    params: Option<&RawValue>,
) -> Result<Option<Box<RawValue>>, Refusal> {
    let disabled = |what: &str| {
        Refusal::new(format!(
            "{what} is disabled for the server `{server}` in Pegboard's configuration"
        ))
    };
    let checked = match method {
        ELICITATION if !allowed.elicitation => return Err(disabled("elicitation")),
        ELICITATION => elicitation::check(server, object(params)?)?,
        SAMPLING if !allowed.sampling => return Err(disabled("sampling")),
        SAMPLING => sampling::check(server, object(params)?)?,
        // It contains no text that the client could show.
        ROOTS => return Ok(params.map(RawValue::to_owned)),
        _ => {
            let method = UntrustedText::new(method).shortened(60);
            return Err(Refusal::new(format!(
                "servers may not send `{method}` to clients"
            )));
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
