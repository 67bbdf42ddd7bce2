//! JSON-RPC batches, which only revision 2025-03-26 has.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::future::join_all;
use serde_json::value::RawValue;

use crate::conversation::{Conversation, MessageSink};
use crate::message::{Message, MessageKind};
use crate::response::{Response, code, rpc};

/// The only revision with batches.
pub(crate) const BATCH_REVISION: &str = "2025-03-26";

/// The messages of a batch, each parsed or already refused.
pub(crate) type Batch = Vec<Result<Message, Response>>;

/// Whether the first non-space byte is `[`.
pub(crate) fn is_batch(text: &[u8]) -> bool {
    text.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'[')
}

/// Parses a batch of at most `most` messages.
pub(crate) fn read_batch(text: &Bytes, most: usize) -> Result<Batch, Response> {
    let refuse = |code, why: &str| Response::error(None, 400, &rpc(code, why));
    let whole = std::str::from_utf8(text)
        .map_err(|_| refuse(code::PARSE_ERROR, "the message is not UTF-8"))?;
    let items: Vec<&RawValue> = serde_json::from_str(whole)
        .map_err(|error| refuse(code::PARSE_ERROR, &format!("not JSON: {error}")))?;
    if items.is_empty() {
        return Err(refuse(code::INVALID_REQUEST, "the batch is empty"));
    }
    if items.len() > most {
        let why = format!("a batch may have at most {most} messages");
        return Err(refuse(code::INVALID_REQUEST, &why));
    }
    let items = items.into_iter();
    let mut batch: Batch = items
        .map(|item| Message::parse(text.slice_ref(item.get().as_bytes())))
        .collect();
    for entry in &mut batch {
        let Ok(message) = entry else { continue };
        let why = if message.method() == "initialize" {
            "`initialize` must be sent by itself"
        } else if message.protocol_version().is_some() {
            // Modern requests need headers that repeat the body, and end with their connection.
            "requests of stateless revisions must be sent by themselves"
        } else {
            continue;
        };
        *entry = Err(message.refuse(400, code::INVALID_REQUEST, why));
    }
    Ok(batch)
}

/// Whether any entry needs a response.
pub(crate) fn needs_response(batch: &Batch) -> bool {
    batch.iter().any(|entry| match entry {
        Ok(message) => message.kind() == MessageKind::Request,
        Err(_) => true,
    })
}

/// Handles all messages of a batch concurrently. Returns `None` if there are no responses.
pub(crate) async fn handle_batch(
    conversation: Arc<Conversation>,
    batch: Batch,
    sink: Arc<dyn MessageSink>,
) -> Option<Response> {
    let handlers = batch.into_iter().map(|entry| {
        let (conversation, sink) = (conversation.clone(), sink.clone());
        async move {
            match entry {
                Ok(message) => conversation.handle(message, sink).await,
                Err(refused) => Some(refused),
            }
        }
    });
    let handled = join_all(handlers).await;
    let parts: Vec<_> = (handled.into_iter().flatten())
        .map(|response| response.parts)
        .collect();
    (!parts.is_empty()).then(|| Response::batch(parts))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &'static str) -> Result<Batch, String> {
        let text = Bytes::from_static(text.as_bytes());
        read_batch(&text, 2)
            .map_err(|refused| String::from_utf8(refused.into_bytes().to_vec()).unwrap())
    }

    #[test]
    fn each_message_of_a_batch_is_parsed() {
        assert!(is_batch(b" \n[]") && !is_batch(b"{}") && !is_batch(b""));
        let batch = read(r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}, 7]"#).unwrap();
        assert!(batch[0].is_ok() && batch[1].is_err() && needs_response(&batch));
        let batch = read(r#"[{"jsonrpc":"2.0","method":"notifications/initialized"}]"#);
        assert!(!needs_response(&batch.unwrap()));
        let batch = read(r#"[{"jsonrpc":"2.0","id":1,"method":"initialize"}]"#);
        assert!(batch.unwrap()[0].is_err());
        let modern = r#"[{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":
            {"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}]"#;
        assert!(
            read(modern).unwrap()[0].is_err(),
            "the request never completes"
        );
    }

    #[test]
    fn invalid_batches_get_the_right_code() {
        for (text, code) in [("[]", "-32600"), ("[1,2,3]", "-32600"), ("[", "-32700")] {
            let error = read(text).err().unwrap_or_default();
            assert!(error.contains(code), "{text}: {error}");
        }
    }
}
