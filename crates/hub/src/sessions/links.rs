//! Resource links in the results of calls. The session that received a link may read the resource before any list
//! contains it; no other session may.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use pegboard_model::{Limits, Offer, ServerName};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::calls::SessionId;
use crate::hub::Hub;
use crate::sync::lock;

const LINK: &str = "\"resource_link\"";
/// A longer definition is not kept; the link is then known by its URI only.
const DEFINITION_BYTES: usize = 4 * 1024;

/// The links of all sessions, oldest first.
#[derive(Default)]
pub(super) struct ResourceLinks(Mutex<VecDeque<SessionLink>>);

struct SessionLink {
    session: SessionId,
    server: ServerName,
    offer: Arc<Offer>,
}

impl ResourceLinks {
    /// Records the links in a result and returns their URIs.
    pub(super) fn record(
        &self,
        session: &SessionId,
        server: &ServerName,
        result: &RawValue,
        limits: &Limits,
    ) -> Vec<String> {
        // Most results contain no link and are not parsed.
        if !result.get().contains(LINK) {
            return Vec::new();
        }
        let found = links_in(result, limits);
        let uris = found.iter().map(|offer| offer.key.clone()).collect();
        let mut links = lock(&self.0);
        for offer in found {
            links.retain(|held| {
                held.session != *session || held.server != *server || held.offer.key != offer.key
            });
            let own = links.iter().filter(|held| held.session == *session).count();
            if own >= limits.resource_links_per_session
                && let Some(oldest) = links.iter().position(|held| held.session == *session)
            {
                links.remove(oldest);
            } else if links.len() >= limits.resource_links {
                links.pop_front();
            }
            links.push_back(SessionLink {
                session: session.clone(),
                server: server.clone(),
                offer: Arc::new(offer),
            });
        }
        uris
    }

    /// Returns the resource that a server linked for a session.
    pub(super) fn find(
        &self,
        session: &SessionId,
        server: &ServerName,
        uri: &str,
    ) -> Option<Arc<Offer>> {
        let links = lock(&self.0);
        let mut newest_first = links.iter().rev();
        let link = newest_first.find(|held| {
            held.session == *session && held.server == *server && held.offer.key == uri
        })?;
        Some(link.offer.clone())
    }

    pub(super) fn forget(&self, session: &SessionId) {
        lock(&self.0).retain(|held| held.session != *session);
    }
}

impl Hub {
    /// Returns the server that linked a resource for this session; the most recent one if there are several.
    pub fn linked_server(&self, session: &SessionId, uri: &str) -> Option<ServerName> {
        let links = lock(&self.inner.sessions.links.0);
        let mut newest_first = links.iter().rev();
        let link = newest_first.find(|held| held.session == *session && held.offer.key == uri)?;
        Some(link.server.clone())
    }
}

fn links_in(result: &RawValue, limits: &Limits) -> Vec<Offer> {
    #[derive(Deserialize)]
    struct Content<'a> {
        #[serde(borrow)]
        content: Vec<&'a RawValue>,
    }
    #[derive(Deserialize)]
    struct Item {
        r#type: String,
        uri: String,
    }
    let content = serde_json::from_str::<Content<'_>>(result.get());
    let items = content.map(|content| content.content).unwrap_or_default();
    let links = items.into_iter().filter(|item| item.get().contains(LINK));
    links
        .filter_map(|raw| {
            let item: Item = serde_json::from_str(raw.get()).ok()?;
            let is_link =
                item.r#type == "resource_link" && item.uri.len() <= limits.offer_key_bytes;
            is_link.then(|| Offer {
                definition: match raw.get().len() <= DEFINITION_BYTES {
                    true => raw.get().into(),
                    false => serde_json::json!({"uri": item.uri}).to_string().into(),
                },
                key: item.uri,
            })
        })
        .take(limits.resource_links_per_session)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r_gate_03_a_link_is_kept_for_its_session_within_the_limits() {
        let limits = Limits {
            resource_links_per_session: 2,
            resource_links: 3,
            ..Limits::default()
        };
        let links = ResourceLinks::default();
        let server = pegboard_testkit::server("files");
        let (a, b) = (SessionId("a".into()), SessionId("b".into()));
        let note = |session: &SessionId, uri: &str| {
            let result = format!(
                r#"{{"content":[{{"type":"text","text":"x"}},{{"type":"resource_link","uri":"{uri}"}}]}}"#
            );
            let result = RawValue::from_string(result).unwrap();
            links.record(session, &server, &result, &limits);
        };
        let has = |session: &SessionId, uri: &str| links.find(session, &server, uri).is_some();
        note(&a, "demo://1");
        assert!(has(&a, "demo://1") && !has(&b, "demo://1"));
        note(&a, "demo://2");
        note(&a, "demo://3");
        assert!(!has(&a, "demo://1") && has(&a, "demo://2") && has(&a, "demo://3"));
        note(&b, "demo://4");
        note(&b, "demo://5");
        assert!(!has(&a, "demo://2") && has(&a, "demo://3") && has(&b, "demo://5"));
        links.forget(&b);
        assert!(!has(&b, "demo://4") && has(&a, "demo://3"));
        for result in [
            "[]",
            r#"{"content":"resource_link"}"#,
            r#"{"content":[{"type":"resource_link"}]}"#,
        ] {
            let result = RawValue::from_string(result.to_owned()).unwrap();
            links.record(&a, &server, &result, &limits);
        }
        assert_eq!(lock(&links.0).len(), 1);
    }
}
