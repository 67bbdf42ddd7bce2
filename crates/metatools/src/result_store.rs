//! Stores large results. Nothing is truncated silently: the first part says how much there is and how to continue.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use pegboard_catalog::reserved::{CALL_READ_ONLY, READ_RESULT};
use pegboard_guard::estimate_tokens;
use pegboard_model::{Limits, Reason, ToolError, ToolResult};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::members::{Members, quoted};
use crate::read_result::{ReadResultArgs, read};

/// A result is dropped when it was not read for this long.
const STORED_FOR: Duration = Duration::from_secs(30 * 60);

/// The stored results.
pub struct ResultStore {
    stored: Mutex<HashMap<String, StoredEntry>>,
    max_bytes: usize,
}

struct StoredEntry {
    result: Arc<StoredResult>,
    last_read: Instant,
}

/// One large result.
pub(crate) struct StoredResult {
    /// The whole text.
    pub(crate) text: String,
    /// The structured content, as JSON text.
    pub(crate) structured: Option<String>,
    /// Token limit of one part.
    pub(crate) part_tokens: usize,
}

impl StoredResult {
    fn bytes(&self) -> usize {
        self.text.len() + self.structured.as_ref().map_or(0, String::len)
    }

    /// Returns the part of the text at a byte offset, and the offset of the next part.
    pub(crate) fn part(&self, offset: usize) -> (&str, usize) {
        part(&self.text, offset, self.part_tokens)
    }
}

/// Returns about `tokens` tokens of text at a byte offset, and the offset after them. Prefers to end after a line.
pub(crate) fn part(text: &str, offset: usize, tokens: usize) -> (&str, usize) {
    let start = floor_char_boundary(text, offset);
    let rest = text.get(start..).unwrap_or_default();
    let mut length = rest.len();
    while length > 0 {
        let cut = floor_char_boundary(rest, length);
        let piece = rest.get(..cut).unwrap_or_default();
        let has = estimate_tokens(piece) as usize;
        if has <= tokens {
            break;
        }
        // Aims a little lower, so that one or two steps are enough.
        length = (length as u128 * tokens as u128 * 95 / 100 / has as u128) as usize;
    }
    let mut cut = floor_char_boundary(rest, length);
    if cut < rest.len()
        && let Some(line) = rest.get(..cut).and_then(|piece| piece.rfind('\n'))
        && line > cut / 2
    {
        cut = line + 1;
    }
    // Always makes progress, even if one character exceeds the limit.
    if cut == 0 && !rest.is_empty() {
        cut = rest.chars().next().map_or(0, char::len_utf8);
    }
    (rest.get(..cut).unwrap_or_default(), start + cut)
}

/// Returns the last character boundary at or before a byte offset.
pub(crate) fn floor_char_boundary(text: &str, at: usize) -> usize {
    let at = at.min(text.len());
    let back = (0..4).find(|back| text.is_char_boundary(at.saturating_sub(*back)));
    at.saturating_sub(back.unwrap_or(0))
}

impl ResultStore {
    /// Creates an empty store.
    pub fn new(limits: &Limits) -> Self {
        Self {
            stored: Mutex::default(),
            max_bytes: limits.stored_results_bytes,
        }
    }

    /// Stores a result with more than `limit` tokens and returns its first part. Returns `None` if it is small
    /// enough, or larger than the whole store.
    pub fn shorten(&self, result: &RawValue, limit: usize, now: Instant) -> Option<Box<RawValue>> {
        // A token has at least one byte.
        if result.get().len() <= limit {
            return None;
        }
        let mut members = Members::of(result.get())?;
        let blocks: Vec<&RawValue> = match members.get("content") {
            Some(content) => serde_json::from_str(content).ok()?,
            None => Vec::new(),
        };
        let texts: Vec<Option<String>> = blocks.iter().map(|block| text_of(block)).collect();
        let mut text = texts
            .iter()
            .flatten()
            .map(String::as_str)
            .collect::<Vec<_>>()
            .join("\n\n");
        let structured = members.get("structuredContent").map(str::to_owned);
        let is_large = |text: &str| estimate_tokens(text) as usize > limit;
        if !is_large(&text) {
            // The text usually repeats the structured content, so they are not added up.
            let structured = structured.as_deref().filter(|json| is_large(json))?;
            if !text.is_empty() {
                text.push_str("\n\n");
            }
            text.push_str(structured);
        }
        let tokens = estimate_tokens(&text) as usize;
        let stored = Arc::new(StoredResult {
            text,
            structured,
            part_tokens: (limit * 4 / 5).max(1),
        });
        let (first, next) = stored.part(0);
        let first = first.to_owned();
        let id = self.insert(stored.clone(), now)?;
        let note = continuation_note(&id, &stored, 0, next, tokens);
        let first = format!(
            r#"{{"type":"text","text":{}}}"#,
            quoted(&format!("{first}{note}"))
        );
        let others = blocks.iter().zip(&texts).filter(|(_, text)| text.is_none());
        let blocks: Vec<&str> = std::iter::once(first.as_str())
            .chain(others.map(|(block, _)| block.get()))
            .collect();
        members.set("content", format!("[{}]", blocks.join(",")));
        members.remove("structuredContent");
        RawValue::from_string(members.to_string()).ok()
    }

    /// Reads a part of a stored result.
    pub(crate) fn read(&self, args: &ReadResultArgs, now: Instant) -> ToolResult<String> {
        read(&*self.find(&args.id, now)?, args)
    }

    fn find(&self, id: &str, now: Instant) -> ToolResult<Arc<StoredResult>> {
        let mut stored = self.unexpired(now);
        match stored.get_mut(id) {
            Some(entry) => {
                entry.last_read = now;
                Ok(entry.result.clone())
            }
            None => {
                let message = "no result with this id is stored";
                Err(ToolError::new(Reason::ResultGone, message).at_field("id"))
            }
        }
    }

    /// Stores a result, dropping the least recently read ones to make room. Returns `None` if it exceeds the whole
    /// store.
    fn insert(&self, result: Arc<StoredResult>, now: Instant) -> Option<String> {
        if result.bytes() > self.max_bytes {
            return None;
        }
        let mut stored = self.unexpired(now);
        let mut bytes: usize = stored.values().map(|entry| entry.result.bytes()).sum();
        while bytes + result.bytes() > self.max_bytes {
            let oldest = stored.iter().min_by_key(|(_, entry)| entry.last_read);
            let Some(id) = oldest.map(|(id, _)| id.clone()) else {
                break;
            };
            bytes -= stored.remove(&id).map_or(0, |entry| entry.result.bytes());
        }
        let id = new_id();
        let last_read = now;
        stored.insert(id.clone(), StoredEntry { result, last_read });
        Some(id)
    }

    /// Drops expired results and returns the others.
    fn unexpired(&self, now: Instant) -> MutexGuard<'_, HashMap<String, StoredEntry>> {
        let mut stored = self.stored.lock().unwrap_or_else(PoisonError::into_inner);
        stored.retain(|_, entry| now.saturating_duration_since(entry.last_read) < STORED_FOR);
        stored
    }
}

/// Returns an unguessable id.
fn new_id() -> String {
    let mut bytes = [0; 18];
    // Without a random source ids could be guessed, but nothing else would work either.
    let _ = getrandom::fill(&mut bytes);
    URL_SAFE_NO_PAD.encode(bytes)
}

/// Returns the text of a text block or an embedded text resource.
fn text_of(block: &RawValue) -> Option<String> {
    #[derive(Deserialize)]
    struct Block {
        #[serde(rename = "type")]
        kind: String,
        #[serde(default)]
        text: Option<String>,
        #[serde(default)]
        resource: Option<Resource>,
    }
    #[derive(Deserialize)]
    struct Resource {
        #[serde(default)]
        text: Option<String>,
    }
    let block: Block = serde_json::from_str(block.get()).ok()?;
    match block.kind.as_str() {
        "text" => block.text,
        "resource" => block.resource.and_then(|resource| resource.text),
        _ => None,
    }
}

/// Returns the note below a part: how much there is, and the exact call that continues.
pub(crate) fn continuation_note(
    id: &str,
    stored: &StoredResult,
    from: usize,
    next: usize,
    tokens: usize,
) -> String {
    let total = stored.text.len();
    let mut note =
        format!("\n\n[Bytes {from} to {next} of {total} (about {tokens} tokens in all).");
    if next < total {
        note.push_str(&format!(
            " Read on: {READ_RESULT}{{\"id\":\"{id}\",\"offset\":{next}}}; \
             find lines: {READ_RESULT}{{\"id\":\"{id}\",\"grep\":\"PATTERN\"}}"
        ));
        if stored.structured.is_some() || stored.text.trim_start().starts_with(['{', '[']) {
            note.push_str(&format!(
                "; take a part of the JSON: {READ_RESULT}{{\"id\":\"{id}\",\"pointer\":\"/KEY/0\"}}"
            ));
        }
        note.push_str(&format!("; all through {CALL_READ_ONLY}."));
    } else {
        note.push_str(" This is the end.");
    }
    note.push(']');
    note
}

#[cfg(test)]
mod tests {
    use super::*;

    fn result(text: &str) -> Box<RawValue> {
        let result = serde_json::json!({
            "content": [{"type": "text", "text": text}, {"type": "image", "data": "AAAA", "mimeType": "image/png"}],
            "structuredContent": {"rows": [1, 2]},
            "_meta": {"x": 1},
        });
        RawValue::from_string(result.to_string()).unwrap()
    }

    fn id_in(short: &RawValue) -> String {
        let short: serde_json::Value = serde_json::from_str(short.get()).unwrap();
        let text = short["content"][0]["text"].as_str().unwrap();
        let id = text.split("\"id\":\"").nth(1).unwrap();
        id.split('"').next().unwrap().to_owned()
    }

    #[test]
    fn r_ctx_08_a_small_result_is_left_alone() {
        let result_store = ResultStore::new(&Limits::default());
        assert!(
            result_store
                .shorten(&result("short"), 1_000, Instant::now())
                .is_none()
        );
        let base64 =
            serde_json::json!({"content": [{"type": "image", "data": "A".repeat(100_000)}]});
        let image = RawValue::from_string(base64.to_string()).unwrap();
        assert!(
            result_store
                .shorten(&image, 1_000, Instant::now())
                .is_none(),
            "images are not text"
        );
    }

    #[test]
    fn r_ctx_08_a_large_result_comes_in_parts_and_nothing_is_lost() {
        let text: String = (0..5_000)
            .map(|n| format!("line {n} of some words — é\n"))
            .collect();
        let result_store = ResultStore::new(&Limits::default());
        let short = result_store
            .shorten(&result(&text), 1_000, Instant::now())
            .unwrap();
        let id = id_in(&short);
        let short: serde_json::Value = serde_json::from_str(short.get()).unwrap();
        assert_eq!(short["content"][1]["type"], "image");
        assert_eq!(short["_meta"]["x"], 1);
        assert!(short.get("structuredContent").is_none());
        let first = short["content"][0]["text"].as_str().unwrap();
        assert!(estimate_tokens(first) < 1_000, "{}", estimate_tokens(first));
        let stored = result_store.find(&id, Instant::now()).unwrap();
        let (mut whole, mut offset) = (String::new(), 0);
        while offset < stored.text.len() {
            let (part, next) = stored.part(offset);
            assert!(next > offset);
            whole.push_str(part);
            offset = next;
        }
        assert_eq!(whole, text);
        assert_eq!(stored.structured.as_deref(), Some(r#"{"rows":[1,2]}"#));
    }

    #[test]
    fn r_ctx_08_structured_content_counts_with_any_text_next_to_it() {
        let rows: Vec<String> = (0..1_000).map(|n| format!("row {n}")).collect();
        for mut result in [
            serde_json::json!({"content": [{"type": "text", "text": "see rows"}]}),
            serde_json::json!({"content": []}),
            serde_json::json!({}),
        ] {
            result["structuredContent"] = serde_json::json!({"rows": rows});
            let result_store = ResultStore::new(&Limits::default());
            let raw = RawValue::from_string(result.to_string()).unwrap();
            let short = result_store.shorten(&raw, 500, Instant::now()).unwrap();
            assert!(short.get().len() < raw.get().len() / 2, "{short}");
            let stored = result_store.find(&id_in(&short), Instant::now()).unwrap();
            assert!(stored.text.ends_with(r#""row 999"]}"#));
            let text = result["content"][0]["text"].as_str().unwrap_or_default();
            assert!(stored.text.starts_with(text));
        }
    }

    #[test]
    fn r_ctx_08_the_store_is_bounded_and_a_dropped_result_is_reported() {
        let limits = Limits {
            stored_results_bytes: 30_000,
            ..Limits::default()
        };
        let result_store = ResultStore::new(&limits);
        let text = "words and more words ".repeat(1_000);
        let ids: Vec<String> = (0..3)
            .map(|_| {
                let short = result_store
                    .shorten(&result(&text), 100, Instant::now())
                    .unwrap();
                id_in(&short)
            })
            .collect();
        assert!(result_store.find(&ids[2], Instant::now()).is_ok());
        assert_eq!(
            result_store
                .find(&ids[0], Instant::now())
                .err()
                .unwrap()
                .reason,
            Reason::ResultGone
        );
    }

    #[test]
    fn r_ctx_08_a_result_expires_after_it_was_last_read() {
        let result_store = ResultStore::new(&Limits::default());
        let text = "words and more words ".repeat(1_000);
        let stored_at = Instant::now();
        let short = result_store.shorten(&result(&text), 100, stored_at);
        let id = id_in(&short.unwrap());
        let read_at = stored_at + STORED_FOR / 2;
        assert!(result_store.find(&id, read_at).is_ok());
        let expired_at = read_at + STORED_FOR;
        assert!(
            result_store
                .find(&id, expired_at - Duration::from_secs(1))
                .is_ok()
        );
        let gone = result_store.find(&id, expired_at + STORED_FOR);
        assert_eq!(gone.err().unwrap().reason, Reason::ResultGone);
    }
}
