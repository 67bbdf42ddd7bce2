//! Quantized inputs of a matrix. They are as fine as a 32-bit sum allows, because rounding them to eight bits would cost
//! four times as much accuracy as rounding the weights.

use super::lanes::highest;
use super::product::Part;

/// Two adjacent weights, or two adjacent values of a token.
pub(crate) type Pair = [i16; 2];

/// The quantized values of a token: `pairs[i / 2][i % 2] * scale`.
#[derive(Clone)]
pub(crate) struct Inputs<const PAIRS: usize> {
    pub(crate) pairs: [Pair; PAIRS],
    pub(crate) scale: f32,
}

/// Adding it to a small number puts the nearest integer into the low bits of the sum.
const ROUNDER: f32 = 12_582_912.0;

impl<const PAIRS: usize> Inputs<PAIRS> {
    pub(crate) fn zero() -> Self {
        Self {
            pairs: [[0; 2]; PAIRS],
            scale: 0.0,
        }
    }

    /// The values for one block of weights.
    #[inline(always)]
    pub(super) fn part(&self, number: usize) -> Option<&Part> {
        self.pairs.as_chunks().0.get(number)
    }
}

#[inline(always)]
pub(super) fn quantise<const WIDTH: usize, const PAIRS: usize>(
    tokens: &[[f32; WIDTH]],
    inputs: &mut [Inputs<PAIRS>],
) {
    let max = max_input(WIDTH);
    for (token, inputs) in tokens.iter().zip(inputs) {
        let largest = highest(token.as_chunks().0, f32::abs);
        let factor = if largest > 0.0 { max / largest } else { 0.0 };
        inputs.scale = largest / max;
        for (place, value) in inputs.pairs.as_flattened_mut().iter_mut().zip(token) {
            *place = round_to_i16(value * factor);
        }
    }
}

/// The largest quantized input such that a sum of `width` products with eight-bit weights fits into 32 bits.
pub(crate) const fn max_input(width: usize) -> f32 {
    let fits = i32::MAX as usize / (width * 128);
    let max = i16::MAX as usize;
    if fits < max { fits as f32 } else { max as f32 }
}

/// Rounds a number in range to the nearest integer, ties to even.
#[inline(always)]
pub(crate) fn round_to_i16(value: f32) -> i16 {
    (value + ROUNDER).to_bits().wrapping_sub(ROUNDER.to_bits()) as i16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_sum_fits_32_bits() {
        for (width, expected) in [(384, 32_767.0), (1536, 10_922.0)] {
            assert_eq!(max_input(width), expected);
            assert!(max_input(width) as usize * 128 * width <= i32::MAX as usize);
        }
    }

    #[test]
    fn values_come_back_within_half_a_step() {
        let mut tokens = [[0.0; 384]; 3];
        for (index, value) in (0_u16..).zip(tokens.as_flattened_mut()) {
            *value = f32::from(index).sin() * f32::from(index / 384);
        }
        let mut inputs = vec![Inputs::<192>::zero(); 3];
        quantise(&tokens, &mut inputs);
        for (token, inputs) in tokens.iter().zip(&inputs) {
            for (value, back) in token.iter().zip(inputs.pairs.as_flattened()) {
                let error = (value - f32::from(*back) * inputs.scale).abs();
                assert!(error <= inputs.scale * 0.51, "{value}");
            }
        }
        assert_eq!(inputs[0].scale, 0.0, "a token of zeros has no scale");
    }
}
