//! The interface between the protocol and a transport.

use std::fmt::Write;
use std::future::Future;
use std::sync::Arc;

use pegboard_jsonrpc::{RpcResponse, push_quoted, push_single_line};
use pegboard_model::ToolResult;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::contract::{Caller, Handshake, InputResponses};
use crate::dialect::{Dialect, RequestMeta};
use crate::response_timer::CallActivity;

/// How large a response may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ResponseSize {
    /// A handshake or a page of a list.
    Frame,
    /// The result of a call.
    Result,
}

/// The members of `params` other than `_meta`.
#[derive(Clone, Copy)]
pub(crate) enum Body<'a> {
    /// Members, without the braces.
    Members(&'a str),
    /// The members of `tools/call`.
    Call {
        tool: &'a str,
        arguments: &'a RawValue,
    },
}

/// The client that makes a request, and the activity timer that progress renews.
#[derive(Clone, Copy)]
pub(crate) struct CallOrigin<'a> {
    pub(crate) caller: &'a Arc<dyn Caller>,
    pub(crate) activity: &'a Arc<CallActivity>,
}

/// A request before serialization.
#[derive(Clone, Copy)]
pub(crate) struct RpcRequest<'a> {
    pub(crate) dialect: &'a Dialect,
    pub(crate) method: &'a str,
    pub(crate) body: Body<'a>,
    pub(crate) meta: Option<&'a Map<String, Value>>,
    pub(crate) input: Option<&'a InputResponses>,
    /// The subject of the request, which some transports repeat in a header.
    pub(crate) name: Option<&'a str>,
    /// Arguments that some transports repeat in headers.
    pub(crate) headers: &'a [(String, String)],
    pub(crate) size: ResponseSize,
    pub(crate) origin: Option<CallOrigin<'a>>,
}

/// Capacity for the fixed part of a frame and a few members of `_meta`.
const FRAME_BYTES: usize = 512;

impl<'a> RpcRequest<'a> {
    /// Creates a request of our own, without a client.
    pub(crate) fn own(dialect: &'a Dialect, method: &'a str, members: &'a str) -> Self {
        Self {
            dialect,
            method,
            body: Body::Members(members),
            meta: None,
            input: None,
            name: None,
            headers: &[],
            size: ResponseSize::Frame,
            origin: None,
        }
    }

    /// Serializes the request, without a line end. Written in one pass, because arguments may be large.
    pub(crate) fn frame(&self, id: u64) -> String {
        let mut frame = String::with_capacity(FRAME_BYTES + self.body_bytes());
        let _ = write!(
            frame,
            r#"{{"jsonrpc":"2.0","id":{id},"method":"{}","params":{{"#,
            self.method
        );
        match self.body {
            Body::Members(members) => push_single_line(&mut frame, members),
            Body::Call { tool, arguments } => {
                frame.push_str(r#""name":"#);
                push_quoted(&mut frame, tool);
                frame.push_str(r#","arguments":"#);
                push_single_line(&mut frame, arguments.get());
            }
        }
        if let Some(input) = self.input {
            if !frame.ends_with('{') {
                frame.push(',');
            }
            frame.push_str(r#""inputResponses":"#);
            push_single_line(&mut frame, input.responses.get());
            if let Some(state) = &input.state {
                frame.push_str(r#","requestState":"#);
                push_single_line(&mut frame, state.get());
            }
        }
        let caller = self.origin.map(|origin| origin.caller);
        let extras = RequestMeta {
            more: self.meta,
            capabilities: caller.map(|caller| caller.capabilities().as_str()),
            progress: caller
                .is_some_and(|caller| caller.wants_progress())
                .then_some(id),
        };
        self.dialect.push_meta(&mut frame, extras);
        frame.push_str("}}");
        frame
    }

    fn body_bytes(&self) -> usize {
        let body = match self.body {
            Body::Members(members) => members.len(),
            Body::Call { tool, arguments } => tool.len() + arguments.get().len(),
        };
        let input = self.input.map_or(0, |input| {
            input.responses.get().len() + input.state.as_ref().map_or(0, |state| state.get().len())
        });
        body + input
    }
}

/// Sends requests to one server.
pub(crate) trait RpcTransport: Send + Sync {
    /// Sends a request and waits for its response, without a timeout.
    fn send(&self, request: RpcRequest<'_>)
    -> impl Future<Output = ToolResult<RpcResponse>> + Send;

    /// Waits until a call of this client can be sent: on a transport that all clients share, the first one settles the
    /// server's roots.
    fn prepare(&self, _behind: CallOrigin<'_>) -> impl Future<Output = ()> + Send {
        std::future::ready(())
    }

    /// Detects the era again on the same connection.
    fn detect_era(&self) -> impl Future<Output = ToolResult<Handshake>> + Send;

    /// Changes when the server loses its state, that is, with each new session.
    fn generation(&self) -> u64;

    /// Returns the newest part of the server's stderr, if it has one.
    fn stderr(&self) -> String;
}

#[cfg(test)]
mod tests {
    use super::*;
    use pegboard_jsonrpc::revision;

    #[test]
    fn r_gate_03_answers_to_questions_go_back_unchanged() {
        let raw = |text: &str| RawValue::from_string(text.to_owned()).unwrap();
        let dialect = Dialect::legacy(revision::LATEST_LEGACY);
        let arguments = raw("{\n\"a\":1.50}");
        let input = InputResponses {
            responses: raw(r#"{"q":{"action":"accept"}}"#),
            state: Some(raw(r#""opaque""#)),
        };
        let mut ask = RpcRequest {
            body: Body::Call {
                tool: "t",
                arguments: &arguments,
            },
            input: Some(&input),
            ..RpcRequest::own(&dialect, "tools/call", "")
        };
        assert_eq!(
            ask.frame(4),
            r#"{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"t","arguments":{ "a":1.50},"inputResponses":{"q":{"action":"accept"}},"requestState":"opaque"}}"#
        );
        ask.body = Body::Members("");
        assert!(
            ask.frame(5).contains(r#""params":{"inputResponses":"#),
            "{}",
            ask.frame(5)
        );
    }
}
