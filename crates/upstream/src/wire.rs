//! What a conversation needs of a transport.

use std::future::Future;

use pegboard_model::ToolResult;
use serde_json::{Map, Value};

use crate::contract::Handshake;
use crate::dialect::Dialect;
use crate::envelope::Answer;

/// How large an answer may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Size {
    /// A handshake or a page of a list.
    Frame,
    /// The result of a call.
    Result,
}

/// A request, before it is written.
pub(crate) struct Ask<'a> {
    pub(crate) dialect: &'a Dialect,
    pub(crate) method: &'a str,
    /// The members of `params`, without the braces.
    pub(crate) members: &'a str,
    pub(crate) meta: Option<&'a Map<String, Value>>,
    /// The name that the request is about, which some transports repeat outside the body.
    pub(crate) name: Option<&'a str>,
    pub(crate) size: Size,
}

impl Ask<'_> {
    pub(crate) fn params(&self) -> String {
        self.dialect.params(self.members, self.meta)
    }
}

/// Carries requests to one server.
pub(crate) trait Wire: Send + Sync {
    /// Sends a request and waits for its answer, however long it takes.
    fn ask(&self, ask: Ask<'_>) -> impl Future<Output = ToolResult<Answer>> + Send;

    /// Finds out anew how the server speaks, on the same connection.
    fn learn(&self) -> impl Future<Output = ToolResult<Handshake>> + Send;

    /// The newest part of the server's stderr, if it has one.
    fn stderr(&self) -> String;
}
