//! The constants match the files.

#![allow(clippy::unwrap_used, reason = "a test fails on unexpected values")]

use pegboard_encoder_data::{FINGERPRINT, VOCABULARY, WEIGHTS};
use safetensors::SafeTensors;

static MODEL: &[u8] = include_bytes!("../model.int8.safetensors");

#[test]
fn r_find_02_the_fingerprint_is_the_hash_of_the_model_file() {
    assert_eq!(blake3::hash(MODEL).to_hex().as_str(), FINGERPRINT);
}

#[test]
fn r_find_02_every_weight_of_the_model_file_is_embedded() {
    let model = SafeTensors::deserialize(MODEL).unwrap();
    let weights = SafeTensors::deserialize(WEIGHTS).unwrap();
    for (name, expected) in model.iter() {
        let found = weights.tensor(name).unwrap();
        assert_eq!(found.shape(), expected.shape());
        let is_matrix = name.starts_with("encoder.") && expected.shape().len() == 2;
        if !is_matrix || !name.ends_with(".weight") {
            assert_eq!(found.data(), expected.data(), "{name}");
            continue;
        }
        assert_eq!(found.data().as_ptr().addr() % 64, 0, "{name}");
        let width = expected.shape()[1];
        let mut places = expected.data().iter().enumerate();
        let at = |row: usize, column: usize| {
            let step = row / 16 * width / 2 + column / 2;
            found.data()[step * 32 + row % 16 * 2 + column % 2]
        };
        let all = places.all(|(place, weight)| at(place / width, place % width) == *weight);
        assert!(all, "{name}");
    }
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
