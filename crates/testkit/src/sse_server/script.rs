//! What the server does differently.

/// The script of a server of the old transport. The default behaves as the SDKs' servers do.
#[derive(Clone, Debug, Default)]
pub struct SseScript {
    /// The fault.
    pub fault: SseFault,
    /// The answer to a POST at the URL of the stream, by which the transport is detected.
    pub post: SsePost,
    /// Lines end with CRLF, as in Python.
    pub crlf: bool,
    /// Comments, empty events and events of other names come between the messages, and a message has several lines.
    pub chatty: bool,
    /// A message is acknowledged only when its call is complete.
    pub late_acknowledgement: bool,
    /// The token that requests must carry.
    pub token: Option<String>,
}

/// A fault of the server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum SseFault {
    /// None.
    #[default]
    None,
    /// The stream is refused with this status.
    StreamStatus(u16),
    /// The stream redirects to this URL.
    StreamRedirect(String),
    /// A page in place of the stream.
    NotAStream,
    /// The stream never sends an endpoint, only comments.
    NoEndpoint,
    /// The stream ends before the endpoint.
    EndsAtOnce,
    /// Many events come before the endpoint.
    LateEndpoint,
    /// This endpoint in place of the real one.
    Endpoint(String),
    /// The endpoint is sent twice, the same.
    SameEndpointTwice,
    /// Another endpoint follows after the handshake.
    OtherEndpointLater,
    /// An event without end follows the endpoint.
    EndlessEvent,
    /// The answer to a call is an event larger than this.
    LargeAnswer(usize),
    /// The answer to a call is not valid JSON.
    DamagedAnswer,
    /// The stream ends in the middle of a call, this many times.
    DropsAtCall(usize),
    /// A call is refused with this status.
    CallStatus(u16),
    /// A call is never answered.
    SilentAtCall,
    /// The answer to `initialize` never comes.
    SilentAtInitialize,
}

/// The answer to a POST at the URL of the stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SsePost {
    /// 405, as the Python SDK's server answers.
    #[default]
    MethodNotAllowed,
    /// 404, as the TypeScript SDK's server answers.
    NotFound,
    /// 400 with a JSON-RPC error of the legacy era.
    BadRequest,
    /// A stream that begins with `endpoint`, as some frameworks answer every method.
    Stream,
    /// 410, as vendors answer who removed the transport.
    Gone,
}
