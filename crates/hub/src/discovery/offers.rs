//! Fetching a server's prompts, resources and templates along with its tools.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join3;
use pegboard_guard::{OfferKey, admit_offers};
use pegboard_model::{Limits, Offer, Offers, Rejection, ServerRecord, ServerSpec};
use pegboard_upstream::{OfferKind, Upstream};
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::time::{Instant, timeout_at};

/// How long the discovered tools wait for these lists.
const OFFERS_TIMEOUT: Duration = Duration::from_secs(10);

/// The raw lists of a server; `None` if a list could not be fetched.
pub(super) struct RawOffers {
    prompts: Option<Vec<Box<RawValue>>>,
    resources: Option<Vec<Box<RawValue>>>,
    templates: Option<Vec<Box<RawValue>>>,
}

/// Fetches the lists that the server declares, concurrently. A list that fails is left out.
pub(super) async fn fetch_offers(
    spec: &ServerSpec,
    known: &ServerRecord,
    upstream: &dyn Upstream,
    deadline: Instant,
) -> RawOffers {
    let capabilities = upstream.handshake().capabilities.as_deref();
    let declared = Declared::read(capabilities.or(known.capabilities.as_deref()));
    let deadline = deadline.min(Instant::now() + OFFERS_TIMEOUT);
    let ask = |kind: OfferKind, wanted: bool| async move {
        if !wanted {
            return Some(Vec::new());
        }
        let failed = match timeout_at(deadline, upstream.list_offers(kind)).await {
            Ok(Ok(list)) => return Some(list),
            Ok(Err(error)) => error.into_details().message,
            Err(_) => "it did not answer in time".to_owned(),
        };
        tracing::warn!(target: "pegboard", server = %spec.name, ?kind, "cannot fetch a list: {failed}");
        None
    };
    let (prompts, resources, templates) = join3(
        ask(OfferKind::Prompts, declared.prompts),
        ask(OfferKind::Resources, declared.resources),
        ask(OfferKind::Templates, declared.resources),
    )
    .await;
    RawOffers {
        prompts,
        resources,
        templates,
    }
}

impl RawOffers {
    /// Returns the new lists: the admitted ones, or the known ones where a list could not be fetched. Rejected items
    /// are added to `rejections`.
    pub(super) fn admit(
        self,
        known: &Arc<Offers>,
        rejections: &mut Vec<Rejection>,
        limits: &Limits,
    ) -> Arc<Offers> {
        let mut admit = |key, raw: Option<Vec<Box<RawValue>>>, known: &Vec<Offer>| match raw {
            Some(raw) => {
                let (offers, rejected) = admit_offers(key, &raw, limits);
                rejections.extend(rejected);
                offers
            }
            None => known.clone(),
        };
        let offers = Offers {
            prompts: admit(OfferKey::Name, self.prompts, &known.prompts),
            resources: admit(OfferKey::Uri, self.resources, &known.resources),
            templates: admit(OfferKey::UriTemplate, self.templates, &known.templates),
        };
        // Most lists do not change; sharing them keeps one copy.
        if offers == **known {
            known.clone()
        } else {
            Arc::new(offers)
        }
    }
}

/// The lists that a server declares; all if its capabilities are unknown.
#[derive(Debug, PartialEq, Eq)]
struct Declared {
    prompts: bool,
    resources: bool,
}

impl Declared {
    fn read(capabilities: Option<&str>) -> Self {
        #[derive(Deserialize)]
        struct Capabilities<'a> {
            #[serde(borrow, default)]
            prompts: Option<&'a RawValue>,
            #[serde(borrow, default)]
            resources: Option<&'a RawValue>,
        }
        match capabilities.map(serde_json::from_str::<Capabilities<'_>>) {
            Some(Ok(capabilities)) => Self {
                prompts: capabilities.prompts.is_some(),
                resources: capabilities.resources.is_some(),
            },
            _ => Self {
                prompts: true,
                resources: true,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(capabilities: Option<&str>, prompts: bool, resources: bool) {
        let declared = Declared { prompts, resources };
        assert_eq!(Declared::read(capabilities), declared, "{capabilities:?}");
    }

    #[test]
    fn r_gate_03_only_declared_lists_are_fetched_or_all_without_capabilities() {
        check(Some(r#"{"tools":{}}"#), false, false);
        check(Some(r#"{"prompts":{"listChanged":true}}"#), true, false);
        check(Some(r#"{"resources":{},"prompts":null}"#), false, true);
        check(None, true, true);
        check(Some("7"), true, true);
    }
}
