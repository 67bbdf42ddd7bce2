//! Extractors for bodies, queries and path parameters. Each error names its field.

use axum::extract::rejection::PathRejection;
use axum::extract::{FromRequest, FromRequestParts, Path, Request};
use axum::http::HeaderMap;
use axum::http::header::CONTENT_TYPE;
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};
use pegboard_gateway::http::{BodyError, read_body};
use pegboard_model::{Limits, Reason, ServerName, ToolError, UntrustedText};
use serde::de::DeserializeOwned;

use crate::error::{ApiError, ApiResult};
use crate::state::WebState;

/// Largest body of an API request: a server's definition, or a call's arguments with a file in them.
const BODY_BYTES: usize = 1024 * 1024;

/// A JSON body.
pub(crate) struct Json<T>(pub(crate) T);

/// An optional JSON body.
pub(crate) struct OptionalJson<T>(pub(crate) T);

impl<T: DeserializeOwned> FromRequest<WebState> for Json<T> {
    type Rejection = Response;

    async fn from_request(request: Request, state: &WebState) -> Result<Self, Response> {
        let read = read(request, state.limits()).await;
        let parsed = read.and_then(|(headers, bytes)| {
            declared_as_json(&headers)?;
            parse(&bytes)
        });
        parsed.map(Self).map_err(IntoResponse::into_response)
    }
}

impl<T: DeserializeOwned + Default> FromRequest<WebState> for OptionalJson<T> {
    type Rejection = Response;

    async fn from_request(request: Request, state: &WebState) -> Result<Self, Response> {
        let read = read(request, state.limits()).await;
        let parsed = read.and_then(|(headers, bytes)| {
            if bytes.is_empty() {
                return Ok(T::default());
            }
            declared_as_json(&headers)?;
            parse(&bytes)
        });
        parsed.map(Self).map_err(IntoResponse::into_response)
    }
}

async fn read(request: Request, limits: &Limits) -> ApiResult<(HeaderMap, bytes::Bytes)> {
    let (parts, body) = request.into_parts();
    let limits = Limits {
        request_bytes: limits.request_bytes.min(BODY_BYTES),
        ..limits.clone()
    };
    match read_body(&parts.headers, body, &limits).await {
        Ok(bytes) => Ok((parts.headers, bytes)),
        Err(BodyError::TooLarge(most)) => {
            let message = format!("the body is larger than {most} bytes");
            Err(ApiError::new(Reason::RequestTooLarge, message))
        }
        Err(BodyError::Incomplete) => {
            let message = "the body ended too early";
            Err(ApiError::new(Reason::RequestInvalid, message))
        }
        Err(BodyError::TimedOut) => Err(ApiError::of(Reason::RequestLate)),
        Err(BodyError::OverBudget(_)) => Err(ApiError::of(Reason::Overloaded)),
    }
}

fn declared_as_json(headers: &HeaderMap) -> ApiResult<()> {
    let kind = headers
        .get(CONTENT_TYPE)
        .and_then(|kind| kind.to_str().ok());
    let kind = kind
        .unwrap_or_default()
        .split(';')
        .next()
        .unwrap_or_default();
    match kind.trim().eq_ignore_ascii_case("application/json") {
        true => Ok(()),
        false => Err(ApiError::of(Reason::MediaTypeRefused)),
    }
}

fn parse<T: DeserializeOwned>(bytes: &[u8]) -> ApiResult<T> {
    // The parser limits the nesting to 128 levels.
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    let parsed = serde_path_to_error::deserialize(&mut reader);
    let value = parsed.map_err(|error| {
        // Invalid JSON has no field, and unknown parts of the path are written as `?`.
        let path = match error.inner().is_data() {
            true => error.path().to_string(),
            false => String::new(),
        };
        let path = path.trim_matches(['.', '?']);
        parse_error("body", path, &error.inner().to_string())
    })?;
    reader
        .end()
        .map_err(|error| parse_error("body", "", &error.to_string()))?;
    Ok(value)
}

/// A parser's message about a part of the request as an error, with the field that caused it.
fn parse_error(part: &str, path: &str, parser_message: &str) -> ApiError {
    let message = format!(
        "invalid {part}: {}",
        UntrustedText::new(parser_message).shortened(300)
    );
    let missing = ["missing field `", "unknown field `"]
        .iter()
        .find_map(|start| parser_message.strip_prefix(start)?.split('`').next());
    let field = match (path, missing) {
        ("", Some(name)) => name.to_owned(),
        (path, Some(name)) if !path.ends_with(name) => format!("{path}.{name}"),
        (path, _) => path.to_owned(),
    };
    match field.is_empty() {
        true => ApiError::new(Reason::RequestInvalid, message),
        false => ApiError::at_field(&field, message),
    }
}

/// The query parameters.
pub(crate) struct Query<T>(pub(crate) T);

impl<T: DeserializeOwned> FromRequestParts<WebState> for Query<T> {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, _: &WebState) -> Result<Self, Response> {
        match axum::extract::Query::<T>::try_from_uri(&parts.uri) {
            Ok(query) => Ok(Self(query.0)),
            Err(rejection) => {
                let text = rejection.body_text();
                let message = text
                    .rsplit_once("string: ")
                    .map_or(&*text, |(_, rest)| rest);
                // An invalid value is reported as `field: reason`.
                let error = match message.split_once(": ") {
                    Some((field, why)) if is_word(field) => ApiError::at_field(
                        field,
                        format!(
                            "invalid value of `{field}`: {}",
                            UntrustedText::new(why).shortened(200)
                        ),
                    ),
                    _ => parse_error("query", "", message),
                };
                Err(error.into_response())
            }
        }
    }
}

fn is_word(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

/// A parameter in the path.
pub(crate) struct PathParam(pub(crate) String);

impl FromRequestParts<WebState> for PathParam {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, state: &WebState) -> Result<Self, Response> {
        let path: Result<Path<String>, PathRejection> =
            Path::from_request_parts(parts, state).await;
        match path {
            Ok(Path(name)) => Ok(Self(name)),
            Err(_) => {
                let message = "the path is not valid UTF-8";
                Err(ApiError::new(Reason::RequestInvalid, message).into_response())
            }
        }
    }
}

/// The name of a configured server in the path; invalid names are reported as unknown servers.
pub(crate) struct PathServer(pub(crate) ServerName);

impl FromRequestParts<WebState> for PathServer {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, state: &WebState) -> Result<Self, Response> {
        let PathParam(name) = PathParam::from_request_parts(parts, state).await?;
        let catalog = state.hub().catalog();
        match ServerName::parse(&name) {
            Ok(name) if catalog.server(&name).is_some() => Ok(Self(name)),
            _ => Err(unknown_server(&name).into_response()),
        }
    }
}

/// The error for a server that is not configured.
pub(crate) fn unknown_server(name: &str) -> ApiError {
    let message = format!(
        "no server `{}` is configured",
        UntrustedText::new(name).shortened(40)
    );
    let error = ToolError::new(Reason::ServerUnknown, message);
    error
        .with_remedy("See the names with `GET /api/v1/servers`.")
        .into()
}
