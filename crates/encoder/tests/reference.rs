//! The vectors match the reference model: `reference.jsonl` contains texts with their token ids and the vectors (in
//! hundred-thousandths) that float arithmetic gives with the same weights.

#![allow(clippy::unwrap_used, reason = "a test fails on unexpected values")]

use pegboard_encoder::{DIMENSIONS, Encoder, TextKind};
use serde::Deserialize;

#[derive(Deserialize)]
struct Item {
    text: String,
    ids: Vec<u16>,
    vector: Vec<f32>,
}

fn items() -> Vec<Item> {
    let lines = include_str!("reference.jsonl").lines();
    lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[test]
fn r_find_02_texts_are_tokenized_like_the_reference() {
    let encoder = Encoder::embedded().unwrap();
    for item in items() {
        let ids = encoder.token_ids(&item.text, TextKind::Query);
        assert_eq!(ids, item.ids, "{:?}", item.text);
    }
}

#[test]
fn r_find_02_vectors_match_the_reference() {
    let encoder = Encoder::embedded().unwrap();
    let items = items();
    assert_eq!(items.len(), 20);
    for item in items {
        assert_eq!(item.vector.len(), DIMENSIONS);
        let vector = encoder.encode(&item.text, TextKind::Query);
        let products = vector.as_slice().iter().zip(&item.vector);
        let length = item
            .vector
            .iter()
            .map(|value| value * value)
            .sum::<f32>()
            .sqrt();
        let cosine = products.map(|(a, b)| a * b).sum::<f32>() / length;
        assert!(cosine > 0.999_99, "{cosine} {:?}", item.text);
    }
}

#[test]
fn r_find_02_a_request_is_close_to_its_tool() {
    let encoder = Encoder::embedded().unwrap();
    let tools = [
        "read file: Read the complete contents of a file.",
        "send email: Send a message to one or more people.",
        "get forecast: The weather of the next days at a place.",
        "convert currency: An amount of money in another currency.",
    ]
    .map(|text| encoder.encode(text, TextKind::Document));
    let check = |request, expected| {
        let query = encoder.encode(request, TextKind::Query);
        let cosines = tools.each_ref().map(|tool| tool.dot(&query));
        let best = (0..tools.len()).max_by(|a, b| cosines[*a].total_cmp(&cosines[*b]));
        assert_eq!(best, Some(expected), "{request}: {cosines:?}");
    };
    check("show me what is written in notes.txt", 0);
    check("write to Anna that I am late", 1);
    check("do I need an umbrella tomorrow?", 2);
    check("how many dollars are 20 euros", 3);
}
