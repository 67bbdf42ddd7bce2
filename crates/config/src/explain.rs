//! Effective values with their source, with secrets masked.

use std::path::Path;
use std::sync::Arc;

use pegboard_model::{Layer, UntrustedText, find_secrets};
use serde::Serialize;

use crate::node::{Entry, Node, Value};
use crate::problem::shown_text;
use crate::sensitive::{Visibility, has_written_secret, masked_name, secret_items, visibility};
use crate::template::masked;
use crate::text::SourceText;

/// One value that is in effect, and where it comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct EffectiveValue {
    /// The full key, such as `settings.ttl` or `servers.github.command`.
    pub key: String,
    /// The value, with secrets masked.
    pub value: String,
    /// The layer that the value comes from.
    pub layer: Layer,
    /// The file that the value comes from.
    pub file: Option<Arc<Path>>,
    /// The line in the file, from 1.
    pub line: Option<usize>,
    /// The place of the value that this one replaced.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// Adds one row for each value below a key. `root` is the name of the root table.
pub(crate) fn explain_entry(
    rows: &mut Vec<EffectiveValue>,
    root: &str,
    key: String,
    entry: &Entry,
    source: &SourceText,
    layer: Layer,
) {
    let visibility = visibility(root, &entry.key);
    let mut push = |key: String, value: String, at: usize| {
        let line = Some(source.line_of(at));
        rows.push(EffectiveValue {
            key,
            value,
            layer,
            file: Some(source.path.clone()),
            line,
            note: None,
        });
    };
    flatten(key, &entry.node, entry.key_start, visibility, &mut push);
}

fn flatten(
    key: String,
    node: &Node,
    at: usize,
    visibility: Visibility,
    push: &mut impl FnMut(String, String, usize),
) {
    match &node.value {
        Value::Map(entries) if !entries.is_empty() => {
            for entry in entries {
                let name = match visibility {
                    Visibility::Hidden => masked_name(entry),
                    _ => shown_text(&entry.key, 60).into_owned(),
                };
                let inner = format!("{key}.{name}");
                flatten(inner, &entry.node, entry.key_start, visibility, push);
            }
        }
        _ => push(key, shown(node, visibility), at),
    }
}

fn shown(node: &Node, visibility: Visibility) -> String {
    let mut out = String::new();
    show(&mut out, node, visibility);
    out
}

fn show(out: &mut String, node: &Node, visibility: Visibility) {
    match &node.value {
        Value::List(items) => {
            out.push('[');
            for (at, (item, flagged)) in items
                .iter()
                .zip(secret_items(items, visibility))
                .enumerate()
            {
                out.push_str(if at == 0 { "" } else { ", " });
                show(
                    out,
                    item,
                    if flagged {
                        Visibility::Hidden
                    } else {
                        visibility
                    },
                );
            }
            out.push(']');
        }
        Value::Text(text) => match visibility {
            Visibility::Hidden => out.push_str(&masked(text)),
            Visibility::Address => out.push_str(&masked_url(text)),
            Visibility::Arguments if has_written_secret(text) => out.push_str(&masked(text)),
            Visibility::Open | Visibility::Arguments => out.push_str(&shown_text(text, usize::MAX)),
        },
        _ if visibility == Visibility::Hidden => out.push_str("***"),
        Value::Null => out.push_str("null"),
        Value::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
        Value::Integer(number) => out.push_str(&number.to_string()),
        Value::Float(number) => out.push_str(&number.to_string()),
        // A table inside a list is an example of a call; its size is enough here.
        Value::Map(entries) => out.push_str(&format!("{{{} keys}}", entries.len())),
    }
}

/// Returns a URL with user, password and query values masked.
pub(crate) fn masked_url(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else {
        return masked(url);
    };
    let (main, tail) = match rest.find(['?', '#']) {
        Some(at) => rest.split_at(at),
        None => (rest, ""),
    };
    let (host, path) = match main.find('/') {
        Some(at) => main.split_at(at),
        None => (main, ""),
    };
    let host = match host.rsplit_once('@') {
        Some((_, host)) => format!("***@{host}"),
        None => host.to_owned(),
    };
    let (query, fragment) = tail
        .split_once('#')
        .map_or((tail, None), |(query, rest)| (query, Some(rest)));
    let pairs = query.strip_prefix('?').map(|query| {
        let pairs = query.split('&').map(|pair| match pair.split_once('=') {
            Some((name, value)) => format!("{name}={}", masked(value)),
            None => masked(pair),
        });
        format!("?{}", pairs.collect::<Vec<_>>().join("&"))
    });
    let fragment = if fragment.is_some() { "#***" } else { "" };
    UntrustedText::new(&format!(
        "{scheme}://{host}{}{}{fragment}",
        without_keys(path),
        pairs.unwrap_or_default()
    ))
    .to_string()
}

/// Masks parts of a path that look like a key. Some services put the secret there.
fn without_keys(path: &str) -> String {
    let mut out = String::with_capacity(path.len());
    let mut shown_to = 0;
    for range in find_secrets(path) {
        out.push_str(path.get(shown_to..range.start).unwrap_or_default());
        out.push_str("***");
        shown_to = range.end;
    }
    out.push_str(path.get(shown_to..).unwrap_or_default());
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r_cfg_08_addresses_are_shown_without_their_secrets() {
        for (url, shown) in [
            ("https://host/mcp", "https://host/mcp"),
            ("https://user:canary@host:8/mcp", "https://***@host:8/mcp"),
            (
                "https://host/mcp?key=canary&x=${X}&canary",
                "https://host/mcp?key=***&x=${X}&***",
            ),
            ("https://host#canary", "https://host#***"),
            ("${URL}", "${URL}"),
            ("https://host?a=b?c=d@e", "https://host?a=***"),
            ("user:canary@host", "***"),
        ] {
            assert_eq!(masked_url(url), shown);
        }
    }
}
