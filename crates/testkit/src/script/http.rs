//! How a server behaves over HTTP.

use serde::{Deserialize, Serialize};

use super::Moment;

/// How a server behaves over HTTP.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct HttpScript {
    /// What goes wrong.
    pub faults: Vec<HttpFault>,
    /// Answers are event streams in place of plain JSON.
    pub sse: bool,
    /// The legacy side gives out `Mcp-Session-Id` and wants it back.
    pub session: bool,
    /// The session is forgotten (404) once, at the n-th request that carries it, from 1.
    pub lose_session_at: Option<u32>,
    /// Requests need `Authorization: Bearer` with this token; others get 401.
    pub bearer: Option<String>,
    /// The modern headers are not checked against the body (they are by default: 400 and -32020).
    pub lax_headers: bool,
}

/// Something that goes wrong over HTTP.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HttpFault {
    /// With which requests; `Start` means all of them.
    pub when: Moment,
    /// What.
    pub kind: HttpFaultKind,
    /// How often; always when absent.
    #[serde(default)]
    pub times: Option<u32>,
}

/// Kinds of trouble over HTTP.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HttpFaultKind {
    /// A chunked JSON body without end.
    EndlessBody,
    /// An event stream whose first event never ends.
    EndlessEvent,
    /// An event stream of comments without end.
    EndlessComments,
    /// An event stream that ends before the answer's event is complete.
    CutEvent,
    /// `Content-Length` says so many bytes; the right body follows, then the connection closes.
    ContentLength(u64),
    /// This status, with these headers and a short text as body.
    Status {
        /// The status code.
        code: u16,
        /// More headers, as `Retry-After`.
        headers: Vec<(String, String)>,
    },
    /// A redirect to this place; `{port}` in it is the server's own port. Only requests to the path
    /// `/mcp` are redirected, so that `/other` is a place that works and `/mcp` is a loop.
    Redirect {
        /// The status code.
        code: u16,
        /// The new place.
        location: String,
    },
    /// 200 with an HTML page.
    Html,
    /// 200 with an empty body.
    Empty,
    /// 200 with the answer inside a JSON array.
    Batch,
    /// 200 with a body that is cut off after so many bytes by closing the connection.
    CutBody(usize),
    /// The body comes byte by byte with this pause between two.
    SlowBody {
        /// The pause in milliseconds.
        pause_ms: u64,
    },
    /// The connection closes without an answer.
    Drop,
}
