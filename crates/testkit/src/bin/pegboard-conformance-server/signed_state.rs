//! A `requestState` that cannot be changed unnoticed.

/// The same in every process of this server, so that a restart in the middle of a call does not matter.
const KEY: [u8; 32] = *b"pegboard conformance fixture key";

/// `text` with a seal for this tool.
pub(crate) fn sign(tool: &str, text: &str) -> String {
    format!("{text}.{}", mark(tool, text))
}

/// The text of a state whose seal is whole.
pub(crate) fn open<'a>(tool: &str, state: &'a str) -> Option<&'a str> {
    let (text, found) = state.rsplit_once('.')?;
    (found == mark(tool, text)).then_some(text)
}

fn mark(tool: &str, text: &str) -> String {
    blake3::keyed_hash(&KEY, format!("{tool}\n{text}").as_bytes())
        .to_hex()
        .to_string()
}

#[cfg(test)]
mod tests {
    use super::{open, sign};

    #[test]
    fn a_seal_holds_for_its_tool_and_its_text_only() {
        let state = sign("tool", "round.1");
        assert_eq!(open("tool", &state), Some("round.1"));
        assert_eq!(open("other", &state), None);
        assert_eq!(open("tool", &format!("{state}-TAMPERED")), None);
        assert_eq!(open("tool", "round.1"), None);
    }
}
