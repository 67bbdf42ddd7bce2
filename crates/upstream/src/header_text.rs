//! Encodes texts for HTTP headers.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// The markers around base64 text.
const OPENS: &str = "=?base64?";
const CLOSES: &str = "?=";

/// Encodes a text for a header. Text that is not plain ASCII is sent as base64 between the protocol's markers.
pub(crate) fn header_text(text: &str) -> String {
    let is_plain = text.bytes().all(|byte| matches!(byte, 0x20..=0x7e)) && text.trim() == text;
    if is_plain && !text.starts_with(OPENS) {
        text.to_owned()
    } else {
        format!("{OPENS}{}{CLOSES}", STANDARD.encode(text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_fit_into_headers() {
        for (text, expected) in [
            ("read_file", "read_file"),
            ("", ""),
            ("ä", "=?base64?w6Q=?="),
            ("a\nb", "=?base64?YQpi?="),
            ("=?base64?x", "=?base64?PT9iYXNlNjQ/eA==?="),
        ] {
            assert_eq!(header_text(text), expected);
        }
    }
}
