//! A matrix times the tokens of a text.

use super::inputs::{Inputs, Pair};
use crate::shape::{Group, LANES};
use crate::weights::Linear;

/// The rows of a matrix and the groups of tokens whose sums are kept in registers together.
pub(super) const ROWS: usize = 6;
pub(super) const GROUPS: usize = 2;

/// Rows of weights, widened to the size of the inputs.
pub(super) type Rows<const IN: usize> = [[Pair; IN]; ROWS];

/// The sums by group, row and lane. Those of a missing group are zero.
pub(super) type Sums = [[[i32; LANES]; ROWS]; GROUPS];

/// `sums` gets rows and at most [`GROUPS`] groups.
#[inline(always)]
pub(super) fn multiply<const IN: usize, const OUT: usize>(
    matrix: &Linear<IN, OUT>,
    inputs: &[Inputs<IN>],
    outputs: &mut [Group<OUT>],
    sums: impl Fn(&Rows<IN>, &[Inputs<IN>]) -> Sums,
) {
    const { assert!(OUT.is_multiple_of(ROWS), "no row is left over") };
    let blocks = matrix.rows.as_chunks::<ROWS>().0.iter();
    let scales = matrix.scales.as_chunks::<ROWS>().0;
    let biases = matrix.biases.as_chunks::<ROWS>().0;
    let mut rows = [[[0; 2]; IN]; ROWS];
    for (block, ((narrow, scales), biases)) in blocks.zip(scales).zip(biases).enumerate() {
        widen(narrow, &mut rows);
        for (inputs, outputs) in inputs.chunks(GROUPS).zip(outputs.chunks_mut(GROUPS)) {
            let sums = sums(&rows, inputs);
            for ((inputs, output), sums) in inputs.iter().zip(outputs).zip(&sums) {
                let Some(output) = output.as_chunks_mut::<ROWS>().0.get_mut(block) else {
                    continue;
                };
                for (((output, sums), scale), bias) in
                    output.iter_mut().zip(sums).zip(scales).zip(biases)
                {
                    let scale = f32::from_le_bytes(*scale);
                    let bias = f32::from_le_bytes(*bias);
                    for ((output, sum), input) in output.iter_mut().zip(sums).zip(&inputs.scales) {
                        *output = *sum as f32 * (scale * input) + bias;
                    }
                }
            }
        }
    }
}

#[inline(always)]
fn widen<const IN: usize>(from: &[[[u8; 2]; IN]; ROWS], to: &mut Rows<IN>) {
    for (from, to) in from.as_flattened().iter().zip(to.as_flattened_mut()) {
        let [first, second] = *from;
        *to = [
            i16::from(first.cast_signed()),
            i16::from(second.cast_signed()),
        ];
    }
}
