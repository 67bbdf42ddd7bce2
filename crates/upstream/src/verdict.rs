//! What the answers to the opening requests prove; the same for every transport.

use pegboard_model::{Limits, Reason, ToolError};

use crate::contract::Handshake;
use crate::dialect::{LEGACY_VERSIONS, MODERN_VERSION, MODERN_VERSIONS};
use crate::envelope::{Answer, RpcError};
use crate::handshake::{Opening, assumed, discovered, initialized, is_modern, mutual, offered};
use crate::wording::Wording;

const METHOD_NOT_FOUND: i64 = -32601;
/// How many of a server's revisions an error names.
const VERSIONS_SHOWN: usize = 5;

/// What the answer to `server/discover` proves.
#[derive(Debug)]
pub(crate) enum Probe {
    Modern(Handshake),
    /// Nothing modern: `initialize` is worth a try.
    Legacy,
    /// A modern server with other revisions only.
    Foreign(Vec<String>),
}

/// What the answer to `initialize` proves.
#[derive(Debug)]
pub(crate) enum Init {
    Legacy(Handshake),
    /// It refuses `initialize` in the modern way.
    Modern(Handshake),
    Foreign(Vec<String>),
    /// It does not know the method, so it may be modern.
    NoMethod(RpcError),
    Refused(RpcError),
    Unusable,
}

/// Judges the answer to `server/discover`. Any error that is not a modern one means legacy, whatever its code.
pub(crate) fn judge_probe(answer: &Answer, limits: &Limits) -> Probe {
    let foreign = |versions: Vec<String>| match knows_legacy(&versions) {
        true => Probe::Legacy,
        false => Probe::Foreign(versions),
    };
    match answer {
        Answer::Result(result) => match discovered(result, limits) {
            Opening::Agreed(handshake) => Probe::Modern(handshake),
            Opening::NoCommonVersion(versions) => foreign(versions),
            Opening::Unusable => Probe::Legacy,
        },
        Answer::Error(error) if is_modern(error) => match modern_by_error(error) {
            Ok(handshake) => Probe::Modern(handshake),
            Err(versions) => foreign(versions),
        },
        Answer::Error(_) | Answer::Deep(_) => Probe::Legacy,
    }
}

/// Judges the answer to `initialize`.
pub(crate) fn judge_initialize(answer: Answer, limits: &Limits) -> Init {
    match answer {
        Answer::Result(result) => match initialized(&result, limits) {
            Opening::Agreed(handshake) => Init::Legacy(handshake),
            Opening::NoCommonVersion(versions) => Init::Foreign(versions),
            Opening::Unusable => Init::Unusable,
        },
        Answer::Deep(_) => Init::Unusable,
        Answer::Error(error) if is_modern(&error) => match modern_by_error(&error) {
            Ok(handshake) => Init::Modern(handshake),
            Err(versions) => Init::Foreign(versions),
        },
        Answer::Error(error) if error.code == METHOD_NOT_FOUND => Init::NoMethod(error),
        Answer::Error(error) => Init::Refused(error),
    }
}

impl Init {
    /// The failure that this answer means, when it is one.
    pub(crate) fn into_handshake(self, wording: &Wording) -> Result<Handshake, ToolError> {
        match self {
            Self::Legacy(handshake) | Self::Modern(handshake) => Ok(handshake),
            Self::Foreign(versions) => Err(unsupported(wording, &versions)),
            Self::NoMethod(error) | Self::Refused(error) => Err(wording.error(
                Reason::HandshakeFailed,
                format_args!(
                    "refused the opening of the conversation by {}",
                    wording.rpc(&error)
                ),
            )),
            Self::Unusable => Err(wording.error(
                Reason::HandshakeFailed,
                "answered `initialize` by something that is no handshake",
            )),
        }
    }
}

/// There is no revision that both sides know.
pub(crate) fn unsupported(wording: &Wording, versions: &[String]) -> ToolError {
    let shown: Vec<_> = versions
        .iter()
        .take(VERSIONS_SHOWN)
        .map(|version| format!("`{}`", wording.glimpse(version.as_bytes())))
        .collect();
    let known: Vec<_> = LEGACY_VERSIONS
        .iter()
        .chain(MODERN_VERSIONS)
        .copied()
        .collect();
    let what = format!(
        "speaks the revision {}, and Pegboard speaks {}",
        shown.join(", "),
        known.join(", ")
    );
    wording.error(Reason::VersionUnsupported, what)
}

fn modern_by_error(error: &RpcError) -> Result<Handshake, Vec<String>> {
    let versions = offered(error);
    match mutual(&versions) {
        Some(version) => Ok(assumed(version)),
        None if versions.is_empty() => Ok(assumed(MODERN_VERSION)),
        None => Err(versions),
    }
}

fn knows_legacy(versions: &[String]) -> bool {
    versions
        .iter()
        .any(|version| LEGACY_VERSIONS.contains(&version.as_str()))
}
