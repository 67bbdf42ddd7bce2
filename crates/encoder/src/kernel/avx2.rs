//! The sums with the 256-bit instructions of x86 processors: one instruction multiplies sixteen
//! 16-bit values and adds the products of each pair.

use std::arch::x86_64::{
    __m256i, _mm_add_epi32, _mm_cvtsi128_si32, _mm_hadd_epi32, _mm_set_epi64x, _mm256_add_epi32,
    _mm256_castsi256_si128, _mm256_cvtepi8_epi16, _mm256_extract_epi32, _mm256_extracti128_si256,
    _mm256_madd_epi16, _mm256_set1_epi32, _mm256_setr_epi16, _mm256_setzero_si256,
};

use super::inputs::{Inputs, Pair};
use super::product::{GROUPS, ROWS, Rows, Sums};
use crate::shape::LANES;

#[target_feature(enable = "avx2")]
#[inline]
pub(super) fn sums<const IN: usize>(rows: &Rows<IN>, inputs: &[Inputs<IN>]) -> Sums {
    let mut sums = [[[0; LANES]; ROWS]; GROUPS];
    match inputs {
        [first, second] => add_products(rows, [first, second], &mut sums),
        [first] => add_products(rows, [first], &mut sums),
        _ => (),
    }
    sums
}

#[target_feature(enable = "avx2")]
#[inline]
fn add_products<const IN: usize, const COUNT: usize>(
    rows: &Rows<IN>,
    inputs: [&Inputs<IN>; COUNT],
    sums: &mut Sums,
) {
    let mut registers = [[_mm256_setzero_si256(); COUNT]; ROWS];
    for step in 0..IN {
        let mut lanes = [_mm256_setzero_si256(); COUNT];
        for (lanes, inputs) in lanes.iter_mut().zip(inputs) {
            if let Some(pairs) = inputs.pairs.get(step) {
                *lanes = loaded(pairs.as_flattened());
            }
        }
        for (registers, row) in registers.iter_mut().zip(rows) {
            let Some(pair) = row.get(step) else { continue };
            let pair = in_all_lanes(*pair);
            for (register, lanes) in registers.iter_mut().zip(lanes) {
                *register = _mm256_add_epi32(*register, _mm256_madd_epi16(pair, lanes));
            }
        }
    }
    for (row, registers) in registers.into_iter().enumerate() {
        for (sums, register) in sums.iter_mut().zip(registers) {
            if let Some(sums) = sums.get_mut(row) {
                *sums = stored(register);
            }
        }
    }
}

/// The sum of the products of two rows.
#[target_feature(enable = "avx2")]
#[inline]
pub(super) fn dot<const COUNT: usize>(weights: &[u8; COUNT], values: &[i16; COUNT]) -> i32 {
    let mut sums = _mm256_setzero_si256();
    for (weights, values) in weights.as_chunks().0.iter().zip(values.as_chunks::<16>().0) {
        let products = _mm256_madd_epi16(widened(weights), loaded(values));
        sums = _mm256_add_epi32(sums, products);
    }
    let low = _mm256_castsi256_si128(sums);
    let four = _mm_add_epi32(low, _mm256_extracti128_si256::<1>(sums));
    let two = _mm_hadd_epi32(four, four);
    _mm_cvtsi128_si32(_mm_hadd_epi32(two, two))
}

/// The compiler makes one load of it.
#[target_feature(enable = "avx2")]
#[inline]
fn loaded(values: &[i16]) -> __m256i {
    let &[a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p] = values else {
        return _mm256_setzero_si256();
    };
    _mm256_setr_epi16(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p)
}

/// The compiler makes one store of it.
#[target_feature(enable = "avx2")]
#[inline]
fn stored(sums: __m256i) -> [i32; LANES] {
    [
        _mm256_extract_epi32::<0>(sums),
        _mm256_extract_epi32::<1>(sums),
        _mm256_extract_epi32::<2>(sums),
        _mm256_extract_epi32::<3>(sums),
        _mm256_extract_epi32::<4>(sums),
        _mm256_extract_epi32::<5>(sums),
        _mm256_extract_epi32::<6>(sums),
        _mm256_extract_epi32::<7>(sums),
    ]
}

#[target_feature(enable = "avx2")]
#[inline]
fn in_all_lanes([first, second]: Pair) -> __m256i {
    let low = i32::from(first.cast_unsigned());
    _mm256_set1_epi32(low | (i32::from(second) << 16))
}

/// Sixteen int8 values as 16-bit ones.
#[target_feature(enable = "avx2")]
#[inline]
fn widened(bytes: &[u8; 16]) -> __m256i {
    let bits = u128::from_le_bytes(*bytes);
    _mm256_cvtepi8_epi16(_mm_set_epi64x((bits >> 64) as i64, bits as i64))
}
