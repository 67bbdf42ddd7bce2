//! Integer products in portable code. Compilers vectorize sums over one long row for every processor, so the rows of a
//! block are de-interleaved first.

use super::inputs::Inputs;
use super::product::Sums;
use crate::shape::{PAIRS, ROWS};
use crate::weights::Block;

/// De-interleaving a block costs as much as a few tokens, so all tokens share it.
pub(super) const TOKENS: usize = usize::MAX;

#[inline(always)]
pub(super) fn add<const IN: usize>(
    block: &Block,
    inputs: &[Inputs<IN>],
    part: usize,
    sums: &mut [Sums],
) {
    let mut rows = [[[0; 2]; PAIRS]; ROWS];
    for (step, weights) in block.iter().enumerate() {
        for (row, pair) in rows.iter_mut().zip(weights.as_chunks::<2>().0) {
            if let Some(place) = row.get_mut(step) {
                *place = pair.map(|weight| i16::from(weight.cast_signed()));
            }
        }
    }
    for (inputs, sums) in inputs.iter().zip(sums) {
        let Some(pairs) = inputs.part(part) else {
            continue;
        };
        for (sum, row) in sums.iter_mut().zip(&rows) {
            let products = row.as_flattened().iter().zip(pairs.as_flattened());
            *sum = products
                .map(|(weight, value)| i32::from(*weight) * i32::from(*value))
                .fold(*sum, i32::wrapping_add);
        }
    }
}

/// Converts sums to floats.
#[inline(always)]
pub(super) fn scaled(
    sums: &Sums,
    input: f32,
    scales: &[f32; ROWS],
    biases: &[f32; ROWS],
) -> [f32; ROWS] {
    let mut values = [0.0; ROWS];
    for (((value, sum), scale), bias) in values.iter_mut().zip(sums).zip(scales).zip(biases) {
        *value = *sum as f32 * (scale * input) + bias;
    }
    values
}

#[inline(always)]
pub(super) fn dot<const COUNT: usize>(weights: &[u8; COUNT], values: &[i16; COUNT]) -> i32 {
    let products = weights.iter().zip(values);
    products
        .map(|(weight, value)| i32::from(weight.cast_signed()) * i32::from(*value))
        .fold(0, i32::wrapping_add)
}
