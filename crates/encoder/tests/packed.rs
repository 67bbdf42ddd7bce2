//! Packed vectors rank like the original vectors.

#![allow(clippy::unwrap_used, reason = "a test fails on unexpected values")]

use pegboard_encoder::{Encoder, PackedVector, TextKind, Vector, score_pairs, scores};

fn vectors() -> Vec<Vector> {
    let encoder = Encoder::embedded().unwrap();
    ["read a file", "send an email", "天気", "", "convert money"]
        .map(|text| encoder.encode(text, TextKind::Document))
        .into()
}

#[test]
fn r_find_02_packed_vectors_give_the_same_cosines() {
    let vectors = vectors();
    let packed: Vec<PackedVector> = vectors.iter().map(PackedVector::from).collect();
    for query in &vectors {
        let scores = scores(&packed, query);
        assert_eq!(scores.len(), packed.len());
        for ((score, vector), packed) in scores.iter().zip(&vectors).zip(&packed) {
            assert!((score - vector.dot(query)).abs() < 0.003, "{score}");
            assert_eq!(score.to_bits(), packed.dot(query).to_bits());
        }
        let pairs = packed.iter().cloned().zip(packed.iter().rev().cloned());
        let pairs: Vec<_> = pairs.map(|(one, other)| [one, other]).collect();
        let [mut first, mut second] = [vec![0.0; pairs.len()], vec![0.0; pairs.len()]];
        score_pairs(&pairs, query.as_slice(), &mut first, &mut second);
        second.reverse();
        assert_eq!([&first, &second], [&scores, &scores]);
    }
}

#[test]
fn r_find_02_packed_vectors_survive_a_round_trip() {
    for vector in vectors() {
        let packed = PackedVector::from(&vector);
        let bytes = packed.to_bytes();
        assert_eq!(bytes.len(), 388);
        assert_eq!(PackedVector::from_bytes(&bytes), Some(packed));
    }
}

#[test]
fn r_find_02_invalid_bytes_are_rejected() {
    let bytes = PackedVector::from(&vectors()[0]).to_bytes();
    assert_eq!(PackedVector::from_bytes(&bytes[1..]), None);
    assert_eq!(PackedVector::from_bytes(&[]), None);
    for scale in [f32::NAN, f32::INFINITY, -1.0, 7.0] {
        let mut bytes = bytes;
        bytes[..4].copy_from_slice(&scale.to_le_bytes());
        assert_eq!(PackedVector::from_bytes(&bytes), None, "{scale}");
    }
}

#[test]
fn no_vectors_give_no_scores() {
    assert!(scores(&[], &vectors()[0]).is_empty());
}
