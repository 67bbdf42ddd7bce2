//! Several messages in one: what revision 2025-03-26 allowed.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::future::join_all;
use serde_json::value::RawValue;

use crate::conversation::{Conversation, MessageSink};
use crate::message::{Message, MessageKind};
use crate::response::{Response, code, rpc};

/// The one revision that has batches.
pub(crate) const BATCH_REVISION: &str = "2025-03-26";

/// Messages of a batch, each read or answered by an error.
pub(crate) type Batch = Vec<Result<Message, Response>>;

/// Whether a text can only be a batch.
pub(crate) fn is_batch(text: &[u8]) -> bool {
    text.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'[')
}

/// Reads a batch of at most so many messages.
pub(crate) fn read_batch(text: &Bytes, most: usize) -> Result<Batch, Response> {
    let refuse = |code, why: &str| Response::error(None, 400, &rpc(code, why));
    let whole =
        std::str::from_utf8(text).map_err(|_| refuse(code::PARSE, "the message is not UTF-8"))?;
    let items: Vec<&RawValue> = serde_json::from_str(whole)
        .map_err(|error| refuse(code::PARSE, &format!("this is not JSON: {error}")))?;
    if items.is_empty() {
        return Err(refuse(code::INVALID_REQUEST, "the batch is empty"));
    }
    if items.len() > most {
        let why = format!("a batch may hold {most} messages at the most");
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
            // Its rules are about single messages: headers that repeat it, and an end with its connection.
            "a request of the revisions without sessions must be sent by itself"
        } else {
            continue;
        };
        *entry = Err(message.refuse(400, code::INVALID_REQUEST, why));
    }
    Ok(batch)
}

/// Whether something in it wants an answer.
pub(crate) fn wants_answer(batch: &Batch) -> bool {
    batch.iter().any(|entry| match entry {
        Ok(message) => message.kind() == MessageKind::Request,
        Err(_) => true,
    })
}

/// Answers all requests of a batch side by side, and takes the rest of it.
pub(crate) async fn answer_batch(
    conversation: Arc<Conversation>,
    batch: Batch,
    sink: Arc<dyn MessageSink>,
) -> Option<Response> {
    let answers = batch.into_iter().map(|entry| {
        let (conversation, sink) = (conversation.clone(), sink.clone());
        async move {
            match entry {
                Err(refused) => Some(refused),
                Ok(message) if message.kind() == MessageKind::Request => {
                    conversation.answer(message, sink).await
                }
                Ok(message) => {
                    conversation.take(message);
                    None
                }
            }
        }
    });
    let answers: Vec<Response> = join_all(answers).await.into_iter().flatten().collect();
    if answers.is_empty() {
        return None;
    }
    Some(Response::batch(
        answers.into_iter().map(|answer| answer.parts),
    ))
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
    fn a_batch_is_read_message_by_message() {
        assert!(is_batch(b" \n[]") && !is_batch(b"{}") && !is_batch(b""));
        let batch = read(r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}, 7]"#).unwrap();
        assert!(batch[0].is_ok() && batch[1].is_err() && wants_answer(&batch));
        let batch = read(r#"[{"jsonrpc":"2.0","method":"notifications/initialized"}]"#);
        assert!(!wants_answer(&batch.unwrap()));
        let batch = read(r#"[{"jsonrpc":"2.0","id":1,"method":"initialize"}]"#);
        assert!(batch.unwrap()[0].is_err());
        let modern = r#"[{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":
            {"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}]"#;
        assert!(read(modern).unwrap()[0].is_err(), "it would never end");
    }

    #[test]
    fn what_is_no_batch_gets_the_right_code() {
        for (text, code) in [("[]", "-32600"), ("[1,2,3]", "-32600"), ("[", "-32700")] {
            let error = read(text).err().unwrap_or_default();
            assert!(error.contains(code), "{text}: {error}");
        }
    }
}
