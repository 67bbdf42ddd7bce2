//! Encodes texts for HTTP headers.

/// The markers around base64 text.
const OPENS: &str = "=?base64?";
const CLOSES: &str = "?=";

/// Encodes a text for a header. Text that is not plain ASCII is sent as base64 between the protocol's markers.
pub(crate) fn header_text(text: &str) -> String {
    let is_plain = text.bytes().all(|byte| matches!(byte, 0x20..=0x7e)) && text.trim() == text;
    if is_plain && !text.starts_with(OPENS) {
        text.to_owned()
    } else {
        format!("{OPENS}{}{CLOSES}", base64(text.as_bytes()))
    }
}

/// Encodes bytes as padded base64.
pub(crate) fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for group in bytes.chunks(3) {
        let number = group
            .iter()
            .fold(0u32, |number, byte| number << 8 | u32::from(*byte))
            << (8 * (3 - group.len()));
        for place in 0..4 {
            let digit = DIGITS
                .get((number >> (18 - 6 * place) & 63) as usize)
                .copied()
                .unwrap_or(b'=');
            text.push(if place <= group.len() {
                char::from(digit)
            } else {
                '='
            });
        }
    }
    text
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
