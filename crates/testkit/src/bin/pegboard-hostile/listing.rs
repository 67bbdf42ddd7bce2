//! `tools/list`: pages, cursors and changes.

use serde_json::{Value, json};

use pegboard_testkit::append_line;
use pegboard_testkit::script::Cursors;

use crate::lifecycle::pause;
use crate::response::Body;
use crate::server::Server;

const SAME_CURSOR: &str = "again";

/// The response to `tools/list`.
pub(crate) fn list(server: &Server, params: &Value, modern: bool) -> Body {
    let script = &server.script.list;
    pause(script.page_delay_ms);
    let cursor = params.get("cursor").filter(|cursor| !cursor.is_null());
    let page = match cursor.map(|cursor| page_of(cursor, script.cursors)) {
        None => 1,
        Some(Some(page)) => page,
        Some(None) => return Body::error(-32602, "invalid cursor"),
    };
    if script.fail_page == Some(page) {
        return Body::error(-32603, "this page fails on purpose");
    }
    let listing = if page == 1 {
        server.next_listing()
    } else {
        server.current_listing()
    };
    let tools = script.tools_at(listing);
    let size = script.page_size.unwrap_or(match script.cursors {
        Cursors::Sound => usize::MAX,
        _ => 1,
    });
    let mut result = match script.cursors {
        Cursors::Endless => {
            json!({"tools": [pegboard_testkit::tool_json(&format!("endless_{page}"))]})
        }
        Cursors::EndlessEmpty => json!({"tools": []}),
        _ => {
            let start = size.saturating_mul(page - 1);
            json!({"tools": tools.iter().skip(start).take(size).collect::<Vec<_>>()})
        }
    };
    let more = size.saturating_mul(page) < tools.len();
    if let Some(cursor) = next_cursor(script.cursors, page, more) {
        result["nextCursor"] = cursor;
    }
    if !script.tools_are.is_null() {
        result["tools"] = script.tools_are.clone();
    }
    add_cache_hints(server, &mut result, page, modern);
    Body::Result(result)
}

fn next_cursor(cursors: Cursors, page: usize, more: bool) -> Option<Value> {
    let next = page + 1;
    match cursors {
        Cursors::Endless | Cursors::EndlessEmpty => Some(json!(format!("page-{next}"))),
        Cursors::Repeated => Some(json!(SAME_CURSOR)),
        _ if !more => None,
        Cursors::EmptyText if page == 1 => Some(json!("")),
        Cursors::Sound | Cursors::EmptyText => Some(json!(format!("page-{next}"))),
        Cursors::Number => Some(json!(next)),
        Cursors::Huge(bytes) => Some(json!(format!("page-{next}{}", "x".repeat(bytes)))),
    }
}

/// The page of a cursor, if the server issued it.
fn page_of(cursor: &Value, cursors: Cursors) -> Option<usize> {
    match (cursors, cursor) {
        (Cursors::Number, Value::Number(page)) => {
            page.as_u64().and_then(|page| page.try_into().ok())
        }
        (Cursors::Repeated, Value::String(text)) if text == SAME_CURSOR => Some(2),
        (Cursors::EmptyText, Value::String(text)) if text.is_empty() => Some(2),
        (Cursors::Number, _) => None,
        (_, Value::String(text)) => text
            .strip_prefix("page-")?
            .trim_end_matches('x')
            .parse()
            .ok(),
        _ => None,
    }
}

fn add_cache_hints(server: &Server, result: &mut Value, page: usize, modern: bool) {
    let script = &server.script.list;
    let scope = script
        .cache_scopes
        .get(page - 1)
        .or(script.cache_scopes.last());
    let (ttl, scope) = match (&script.ttl_ms, scope) {
        // The modern revision requires both.
        (Value::Null, None) if modern => (json!(0), Some(json!("public"))),
        (ttl, scope) => (ttl.clone(), scope.cloned()),
    };
    if !ttl.is_null() {
        result["ttlMs"] = ttl;
    }
    if let Some(scope) = scope {
        result["cacheScope"] = scope;
    }
}

impl Server {
    /// Counts a listing across all processes that share the count file.
    fn next_listing(&self) -> u32 {
        let listing = match &self.script.count_file {
            Some(file) => {
                let _ = append_line(file, "listing");
                let text = std::fs::read_to_string(file).unwrap_or_default();
                text.lines()
                    .filter(|line| *line == "listing")
                    .count()
                    .try_into()
                    .unwrap_or(u32::MAX)
            }
            None => self.current_listing() + 1,
        };
        self.listing
            .store(listing, std::sync::atomic::Ordering::SeqCst);
        listing
    }

    fn current_listing(&self) -> u32 {
        self.listing.load(std::sync::atomic::Ordering::SeqCst)
    }

    /// Whether a tool of this name was listed.
    pub(crate) fn has_tool(&self, name: &str) -> bool {
        let tools = self.script.list.tools_at(self.current_listing().max(1));
        name.starts_with("endless_") || tools.iter().any(|tool| tool["name"] == name)
    }
}
