//! Adapts results to the protocol revision of the client.

use bytes::Bytes;
use serde_json::value::RawValue;

use pegboard_jsonrpc::meta;

use crate::dispatch::RequestContext;
use crate::members::Members;

/// Adapts a result to the client's revision: adds `resultType` to a legacy server's result for a modern client, and
/// removes members that a legacy client does not know. Everything else stays unchanged.
pub(crate) fn adapt_result(
    ctx: &RequestContext<'_>,
    result: Box<RawValue>,
    is_legacy: bool,
    is_read: bool,
) -> Bytes {
    let text = String::from(Box::<str>::from(result));
    if !ctx.is_modern {
        return for_legacy(text, is_read).into();
    }
    if !is_legacy {
        return text.into();
    }
    let Some(rest) = text.strip_prefix('{') else {
        return text.into();
    };
    let mut added = vec![("resultType", r#""complete""#)];
    if is_read {
        added.extend([("ttlMs", "0"), ("cacheScope", r#""private""#)]);
    }
    // A server may send these members although its revision has none. Avoid duplicate keys.
    if added.iter().any(|(key, _)| text.contains(key))
        && let Some(members) = Members::of(&text)
    {
        added.retain(|(key, _)| members.get(key).is_none());
    }
    let mut added: Vec<String> = (added.iter())
        .map(|(key, value)| format!("\"{key}\":{value}"))
        .collect();
    if !rest.trim_start().starts_with('}') || added.is_empty() {
        added.push(String::new());
    }
    format!("{{{}{rest}", added.join(",")).into()
}

/// Removes members that only the modern revision has: `resultType`, cache hints, and the protocol's own `_meta`
/// members, which may contain a server's icons. Other members keep their bytes.
fn for_legacy(text: String, is_read: bool) -> String {
    let may_hold = |key: &str| text.contains(key);
    let has_kind = may_hold("\"resultType\"");
    let has_meta = may_hold("\"_meta\"") && may_hold(meta::PREFIX);
    let has_hints = is_read && (may_hold("\"ttlMs\"") || may_hold("\"cacheScope\""));
    if !(has_kind || has_meta || has_hints) {
        return text;
    }
    let Some(mut members) = Members::of(&text) else {
        return text;
    };
    let before = members.0.len();
    members.remove("resultType");
    if is_read {
        members.remove("ttlMs");
        members.remove("cacheScope");
    }
    let meta = members.get("_meta").filter(|_| has_meta).map(str::to_owned);
    let kept = meta.as_deref().and_then(Members::of).map(|mut meta| {
        let all = meta.0.len();
        meta.0.retain(|(key, _)| !key.starts_with(meta::PREFIX));
        (meta.0.len() < all, meta.0.is_empty(), meta.to_string())
    });
    match kept {
        Some((true, true, _)) => members.remove("_meta"),
        Some((true, false, meta)) => members.set("_meta", meta),
        _ if members.0.len() == before => return text,
        _ => {}
    }
    members.to_string()
}

#[cfg(test)]
mod tests {
    use super::for_legacy;

    #[test]
    fn r_gate_03_a_legacy_client_gets_nothing_that_only_the_modern_revision_knows() {
        let info = r#""io.modelcontextprotocol/serverInfo":{"name":"n","icons":["data:…"]}"#;
        let check = |result: &str, is_read: bool, expected: &str| {
            assert_eq!(for_legacy(result.to_owned(), is_read), expected, "{result}");
        };
        let content = r#""content":[ {"text":"resultType", "n":1.50} ]"#;
        check(
            &format!(r#"{{"resultType":"complete",{content},"_meta":{{{info}}}}}"#),
            false,
            &format!("{{{content}}}"),
        );
        check(
            &format!(r#"{{{content},"_meta":{{"a.b/c" : 1.50,{info}}},"resultType":"complete"}}"#),
            false,
            &format!(r#"{{{content},"_meta":{{"a.b/c":1.50}}}}"#),
        );
        check(
            r#"{"contents":[],"ttlMs":0,"cacheScope":"private"}"#,
            true,
            r#"{"contents":[]}"#,
        );
        for untouched in [
            r#"{ "structuredContent" : {"resultType":1,"ttlMs":2} }"#,
            r#"{ "ttlMs":1 }"#,
            r#"{ "_meta":{"a":"io.modelcontextprotocol/x"} }"#,
        ] {
            check(untouched, false, untouched);
        }
    }
}
