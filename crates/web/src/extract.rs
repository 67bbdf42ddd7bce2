//! What a request brings: a JSON body, a query, names in the path; each fault names its field.

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

/// What a request to the API may hold at the most; a server's definition or a call's arguments with a file in them.
const BODY_BYTES: usize = 1024 * 1024;

/// A JSON body.
pub(crate) struct Json<T>(pub(crate) T);

/// A JSON body that may be left out.
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
    // The parser itself refuses what is nested deeper than 128 levels.
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    let parsed = serde_path_to_error::deserialize(&mut reader);
    let value = parsed.map_err(|error| {
        // Text that is not JSON has no fields, and a part of the path that is not known is written as `?`.
        let path = match error.inner().is_data() {
            true => error.path().to_string(),
            false => String::new(),
        };
        let path = path.trim_matches(['.', '?']);
        fault(path, &error.inner().to_string())
    })?;
    reader
        .end()
        .map_err(|error| fault("", &error.to_string()))?;
    Ok(value)
}

/// What the parser said, with the field that it is about.
fn fault(path: &str, said: &str) -> ApiError {
    let message = format!(
        "the body is not as it should be: {}",
        UntrustedText::new(said).shortened(300)
    );
    let missing = ["missing field `", "unknown field `"]
        .iter()
        .find_map(|start| said.strip_prefix(start)?.split('`').next());
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

/// The query of an address.
pub(crate) struct Query<T>(pub(crate) T);

impl<T: DeserializeOwned> FromRequestParts<WebState> for Query<T> {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, _: &WebState) -> Result<Self, Response> {
        match axum::extract::Query::<T>::try_from_uri(&parts.uri) {
            Ok(query) => Ok(Self(query.0)),
            Err(rejection) => {
                let said = rejection.body_text();
                let said = said
                    .rsplit_once("string: ")
                    .map_or(&*said, |(_, rest)| rest);
                // A wrong value is told as `field: why`.
                let fault = match said.split_once(": ") {
                    Some((field, why)) if is_word(field) => ApiError::at_field(
                        field,
                        format!(
                            "`{field}` is not as it should be: {}",
                            UntrustedText::new(why).shortened(200)
                        ),
                    ),
                    _ => fault("", said),
                };
                Err(fault.into_response())
            }
        }
    }
}

fn is_word(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

/// A name in the path.
pub(crate) struct PathParam(pub(crate) String);

impl FromRequestParts<WebState> for PathParam {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, state: &WebState) -> Result<Self, Response> {
        let path: Result<Path<String>, PathRejection> =
            Path::from_request_parts(parts, state).await;
        match path {
            Ok(Path(name)) => Ok(Self(name)),
            Err(_) => {
                let message = "the path holds a name that is no text";
                Err(ApiError::new(Reason::RequestInvalid, message).into_response())
            }
        }
    }
}

/// The name of a server in the path. One that no server can have is as unknown as one that none has.
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

/// There is no such server.
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
