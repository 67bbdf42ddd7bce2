//! Every text has a vector, and it is always the same.

#![allow(clippy::unwrap_used, reason = "a test fails on unexpected values")]

use std::thread;

use pegboard_encoder::{DIMENSIONS, Encoder, EncoderError, TextKind, Vector};
use proptest::prelude::*;

fn bits(vector: &Vector) -> Vec<u32> {
    vector
        .as_slice()
        .iter()
        .map(|value| value.to_bits())
        .collect()
}

fn odd_texts() -> Vec<String> {
    let texts = [
        "",
        " \n\t ",
        "\u{0}\u{1}\u{7f}\u{200b}\u{fffd}",
        "🚀🧑‍🚀 launch 🚀",
        "获取当前日期 and 東京の天気 и погода ok",
        "ÀÉÎõü Straße ǅ İstanbul ΣΊΣΥΦΟΣ",
        "[UNK] [CLS] [SEP] ## ##ing",
        "a",
        "x\u{301}\u{302}\u{303}",
        "\u{10ffff}\u{e000}",
    ];
    let long = ["word ", "取", "é", "(", "\u{301}"].map(|text| text.repeat(20_000));
    texts.map(str::to_owned).into_iter().chain(long).collect()
}

#[test]
fn r_find_02_every_text_has_a_vector_of_length_1() {
    let encoder = Encoder::embedded().unwrap();
    for text in odd_texts() {
        for kind in [TextKind::Query, TextKind::Document, TextKind::Short] {
            let vector = encoder.encode(&text, kind);
            assert_eq!(vector.as_slice().len(), DIMENSIONS);
            assert!((vector.dot(&vector) - 1.0).abs() < 1e-5, "{text:.40}");
        }
    }
}

#[test]
fn r_find_02_every_processor_gives_the_same_bytes() {
    let encoder = Encoder::embedded().unwrap();
    let portable = Encoder::embedded().unwrap().portable();
    // All numbers of tokens up to three groups of lanes, then unusual texts.
    let counted = (0..26).map(|words| "tool ".repeat(words));
    for text in counted.chain(odd_texts()) {
        let vector = encoder.encode(&text, TextKind::Query);
        let expected = portable.encode(&text, TextKind::Query);
        assert_eq!(bits(&vector), bits(&expected), "{text:.40}");
    }
}

#[test]
fn r_find_02_two_threads_give_the_same_bytes_as_one() {
    let encoder = Encoder::embedded().unwrap();
    let counted = (0..40).map(|words| "open a window ".repeat(words));
    for text in counted.chain(odd_texts()) {
        let shared = encoder.encode(&text, TextKind::Query);
        let alone = encoder.encode(&text, TextKind::Document);
        assert_eq!(bits(&shared), bits(&alone), "{text:.40}");
    }
}

#[test]
fn r_find_02_threads_give_the_same_bytes() {
    let encoder = Encoder::embedded().unwrap();
    let text = "search the knowledge base for quarterly revenue";
    let expected = bits(&encoder.encode(text, TextKind::Query));
    thread::scope(|scope| {
        let encode = || bits(&encoder.encode(text, TextKind::Query));
        let runs: Vec<_> = (0..4).map(|_| scope.spawn(encode)).collect();
        for run in runs {
            assert_eq!(run.join().unwrap(), expected);
        }
    });
}

#[test]
fn r_find_02_only_the_start_of_a_long_text_is_used() {
    let encoder = Encoder::embedded().unwrap();
    let start = "word ".repeat(200);
    let longer = format!("{start} and something else entirely");
    let encode = |text, kind| bits(&encoder.encode(text, kind));
    assert_eq!(
        encode(&start, TextKind::Query),
        encode(&longer, TextKind::Document)
    );
    assert_ne!(
        encode(&start, TextKind::Query),
        encode(&start, TextKind::Short)
    );
    assert_eq!(encoder.token_ids(&start, TextKind::Short).len(), 32);
}

#[test]
fn r_find_02_incompatible_weights_are_rejected() {
    let vocabulary = pegboard_encoder_data::VOCABULARY;
    let broken = Encoder::from_parts(b"not a model", vocabulary);
    assert!(matches!(broken, Err(EncoderError::Format(_))));
    let short = Encoder::from_parts(pegboard_encoder_data::WEIGHTS, "[PAD]\n[UNK]");
    let message = short.err().unwrap().to_string();
    assert!(message.contains("2 entries"), "{message}");
    let small: &[u8] = br#"{"embeddings.word_embeddings.weight":{"dtype":"I8","shape":[2],"data_offsets":[0,2]},"embeddings.word_embeddings.scale":{"dtype":"F32","shape":[1],"data_offsets":[2,6]}}"#;
    let length = (small.len() as u64).to_le_bytes();
    let file: Vec<u8> = [&length, small, &[0; 6]].concat();
    let error = Encoder::from_parts(file.leak(), vocabulary).err().unwrap();
    assert!(matches!(error, EncoderError::Shape { .. }), "{error}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn r_find_02_no_text_panics(text in any::<String>()) {
        let encoder = Encoder::embedded().unwrap();
        let vector = encoder.encode(&text, TextKind::Short);
        prop_assert!((vector.dot(&vector) - 1.0).abs() < 1e-5);
    }

    #[test]
    fn r_find_02_mixed_scripts_are_read_within_the_limit(text in "[a-zÀ-ÿ一-鿿😀-😎 .,_-]{0,300}") {
        let encoder = Encoder::embedded().unwrap();
        let ids = encoder.token_ids(&text, TextKind::Query);
        prop_assert!((3..=96).contains(&ids.len()));
        prop_assert_eq!((ids.first(), ids.last()), (Some(&101), Some(&102)));
    }
}
