//! Encoding, hashing and formatting.

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use serde_json::{Value, json};

use super::{Arguments, Effect, ExampleTool, ToolOutput, object};

const ALPHABETS: [&str; 2] = ["standard", "url_safe"];
const HASH_BYTES_MAX: i64 = 64;

pub(super) const ENCODE_BASE64: ExampleTool = ExampleTool {
    name: "encode_base64",
    title: "Encode as Base64",
    description: "Encodes a text as Base64 of its UTF-8 bytes.",
    effect: Effect::Pure,
    input: || {
        object(
            json!({
                "text": {"type": "string", "description": "The text to encode."},
                "alphabet": alphabet(),
            }),
            &["text"],
        )
    },
    output: None,
    run: |arguments, _| {
        let text = arguments.text("text")?;
        Ok(ToolOutput::text(
            match arguments.choice("alphabet", &ALPHABETS)? {
                "url_safe" => URL_SAFE_NO_PAD.encode(text),
                _ => STANDARD.encode(text),
            },
        ))
    },
};

pub(super) const DECODE_BASE64: ExampleTool = ExampleTool {
    name: "decode_base64",
    title: "Decode Base64",
    description: "Decodes Base64 to text. White space in it is ignored; bytes that are not text are an error.",
    effect: Effect::Pure,
    input: || {
        object(
            json!({
                "data": {
                    "type": "string",
                    "description": "The Base64 to decode.",
                    "examples": ["SGVsbG8="],
                },
                "alphabet": alphabet(),
            }),
            &["data"],
        )
    },
    output: None,
    run: |arguments, _| {
        let data: String = arguments.text("data")?.split_ascii_whitespace().collect();
        let decoded = match arguments.choice("alphabet", &ALPHABETS)? {
            "url_safe" => URL_SAFE_NO_PAD.decode(data.trim_end_matches('=')),
            _ => STANDARD.decode(data),
        };
        let bytes =
            decoded.map_err(|error| format!("`data` is not Base64 of this alphabet: {error}."))?;
        let length = bytes.len();
        let text = String::from_utf8(bytes)
            .map_err(|_| format!("`data` holds {length} bytes that are not text in UTF-8."))?;
        Ok(ToolOutput::text(text))
    },
};

pub(super) const HASH_TEXT: ExampleTool = ExampleTool {
    name: "hash_text",
    title: "Hash a text",
    description: "Computes the BLAKE3 hash of a text's UTF-8 bytes, in hex.",
    effect: Effect::Pure,
    input: || {
        object(
            json!({
                "text": {"type": "string", "description": "The text to hash."},
                "bytes": {
                    "type": "integer",
                    "description": "The length of the hash in bytes.",
                    "minimum": 4,
                    "maximum": HASH_BYTES_MAX,
                    "default": 32,
                },
            }),
            &["text"],
        )
    },
    output: None,
    run: |arguments, _| {
        let text = arguments.text("text")?;
        let length =
            usize::try_from(arguments.integer("bytes", 32, 4, HASH_BYTES_MAX)?).unwrap_or(0);
        let mut hash = vec![0; length];
        blake3::Hasher::new()
            .update(text.as_bytes())
            .finalize_xof()
            .fill(&mut hash);
        Ok(ToolOutput::text(
            hash.iter()
                .map(|byte| format!("{byte:02x}"))
                .collect::<String>(),
        ))
    },
};

pub(super) const FORMAT_JSON: ExampleTool = ExampleTool {
    name: "format_json",
    title: "Format JSON",
    description: "Checks a JSON text and formats it, indented or compact. An error is reported with \
                  its line and column.",
    effect: Effect::Pure,
    input: || {
        object(
            json!({
                "json": {
                    "type": "string",
                    "description": "The JSON text.",
                    "examples": ["{\"a\":[1,2]}"],
                },
                "style": {
                    "type": "string",
                    "description": "How to write it.",
                    "enum": ["pretty", "minify"],
                    "default": "pretty",
                },
                "sort_keys": {
                    "type": "boolean",
                    "description": "Whether to sort the keys of every object.",
                    "default": false,
                },
            }),
            &["json"],
        )
    },
    output: None,
    run: format_json,
};

fn format_json(arguments: &Arguments<'_>, _: &mut super::Notes) -> Result<ToolOutput, String> {
    let text = arguments.text("json")?;
    let style = arguments.choice("style", &["pretty", "minify"])?;
    let mut value: Value =
        serde_json::from_str(text).map_err(|error| format!("This is not valid JSON: {error}."))?;
    if arguments.flag("sort_keys")? {
        value.sort_all_objects();
    }
    Ok(ToolOutput::text(if style == "minify" {
        value.to_string()
    } else {
        format!("{value:#}")
    }))
}

fn alphabet() -> Value {
    json!({
        "type": "string",
        "description": "The alphabet: `standard` with `+`, `/` and padding, `url_safe` with `-`, `_` and none.",
        "enum": ALPHABETS,
        "default": "standard",
    })
}
