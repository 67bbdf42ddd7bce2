//! Reviews: which definitions models do not get until a person has looked at them.
//!
//! A discovery stores in the server's record what is new, changed or flagged. A person's decisions are stored in the
//! ledger, sealed, for exactly one version under one definition of the server. An entry of the catalog combines both.

mod book;
mod decisions;
mod results;

use std::collections::HashSet;
use std::sync::Arc;

use pegboard_catalog::Catalog;
use pegboard_guard::{PeerTool, Peers, ReviewRules, SCANNER_VERSION, ScanContext, review_record};
use pegboard_model::{Review, ServerRecord, ServerSpec, Transport};

pub(crate) use self::book::ReviewBook;
pub use self::decisions::{PendingReview, ReviewSubject};
use crate::hub::Inner;

impl Inner {
    /// Returns a discovered record with its reviews. Blocks: it reads the ledger if a definition changed.
    pub(crate) fn reviewed(
        &self,
        spec: &ServerSpec,
        known: &ServerRecord,
        record: ServerRecord,
    ) -> ServerRecord {
        let catalog = self.catalog.load_full();
        let peers = peers(&catalog, spec, &record);
        let context = context(&record, peers);
        let book = self.catalog.reviews();
        let used = std::cell::OnceCell::new();
        let is_used = |tool: &str| {
            used.get_or_init(|| book.used_tools(&spec.name))
                .contains(tool)
        };
        let decisions = std::cell::OnceCell::new();
        let rules = ReviewRules {
            mode: book.mode(),
            is_remote: is_remote(spec),
            is_used: &|tool| {
                let exposed = pegboard_model::ExposedName::of(&spec.name, tool);
                is_used(tool) || is_used(exposed.as_str())
            },
            is_accepted: &|kind, name, fingerprint| {
                let decisions = decisions.get_or_init(|| book.decisions());
                let key = (
                    spec.name.clone(),
                    spec.hash,
                    kind,
                    name.to_owned(),
                    fingerprint,
                );
                decisions.get(&key) == Some(&true)
            },
            context: &context,
        };
        let reviews = review_record(&record, Some(known), &rules);
        ServerRecord {
            scanned: SCANNER_VERSION,
            reviews: reviews.into(),
            ..record
        }
    }
}

/// The reviews of a record that an earlier version stored without scanning it: only what is flagged.
fn scan_unscanned(record: &ServerRecord) -> Vec<Review> {
    let context = context(record, Peers::default());
    let rules = ReviewRules {
        mode: pegboard_model::ReviewMode::Default,
        is_remote: false,
        is_used: &|_| false,
        is_accepted: &|_, _, _| false,
        context: &context,
    };
    review_record(record, None, &rules)
}

fn context(record: &ServerRecord, peers: Peers) -> ScanContext {
    ScanContext::new(record.tools.iter().map(|tool| tool.name.as_str()), peers)
}

/// The offered tools of other servers. Only the definitions of tools with the same name are parsed.
fn peers(catalog: &Catalog, spec: &ServerSpec, record: &ServerRecord) -> Peers {
    let own: HashSet<&str> = record.tools.iter().map(|tool| tool.name.as_str()).collect();
    let description = |tool: &pegboard_model::Tool| {
        let parts = tool.parts().ok();
        parts
            .and_then(|parts| parts.description.map(|text| text.into_owned()))
            .unwrap_or_default()
    };
    let others = catalog
        .servers()
        .filter(|entry| entry.spec.name != spec.name);
    let tools = others.flat_map(|entry| {
        let offered = entry.visible_tools().filter_map(|view| view.tool());
        offered.map(|tool| PeerTool {
            server: entry.spec.name.to_string(),
            name: tool.name.clone(),
            description: match own.contains(tool.name.as_str()) {
                true => description(tool),
                false => String::new(),
            },
        })
    });
    let peers = Peers::new(tools);
    let own: Vec<(&str, String)> = record
        .tools
        .iter()
        .filter(|tool| peers.has_name(&tool.name))
        .map(|tool| (tool.name.as_str(), description(tool)))
        .collect();
    let own: Vec<(&str, &str)> = own
        .iter()
        .map(|(name, text)| (*name, text.as_str()))
        .collect();
    peers.without_copies(&own, record.tools.len())
}

/// Whether a server is reached over a network, so that its author can change it at any time.
fn is_remote(spec: &ServerSpec) -> bool {
    let Transport::Http { url, .. } = &spec.transport else {
        return false;
    };
    let host = url.written().split_once("://").map_or("", |(_, rest)| rest);
    let is_local = |name: &str| {
        host.strip_prefix(name)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with([':', '/']))
    };
    !["localhost", "127.0.0.1", "[::1]"]
        .into_iter()
        .any(is_local)
}

/// The reviews of a record that may not be scanned yet.
fn reviews_of(record: &ServerRecord) -> Arc<[Review]> {
    if record.scanned == SCANNER_VERSION || !record.is_known() {
        return record.reviews.clone();
    }
    scan_unscanned(record).into()
}
