//! Which definitions of a newly discovered list await a review.

use std::collections::HashMap;
use std::sync::Arc;

use pegboard_model::{
    Finding, Fingerprint, Offer, Review, ReviewKind, ReviewMode, ReviewState, ServerRecord,
    Severity,
};

use crate::fingerprint;
use crate::scan::{SCANNER_VERSION, ScanContext, scan_definition, scan_text};

/// What a review depends on besides the lists.
pub struct ReviewRules<'a> {
    /// What is held back.
    pub mode: ReviewMode,
    /// Whether the server is remote, so that its author can change it at any time.
    pub is_remote: bool,
    /// Whether a tool is granted or was called, by its name on the server.
    pub is_used: &'a dyn Fn(&str) -> bool,
    /// Whether a person accepted a version.
    pub is_accepted: &'a dyn Fn(ReviewKind, &str, Fingerprint) -> bool,
    /// The names around the definitions.
    pub context: &'a ScanContext,
}

/// Hashes a server's instructions, so that a decision covers exactly this text.
pub fn text_fingerprint(text: &str) -> Fingerprint {
    Fingerprint(*blake3::hash(text.as_bytes()).as_bytes())
}

/// Returns the reviews of a record that replaces `known`. Definitions that did not change keep their review; without
/// `known` every definition is new.
pub fn review_record(
    record: &ServerRecord,
    known: Option<&ServerRecord>,
    rules: &ReviewRules<'_>,
) -> Vec<Review> {
    let reviewer = Reviewer::new(known, rules);
    let mut reviews = Vec::new();
    for tool in record.tools.iter() {
        let item = Item {
            kind: ReviewKind::Tool,
            name: &tool.name,
            text: &tool.definition,
            fingerprint: tool.fingerprint,
        };
        let is_used = || rules.is_remote || (rules.is_used)(&tool.name);
        reviews.extend(reviewer.review(&item, is_used));
    }
    let offers = &record.offers;
    for (kind, list) in [
        (ReviewKind::Prompt, &offers.prompts),
        (ReviewKind::Resource, &offers.resources),
        (ReviewKind::Template, &offers.templates),
    ] {
        for offer in list {
            let item = Item {
                kind,
                name: &offer.key,
                text: &offer.definition,
                fingerprint: offer_fingerprint(&offer.definition),
            };
            // A change of a prompt or resource is held back only if the scanner finds something.
            reviews.extend(reviewer.review(&item, || false));
        }
    }
    if let Some(text) = record
        .instructions
        .as_deref()
        .filter(|text| !text.is_empty())
    {
        let item = Item {
            kind: ReviewKind::Instructions,
            name: "",
            text,
            fingerprint: text_fingerprint(text),
        };
        let is_used =
            || rules.is_remote || record.tools.iter().any(|tool| (rules.is_used)(&tool.name));
        reviews.extend(reviewer.review(&item, is_used));
    }
    reviews
}

/// Hashes the definition of a prompt or resource.
pub fn offer_fingerprint(definition: &str) -> Fingerprint {
    fingerprint(definition).unwrap_or_else(|| text_fingerprint(definition))
}

struct Item<'a> {
    kind: ReviewKind,
    name: &'a str,
    text: &'a str,
    fingerprint: Fingerprint,
}

struct Reviewer<'a> {
    rules: &'a ReviewRules<'a>,
    known: HashMap<(ReviewKind, &'a str), (Arc<str>, Fingerprint)>,
    prior: HashMap<(ReviewKind, &'a str), &'a Review>,
    /// Whether the known definitions were scanned with the current rules.
    is_scanned: bool,
}

impl<'a> Reviewer<'a> {
    fn new(record: Option<&'a ServerRecord>, rules: &'a ReviewRules<'a>) -> Self {
        let mut known = HashMap::new();
        let mut prior = HashMap::new();
        if let Some(record) = record.filter(|record| record.is_known()) {
            for tool in record.tools.iter() {
                let version = (tool.definition.clone(), tool.fingerprint);
                known.insert((ReviewKind::Tool, tool.name.as_str()), version);
            }
            let offers = &record.offers;
            let mut add = |kind: ReviewKind, list: &'a [Offer]| {
                for offer in list {
                    let fingerprint = offer_fingerprint(&offer.definition);
                    known.insert(
                        (kind, offer.key.as_str()),
                        (offer.definition.clone(), fingerprint),
                    );
                }
            };
            add(ReviewKind::Prompt, &offers.prompts);
            add(ReviewKind::Resource, &offers.resources);
            add(ReviewKind::Template, &offers.templates);
            if let Some(text) = record.instructions.as_deref() {
                let version = (Arc::from(text), text_fingerprint(text));
                known.insert((ReviewKind::Instructions, ""), version);
            }
            prior.extend(
                record
                    .reviews
                    .iter()
                    .map(|review| ((review.kind, review.name.as_str()), review)),
            );
        }
        Self {
            rules,
            known,
            prior,
            is_scanned: record.is_some_and(|record| record.scanned == SCANNER_VERSION),
        }
    }

    /// The review of one definition; `None` if it is accepted.
    fn review(&self, item: &Item<'_>, is_used: impl Fn() -> bool) -> Option<Review> {
        let key = (item.kind, item.name);
        let known = self.known.get(&key);
        let prior = self.prior.get(&key).copied();
        let is_same = known.is_some_and(|(_, fingerprint)| *fingerprint == item.fingerprint);
        if is_same && self.is_scanned {
            return prior.cloned();
        }
        let before = self.accepted_version(prior, known);
        let is_back = before
            .as_ref()
            .is_some_and(|(_, fingerprint)| *fingerprint == item.fingerprint);
        let findings = self.scan(item);
        let worst = findings.iter().map(|finding| finding.severity).max();
        let is_strict = self.rules.mode == ReviewMode::Strict;
        let state = match before {
            _ if worst >= Some(Severity::Flag) => ReviewState::Flagged,
            Some(_) if !is_back && (is_strict || is_used()) => ReviewState::Changed,
            None if known.is_none() && is_strict => ReviewState::New,
            // A version that was not accepted is not accepted by changing it.
            None if prior.is_some_and(|prior| prior.state == ReviewState::New) && is_strict => {
                ReviewState::New
            }
            _ => return None,
        };
        Some(Review {
            kind: item.kind,
            name: item.name.to_owned(),
            fingerprint: item.fingerprint,
            state,
            findings,
            before: before.filter(|_| !is_back).map(|(text, _)| text),
        })
    }

    /// The version that was accepted last: the known one, or the one before it if the known one awaits its review.
    fn accepted_version(
        &self,
        prior: Option<&Review>,
        known: Option<&(Arc<str>, Fingerprint)>,
    ) -> Option<(Arc<str>, Fingerprint)> {
        match prior {
            Some(prior)
                if !(self.rules.is_accepted)(prior.kind, &prior.name, prior.fingerprint) =>
            {
                let text = prior.before.clone()?;
                let fingerprint = match prior.kind {
                    ReviewKind::Instructions => text_fingerprint(&text),
                    _ => offer_fingerprint(&text),
                };
                Some((text, fingerprint))
            }
            _ => known.cloned(),
        }
    }

    fn scan(&self, item: &Item<'_>) -> Vec<Finding> {
        match item.kind {
            ReviewKind::Instructions => scan_text("instructions", item.text, self.rules.context),
            _ => scan_definition(item.text, self.rules.context),
        }
    }
}
