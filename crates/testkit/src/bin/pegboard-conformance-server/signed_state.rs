//! A `requestState` with a signature.

/// The same in every process, so that a state is valid after a restart.
const KEY: [u8; 32] = *b"pegboard conformance fixture key";

/// Signs a text for a tool.
pub(crate) fn sign(tool: &str, text: &str) -> String {
    format!("{text}.{}", signature(tool, text))
}

/// The text of a state, if its signature is valid.
pub(crate) fn verify<'a>(tool: &str, state: &'a str) -> Option<&'a str> {
    let (text, found) = state.rsplit_once('.')?;
    (found == signature(tool, text)).then_some(text)
}

fn signature(tool: &str, text: &str) -> String {
    blake3::keyed_hash(&KEY, format!("{tool}\n{text}").as_bytes())
        .to_hex()
        .to_string()
}

#[cfg(test)]
mod tests {
    use super::{sign, verify};

    #[test]
    fn a_signature_is_valid_only_for_its_tool_and_text() {
        let state = sign("tool", "round.1");
        assert_eq!(verify("tool", &state), Some("round.1"));
        assert_eq!(verify("other", &state), None);
        assert_eq!(verify("tool", &format!("{state}-TAMPERED")), None);
        assert_eq!(verify("tool", "round.1"), None);
    }
}
