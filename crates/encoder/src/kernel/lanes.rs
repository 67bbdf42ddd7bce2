//! Sums and maxima over rows, in one written order: eight of them side by side, then these together, half by half, so
//! that few of them wait for each other.

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
    together(sums, |one, other| one + other)
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
    together(most, higher)
}

#[inline(always)]
fn together([a, b, c, d, e, f, g, h]: Lanes, join: impl Fn(f32, f32) -> f32) -> f32 {
    let [a, b, c, d] = [join(a, e), join(b, f), join(c, g), join(d, h)];
    let [a, b] = [join(a, c), join(b, d)];
    join(a, b)
}
