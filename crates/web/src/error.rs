//! The error response, and the HTTP status of each error code.

use axum::http::header::CACHE_CONTROL;
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use pegboard_model::{ErrorClass, Reason, ToolError, UntrustedText};
use serde::Serialize;
use utoipa::ToSchema;

/// Why a request failed.
#[derive(Clone, Debug)]
pub(crate) struct ApiError {
    status: StatusCode,
    error: Box<ToolError>,
}

/// The body of every failed request.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Error)]
pub(crate) struct ErrorBody {
    error: ErrorDetail,
}

/// What went wrong, and the next step.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ErrorDetail {
    /// The code, from the table of error codes.
    #[schema(example = "SERVER_UNKNOWN")]
    code: &'static str,
    /// What happened.
    message: String,
    /// The next step.
    remedy: String,
    /// Whether the same request may succeed later without changes.
    retryable: bool,
    /// The field of the request that caused the error.
    #[serde(skip_serializing_if = "Option::is_none")]
    field: Option<String>,
    /// The server that is concerned.
    #[serde(skip_serializing_if = "Option::is_none")]
    server: Option<String>,
    /// The tool that is concerned.
    #[serde(skip_serializing_if = "Option::is_none")]
    tool: Option<String>,
    /// Similar names that exist.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    nearest: Vec<String>,
}

/// The result of a handler.
pub(crate) type ApiResult<T> = Result<T, ApiError>;

impl ApiError {
    /// An error with the title of its code as message.
    pub(crate) fn of(reason: Reason) -> Self {
        ToolError::new(reason, reason.title()).into()
    }

    /// An error with its own message.
    pub(crate) fn new(reason: Reason, message: impl Into<String>) -> Self {
        ToolError::new(reason, message).into()
    }

    /// An invalid request, with the field that is wrong.
    pub(crate) fn at_field(field: &str, message: impl Into<String>) -> Self {
        let error = ToolError::new(Reason::RequestInvalid, message);
        error
            .at_field(UntrustedText::new(field).shortened(80).to_string())
            .into()
    }

    /// Replaces the next step.
    pub(crate) fn with_remedy(mut self, remedy: impl Into<String>) -> Self {
        self.error.remedy = remedy.into();
        self
    }

    pub(crate) fn body(&self) -> ErrorBody {
        let error = &*self.error;
        ErrorBody {
            error: ErrorDetail {
                code: error.reason.code(),
                message: error.message.clone(),
                remedy: error.remedy.clone(),
                retryable: error.retryable,
                field: error.field.clone(),
                server: error.server.as_ref().map(ToString::to_string),
                tool: error.tool.clone(),
                nearest: error.nearest.clone(),
            },
        }
    }
}

impl From<ToolError> for ApiError {
    fn from(error: ToolError) -> Self {
        Self {
            status: status_of(&error),
            error: Box::new(error),
        }
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let mut response = crate::response::json(self.status, &self.body());
        let never = HeaderValue::from_static("no-store");
        response.headers_mut().insert(CACHE_CONTROL, never);
        response
    }
}

fn status_of(error: &ToolError) -> StatusCode {
    match error.reason {
        Reason::TokenWrong | Reason::LoginExpired => StatusCode::UNAUTHORIZED,
        Reason::ServerUnknown
        | Reason::ToolUnknown
        | Reason::ToolDisabled
        | Reason::PromptUnknown
        | Reason::ResourceUnknown
        | Reason::ApprovalUnknown
        | Reason::ProfileUnknown
        | Reason::ProjectUnknown
        | Reason::ClientUnknown
        | Reason::SessionUnknown
        | Reason::InstanceUnknown
        | Reason::RuleUnknown
        | Reason::GrantUnknown
        | Reason::PathUnknown => StatusCode::NOT_FOUND,
        Reason::ConfigDuplicate
        | Reason::LoginUnsupported
        | Reason::PlanChanged
        | Reason::ToolChanged => StatusCode::CONFLICT,
        Reason::MethodRefused => StatusCode::METHOD_NOT_ALLOWED,
        Reason::RequestTooLarge => StatusCode::PAYLOAD_TOO_LARGE,
        Reason::RequestLate => StatusCode::REQUEST_TIMEOUT,
        Reason::MediaTypeRefused => StatusCode::UNSUPPORTED_MEDIA_TYPE,
        Reason::CallTimeout | Reason::ConnectTimeout | Reason::DiscoveryTimeout => {
            StatusCode::GATEWAY_TIMEOUT
        }
        Reason::Overloaded | Reason::StoreIo | Reason::Cancelled => StatusCode::SERVICE_UNAVAILABLE,
        _ => match error.code {
            ErrorClass::InvalidInput => StatusCode::BAD_REQUEST,
            ErrorClass::Denied => StatusCode::FORBIDDEN,
            // The upstream server failed, not Pegboard.
            ErrorClass::Unavailable => StatusCode::BAD_GATEWAY,
            ErrorClass::NotImplemented => StatusCode::NOT_IMPLEMENTED,
            _ => match error.reason {
                Reason::ServerError | Reason::ToolFailed => StatusCode::BAD_GATEWAY,
                _ => StatusCode::INTERNAL_SERVER_ERROR,
            },
        },
    }
}
