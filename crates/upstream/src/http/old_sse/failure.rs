//! Why a connection was not opened.

use pegboard_model::{HttpWire, Reason, ToolError};

/// Why a connection was not opened.
pub(crate) enum OpenFailure {
    /// The URL has no event stream.
    NotOffered(ToolError),
    /// It has one, but not with the event `endpoint`, or one that is not used.
    NoEndpoint(ToolError),
    /// It has one, or wants a login first, but the connection failed.
    Failed(ToolError),
}

impl OpenFailure {
    /// Returns whether the server may speak another transport than before.
    pub(crate) fn may_be_other_transport(&self) -> bool {
        !matches!(self, Self::Failed(_))
    }

    /// Returns the error for the user.
    pub(crate) fn into_error(self, wire: HttpWire) -> ToolError {
        match self {
            Self::Failed(error) | Self::NoEndpoint(error) => error,
            Self::NotOffered(error) if wire == HttpWire::Sse => error.with_remedy(
                "Check the `url`, or remove `type = \"sse\"`, so that the transport is detected.",
            ),
            Self::NotOffered(error) => error,
        }
    }
}

/// The status with which vendors answer at the URL of a transport that they removed.
const GONE: u16 = 410;

/// Adds to an error that the server has another URL by now.
pub(crate) fn explain_gone(error: ToolError, status: u16) -> ToolError {
    if status != GONE || error.reason != Reason::HttpStatus {
        return error;
    }
    error.with_remedy(
        "The server's operator removed this URL. Use the URL for Streamable HTTP, which usually ends in `/mcp`.",
    )
}
