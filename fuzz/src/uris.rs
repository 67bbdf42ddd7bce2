//! Resource URIs, URI templates, prompt names and tool names.

use std::sync::Arc;

use pegboard_catalog::{Catalog, ServerEntry, exposed_uri};
use pegboard_guard::{OfferKey, admit_offers};
use pegboard_model::{Limits, Offers, ServerName, ServerRecord, ToolRef};
use serde_json::json;
use serde_json::value::RawValue;

use crate::first_line;
use crate::tools::{record, spec};

fn raw(value: &serde_json::Value) -> [Box<RawValue>; 1] {
    [RawValue::from_string(value.to_string()).unwrap()]
}

/// The first line is a URI or template that a server lists, the second a URI that a client reads. An exposed URI leads
/// to its server and back, and a template never covers a URI with parent segments. Passes if the URI is found.
pub(crate) fn resources(input: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(input) else {
        return false;
    };
    let (listed, wanted) = first_line(text);
    let limits = Limits::default();
    let admitted = |key, value| admit_offers(key, &raw(&value), &limits).0;
    let offers = Offers {
        prompts: admitted(OfferKey::Name, json!({"name": listed})),
        resources: match listed.contains('{') {
            true => Vec::new(),
            false => admitted(OfferKey::Uri, json!({"uri": listed, "name": "r"})),
        },
        templates: admitted(
            OfferKey::UriTemplate,
            json!({"uriTemplate": listed, "name": "t"}),
        ),
    };
    let is_listed = |uri: &str| offers.resources.iter().any(|offer| offer.key == uri);
    for offer in [&offers.prompts, &offers.resources, &offers.templates] {
        for offer in offer {
            assert!(offer.key.len() <= limits.offer_key_bytes && offer.key == listed);
        }
    }
    let entry = ServerEntry::new(
        Arc::new(spec("files")),
        Arc::new(ServerRecord {
            offers: Arc::new(offers.clone()),
            ..record("files")
        }),
    );
    let other = ServerEntry::new(Arc::new(spec("other")), Arc::new(record("other")));
    let catalog = Catalog::default().with_server(entry).0;
    let catalog = catalog.with_server(other).0;

    for name in ["files", "other"] {
        let server = ServerName::parse(name).unwrap();
        if !wanted.is_empty() {
            let (entry, own) = catalog
                .find_resource(&exposed_uri(&server, wanted))
                .unwrap();
            assert_eq!((entry.name(), own.as_str()), (&server, wanted));
        }
    }
    if let Some(ToolRef::Qualified { server, tool }) = ToolRef::parse(wanted) {
        assert!(ServerName::parse(server.as_str()).is_ok() && wanted.ends_with(tool));
    }
    if let Some(corrected) = ServerName::corrected(wanted) {
        assert!(ServerName::parse(&corrected).is_ok(), "{corrected}");
    }
    if let Ok(prompt) = catalog.find_prompt(wanted) {
        assert_eq!(prompt.offer.key, listed);
    }
    let Ok((entry, own)) = catalog.find_resource(wanted) else {
        return false;
    };
    match wanted.starts_with("pegboard://") {
        true => assert_eq!(exposed_uri(entry.name(), &own), wanted),
        false => {
            assert_eq!((entry.name().as_str(), own.as_str()), ("files", wanted));
            let climbs = own.split(['/', '\\']).any(|part| part == "..");
            assert!(is_listed(&own) || !climbs, "{own}");
        }
    }
    true
}
