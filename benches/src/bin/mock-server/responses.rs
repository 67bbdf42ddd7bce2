//! The responses of the server.

use std::borrow::Cow;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use pegboard_benches::Reply;
use serde::Deserialize;
use serde_json::value::RawValue;

const INFO: &str = r#"{"name":"mock","version":"1"}"#;

pub(crate) struct Responses {
    list: String,
    call: String,
    is_modern: bool,
    sessions: AtomicU64,
}

#[derive(Deserialize)]
struct Message<'a> {
    #[serde(borrow, default)]
    id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    method: Cow<'a, str>,
}

impl Responses {
    pub(crate) fn new(list: &Path, is_modern: bool) -> io::Result<Self> {
        let text = std::fs::read_to_string(list)?;
        // The file is an object with `tools`; a modern result has further members.
        let text = text.trim_end().strip_suffix('}').unwrap_or("{\"tools\":[]");
        let (more, kind) = match is_modern {
            true => (
                r#","ttlMs":0,"cacheScope":"public","resultType":"complete"}"#,
                r#","resultType":"complete"}"#,
            ),
            false => ("}", "}"),
        };
        let letters = "x".repeat(100);
        Ok(Self {
            list: format!("{text}{more}"),
            call: format!(
                r#"{{"content":[{{"type":"text","text":"{letters}"}}],"isError":false{kind}"#
            ),
            is_modern,
            sessions: AtomicU64::new(0),
        })
    }

    pub(crate) fn reply(&self, message: &[u8]) -> Reply {
        let Ok(message) = serde_json::from_slice::<Message<'_>>(message) else {
            return Reply::Accepted;
        };
        let Some(id) = message.id else {
            return Reply::Accepted;
        };
        let mut session = None;
        let result: Cow<'_, str> = match (message.method.as_ref(), self.is_modern) {
            ("tools/call", _) => self.call.as_str().into(),
            ("tools/list", _) => self.list.as_str().into(),
            ("initialize", false) => {
                let number = self.sessions.fetch_add(1, Ordering::Relaxed);
                session = Some(format!("session-{number}"));
                format!(r#"{{"protocolVersion":"2025-11-25","capabilities":{{"tools":{{}}}},"serverInfo":{INFO}}}"#).into()
            }
            ("server/discover", true) => format!(r#"{{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{{"tools":{{}}}},"ttlMs":0,"cacheScope":"public","_meta":{{"io.modelcontextprotocol/serverInfo":{INFO}}}}}"#).into(),
            ("ping", false) => "{}".into(),
            _ => {
                let error = r#"{"code":-32601,"message":"Method not found"}"#;
                let text = format!(r#"{{"jsonrpc":"2.0","id":{},"error":{error}}}"#, id.get());
                return Reply::Message(text.into(), None);
            }
        };
        let text = format!(r#"{{"jsonrpc":"2.0","id":{},"result":{result}}}"#, id.get());
        Reply::Message(text.into(), session)
    }
}
