//! The sums in plain code, for every processor. A sum over one long row is the form that compilers
//! turn into wide instructions everywhere, so the lanes are laid out as rows first.

use super::inputs::{Inputs, Pair};
use super::product::{GROUPS, ROWS, Rows, Sums};
use crate::shape::LANES;

#[inline(always)]
pub(super) fn sums<const IN: usize>(rows: &Rows<IN>, inputs: &[Inputs<IN>]) -> Sums {
    let mut sums = [[[0; LANES]; ROWS]; GROUPS];
    let mut tokens = [[[0; 2]; IN]; LANES];
    for (sums, inputs) in sums.iter_mut().zip(inputs) {
        turn(&inputs.pairs, &mut tokens);
        for (sums, row) in sums.iter_mut().zip(rows) {
            for (sum, token) in sums.iter_mut().zip(&tokens) {
                let products = row.as_flattened().iter().zip(token.as_flattened());
                *sum = products
                    .map(|(weight, value)| i32::from(*weight) * i32::from(*value))
                    .fold(0, i32::wrapping_add);
            }
        }
    }
    sums
}

#[inline(always)]
fn turn<const IN: usize>(pairs: &[[Pair; LANES]; IN], tokens: &mut [[Pair; IN]; LANES]) {
    for (step, lanes) in pairs.iter().enumerate() {
        for (token, pair) in tokens.iter_mut().zip(lanes) {
            if let Some(place) = token.get_mut(step) {
                *place = *pair;
            }
        }
    }
}

#[inline(always)]
pub(super) fn dot<const COUNT: usize>(weights: &[u8; COUNT], values: &[i16; COUNT]) -> i32 {
    let products = weights.iter().zip(values);
    products
        .map(|(weight, value)| i32::from(weight.cast_signed()) * i32::from(*value))
        .fold(0, i32::wrapping_add)
}
