//! A response from either kind of connection.

use bytes::Bytes;
use hyper::{HeaderMap, StatusCode};

use crate::http::client::ConnectionError;
use crate::http::loopback_pool;

/// A response whose head has arrived and whose body is read in chunks.
pub(crate) enum Response {
    /// From a server on this machine.
    Loopback(loopback_pool::LoopbackResponse),
    /// From any other server.
    Remote(Box<reqwest::Response>),
}

impl Response {
    pub(crate) fn status(&self) -> StatusCode {
        match self {
            Self::Loopback(answer) => answer.head.status,
            Self::Remote(response) => response.status(),
        }
    }

    pub(crate) fn headers(&self) -> &HeaderMap {
        match self {
            Self::Loopback(answer) => &answer.head.headers,
            Self::Remote(response) => response.headers(),
        }
    }

    /// Returns the length of the body, if the server announced it.
    pub(crate) fn content_length(&self) -> Option<u64> {
        match self {
            Self::Loopback(answer) => answer.content_length(),
            Self::Remote(response) => response.content_length(),
        }
    }

    /// Returns the next chunk of the body; `None` at its end.
    pub(crate) async fn chunk(&mut self) -> Result<Option<Bytes>, ConnectionError> {
        match self {
            Self::Loopback(answer) => answer.chunk().await,
            Self::Remote(response) => response.chunk().await.map_err(ConnectionError::from),
        }
    }
}
