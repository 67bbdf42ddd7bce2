//! The binary format of a server's record.
//!
//! The types here define the format on disk. They are separate from the model's types, so that a change there cannot
//! silently change the meaning of stored bytes. Reasons are stored by code, not by position.

use std::borrow::Cow;
use std::sync::Arc;

use pegboard_model::{
    Annotations, ConfigHash, DiscoveryStatus, Era, ErrorSummary, ExposedName, Fingerprint,
    LearntFacts, Offer, Offers, Reason, Rejection, Review, ServerInfo, ServerName, ServerRecord,
    Timestamp, Tool, ToolError,
};
use serde::{Deserialize, Serialize};

/// The first byte of every record. Changing the types below requires a new number.
pub(crate) const FORMAT: u8 = 4;
/// The third format, without reviews. It is still read.
const FORMAT_WITHOUT_REVIEWS: u8 = 3;
/// The second format, without what calls have shown. It is still read.
const FORMAT_WITHOUT_LEARNT: u8 = 2;
/// The first format, without prompts and resources. It is still read.
const FORMAT_TOOLS_ONLY: u8 = 1;

/// Why bytes cannot be decoded.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum DecodeError {
    /// Written by a newer version.
    Newer,
    /// Not a valid record.
    Malformed,
}

#[derive(Serialize, Deserialize)]
struct ReviewedRecord<'a> {
    #[serde(borrow)]
    record: StoredRecord<'a>,
    /// The version of the scanner.
    scanned: u32,
    /// The reviews as JSON, whose members are named; empty if there are none. There are few, and their form will grow.
    reviews: Cow<'a, str>,
}

/// A complete record of the third format, and the first part of one of the fourth.
#[derive(Serialize, Deserialize)]
struct StoredRecord<'a> {
    #[serde(borrow)]
    lists: StoredLists<'a>,
    /// The learnt facts, as bits.
    learnt: u8,
}

/// The bits of learnt facts.
const ASKS_CLIENTS: u8 = 1;
const ASKS_ROOTS: u8 = 2;
const CHANGES_LIST: u8 = 4;
const OLD_SSE: u8 = 8;

/// A complete record of the second format, and the first part of one of the third.
#[derive(Serialize, Deserialize)]
struct StoredLists<'a> {
    #[serde(borrow)]
    known: StoredTools<'a>,
    capabilities: Option<&'a str>,
    /// Prompts, resources and templates.
    offers: [Vec<StoredOffer<'a>>; 3],
}

/// A complete record of the first format, and the first part of one of the second.
#[derive(Serialize, Deserialize)]
struct StoredTools<'a> {
    #[serde(borrow)]
    server: &'a str,
    config: [u8; 32],
    status: u8,
    discovered_at: Option<u64>,
    attempted_at: Option<u64>,
    #[serde(borrow)]
    last_error: Option<StoredError<'a>>,
    era: Option<u8>,
    protocol_version: Option<&'a str>,
    info: Option<(&'a str, &'a str)>,
    instructions: Option<&'a str>,
    ttl_hint_ms: Option<u64>,
    private: bool,
    tools: Vec<StoredTool<'a>>,
    rejections: Vec<StoredError<'a>>,
}

/// The key of an offer and its definition.
type StoredOffer<'a> = (&'a str, &'a str);

/// An error of a server or of one of its tools: the subject, the reason's code and the text.
#[derive(Serialize, Deserialize)]
struct StoredError<'a> {
    subject: &'a str,
    reason: Cow<'a, str>,
    text: &'a str,
}

#[derive(Serialize, Deserialize)]
struct StoredTool<'a> {
    name: &'a str,
    exposed: &'a str,
    definition: &'a str,
    fingerprint: [u8; 32],
    summary: &'a str,
    annotations: [Option<bool>; 4],
    deprecated: bool,
    tokens: u32,
}

/// Encodes a record.
pub(crate) fn encode(record: &ServerRecord) -> Result<Vec<u8>, ToolError> {
    let reviewed = ReviewedRecord {
        record: stored(record),
        scanned: record.scanned,
        reviews: match record.reviews.is_empty() {
            true => "".into(),
            false => serde_json::to_string(&record.reviews)
                .unwrap_or_default()
                .into(),
        },
    };
    postcard::to_extend(&reviewed, vec![FORMAT]).map_err(|error| {
        let message = format!(
            "the record of server `{}` could not be encoded: {error}",
            record.server
        );
        ToolError::new(Reason::Internal, message).at_server(&record.server)
    })
}

/// Decodes a record.
pub(crate) fn decode(bytes: &[u8]) -> Result<ServerRecord, DecodeError> {
    match bytes.split_first() {
        Some((&FORMAT, body)) => {
            let stored: ReviewedRecord<'_> =
                postcard::from_bytes(body).map_err(|_| DecodeError::Malformed)?;
            reviewed(stored).ok_or(DecodeError::Malformed)
        }
        Some((&FORMAT_WITHOUT_REVIEWS, body)) => {
            let stored = postcard::from_bytes(body).map_err(|_| DecodeError::Malformed)?;
            restored(stored).ok_or(DecodeError::Malformed)
        }
        Some((&FORMAT_WITHOUT_LEARNT, body)) => {
            let lists = postcard::from_bytes(body).map_err(|_| DecodeError::Malformed)?;
            restored(StoredRecord { lists, learnt: 0 }).ok_or(DecodeError::Malformed)
        }
        Some((&FORMAT_TOOLS_ONLY, body)) => {
            let known = postcard::from_bytes(body).map_err(|_| DecodeError::Malformed)?;
            let lists = StoredLists {
                known,
                capabilities: None,
                offers: Default::default(),
            };
            restored(StoredRecord { lists, learnt: 0 }).ok_or(DecodeError::Malformed)
        }
        Some((&format, _)) if format > FORMAT => Err(DecodeError::Newer),
        _ => Err(DecodeError::Malformed),
    }
}

fn reviewed(stored: ReviewedRecord<'_>) -> Option<ServerRecord> {
    let reviews: Vec<Review> = match &*stored.reviews {
        "" => Vec::new(),
        json => serde_json::from_str(json).ok()?,
    };
    Some(ServerRecord {
        scanned: stored.scanned,
        reviews: reviews.into(),
        ..restored(stored.record)?
    })
}

fn stored(record: &ServerRecord) -> StoredRecord<'_> {
    StoredRecord {
        lists: stored_lists(record),
        learnt: learnt_bits(record.learnt),
    }
}

fn learnt_bits(learnt: LearntFacts) -> u8 {
    let bit = |is_set: bool, bit: u8| if is_set { bit } else { 0 };
    bit(learnt.asks_clients, ASKS_CLIENTS)
        | bit(learnt.asks_roots, ASKS_ROOTS)
        | bit(learnt.changes_list, CHANGES_LIST)
        | bit(learnt.old_sse, OLD_SSE)
}

fn learnt_of(bits: u8) -> LearntFacts {
    LearntFacts {
        asks_clients: bits & ASKS_CLIENTS != 0,
        asks_roots: bits & ASKS_ROOTS != 0,
        changes_list: bits & CHANGES_LIST != 0,
        old_sse: bits & OLD_SSE != 0,
    }
}

fn stored_lists(record: &ServerRecord) -> StoredLists<'_> {
    let offers = &record.offers;
    StoredLists {
        known: stored_tools(record),
        capabilities: record.capabilities.as_deref(),
        offers: [&offers.prompts, &offers.resources, &offers.templates].map(|list| {
            let stored = list.iter();
            stored
                .map(|offer| (offer.key.as_str(), &*offer.definition))
                .collect()
        }),
    }
}

fn stored_tools(record: &ServerRecord) -> StoredTools<'_> {
    StoredTools {
        server: record.server.as_str(),
        config: record.config.0,
        status: status_number(record.status),
        discovered_at: record.discovered_at.map(|at| at.0),
        attempted_at: record.attempted_at.map(|at| at.0),
        last_error: record.last_error.as_ref().map(|error| StoredError {
            subject: &error.remedy,
            reason: error.reason.code().into(),
            text: &error.message,
        }),
        era: record.era.map(era_number),
        protocol_version: record.protocol_version.as_deref(),
        info: record
            .info
            .as_ref()
            .map(|info| (info.name.as_str(), info.version.as_str())),
        instructions: record.instructions.as_deref(),
        ttl_hint_ms: record.ttl_hint_ms,
        private: record.private,
        tools: record.tools.iter().map(stored_tool).collect(),
        rejections: record.rejections.iter().map(stored_rejection).collect(),
    }
}

fn stored_rejection(rejection: &Rejection) -> StoredError<'_> {
    StoredError {
        subject: &rejection.tool,
        reason: rejection.reason.code().into(),
        text: &rejection.detail,
    }
}

fn stored_tool(tool: &Tool) -> StoredTool<'_> {
    let hints = tool.annotations;
    StoredTool {
        name: &tool.name,
        exposed: tool.exposed.as_str(),
        definition: &tool.definition,
        fingerprint: tool.fingerprint.0,
        summary: &tool.summary,
        annotations: [
            hints.read_only,
            hints.destructive,
            hints.idempotent,
            hints.open_world,
        ],
        deprecated: tool.deprecated,
        tokens: tool.tokens,
    }
}

fn restored(
    StoredRecord {
        lists: record,
        learnt,
    }: StoredRecord<'_>,
) -> Option<ServerRecord> {
    let stored = record.known;
    Some(ServerRecord {
        server: ServerName::parse(stored.server).ok()?,
        config: ConfigHash(stored.config),
        status: status_of(stored.status)?,
        discovered_at: stored.discovered_at.map(Timestamp),
        attempted_at: stored.attempted_at.map(Timestamp),
        last_error: stored.last_error.map(|error| ErrorSummary {
            reason: reason_of(&error.reason),
            message: error.text.to_owned(),
            remedy: error.subject.to_owned(),
        }),
        era: match stored.era {
            None => None,
            Some(number) => Some(era_of(number)?),
        },
        protocol_version: stored.protocol_version.map(str::to_owned),
        info: stored.info.map(|(name, version)| ServerInfo {
            name: name.to_owned(),
            version: version.to_owned(),
        }),
        instructions: stored.instructions.map(str::to_owned),
        ttl_hint_ms: stored.ttl_hint_ms,
        private: stored.private,
        tools: stored
            .tools
            .into_iter()
            .map(restored_tool)
            .collect::<Option<_>>()?,
        rejections: stored
            .rejections
            .into_iter()
            .map(restored_rejection)
            .collect(),
        capabilities: record.capabilities.map(Arc::from),
        offers: restored_offers(record.offers),
        learnt: learnt_of(learnt),
        scanned: 0,
        reviews: Arc::from([]),
    })
}

fn restored_offers(stored: [Vec<StoredOffer<'_>>; 3]) -> Arc<Offers> {
    let [prompts, resources, templates] = stored.map(|list| {
        list.into_iter()
            .map(|(key, definition)| Offer {
                key: key.to_owned(),
                definition: definition.into(),
            })
            .collect()
    });
    Arc::new(Offers {
        prompts,
        resources,
        templates,
    })
}

fn restored_rejection(stored: StoredError<'_>) -> Rejection {
    Rejection {
        tool: stored.subject.to_owned(),
        reason: reason_of(&stored.reason),
        detail: stored.text.to_owned(),
    }
}

fn restored_tool(stored: StoredTool<'_>) -> Option<Tool> {
    let [read_only, destructive, idempotent, open_world] = stored.annotations;
    Some(Tool {
        name: stored.name.to_owned(),
        exposed: ExposedName::parse(stored.exposed)?,
        definition: stored.definition.into(),
        fingerprint: Fingerprint(stored.fingerprint),
        summary: stored.summary.to_owned(),
        annotations: Annotations {
            read_only,
            destructive,
            idempotent,
            open_world,
        },
        deprecated: stored.deprecated,
        tokens: stored.tokens,
    })
}

/// A code that this version does not know still means a failure.
fn reason_of(code: &str) -> Reason {
    Reason::ALL
        .iter()
        .copied()
        .find(|reason| reason.code() == code)
        .unwrap_or(Reason::Internal)
}

fn status_number(status: DiscoveryStatus) -> u8 {
    match status {
        DiscoveryStatus::Never => 0,
        DiscoveryStatus::Discovering => 1,
        DiscoveryStatus::Success => 2,
        DiscoveryStatus::Failed => 3,
    }
}

fn status_of(number: u8) -> Option<DiscoveryStatus> {
    use DiscoveryStatus::{Discovering, Failed, Never, Success};
    [Never, Discovering, Success, Failed]
        .into_iter()
        .find(|status| status_number(*status) == number)
}

fn era_number(era: Era) -> u8 {
    match era {
        Era::Legacy => 0,
        Era::Modern => 1,
    }
}

fn era_of(number: u8) -> Option<Era> {
    [Era::Legacy, Era::Modern]
        .into_iter()
        .find(|era| era_number(*era) == number)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failed() -> ServerRecord {
        let server = ServerName::parse("github").unwrap();
        let mut record = ServerRecord::undiscovered(server, ConfigHash([3; 32]));
        record.status = DiscoveryStatus::Failed;
        record.last_error = Some(ErrorSummary {
            reason: Reason::ServerExited,
            message: "gone".to_owned(),
            remedy: "look".to_owned(),
        });
        record
    }

    #[test]
    fn r_store_k04_bytes_of_another_format_are_recognised() {
        let bytes = encode(&failed()).unwrap();
        assert_eq!(decode(&bytes), Ok(failed()));
        let newer: Vec<u8> = [&[FORMAT + 1], &bytes[1..]].concat();
        assert_eq!(decode(&newer), Err(DecodeError::Newer));
        assert_eq!(decode(&[]), Err(DecodeError::Malformed));
        for length in 1..bytes.len() {
            assert_eq!(
                decode(&bytes[..length]),
                Err(DecodeError::Malformed),
                "{length} bytes"
            );
        }
    }

    #[test]
    fn r_store_k04_a_record_from_before_offers_is_read_without_them() {
        let record = failed();
        let old = postcard::to_extend(&stored_tools(&record), vec![FORMAT_TOOLS_ONLY]).unwrap();
        assert_eq!(decode(&old), Ok(record.clone()));
        let written: Vec<u8> = [
            b"\x01\x06github".as_slice(),
            &[3; 32],
            b"\x03\0\0\x01\x04look\x0dSERVER_EXITED\x04gone",
            &[0; 8],
        ]
        .concat();
        assert_eq!(old, written, "what the first version wrote stays as it is");
        for length in 1..old.len() {
            assert_eq!(decode(&old[..length]), Err(DecodeError::Malformed));
        }
        let mut more = record;
        more.capabilities = Some(r#"{"prompts":{}}"#.into());
        let offer = |key: &str| Offer {
            key: key.to_owned(),
            definition: format!(r#"{{"name":"{key}"}}"#).into(),
        };
        more.offers = Arc::new(Offers {
            prompts: vec![offer("a"), offer("b")],
            resources: vec![offer("test://x")],
            templates: vec![offer("test://{id}")],
        });
        let bytes = encode(&more).unwrap();
        assert_eq!(bytes[0], FORMAT);
        assert_eq!(decode(&bytes), Ok(more));
    }

    #[test]
    fn r_share_03_learnt_facts_are_stored_and_older_records_have_none() {
        let mut record = failed();
        let old = postcard::to_extend(&stored_lists(&record), vec![FORMAT_WITHOUT_LEARNT]).unwrap();
        assert_eq!(decode(&old), Ok(record.clone()));
        for length in 1..old.len() {
            assert_eq!(decode(&old[..length]), Err(DecodeError::Malformed));
        }
        for bits in 0..16 {
            record.learnt = learnt_of(bits);
            assert_eq!(learnt_bits(record.learnt), bits);
            let bytes = encode(&record).unwrap();
            assert_eq!(decode(&bytes), Ok(record.clone()));
            assert!(bytes[1..].starts_with(&old[1..]));
        }
    }

    #[test]
    fn reasons_are_kept_by_code_and_a_lost_code_is_still_a_failure() {
        let bytes = encode(&failed()).unwrap();
        let at = bytes
            .windows(13)
            .position(|part| part == b"SERVER_EXITED")
            .unwrap();
        let mut other = bytes.clone();
        other[at..at + 13].copy_from_slice(b"SERVER_TIRED!");
        let decoded = decode(&other).unwrap();
        assert_eq!(decoded.last_error.unwrap().reason, Reason::Internal);
    }
}
