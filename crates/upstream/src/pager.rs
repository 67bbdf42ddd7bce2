//! Fetches all pages of a list, with limits on everything a server controls.

use std::collections::HashSet;
use std::future::Future;

use pegboard_jsonrpc::{RpcResponse, capped_array, code, present, string};
use pegboard_model::{Limits, Reason, ToolResult};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::contract::{OfferKind, ToolListing};
use crate::errors::ErrorContext;
use crate::list_kind::ListKind;

/// One page of any list.
#[derive(Deserialize)]
struct Page<'a> {
    #[serde(borrow, default, deserialize_with = "present")]
    tools: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    prompts: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    resources: Option<&'a RawValue>,
    #[serde(
        borrow,
        default,
        rename = "resourceTemplates",
        deserialize_with = "present"
    )]
    templates: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "nextCursor", deserialize_with = "present")]
    next: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "ttlMs", deserialize_with = "present")]
    ttl: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "cacheScope", deserialize_with = "present")]
    scope: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "resultType", deserialize_with = "present")]
    kind: Option<&'a RawValue>,
}

impl<'a> Page<'a> {
    fn entries(&self, list: ListKind) -> Option<&'a RawValue> {
        match list {
            ListKind::Tools => self.tools,
            ListKind::Offers(OfferKind::Prompts) => self.prompts,
            ListKind::Offers(OfferKind::Resources) => self.resources,
            ListKind::Offers(OfferKind::Templates) => self.templates,
        }
    }
}

/// Fetches page after page. One failing page fails the list: a partial list would look like removed tools.
///
/// `may_lack`: the server does not declare the list and may respond that the method does not exist.
///
/// # Errors
/// Fails if a page fails or is malformed, a cursor repeats, or a limit is exceeded.
pub(crate) async fn list_all<F, P>(
    list: ListKind,
    errors: &ErrorContext,
    limits: &Limits,
    may_lack: bool,
    mut fetch: F,
) -> ToolResult<ToolListing>
where
    F: FnMut(Option<String>) -> P,
    P: Future<Output = ToolResult<RpcResponse>>,
{
    let mut listing = ToolListing {
        tools: Vec::new(),
        ttl_ms: None,
        private: false,
        pages: 0,
    };
    let mut seen = HashSet::new();
    let mut cursor: Option<String> = None;
    let mut bytes = 0;
    let mut scope = None;
    let failed = |what: &str| {
        errors.error(
            Reason::DiscoveryFailed,
            format_args!("answered `{}` {what}", list.method()),
        )
    };
    loop {
        let (result, is_deep) = match fetch(cursor.clone()).await? {
            RpcResponse::Result(result) => (result, false),
            // An entry that is nested too deeply affects only itself; entries are checked individually later.
            RpcResponse::TooDeep(result) => (result, true),
            RpcResponse::Error(error)
                if error.code == code::METHOD_NOT_FOUND && may_lack && listing.pages == 0 =>
            {
                return Ok(listing);
            }
            RpcResponse::Error(error) => {
                return Err(failed(&format!("with {}", errors.describe(&error))));
            }
        };
        bytes += result.get().len();
        if bytes > limits.list_bytes {
            return Err(too_large(
                list,
                errors,
                format_args!("{} bytes", limits.list_bytes),
            ));
        }
        let page = Some(result.get()).filter(|text| text.starts_with('{'));
        let page: Page<'_> = page
            .and_then(|text| serde_json::from_str(text).ok())
            .filter(|page: &Page<'_>| !is_deep || page.entries(list).is_some())
            .ok_or_else(|| match is_deep {
                true => errors.too_deep(),
                false => failed(&format!(
                    "with something that is not a list of {}",
                    list.entries()
                )),
            })?;
        if page.kind.is_some_and(|kind| kind.get() != "\"complete\"") {
            return Err(failed("with an unknown result type"));
        }
        let tools = page
            .entries(list)
            .ok_or_else(|| failed(&format!("without `{}`", list.key())))?;
        let most = match list {
            ListKind::Tools => limits.tools_per_server,
            ListKind::Offers(_) => limits.offers_per_list,
        };
        let room = most.saturating_sub(listing.tools.len());
        let tools = capped_array(&mut serde_json::Deserializer::from_str(tools.get()), room)
            .map_err(|_| failed(&format!("with `{}` that is not an array", list.key())))?
            .ok_or_else(|| too_large(list, errors, format_args!("{most} {}", list.entries())))?;
        listing
            .tools
            .extend(tools.into_iter().map(ToOwned::to_owned));
        listing.pages += 1;
        listing.ttl_ms = shorter(listing.pages, listing.ttl_ms, ttl(page.ttl, limits));
        // If pages differ, the most restrictive one counts; an unknown scope does not permit sharing.
        let page_scope = page.scope.and_then(string);
        let differs = listing.pages > 1 && scope.as_deref() != page_scope.as_deref();
        let is_stated = page.scope.is_some_and(|scope| scope.get() != "null");
        listing.private |= differs || (is_stated && page_scope.as_deref() != Some("public"));
        scope = page_scope.map(|scope| scope.into_owned());
        let next = match page.next {
            None => return Ok(listing),
            Some(next) if next.get() == "null" => return Ok(listing),
            Some(next) if next.get().len() > limits.cursor_bytes => {
                let what = format!("sent a cursor of more than {} bytes", limits.cursor_bytes);
                let error = errors.error(Reason::ListTooLarge, what);
                return Err(error.with_remedy(Reason::PaginationLoop.remedy()));
            }
            Some(next) => string(next)
                .ok_or_else(|| failed("with a cursor that is not a string"))?
                .into_owned(),
        };
        if !seen.insert(next.clone()) {
            return Err(errors.error(
                Reason::PaginationLoop,
                format_args!("returns the same page of {} repeatedly", list.entries()),
            ));
        }
        if listing.pages >= limits.pages_per_list {
            return Err(too_large(
                list,
                errors,
                format_args!("{} pages", limits.pages_per_list),
            ));
        }
        cursor = Some(next);
    }
}

fn too_large(
    list: ListKind,
    errors: &ErrorContext,
    limit: std::fmt::Arguments<'_>,
) -> pegboard_model::ToolError {
    errors.error(
        Reason::ListTooLarge,
        format_args!("has a list of {} that exceeds {limit}", list.entries()),
    )
}

/// Returns a usable hint: a positive integer, at most the longest honoured TTL.
fn ttl(raw: Option<&RawValue>, limits: &Limits) -> Option<u64> {
    let longest = u64::try_from(limits.max_ttl.as_millis()).unwrap_or(u64::MAX);
    let digits = raw?.get();
    match digits.parse::<u64>() {
        Ok(hint) => Some(hint.min(longest)).filter(|hint| *hint > 0),
        // More digits than fit into the type are still a very long time.
        Err(_) if !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) => {
            Some(longest)
        }
        Err(_) => None,
    }
}

/// The list is as fresh as its shortest-lived page. A page without a hint invalidates the hint.
fn shorter(pages: usize, known: Option<u64>, page: Option<u64>) -> Option<u64> {
    if pages == 1 {
        page
    } else {
        known.zip(page).map(|(a, b)| a.min(b))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use pegboard_jsonrpc::rpc_error;

    use super::*;
    use crate::testing::errors;

    fn small() -> Limits {
        Limits {
            tools_per_server: 6,
            pages_per_list: 4,
            cursor_bytes: 20,
            list_bytes: 2_000,
            ..Limits::default()
        }
    }

    /// Serves the given pages by position, and the last one for all further requests.
    async fn list(pages: &[&str]) -> ToolResult<(ToolListing, Vec<Option<String>>)> {
        let mut asked = Vec::new();
        let listing = list_all(ListKind::Tools, &errors(), &small(), true, |cursor| {
            let page = pages[asked.len().min(pages.len() - 1)];
            asked.push(cursor);
            let response = match page.strip_prefix("error ") {
                Some(code) => RpcResponse::Error(rpc_error(code.parse().unwrap(), "no")),
                None => RpcResponse::Result(RawValue::from_string(page.to_owned()).unwrap()),
            };
            async { Ok(response) }
        })
        .await?;
        Ok((listing, asked))
    }

    #[tokio::test]
    async fn r_disc_02_all_pages_are_read_and_kept_byte_for_byte() {
        let pages = [
            r#"{"tools":[{"name":"b", "x-vendor":1.0}],"nextCursor":""}"#,
            r#"{"tools":[{"z":0,"name":"a"}],"nextCursor":"2"}"#,
            r#"{"tools":[],"nextCursor":null}"#,
        ];
        let (listing, asked) = list(&pages).await.unwrap();
        let tools: Vec<_> = listing.tools.iter().map(|tool| tool.get()).collect();
        assert_eq!(
            tools,
            [r#"{"name":"b", "x-vendor":1.0}"#, r#"{"z":0,"name":"a"}"#]
        );
        assert_eq!(asked, [None, Some(String::new()), Some("2".to_owned())]);
        assert_eq!(listing.pages, 3);
    }

    #[tokio::test]
    async fn r_disc_02_endless_and_broken_lists_fail_as_a_whole() {
        let full = format!("{{\"tools\":[{}]}}", ["1"; 7].join(","));
        let long = format!("{{\"tools\":[\"{}\"]}}", "x".repeat(2_000));
        let cases: &[(&[&str], Reason)] = &[
            (
                &[r#"{"tools":[],"nextCursor":"a"}"#],
                Reason::PaginationLoop,
            ),
            (&[r#"{"tools":[],"nextCursor":""}"#], Reason::PaginationLoop),
            (&[r#"{"tools":[],"nextCursor":5}"#], Reason::DiscoveryFailed),
            (
                &[r#"{"tools":[],"nextCursor":"aaaaaaaaaaaaaaaaaaaaaaaaa"}"#],
                Reason::ListTooLarge,
            ),
            (&[&full], Reason::ListTooLarge),
            (&[&long], Reason::ListTooLarge),
            (&[r#"{"tools":{}}"#], Reason::DiscoveryFailed),
            (&[r#"{"tools":null}"#], Reason::DiscoveryFailed),
            (&[r#"{}"#], Reason::DiscoveryFailed),
            (&[r#"[[]]"#], Reason::DiscoveryFailed),
            (&[r#"{"tools":[],"tools":[]}"#], Reason::DiscoveryFailed),
            (
                &[r#"{"tools":[],"resultType":"surprise"}"#],
                Reason::DiscoveryFailed,
            ),
            (&["error -32603"], Reason::DiscoveryFailed),
            (
                &[r#"{"tools":[1],"nextCursor":"a"}"#, "error -32601"],
                Reason::DiscoveryFailed,
            ),
        ];
        for (pages, reason) in cases {
            assert_eq!(list(pages).await.unwrap_err().reason, *reason, "{pages:?}");
        }
    }

    #[tokio::test]
    async fn r_sec_01_a_deeply_nested_entry_is_rejected_alone() {
        let bomb = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
        let list = async |page: String| {
            let page = || RawValue::from_string(page.clone()).unwrap();
            let response = |_| async { Ok(RpcResponse::TooDeep(page())) };
            list_all(
                ListKind::Tools,
                &errors(),
                &Limits::default(),
                true,
                response,
            )
            .await
        };
        let page =
            format!(r#"{{"tools":[{{"name":"a"}},{{"name":"b","x":{bomb}}},{{"name":"c"}}]}}"#);
        assert_eq!(list(page).await.unwrap().tools.len(), 3);
        for page in [format!(r#"{{"other":{bomb}}}"#), bomb.clone()] {
            let error = list(page).await.unwrap_err();
            assert_eq!(error.reason, Reason::FrameInvalid);
        }
        let cursor = format!(r#"{{"tools":[],"nextCursor":{bomb}}}"#);
        assert!(list(cursor).await.is_err(), "a deep cursor is not text");
    }

    #[tokio::test]
    async fn r_disc_02_ever_new_cursors_end_at_the_page_limit() {
        let mut asked = 0;
        let error = list_all(ListKind::Tools, &errors(), &small(), true, |_| {
            asked += 1;
            let page = format!("{{\"tools\":[],\"nextCursor\":\"{asked}\"}}");
            async { Ok(RpcResponse::Result(RawValue::from_string(page).unwrap())) }
        })
        .await
        .unwrap_err();
        assert_eq!((error.reason, asked), (Reason::ListTooLarge, 4));
    }

    #[tokio::test]
    async fn r_disc_09_a_server_without_the_method_has_no_tools() {
        let (listing, _) = list(&["error -32601"]).await.unwrap();
        assert!(listing.tools.is_empty());
        let refusal = || async { Ok(RpcResponse::Error(rpc_error(code::METHOD_NOT_FOUND, "no"))) };
        let error = list_all(ListKind::Tools, &errors(), &small(), false, |_| refusal())
            .await
            .unwrap_err();
        assert_eq!(error.reason, Reason::DiscoveryFailed);
    }

    #[tokio::test]
    async fn r_disc_12_cache_hints_are_read_and_clamped() {
        let day = Limits::default().max_ttl.as_millis() as u64;
        assert_eq!(Limits::default().max_ttl, Duration::from_secs(24 * 3600));
        for (ttl, expected) in [
            ("60000", Some(60_000)),
            ("0", None),
            ("-5", None),
            ("\"60000\"", None),
            ("null", None),
            ("1.5", None),
            ("9223372036854775808", Some(day)),
            ("99999999999999999999999999", Some(day)),
        ] {
            let page = format!("{{\"tools\":[],\"ttlMs\":{ttl}}}");
            assert_eq!(list(&[&page]).await.unwrap().0.ttl_ms, expected, "{ttl}");
        }
        let pages = [
            r#"{"tools":[],"ttlMs":9,"nextCursor":"a"}"#,
            r#"{"tools":[],"ttlMs":5}"#,
        ];
        assert_eq!(list(&pages).await.unwrap().0.ttl_ms, Some(5));
        let pages = [
            r#"{"tools":[],"ttlMs":9,"nextCursor":"a"}"#,
            r#"{"tools":[]}"#,
        ];
        assert_eq!(list(&pages).await.unwrap().0.ttl_ms, None);
    }

    #[tokio::test]
    async fn r_disc_12_a_list_is_private_when_any_page_is_or_pages_differ() {
        let page = |scope: &str, next: &str| format!("{{\"tools\":[]{scope}{next}}}");
        let next = ",\"nextCursor\":\"a\"";
        let (private, public) = (",\"cacheScope\":\"private\"", ",\"cacheScope\":\"public\"");
        for (first, second, expected) in [
            (public, public, false),
            (public, private, true),
            (private, public, true),
            (",\"cacheScope\":7", ",\"cacheScope\":7", true),
            (",\"cacheScope\":\"team\"", ",\"cacheScope\":\"team\"", true),
            (",\"cacheScope\":null", "", false),
            (public, "", true),
            ("", "", false),
        ] {
            let pages = [page(first, next), page(second, "")];
            let pages: Vec<_> = pages.iter().map(String::as_str).collect();
            assert_eq!(
                list(&pages).await.unwrap().0.private,
                expected,
                "{first} {second}"
            );
        }
    }
}
