//! The exponential function in plain arithmetic, because the standard library's result differs between systems.

/// Adding it to a small number puts the nearest integer into the low bits of the sum.
const ROUNDER: f32 = 12_582_912.0;

/// Below this the result is zero, because it would be subnormal.
const LOWEST: f32 = -87.0;

/// ln 2 in two parts; the first has so few digits that its multiples are exact.
const LN_2_HIGH: f32 = 0.693_359_4;
const LN_2_LOW: f32 = -2.121_944_4e-4;

/// `e^x` for `x <= 0`, to seven digits.
#[inline(always)]
pub(super) fn exp(x: f32) -> f32 {
    let bounded = if x > LOWEST { x } else { LOWEST };
    let sum = bounded * std::f32::consts::LOG2_E + ROUNDER;
    let halvings = sum - ROUNDER;
    let rest = bounded - halvings * LN_2_HIGH - halvings * LN_2_LOW;
    let mut series = 1.0 / 5040.0;
    for term in [
        1.0 / 720.0,
        1.0 / 120.0,
        1.0 / 24.0,
        1.0 / 6.0,
        0.5,
        1.0,
        1.0,
    ] {
        series = series * rest + term;
    }
    let exponent = sum
        .to_bits()
        .wrapping_sub(ROUNDER.to_bits())
        .wrapping_add(127);
    let power = f32::from_bits(exponent << 23);
    if x > LOWEST { series * power } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_follows_the_function() {
        for step in 0..87_000_u32 {
            let x = -f64::from(step) / 1000.0;
            let expected = x.exp();
            let found = f64::from(exp(x as f32));
            let allowed = 3e-7 + x.abs() * 1e-7;
            assert!(
                (found / expected - 1.0).abs() < allowed,
                "{x}: {found} {expected}"
            );
        }
        assert_eq!(exp(0.0), 1.0);
        assert_eq!(exp(-88.0), 0.0);
        assert_eq!(exp(f32::NEG_INFINITY), 0.0);
        assert_eq!(exp(f32::NAN), 0.0);
    }
}
