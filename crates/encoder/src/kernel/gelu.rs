//! The curve `x Φ(x)`, where Φ is the normal distribution.

use super::exponential::exp;
use crate::shape::WIDE;

#[inline(always)]
pub(super) fn activate(tokens: &mut [[f32; WIDE]]) {
    for value in tokens.as_flattened_mut() {
        *value = gelu(*value);
    }
}

/// With formula 7.1.26 of Abramowitz and Stegun, which is within 1.5e-7 of the error function.
#[inline(always)]
fn gelu(x: f32) -> f32 {
    let size = x.abs() * std::f32::consts::FRAC_1_SQRT_2;
    let t = 1.0 / (1.0 + 0.327_591_1 * size);
    let mut series = 1.061_405_4;
    for term in [-1.453_152, 1.421_413_7, -0.284_496_74, 0.254_829_6] {
        series = series * t + term;
    }
    // The part of the distribution that lies further out than `x`, on one side.
    let beyond = 0.5 * series * t * exp(-size * size);
    x * if x < 0.0 { beyond } else { 1.0 - beyond }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_follows_the_function() {
        let check =
            |x, expected: f32| assert!((gelu(x) - expected).abs() < 1e-6, "{x} {}", gelu(x));
        check(0.0, 0.0);
        check(1.0, 0.841_344_8);
        check(-1.0, -0.158_655_25);
        check(0.5, 0.345_731_23);
        check(-3.0, -0.004_049_694);
        check(3.0, 2.995_950_3);
        check(30.0, 30.0);
        check(-30.0, 0.0);
    }
}
