//! Checks of request headers.

use axum::http::header::{HOST, ORIGIN};
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use crate::fixtures::HEADER_TOOL;
use crate::http::reply;
use crate::message::{HEADER_MISMATCH, RpcError};
use crate::modern::VERSION_KEY;

pub(crate) const VERSION: &str = "mcp-protocol-version";
pub(crate) const SESSION: &str = "mcp-session-id";

/// The trimmed value of a header.
pub(crate) fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name)?.to_str().ok().map(str::trim)
}

pub(crate) fn session(headers: &HeaderMap) -> Option<&str> {
    text(headers, SESSION)
}

/// Refuses requests of web pages under a foreign name.
pub(crate) fn check_origin(headers: &HeaderMap) -> Result<(), Response> {
    let host = text(headers, HOST.as_str()).is_none_or(is_local);
    let origin = text(headers, ORIGIN.as_str()).is_none_or(|origin| {
        origin
            .split_once("://")
            .is_some_and(|(_, authority)| is_local(authority))
    });
    if host && origin {
        return Ok(());
    }
    let rpc_error = RpcError::new(-32600, "only local requests are allowed");
    Err(reply::refused(
        StatusCode::FORBIDDEN,
        &Value::Null,
        rpc_error,
    ))
}

fn is_local(authority: &str) -> bool {
    let host = authority
        .rsplit_once(':')
        .filter(|(_, port)| port.bytes().all(|byte| byte.is_ascii_digit()))
        .map_or(authority, |(host, _)| host);
    matches!(host, "localhost" | "127.0.0.1" | "[::1]")
}

/// Checks that the headers of a modern request match its body.
pub(crate) fn check_modern(headers: &HeaderMap, message: &Value) -> Result<(), RpcError> {
    let (method, params) = (message["method"].as_str(), &message["params"]);
    same("MCP-Protocol-Version", text(headers, VERSION), {
        // A body without a version is reported separately.
        let in_body = params["_meta"][VERSION_KEY].as_str();
        in_body.or(text(headers, VERSION))
    })?;
    same("Mcp-Method", text(headers, "mcp-method"), method)?;
    let name = match method {
        Some("tools/call" | "prompts/get") => params["name"].as_str(),
        Some("resources/read") => params["uri"].as_str(),
        _ => return Ok(()),
    };
    same("Mcp-Name", text(headers, "mcp-name"), name)?;
    let (tool, parameter, header) = HEADER_TOOL;
    if method == Some("tools/call") && name == Some(tool) {
        let given = text(headers, &format!("mcp-param-{}", header.to_lowercase()));
        let given = given.map(decoded).transpose()?;
        let in_body = params["arguments"][parameter].as_str();
        same(&format!("Mcp-Param-{header}"), given.as_deref(), in_body)?;
    }
    Ok(())
}

fn same(header: &str, given: Option<&str>, in_body: Option<&str>) -> Result<(), RpcError> {
    if given == in_body && (given.is_some() || header.starts_with("Mcp-Param")) {
        return Ok(());
    }
    Err(RpcError::new(
        HEADER_MISMATCH,
        format!("header `{header}` does not match the body"),
    ))
}

/// Decodes the value of a parameter's header, which may be `=?base64?…?=`.
fn decoded(value: &str) -> Result<String, RpcError> {
    let Some(encoded) = value
        .strip_prefix("=?base64?")
        .and_then(|rest| rest.strip_suffix("?="))
    else {
        return Ok(value.to_owned());
    };
    let bytes = STANDARD.decode(encoded).ok();
    bytes
        .and_then(|bytes| String::from_utf8(bytes).ok())
        .ok_or_else(|| RpcError::new(HEADER_MISMATCH, "a parameter's header is not valid base64"))
}
