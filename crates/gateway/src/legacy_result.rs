//! Converts a modern server's result for a legacy client.

use crate::members::Members;

/// Prefix of `_meta` members that only the modern revision has, such as the server info in every result.
const MODERN_META: &str = "io.modelcontextprotocol/";

/// Removes members that only the modern revision has: `resultType`, cache hints, and the protocol's own `_meta`
/// members, which may contain a server's icons. Other members keep their bytes.
pub(crate) fn for_legacy(text: String, is_read: bool) -> String {
    let may_hold = |key: &str| text.contains(key);
    let has_kind = may_hold("\"resultType\"");
    let has_meta = may_hold("\"_meta\"") && may_hold(MODERN_META);
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
        meta.0.retain(|(key, _)| !key.starts_with(MODERN_META));
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
