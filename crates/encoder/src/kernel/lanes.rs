//! Sums and maxima over rows in a fixed order: one per lane, then a pairwise reduction of the lanes, which keeps
//! dependencies short.

use crate::shape::{LANES, Lanes};

/// The sum of `of(value)` over a row.
#[inline(always)]
pub(super) fn total(row: &[Lanes], of: impl Fn(f32) -> f32) -> f32 {
    let mut sums = [0.0; LANES];
    for lanes in row {
        for (sum, value) in sums.iter_mut().zip(lanes) {
            *sum += of(*value);
        }
    }
    reduce_lanes(sums, |one, other| one + other)
}

/// The maximum of `of(value)` over a row.
#[inline(always)]
pub(super) fn highest(row: &[Lanes], of: impl Fn(f32) -> f32) -> f32 {
    let higher = |one: f32, other: f32| if other > one { other } else { one };
    let mut most = [f32::MIN; LANES];
    for lanes in row {
        for (most, value) in most.iter_mut().zip(lanes) {
            *most = higher(*most, of(*value));
        }
    }
    reduce_lanes(most, higher)
}

#[inline(always)]
fn reduce_lanes([a, b, c, d, e, f, g, h]: Lanes, join: impl Fn(f32, f32) -> f32) -> f32 {
    let [a, b, c, d] = [join(a, e), join(b, f), join(c, g), join(d, h)];
    let [a, b] = [join(a, c), join(b, d)];
    join(a, b)
}
