//! Prints the result of a call.

use pegboard_model::{Event, EventKind, UntrustedText};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::commands::CommandResult;
use crate::output::Output;

#[derive(Deserialize)]
struct ResultView<'a> {
    #[serde(borrow, default)]
    content: Vec<&'a RawValue>,
    #[serde(borrow, default, rename = "structuredContent")]
    structured: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Content {
    #[serde(rename = "type")]
    kind: String,
    text: Option<String>,
    #[serde(rename = "mimeType")]
    mime: Option<String>,
    uri: Option<String>,
    data: Option<String>,
}

/// Prints text content as it is and other content as a short description; with `--json`, the server's result verbatim.
pub(super) fn show(result: &str, output: &Output) -> CommandResult {
    if output.json {
        return output.json_line(result);
    }
    let Ok(view) = serde_json::from_str::<ResultView<'_>>(result) else {
        return output.line(result);
    };
    if view.content.is_empty()
        && let Some(structured) = view.structured
    {
        return output.line(structured.get());
    }
    for part in view.content {
        match serde_json::from_str::<Content>(part.get()) {
            Ok(Content {
                text: Some(text), ..
            }) => output.line(&UntrustedText::block(&text).to_string())?,
            Ok(content) => {
                let mime = content.mime.unwrap_or_default();
                let place = content.uri.unwrap_or_default();
                let size = content.data.map_or(String::new(), |data| {
                    format!("{} bytes of base64", data.len())
                });
                let words = format!("[{} {mime} {place} {size}]", content.kind);
                let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
                output.line(&UntrustedText::new(&words).to_string())?;
            }
            Err(_) => output.line(part.get())?,
        }
    }
    Ok(())
}

/// Returns warnings that the result of a tool does not match its output schema.
pub(super) fn mismatches(
    events: &mut tokio::sync::broadcast::Receiver<Event>,
    called: &str,
) -> Vec<String> {
    let mut warnings = Vec::new();
    while let Ok(event) = events.try_recv() {
        match event.kind {
            EventKind::OutputMismatch {
                tool,
                reason,
                error,
                ..
            } if tool == called => {
                let error = UntrustedText::new(&error);
                warnings.push(format!("warning: {reason}: {error}"));
            }
            _ => {}
        }
    }
    warnings
}
