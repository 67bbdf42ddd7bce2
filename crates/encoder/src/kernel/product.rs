//! A matrix times the tokens of a text.

use super::inputs::{Inputs, Pair};
use crate::shape::{PAIRS, ROWS};
use crate::weights::{Block, Linear};

/// A token's sums with the rows of a block.
pub(super) type Sums = [i32; ROWS];

/// The part of a token's inputs that meets the weights of one block.
pub(super) type Part = [Pair; PAIRS];

/// `add` gets a block, at most `most` tokens, the part of their inputs that the block meets, and the sums to which
/// it adds the products. `scaled` gets a token's sums and scale, and the scales and biases of the rows.
#[inline(always)]
pub(super) fn multiply<const IN: usize, const OUT: usize>(
    matrix: &Linear<IN, OUT>,
    inputs: &[Inputs<IN>],
    outputs: &mut [[f32; OUT]],
    most: usize,
    add: impl Fn(&Block, &[Inputs<IN>], usize, &mut [Sums]),
    scaled: impl Fn(&Sums, f32, &[f32; ROWS], &[f32; ROWS]) -> [f32; ROWS],
) {
    const { assert!(IN.is_multiple_of(PAIRS) && OUT.is_multiple_of(ROWS)) };
    let together = together(inputs.len(), most);
    let scales = matrix.scales.as_chunks::<ROWS>().0;
    let biases = matrix.biases.as_chunks::<ROWS>().0;
    let blocks = matrix.blocks.chunks(IN / PAIRS).zip(scales).zip(biases);
    let mut sums = vec![[0; ROWS]; inputs.len()];
    for (number, ((blocks, scales), biases)) in blocks.enumerate() {
        sums.fill([0; ROWS]);
        // A part of the weights is met by all tokens before the next, so that it stays in the nearest cache.
        for (part, block) in blocks.iter().enumerate() {
            for (inputs, sums) in inputs.chunks(together).zip(sums.chunks_mut(together)) {
                add(block, inputs, part, sums);
            }
        }
        let scales = scales.map(f32::from_le_bytes);
        let biases = biases.map(f32::from_le_bytes);
        for ((input, sums), output) in inputs.iter().zip(&sums).zip(outputs.iter_mut()) {
            if let Some(output) = output.as_chunks_mut::<ROWS>().0.get_mut(number) {
                *output = scaled(sums, input.scale, &scales, &biases);
            }
        }
    }
}

/// How many tokens to take at a time, so that no time ends with few of them.
#[inline(always)]
fn together(tokens: usize, most: usize) -> usize {
    tokens.div_ceil(tokens.div_ceil(most).max(1)).max(1)
}
