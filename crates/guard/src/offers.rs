//! From the prompts, resources and templates that a server sent to those that Pegboard keeps.

use std::collections::HashSet;

use pegboard_model::{Limits, Offer, Reason, Rejection, UntrustedText};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::duplicate_keys::has_duplicate_key;
use crate::fields::Fields;
use crate::nesting::nesting;
use crate::schema::Problem;

/// Characters of a key in a rejection.
const SHOWN_KEY: usize = 80;

/// The member of a definition that a thing is known by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OfferKey {
    /// `name`, of prompts.
    Name,
    /// `uri`, of resources.
    Uri,
    /// `uriTemplate`, of resource templates.
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

/// Looks at each definition by itself; a bad one costs only itself. The sound ones come sorted by key, with
/// their definitions byte for byte, and beside them why each of the others is not among them.
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
        let verdict = admit_one(key, definition, limits).and_then(|offer| {
            if seen.insert(offer.key.clone()) {
                return Ok(offer);
            }
            let detail = format!("another one has the same `{}`", key.member());
            Err((Reason::ToolDuplicate, detail))
        });
        match verdict {
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
        return Err(malformed(format!("it has {depth} levels of nesting")));
    }
    if has_duplicate_key(definition) {
        return Err(malformed("an object in it has the same key twice".into()));
    }
    let member = key.member();
    let wrong = |detail: String| Err((Reason::ToolRejectedName, detail));
    let text = match fields.value(member) {
        Ok(Some(Value::String(text))) => text,
        Ok(None) => return wrong(format!("there is no `{member}`")),
        Ok(Some(_)) | Err(_) => return wrong(format!("`{member}` is not a string")),
    };
    if text.is_empty() {
        return wrong(format!("`{member}` is empty"));
    }
    if text.len() > limits.offer_key_bytes {
        let (bytes, limit) = (text.len(), limits.offer_key_bytes);
        return wrong(format!("`{member}` has {bytes} bytes; {limit} are allowed"));
    }
    // It travels in headers and on command lines, where a control character could begin something new.
    if text.chars().any(char::is_control) {
        return wrong(format!("`{member}` holds a control character"));
    }
    Ok(Offer {
        key: text,
        definition: definition.into(),
    })
}

/// What a definition that was not accepted is known by, or its position in the list; with its kind, because
/// tools that were not accepted stand beside it.
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
