//! The answer to a request, whichever way it came.

use bytes::Bytes;
use hyper::{HeaderMap, StatusCode};

use crate::http::near;
use crate::http::open::Trouble;

/// An answer: its head is there, its body comes in pieces.
pub(crate) enum Response {
    /// From a server on this machine.
    Near(near::Answer),
    /// From anywhere else.
    Far(Box<reqwest::Response>),
}

impl Response {
    pub(crate) fn status(&self) -> StatusCode {
        match self {
            Self::Near(answer) => answer.head.status,
            Self::Far(response) => response.status(),
        }
    }

    pub(crate) fn headers(&self) -> &HeaderMap {
        match self {
            Self::Near(answer) => &answer.head.headers,
            Self::Far(response) => response.headers(),
        }
    }

    /// How long the body is, where the server says so.
    pub(crate) fn content_length(&self) -> Option<u64> {
        match self {
            Self::Near(answer) => answer.content_length(),
            Self::Far(response) => response.content_length(),
        }
    }

    /// The next piece of the body; `None` at its end.
    pub(crate) async fn chunk(&mut self) -> Result<Option<Bytes>, Trouble> {
        match self {
            Self::Near(answer) => answer.chunk().await,
            Self::Far(response) => response.chunk().await.map_err(Trouble::from),
        }
    }
}
