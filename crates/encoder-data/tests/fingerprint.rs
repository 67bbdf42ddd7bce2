//! The constants say what the files are.

use pegboard_encoder_data::{FINGERPRINT, VOCABULARY, WEIGHTS};

#[test]
fn r_find_02_the_fingerprint_is_the_hash_of_the_model_file() {
    assert_eq!(blake3::hash(WEIGHTS).to_hex().as_str(), FINGERPRINT);
}

#[test]
fn the_weights_lie_on_a_cache_line_boundary() {
    assert_eq!(WEIGHTS.as_ptr().addr() % 64, 0);
}

#[test]
fn the_vocabulary_has_the_special_entries_at_their_ids() {
    let entry = |id: usize| VOCABULARY.lines().nth(id);
    assert_eq!(VOCABULARY.lines().count(), 30_522);
    assert_eq!(entry(0), Some("[PAD]"));
    assert_eq!(entry(100), Some("[UNK]"));
    assert_eq!(entry(101), Some("[CLS]"));
    assert_eq!(entry(102), Some("[SEP]"));
}
