//! Layer normalisation.

use crate::shape::{DIMENSIONS, Group, LANES, Lanes};
use crate::weights::Norm;

/// Keeps the division sound where all values are equal.
const LEAST_VARIANCE: f32 = 1e-12;

#[inline(always)]
pub(super) fn normalise(norm: &Norm, groups: &mut [Group<DIMENSIONS>]) {
    for group in groups {
        let mean = mean(group, |value, _| value, [0.0; LANES]);
        let variance = self::mean(group, |value, mean| (value - mean) * (value - mean), mean);
        let factor = variance.map(|variance| 1.0 / (variance + LEAST_VARIANCE).sqrt());
        for ((lanes, weight), bias) in group.iter_mut().zip(norm.weights).zip(norm.biases) {
            let weight = f32::from_le_bytes(*weight);
            let bias = f32::from_le_bytes(*bias);
            for ((value, mean), factor) in lanes.iter_mut().zip(mean).zip(factor) {
                *value = (*value - mean) * factor * weight + bias;
            }
        }
    }
}

#[inline(always)]
fn mean(group: &Group<DIMENSIONS>, of: impl Fn(f32, f32) -> f32, with: Lanes) -> Lanes {
    let mut sums = [0.0; LANES];
    for lanes in group {
        for ((sum, value), with) in sums.iter_mut().zip(lanes).zip(with) {
            *sum += of(*value, with);
        }
    }
    sums.map(|sum| sum / DIMENSIONS as f32)
}
