//! Converts tool results for models.

use serde::Deserialize;
use serde_json::value::RawValue;

/// Maximum size of an image in base64; providers reject larger ones.
const MAX_IMAGE_BYTES: usize = 5 * 1024 * 1024;
/// Images of one result that are passed on.
const MAX_IMAGES: usize = 8;
/// Image types that models support.
const IMAGE_TYPES: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];

/// One part of a tool result.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Content {
    /// Text.
    Text(String),
    /// An image.
    Image {
        /// A MIME type that models support.
        mime: String,
        /// The image in base64.
        data: String,
    },
}

#[derive(Deserialize)]
struct RawResult<'a> {
    #[serde(borrow, default)]
    content: Vec<&'a RawValue>,
    #[serde(borrow, default, rename = "structuredContent")]
    structured: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Block {
    #[serde(rename = "type")]
    kind: String,
    text: Option<String>,
    #[serde(rename = "mimeType")]
    mime: Option<String>,
    data: Option<String>,
    uri: Option<String>,
    name: Option<String>,
    resource: Option<Resource>,
}

#[derive(Deserialize)]
struct Resource {
    uri: Option<String>,
    text: Option<String>,
}

/// Returns the parts of a tool result. Content that models cannot read is replaced by a short text.
pub(crate) fn parts(result: &RawValue) -> Vec<Content> {
    let Ok(view) = serde_json::from_str::<RawResult<'_>>(result.get()) else {
        return vec![Content::Text(result.get().to_owned())];
    };
    let mut images = 0;
    let mut parts: Vec<Content> = Vec::with_capacity(view.content.len());
    for block in &view.content {
        let part = match serde_json::from_str::<Block>(block.get()) {
            Ok(block) => part(block, &mut images),
            Err(_) => Content::Text(block.get().to_owned()),
        };
        parts.push(part);
    }
    if parts.is_empty() {
        let text = view.structured.map_or("(no content)", RawValue::get);
        parts.push(Content::Text(text.to_owned()));
    }
    parts
}

fn part(block: Block, images: &mut usize) -> Content {
    if let Some(text) = block.text {
        return Content::Text(text);
    }
    let mime = block.mime.unwrap_or_default();
    if let ("image", Some(data)) = (block.kind.as_str(), &block.data) {
        let is_readable = IMAGE_TYPES.contains(&mime.as_str()) && data.len() <= MAX_IMAGE_BYTES;
        if is_readable && *images < MAX_IMAGES {
            *images += 1;
            return Content::Image {
                mime,
                data: data.clone(),
            };
        }
    }
    if let Some(resource) = block.resource {
        return Content::Text(match (resource.text, resource.uri) {
            (Some(text), _) => text,
            (None, uri) => format!("[resource {}]", uri.unwrap_or_default()),
        });
    }
    let size = block.data.map_or(String::new(), |data| {
        format!("{} bytes of base64", data.len())
    });
    let labels = [
        block.kind,
        mime,
        block.name.unwrap_or_default(),
        block.uri.unwrap_or_default(),
        size,
    ];
    let labels: Vec<String> = labels
        .into_iter()
        .filter(|label| !label.is_empty())
        .collect();
    Content::Text(format!("[{}]", labels.join(" ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[track_caller]
    fn check(result: serde_json::Value, expected: &[Content]) {
        let raw = RawValue::from_string(result.to_string()).unwrap();
        assert_eq!(parts(&raw), expected, "{result}");
    }

    #[test]
    fn r_agent_02_every_kind_of_content_reaches_the_model_in_some_form() {
        let text = |text: &str| Content::Text(text.to_owned());
        check(
            json!({"content": [{"type": "text", "text": "a"}, {"type": "new", "what": 1}]}),
            &[text("a"), text("[new]")],
        );
        check(
            json!({"content": [{"type": "image", "mimeType": "image/png", "data": "AA"}]}),
            &[Content::Image {
                mime: "image/png".to_owned(),
                data: "AA".to_owned(),
            }],
        );
        check(
            json!({"content": [{"type": "image", "mimeType": "image/tiff", "data": "AA"}]}),
            &[text("[image image/tiff 2 bytes of base64]")],
        );
        check(
            json!({"content": [{"type": "resource", "resource": {"uri": "x:y", "text": "words"}}]}),
            &[text("words")],
        );
        check(
            json!({"content": [], "structuredContent": {"n": 1}}),
            &[text(r#"{"n":1}"#)],
        );
        check(json!({}), &[text("(no content)")]);
        check(json!([1]), &[text("[1]")]);
        check(json!({"content": [7]}), &[text("7")]);
    }
}
