//! Layer normalization.

use super::lanes::total;
use crate::shape::DIMENSIONS;
use crate::weights::Norm;

/// Avoids a division by zero if all values are equal.
const LEAST_VARIANCE: f32 = 1e-12;

#[inline(always)]
pub(super) fn normalise(norm: &Norm, tokens: &mut [[f32; DIMENSIONS]]) {
    let count = DIMENSIONS as f32;
    for token in tokens {
        let (lanes, _) = token.as_chunks();
        let mean = total(lanes, |value| value) / count;
        let variance = total(lanes, |value| (value - mean) * (value - mean)) / count;
        let factor = 1.0 / (variance + LEAST_VARIANCE).sqrt();
        for ((value, weight), bias) in token.iter_mut().zip(norm.weights).zip(norm.biases) {
            let weight = f32::from_le_bytes(*weight);
            let bias = f32::from_le_bytes(*bias);
            *value = (*value - mean) * factor * weight + bias;
        }
    }
}
