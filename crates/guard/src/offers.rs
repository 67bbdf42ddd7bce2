//! Admission of the prompts, resources and resource templates that a server sent.

use std::collections::HashSet;

use pegboard_model::{Limits, Offer, Reason, Rejection, UntrustedText};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::duplicate_keys::has_duplicate_key;
use crate::fields::Fields;
use crate::nesting::nesting;
use crate::schema::Problem;

/// Maximum number of characters of a key in a rejection.
const SHOWN_KEY: usize = 80;

/// The member that identifies a prompt, resource or resource template.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OfferKey {
    /// `name` of a prompt.
    Name,
    /// `uri` of a resource.
    Uri,
    /// `uriTemplate` of a resource template.
    UriTemplate,
}

impl OfferKey {
    fn member(self) -> &'static str {
        match self {
            Self::Name => "name",
            Self::Uri => "uri",
            Self::UriTemplate => "uriTemplate",
        }
    }

    fn kind(self) -> &'static str {
        match self {
            Self::Name => "prompt",
            Self::Uri => "resource",
            Self::UriTemplate => "template",
        }
    }
}

/// Checks each definition independently. Returns the admitted ones, sorted by key and verbatim, and the rejections.
pub fn admit_offers(
    key: OfferKey,
    raw: &[Box<RawValue>],
    limits: &Limits,
) -> (Vec<Offer>, Vec<Rejection>) {
    let mut offers: Vec<Offer> = Vec::new();
    let mut rejections = Vec::new();
    let mut seen = HashSet::new();
    let mut surplus = 0_usize;
    for (position, definition) in raw.iter().enumerate() {
        if offers.len() + rejections.len() >= limits.offers_per_list {
            surplus += 1;
            continue;
        }
        let definition = definition.get();
        let admitted = admit_one(key, definition, limits).and_then(|offer| {
            if seen.insert(offer.key.clone()) {
                return Ok(offer);
            }
            let detail = format!("another {} has the same `{}`", key.kind(), key.member());
            Err((Reason::ToolDuplicate, detail))
        });
        match admitted {
            Ok(offer) => offers.push(offer),
            Err((reason, detail)) => rejections.push(Rejection {
                tool: shown_key(key, definition, position),
                reason,
                detail,
            }),
        }
    }
    if surplus > 0 {
        let limit = limits.offers_per_list;
        rejections.push(Rejection {
            tool: format!("{} #{}", key.kind(), limit + 1),
            reason: Reason::ListTooLarge,
            detail: format!("{surplus} more than the allowed {limit} were left out"),
        });
    }
    offers.sort_by(|one, other| one.key.cmp(&other.key));
    (offers, rejections)
}

fn admit_one(key: OfferKey, definition: &str, limits: &Limits) -> Result<Offer, Problem> {
    if definition.len() > limits.tool_bytes {
        let (bytes, limit) = (definition.len(), limits.tool_bytes);
        let detail = format!("the definition has {bytes} bytes; {limit} are allowed");
        return Err((Reason::ToolTooLarge, detail));
    }
    let malformed = |detail: String| (Reason::ToolMalformed, detail);
    let fields = Fields::read(definition).map_err(|error| malformed(error.to_string()))?;
    let depth = nesting(definition);
    if depth >= limits.json_depth {
        return Err(malformed(format!(
            "the definition has {depth} levels of nesting"
        )));
    }
    if has_duplicate_key(definition) {
        return Err(malformed("an object has a duplicate key".into()));
    }
    let member = key.member();
    let wrong = |detail: String| Err((Reason::ToolRejectedName, detail));
    let text = match fields.value(member) {
        Ok(Some(Value::String(text))) => text,
        Ok(None) => return wrong(format!("`{member}` is missing")),
        Ok(Some(_)) | Err(_) => return wrong(format!("`{member}` is not a string")),
    };
    if text.is_empty() {
        return wrong(format!("`{member}` is empty"));
    }
    if text.len() > limits.offer_key_bytes {
        let (bytes, limit) = (text.len(), limits.offer_key_bytes);
        return wrong(format!("`{member}` has {bytes} bytes; {limit} are allowed"));
    }
    // The key is used in headers and on command lines, where a control character could inject something.
    if text.chars().any(char::is_control) {
        return wrong(format!("`{member}` contains a control character"));
    }
    Ok(Offer {
        key: text,
        definition: definition.into(),
    })
}

/// The key of a rejected definition, or its position in the list. The kind is included because rejections of tools are
/// in the same list.
fn shown_key(key: OfferKey, definition: &str, position: usize) -> String {
    let fields = Fields::read(definition).ok();
    let value = fields.and_then(|fields| fields.value(key.member()).ok().flatten());
    let kind = key.kind();
    match value.as_ref().and_then(Value::as_str) {
        Some(text) if !text.is_empty() => {
            format!("{kind} {}", UntrustedText::new(text).shortened(SHOWN_KEY))
        }
        _ => format!("{kind} #{}", position + 1),
    }
}
