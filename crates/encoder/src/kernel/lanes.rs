//! Sums and maxima over rows, in one written order: eight of them side by side, then these together.

use crate::shape::{LANES, Lanes};

/// The sum of what `of` makes of each value.
#[inline(always)]
pub(super) fn total(row: &[Lanes], of: impl Fn(f32) -> f32) -> f32 {
    let mut sums = [0.0; LANES];
    for lanes in row {
        for (sum, value) in sums.iter_mut().zip(lanes) {
            *sum += of(*value);
        }
    }
    sums.iter().sum()
}

/// The highest of what `of` makes of each value.
#[inline(always)]
pub(super) fn highest(row: &[Lanes], of: impl Fn(f32) -> f32) -> f32 {
    let higher = |one: f32, other: f32| if other > one { other } else { one };
    let mut most = [f32::MIN; LANES];
    for lanes in row {
        for (most, value) in most.iter_mut().zip(lanes) {
            *most = higher(*most, of(*value));
        }
    }
    most.into_iter().fold(f32::MIN, higher)
}
