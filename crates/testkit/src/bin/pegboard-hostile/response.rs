//! Responses and their wrong shapes.

use serde_json::{Value, json};

use pegboard_testkit::script::ResponseShape;

use crate::output::nested;

/// A result or an error.
#[derive(Clone, Debug)]
pub(crate) enum Body {
    Result(Value),
    Error {
        code: i64,
        message: String,
        data: Value,
    },
}

impl Body {
    /// An error without data.
    pub(crate) fn error(code: i64, message: impl Into<String>) -> Self {
        Self::Error {
            code,
            message: message.into(),
            data: Value::Null,
        }
    }

    /// The code of an error.
    pub(crate) fn code(&self) -> Option<i64> {
        match self {
            Self::Result(_) => None,
            Self::Error { code, .. } => Some(*code),
        }
    }

    fn text(&self) -> (&'static str, String) {
        match self {
            Self::Result(value) => ("result", value.to_string()),
            Self::Error {
                code,
                message,
                data,
            } => {
                let mut error = json!({"code": code, "message": message});
                if !data.is_null() {
                    error["data"] = data.clone();
                }
                ("error", error.to_string())
            }
        }
    }
}

/// The bytes of a response without the line break; several lines for some shapes.
pub(crate) fn render<'a>(
    id: &Value,
    body: &Body,
    shapes: impl Iterator<Item = &'a ResponseShape>,
) -> Vec<u8> {
    let (key, text) = body.text();
    let mut frame = format!(r#"{{"jsonrpc":"2.0","id":{id},"{key}":{text}}}"#);
    for shape in shapes {
        frame = match shape {
            ResponseShape::Error(code) => {
                let error = json!({"code": code, "message": "this server fails on purpose"});
                format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{error}}}"#)
            }
            ResponseShape::WrongId => {
                format!(r#"{{"jsonrpc":"2.0","id":4242424242,"{key}":{text}}}"#)
            }
            ResponseShape::Twice => format!("{frame}\n{frame}"),
            ResponseShape::TextId => format!(r#"{{"jsonrpc":"2.0","id":"{id}","{key}":{text}}}"#),
            ResponseShape::Both => format!(
                r#"{{"jsonrpc":"2.0","id":{id},"{key}":{text},"error":{{"code":-1,"message":"both"}}}}"#
            ),
            ResponseShape::Neither => format!(r#"{{"jsonrpc":"2.0","id":{id}}}"#),
            ResponseShape::Result(value) => {
                format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{value}}}"#)
            }
            ResponseShape::Deep(levels) => {
                format!(
                    r#"{{"jsonrpc":"2.0","id":{id},"result":{{"tools":{}}}}}"#,
                    nested(*levels)
                )
            }
            ResponseShape::Bytes(bytes) => pad_to(&frame, *bytes),
            ResponseShape::CrLf => format!("{frame}\r"),
            ResponseShape::DuplicateKey => {
                format!(r#"{{"jsonrpc":"2.0","id":{id},"{key}":{{"tools":[]}},"{key}":{text}}}"#)
            }
            ResponseShape::NoVersion => format!(r#"{{"id":{id},"{key}":{text}}}"#),
            ResponseShape::Batch => format!("[{frame}]"),
            ResponseShape::NotUtf8 => {
                let mut bytes = frame.into_bytes();
                bytes.push(0xff);
                return bytes;
            }
        };
    }
    frame.into_bytes()
}

/// Pads the result of a frame so that it has this many bytes including the line break.
fn pad_to(frame: &str, bytes: usize) -> String {
    let Some(head) = frame.strip_suffix("}}") else {
        return frame.to_owned();
    };
    let field = r#","padding":"""#;
    let missing = bytes.saturating_sub(frame.len() + field.len() + 1);
    format!(r#"{head},"padding":"{}"}}}}"#, "p".repeat(missing))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(shape: ResponseShape, expected: &str) {
        let body = Body::Result(json!({"a": 1}));
        let bytes = render(&json!(5), &body, std::iter::once(&shape));
        assert_eq!(String::from_utf8_lossy(&bytes), expected);
    }

    #[test]
    fn every_malformed_shape_is_malformed_as_declared() {
        check(ResponseShape::Neither, r#"{"jsonrpc":"2.0","id":5}"#);
        check(
            ResponseShape::TextId,
            r#"{"jsonrpc":"2.0","id":"5","result":{"a":1}}"#,
        );
        check(
            ResponseShape::Batch,
            r#"[{"jsonrpc":"2.0","id":5,"result":{"a":1}}]"#,
        );
        check(
            ResponseShape::Deep(2),
            r#"{"jsonrpc":"2.0","id":5,"result":{"tools":[[]]}}"#,
        );
        check(
            ResponseShape::CrLf,
            "{\"jsonrpc\":\"2.0\",\"id\":5,\"result\":{\"a\":1}}\r",
        );
    }

    #[test]
    fn a_line_has_exactly_the_requested_bytes() {
        for bytes in [100, 101, 5_000] {
            let body = Body::Result(json!({"a": 1}));
            let line = render(
                &json!(5),
                &body,
                std::iter::once(&ResponseShape::Bytes(bytes)),
            );
            assert_eq!(line.len() + 1, bytes);
            assert!(serde_json::from_slice::<Value>(&line).is_ok());
        }
    }
}
