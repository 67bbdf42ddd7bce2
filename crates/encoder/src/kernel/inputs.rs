//! The inputs of a matrix as integers. They are kept as fine as a 32-bit sum allows, because
//! rounding them to eight bits would cost four times what the rounding of the weights did.

use crate::shape::{LANES, Lanes};

/// Two neighbouring weights, or two neighbouring values of a token.
pub(crate) type Pair = [i16; 2];

/// The values of a group of tokens: `pairs[i / 2][lane][i % 2] * scales[lane]`.
#[derive(Clone)]
#[repr(align(32))]
pub(crate) struct Inputs<const PAIRS: usize> {
    pub(crate) pairs: [[Pair; LANES]; PAIRS],
    pub(crate) scales: Lanes,
}

/// Added to a small number, it leaves the nearest integer in the low bits of the sum.
const ROUNDER: f32 = 12_582_912.0;

impl<const PAIRS: usize> Inputs<PAIRS> {
    pub(crate) fn zero() -> Self {
        Self {
            pairs: [[[0; 2]; LANES]; PAIRS],
            scales: [0.0; LANES],
        }
    }

    #[inline(always)]
    fn set(&mut self, group: &[Lanes]) {
        let mut largest = [0.0_f32; LANES];
        for lanes in group {
            for (largest, value) in largest.iter_mut().zip(lanes) {
                let size = value.abs();
                *largest = if size > *largest { size } else { *largest };
            }
        }
        let mut factors = [0.0; LANES];
        for ((factor, scale), largest) in factors.iter_mut().zip(&mut self.scales).zip(largest) {
            let most = most(2 * PAIRS);
            *factor = if largest > 0.0 { most / largest } else { 0.0 };
            *scale = largest / most;
        }
        for (pairs, [first, second]) in self.pairs.iter_mut().zip(group.as_chunks().0) {
            for (lane, pair) in pairs.iter_mut().enumerate() {
                let factor = factors.get(lane);
                let (Some(first), Some(second), Some(factor)) =
                    (first.get(lane), second.get(lane), factor)
                else {
                    continue;
                };
                *pair = [rounded(first * factor), rounded(second * factor)];
            }
        }
    }
}

#[inline(always)]
pub(super) fn quantise<const WIDTH: usize, const PAIRS: usize>(
    groups: &[[Lanes; WIDTH]],
    inputs: &mut [Inputs<PAIRS>],
) {
    for (group, inputs) in groups.iter().zip(inputs) {
        inputs.set(group);
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
        let mut group = [[0.0; LANES]; 384];
        for (index, value) in (0_u16..).zip(group.as_flattened_mut()) {
            *value = f32::from(index).sin() * f32::from(index % 8);
        }
        let mut inputs = Inputs::<192>::zero();
        inputs.set(&group);
        for (index, lanes) in group.iter().enumerate() {
            for (lane, value) in lanes.iter().enumerate() {
                let back = f32::from(inputs.pairs[index / 2][lane][index % 2]);
                let error = (value - back * inputs.scales[lane]).abs();
                assert!(error <= inputs.scales[lane] * 0.51, "{value}");
            }
        }
        assert_eq!(inputs.scales[0], 0.0, "a lane of zeros has no scale");
    }
}
