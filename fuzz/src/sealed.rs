//! Sealed values that clients carry: session ids and request states.

#[allow(dead_code, unreachable_pub, missing_docs)]
#[path = "../../crates/gateway/src/seal.rs"]
mod seal;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use seal::Sealer;
use serde_json::Value;

/// The input is a value to seal, then `#`, then edits of the sealed text: pairs of a position and a replacement.
/// Only the unedited text opens, with its key and for its purpose. The input itself never opens. Passes if the edited
/// text is still base64 of the right size.
pub(crate) fn ids(input: &[u8]) -> bool {
    let sealer = Sealer::new(&[7; 32]);
    let at = input.iter().position(|byte| *byte == b'#');
    let (value, edits) = input.split_at(at.unwrap_or(input.len()));
    let value = String::from_utf8_lossy(value).into_owned();
    let sealed = sealer.seal("session", &value).unwrap();
    assert_eq!(sealer.open("session", &sealed), Some(value));
    for purpose in ["state", "request"] {
        assert_eq!(sealer.open::<Value>(purpose, &sealed), None);
    }
    let other = Sealer::new(&[8; 32]);
    assert_eq!(other.open::<Value>("session", &sealed), None);
    let foreign = String::from_utf8_lossy(input);
    assert_eq!(sealer.open::<Value>("session", &foreign), None);

    let mut edited = sealed.clone().into_bytes();
    for edit in edits.get(1..).unwrap_or_default().chunks_exact(2) {
        let at = usize::from(edit[0]) * 37 % edited.len();
        edited[at] = edit[1];
    }
    let Ok(edited) = String::from_utf8(edited) else {
        return false;
    };
    let opened = sealer.open::<Value>("session", &edited);
    assert_eq!(opened.is_some(), edited == sealed, "{edited}");
    URL_SAFE_NO_PAD.decode(&edited).is_ok()
}
