//! Multiplication of a matrix with the tokens of a text.

use super::inputs::{Inputs, Pair};
use crate::shape::{PAIRS, ROWS};
use crate::weights::{Block, Linear};

/// The sums of a token for the rows of a block.
pub(super) type Sums = [i32; ROWS];

/// The inputs of a token for one block of weights.
pub(super) type Part = [Pair; PAIRS];

/// Multiplies a matrix with all tokens. `add` gets a block, at most `max_tokens` tokens, the number of the input part,
/// and the sums to which it adds the products. `scaled` gets a token's sums and scale, and the scales and biases of the
/// rows.
#[inline(always)]
pub(super) fn multiply<const IN: usize, const OUT: usize>(
    matrix: &Linear<IN, OUT>,
    inputs: &[Inputs<IN>],
    outputs: &mut [[f32; OUT]],
    max_tokens: usize,
    add: impl Fn(&Block, &[Inputs<IN>], usize, &mut [Sums]),
    scaled: impl Fn(&Sums, f32, &[f32; ROWS], &[f32; ROWS]) -> [f32; ROWS],
) {
    const { assert!(IN.is_multiple_of(PAIRS) && OUT.is_multiple_of(ROWS)) };
    let chunk = chunk_size(inputs.len(), max_tokens);
    let scales = matrix.scales.as_chunks::<ROWS>().0;
    let biases = matrix.biases.as_chunks::<ROWS>().0;
    let blocks = matrix.blocks.chunks(IN / PAIRS).zip(scales).zip(biases);
    let mut sums = vec![[0; ROWS]; inputs.len()];
    for (number, ((blocks, scales), biases)) in blocks.enumerate() {
        sums.fill([0; ROWS]);
        // All tokens use a part of the weights before the next one, so that it stays in the L1 cache.
        for (part, block) in blocks.iter().enumerate() {
            for (inputs, sums) in inputs.chunks(chunk).zip(sums.chunks_mut(chunk)) {
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

/// Number of tokens per chunk, such that all chunks have about the same size.
#[inline(always)]
fn chunk_size(tokens: usize, max: usize) -> usize {
    tokens.div_ceil(tokens.div_ceil(max).max(1)).max(1)
}
