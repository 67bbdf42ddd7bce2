//! The behaviour of a server over HTTP.

use serde::{Deserialize, Serialize};

use super::Moment;

/// The behaviour of a server over HTTP.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct HttpScript {
    /// The faults.
    pub faults: Vec<HttpFault>,
    /// Responses are event streams instead of plain JSON.
    pub sse: bool,
    /// The legacy era issues and requires `Mcp-Session-Id`.
    pub session: bool,
    /// The session is lost (404) once, at the n-th request with it, counted from 1.
    pub lose_session_at: Option<u32>,
    /// Requests require `Authorization: Bearer` with this token; others get 401.
    pub bearer: Option<String>,
    /// Does not compare the modern headers with the body (by default a mismatch is 400 and -32020).
    pub lax_headers: bool,
}

/// An HTTP fault.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HttpFault {
    /// The requests concerned; `Start` means all of them.
    pub when: Moment,
    /// The kind of fault.
    pub kind: HttpFaultKind,
    /// The number of times; always if absent.
    #[serde(default)]
    pub times: Option<u32>,
}

/// Kinds of HTTP faults.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HttpFaultKind {
    /// An endless chunked JSON body.
    EndlessBody,
    /// An event stream whose first event never ends.
    EndlessEvent,
    /// An endless event stream of comments.
    EndlessComments,
    /// An event stream that ends in the middle of the response's event.
    CutEvent,
    /// A wrong `Content-Length`; the correct body follows, then the connection closes.
    ContentLength(u64),
    /// This status, with these headers and a short text as body.
    Status {
        /// The status code.
        code: u16,
        /// Further headers, such as `Retry-After`.
        headers: Vec<(String, String)>,
    },
    /// A redirect; `{port}` in the location is the server's own port. Only requests to `/mcp` are
    /// redirected, so that `/other` works and `/mcp` is a loop.
    Redirect {
        /// The status code.
        code: u16,
        /// The new location.
        location: String,
    },
    /// 200 with an HTML page.
    Html,
    /// 200 with an empty body.
    Empty,
    /// 200 with the response inside a JSON array.
    Batch,
    /// 200 with a connection that closes after this many bytes of the body.
    CutBody(usize),
    /// A body that is sent byte by byte with a pause.
    SlowBody {
        /// The pause in milliseconds.
        pause_ms: u64,
    },
    /// A connection that closes without a response.
    Drop,
}
