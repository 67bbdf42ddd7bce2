//! GELU: `x Φ(x)`, where Φ is the distribution function of the normal distribution.

use crate::shape::WIDE;

/// Beyond this, Φ is treated as 0 or 1.
const END: f32 = 4.5;

/// Coefficients of `Φ(x) = 1/2 + x (a + b x² + c x⁴ + …)`, the highest power first. They were fitted so that the error
/// of `x Φ(x)` is below 6e-5 up to 20, about half of the maximum quantization error of a typical token.
const TERMS: [f32; 9] = [
    2.999_774_7e-11,
    -3.283_701_3e-9,
    1.580_177_4e-7,
    -4.431_522_5e-6,
    8.120_781e-5,
    -0.001_036_240_2,
    0.009_580_604,
    -0.065_977_18,
    0.398_708_52,
];

#[inline(always)]
pub(super) fn activate(tokens: &mut [[f32; WIDE]]) {
    for value in tokens.as_flattened_mut() {
        *value = gelu(*value);
    }
}

#[inline(always)]
fn gelu(x: f32) -> f32 {
    let below = if x < END { x } else { END };
    let inside = if below > -END { below } else { -END };
    let square = inside * inside;
    let mut series = 0.0;
    for term in TERMS {
        series = series * square + term;
    }
    x * (0.5 + inside * series)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_follows_the_function() {
        let check =
            |x, expected: f32| assert!((gelu(x) - expected).abs() < 6e-5, "{x} {}", gelu(x));
        check(0.0, 0.0);
        check(1.0, 0.841_344_8);
        check(-1.0, -0.158_655_25);
        check(0.5, 0.345_731_23);
        check(-3.0, -0.004_049_694);
        check(3.0, 2.995_950_3);
        check(-4.283, -3.947e-5);
        check(4.5, 4.499_984_7);
        check(20.0, 20.0);
        check(-20.0, 0.0);
    }
}
