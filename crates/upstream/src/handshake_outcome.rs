//! What handshake responses prove about a server, independent of the transport.

use pegboard_jsonrpc::{RpcError, RpcResponse, code, revision};
use pegboard_model::{Limits, Reason, ToolError};

use crate::contract::Handshake;
use crate::errors::ErrorContext;
use crate::handshake::{
    ParsedHandshake, assumed_handshake, common_version, is_modern, offered_versions,
    parse_discover, parse_initialize,
};

/// How many of a server's revisions an error lists.
const VERSIONS_SHOWN: usize = 5;

/// What the response to `server/discover` proves.
#[derive(Debug)]
pub(crate) enum DiscoverOutcome {
    Modern(Handshake),
    /// Not modern; `initialize` is worth a try.
    Legacy,
    /// A modern server with unsupported revisions only.
    UnsupportedVersions(Vec<String>),
}

/// What the response to `initialize` proves.
#[derive(Debug)]
pub(crate) enum InitializeOutcome {
    Legacy(Handshake),
    /// The server refuses `initialize` with a modern error.
    Modern(Handshake),
    UnsupportedVersions(Vec<String>),
    /// It does not know the method, so it may be modern.
    NoMethod(RpcError),
    Refused(RpcError),
    Unusable,
}

/// Classifies the response to `server/discover`. Any error that is not a modern one means legacy.
pub(crate) fn classify_discover(answer: &RpcResponse, limits: &Limits) -> DiscoverOutcome {
    let foreign = |versions: Vec<String>| match knows_legacy(&versions) {
        true => DiscoverOutcome::Legacy,
        false => DiscoverOutcome::UnsupportedVersions(versions),
    };
    match answer {
        RpcResponse::Result(result) => match parse_discover(result, limits) {
            ParsedHandshake::Negotiated(handshake) => DiscoverOutcome::Modern(handshake),
            ParsedHandshake::NoCommonVersion(versions) => foreign(versions),
            ParsedHandshake::Unusable => DiscoverOutcome::Legacy,
        },
        RpcResponse::Error(error) if is_modern(error) => match modern_by_error(error) {
            Ok(handshake) => DiscoverOutcome::Modern(handshake),
            Err(versions) => foreign(versions),
        },
        RpcResponse::Error(_) | RpcResponse::TooDeep(_) => DiscoverOutcome::Legacy,
    }
}

/// Classifies the response to `initialize`.
pub(crate) fn classify_initialize(answer: RpcResponse, limits: &Limits) -> InitializeOutcome {
    match answer {
        RpcResponse::Result(result) => match parse_initialize(&result, limits) {
            ParsedHandshake::Negotiated(handshake) => InitializeOutcome::Legacy(handshake),
            ParsedHandshake::NoCommonVersion(versions) => {
                InitializeOutcome::UnsupportedVersions(versions)
            }
            ParsedHandshake::Unusable => InitializeOutcome::Unusable,
        },
        RpcResponse::TooDeep(_) => InitializeOutcome::Unusable,
        RpcResponse::Error(error) if is_modern(&error) => match modern_by_error(&error) {
            Ok(handshake) => InitializeOutcome::Modern(handshake),
            Err(versions) => InitializeOutcome::UnsupportedVersions(versions),
        },
        RpcResponse::Error(error) if error.code == code::METHOD_NOT_FOUND => {
            InitializeOutcome::NoMethod(error)
        }
        RpcResponse::Error(error) => InitializeOutcome::Refused(error),
    }
}

impl InitializeOutcome {
    /// Returns the handshake.
    ///
    /// # Errors
    /// Fails if the server refused, or has no supported revision.
    pub(crate) fn into_handshake(self, errors: &ErrorContext) -> Result<Handshake, ToolError> {
        match self {
            Self::Legacy(handshake) | Self::Modern(handshake) => Ok(handshake),
            Self::UnsupportedVersions(versions) => Err(unsupported(errors, &versions)),
            Self::NoMethod(error) | Self::Refused(error) => Err(errors.error(
                Reason::HandshakeFailed,
                format_args!("refused the handshake with {}", errors.rpc(&error)),
            )),
            Self::Unusable => Err(errors.error(
                Reason::HandshakeFailed,
                "answered `initialize` with something that is not a handshake",
            )),
        }
    }
}

/// Creates the error for a server without a supported revision.
pub(crate) fn unsupported(errors: &ErrorContext, versions: &[String]) -> ToolError {
    let shown: Vec<_> = versions
        .iter()
        .take(VERSIONS_SHOWN)
        .map(|version| format!("`{}`", errors.preview(version.as_bytes())))
        .collect();
    let what = format!(
        "supports the revision {}, but Pegboard supports {}",
        shown.join(", "),
        revision::SUPPORTED.join(", ")
    );
    errors.error(Reason::VersionUnsupported, what)
}

fn modern_by_error(error: &RpcError) -> Result<Handshake, Vec<String>> {
    let versions = offered_versions(error);
    match common_version(&versions) {
        Some(version) => Ok(assumed_handshake(version)),
        None if versions.is_empty() => Ok(assumed_handshake(revision::MODERN)),
        None => Err(versions),
    }
}

fn knows_legacy(versions: &[String]) -> bool {
    versions
        .iter()
        .any(|version| revision::LEGACY_REVISIONS.contains(&version.as_str()))
}
