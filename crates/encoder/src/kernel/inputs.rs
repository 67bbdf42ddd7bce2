//! The inputs of a matrix as integers. They are kept as fine as a 32-bit sum allows, because
//! rounding them to eight bits would cost four times what the rounding of the weights did.

use super::lanes::highest;
use super::product::Part;

/// Two neighbouring weights, or two neighbouring values of a token.
pub(crate) type Pair = [i16; 2];

/// The values of a token: `pairs[i / 2][i % 2] * scale`.
#[derive(Clone)]
pub(crate) struct Inputs<const PAIRS: usize> {
    pub(crate) pairs: [Pair; PAIRS],
    pub(crate) scale: f32,
}

/// Added to a small number, it leaves the nearest integer in the low bits of the sum.
const ROUNDER: f32 = 12_582_912.0;

impl<const PAIRS: usize> Inputs<PAIRS> {
    pub(crate) fn zero() -> Self {
        Self {
            pairs: [[0; 2]; PAIRS],
            scale: 0.0,
        }
    }

    /// The values that meet one block of weights.
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
    let most = most(WIDTH);
    for (token, inputs) in tokens.iter().zip(inputs) {
        let largest = highest(token.as_chunks().0, f32::abs);
        let factor = if largest > 0.0 { most / largest } else { 0.0 };
        inputs.scale = largest / most;
        for (place, value) in inputs.pairs.as_flattened_mut().iter_mut().zip(token) {
            *place = rounded(value * factor);
        }
    }
}

/// The largest input of a sum of `width` products with eight-bit weights: the sum fits 32 bits.
pub(crate) const fn most(width: usize) -> f32 {
    let fits = i32::MAX as usize / (width * 128);
    let most = i16::MAX as usize;
    if fits < most {
        fits as f32
    } else {
        most as f32
    }
}

/// The nearest integer of a number that fits, with the even one of two.
#[inline(always)]
pub(crate) fn rounded(value: f32) -> i16 {
    (value + ROUNDER).to_bits().wrapping_sub(ROUNDER.to_bits()) as i16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_sum_fits_32_bits() {
        for (width, expected) in [(384, 32_767.0), (1536, 10_922.0)] {
            assert_eq!(most(width), expected);
            assert!(most(width) as usize * 128 * width <= i32::MAX as usize);
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
