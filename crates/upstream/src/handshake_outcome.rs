//! What the answers to the opening requests prove; the same for every transport.

use pegboard_jsonrpc::{RpcError, RpcResponse, code, revision};
use pegboard_model::{Limits, Reason, ToolError};

use crate::contract::Handshake;
use crate::errors::ErrorContext;
use crate::handshake::{
    ParsedHandshake, assumed_handshake, common_version, is_modern, offered_versions,
    parse_discover, parse_initialize,
};

/// How many of a server's revisions an error names.
const VERSIONS_SHOWN: usize = 5;

/// What the answer to `server/discover` proves.
#[derive(Debug)]
pub(crate) enum DiscoverOutcome {
    Modern(Handshake),
    /// Nothing modern: `initialize` is worth a try.
    Legacy,
    /// A modern server with other revisions only.
    UnsupportedVersions(Vec<String>),
}

/// What the answer to `initialize` proves.
#[derive(Debug)]
pub(crate) enum InitializeOutcome {
    Legacy(Handshake),
    /// It refuses `initialize` in the modern way.
    Modern(Handshake),
    UnsupportedVersions(Vec<String>),
    /// It does not know the method, so it may be modern.
    NoMethod(RpcError),
    Refused(RpcError),
    Unusable,
}

/// Judges the answer to `server/discover`. Any error that is not a modern one means legacy, whatever its code.
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

/// Judges the answer to `initialize`.
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
    /// The failure that this answer means, when it is one.
    pub(crate) fn into_handshake(self, errors: &ErrorContext) -> Result<Handshake, ToolError> {
        match self {
            Self::Legacy(handshake) | Self::Modern(handshake) => Ok(handshake),
            Self::UnsupportedVersions(versions) => Err(unsupported(errors, &versions)),
            Self::NoMethod(error) | Self::Refused(error) => Err(errors.error(
                Reason::HandshakeFailed,
                format_args!(
                    "refused the opening of the conversation by {}",
                    errors.rpc(&error)
                ),
            )),
            Self::Unusable => Err(errors.error(
                Reason::HandshakeFailed,
                "answered `initialize` by something that is no handshake",
            )),
        }
    }
}

/// There is no revision that both sides know.
pub(crate) fn unsupported(errors: &ErrorContext, versions: &[String]) -> ToolError {
    let shown: Vec<_> = versions
        .iter()
        .take(VERSIONS_SHOWN)
        .map(|version| format!("`{}`", errors.preview(version.as_bytes())))
        .collect();
    let what = format!(
        "speaks the revision {}, and Pegboard speaks {}",
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
